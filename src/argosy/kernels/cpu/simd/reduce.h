#pragma once

#include <cstdint>

#include "argosy/base/dtype.h"

namespace argosy::cpu {

// What is done with each element before it is combined, and how. The last three take a number for
// each result: a mean, a maximum, an exponent.
enum class Step : uint8_t {
  sum,
  prod,
  max,
  min,
  squares,
  abs,
  nonzero,
  numbers,  // the sum of what is not nan
  centered,
  exp,
  power
};
inline constexpr int kSteps = 11;

// Accumulators are double for floating dtypes and int64 for the others (uint64 in its bits for
// extremes of unsigned ones).
//
// Combines n contiguous elements into *acc.
using ReduceRun = void (*)(const void* x, int64_t n, double number, void* acc);
// Combines x[r][c] into acc[c] for all rows r; row_bytes apart. numbers: one for each column (may
// be null where the step takes none).
using ReduceColumns = void (*)(const void* x, int64_t rows, int64_t row_bytes, int64_t width,
                               const double* numbers, void* acc);
// Index of the first extreme of n > 0 contiguous elements, or of the first nan.
using ArgRun = int64_t (*)(const void* x, int64_t n);
// The same for columns; width is at most kArgColumns.
inline constexpr int kArgColumns = 256;
using ArgColumns = void (*)(const void* x, int64_t rows, int64_t row_bytes, int64_t width,
                            int64_t* index);

struct ReduceKernels {
  struct {
    ReduceRun run;
    ReduceColumns columns;
  } steps[kSteps][kDTypeCount];
  struct {
    ArgRun run;
    ArgColumns columns;
  } arg[2][kDTypeCount];  // [largest]
};

namespace avx2 {
extern const ReduceKernels reduce_kernels;
}
namespace avx512 {
extern const ReduceKernels reduce_kernels;
}

}  // namespace argosy::cpu
