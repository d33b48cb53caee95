#pragma once

#include <cstdint>

#include "argosy/base/export.h"

// Products of float32 with weights that are kept as integers of 8 or 4 bits. For few rows of x
// their time is that of reading the weights.
//
// Codes are int8 [n, k], a row for each result, each row or each `group` codes of it with a scale
// of its own. With 4 bits two rows share bytes: byte [j, i] of [n / 2, k] has row 2j in its lower
// four bits and row 2j + 1 in its upper ones, in two's complement.
namespace argosy::cpu {

struct WeightOnly {
  int64_t k, n;
  int bits;  // 8 or 4; n is even then
  const int8_t* codes;
  int64_t group;       // codes of a row that share a scale; k where a row has one
  const float* scale;  // [ceil(k / group), n]
};

// y[m, n] = x[m, k] * weights, plus bias [n] where it is not null. Work is cut by shape alone.
ARGOSY_API void weight_only_product(const WeightOnly& w, int64_t m, const float* x,
                                    const float* bias, float* y);
// The weights as numbers, [n, k].
ARGOSY_API void weight_only_numbers(const WeightOnly& w, float* to);

}  // namespace argosy::cpu
