#include "argosy/ps/service/secret_file.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

constexpr std::string_view kFirstLine = "argosy parameter server 1";
// Files come and go while servers start and end; each turn is a few system calls.
constexpr int kTurns = 1000;

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_;
};

std::string env(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

std::vector<std::string> folders() {
  std::vector<std::string> list;
  const std::string run = env("XDG_RUNTIME_DIR"), home = env("HOME");
  if (!run.empty() && run[0] == '/') list.push_back(run + "/argosy");
  char host[256] = "";
  // Homes are shared by hosts, whose servers may have equal ports.
  if (!home.empty() && home[0] == '/' && ::gethostname(host, sizeof(host) - 1) == 0 && host[0])
    list.push_back(home + "/.cache/argosy/" + host);
  list.push_back("/tmp/argosy-" + std::to_string(::geteuid()));
  return list;
}

// Empty where only this user can read and write it.
std::string unsafe(int fd, bool folder) {
  struct stat s;
  if (::fstat(fd, &s)) return std::strerror(errno);
  if (folder ? !S_ISDIR(s.st_mode) : !S_ISREG(s.st_mode)) return "it is something else";
  if (s.st_uid != ::geteuid())
    return "it belongs to user " + std::to_string(s.st_uid) + ", expected user " +
           std::to_string(::geteuid());
  if (s.st_mode & 077) return "others than its user may use it";
  return "";
}

// `why` says why not; it stays empty where there is no such folder.
Fd open_folder(const std::string& path, std::string* why) {
  Fd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) {
    if (errno != ENOENT) *why = path + ": " + std::strerror(errno);
    return fd;
  }
  const std::string wrong = unsafe(fd.get(), true);
  if (wrong.empty()) return fd;
  *why = path + ": " + wrong;
  return Fd();
}

Fd make_folder(const std::string& path, std::string* why) {
  // XDG_RUNTIME_DIR, the home and /tmp exist, or are not ours to make.
  const size_t cache = path.find("/.cache/");
  if (cache != path.npos)
    for (size_t at = path.find('/', cache + 1); at != path.npos; at = path.find('/', at + 1))
      ::mkdir(path.substr(0, at).c_str(), 0700);
  if (::mkdir(path.c_str(), 0700) && errno != EEXIST) {
    *why = path + ": " + std::strerror(errno);
    return Fd();
  }
  return open_folder(path, why);
}

std::string name_of(int port) {
  return "port-" + std::to_string(port);
}

// nothing: it does not say what ours do.
std::optional<Tokens> read_tokens(int fd) {
  char text[1024];
  const ssize_t n = ::pread(fd, text, sizeof(text), 0);
  if (n <= 0) return std::nullopt;
  std::string_view rest(text, static_cast<size_t>(n));
  const auto line = [&] {
    const size_t end = rest.find('\n');
    if (end == rest.npos) return std::string();
    const std::string one(rest.substr(0, end));
    rest.remove_prefix(end + 1);
    return one;
  };
  if (line() != kFirstLine) return std::nullopt;
  Tokens t;
  t.worker = line();
  t.admin = line();
  if (t.worker.empty() || t.admin.empty()) return std::nullopt;
  return t;
}

std::string random_token() {
  unsigned char bytes[16];
  size_t have = 0;
  while (have < sizeof(bytes)) {
    const ssize_t n = ::getrandom(bytes + have, sizeof(bytes) - have, 0);
    ARGOSY_CHECK(n > 0 || errno == EINTR, io)
        << "[parameter_server] no random numbers for a token: " << std::strerror(errno) << '.';
    if (n > 0) have += static_cast<size_t>(n);
  }
  std::string text;
  for (const unsigned char b : bytes) {
    text += "0123456789abcdef"[b >> 4];
    text += "0123456789abcdef"[b & 15];
  }
  return text;
}

// Servers hold a lock on their file while they live. (Locks of the open file, not of the process,
// in which there may be several servers.)
bool lock(int fd, int command, short type) {
  struct flock l = {};
  l.l_type = type;
  l.l_whence = SEEK_SET;
  int result;
  do {
    result = ::fcntl(fd, command, &l);
  } while (result && errno == EINTR);
  if (command == F_OFD_GETLK) return result == 0 && l.l_type != F_UNLCK;
  return result == 0;
}

// Opens what is there. False and an empty `why`: nothing is.
Fd open_file(int folder, const std::string& name, std::string* why) {
  Fd fd(::openat(folder, name.c_str(), O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) {
    if (errno != ENOENT) *why = name + ": " + std::strerror(errno);
    return fd;
  }
  const std::string wrong = unsafe(fd.get(), false);
  if (wrong.empty()) return fd;
  *why = name + ": " + wrong;
  return Fd();
}

// (Not by its number of links: whoever made it may still have the partial one.)
bool is_named(int fd, int folder, const std::string& name) {
  struct stat a, b;
  return ::fstat(fd, &a) == 0 && ::fstatat(folder, name.c_str(), &b, AT_SYMLINK_NOFOLLOW) == 0 &&
         a.st_ino == b.st_ino && a.st_dev == b.st_dev;
}

// A whole file under its name, or nothing: false with errno.
bool make_file(int folder, const std::string& name) {
  const std::string partial = name + "." + random_token();
  Fd fd(::openat(folder, partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                 0600));
  if (!fd) return false;
  const std::string text =
      std::string(kFirstLine) + '\n' + random_token() + '\n' + random_token() + '\n';
  bool made = ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  // (Not rename: it would take the place of what another server has just made.)
  made = made && ::linkat(folder, partial.c_str(), folder, name.c_str(), 0) == 0;
  const int error = errno;
  ::unlinkat(folder, partial.c_str(), 0);
  errno = error;
  return made;
}

}  // namespace

SecretFile::SecretFile(int port) : name_(name_of(port)) {
  std::string whys;
  for (const std::string& path : folders()) {
    std::string why;
    Fd folder = make_folder(path, &why);
    for (int turn = 0; folder && why.empty() && turn < kTurns; ++turn) {
      Fd file = open_file(folder.get(), name_, &why);
      if (!file) {
        if (why.empty() && !make_file(folder.get(), name_) && errno != EEXIST)
          why = path + '/' + name_ + ": " + std::strerror(errno);
        continue;
      }
      if (!lock(file.get(), F_OFD_SETLKW, F_RDLCK)) {
        why = path + '/' + name_ + ": " + std::strerror(errno);
        break;
      }
      if (!is_named(file.get(), folder.get(), name_)) continue;  // its server ended just now
      const std::optional<Tokens> tokens = read_tokens(file.get());
      if (!tokens) {
        ::unlinkat(folder.get(), name_.c_str(), 0);
        continue;
      }
      tokens_ = *tokens;
      folder_ = folder.release();
      file_ = file.release();
      return;
    }
    whys += (whys.empty() ? "" : "; ") + (why.empty() ? path + ": it does not stay" : why);
  }
  ARGOSY_THROW(io) << "[parameter_server] there is no place for this server's tokens that only its "
                      "user can read ("
                   << whys
                   << "). Do this: give servers and clients a token, or set XDG_RUNTIME_DIR.";
}

SecretFile::~SecretFile() {
  if (file_ >= 0) ::close(file_);
  if (folder_ >= 0) ::close(folder_);
}

void SecretFile::remove() {
  if (file_ >= 0 && lock(file_, F_OFD_SETLK, F_WRLCK)) ::unlinkat(folder_, name_.c_str(), 0);
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

std::optional<Tokens> find_tokens(int port) {
  for (const std::string& path : folders()) {
    std::string why;
    const Fd folder = open_folder(path, &why);
    if (folder) {
      const Fd file = open_file(folder.get(), name_of(port), &why);
      // (A server that was killed leaves its file.)
      if (file && lock(file.get(), F_OFD_GETLK, F_WRLCK)) return read_tokens(file.get());
      if (!why.empty()) why = path + '/' + why;
    }
    ARGOSY_CHECK(why.empty(), io) << "[parameter_server] tokens of the server on port " << port
                                  << " are not read from where others could have written them: "
                                  << why
                                  << ". Do this: remove it, or give servers and clients a token.";
  }
  return std::nullopt;
}

std::string token_folders() {
  std::string text;
  const std::vector<std::string> list = folders();
  for (size_t i = 0; i < list.size(); ++i)
    text += (i == 0 ? "" : i + 1 == list.size() ? " or " : ", ") + list[i];
  return text;
}

}  // namespace argosy::ps
