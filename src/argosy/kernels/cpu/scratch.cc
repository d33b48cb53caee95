#include "argosy/kernels/cpu/scratch.h"

namespace argosy::cpu {
namespace {

struct Region {
  char *begin = nullptr, *now = nullptr, *end = nullptr;
};
thread_local Region region;

size_t rounded(size_t bytes) {
  return (bytes + memory::kAlignment - 1) / memory::kAlignment * memory::kAlignment;
}

}  // namespace

SpareMemory::SpareMemory(char* begin, size_t bytes) {
  region = {begin, begin, begin + bytes};
}

SpareMemory::~SpareMemory() {
  region = {};
}

void* SpareMemory::take(size_t bytes) {
  const size_t size = rounded(bytes);
  if (size == 0 || size > static_cast<size_t>(region.end - region.now)) return nullptr;
  void* block = region.now;
  region.now += size;
  return block;
}

bool SpareMemory::give(void* block, size_t bytes) {
  char* at = static_cast<char*>(block);
  if (at < region.begin || at >= region.end) return false;
  if (at + rounded(bytes) == region.now) region.now = at;
  return true;
}

}  // namespace argosy::cpu
