#include "argosy/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "argosy/base/error.h"

namespace argosy {
namespace {

[[noreturn]] void fail(const char* doing, const std::string& path, int error) {
  ARGOSY_THROW(io) << "Cannot " << doing << " '" << path << "': " << std::strerror(error) << '.';
}

// Linux moves at most 2 GiB at once.
constexpr size_t kStep = size_t{1} << 30;

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
  static std::atomic<unsigned> count{0};
  aside_ = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(count++);
  fd_ = ::open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) fail("write", path, errno);
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

void OutputFile::commit() {
  if (::fsync(fd_)) fail("write", path_, errno);
  const int fd = fd_;
  fd_ = -1;
  int error = ::close(fd) ? errno : 0;
  if (!error && ::rename(aside_.c_str(), path_.c_str())) error = errno;
  if (error) {
    ::unlink(aside_.c_str());
    fail("write", path_, error);
  }
  const size_t slash = path_.rfind('/');
  sync_directory(slash == std::string::npos ? "." : path_.substr(0, slash + 1));
}

}  // namespace argosy
