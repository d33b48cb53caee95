#include "argosy/kernels/cpu/isa.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

#include "argosy/base/error.h"

namespace argosy::cpu {
namespace {

Isa choose() {
  const char* wanted = std::getenv("ARGOSY_ISA");
  if (wanted && std::string_view(wanted) == "avx2") return Isa::avx2;
  return has_isa(Isa::avx512) ? Isa::avx512 : Isa::avx2;
}

std::atomic<Isa> current{choose()};

}  // namespace

bool has_isa(Isa isa) {
  __builtin_cpu_init();
  return isa == Isa::avx2 ? __builtin_cpu_supports("x86-64-v3")
                          : __builtin_cpu_supports("x86-64-v4");
}

Isa isa() {
  return current.load(std::memory_order_relaxed);
}

void set_isa(Isa isa) {
  ARGOSY_INVARIANT(has_isa(isa));
  current.store(isa, std::memory_order_relaxed);
}

}  // namespace argosy::cpu
