#include "argosy/base/file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>
#include <system_error>
#include <utility>

#include "argosy/base/error.h"

namespace argosy {
namespace {

[[noreturn]] void fail(const char* doing, const std::string& path, int error) {
  ARGOSY_THROW(io) << "Cannot " << doing << " '" << path << "': " << std::strerror(error) << '.';
}

// Linux moves at most 2 GiB at once.
constexpr size_t kStep = size_t{1} << 30;

// Of the name of a file that is written aside, behind that of the file itself.
constexpr std::string_view kAside = ".tmp-";
constexpr size_t kAsideDigits = 16;

std::string aside_of(const std::string& path) {
  std::random_device random;
  char digits[kAsideDigits + 1];
  std::snprintf(digits, sizeof digits, "%08x%08x", random(), random());
  return path + std::string(kAside) + digits;
}

bool is_aside_of(std::string_view name, const std::string& entry) {
  if (!entry.starts_with(name)) return false;
  const std::string_view rest = std::string_view(entry).substr(name.size());
  return rest.starts_with(kAside) && rest.size() == kAside.size() + kAsideDigits &&
         rest.find_first_not_of("0123456789abcdef", kAside.size()) == rest.npos;
}

// Who writes has a lock on his file, so one without a lock was left by somebody who was killed.
// What cannot be removed stays.
void remove_leftovers(const std::filesystem::path& path) {
  const std::string name = path.filename();
  std::error_code error;
  std::filesystem::directory_iterator it(path.has_parent_path() ? path.parent_path() : ".", error);
  for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
    if (!is_aside_of(name, it->path().filename())) continue;
    const int fd = ::open(it->path().c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) continue;
    if (!::flock(fd, LOCK_EX | LOCK_NB)) ::unlink(it->path().c_str());
    ::close(fd);
  }
}

}  // namespace

InputFile::InputFile(const std::string& path) : path_(path) {
  // Of a pipe, which is refused below, the open would wait for a writer.
  fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) fail("open", path, errno);
  struct stat info;
  const int error = ::fstat(fd_, &info) ? errno : S_ISREG(info.st_mode) ? 0 : EINVAL;
  if (error) {
    ::close(fd_);
    fail(S_ISDIR(info.st_mode) ? "read the directory" : "read", path,
         S_ISDIR(info.st_mode) ? EISDIR : error);
  }
  size_ = static_cast<uint64_t>(info.st_size);
}

InputFile::~InputFile() {
  ::close(fd_);
}

void InputFile::read(uint64_t offset, void* to, size_t bytes) const {
  char* at = static_cast<char*>(to);
  while (bytes) {
    const ssize_t n = ::pread(fd_, at, bytes < kStep ? bytes : kStep, static_cast<off_t>(offset));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read", path_, errno);
    ARGOSY_CHECK(n > 0, io) << "'" << path_ << "' ends at byte " << offset << ", where " << bytes
                            << " more are needed. Do this: make sure that nobody writes it.";
    at += n;
    offset += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

std::string read_file(const std::string& path) {
  InputFile file(path);
  std::string bytes(file.size(), '\0');
  file.read(0, bytes.data(), bytes.size());
  return bytes;
}

void sync_directory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail("open", path, errno);
  const int error = ::fsync(fd) ? errno : 0;
  ::close(fd);
  if (error && error != EINVAL && error != ENOTSUP) fail("sync", path, error);
}

OutputFile::OutputFile(const std::string& path) : path_(path) {
  struct stat replaced;
  const bool replaces = !::lstat(path.c_str(), &replaced) && S_ISREG(replaced.st_mode);
  // The rename would not ask for it.
  if (replaces && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS)) fail("write", path, errno);
  remove_leftovers(path);
  create();
  if (replaces) ::fchmod(fd_, replaced.st_mode & 07777);
}

void OutputFile::create() {
  while (true) {
    aside_ = aside_of(path_);
    fd_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0) fail("write", path_, errno);
    // Where a file system has no locks, nobody can take this for a leftover either.
    while (::flock(fd_, LOCK_EX) && errno == EINTR) continue;
    struct stat own;
    if (::fstat(fd_, &own) || own.st_nlink) return;
    ::close(fd_);  // another writer came before the lock, and took it for a leftover
  }
}

OutputFile::~OutputFile() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink(aside_.c_str());
}

void OutputFile::write(const void* data, size_t bytes) {
  const char* at = static_cast<const char*>(data);
  while (bytes) {
    const ssize_t n = ::write(fd_, at, bytes < kStep ? bytes : kStep);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path_, errno);
    at += n;
    bytes -= static_cast<size_t>(n);
  }
}

void OutputFile::sync() {
  if (::fsync(fd_)) fail("write", path_, errno);
}

void OutputFile::commit() {
  sync();
  // Locked until it is in place.
  if (::rename(aside_.c_str(), path_.c_str())) fail("write", path_, errno);
  ::close(std::exchange(fd_, -1));
  const size_t slash = path_.rfind('/');
  sync_directory(slash == std::string::npos ? "." : path_.substr(0, slash + 1));
}

std::string followed(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  fs::path at = path;
  // As many as the kernel follows. What a link leads to need not be there yet.
  for (int i = 0; i < 40 && fs::is_symlink(at, error); ++i) {
    const fs::path target = fs::read_symlink(at, error);
    if (error) break;
    at = at.parent_path() / target;  // or the target alone, where it is absolute
  }
  return at;
}

}  // namespace argosy
