#include "argosy/streamed/mirror.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "argosy/base/error.h"

namespace argosy::streamed {
namespace {

char* map(int file, size_t bytes) {
  void* at = mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return at == MAP_FAILED ? nullptr : static_cast<char*>(at);
}

}  // namespace

Mirror::Mirror(size_t bytes)
    : file_(memfd_create("argosy streamed device", MFD_CLOEXEC)), size_(bytes) {
  const bool sized = file_ >= 0 && ftruncate(file_, static_cast<off_t>(bytes)) == 0;
  face_ = sized ? map(file_, bytes) : nullptr;
  alias_ = face_ ? map(file_, bytes) : nullptr;
  ARGOSY_CHECK(alias_, device) << "[streamed] the memory of the device cannot be mapped: "
                               << std::strerror(errno)
                               << ". Do this: raise the limit of addresses (ulimit -v).";
}

char* Mirror::open(size_t bytes) {
  const size_t at = take(bytes);
  if (at == SIZE_MAX) return nullptr;
  if (mprotect(alias_ + at, bytes, PROT_READ | PROT_WRITE)) {
    closed_.push_back({at, bytes});
    return nullptr;
  }
  std::memset(alias_ + at, 0xff, bytes);
  return face_ + at;
}

void Mirror::close(char* face, size_t bytes) noexcept {
  const size_t at = offset(face);
  mprotect(alias_ + at, bytes, PROT_NONE);
  fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
            static_cast<off_t>(bytes));
  closed_.push_back({at, bytes});
}

size_t Mirror::take(size_t bytes) {
  if (bytes <= size_ - fresh_) {
    const size_t at = fresh_;
    fresh_ += bytes;
    return at;
  }
  for (auto range = closed_.begin(); range != closed_.end(); ++range) {
    if (range->bytes < bytes) continue;
    const size_t at = range->begin;
    range->begin += bytes;
    range->bytes -= bytes;
    if (range->bytes == 0) closed_.erase(range);
    return at;
  }
  return SIZE_MAX;
}

}  // namespace argosy::streamed
