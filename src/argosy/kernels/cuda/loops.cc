#include "argosy/kernels/cuda/loops.h"

#include <cstddef>
#include <cstdint>

#include "argosy/base/error.h"

namespace argosy::cuda {
namespace {

// By the table's address, in the first free place from where it belongs.
class Loops {
 public:
  Loops() {
#define ARGOSY_ENTER(name) enter(&cpu::name##_loops(), name##_loop);
    ARGOSY_ALL_LOOPS(ARGOSY_ENTER)
#undef ARGOSY_ENTER
  }
  DeviceLoop find(const cpu::LoopTable* table) const {
    size_t at = place_of(table);
    while (places_[at].table && places_[at].table != table) at = (at + 1) % kPlaces;
    return places_[at].loop;
  }

 private:
  static constexpr size_t kPlaces = 1024;
  static size_t place_of(const cpu::LoopTable* table) {
    return reinterpret_cast<uintptr_t>(table) * uint64_t{0x9E3779B97F4A7C15} >> 54;
  }
  void enter(const cpu::LoopTable* table, DeviceLoop loop) {
    ARGOSY_INVARIANT(++count_ < kPlaces / 2);
    size_t at = place_of(table);
    while (places_[at].table) at = (at + 1) % kPlaces;
    places_[at] = {table, loop};
  }

  struct {
    const cpu::LoopTable* table = nullptr;
    DeviceLoop loop = nullptr;
  } places_[kPlaces];
  size_t count_ = 0;
};

}  // namespace

DeviceLoop find_loop(const cpu::LoopTable* table) {
  static const Loops loops;
  return loops.find(table);
}

}  // namespace argosy::cuda
