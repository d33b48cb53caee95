#pragma once

#include <immintrin.h>

#include <atomic>
#include <cstdint>
#include <cstring>

#include "argosy/base/export.h"

namespace argosy::ps {

// From 32 bits of a key's hash to the handle of its row: 4 bytes a slot. It holds no keys: whoever
// asks compares the row's key with his own.
//
// Slots lie in buckets of 16 (one cache line). The high bits of the hash choose the bucket; where
// it is full, the search goes on in the next one. A slot is `fingerprint | handle`: handles take as
// many low bits as this size of table needs, the fingerprint is the hash's low bits in what is left
// (15 bits at 100,000 rows), so that almost every match is the right one. Bucket and fingerprint
// read different bits of the hash up to 2^32 slots.
//
// Not thread safe, but for prefetch().
class Index {
 public:
  static constexpr uint32_t kNone = 0xffffffff;

  Index() = default;
  ~Index() { release(entries_.load(std::memory_order_relaxed)); }
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  // May run beside any other call: at worst it fetches a useless line.
  void prefetch(uint32_t hash) const {
    const uint32_t* entries = entries_.load(std::memory_order_relaxed);
    const uint64_t buckets = buckets_.load(std::memory_order_relaxed);
    __builtin_prefetch(entries + kWidth * (hash * buckets >> 32));
  }

  // A handle that is probably the one of `hash`; kNone if there is certainly none.
  uint32_t candidate(uint32_t hash) const {
    return find(hash, [](uint32_t) { return true; });
  }

  // The handle of `hash` for which equal(handle) holds, or kNone.
  template <class Equal>
  uint32_t find(uint32_t hash, Equal&& equal) const {
    const uint32_t* bucket = bucket_of(hash);
    if (!bucket) return kNone;
    const uint32_t mark = hash << handle_bits_;
    for (;;) {
      for (uint32_t found = matches(bucket, ~handle_mask_, mark); found; found &= found - 1) {
        const uint32_t slot = bucket[__builtin_ctz(found)];
        if (slot < kTombstone && equal(slot & handle_mask_)) return slot & handle_mask_;
      }
      if (matches(bucket, ~0u, kEmpty)) return kNone;
      bucket = next(bucket);
    }
  }

  // REQUIRES: has_room(); handle < handle_limit(); not there yet.
  void insert(uint32_t hash, uint32_t handle) {
    uint32_t* bucket = bucket_of(hash);
    for (;;) {
      if (const uint32_t empty = matches(bucket, ~0u, kEmpty) | matches(bucket, ~0u, kTombstone)) {
        uint32_t& slot = bucket[__builtin_ctz(empty)];
        if (slot == kEmpty) ++used_;
        slot = hash << handle_bits_ | handle;
        return;
      }
      bucket = next(bucket);
    }
  }

  // REQUIRES: the handle is there.
  void replace(uint32_t hash, uint32_t handle, uint32_t by) {
    *slot_of(hash, handle) = hash << handle_bits_ | by;
  }

  // REQUIRES: the handle is there.
  void erase(uint32_t hash, uint32_t handle) {
    uint32_t* slot = slot_of(hash, handle);
    uint32_t* bucket = entries() + (slot - entries()) / kWidth * kWidth;
    // No search went past a bucket with an empty slot, so none needs a sign that this one was full.
    const bool open = matches(bucket, ~0u, kEmpty);
    *slot = open ? kEmpty : kTombstone;
    used_ -= open;
  }

  // Slots that are not empty, among them those of erased handles.
  uint32_t used() const { return used_; }
  bool has_room() const { return used_ < limit_; }
  uint32_t handle_limit() const { return handle_mask_ - 1; }
  size_t bytes() const { return size_t{4} * kWidth * buckets_.load(std::memory_order_relaxed); }

  // Empty, with room for `rows` handles below `handles`. Returns the old slots, for release().
  [[nodiscard]] uint32_t* reset(uint32_t rows, uint64_t handles);
  static void release(uint32_t* entries);

 private:
  static constexpr uint32_t kWidth = 16;
  static constexpr uint32_t kEmpty = 0xffffffff, kTombstone = 0xfffffffe;

  // Which of the 16 slots equal `value` in the bits of `mask`.
  static uint32_t matches(const uint32_t* bucket, uint32_t mask, uint32_t value) {
    const auto* b = reinterpret_cast<const __m256i*>(bucket);
    const __m256i m = _mm256_set1_epi32(static_cast<int>(mask));
    const __m256i v = _mm256_set1_epi32(static_cast<int>(value));
    const auto bits = [&](__m256i slots) {
      const __m256i equal = _mm256_cmpeq_epi32(_mm256_and_si256(slots, m), v);
      return static_cast<uint32_t>(_mm256_movemask_ps(_mm256_castsi256_ps(equal)));
    };
    return bits(_mm256_load_si256(b)) | bits(_mm256_load_si256(b + 1)) << 8;
  }

  uint32_t* entries() const { return entries_.load(std::memory_order_relaxed); }
  uint32_t* bucket_of(uint32_t hash) const {
    const uint64_t buckets = buckets_.load(std::memory_order_relaxed);
    return entries() + kWidth * (hash * buckets >> 32);
  }
  template <class T>
  T* next(T* bucket) const {
    bucket += kWidth;
    return bucket == end_ ? entries() : bucket;
  }
  uint32_t* slot_of(uint32_t hash, uint32_t handle) const {
    const uint32_t wanted = hash << handle_bits_ | handle;
    uint32_t* bucket = bucket_of(hash);
    for (;;) {
      if (const uint32_t found = matches(bucket, ~0u, wanted)) {
        return bucket + __builtin_ctz(found);
      }
      bucket = next(bucket);
    }
  }

  std::atomic<uint32_t*> entries_{nullptr};
  std::atomic<uint64_t> buckets_{0};
  uint32_t* end_ = nullptr;
  uint32_t used_ = 0, limit_ = 0;
  uint32_t handle_bits_ = 1, handle_mask_ = 1;
};

}  // namespace argosy::ps
