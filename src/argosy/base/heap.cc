#include "argosy/base/heap.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"
#include "argosy/base/text.h"

namespace argosy::memory {

constinit thread_local ThreadCache* thread_cache = nullptr;

namespace {

// At least one unit, so that the pointer of an empty block is unique. Wraps around for impossible
// requests; callers compare.
constexpr size_t aligned(size_t bytes) {
  return (std::max<size_t>(bytes, 1) + kAlignment - 1) & ~(kAlignment - 1);
}

}  // namespace

// ---- Heap ----

Stats Heap::stats() {
  return {static_cast<size_t>(allocated.value()), static_cast<size_t>(allocated.peak()),
          static_cast<size_t>(reserved.value()), static_cast<size_t>(reserved.peak())};
}

void Heap::reset_peak() {
  allocated.set_peak(allocated.value());
  reserved.set_peak(reserved.value());
}

bool Heap::over_limit(size_t bytes) const {
  size_t most = limit(), used = static_cast<size_t>(std::max<int64_t>(allocated.value(), 0));
  return most && (bytes > most || used > most - bytes);
}

void Heap::fail(size_t bytes) const {
  Message m;
  m << "[memory] out of memory on " << device::kind_name(place_.kind) << ':'
    << static_cast<int>(place_.index) << ": " << bytes_text(bytes) << " requested, "
    << bytes_text(allocated.value()) << " in use, " << bytes_text(reserved.value())
    << " reserved, ";
  if (limit()) {
    m << "limit " << bytes_text(limit()) << " (set by the program)";
  } else {
    m << "no limit set";
    if (place_.kind == DeviceKind::cpu) {
      m << ", " << bytes_text(cpu::available_memory()) << " in this machine or container";
    }
  }
  const std::vector<std::string> held = holders();
  for (size_t i = 0; i < held.size() && i < 5; ++i) m << (i ? "; " : ". Held by ") << held[i];
  if (held.size() > 5) m << "; and " << held.size() - 5 << " more";
  m << ". Do this: make the batch or the model smaller, or delete tensors that are no longer needed"
    << (limit() ? ", or raise the limit." : ".");
  throw Error(ErrorKind::memory, m.str());
}

// ---- PooledHeap ----

void* PooledHeap::take_from(ChunkPool& pool, size_t size) {
  size_t most = limit();
  if (most_) most = most ? std::min(most, most_) : most_;
  const size_t elsewhere = reserved_now() - pool.reserved();
  if (most) most = std::max(most, elsewhere + 1) - elsewhere;  // 0 would be no limit
  void* block = pool.allocate(size, most);
  reserved.set(reserved_now());
  return block;
}

void* PooledHeap::allocate(size_t bytes) {
  size_t size = block_size(bytes);
  if (size < bytes || over_limit(size)) fail(bytes);
  auto locked_take = [&] {
    std::lock_guard lock(mutex);
    return take(size);
  };
  void* block = locked_take();
  if (!block) {
    release_cached();  // small blocks that are free may make up whole chunks
    block = locked_take();
  }
  if (!block) fail(bytes);
  allocated.add(size);
  return block;
}

void PooledHeap::deallocate(void* block, size_t bytes) noexcept {
  {
    std::lock_guard lock(mutex);
    if (!pool_.deallocate(block) && !(shared_ && shared_->deallocate(block))) {
      std::fprintf(stderr, "argosy: [memory] block %p is freed but not in use (freed twice?)\n",
                   block);
      return;
    }
  }
  allocated.subtract(block_size(bytes));
}

void PooledHeap::release_cached() {
  std::lock_guard lock(mutex);
  pool_.release_free();
  if (shared_) shared_->release_free();
  reserved.set(reserved_now());
}

std::string PooledHeap::dump_details() {
  std::lock_guard lock(mutex);
  return pool_.dump();
}

// ---- CpuHeap ----

CpuHeap::CpuHeap(Place place, const Backend* backend)
    // The system grants what it cannot hold, and kills the process for it later.
    : PooledHeap(place, backend, 4096, cpu::available_memory()) {}

void* CpuHeap::allocate(size_t bytes) {
  if (thread_cache) publish(*thread_cache);
  if (bytes > kSmall) return PooledHeap::allocate(bytes);
  FreeList one;
  refill(class_of(bytes), one, 1);
  allocated.add(kTable.size[class_of(bytes)]);
  return one.pop();
}

void CpuHeap::deallocate(void* block, size_t bytes) noexcept {
  if (thread_cache) publish(*thread_cache);
  if (bytes > kSmall) return PooledHeap::deallocate(block, bytes);
  int index = class_of(bytes);
  FreeList one;
  one.push(block);
  give_back(index, one, 1);
  allocated.subtract(kTable.size[index]);
}

void CpuHeap::share(const Backend* backend) {
  std::lock_guard lock(mutex);
  shared_.emplace(backend, place_.index, 4096);
}

void* CpuHeap::allocate_shared(size_t bytes) {
  if (thread_cache) publish(*thread_cache);
  const size_t size = block_size(bytes);
  if (size < bytes || over_limit(size)) return nullptr;
  void* block;
  {
    std::lock_guard lock(mutex);
    block = shared_ ? take_from(*shared_, size) : nullptr;
  }
  if (block) allocated.add(static_cast<int64_t>(size));
  return block;
}

void CpuHeap::publish(ThreadCache& cache) noexcept {
  int64_t net = cache.net.exchange(0, std::memory_order_relaxed), high = net;
  if (cache.epoch.load(std::memory_order_relaxed) == epoch_.load(std::memory_order_relaxed)) {
    high = cache.high.load(std::memory_order_relaxed);
  }
  cache.high.store(0, std::memory_order_relaxed);
  if (net != 0 || high != 0) allocated.add_with_high(net, high);
}

void CpuHeap::enter(ThreadCache* cache) {
  std::lock_guard lock(mutex);
  cache->epoch = epoch_.load();
  caches_.push_back(cache);
}

void CpuHeap::leave(ThreadCache* cache) noexcept {
  give_back_all(*cache);
  std::lock_guard lock(mutex);
  publish(*cache);
  std::erase(caches_, cache);
}

int64_t CpuHeap::unpublished() const {
  int64_t sum = 0;
  for (const ThreadCache* c : caches_) sum += c->net.load(std::memory_order_relaxed);
  return sum;
}

Stats CpuHeap::stats() {
  std::lock_guard lock(mutex);
  int64_t now = allocated.value() + unpublished(), peak = std::max(allocated.peak(), now);
  for (const ThreadCache* c : caches_) {
    if (c->epoch.load(std::memory_order_relaxed) != epoch_.load(std::memory_order_relaxed))
      continue;
    int64_t rise = c->high.load(std::memory_order_relaxed) - c->net.load(std::memory_order_relaxed);
    peak = std::max(peak, now + rise);
  }
  Stats stats = Heap::stats();
  stats.allocated = static_cast<size_t>(std::max<int64_t>(now, 0));
  stats.peak = static_cast<size_t>(std::max<int64_t>(peak, 0));
  return stats;
}

void CpuHeap::reset_peak() {
  std::lock_guard lock(mutex);
  Heap::reset_peak();
  epoch_.fetch_add(1);
  allocated.set_peak(allocated.value() + unpublished());
}

void CpuHeap::refill(int index, FreeList& list, uint32_t most) {
  size_t size = kTable.size[index];
  if (over_limit(size)) fail(size);
  std::unique_lock lock(mutex);
  if (!has_free(index)) add_span(lock, index);
  SizeClass& c = classes_[index];
  uint32_t n = std::min(most, c.free.count);
  c.free.move_to(list, n);
  for (; n < most && c.fresh != c.fresh_end; ++n, c.fresh += size) list.push(c.fresh);
}

void CpuHeap::give_back(int index, FreeList& list, uint32_t n) noexcept {
  std::lock_guard lock(mutex);
  list.move_to(classes_[index].free, n);
}

void CpuHeap::give_back_all(ThreadCache& cache) noexcept {
  for (int i = 0; i < kClasses; ++i) {
    if (uint32_t n = cache.lists[i].count) give_back(i, cache.lists[i], n);
  }
}

size_t CpuHeap::span_size(int index) {
  size_t size = kTable.size[index];
  size_t bytes = std::clamp<size_t>(size * 16, 64 << 10, 512 << 10);
  return (bytes / size * size + 4095) & ~size_t{4095};
}

void CpuHeap::add_span(std::unique_lock<std::mutex>& lock, int index) {
  SizeClass& c = classes_[index];
  size_t bytes = span_size(index);
  // First, so that nothing can fail once the span is ours.
  if (c.spans.size() == c.spans.capacity()) c.spans.reserve(2 * c.spans.size() + 8);
  void* span = take(bytes);
  if (!span) {
    lock.unlock();
    release_cached();
    lock.lock();
    if (has_free(index)) return;
    span = take(bytes);
  }
  if (!span) {
    lock.unlock();
    fail(kTable.size[index]);
  }
  c.spans.push_back(static_cast<char*>(span));
  c.fresh = static_cast<char*>(span);
  c.fresh_end = c.fresh + blocks_in_span(index) * kTable.size[index];
}

void CpuHeap::release_cached() {
  if (thread_cache) give_back_all(*thread_cache);
  {
    std::lock_guard lock(mutex);
    for (int i = 0; i < kClasses; ++i) release_spans(i);
  }
  PooledHeap::release_cached();
}

void CpuHeap::release_spans(int index) {
  SizeClass& c = classes_[index];
  for (; c.fresh != c.fresh_end; c.fresh += kTable.size[index]) c.free.push(c.fresh);
  uint32_t per_span = static_cast<uint32_t>(blocks_in_span(index));
  if (c.free.count < per_span) return;
  std::sort(c.spans.begin(), c.spans.end());
  auto span_of = [&](void* block) {
    auto after = std::upper_bound(c.spans.begin(), c.spans.end(), static_cast<char*>(block));
    return after - c.spans.begin() - 1;
  };
  std::vector<uint32_t> free_in(c.spans.size(), 0);
  for (FreeList::Block* b = c.free.head; b; b = b->next) ++free_in[span_of(b)];
  FreeList kept;
  while (c.free.count > 0) {
    void* block = c.free.pop();
    if (free_in[span_of(block)] < per_span) kept.push(block);
  }
  c.free = kept;
  size_t left = 0;
  for (size_t i = 0; i < c.spans.size(); ++i) {
    if (free_in[i] < per_span) {
      c.spans[left++] = c.spans[i];
    } else {
      pool_.deallocate(c.spans[i]);
    }
  }
  c.spans.resize(left);
}

std::string CpuHeap::dump_details() {
  std::lock_guard lock(mutex);
  std::string text = pool_.dump();
  if (shared_) text += "seen by other processes:\n" + shared_->dump();
  text += "block size   blocks     free (outside of threads' lists)\n";
  char line[96];
  for (int i = 0; i < kClasses; ++i) {
    const SizeClass& c = classes_[i];
    if (c.spans.empty()) continue;
    size_t fresh = static_cast<size_t>(c.fresh_end - c.fresh) / kTable.size[i];
    std::snprintf(line, sizeof(line), "%10u %8zu %8zu\n", kTable.size[i],
                  c.spans.size() * blocks_in_span(i), c.free.count + fresh);
    text += line;
  }
  return text;
}

// ---- SystemHeap ----

void* SystemHeap::allocate(size_t bytes) {
  // Sanitizers abort when asked for the impossible.
  static const size_t most = cpu::available_memory();
  size_t size = aligned(bytes);
  if (size < bytes || size > most || over_limit(size)) fail(bytes);
  void* block = std::aligned_alloc(kAlignment, size);
  if (!block) fail(bytes);
  allocated.add(size);
  reserved.add(size);
  return block;
}

void SystemHeap::deallocate(void* block, size_t bytes) noexcept {
  std::free(block);
  allocated.subtract(aligned(bytes));
  reserved.subtract(aligned(bytes));
}

size_t SystemHeap::block_size(size_t bytes) const {
  return aligned(bytes);
}

// ---- GuardHeap ----

namespace {

constexpr size_t kPage = 4096;

// Of the pages that may be touched for a block.
size_t pages_of(size_t size) {
  return (std::max<size_t>(size, 1) + kPage - 1) / kPage * kPage;
}

}  // namespace

void* GuardHeap::allocate(size_t bytes) {
  static const size_t most = cpu::available_memory();
  const size_t size = aligned(bytes);
  if (size < bytes || size > most || over_limit(size)) fail(bytes);
  const size_t pages = pages_of(size);
  void* all = mmap(nullptr, pages + 2 * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED) fail(bytes);
  char* begin = static_cast<char*>(all) + kPage;
  if (mprotect(begin, pages, PROT_READ | PROT_WRITE) != 0) {
    munmap(all, pages + 2 * kPage);
    fail(bytes);
  }
  std::memset(begin, 0xff, pages);
  allocated.add(size);
  reserved.add(size);
  return begin + pages - size;
}

void GuardHeap::deallocate(void* block, size_t bytes) noexcept {
  const size_t size = aligned(bytes), pages = pages_of(size);
  munmap(static_cast<char*>(block) + size - pages - kPage, pages + 2 * kPage);
  allocated.subtract(size);
  reserved.subtract(size);
}

size_t GuardHeap::block_size(size_t bytes) const {
  return aligned(bytes);
}

// ---- NullHeap ----

void* NullHeap::allocate(size_t bytes) {
  size_t size = aligned(bytes);
  if (size < bytes || over_limit(size)) fail(bytes);
  allocated.add(size);
  reserved.add(size);
  return reinterpret_cast<void*>(next_.fetch_add(size, std::memory_order_relaxed));
}

void NullHeap::deallocate(void*, size_t bytes) noexcept {
  allocated.subtract(aligned(bytes));
  reserved.subtract(aligned(bytes));
}

size_t NullHeap::block_size(size_t bytes) const {
  return aligned(bytes);
}

// ---- DeviceHeap ----

void* DeviceHeap::allocate(size_t bytes) {
  const size_t size = block_size(bytes);
  if (size < bytes || over_limit(size)) fail(bytes);
  void* block = device_.allocate(device::current(place_), size);
  if (!block) fail(bytes);
  allocated.add(static_cast<int64_t>(size));
  reserved.add(static_cast<int64_t>(size));
  return block;
}

void DeviceHeap::deallocate(void* block, size_t bytes) noexcept {
  const size_t size = block_size(bytes);
  device_.release(place_, block, size);
  allocated.subtract(static_cast<int64_t>(size));
  reserved.subtract(static_cast<int64_t>(size));
}

size_t DeviceHeap::block_size(size_t bytes) const {
  return device_.block_size(bytes);
}

std::vector<std::string> DeviceHeap::holders() const {
  std::vector<std::string> lines;
  for (const Device::Holder& h : device_.holders(place_)) {
    Message m;
    m << '[' << h.name << "] " << bytes_text(static_cast<int64_t>(h.bytes)) << " in " << h.blocks
      << (h.blocks == 1 ? " block" : " blocks");
    lines.push_back(m.str());
  }
  return lines;
}

Stats DeviceHeap::stats() {
  Stats s = Heap::stats();
  s.reserved = std::max(s.reserved, device_.reserved(place_));
  s.peak_reserved = std::max(s.peak_reserved, s.reserved);
  return s;
}

std::string DeviceHeap::dump_details() {
  std::string text = device_.report(place_);
  for (const std::string& line : holders()) text += "  held by " + line + '\n';
  return text;
}

}  // namespace argosy::memory
