#pragma once

#include <vector>

#include "argosy/kernels/cuda/runtime.h"

// Ordering along one axis: tensors are contiguous [outer, n, inner], along n; rows are counted
// outer * inner. Real dtypes and bool. nan is greater than everything, -0 equals 0. Tensors have
// fewer than 2^31 elements.
namespace argosy::cuda {

struct SortShape {
  int64_t outer = 1, n = 1, inner = 1;
  int64_t rows() const { return outer * inner; }
};

// order [rows, k]: places of the first k of each row in stable order.
void order_rows(cudaStream_t stream, DType dtype, const void* x, const SortShape& s, int64_t k,
                bool descending, uint32_t* order);

// Elements first .. first + count of each sorted row, and where they were; outputs are
// [outer, count, inner].
void sort_rows(cudaStream_t stream, DType dtype, const void* x, void* values, int64_t* index,
               const SortShape& s, int64_t first, int64_t count, bool descending);

// Of each row the most frequent element, of several the smallest, and its last place.
void mode_rows(cudaStream_t stream, DType dtype, const void* x, void* values, int64_t* index,
               const SortShape& s);

// For each of values [outer, m]: how many of sorted [outer, n] come before it (or before or with it
// if `right`). one_row: one sequence for all. The index is int32 or int64.
void search_sorted(cudaStream_t stream, DType dtype, const void* sorted, const void* values,
                   DType index_dtype, void* index, int64_t outer, bool one_row, int64_t n,
                   int64_t m, bool right);

// Quantiles q of rows [rows, n], n > 0: places of the elements below and above, [rows, q], and how
// far from the lower one. A row with nan gives the place of the first nan, unless nan is ignored.
enum class Interpolation : uint8_t { linear, lower, higher, midpoint, nearest };
void quantile_positions(cudaStream_t stream, DType dtype, const void* x, int64_t rows, int64_t n,
                        const std::vector<double>& q, Interpolation interpolation, bool ignore_nan,
                        int64_t* low, int64_t* high, void* weight);

// --- distinct numbers; each nan is distinct ---

// Numbers the groups of equal elements of x[n], n > 0, in rising order, or runs of equal neighbours
// with `consecutive`. order: places by group. group: the number of each, from 1; its last one is
// how many there are.
void group_equal(cudaStream_t stream, DType dtype, const void* x, int64_t n, bool consecutive,
                 uint32_t* order, uint32_t* group);
// What follows from that: the values of the groups and, in index_dtype, where each was first, which
// one each element is, how often each came. The last three may be null.
void write_groups(cudaStream_t stream, DType dtype, const void* x, int64_t n, const uint32_t* order,
                  const uint32_t* group, int64_t groups, void* values, DType index_dtype,
                  void* first, void* inverse, void* counts);
// numbers[i] = numbers[i] * n + ranks[i]: in the order of the pairs. All are below n < 2^31.
void pair_ranks(cudaStream_t stream, int64_t* numbers, const int64_t* ranks, int64_t n);

}  // namespace argosy::cuda
