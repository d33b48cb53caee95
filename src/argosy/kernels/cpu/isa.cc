#include "argosy/kernels/cpu/isa.h"

#include <atomic>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"

namespace argosy::cpu {
namespace {

// -1 until the first use: features() throws for a wrong ARGOSY_ISA, which must not happen while the
// library loads.
std::atomic<int> current{-1};

}  // namespace

bool has_isa(Isa isa) {
  return isa == Isa::avx512 ? features().avx512 : features().avx2;
}

Isa isa() {
  int value = current.load(std::memory_order_relaxed);
  if (value < 0) [[unlikely]] {
    value = static_cast<int>(features().avx512 ? Isa::avx512 : Isa::avx2);
    current.store(value, std::memory_order_relaxed);
  }
  return static_cast<Isa>(value);
}

void set_isa(Isa isa) {
  ARGOSY_INVARIANT(has_isa(isa));
  current.store(static_cast<int>(isa), std::memory_order_relaxed);
}

}  // namespace argosy::cpu
