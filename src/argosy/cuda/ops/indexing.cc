#include "argosy/ops/indexing/indexing.h"

#include <algorithm>

#include "argosy/cuda/ops/move_operands.h"
#include "argosy/kernels/cuda/gather.h"
#include "argosy/kernels/cuda/masks.h"
#include "argosy/ops/operands.h"

// Elements by index and by mask.
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;

// --- slices along an axis ---

struct Around {
  int64_t outer = 1, size = 1, inner = 1;
};
Around around(const Shape& shape, int axis) {
  Around a;
  for (int d = 0; d < shape.rank(); ++d)
    (d < axis ? a.outer : d == axis ? a.size : a.inner) *= shape[d];
  return a;
}
Shape taken_shape(const Shape& x, int axis, const Shape& index) {
  Shape out;
  for (int i = 0; i < axis; ++i) out.push_back(x[i]);
  for (int64_t n : index) out.push_back(n);
  for (int i = axis + 1; i < x.rank(); ++i) out.push_back(x[i]);
  return out;
}

void take_slices_run(KernelFrame& f, const ops::SliceAxisAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  const Tensor& x = f.in[0];
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  const Around l = around(x.shape(), axis);
  Tensor kept;
  const Index index = index_of(f.in[1], kept, watch_of(f, Named::element, axis));
  take_slices(stream_of(f), out.raw(), x.raw(), index, l.outer, l.size, kept.numel(), l.inner,
              item_size(x.dtype()));
}
[[maybe_unused]] const bool take_slices_added =
    add_kernel<ops::SliceAxisAttrs>("take_slices", take_slices_run);

void add_slices_run(KernelFrame& f, const ops::SliceAxisAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (out.raw() != x.raw()) op::copy_into(out, x);
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  const Shape region = taken_shape(x.shape(), axis, f.in[1].shape());
  if (region.numel() == 0) return;
  Tensor kept, value = f.in[2];
  const bool one = value.numel() == 1 && value.dtype() == out.dtype();
  if (!one) value = as_form(value, region, out.dtype());
  const Index index = index_of(f.in[1], kept, watch_of(f, Named::element, axis));
  const Around l = around(x.shape(), axis);
  add_slices(stream_of(f), out.dtype(), out.raw(), value.raw(), one ? 0 : 1, index, l.outer, l.size,
             kept.numel(), l.inner, ordered_sums());
}
const char* add_slices_match(const Inputs& in, const ops::SliceAxisAttrs&) {
  return kFloat8.has(in[0].dtype()) ? "8-bit floats" : nullptr;
}
[[maybe_unused]] const bool add_slices_added =
    add_kernel<ops::SliceAxisAttrs>("add_slices", add_slices_match, add_slices_run);

// --- elements along an axis ---

Along along_of(const Tensor& x, const Tensor& indices, int axis) {
  Along l;
  l.rank = indices.rank();
  l.axis = axis;
  l.size = x.rank() ? x.dim(axis) : 1;
  const Shape strides = x.shape().contiguous_strides();
  for (int d = 0; d < l.rank; ++d) {
    l.shape[d] = indices.dim(d);
    l.strides[d] = strides[d];
  }
  return l;
}

void take_along_run(KernelFrame& f, const ops::AlongAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  Tensor kept;
  const Index index = index_of(f.in[1], kept, watch_of(f, Named::element, axis));
  take_along(stream_of(f), out.raw(), x.raw(), index, along_of(x, f.in[1], axis), out.numel(),
             item_size(x.dtype()));
}
[[maybe_unused]] const bool take_along_added =
    add_kernel<ops::AlongAttrs>("take_along", take_along_run);

void last_along_run(KernelFrame& f, const ops::AlongAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  Tensor kept;
  const Index index = index_of(f.in[1], kept, watch_of(f, Named::element, axis));
  last_along(stream_of(f), out.data<bool>(), x.numel(), index, along_of(x, f.in[1], axis),
             out.numel());
}
[[maybe_unused]] const bool last_along_added =
    add_kernel<ops::AlongAttrs>("last_along", last_along_run);

struct Reduce {
  Combine combine = Combine::assign;
  bool mean = false;
};
Reduce reduce_of(const std::string& name) {
  if (name == "assign") return {};
  if (name == "add" || name == "sum") return {Combine::add};
  if (name == "mean") return {Combine::add, true};
  if (name == "mul" || name == "multiply" || name == "prod") return {Combine::multiply};
  if (name == "amax") return {Combine::largest};
  ARGOSY_CHECK(name == "amin", invalid_argument)
      << "[put_along_axis] reduce must be one of assign, add, mul, multiply, mean, amin, amax, "
         "got '"
      << name << "'. Do this: pass one of these.";
  return {Combine::smallest};
}

const char* put_along_match(const Inputs& in, const ops::PutAlongAttrs& a) {
  if (kFloat8.has(in[0].dtype())) return "8-bit floats";
  const bool plain = a.reduce == "assign" || ((a.reduce == "add" || a.reduce == "sum"));
  if (is_complex(in[0].dtype()) && !(plain && a.include_self))
    return "complex numbers that are combined";
  return nullptr;
}
void put_along_run(KernelFrame& f, const ops::PutAlongAttrs& a) {
  const Tensor &x = f.in[0], &indices = f.in[1], &out = f.out[0];
  const cudaStream_t stream = stream_of(f);
  if (out.raw() != x.raw()) op::copy_into(out, x);
  const int64_t n = indices.numel();
  if (n == 0 || out.numel() == 0) return;
  const int axis = normalize_axis(f.name(), a.axis, x.rank());
  const Reduce reduce = reduce_of(a.reduce);
  Tensor values = f.in[2], kept, counts;
  const bool one = values.numel() == 1 && values.dtype() == out.dtype();
  if (!one) values = as_form(values, indices.shape(), out.dtype());
  const Index index = index_of(indices, kept, watch_of(f, Named::element, axis));
  const Along along = along_of(x, indices, axis);
  auto put = [&](Combine combine, int32_t* count) {
    put_along(stream, out.dtype(), out.raw(), out.numel(), values.raw(), one ? 0 : 1, index, along,
              n, combine, count, ordered_sums());
  };
  // What stands there does not count: it becomes what changes nothing.
  if (!a.include_self) {
    if (reduce.combine == Combine::add || reduce.combine == Combine::multiply)
      fill_along(stream, out.dtype(), out.raw(), reduce.combine == Combine::add ? 0 : 1, index,
                 along, n);
    else if (reduce.combine != Combine::assign)
      put(Combine::assign, nullptr);
  }
  if (reduce.mean) {
    counts = Tensor::empty(out.shape(), DType::int32, out.place());
    clear(stream, counts);
  }
  put(reduce.combine, reduce.mean ? counts.data<int32_t>() : nullptr);
  if (reduce.mean)
    divide_by_counts(stream, out.dtype(), out.raw(), counts.data<int32_t>(), a.include_self ? 1 : 0,
                     out.numel());
}
[[maybe_unused]] const bool put_along_added =
    add_kernel<ops::PutAlongAttrs>("put_along", put_along_match, put_along_run);
[[maybe_unused]] const bool combine_along_added =
    add_kernel<ops::PutAlongAttrs>("combine_along", put_along_match, put_along_run);

// --- several indices ---

bool indexed(const ops::IndexAttrs& a, int d) {
  return std::find(a.axes.begin(), a.axes.end(), d) != a.axes.end();
}

// The places of x that indices name, and what is left of x at each.
struct Places {
  Indices indices;
  Rest rest;
  Shape region;  // [of indices, of the rest]
  int64_t n = 1, limit = 0;
  Tensor kept[kMaxRank];
};
void find_places(const KernelFrame& f, const Tensor& x, std::span<const Tensor> given,
                 const ops::IndexAttrs& a, Named named, Places& p) {
  Shape shape = given[0].shape();
  for (const Tensor& i : given.subspan(1)) shape = broadcast(f.name(), shape, i.shape());
  p.n = shape.numel();
  p.region = shape;
  p.indices.count = static_cast<int>(given.size());
  for (size_t k = 0; k < given.size(); ++k) {
    const int axis = static_cast<int>(a.axes[k]);
    p.indices.at[k] = {index_of(given[k], shape, p.kept[k]), x.dim(axis), x.strides()[axis]};
    p.indices.at[k].index.watch = watch_of(f, named, axis);
  }
  p.limit = 1;
  for (int d = 0; d < x.rank(); ++d) {
    const int64_t stride = x.strides()[d];
    p.limit = stride < 0 || p.limit == 0 ? 0 : p.limit + (x.dim(d) - 1) * stride;
    if (indexed(a, d)) continue;
    p.rest.shape[p.rest.rank] = x.dim(d);
    p.rest.strides[p.rest.rank++] = stride;
    p.region.push_back(x.dim(d));
  }
}

void index_get_run(KernelFrame& f, const ops::IndexAttrs& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  Places p;
  find_places(f, x, f.in.list(1), a, Named::corner, p);
  index_get(stream_of(f), out.raw(), x.raw(), p.indices, p.rest, p.n, item_size(x.dtype()));
}
[[maybe_unused]] const bool index_get_added =
    add_kernel<ops::IndexAttrs>("index_get", index_get_run, true);

const char* index_put_match(const Inputs& in, const ops::IndexAttrs& a) {
  return a.accumulate && kFloat8.has(in[0].dtype()) ? "8-bit floats" : nullptr;
}
void index_put_run(KernelFrame& f, const ops::IndexAttrs& a) {
  const Tensor &x = f.in[0], &given = f.in[1], &out = f.out[0];
  if (out.raw() != x.raw()) op::copy_into(out, x);
  if (out.numel() == 0) return;
  Places p;
  find_places(f, out, f.in.list(2), a, Named::element, p);
  if (p.region.numel() == 0) return;
  const bool shared = in_one_memory(given, out);
  const bool one = given.numel() == 1 && given.dtype() == out.dtype() && !shared;
  Tensor value = given;
  if (!one && shared) {
    value = Tensor::empty(p.region, out.dtype(), out.place());
    op::copy_into(value, given);
  } else if (!one) {
    value = as_form(given, p.region, out.dtype());
  }
  index_put(stream_of(f), out.dtype(), out.raw(), value.raw(), one ? 0 : 1, p.indices, p.rest, p.n,
            a.accumulate, ordered_sums() ? p.limit : 0);
}
[[maybe_unused]] const bool index_put_added =
    add_kernel<ops::IndexAttrs>("index_put", index_put_match, index_put_run, true);

// --- masks ---

constexpr const char* kTooMany = "masks of more than 2^31 elements";
const char* mask_match(const Inputs& in, const NoAttrs&) {
  return in[0].numel() < INT32_MAX ? nullptr : kTooMany;
}

// How many are true; the host waits.
int64_t count_of(cudaStream_t stream, const Tensor& mask) {
  if (mask.numel() == 0) return 0;
  Scratch count(stream, sizeof(int64_t));
  count_true(stream, mask.data<bool>(), mask.numel(), count.data<int64_t>());
  return read_number(stream, count.data<int64_t>());
}

// Coordinates of the true elements: to[d][k * step].
void write_places(cudaStream_t stream, const Tensor& mask, int64_t count, int64_t* const* to,
                  int64_t step) {
  if (mask.rank() == 0 || count == 0) return;
  const bool* set = mask.data<bool>();
  if (mask.rank() == 1 && step == 1) return true_positions(stream, set, mask.numel(), to[0]);
  Scratch places(stream, static_cast<size_t>(count) * sizeof(int64_t));
  true_positions(stream, set, mask.numel(), places.data<int64_t>());
  unravel(stream, places.data<int64_t>(), count, mask.rank(), mask.shape().data(), to, step);
}

void mask_indices_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& mask = f.in[0];
  const cudaStream_t stream = stream_of(f);
  const int64_t count = count_of(stream, mask);
  int64_t* to[kMaxRank] = {};
  for (size_t d = 0; d < f.out.size(); ++d) to[d] = f.allocate(d, {count}).data<int64_t>();
  write_places(stream, mask, count, to, 1);
}
[[maybe_unused]] const bool mask_indices_added =
    add_kernel<NoAttrs>("mask_indices", mask_match, mask_indices_run);

void mask_places_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& mask = f.in[0];
  const cudaStream_t stream = stream_of(f);
  const int64_t count = count_of(stream, mask);
  int64_t* places = f.allocate(0, {count, mask.rank()}).data<int64_t>();
  int64_t* to[kMaxRank] = {};
  for (int d = 0; d < mask.rank(); ++d) to[d] = places + d;
  write_places(stream, mask, count, to, mask.rank());
}
[[maybe_unused]] const bool mask_places_added =
    add_kernel<NoAttrs>("mask_places", mask_match, mask_places_run);

const char* select_match(const Inputs& in, const NoAttrs&) {
  return in[1].numel() < INT32_MAX ? nullptr : kTooMany;
}
void select_true_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &mask = f.in[1];
  bool fits = mask.rank() >= 1 && mask.rank() <= x.rank();
  for (int d = 0; fits && d < mask.rank(); ++d) fits = mask.dim(d) == x.dim(d);
  ARGOSY_CHECK(fits, index) << '[' << f.name() << "] mask must have the leading sizes of x: got "
                            << "mask " << mask << " for x " << x
                            << ". Do this: reshape or broadcast the mask.";
  const cudaStream_t stream = stream_of(f);
  const int64_t count = count_of(stream, mask);
  Shape shape{count};
  int64_t row = 1;
  for (int d = mask.rank(); d < x.rank(); ++d) {
    shape.push_back(x.dim(d));
    row *= x.dim(d);
  }
  const Tensor& out = f.allocate(0, shape);
  if (out.numel() == 0) return;
  Scratch places(stream, static_cast<size_t>(count) * sizeof(int64_t));
  true_positions(stream, mask.data<bool>(), mask.numel(), places.data<int64_t>());
  take_slices(stream, out.raw(), x.raw(), {places.data(), true}, 1, mask.numel(), count, row,
              item_size(x.dtype()));
}
[[maybe_unused]] const bool select_true_added =
    add_kernel<NoAttrs>("select_true", select_match, select_true_run);

void spread_true_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &mask = f.in[0], &values = f.in[1];
  ARGOSY_CHECK(values.rank() >= 1, invalid_argument)
      << '[' << f.name() << "] values must have a row for each true element of the mask, got "
      << values << ". Do this: pass as many rows as the mask selects.";
  int64_t row = item_size(values.dtype());
  for (int d = 1; d < values.rank(); ++d) row *= values.dim(d);
  spread_true(stream_of(f), f.out[0].raw(), mask.data<bool>(), mask.numel(), values.raw(),
              values.dim(0), row);
}
[[maybe_unused]] const bool spread_true_added =
    add_kernel<NoAttrs>("spread_true", mask_match, spread_true_run);

}  // namespace
}  // namespace argosy::cuda
