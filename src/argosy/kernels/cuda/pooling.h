#pragma once

#include "argosy/kernels/cuda/gather.h"

// Rows of each sequence made one row: what sequence_pool and embedding_pool share.
namespace argosy::cuda {

enum class Pool : uint8_t { sum, average, sqrt, max, first, last };

// `samples` sequences of `count` rows in all: sequence b has rows starts[b] to starts[b + 1], or,
// without starts, `each` of them.
struct Ragged {
  const int64_t* starts = nullptr;
  int64_t each = 1, samples = 0, count = 0;
};
// Row r of all is row r of the table, or ids[r] if there are ids: zeros where that is padding or
// out of range.
struct PoolTable {
  const void* data = nullptr;
  const int64_t* ids = nullptr;
  int64_t height = 0, dim = 0, padding = -1;
};
// Columns [column, column + dim) of a result of `width` columns.
struct PoolColumns {
  int64_t width = 0, column = 0;
};

// found, of Pool::max, has the columns of the target: the row of the sequence that each element
// came from, -1 for none.
void pool_rows(cudaStream_t stream, DType dtype, void* target, int32_t* found, PoolColumns columns,
               const PoolTable& table, const Ragged& ragged, Pool pool, double pad);
// target = the elements of the table that `found` names, zeros for -1.
void pool_picked(cudaStream_t stream, DType dtype, void* target, const int32_t* found,
                 PoolColumns columns, const PoolTable& table, const Ragged& ragged);
// values [count, dim] = the gradient of each row, from dy that has the columns.
void pool_row_gradients(cudaStream_t stream, DType dtype, void* values, const void* dy,
                        const int32_t* found, PoolColumns columns, const Ragged& ragged,
                        int64_t dim, Pool pool);

}  // namespace argosy::cuda
