#pragma once

#include "argosy/kernels/cuda/gather.h"

// Rows of tables by number, and sums of rows that go to one place. Numbers out of range: rows of
// zeros when read, left out when written; negative ones are out of range.
namespace argosy::cuda {

// target [n, width] = rows of table [height, width]; zeros for `padding` (-1: none).
void embedding(cudaStream_t stream, void* target, const void* table, Index rows, int64_t n,
               int64_t height, int64_t width, int64_t padding, int item);

// Items that name places, sorted by place; those of one place keep their order.
class RowOrder {
 public:
  // Places are below `limit`; items that name limit itself are left out.
  RowOrder(cudaStream_t stream, int64_t n, uint64_t limit);
  // Where the places are to be written before sort().
  uint64_t* given() const { return given_.data<uint64_t>(); }
  // given() = rows, `limit` for padding and for those out of range.
  void give(Index rows, int64_t padding) const;
  void sort();

  const uint64_t* keys() const { return keys_.data<uint64_t>(); }    // ascending
  const uint32_t* items() const { return items_.data<uint32_t>(); }  // whose keys they are

  // target at place * unit += the rows [width] of values whose items name the place, in an order
  // that only their number decides; 16-bit floats are summed in float32. value_step 0: one value
  // for all. by_count: divided by how many there are.
  void add(DType dtype, void* target, int64_t unit, int64_t width, const void* values,
           int64_t value_step, bool by_count) const;

 private:
  cudaStream_t stream_;
  int64_t n_;
  uint64_t limit_;
  Scratch given_, keys_, items_;
};

// target [height, width] += values [n, width] at rows. `ordered`: see RowOrder; else atomically,
// which 16-bit floats (sums in float32) and by_count are never.
void add_rows(cudaStream_t stream, DType dtype, void* target, const void* values, Index rows,
              int64_t n, int64_t height, int64_t width, int64_t padding, bool by_count,
              bool ordered);

// target[i] += values[i].
void add_dense(cudaStream_t stream, DType dtype, void* target, const void* values, int64_t n);

// Scales the rows of table [height, width] that `rows` names and whose norm is above max_norm.
// Strides in elements. norm_type may be infinite.
void renorm_rows(cudaStream_t stream, DType dtype, void* table, Index rows, int64_t n,
                 int64_t height, int64_t width, int64_t row_stride, int64_t column_stride,
                 double max_norm, double norm_type);

// values[i] *= 1 / how often rows[i] occurs.
void scale_by_count(cudaStream_t stream, DType dtype, void* values, const int64_t* rows, int64_t n,
                    int64_t height, int64_t width);

}  // namespace argosy::cuda
