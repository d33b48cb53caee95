#pragma once

#include "argosy/kernels/cuda/runtime.h"

// How a reduction goes through memory: its axes in canonical form.
namespace argosy::cuda {

struct ReduceAxis {
  int64_t size = 1, stride = 0;  // in elements
  int64_t out = 0;               // stride in the result, of kept ones
};

// Kept and reduced axes apart, each with the largest stride first (broadcast ones before them),
// merged where that is possible. Result i counts kept axes in that order.
struct ReduceLayout {
  ReduceAxis kept[kMaxRank], reduced[kMaxRank];
  int kept_rank = 0, reduced_rank = 0;
  int64_t results = 1, count = 1;  // count: elements of one result
  // The innermost axis of all is kept: threads go along it.
  bool columns = false;
};
ReduceLayout reduce_layout(const View& x, uint32_t axes);

// How `rows` reductions of `items` loads each are spread: lanes threads a row, each row cut into
// `splits` ranges that blocks of their own take.
struct RowPlan {
  int lanes = 1, rows_per_block = 1;
  int64_t blocks = 1, splits = 1;
};
RowPlan plan_rows(int64_t rows, int64_t items);

// The same for columns: blocks of tile x depth threads, a thread for `width` columns at a time.
struct ColumnPlan {
  int tile = 1, depth = 1;
  int64_t tiles = 1, blocks = 1, splits = 1;
};
ColumnPlan plan_columns(int64_t outer, int64_t columns, int width, int64_t count);

}  // namespace argosy::cuda
