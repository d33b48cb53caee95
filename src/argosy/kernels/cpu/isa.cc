#include "argosy/kernels/cpu/isa.h"

#include <atomic>

#include "argosy/base/cpu.h"
#include "argosy/base/error.h"

namespace argosy::cpu {
namespace {

std::atomic<Isa> current{features().avx512 ? Isa::avx512 : Isa::avx2};

}  // namespace

bool has_isa(Isa isa) {
  return isa == Isa::avx512 ? features().avx512 : features().avx2;
}

Isa isa() {
  return current.load(std::memory_order_relaxed);
}

void set_isa(Isa isa) {
  ARGOSY_INVARIANT(has_isa(isa));
  current.store(isa, std::memory_order_relaxed);
}

}  // namespace argosy::cpu
