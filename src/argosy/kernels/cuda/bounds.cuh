#pragma once

#include "argosy/kernels/cuda/bounds.h"

namespace argosy::cuda {

// `value` is none of the `bound` that there are. The first to say so since the host looked last is
// heard.
__device__ __forceinline__ void tell(const Watch& watch, int64_t value, int64_t bound) {
  if (!watch.to) return;
  if (*static_cast<volatile unsigned*>(&watch.to->taken) || atomicExch(&watch.to->taken, 1u))
    return;
  volatile Finding* finding = watch.to->finding;
  finding->named = watch.named;
  finding->op = watch.op;
  finding->value = value;
  finding->bound = bound;
  finding->detail = watch.detail;
  __threadfence_system();
  finding->ready = 1;
}

}  // namespace argosy::cuda
