#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Reductions over any set of axes of a strided tensor. How the work is cut depends on shapes and
// the device alone, and partial results are combined in order: the same bits every time.
namespace argosy::cuda {

// axes: a bit for each reduced dimension of x. y is contiguous over the kept dimensions in their
// order. Of no elements: sum 0, product 1, any false, all true, mean nan, logsumexp -inf.

// What may be stored as y: floats into any floating dtype, complex into the same, integers and bool
// (which accumulate in int64) into any integer or bool.
enum class SumKind : uint8_t { sum, mean, prod };  // mean: floating and complex
void reduce_sum(cudaStream_t stream, SumKind kind, const View& x, uint32_t axes, void* y,
                DType y_dtype);

// Real dtypes and bool, y of the same; nan if there is one. REQUIRES: the axes are not empty.
void reduce_extreme(cudaStream_t stream, bool largest, const View& x, uint32_t axes, void* y);

// Any dtype but float8. any and all give bool, count int64 (or y_dtype, where that is floating).
enum class CountKind : uint8_t { any, all, count };
void reduce_count(cudaStream_t stream, CountKind kind, const View& x, uint32_t axes, void* y,
                  DType y_dtype);

// Floating; y of x's dtype.
enum class NormKind : uint8_t {
  sum_squares,
  mean_squares,
  norm,  // sqrt(sum_squares), rounded once
  sum_abs,
  power,     // (sum |x|^p)^(1/p)
  most_abs,  // the largest |x|
  least_abs,
};
void reduce_norm(cudaStream_t stream, NormKind kind, double p, const View& x, uint32_t axes,
                 void* y);

// Floating; y of x's dtype.
void reduce_logsumexp(cudaStream_t stream, const View& x, uint32_t axes, void* y);
// sum (x - mean)^2 / max(n - correction, 0); accumulated in double.
void reduce_variance(cudaStream_t stream, const View& x, uint32_t axes, double correction, void* y);

// Index of the first largest (smallest) element along one axis, or of the first nan; int32 or
// int64. Real dtypes and bool. REQUIRES: the axis is not empty.
void reduce_arg(cudaStream_t stream, bool largest, const View& x, int axis, void* y, DType y_dtype);

// For each element of rows of x [rows, n] the product of the others; floating and complex.
void product_of_others(cudaStream_t stream, DType dtype, const void* x, void* y, int64_t rows,
                       int64_t n);

// value in each of n elements; real dtypes and bool.
void fill_number(cudaStream_t stream, DType dtype, void* y, int64_t n, double value);

}  // namespace argosy::cuda
