#include "argosy/kernels/cuda/reduce_layout.h"

#include <algorithm>
#include <cstdlib>

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarp = 32;

// Broadcast axes outermost, then the largest stride first.
void order(ReduceAxis* axes, int rank) {
  std::stable_sort(axes, axes + rank, [](const ReduceAxis& a, const ReduceAxis& b) {
    if ((a.stride == 0) != (b.stride == 0)) return a.stride == 0;
    return std::abs(a.stride) > std::abs(b.stride);
  });
}

int merge(ReduceAxis* axes, int rank, bool kept) {
  if (rank == 0) return 0;
  int last = 0;
  for (int d = 1; d < rank; ++d) {
    ReduceAxis& o = axes[last];
    const ReduceAxis& i = axes[d];
    if (o.stride == i.stride * i.size && (!kept || o.out == i.out * i.size)) {
      o = {o.size * i.size, i.stride, i.out};
    } else {
      axes[++last] = i;
    }
  }
  return last + 1;
}

int power_of_two(int64_t n, int most) {
  int p = 1;
  while (p < n && p < most) p *= 2;
  return p;
}

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace

ReduceLayout reduce_layout(const View& x, uint32_t axes) {
  ReduceLayout l;
  for (int d = x.rank; d-- > 0;) {
    const bool reduced = axes >> d & 1;
    if (x.shape[d] != 1) {
      if (reduced)
        l.reduced[l.reduced_rank++] = {x.shape[d], x.strides[d], 0};
      else
        l.kept[l.kept_rank++] = {x.shape[d], x.strides[d], l.results};
    }
    (reduced ? l.count : l.results) *= x.shape[d];
  }
  std::reverse(l.kept, l.kept + l.kept_rank);
  std::reverse(l.reduced, l.reduced + l.reduced_rank);
  if (l.results && l.count) {
    order(l.kept, l.kept_rank);
    order(l.reduced, l.reduced_rank);
  }
  l.kept_rank = merge(l.kept, l.kept_rank, true);
  l.reduced_rank = merge(l.reduced, l.reduced_rank, false);
  if (l.kept_rank && l.count > 1) {
    const int64_t kept = std::abs(l.kept[l.kept_rank - 1].stride);
    const int64_t reduced = l.reduced_rank ? std::abs(l.reduced[l.reduced_rank - 1].stride) : 0;
    l.columns = kept != 0 && (reduced == 0 || kept < reduced);
  }
  return l;
}

RowPlan plan_rows(int64_t rows, int64_t items) {
  const int64_t wanted = int64_t{multiprocessors()} * 6;
  RowPlan p;
  p.lanes = power_of_two(items, kWarp);
  // A block for each row where rows are long, or too few to fill the device by warps.
  if (items >= 1024 || (items >= 64 && rows < wanted * kThreads / kWarp))
    p.lanes = power_of_two(items, kThreads);
  p.rows_per_block = kThreads / p.lanes;
  p.blocks = ceil_div(rows, p.rows_per_block);
  if (p.blocks < wanted) {
    const int64_t room = items / (int64_t{p.lanes} * 16);  // else a second launch costs more
    p.splits = std::clamp<int64_t>(std::min(wanted / p.blocks, room), 1, 1024);
  }
  p.blocks = std::min(p.blocks, wanted * 8);
  return p;
}

ColumnPlan plan_columns(int64_t outer, int64_t columns, int width, int64_t count) {
  const int64_t wanted = int64_t{multiprocessors()} * 6;
  ColumnPlan p;
  const int64_t across = ceil_div(columns, width);
  p.tile = power_of_two(across, kWarp);
  p.depth = kThreads / p.tile;
  p.tiles = ceil_div(across, p.tile);
  p.blocks = outer * p.tiles;
  if (p.blocks < wanted) {
    const int64_t room = count / (int64_t{p.depth} * 8);
    p.splits = std::clamp<int64_t>(std::min(wanted / p.blocks, room), 1, 1024);
  }
  p.blocks = std::min(p.blocks, wanted * 8);
  return p;
}

}  // namespace argosy::cuda
