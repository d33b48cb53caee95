#include "argosy/kernels/cuda/sort.h"
#include "argosy/cuda/call.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/search/search.h"

// Orders, places and distinct values (ops/search), quantiles.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using ops::KthAttrs;
using ops::ModeAttrs;
using ops::QuantilePositionsAttrs;
using ops::SearchAttrs;
using ops::SortAttrs;
using ops::TopkAttrs;
using ops::UniqueAttrs;

constexpr int64_t kMostElements = int64_t{1} << 31;

template <class A>
const char* sort_match(const Inputs& in, const A&) {
  return in[0].numel() >= kMostElements ? "2^31 elements or more" : nullptr;
}

SortShape shape_around(const Shape& shape, int axis) {
  SortShape s;
  for (int d = 0; d < shape.rank(); ++d)
    (d < axis ? s.outer : d == axis ? s.n : s.inner) *= shape[d];
  return s;
}
SortShape shape_around(const KernelFrame& f, int64_t axis) {
  const Shape& shape = f.in[0].shape();
  return shape_around(shape, normalize_axis_of_any(f.name(), axis, shape.rank()));
}

// Elements first .. first + count of the sorted rows.
void sorted_range(KernelFrame& f, const SortShape& s, int64_t first, int64_t count,
                  bool descending) {
  const Tensor& x = f.in[0];
  sort_rows(stream_of(f), x.dtype(), x.raw(), f.out[0].raw(), f.out[1].data<int64_t>(), s, first,
            count, descending);
}

void sort_run(KernelFrame& f, const SortAttrs& a) {
  if (f.in[0].numel() == 0) return;
  const SortShape s = shape_around(f, a.axis);
  sorted_range(f, s, 0, s.n, a.descending);
}

const char* topk_match(const Inputs& in, const TopkAttrs& a) {
  if (a.k.tensor.defined()) return "k that is a tensor";
  return sort_match(in, a);
}
void topk_run(KernelFrame& f, const TopkAttrs& a) {
  if (f.in[0].numel()) sorted_range(f, shape_around(f, a.axis), 0, a.k.integer(), a.largest);
}

void kth_run(KernelFrame& f, const KthAttrs& a) {
  if (f.in[0].numel()) sorted_range(f, shape_around(f, a.at()), a.k - 1, 1, false);
}

void mode_run(KernelFrame& f, const ModeAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) {  // of rows without elements 0 and place 0
    for (Tensor& out : f.out)
      if (out.numel())
        ARGOSY_CUDA(cudaMemsetAsync(out.raw(), 0, static_cast<size_t>(out.nbytes()), stream_of(f)));
    return;
  }
  mode_rows(stream_of(f), x.dtype(), x.raw(), f.out[0].raw(), f.out[1].data<int64_t>(),
            shape_around(f, a.axis));
}

void search_run(KernelFrame& f, const SearchAttrs& a) {
  if (f.in[1].numel() == 0) return;
  Tensor sorted = f.in[0], values = f.in[1];
  if (sorted.dtype() != values.dtype()) {
    const bool whole = is_integral(sorted.dtype()) && is_integral(values.dtype());
    const DType wide = whole ? DType::int64 : DType::float64;
    for (Tensor* t : {&sorted, &values}) {
      Tensor converted = Tensor::empty(t->shape(), wide, t->place());
      op::copy_into(converted, *t);
      *t = converted;
    }
  }
  if (values.numel() == 0) return;
  const bool one = sorted.rank() == 1;
  const int64_t n = sorted.shape().back(), m = one ? values.numel() : values.shape().back();
  search_sorted(stream_of(f), sorted.dtype(), sorted.raw(), values.raw(), f.out[0].dtype(),
                f.out[0].raw(), values.numel() / m, one, n, m, a.right);
}

void quantile_run(KernelFrame& f, const QuantilePositionsAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  const Interpolation interpolation = a.interpolation == "lower"      ? Interpolation::lower
                                      : a.interpolation == "higher"   ? Interpolation::higher
                                      : a.interpolation == "midpoint" ? Interpolation::midpoint
                                      : a.interpolation == "nearest"  ? Interpolation::nearest
                                                                      : Interpolation::linear;
  const int64_t n = x.shape().back();
  quantile_positions(stream_of(f), x.dtype(), x.raw(), x.numel() / n, n, a.q, interpolation,
                     a.ignore_nan, f.out[0].data<int64_t>(), f.out[1].data<int64_t>(),
                     f.out[2].raw());
}

const char* unique_match(const Inputs& in, const UniqueAttrs& a) {
  if (a.axis) return "slices along an axis";
  return sort_match(in, a);
}
void unique_run(KernelFrame& f, const UniqueAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.numel();
  cudaStream_t stream = stream_of(f);
  if (n == 0) {
    for (size_t i = 0; i < 4; ++i) f.allocate(i, {0});
    return;
  }
  const Scratch room(stream, static_cast<size_t>(n) * 2 * sizeof(uint32_t));
  uint32_t *order = room.data<uint32_t>(), *group = order + n, groups = 0;
  group_equal(stream, x.dtype(), x.raw(), n, a.consecutive, order, group);
  {
    device::HostWait wait;
    ARGOSY_CUDA(
        cudaMemcpyAsync(&groups, group + n - 1, sizeof(groups), cudaMemcpyDeviceToHost, stream));
    ARGOSY_CUDA(cudaStreamSynchronize(stream));
  }
  const int64_t m = groups;
  void *values = f.allocate(0, {m}).raw(), *others[3] = {};
  for (size_t i = 1; i < 4; ++i) {
    const int64_t size = a.only_values ? 0 : i == 2 ? n : m;
    const Tensor& out = f.allocate(i, {size});
    if (size) others[i - 1] = out.raw();
  }
  write_groups(stream, x.dtype(), x.raw(), n, order, group, m, values, a.dtype, others[0],
               others[1], others[2]);
}

[[maybe_unused]] const bool sort_added =
    add_kernel<SortAttrs>("sort_with_index", sort_match<SortAttrs>, sort_run);
[[maybe_unused]] const bool topk_added = add_kernel<TopkAttrs>("topk", topk_match, topk_run);
[[maybe_unused]] const bool kth_added =
    add_kernel<KthAttrs>("kthvalue", sort_match<KthAttrs>, kth_run);
[[maybe_unused]] const bool mode_added =
    add_kernel<ModeAttrs>("mode", sort_match<ModeAttrs>, mode_run);
[[maybe_unused]] const bool search_added = add_kernel<SearchAttrs>("searchsorted", search_run);
[[maybe_unused]] const bool quantile_added = add_kernel<QuantilePositionsAttrs>(
    "quantile_positions", sort_match<QuantilePositionsAttrs>, quantile_run);
[[maybe_unused]] const bool unique_added =
    add_kernel<UniqueAttrs>("unique_all", unique_match, unique_run);

}  // namespace
}  // namespace argosy::cuda
