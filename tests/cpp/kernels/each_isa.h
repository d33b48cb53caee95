#pragma once

#include <gtest/gtest.h>

#include <cstdlib>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"

namespace argosy::cpu {

// Why the SIMD kernels of `one` cannot run here; null if they can. Fails the test unless the CPU
// has not got what they need, or ARGOSY_ISA forbids it.
inline const char* why_not(Isa one) {
  if (has_isa(one)) return nullptr;
  const bool forbidden = std::getenv("ARGOSY_ISA") != nullptr;
  EXPECT_TRUE(one == Isa::avx512 && (forbidden || !__builtin_cpu_supports("x86-64-v4")))
      << "this CPU can run these kernels, but the library says that it cannot";
  return forbidden ? "ARGOSY_ISA forbids AVX-512" : "this CPU has no AVX-512";
}

// Runs `body` with each build of the SIMD kernels that this machine can run. What it cannot run is
// told by the test EachIsa.
template <class F>
void for_each_isa(F&& body) {
  const Isa before = isa();
  for (Isa one : {Isa::avx2, Isa::avx512}) {
    if (why_not(one)) continue;
    set_isa(one);
    SCOPED_TRACE(one == Isa::avx2 ? "avx2" : "avx512");
    body();
  }
  set_isa(before);
}

}  // namespace argosy::cpu
