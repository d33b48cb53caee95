#include "argosy/ps/table/slab.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace argosy::ps {

namespace {
constexpr size_t kHuge = size_t{2} << 20;
constexpr size_t kPage = 4096;
constexpr size_t kSmallest = size_t{256} << 10, kLargest = size_t{64} << 20;
constexpr uint32_t kFirstRows = 8;
}  // namespace

RowChunks::~RowChunks() {
  for (const auto& region : regions_) munmap(region.begin, region.bytes);
}

std::byte* RowChunks::take() {
  MutexLock lock(mutex_);
  std::byte* chunk;
  if (!free_.empty()) {
    chunk = free_.back();
    free_.pop_back();
  } else {
    if (regions_.empty() || used_ + chunk_bytes_ > regions_.back().bytes) {
      // A region as large as an eighth of what there is: what lies idle stays a small part.
      size_t bytes = std::clamp(taken_ / 8, kSmallest, kLargest);
      bytes =
          std::max((bytes + kPage - 1) & ~(kPage - 1), (chunk_bytes_ + kPage - 1) & ~(kPage - 1));
      const bool huge = bytes >= kHuge;
      if (huge) bytes = (bytes + kHuge - 1) & ~(kHuge - 1);
      regions_.reserve(regions_.size() + 1);
      const size_t slack = huge ? kHuge : 0;
      void* mapped = mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (mapped == MAP_FAILED) throw std::bad_alloc();
      auto* begin = static_cast<std::byte*>(mapped);
      if (huge) {
        auto* aligned = reinterpret_cast<std::byte*>(
            (reinterpret_cast<uintptr_t>(begin) + kHuge - 1) & ~(kHuge - 1));
        if (aligned > begin) munmap(begin, static_cast<size_t>(aligned - begin));
        std::byte* end = begin + bytes + slack;
        if (end > aligned + bytes) {
          munmap(aligned + bytes, static_cast<size_t>(end - aligned) - bytes);
        }
        begin = aligned;
        madvise(begin, bytes, MADV_HUGEPAGE);
      }
      regions_.push_back({begin, bytes});
      used_ = 0;
    }
    chunk = regions_.back().begin + used_;
    used_ += chunk_bytes_;
  }
  taken_ += chunk_bytes_;
  return chunk;
}

void RowChunks::give(std::byte* chunk) {
  MutexLock lock(mutex_);
  free_.push_back(chunk);
  taken_ -= chunk_bytes_;
  const auto from = (reinterpret_cast<uintptr_t>(chunk) + kPage - 1) & ~(kPage - 1);
  const auto to = (reinterpret_cast<uintptr_t>(chunk) + chunk_bytes_) & ~(kPage - 1);
  if (to > from) madvise(reinterpret_cast<void*>(from), to - from, MADV_DONTNEED);
}

size_t RowChunks::bytes() const {
  MutexLock lock(mutex_);
  return taken_;
}

uint32_t Slab::add() {
  if (size_ < kChunkRows && size_ == first_capacity_) {
    const uint32_t capacity = first_capacity_ ? 2 * first_capacity_ : kFirstRows;
    std::byte* chunk = capacity == kChunkRows
                           ? pool_->take()
                           : static_cast<std::byte*>(std::malloc(size_t{capacity} * stride_));
    if (!chunk) throw std::bad_alloc();
    if (chunks_.empty()) {
      chunks_.push_back(chunk);
    } else {
      std::memcpy(chunk, chunks_[0], size_t{size_} * stride_);
      std::free(chunks_[0]);
      chunks_[0] = chunk;
    }
    first_capacity_ = capacity;
  } else if (size_ == chunks_.size() << kChunkShift) {
    std::byte* chunk = pool_->take();
    try {
      chunks_.push_back(chunk);
    } catch (...) {
      pool_->give(chunk);
      throw;
    }
  }
  return size_++;
}

void Slab::pop() {
  --size_;
  // One chunk is kept in reserve, so that adding and removing at its border costs nothing.
  while (chunks_.size() > 1 && chunks_.size() - 1 > (size_ + kChunkRows - 1) >> kChunkShift) {
    pool_->give(chunks_.back());
    chunks_.pop_back();
  }
}

void Slab::clear() {
  for (size_t i = 0; i < chunks_.size(); ++i) {
    if (i == 0 && first_capacity_ < kChunkRows) {
      std::free(chunks_[0]);
    } else {
      pool_->give(chunks_[i]);
    }
  }
  chunks_.clear();
  chunks_.shrink_to_fit();
  size_ = first_capacity_ = 0;
}

size_t Slab::bytes() const {
  const size_t first = first_capacity_ < kChunkRows ? size_t{first_capacity_} * stride_ : 0;
  return first + chunks_.capacity() * sizeof(std::byte*);
}

}  // namespace argosy::ps
