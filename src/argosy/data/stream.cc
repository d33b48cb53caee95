#include "argosy/data/stream.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <cerrno>
#include <cstring>

#include "argosy/base/error.h"
#include "argosy/data/command.h"
#include "argosy/data/parser.h"
#include "argosy/data/patience.h"

namespace argosy::data {

Stop::Stop() : fd_(eventfd(0, EFD_CLOEXEC)) {
  ARGOSY_CHECK(fd_ >= 0, io) << "[dataset] eventfd failed: " << std::strerror(errno) << '.';
}

Stop::~Stop() {
  close(fd_);
}

void Stop::set() {
  set_.store(true, std::memory_order_release);
  const uint64_t one = 1;
  // A counter that is full is readable, too.
  [[maybe_unused]] const ssize_t n = write(fd_, &one, sizeof one);
}

Stream::~Stream() = default;

namespace {

class PlainFile final : public Stream {
 public:
  // `waits`: of a pipe or a device, opened with O_NONBLOCK.
  PlainFile(const std::string& path, int fd, bool waits, const Stop& stop, double timeout)
      : path_(path), fd_(fd), waits_(waits), stop_(stop), patience_(timeout) {}
  ~PlainFile() override { close(fd_); }
  size_t read(char* to, size_t most) override {
    throw_if_stopped(stop_);
    for (;;) {
      if (waits_) wait();
      const ssize_t n = ::read(fd_, to, most);
      if (n >= 0) {
        consumed_ += static_cast<uint64_t>(n);
        stop_.moved();
        return static_cast<size_t>(n);
      }
      ARGOSY_CHECK(errno == EINTR || (waits_ && errno == EAGAIN), io)
          << "[dataset] cannot read '" << path_ << "': " << std::strerror(errno) << '.';
    }
  }
  uint64_t consumed() const override { return consumed_; }

 private:
  // Until there is something to read, or its writer is gone. A pipe that nobody has opened for
  // writing yet is not at its end.
  void wait() {
    patience_.restart();
    for (;;) {
      pollfd what[2] = {{stop_.descriptor(), POLLIN, 0}, {fd_, POLLIN, 0}};
      const int n = poll(what, 2, patience_.milliseconds());
      ARGOSY_CHECK(n >= 0 || errno == EINTR, io)
          << "[dataset] poll failed: " << std::strerror(errno) << '.';
      throw_if_stopped(stop_);
      if (n > 0) return;
      ARGOSY_CHECK(!patience_.over(), timeout)
          << "[dataset] nobody wrote a byte into '" << path_
          << "', which is a pipe or a device, for " << patience_.seconds()
          << " s. Do this: look at what should write there, " << kLongerLimit;
    }
  }

  const std::string path_;
  const int fd_;
  const bool waits_;
  const Stop& stop_;
  Patience patience_;
  uint64_t consumed_ = 0;
};

// One or more gzip members one after the other.
class GzipFile final : public Stream {
 public:
  GzipFile(const std::string& path, std::unique_ptr<Stream> from)
      : path_(path), from_(std::move(from)), in_(new unsigned char[kIn]) {
    ARGOSY_CHECK(inflateInit2(&z_, 15 + 16) == Z_OK, memory)
        << "[dataset] no memory to unpack '" << path << "'.";
  }
  ~GzipFile() override { inflateEnd(&z_); }

  size_t read(char* to, size_t most) override {
    z_.next_out = reinterpret_cast<unsigned char*>(to);
    z_.avail_out = static_cast<uInt>(most < (1u << 30) ? most : (1u << 30));
    const uInt room = z_.avail_out;
    while (z_.avail_out == room) {
      if (z_.avail_in == 0) {
        z_.avail_in = static_cast<uInt>(from_->read(reinterpret_cast<char*>(in_.get()), kIn));
        z_.next_in = in_.get();
        if (z_.avail_in == 0) {
          ARGOSY_CHECK(between_, io) << "[dataset] '" << path_
                                     << "' is cut off: gzip data ends in the middle. Do this: copy "
                                        "the file again.";
          return 0;
        }
      }
      if (between_) {
        inflateReset(&z_);
        between_ = false;
      }
      const int status = inflate(&z_, Z_NO_FLUSH);
      ARGOSY_CHECK(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, io)
          << "[dataset] '" << path_ << "' is damaged: " << (z_.msg ? z_.msg : "bad gzip data")
          << ". Do this: copy the file again.";
      between_ = status == Z_STREAM_END;
    }
    return room - z_.avail_out;
  }
  uint64_t consumed() const override { return from_->consumed(); }

 private:
  static constexpr size_t kIn = 1 << 18;
  const std::string path_;
  std::unique_ptr<Stream> from_;
  std::unique_ptr<unsigned char[]> in_;
  z_stream z_{};
  bool between_ = false;  // members
};

}  // namespace

void throw_if_stopped(const Stop& stop) {
  ARGOSY_CHECK(!stop.is_set(), runtime) << "[dataset] reading was stopped.";
}

bool is_remote(const std::string& path) {
  return path.rfind("hdfs:", 0) == 0 || path.rfind("afs:", 0) == 0;
}

uint64_t file_size(const std::string& path) {
  struct stat info;
  if (is_remote(path) || stat(path.c_str(), &info) || !S_ISREG(info.st_mode)) return 0;
  return static_cast<uint64_t>(info.st_size);
}

std::unique_ptr<Stream> open_stream(const std::string& path, const StreamOptions& options,
                                    const Stop& stop) {
  const bool piped = !options.pipe_command.empty() && options.pipe_command != "cat";
  std::unique_ptr<Stream> found;
  int fd = -1;
  if (is_remote(path)) {
    std::string quoted = "'";
    for (char c : path) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    found = run_command(options.remote_command + ' ' + quoted + '\'', path, -1, nullptr, stop,
                        options.timeout);
  } else {
    // Nonblocking: a FIFO that nobody writes would be waited for here.
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ARGOSY_CHECK(fd >= 0, io) << "[dataset] cannot open '" << path << "': " << std::strerror(errno)
                              << ". Do this: look at what set_filelist was given.";
    struct stat info;
    const bool known = fstat(fd, &info) == 0;
    const bool folder = known && S_ISDIR(info.st_mode), file = known && S_ISREG(info.st_mode);
    if (folder) close(fd);
    ARGOSY_CHECK(!folder, io) << "[dataset] '" << path
                              << "' is a folder. Do this: give set_filelist the files in it.";
    unsigned char magic[2] = {};
    const bool zipped = pread(fd, magic, 2, 0) == 2 && magic[0] == 0x1f && magic[1] == 0x8b;
    posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);
    if (file) fcntl(fd, F_SETFL, 0);
    if (piped && !zipped && file)
      return run_command(options.pipe_command, path, fd, nullptr, stop, options.timeout);
    found = std::make_unique<PlainFile>(path, fd, !file, stop, options.timeout);
    if (zipped) found = std::make_unique<GzipFile>(path, std::move(found));
  }
  if (piped)
    return run_command(options.pipe_command, path, -1, std::move(found), stop, options.timeout);
  return found;
}

// --- lines ---

namespace {
constexpr size_t kBlock = 1 << 20;
constexpr size_t kLongest = size_t{1} << 30;
}  // namespace

Lines::Lines(Stream& stream)
    : stream_(stream), buffer_(new char[kBlock + Parser::kSlack]), capacity_(kBlock) {}
Lines::~Lines() = default;

bool Lines::fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.get(), buffer_.get() + begin_, end_ - begin_);
    seen_ -= begin_;
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == capacity_) {
    ARGOSY_CHECK(capacity_ < kLongest, invalid_argument)
        << "[dataset] line " << number_ + 1 << " is longer than 1 GiB.";
    std::unique_ptr<char[]> wider(new char[capacity_ * 2 + Parser::kSlack]);
    std::memcpy(wider.get(), buffer_.get(), end_);
    buffer_ = std::move(wider);
    capacity_ *= 2;
  }
  const size_t n = stream_.read(buffer_.get() + end_, capacity_ - end_);
  end_ += n;
  std::memset(buffer_.get() + end_, 0, Parser::kSlack);
  return n > 0;
}

bool Lines::next(const char** begin, const char** end) {
  for (;;) {
    char* const at = buffer_.get() + seen_;
    if (auto* const stop = static_cast<char*>(std::memchr(at, '\n', end_ - seen_))) {
      *begin = buffer_.get() + begin_;
      *end = stop;
      begin_ = seen_ = static_cast<size_t>(stop - buffer_.get()) + 1;
      ++number_;
      return true;
    }
    seen_ = end_;
    if (!over_ && fill()) continue;
    over_ = true;
    if (begin_ == end_) return false;
    // The last line has no end.
    buffer_[end_] = '\n';
    *begin = buffer_.get() + begin_;
    *end = buffer_.get() + end_;
    begin_ = seen_ = end_;
    ++number_;
    return true;
  }
}

}  // namespace argosy::data
