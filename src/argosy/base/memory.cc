#include "argosy/base/memory.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "argosy/base/address_range.h"
#include "argosy/base/device.h"
#include "argosy/base/error.h"
#include "argosy/base/flags.h"
#include "argosy/base/heap.h"
#include "argosy/base/text.h"

namespace argosy::memory {
namespace {

// ---- The table of heaps ----

void* map_pages(int, size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  size_t slack = bytes >= kHugePage ? kHugePage : 0;
  void* got =
      mmap(nullptr, bytes + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED) return nullptr;
  if (!slack) return got;
  char* begin = static_cast<char*>(got);
  size_t head = -reinterpret_cast<uintptr_t>(begin) & (kHugePage - 1);
  if (head) munmap(begin, head);
  if (slack - head) munmap(begin + head + bytes, slack - head);
  // Page faults by 2 MiB instead of 4 KiB: first touch is several times faster.
  madvise(begin + head, bytes, MADV_HUGEPAGE);
  return begin + head;
}

void unmap_pages(int, void* block, size_t bytes) {
  munmap(block, bytes);
}

constexpr int kMaxDevices = 64;

Backend backends[kDeviceKinds] = {{map_pages, unmap_pages}, {}, {}};

// Heaps live until the process ends: blocks may be freed by the last destructors.
std::atomic<Heap*> heaps[kDeviceKinds][kMaxDevices];
std::mutex heaps_mutex;

std::unique_ptr<Heap> make_cpu_heap(Place place, const Backend* backend) {
  const std::string choice = flags::find("ARGOSY_ALLOCATOR").text();
  if (choice == "pool") return std::make_unique<CpuHeap>(place, backend);
  if (choice == "system") return std::make_unique<SystemHeap>(place);
  if (choice == "guard") return std::make_unique<GuardHeap>(place);
  ARGOSY_THROW(invalid_argument) << "[ARGOSY_ALLOCATOR] expected 'pool', 'system' or 'guard', got '"
                                 << choice << "'. Do this: set it to one of these, or unset it.";
}

std::unique_ptr<Heap> make_heap(Place place) {
  const Backend* backend = &backends[static_cast<int>(place.kind)];
  if (place.kind == DeviceKind::null) return std::make_unique<NullHeap>(place);
  if (device::find(place.kind)) return std::make_unique<DeviceHeap>(place, device::of(place));
  ARGOSY_CHECK(backend->allocate, device)
      << "[memory] this build of Argosy has no CUDA, so there is no place gpu:"
      << static_cast<int>(place.index)
      << ". Do this: use CPUPlace(), or install a build with CUDA.";
  if (place.kind == DeviceKind::cuda) return std::make_unique<PooledHeap>(place, backend, 512);
  std::unique_ptr<Heap> heap = make_cpu_heap(place, backend);
  int64_t limit = flags::find("ARGOSY_MEMORY_LIMIT_MB").integer();
  heap->set_limit(static_cast<size_t>(std::max<int64_t>(limit, 0)) << 20);
  return heap;
}

void for_each_heap(void (*f)(Heap&)) {
  for (auto& row : heaps) {
    for (auto& slot : row) {
      if (Heap* heap = slot.load(std::memory_order_acquire)) f(*heap);
    }
  }
}

Heap& create_heap(Place place) {
  std::lock_guard lock(heaps_mutex);
  auto& slot = heaps[static_cast<int>(place.kind)][place.index];
  if (!slot.load(std::memory_order_relaxed)) {
    // A fork must find every lock free. Lists of other threads are lost to the child.
    [[maybe_unused]] static const int registered = pthread_atfork(
        [] {
          heaps_mutex.lock();
          for_each_heap([](Heap& heap) { heap.mutex.lock(); });
        },
        [] {
          for_each_heap([](Heap& heap) { heap.mutex.unlock(); });
          heaps_mutex.unlock();
        },
        [] {
          for_each_heap([](Heap& heap) { heap.mutex.unlock(); });
          heaps_mutex.unlock();
        });
    slot.store(make_heap(place).release(), std::memory_order_release);
  }
  return *slot.load(std::memory_order_relaxed);
}

Heap& heap_of(Place place) {
  if (place.kind == DeviceKind::cpu) place.index = 0;
  ARGOSY_CHECK(place.index >= 0 && place.index < kMaxDevices, device)
      << "[memory] expected a device index from 0 to " << kMaxDevices - 1 << ", got "
      << static_cast<int>(place.index) << '.';
  Heap* heap = heaps[static_cast<int>(place.kind)][place.index].load(std::memory_order_acquire);
  return heap ? *heap : create_heap(place);
}

// ---- Memory that other processes map too ----

// What share() was given, for ever; guarded by the lock of the CPU's heap. Null: nothing yet.
std::atomic<AddressRange*> shared_range{nullptr};

void* take_shared(int, size_t bytes) {
  return shared_range.load(std::memory_order_relaxed)->take(bytes);
}

void give_back_shared(int, void* block, size_t bytes) {
  madvise(block, bytes, MADV_REMOVE);  // the pages go, the addresses stay
  shared_range.load(std::memory_order_relaxed)->give_back(static_cast<char*>(block), bytes);
}

constexpr Backend kSharedChunks = {take_shared, give_back_shared};

// ---- Per-thread lists of the CPU ----

// The CPU's heap, once any thread has a cache.
std::atomic<CpuHeap*> cpu_heap{nullptr};

// Its destructor is the thread's end; blocks that later destructors free go to the heap directly.
struct CacheOwner {
  bool ended = false;
  ~CacheOwner() {
    ended = true;
    if (ThreadCache* cache = std::exchange(thread_cache, nullptr)) {
      cpu_heap.load(std::memory_order_relaxed)->leave(cache);
      delete cache;
    }
  }
};

// Null where the thread has no lists, and shall not.
ThreadCache* make_thread_cache(Heap& heap) {
  static thread_local CacheOwner owner;
  auto* pooled = dynamic_cast<CpuHeap*>(&heap);
  if (!pooled || owner.ended) return nullptr;
  cpu_heap.store(pooled, std::memory_order_relaxed);
  auto cache = std::make_unique<ThreadCache>();
  pooled->enter(cache.get());
  return thread_cache = cache.release();
}

[[gnu::noinline]] void* allocate_slow(Place place, size_t bytes) {
  Heap& heap = heap_of(place);
  if (place.kind != DeviceKind::cpu || bytes > kSmall) return heap.allocate(bytes);
  ThreadCache* cache = thread_cache ? thread_cache : make_thread_cache(heap);
  if (!cache) return heap.allocate(bytes);
  int index = class_of(bytes);
  FreeList& list = cache->lists[index];
  auto& pooled = static_cast<CpuHeap&>(heap);
  pooled.publish(*cache);  // for the limit
  pooled.refill(index, list, kTable.kept[index] / 2);
  pooled.count_taken(*cache, kTable.size[index]);
  return list.pop();
}

[[gnu::noinline]] void deallocate_slow(Place place, void* block, size_t bytes) noexcept {
  Heap& heap = heap_of(place);
  ThreadCache* cache = thread_cache;
  if (place.kind != DeviceKind::cpu || bytes > kSmall || !cache) {
    return heap.deallocate(block, bytes);
  }
  int index = class_of(bytes);
  FreeList& list = cache->lists[index];
  auto& pooled = static_cast<CpuHeap&>(heap);
  pooled.give_back(index, list, list.count / 2);
  list.push(block);
  pooled.count_freed(*cache, kTable.size[index]);
}

}  // namespace

void* allocate(Place place, size_t bytes) {
  if (ThreadCache* cache = thread_cache; cache && place.kind == DeviceKind::cpu && bytes <= kSmall)
      [[likely]] {
    int index = class_of(bytes);
    FreeList& list = cache->lists[index];
    if (list.head) [[likely]] {
      cpu_heap.load(std::memory_order_relaxed)->count_taken(*cache, kTable.size[index]);
      return list.pop();
    }
  }
  return allocate_slow(place, bytes);
}

void deallocate(Place place, void* block, size_t bytes) noexcept {
  if (ThreadCache* cache = thread_cache; cache && place.kind == DeviceKind::cpu && bytes <= kSmall)
      [[likely]] {
    int index = class_of(bytes);
    FreeList& list = cache->lists[index];
    if (list.count < kTable.kept[index]) [[likely]] {
      list.push(block);
      cpu_heap.load(std::memory_order_relaxed)->count_freed(*cache, kTable.size[index]);
      return;
    }
  }
  deallocate_slow(place, block, bytes);
}

bool share(char* begin, size_t bytes) {
  auto* pooled = dynamic_cast<CpuHeap*>(&heap_of({}));
  if (!pooled) return false;
  static std::mutex once;
  std::lock_guard lock(once);
  if (shared_range.load(std::memory_order_relaxed)) return false;
  shared_range.store(new AddressRange(begin, bytes), std::memory_order_release);
  pooled->share(&kSharedChunks);
  return true;
}

void* allocate_shared(size_t bytes) {
  if (bytes > kSmall && shared_range.load(std::memory_order_acquire))
    if (void* block = static_cast<CpuHeap&>(heap_of({})).allocate_shared(bytes)) return block;
  return allocate({}, bytes);
}

bool is_shared(const void* address) {
  const AddressRange* range = shared_range.load(std::memory_order_acquire);
  return range && range->has(address);
}

size_t block_size(Place place, size_t bytes) {
  return heap_of(place).block_size(bytes);
}
Stats stats(Place place) {
  return heap_of(place).stats();
}
void reset_peak(Place place) {
  heap_of(place).reset_peak();
}
void release_cached(Place place) {
  heap_of(place).release_cached();
}

void set_limit(Place place, size_t bytes) {
  Heap& heap = heap_of(place);
  heap.release_cached();
  heap.set_limit(bytes);
}

std::string dump(Place place) {
  Heap& heap = heap_of(place);
  Stats s = heap.stats();
  std::string text = "in use           " + bytes_text(s.allocated) + " (peak " +
                     bytes_text(s.peak) + ")\nreserved         " + bytes_text(s.reserved) +
                     " (peak " + bytes_text(s.peak_reserved) + ")\n";
  if (heap.limit()) text += "limit            " + bytes_text(heap.limit()) + "\n";
  return text + heap.dump_details();
}

Backend set_backend(DeviceKind kind, Backend backend) {
  std::lock_guard lock(heaps_mutex);
  return std::exchange(backends[static_cast<int>(kind)], backend);
}

}  // namespace argosy::memory
