#include "argosy/base/memory.h"

#include <atomic>
#include <cstdlib>

#include "argosy/base/error.h"

namespace argosy::memory {
namespace {

std::atomic<size_t> allocated{0}, peak{0};

size_t rounded(size_t bytes) {
  return bytes == 0 ? kAlignment : (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

void* allocate(Place place, size_t bytes) {
  ARGOSY_CHECK(place.kind == DeviceKind::cpu, device) << "this build has no such device.";
  void* block = std::aligned_alloc(kAlignment, rounded(bytes));
  ARGOSY_CHECK(block, memory) << "cannot allocate " << bytes << " bytes.";
  size_t now = allocated.fetch_add(rounded(bytes)) + rounded(bytes);
  size_t seen = peak.load();
  while (seen < now && !peak.compare_exchange_weak(seen, now)) {
  }
  return block;
}

void deallocate(Place, void* block, size_t bytes) noexcept {
  std::free(block);
  allocated.fetch_sub(rounded(bytes));
}

Stats stats(Place) {
  return {allocated, peak, allocated, peak};
}
void reset_peak(Place) {
  peak = allocated.load();
}
void set_limit(Place, size_t) {}
void release_cached(Place) {}
std::string dump(Place) {
  return {};
}

}  // namespace argosy::memory
