#include "argosy/tensor/storage.h"

#include <cstring>
#include <new>
#include <utility>

#include "argosy/base/memory.h"
#include "argosy/base/mutex.h"
#include "argosy/tensor/shared_bytes.h"

namespace argosy {

constinit thread_local bool SharedBytes::wanted_ = false;

// On the CPU the header and the bytes are one block: one allocation a tensor.
Ref<Storage> Storage::allocate(Place place, size_t bytes) {
  static_assert(sizeof(Storage) <= kHeader && kHeader % memory::kAlignment == 0);
  const bool inside = place.kind == DeviceKind::cpu;
  const size_t room = kHeader + (inside ? bytes : 0);
  auto* block = static_cast<char*>(inside && SharedBytes::wanted() ? memory::allocate_shared(room)
                                                                   : memory::allocate({}, room));
  auto* storage = new (block) Storage();
  storage->kind_ = place.kind;
  storage->index_ = place.index;
  storage->bytes_ = bytes;
  storage->inside_ = storage->lendable_ = inside;
  if (inside) {
    storage->data_ = storage->inside();
    return Ref<Storage>::adopt(storage);
  }
  try {
    storage->data_ = static_cast<char*>(memory::allocate(place, bytes));
  } catch (...) {
    storage->~Storage();
    memory::deallocate({}, block, kHeader);
    throw;
  }
  return Ref<Storage>::adopt(storage);
}

Ref<Storage> Storage::wrap(Place place, void* data, size_t bytes, void* owner,
                           void (*release)(void*)) {
  auto* storage = new (memory::allocate({}, kHeader)) Storage();
  storage->kind_ = place.kind;
  storage->index_ = place.index;
  storage->bytes_ = bytes;
  storage->data_ = static_cast<char*>(data);
  storage->owner_ = owner;
  storage->release_ = release;
  return Ref<Storage>::adopt(storage);
}

void Storage::drop() {
  const size_t block = kHeader + (inside_ ? bytes_ : 0);
  if (borrows_)
    give_back();
  else if (release_)
    release_(owner_);
  else if (!inside_)
    memory::deallocate(place(), data_, bytes_);
  this->~Storage();
  memory::deallocate({}, this, block);
}

// --- copy on write ---

void Storage::give_back() {
  auto* lender = static_cast<Storage*>(owner_);
  borrows_ = false;
  lender->loans_.fetch_sub(1, std::memory_order_release);
  lender->release();
}

bool Storage::has_readers() const {
  return borrows_ ? block()->ref_count() > 1 : loans_.load(std::memory_order_acquire) != 0;
}

Ref<Storage> Storage::borrow(size_t begin, size_t bytes) {
  if (!lendable_) return {};
  auto* lender = const_cast<Storage*>(block());
  auto* storage = new (memory::allocate({}, kHeader)) Storage();
  storage->data_ = data_ + begin;
  storage->bytes_ = bytes;
  storage->lendable_ = storage->borrows_ = true;
  storage->owner_ = lender;
  lender->retain();
  lender->loans_.fetch_add(1, std::memory_order_relaxed);
  return Ref<Storage>::adopt(storage);
}

void Storage::own_bytes() {
  static Mutex moving;  // threads that write one tensor (Hogwild) move it once
  MutexLock lock(moving);
  if (!shared()) return;
  if (inside_ && loans_.load(std::memory_order_acquire) == 0) {
    // Nobody reads what it left any more.
    std::memcpy(inside(), data_, bytes_);
    data_ = inside();
    give_back();
    return;
  }
  Ref<Storage> room = allocate(place(), bytes_);
  std::memcpy(room->data_, data_, bytes_);
  move_to(std::move(room));
}

void Storage::move_to(Ref<Storage> room) {
  if (borrows_) give_back();
  borrows_ = true;
  data_ = room->data_;
  if (!inside_) bytes_ = room->bytes_;
  room->loans_.fetch_add(1, std::memory_order_relaxed);
  owner_ = room.leak();
}

}  // namespace argosy
