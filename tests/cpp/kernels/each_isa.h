#pragma once

#include <gtest/gtest.h>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/isa.h"

namespace argosy::cpu {

// Runs `body` with each build of the SIMD kernels that this machine can run.
template <class F>
void for_each_isa(F&& body) {
  const Isa before = isa();
  for (Isa one : {Isa::avx2, Isa::avx512}) {
    if (!has_isa(one)) continue;
    set_isa(one);
    SCOPED_TRACE(one == Isa::avx2 ? "avx2" : "avx512");
    body();
  }
  set_isa(before);
}

}  // namespace argosy::cpu
