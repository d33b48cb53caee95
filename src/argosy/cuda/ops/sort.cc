#include "argosy/kernels/cuda/sort.h"

#include <utility>

#include "argosy/base/device.h"
#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/gather.h"
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

// Each element of a slice is a few sorts.
constexpr int64_t kMostInSlice = 64;

const char* unique_match(const Inputs& in, const UniqueAttrs& a) {
  const Tensor& x = in[0];
  if (a.axis) {
    if (x.numel() == 0) return "no slices, or empty ones";
    if (x.numel() / x.dim(normalize_axis("unique", *a.axis, x.rank())) > kMostInSlice)
      return "slices of more than 64 elements";
  }
  return sort_match(in, a);
}

uint32_t last_group(cudaStream_t stream, const uint32_t* group, int64_t n) {
  uint32_t groups = 0;
  const device::HostWait wait;
  ARGOSY_CUDA(
      cudaMemcpyAsync(&groups, group + n - 1, sizeof(groups), cudaMemcpyDeviceToHost, stream));
  ARGOSY_CUDA(cudaStreamSynchronize(stream));
  return groups;
}

// Which of the distinct numbers each is, in their order.
void ranks_of(cudaStream_t stream, DType dtype, const void* x, int64_t n, uint32_t* order,
              uint32_t* group, void* room, int64_t* ranks) {
  group_equal(stream, dtype, x, n, false, order, group);
  write_groups(stream, dtype, x, n, order, group, n, room, DType::int64, nullptr, ranks, nullptr);
}

// A number for each row of items [n, width], in the order of the rows: the rank of its first
// element, then of that and the next one together, and so on.
void number_rows(cudaStream_t stream, const Tensor& items, uint32_t* order, uint32_t* group,
                 int64_t* numbers) {
  const int64_t n = items.dim(0), width = items.numel() / n;
  const auto bytes = static_cast<size_t>(n) * sizeof(int64_t);
  const Scratch column(stream, bytes), room(stream, bytes), ranks(stream, bytes);
  for (int64_t j = 0; j < width; ++j) {
    View from = view_of(items), to = from;
    from.data = static_cast<char*>(items.raw()) + j * item_size(items.dtype());
    to.data = column.data();
    from.rank = to.rank = 1;
    from.strides[0] = width;
    to.strides[0] = 1;
    copy(stream, to, from);
    ranks_of(stream, items.dtype(), column.data(), n, order, group, room.data(),
             j == 0 ? numbers : ranks.data<int64_t>());
    if (j == 0) continue;
    pair_ranks(stream, numbers, ranks.data<int64_t>(), n);
    if (j + 1 == width) break;
    ranks_of(stream, DType::int64, numbers, n, order, group, room.data(), ranks.data<int64_t>());
    ARGOSY_CUDA(cudaMemcpyAsync(numbers, ranks.data(), bytes, cudaMemcpyDeviceToDevice, stream));
  }
}

// Seen as [n, width]: items along the axis first.
void unique_slices(KernelFrame& f, const UniqueAttrs& a) {
  const Tensor& x = f.in[0];
  cudaStream_t stream = stream_of(f);
  const int axis = normalize_axis("unique", *a.axis, x.rank());
  Shape turned = x.shape(), strides = x.strides();
  std::swap(turned[0], turned[axis]);
  std::swap(strides[0], strides[axis]);
  const Tensor items = op::contiguous(x.view(turned, strides));
  const int64_t n = items.dim(0);
  const auto count = static_cast<size_t>(n);
  const Scratch room(stream, count * 2 * sizeof(uint32_t)),
      numbers(stream, count * sizeof(int64_t)), values(stream, count * sizeof(int64_t));
  uint32_t *order = room.data<uint32_t>(), *group = order + n;
  number_rows(stream, items, order, group, numbers.data<int64_t>());
  group_equal(stream, DType::int64, numbers.data(), n, a.consecutive, order, group);
  const int64_t m = last_group(stream, group, n);
  const auto made = [&](const Shape& shape, DType dtype) {
    return Tensor::empty(shape, dtype, x.place());
  };
  const Tensor first = made({m}, DType::int64), inverse = made({n}, DType::int64),
               counts = made({m}, DType::int64);
  write_groups(stream, DType::int64, numbers.data(), n, order, group, m, values.data(),
               DType::int64, first.raw(), inverse.raw(), counts.raw());
  turned[0] = m;
  const Tensor kept = made(turned, x.dtype());
  take_slices(stream, kept.raw(), items.raw(), {first.raw(), true}, 1, n, m, items.numel() / n,
              item_size(x.dtype()));
  Shape back = kept.shape(), lying = kept.strides();
  std::swap(back[0], back[axis]);
  std::swap(lying[0], lying[axis]);
  op::copy_into(f.allocate(0, back), kept.view(back, lying));
  const Tensor* others[] = {&first, &inverse, &counts};
  for (size_t i = 1; i < 4; ++i) {
    if (a.only_values)
      f.allocate(i, {0});
    else
      op::copy_into(f.allocate(i, others[i - 1]->shape()), *others[i - 1]);
  }
}

void unique_run(KernelFrame& f, const UniqueAttrs& a) {
  if (a.axis) return unique_slices(f, a);
  const Tensor& x = f.in[0];
  const int64_t n = x.numel();
  cudaStream_t stream = stream_of(f);
  if (n == 0) {
    for (size_t i = 0; i < 4; ++i) f.allocate(i, {0});
    return;
  }
  const Scratch room(stream, static_cast<size_t>(n) * 2 * sizeof(uint32_t));
  uint32_t *order = room.data<uint32_t>(), *group = order + n;
  group_equal(stream, x.dtype(), x.raw(), n, a.consecutive, order, group);
  const int64_t m = last_group(stream, group, n);
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
