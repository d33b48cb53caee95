#include "argosy/ps/service/durable_file.h"

#include <fcntl.h>
#include <nmmintrin.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <new>
#include <random>
#include <thread>
#include <utility>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

[[noreturn]] void fail(const char* doing, const std::string& path, int error) {
  ARGOSY_THROW(io) << "Cannot " << doing << " '" << path << "': " << std::strerror(error) << '.';
}

// Linux moves at most 2 GiB at once.
constexpr size_t kStep = size_t{1} << 30;
constexpr size_t kBulkBytes = size_t{2} << 20;
constexpr size_t kAligned = 4096;

int open_or_throw(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
  if (fd < 0) fail(flags & O_CREAT ? "create" : "open", path, errno);
  return fd;
}

}  // namespace

namespace {

// The instruction gives a result every cycle, but after three: three streams of this length each
// run side by side, and are put together.
constexpr size_t kStream = 4096;

uint64_t crc_word(uint64_t state, const unsigned char* at) {
  uint64_t word;
  std::memcpy(&word, at, 8);
  return _mm_crc32_u64(state, word);
}

// What a state becomes by kStream zero bytes. It is linear in the bits, so a table for each byte of
// the state says it.
class Advance {
 public:
  Advance() {
    for (uint32_t byte = 0; byte < 4; ++byte) {
      for (uint32_t value = 0; value < 256; ++value) {
        uint64_t state = value << (8 * byte);
        for (size_t i = 0; i < kStream; i += 8) state = _mm_crc32_u64(state, 0);
        table_[byte][value] = static_cast<uint32_t>(state);
      }
    }
  }
  uint64_t operator()(uint64_t state) const {
    return table_[0][state & 255] ^ table_[1][state >> 8 & 255] ^ table_[2][state >> 16 & 255] ^
           table_[3][state >> 24 & 255];
  }

 private:
  uint32_t table_[4][256];
};

}  // namespace

uint32_t crc32c(const void* data, size_t bytes, uint32_t sum) {
  const auto* at = static_cast<const unsigned char*>(data);
  uint64_t state = ~sum;
  if (bytes >= 3 * kStream) {
    static const Advance advance;
    for (; bytes >= 3 * kStream; at += 3 * kStream, bytes -= 3 * kStream) {
      uint64_t second = 0, third = 0;
      for (size_t i = 0; i < kStream; i += 8) {
        state = crc_word(state, at + i);
        second = crc_word(second, at + kStream + i);
        third = crc_word(third, at + 2 * kStream + i);
      }
      state = advance(advance(state) ^ second) ^ third;
    }
  }
  for (; bytes >= 8; at += 8, bytes -= 8) state = crc_word(state, at);
  auto rest = static_cast<uint32_t>(state);
  for (; bytes; ++at, --bytes) rest = _mm_crc32_u8(rest, *at);
  return ~rest;
}

AppendFile::AppendFile(const std::string& path)
    : path_(path), fd_(open_or_throw(path, O_WRONLY | O_CREAT | O_EXCL)) {}

AppendFile::AppendFile(const std::string& path, uint64_t size)
    : path_(path), fd_(open_or_throw(path, O_WRONLY)) {
  try {
    cut(size);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

AppendFile::~AppendFile() {
  if (fd_ >= 0) ::close(fd_);
}

AppendFile::AppendFile(AppendFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

AppendFile& AppendFile::operator=(AppendFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(size_, other.size_);
  return *this;
}

void AppendFile::write(const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes) {
    const ssize_t n = ::write(fd_, at, std::min(bytes, kStep));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write", path_, errno);
    at += n;
    size_ += static_cast<uint64_t>(n);
    bytes -= static_cast<size_t>(n);
  }
}

void AppendFile::cut(uint64_t size) {
  const auto end = static_cast<off_t>(size);
  if (::ftruncate(fd_, end) || ::lseek(fd_, end, SEEK_SET) != end) fail("cut", path_, errno);
  size_ = size;
}

void AppendFile::sync() {
  if (::fdatasync(fd_)) fail("sync", path_, errno);
}

void AppendFile::close() {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

BulkFile::BulkFile(const std::string& path) : path_(path) {
  const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  fd_ = ::open(path.c_str(), flags | O_DIRECT, 0666);
  if (fd_ < 0 && errno == EINVAL) {
    // Some make the file before they refuse.
    ::unlink(path.c_str());
    fd_ = ::open(path.c_str(), flags, 0666);
  }
  if (fd_ < 0) fail("create", path, errno);
  buffer_ = static_cast<std::byte*>(std::aligned_alloc(kAligned, kBulkBytes));
  if (!buffer_) {
    ::close(fd_);
    throw std::bad_alloc();
  }
}

BulkFile::~BulkFile() {
  std::free(buffer_);
  if (fd_ >= 0) ::close(fd_);
}

void BulkFile::write(const void* data, size_t bytes) {
  const auto* at = static_cast<const std::byte*>(data);
  while (bytes) {
    const size_t n = std::min(bytes, kBulkBytes - used_);
    std::memcpy(buffer_ + used_, at, n);
    used_ += n;
    size_ += n;
    at += n;
    bytes -= n;
    if (used_ == kBulkBytes) flush(used_);
  }
}

void BulkFile::flush(size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = ::write(fd_, buffer_ + done, bytes - done);
    if (n >= 0) {
      done += static_cast<size_t>(n);
      continue;
    }
    const int error = errno;
    if (error == EINTR) continue;
    // The end of a file has any length, and so has the rest of a write that fell short.
    const int flags = ::fcntl(fd_, F_GETFL);
    if (error != EINVAL || flags < 0 || !(flags & O_DIRECT)) fail("write", path_, error);
    if (::fcntl(fd_, F_SETFL, flags & ~O_DIRECT)) fail("write", path_, errno);
  }
  used_ = 0;
}

void BulkFile::finish() {
  flush(used_);
  if (::fdatasync(fd_)) fail("sync", path_, errno);
  ::close(std::exchange(fd_, -1));
}

DirectoryLock::DirectoryLock(const std::string& directory) {
  make_directories(directory);
  const std::string path = join_path(directory, "LOCK");
  fd_ = open_or_throw(path, O_RDWR | O_CREAT);
  // A predecessor that was killed holds it until the last of its threads has ended.
  constexpr std::chrono::seconds kDying{10};  // on a busy machine
  const auto end = std::chrono::steady_clock::now() + kDying;
  while (::flock(fd_, LOCK_EX | LOCK_NB)) {
    const int error = errno;
    if (error == EWOULDBLOCK && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    ::close(fd_);
    if (error != EWOULDBLOCK) fail("lock", path, error);
    ARGOSY_THROW(io) << "[parameter_server] '" << directory
                     << "' is in use by another server process. Do this: stop it, or give each "
                        "server a directory of its own.";
  }
}

DirectoryLock::~DirectoryLock() {
  ::close(fd_);
}

void make_directories(const std::string& path) {
  if (is_directory(path)) return;
  const std::filesystem::path above = std::filesystem::path(path).lexically_normal().parent_path();
  if (!above.empty() && above != path) make_directories(above);
  if (::mkdir(path.c_str(), 0777) && (errno != EEXIST || !is_directory(path)))
    fail("make the directory", path, errno);
  sync_directory(above.empty() ? "." : above);
}

void rename_file(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str())) fail("put in place", to, errno);
}

void remove_file(const std::string& path) {
  if (::unlink(path.c_str()) && errno != ENOENT) fail("remove", path, errno);
}

void remove_tree(const std::string& path) noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

void remove_empty_directory(const std::string& path) noexcept {
  ::rmdir(path.c_str());
}

std::string join_path(std::string_view directory, std::string_view name) {
  std::string path(directory);
  if (!path.empty() && path.back() != '/') path += '/';
  return path += name;
}

bool path_exists(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_directory(path, ignored);
}

bool is_link(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_symlink(path, ignored);
}

std::vector<std::string> list_directory(const std::string& path) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error && error.value() != ENOENT) fail("list", path, error.value());
  std::sort(names.begin(), names.end());
  return names;
}

void check_room(const std::string& directory, uint64_t bytes) {
  struct statvfs info;
  if (::statvfs(directory.c_str(), &info)) fail("see the room of", directory, errno);
  const uint64_t room = uint64_t{info.f_bavail} * info.f_frsize;
  const uint64_t wanted = bytes + bytes / 8 + (uint64_t{16} << 20);
  ARGOSY_CHECK(room >= wanted, io)
      << "[parameter_server] '" << directory << "' has room for " << room << " bytes, but "
      << wanted << " are needed. Do this: make room on its disk.";
}

uint64_t random_number() {
  std::random_device device;
  return uint64_t{device()} << 32 | device();
}

}  // namespace argosy::ps
