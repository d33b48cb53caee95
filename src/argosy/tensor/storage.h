#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "argosy/base/export.h"
#include "argosy/base/place.h"
#include "argosy/base/ref.h"

namespace argosy {

// The bytes that tensors and their views share. The version counts in-place writes, so that
// autograd notices a saved value that was overwritten; the writer names the last op that did.
//
// Threads: handles may be shared; the bytes are guarded by whoever writes them.
class ARGOSY_API Storage final : public RefCounted {
 public:
  static Ref<Storage> allocate(Place place, size_t bytes);
  // Wraps memory of someone else; release(owner) runs when the last view is gone.
  static Ref<Storage> wrap(Place place, void* data, size_t bytes, void* owner,
                           void (*release)(void*));

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Place place() const { return place_; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  const char* writer() const { return writer_; }
  void wrote(const char* op) {
    version_.fetch_add(1, std::memory_order_relaxed);
    writer_ = op;
  }

 private:
  Storage() = default;
  void drop() override;

  char* data_ = nullptr;
  size_t bytes_ = 0;
  void* owner_ = nullptr;
  void (*release_)(void*) = nullptr;
  const char* writer_ = "";
  std::atomic<uint32_t> version_{0};
  Place place_;
};

}  // namespace argosy
