#include "argosy/data/command.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/base/log.h"
#include "argosy/data/patience.h"

extern char** environ;

namespace argosy::data {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  ~Descriptor() { reset(); }
  Descriptor(const Descriptor&) = delete;
  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void reset(int fd = -1) {
    if (fd_ >= 0) close(fd_);
    fd_ = fd;
  }

 private:
  int fd_;
};

void make_pipe(Descriptor* from, Descriptor* to) {
  int ends[2];
  ARGOSY_CHECK(pipe2(ends, O_CLOEXEC) == 0, io)
      << "[dataset] pipe failed: " << std::strerror(errno) << '.';
  from->reset(ends[0]);
  to->reset(ends[1]);
}

// A process group of a shell: one wait serves its three pipes and the stop.
class Command final : public Stream {
 public:
  Command(const std::string& command, const std::string& path, int input,
          std::unique_ptr<Stream> feed, const Stop& stop, double timeout)
      : command_(command), path_(path), feed_(std::move(feed)), stop_(stop), patience_(timeout) {
    Descriptor in(input), out, err;
    if (input >= 0) input_.reset(dup_cloexec(input));
    if (feed_) make_pipe(&in, &to_);
    if (!in.open()) in.reset(open("/dev/null", O_RDONLY | O_CLOEXEC));
    make_pipe(&from_, &out);
    make_pipe(&errors_, &err);
    start(in.get(), out.get(), err.get());
    if (to_.open()) fcntl(to_.get(), F_SETFL, O_NONBLOCK);
    fcntl(errors_.get(), F_SETFL, O_NONBLOCK);
  }

  ~Command() override {
    if (pid_ <= 0) return;
    // All of the shell's group: what it started, too.
    kill(-pid_, SIGKILL);
    // Even a killed process stays while the kernel is busy for it, or somebody traces it.
    Patience patience(kKillGrace);
    for (int milliseconds = 1;; milliseconds = std::min(milliseconds * 2, 50)) {
      const pid_t ended = waitpid(pid_, nullptr, WNOHANG);
      if (ended == pid_ || (ended < 0 && errno != EINTR)) return;
      if (patience.over()) break;
      poll(nullptr, 0, milliseconds);
    }
    ARGOSY_LOG(warning) << "[dataset] the command '" << command_ << "' (process " << pid_
                        << ") was killed and has not ended after " << kKillGrace
                        << " s; it is left to the system.";
  }

  size_t read(char* to, size_t most) override {
    patience_.restart();
    while (from_.open()) {
      wait_for_something(patience_.milliseconds(kLook));
      if (!can_read_) {
        check_patience("neither read nor wrote a byte");
        continue;
      }
      const ssize_t n = ::read(from_.get(), to, most);
      if (n > 0) {
        stop_.moved();
        return static_cast<size_t>(n);
      }
      if (n < 0 && errno == EINTR) continue;
      from_.reset();
    }
    finish();
    return 0;
  }

  uint64_t consumed() const override {
    if (feed_) return feed_->consumed();
    const off_t at = input_.open() ? lseek(input_.get(), 0, SEEK_CUR) : 0;
    return at > 0 ? static_cast<uint64_t>(at) : 0;
  }

 private:
  static int dup_cloexec(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

  void start(int in, int out, int err) {
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, 0);
    posix_spawn_file_actions_adddup2(&files, out, 1);
    posix_spawn_file_actions_adddup2(&files, err, 2);
    posix_spawnattr_t how;
    posix_spawnattr_init(&how);
    // Python ignores SIGPIPE and our threads block signals; neither is for what we start.
    sigset_t none, all;
    sigemptyset(&none);
    sigemptyset(&all);
    for (int s : {SIGPIPE, SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGCHLD}) sigaddset(&all, s);
    posix_spawnattr_setsigmask(&how, &none);
    posix_spawnattr_setsigdefault(&how, &all);
    posix_spawnattr_setpgroup(&how, 0);
    posix_spawnattr_setflags(
        &how, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    std::string shell = "sh", flag = "-c", text = command_;
    char* arguments[] = {shell.data(), flag.data(), text.data(), nullptr};
    const int failed = posix_spawn(&pid_, "/bin/sh", &files, &how, arguments, environ);
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    if (failed) pid_ = 0;
    ARGOSY_CHECK(failed == 0, io) << "[dataset] cannot start '" << command_
                                  << "': " << std::strerror(failed) << '.';
  }

  // Serves stdin and stderr until there is output to read, or for `milliseconds`.
  void wait_for_something(int milliseconds) {
    can_read_ = false;
    pollfd what[4] = {{stop_.descriptor(), POLLIN, 0},
                      {from_.get(), POLLIN, 0},
                      {errors_.get(), POLLIN, 0},
                      {to_.get(), POLLOUT, 0}};
    if (poll(what, 4, milliseconds) < 0) {
      ARGOSY_CHECK(errno == EINTR, io) << "[dataset] poll failed: " << std::strerror(errno) << '.';
      return;
    }
    throw_if_stopped(stop_);
    can_read_ = what[1].revents != 0;
    if (what[2].revents) take_errors();
    if (what[3].revents) feed();
  }

  void progress() {
    patience_.restart();
    stop_.moved();
  }

  void check_patience(const char* what) {
    // Of stdin that is a file, its position tells; else feed() does.
    const uint64_t at = feed_ ? 0 : consumed();
    if (at != position_) {
      position_ = at;
      progress();
    }
    if (!patience_.over()) return;
    ARGOSY_THROW(timeout) << "[dataset] the command '" << command_ << "' (process " << pid_
                          << ") on '" << path_ << "' " << what << " for " << patience_.seconds()
                          << " s. Its last lines on stderr:" << (said_.empty() ? " none" : "\n")
                          << last_lines() << (said_.empty() ? "" : "\n")
                          << ". Do this: look at what it waits for, " << kLongerLimit;
  }

  void take_errors() {
    char text[4096];
    const ssize_t n = ::read(errors_.get(), text, sizeof text);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) {
      errors_.reset();
      return;
    }
    // The user sees what it says, and the end of it again if it fails.
    [[maybe_unused]] const ssize_t shown = write(2, text, static_cast<size_t>(n));
    said_.append(text, static_cast<size_t>(n));
    if (said_.size() > 4096) said_.erase(0, said_.size() - 4096);
  }

  void feed() {
    if (begin_ == end_) {
      begin_ = 0;
      if (!block_) block_.reset(new char[kBlock]);
      end_ = feed_->read(block_.get(), kBlock);
      if (end_ == 0) {
        to_.reset();
        progress();
        return;
      }
    }
    const ssize_t n = write(to_.get(), block_.get() + begin_, end_ - begin_);
    if (n >= 0) {
      begin_ += static_cast<size_t>(n);
      progress();
    } else if (errno != EINTR && errno != EAGAIN) {
      to_.reset();  // it reads no more
    }
  }

  // After its last output.
  void finish() {
    if (pid_ <= 0) return;
    to_.reset();
    patience_.restart();
    int status = 0;
    for (;;) {
      const pid_t ended = waitpid(pid_, &status, WNOHANG);
      if (ended == pid_ || (ended < 0 && errno != EINTR)) {
        if (ended < 0) status = 0;  // SIGCHLD is ignored: nobody knows
        break;
      }
      check_patience("has closed its output and has not ended");
      wait_for_something(10);
    }
    pid_ = 0;
    while (errors_.open()) {
      const size_t before = said_.size();
      take_errors();
      if (said_.size() == before) break;  // the end, or held open by what it left running
    }
    if (status == 0) return;
    Message m;
    m << "[dataset] the command '" << command_ << "' failed on '" << path_ << "': ";
    if (WIFSIGNALED(status))
      m << "killed by signal " << WTERMSIG(status);
    else
      m << "exit code " << WEXITSTATUS(status);
    m << ". Its last lines on stderr:" << (said_.empty() ? " none." : "\n") << last_lines();
    throw Error(ErrorKind::runtime, m.str());
  }

  std::string last_lines() const {
    std::string text = said_;
    while (!text.empty() && text.back() == '\n') text.pop_back();
    size_t at = text.size();
    for (int line = 0; line < 10 && at != std::string::npos && at > 0; ++line)
      at = text.rfind('\n', at - 1);
    return at == std::string::npos || at == 0 ? text : text.substr(at + 1);
  }

  static constexpr size_t kBlock = 1 << 16;
  static constexpr double kLook = 0.1;  // of the timeout, between looks at the position of stdin

  const std::string command_, path_;
  std::unique_ptr<Stream> feed_;
  const Stop& stop_;
  Patience patience_;
  uint64_t position_ = 0;
  pid_t pid_ = 0;
  Descriptor to_, from_, errors_;
  Descriptor input_;  // shares its position with the command's stdin
  bool can_read_ = false;
  std::string said_;
  std::unique_ptr<char[]> block_;
  size_t begin_ = 0, end_ = 0;
};

}  // namespace

std::unique_ptr<Stream> run_command(const std::string& command, const std::string& path, int input,
                                    std::unique_ptr<Stream> feed, const Stop& stop,
                                    double timeout) {
  return std::make_unique<Command>(command, path, input, std::move(feed), stop, timeout);
}

}  // namespace argosy::data
