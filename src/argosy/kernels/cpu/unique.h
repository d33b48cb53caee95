#pragma once

#include <cstdint>
#include <vector>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Distinct numbers. Each nan is distinct; -0 equals 0.
namespace argosy::cpu {

struct Groups {
  std::vector<int64_t> first;   // for each distinct value, where it first is
  std::vector<int64_t> counts;  // and how often it is there
};

// Distinct values of x[n] in rising order, or runs of equal neighbours in the order of x with
// `consecutive`; inverse[i] is the number of x[i]'s. Real dtypes and bool.
ARGOSY_API Groups group_equal(DType type, const void* x, int64_t n, bool consecutive,
                              int64_t* inverse);
// Only the values, into `values` (room for n); how many there are.
ARGOSY_API int64_t distinct_values(DType type, const void* x, int64_t n, bool consecutive,
                                   void* values);

}  // namespace argosy::cpu
