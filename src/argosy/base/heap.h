#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "argosy/base/chunk_pool.h"
#include "argosy/base/device.h"
#include "argosy/base/memory.h"

// Inside of memory.cc: what the memory of one place is made of.
namespace argosy::memory {

class Counter {
 public:
  void add(int64_t n) {
    int64_t now = value_.fetch_add(n, std::memory_order_relaxed) + n;
    if (now > peak_.load(std::memory_order_relaxed)) [[unlikely]]
      raise_peak(now);
  }
  void subtract(int64_t n) { value_.fetch_sub(n, std::memory_order_relaxed); }
  // As add, but the value was higher in between, by `high`.
  void add_with_high(int64_t n, int64_t high) {
    raise_peak(value() + high);
    add(n);
  }
  void set(int64_t n) {
    value_.store(n, std::memory_order_relaxed);
    raise_peak(n);
  }
  void set_peak(int64_t n) { peak_.store(n, std::memory_order_relaxed); }
  int64_t value() const { return value_.load(std::memory_order_relaxed); }
  int64_t peak() const { return peak_.load(std::memory_order_relaxed); }

 private:
  void raise_peak(int64_t now) {
    int64_t seen = peak_.load(std::memory_order_relaxed);
    while (seen < now && !peak_.compare_exchange_weak(seen, now, std::memory_order_relaxed)) {
    }
  }

  // One cache line for both: they are used together. Signed, since one thread's frees may be
  // counted before another's allocations.
  alignas(64) std::atomic<int64_t> value_{0};
  std::atomic<int64_t> peak_{0};
};

// Size classes: multiples of 64 up to 512, then four to each doubling.
inline constexpr size_t kSmall = 64 << 10;
inline constexpr int kClasses = 36;

constexpr int class_of(size_t bytes) {
  if (bytes <= 512) return bytes == 0 ? 0 : static_cast<int>((bytes - 1) / 64);
  int log = std::bit_width(bytes - 1) - 1;  // 2^log < bytes <= 2^(log + 1), log >= 9
  return 8 + (log - 9) * 4 + static_cast<int>((bytes - 1) >> (log - 2) & 3);
}

struct SizeClassTable {
  std::array<uint32_t, kClasses> size{};
  std::array<uint32_t, kClasses> kept{};  // free blocks that a thread keeps at most: about 128 KiB

  constexpr SizeClassTable() {
    for (uint32_t i = 0; i < kClasses; ++i) {
      uint32_t log = 9 + (i - 8) / 4;
      size[i] = i < 8 ? 64 * (i + 1) : (1u << log) + (((i - 8) % 4 + 1) << (log - 2));
      kept[i] = std::clamp((128u << 10) / size[i], 2u, 64u);
    }
  }
};
inline constexpr SizeClassTable kTable;
static_assert(class_of(kSmall) == kClasses - 1 && kTable.size[kClasses - 1] == kSmall);

// Free blocks of one size, linked through their first bytes.
struct FreeList {
  struct Block {
    Block* next;
  };
  Block* head = nullptr;
  uint32_t count = 0;

  void push(void* block) {
    head = new (block) Block{head};
    ++count;
  }
  // Requires count > 0.
  void* pop() {
    Block* block = head;
    head = block->next;
    --count;
    return block;
  }
  // Moves n blocks, n <= count.
  void move_to(FreeList& other, uint32_t n) {
    for (; n > 0; --n) other.push(pop());
  }
};

// One place's memory. Virtual functions are thread safe.
class Heap {
 public:
  explicit Heap(Place place) : place_(place) {}
  virtual ~Heap() = default;

  virtual void* allocate(size_t bytes) = 0;
  virtual void deallocate(void* block, size_t bytes) noexcept = 0;
  virtual size_t block_size(size_t bytes) const = 0;
  virtual void release_cached() {}
  virtual std::string dump_details() { return {}; }

  virtual Stats stats();
  virtual void reset_peak();
  void set_limit(size_t bytes) { limit_.store(bytes, std::memory_order_relaxed); }
  size_t limit() const { return limit_.load(std::memory_order_relaxed); }

  Counter allocated, reserved;
  std::mutex mutex;  // guards what the heap says; held across a fork

 protected:
  bool over_limit(size_t bytes) const;
  // What holds the memory, a line each.
  virtual std::vector<std::string> holders() const { return {}; }
  [[noreturn]] void fail(size_t bytes) const;

  const Place place_;

 private:
  std::atomic<size_t> limit_{0};
};

// A chunk pool behind a lock.
class PooledHeap : public Heap {
 public:
  // most: never reserve more, limit or not; 0: as much as the backend gives.
  PooledHeap(Place place, const Backend* backend, size_t granule, size_t most = 0)
      : Heap(place), pool_(backend, place.index, granule), most_(most) {}

  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override {
    return pool_.rounded(std::max<size_t>(bytes, 1));
  }
  void release_cached() override;
  std::string dump_details() override;

 protected:
  // Null if there is no memory. Requires mutex.
  void* take(size_t size) { return take_from(pool_, size); }
  void* take_from(ChunkPool& pool, size_t size);

  ChunkPool pool_;  // guarded by mutex
  // Of memory that other processes map too; guarded by mutex.
  std::optional<ChunkPool> shared_;
  const size_t most_;

 private:
  // Requires mutex.
  size_t reserved_now() const { return pool_.reserved() + (shared_ ? shared_->reserved() : 0); }
};

// What a thread keeps for itself. It alone writes here; others read the counters.
//
// A locked instruction for each block would cost as much as all the rest, so a thread counts its
// small blocks here. It publishes the sum when that passes kUnpublished, and before it changes or
// asks for the published count in another way: `high` is meant on top of the count as it is.
struct ThreadCache {
  static constexpr int64_t kUnpublished = 64 << 10;

  FreeList lists[kClasses];
  std::atomic<int64_t> net{0};     // bytes taken less bytes freed, since last published
  std::atomic<int64_t> high{0};    // most of it, since published or since the epoch began
  std::atomic<uint64_t> epoch{0};  // the heap's when `high` began
};
// Null before the first allocation of the thread, after its end, and where there are no lists.
extern constinit thread_local ThreadCache* thread_cache;

// Adds small blocks by size class. Links them through their first bytes, so this is for memory that
// the CPU may touch.
class CpuHeap : public PooledHeap {
 public:
  CpuHeap(Place place, const Backend* backend);

  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override {
    return bytes > kSmall ? PooledHeap::block_size(bytes) : kTable.size[class_of(bytes)];
  }
  // Chunks for allocate_shared() come from here.
  void share(const Backend* backend);
  // A large block; null where there is no room, or was no share().
  void* allocate_shared(size_t bytes);
  // Those of the calling thread's lists included.
  void release_cached() override;
  std::string dump_details() override;
  Stats stats() override;
  void reset_peak() override;

  // Count a small block of the calling thread.
  void count_taken(ThreadCache& cache, int64_t bytes) {
    int64_t before = cache.net.load(std::memory_order_relaxed), now = before + bytes;
    uint64_t current = epoch_.load(std::memory_order_relaxed);
    if (cache.epoch.load(std::memory_order_relaxed) != current) [[unlikely]] {
      cache.high.store(before, std::memory_order_relaxed);
      cache.epoch.store(current, std::memory_order_relaxed);
    }
    cache.net.store(now, std::memory_order_relaxed);
    if (now > cache.high.load(std::memory_order_relaxed)) {
      cache.high.store(now, std::memory_order_relaxed);
    }
    if (now > ThreadCache::kUnpublished) [[unlikely]]
      publish(cache);
  }
  void count_freed(ThreadCache& cache, int64_t bytes) {
    int64_t now = cache.net.load(std::memory_order_relaxed) - bytes;
    cache.net.store(now, std::memory_order_relaxed);
    if (now < -ThreadCache::kUnpublished) [[unlikely]]
      publish(cache);
  }
  void publish(ThreadCache& cache) noexcept;

  // A thread's lists come and go.
  void enter(ThreadCache* cache);
  void leave(ThreadCache* cache) noexcept;

  // Moves between 1 and `most` free blocks of a class into `list`; throws if there is no memory.
  void refill(int index, FreeList& list, uint32_t most);
  void give_back(int index, FreeList& list, uint32_t n) noexcept;
  void give_back_all(ThreadCache& cache) noexcept;

 private:
  struct SizeClass {
    FreeList free;
    // What has not been handed out yet of the newest span.
    char* fresh = nullptr;
    char* fresh_end = nullptr;
    std::vector<char*> spans;  // each span_size(index) bytes from the pool
  };

  static size_t span_size(int index);
  static size_t blocks_in_span(int index) { return span_size(index) / kTable.size[index]; }
  bool has_free(int index) const {
    return classes_[index].free.count > 0 || classes_[index].fresh != classes_[index].fresh_end;
  }
  // Requires the lock, and may open it. Afterwards has_free(index).
  void add_span(std::unique_lock<std::mutex>& lock, int index);
  // Gives back the spans of a class all of whose blocks are free. Requires mutex.
  void release_spans(int index);

  // Requires mutex.
  int64_t unpublished() const;

  SizeClass classes_[kClasses];       // guarded by mutex
  std::vector<ThreadCache*> caches_;  // guarded by mutex
  std::atomic<uint64_t> epoch_{0};    // how often the peak was reset; changed under mutex
};

// ARGOSY_ALLOCATOR=system: each block from the C library.
class SystemHeap : public Heap {
 public:
  using Heap::Heap;
  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override;
};

// ARGOSY_ALLOCATOR=guard: each block ends at a page that may not be touched, begins at most a page
// behind another, and is full of 0xff, which is NaN: what an op reads or writes past a tensor ends
// the process there, and what it forgets to write is seen. Every block is mapped on its own.
class GuardHeap : public Heap {
 public:
  using Heap::Heap;
  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override;
};

// Counts only. Its addresses are not canonical, so reading through one faults.
class NullHeap : public Heap {
 public:
  using Heap::Heap;
  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override;

 private:
  std::atomic<uintptr_t> next_{uintptr_t{1} << 63};
};

// Memory of a registered device.
class DeviceHeap : public Heap {
 public:
  DeviceHeap(Place place, Device& device) : Heap(place), device_(device) {}
  void* allocate(size_t bytes) override;
  void deallocate(void* block, size_t bytes) noexcept override;
  size_t block_size(size_t bytes) const override;
  void release_cached() override { device_.release_cached(place_); }
  std::string dump_details() override;
  Stats stats() override;

 private:
  std::vector<std::string> holders() const override;

  Device& device_;
};

}  // namespace argosy::memory
