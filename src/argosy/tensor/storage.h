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
// Copy on write: a storage may borrow the bytes of another one. The two are independent for whoever
// uses them; who writes to either moves it to bytes of its own before (own_bytes).
//
// Threads: handles may be shared; the bytes are guarded by whoever writes them. It is the writer
// that moves, and what it leaves stays as it was until the last borrower is gone: who reads another
// storage of the same bytes, on whatever thread, is not disturbed.
class ARGOSY_API Storage final : public RefCounted {
 public:
  static Ref<Storage> allocate(Place place, size_t bytes);
  // Wraps memory of someone else; release(owner) runs when the last view is gone.
  static Ref<Storage> wrap(Place place, void* data, size_t bytes, void* owner,
                           void (*release)(void*));

  char* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  Place place() const { return {kind_, index_}; }
  uint32_t version() const { return version_.load(std::memory_order_relaxed); }
  const char* writer() const { return writer_; }
  void wrote(const char* op) {
    version_.fetch_add(1, std::memory_order_relaxed);
    writer_ = op;
  }
  // Goes on with the version of a storage that it replaces.
  void follow(const Storage& before) {
    keep_version(before.version());
    writer_ = before.writer_;
  }
  // What was written since has changed no byte.
  void keep_version(uint32_t version) { version_.store(version, std::memory_order_relaxed); }

  // A storage over `bytes` bytes of these, from `begin` on, with a version of its own. Null where
  // they cannot be lent: memory of someone else, who may write it unseen, or of another device.
  Ref<Storage> borrow(size_t begin, size_t bytes);
  // Whether another storage reads these bytes.
  bool shared() const {
    return (borrows_ || loans_.load(std::memory_order_acquire) != 0) && has_readers();
  }
  // Whether both lie in one block of memory, whoever borrowed it.
  bool same_memory(const Storage& other) const { return block() == other.block(); }
  // Moves to a copy of its bytes if they are shared.
  void own_bytes();
  // Only borrows, so it may move to fewer bytes.
  bool borrows_only() const { return borrows_ && !inside_; }
  // Moves to the bytes of `room`, which nobody else has. REQUIRES: borrows_only().
  void move_to(Ref<Storage> room);
  // Who has the address may write from now on, unseen.
  void never_lend() { lendable_ = false; }

 private:
  Storage() = default;
  void drop() override;
  void give_back();
  // The storage in whose memory the bytes lie.
  const Storage* block() const { return borrows_ ? static_cast<const Storage*>(owner_) : this; }
  char* inside() { return reinterpret_cast<char*>(this) + kHeader; }
  bool has_readers() const;

  // The header before bytes that lie inside: one line of the cache.
  static constexpr size_t kHeader = 64;

  std::atomic<uint32_t> loans_{0};  // storages that lie in this one's block
  char* data_ = nullptr;
  size_t bytes_ = 0;
  void* owner_ = nullptr;  // whom release_ is told, or the lender
  void (*release_)(void*) = nullptr;
  const char* writer_ = "";
  std::atomic<uint32_t> version_{0};
  int16_t index_ = 0;  // of the place
  DeviceKind kind_ = DeviceKind::cpu;
  bool inside_ : 1 = false;  // has a block behind the header, though data_ may have moved away
  bool borrows_ : 1 = false;
  bool lendable_ : 1 = false;
};

}  // namespace argosy
