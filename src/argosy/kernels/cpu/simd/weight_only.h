#pragma once

#include <stdint.h>

#include "argosy/kernels/cpu/weight_only.h"

// Private to weight_only.cc.
namespace argosy::cpu {

struct WeightOnlyRows {
  WeightOnly w;
  int64_t m;
  const float* x;
  const float* bias;
  float* y;
};

// Results of the rows of bytes [begin, end), for all rows of x.
namespace avx2 {
void weight_only_rows(const WeightOnlyRows& p, int64_t begin, int64_t end);
}  // namespace avx2
namespace avx512 {
void weight_only_rows(const WeightOnlyRows& p, int64_t begin, int64_t end);
}  // namespace avx512

}  // namespace argosy::cpu
