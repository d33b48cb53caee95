#pragma once

#include <cstdint>
#include <span>

#include "argosy/base/dtype.h"
#include "argosy/base/export.h"

// Reductions over any set of axes of a strided tensor. Floats of 16 and 32 bits accumulate in
// float32 blocks that are summed in double; integers in int64. How the work is cut depends on the
// shape alone and partial results combine in order, so the number of threads changes no bit.
namespace argosy::cpu {

enum class Reduce : uint8_t {
  sum,            // integers and bool: int64
  mean,           // floating and complex
  prod,           // integers and bool: int64
  max,            // real and bool; nan if there is one
  min,            //
  any,            // any dtype; output bool
  all,            //
  sum_squares,    // floating; complex: of |x|, real output
  sum_abs,        //
  norm,           // sqrt(sum_squares), rounded once
  count_nonzero,  // any dtype; int64
  logsumexp,      // floating
  mean_squares,   //
  sum_numbers,    // the sum of what is not nan
};
inline constexpr int kReduceKinds = 14;

// The dtype of the result of reducing `t`.
ARGOSY_API DType reduced_dtype(Reduce kind, DType t);

// axes: a bit for each reduced dimension. Strides in items. The result is contiguous over the kept
// dimensions in their order. Of no elements: sum 0, prod 1, any false, all true, mean nan,
// logsumexp -inf; max and min must not be asked for.
ARGOSY_API void reduce(Reduce kind, DType type, const void* x, std::span<const int64_t> shape,
                       const int64_t* strides, uint32_t axes, void* result);

// (sum |x|^p)^(1/p); floating, p > 0 and finite.
ARGOSY_API void reduce_norm(double p, DType type, const void* x, std::span<const int64_t> shape,
                            const int64_t* strides, uint32_t axes, void* result);

// sum (x - mean)^2 / (n - correction) in two passes; floating. `mean` may be null.
ARGOSY_API void reduce_variance(DType type, const void* x, std::span<const int64_t> shape,
                                const int64_t* strides, uint32_t axes, double correction,
                                void* variance, void* mean);

// Mean and variance (without correction) of each result in double, for normalizations.
ARGOSY_API void reduce_moments(DType type, const void* x, std::span<const int64_t> shape,
                               const int64_t* strides, uint32_t axes, double* mean,
                               double* variance);

// Index of the first largest (smallest) element along one axis, or of the first nan. Real dtypes
// and bool.
ARGOSY_API void reduce_arg(bool largest, DType type, const void* x, std::span<const int64_t> shape,
                           const int64_t* strides, int axis, int64_t* result);

}  // namespace argosy::cpu
