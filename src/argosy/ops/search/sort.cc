#include <algorithm>
#include <cstring>
#include <numeric>

#include "argosy/kernels/cpu/gather.h"
#include "argosy/kernels/cpu/sort.h"
#include "argosy/kernels/cpu/unique.h"
#include "argosy/op/define.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/norm/parts.h"
#include "argosy/ops/search/search.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::Save;

constexpr DTypes kSortable = kReal | kBool;

// A contiguous shape seen as [outer, n, inner] around an axis.
struct Around {
  int64_t outer = 1, n = 1, inner = 1;
};
Around around(const Shape& s, int axis) {
  Around a;
  for (int i = 0; i < s.rank(); ++i) {
    if (i < axis)
      a.outer *= s[i];
    else if (i == axis)
      a.n = s[i];
    else
      a.inner *= s[i];
  }
  return a;
}

// Puts dy back where the picked elements came from: the gradient of every op here.
Tensors put_back(const GradCall& c, int64_t axis) {
  if (c.in[0].rank() == 0) return c.dy();
  return put_along_add(zeros_of(c.in[0], c.dy().dtype()), c.out(1), c.dy(), axis);
}

// --- sort with its permutation ---

void sort_infer(InferContext& c, const SortAttrs& a) {
  normalize_axis_of_any(c.name(), a.axis, c.in[0].rank());
  c.out[1].dtype = DType::int64;
}
void sort_run(KernelFrame& f, const SortAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  Around s = around(x.shape(), normalize_axis_of_any(f.name(), a.axis, x.rank()));
  cpu::sort(x.dtype(), x.raw(), f.out[0].raw(), f.out[1].data<int64_t>(), s.outer, s.n, s.inner,
            a.descending);
}
Tensors sort_grad(const GradCall& c, const SortAttrs& a) {
  return put_back(c, a.axis);
}

ARGOSY_OP(sort_with_index, SortAttrs)
    .doc("Values sorted along axis (always stably, nan last) and where they were.")
    .shape("x [*s] -> [*s], [*s]")
    .input("x", kSortable, Save::shape)
    .output("values")
    .index_output("indices", Save::value)
    .infer(sort_infer)
    .kernel("merge", sort_run)
    .gradient(sort_grad)
    .done();

// --- top k ---

void topk_infer(InferContext& c, const TopkAttrs& a) {
  const Shape& x = c.in[0].shape();
  int axis = normalize_axis_of_any("topk", a.axis, x.rank());
  Shape out = x;
  if (a.k.tensor.defined()) {
    out[axis] = kUnknown;
  } else {
    int64_t n = x.rank() ? x[axis] : 1;
    ARGOSY_CHECK(a.k.integer() >= 1 && (n < 0 || a.k.integer() <= n), invalid_argument)
        << "[topk] k must be from 1 to the size of axis " << axis << ": x is " << x << ", k is "
        << a.k.integer() << ". Do this: pass a smaller k, or check axis.";
    if (x.rank()) out[axis] = a.k.integer();
  }
  c.out[0].shape = out;
  c.out[1] = {out, DType::int64};
}
void topk_run(KernelFrame& f, const TopkAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  Around s = around(x.shape(), normalize_axis_of_any("topk", a.axis, x.rank()));
  cpu::topk(x.dtype(), x.raw(), f.out[0].raw(), f.out[1].data<int64_t>(), s.outer, s.n, s.inner,
            a.k.integer(), a.largest);
}
Tensors topk_grad(const GradCall& c, const TopkAttrs& a) {
  return put_back(c, a.axis);
}

ARGOSY_OP(topk, TopkAttrs)
    .doc("The k largest (or smallest) elements along axis, in order, and where they were.")
    .shape("x [*s] -> [*s'], [*s']")
    .input("x", kSortable, Save::shape)
    .output("values")
    .index_output("indices", Save::value)
    .infer(topk_infer)
    .kernel("select", topk_run)
    .gradient(topk_grad)
    .done();

// --- kth value, mode ---

Shape reduced(const Shape& x, int axis, bool keepdim) {
  Shape out = x;
  if (x.rank() == 0) return out;
  if (keepdim)
    out[axis] = 1;
  else
    out.erase(axis);
  return out;
}

void kth_infer(InferContext& c, const KthAttrs& a) {
  const Shape& x = c.in[0].shape();
  int axis = normalize_axis_of_any("kthvalue", a.at(), x.rank());
  int64_t n = x.rank() ? x[axis] : 1;
  ARGOSY_CHECK(a.k >= 1 && (n < 0 || a.k <= n), invalid_argument)
      << "[kthvalue] k must be from 1 to the size of axis " << axis << ": x is " << x << ", k is "
      << a.k << ". Do this: pass a smaller k, or check axis.";
  c.out[0].shape = reduced(x, axis, a.keepdim);
  c.out[1] = {c.out[0].shape, DType::int64};
}
void kth_run(KernelFrame& f, const KthAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) return;
  Around s = around(x.shape(), normalize_axis_of_any("kthvalue", a.at(), x.rank()));
  const int item = item_size(x.dtype());
  Tensor values = Tensor::empty({s.outer, a.k, s.inner}, x.dtype());
  Tensor index = Tensor::empty({s.outer, a.k, s.inner}, DType::int64);
  cpu::topk(x.dtype(), x.raw(), values.raw(), index.data<int64_t>(), s.outer, s.n, s.inner, a.k,
            false);
  for (int64_t o = 0; o < s.outer; ++o) {
    int64_t from = (o * a.k + a.k - 1) * s.inner, to = o * s.inner;
    std::memcpy(static_cast<char*>(f.out[0].raw()) + to * item,
                static_cast<char*>(values.raw()) + from * item,
                static_cast<size_t>(s.inner * item));
    std::copy_n(index.data<int64_t>() + from, s.inner, f.out[1].data<int64_t>() + to);
  }
}
Tensors pick_back(const GradCall& c, int64_t axis, bool keepdim) {
  if (c.in[0].rank() == 0) return c.dy();
  int at = normalize_axis_of_any("kthvalue", axis, c.in[0].rank());
  Tensor dy = keepdim ? c.dy() : unsqueeze(c.dy(), {at});
  Tensor index = keepdim ? c.out(1) : unsqueeze(c.out(1), {at});
  return put_along_add(zeros_of(c.in[0], dy.dtype()), index, dy, at);
}
Tensors kth_grad(const GradCall& c, const KthAttrs& a) {
  return pick_back(c, a.at(), a.keepdim);
}

ARGOSY_OP(kthvalue, KthAttrs)
    .python("kthvalue(x, k, axis=-1, keepdim=False, name=None)")
    .method("kthvalue")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("The k-th smallest element along axis and where it was.")
    .shape("x [*s] -> [*s'], [*s']")
    .example(R"(>>> values, indices = argosy.kthvalue(argosy.to_tensor([3.0, 1.0, 2.0]), 2)
>>> values.item(), indices.item()
(2.0, 2))")
    .input("x", kSortable, Save::shape)
    .output("values")
    .index_output("indices", Save::value)
    .infer(kth_infer)
    .kernel("select", kth_run)
    .gradient(kth_grad)
    .done();

void mode_infer(InferContext& c, const ModeAttrs& a) {
  const Shape& x = c.in[0].shape();
  c.out[0].shape = reduced(x, normalize_axis_of_any("mode", a.axis, x.rank()), a.keepdim);
  c.out[1] = {c.out[0].shape, DType::int64};
}
void mode_run(KernelFrame& f, const ModeAttrs& a) {
  const Tensor& x = f.in[0];
  if (x.numel() == 0) {  // of rows without elements 0 and place 0
    for (Tensor& out : f.out) std::memset(out.raw(), 0, static_cast<size_t>(out.nbytes()));
    return;
  }
  Around s = around(x.shape(), normalize_axis_of_any("mode", a.axis, x.rank()));
  cpu::mode(x.dtype(), x.raw(), f.out[0].raw(), f.out[1].data<int64_t>(), s.outer, s.n, s.inner);
}
Tensors mode_grad(const GradCall& c, const ModeAttrs& a) {
  return pick_back(c, a.axis, a.keepdim);
}

ARGOSY_OP(mode, ModeAttrs)
    .python("mode(x, axis=-1, keepdim=False, name=None)")
    .method("mode")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("The most frequent element along axis (the smallest of several) and its last place.")
    .shape("x [*s] -> [*s'], [*s']")
    .example(R"(>>> values, indices = argosy.mode(argosy.to_tensor([3.0, 1.0, 3.0]))
>>> values.item(), indices.item()
(3.0, 2))")
    .input("x", kSortable, Save::shape)
    .output("values")
    .index_output("indices", Save::value)
    .infer(mode_infer)
    .kernel("count", mode_run)
    .gradient(mode_grad)
    .done();

// --- searchsorted ---

void search_infer(InferContext& c, const SearchAttrs& a) {
  const Shape &sorted = c.in[0].shape(), &values = c.in[1].shape();
  bool fits = sorted.rank() == 1 || sorted.rank() == values.rank();
  for (int i = 0; fits && sorted.rank() > 1 && i + 1 < sorted.rank(); ++i)
    fits = sorted[i] == values[i] || sorted[i] < 0 || values[i] < 0;
  ARGOSY_CHECK(fits && sorted.rank() >= 1, invalid_argument)
      << "[searchsorted] sorted_sequence must be a vector, or have the leading sizes of values: "
      << "got " << sorted << " and " << values
      << ". Do this: flatten it, or give it the leading sizes of values.";
  c.out[0] = {values, a.out_int32 ? DType::int32 : DType::int64};
}
void search_run(KernelFrame& f, const SearchAttrs& a) {
  if (f.in[1].numel() == 0) return;
  Tensor sorted = f.in[0], values = f.in[1];
  if (sorted.dtype() != values.dtype()) {
    const bool whole = is_integral(sorted.dtype()) && is_integral(values.dtype());
    const DType wide = whole ? DType::int64 : DType::float64;
    sorted = as_dtype(sorted, wide);
    values = as_dtype(values, wide);
  }
  int64_t n = sorted.shape().back();
  bool one = sorted.rank() == 1;
  int64_t m = one ? values.numel() : values.shape().back();
  int64_t outer = values.numel() / std::max<int64_t>(m, 1);
  cpu::searchsorted(sorted.dtype(), sorted.raw(), values.raw(), f.out[0].dtype(), f.out[0].raw(),
                    outer, one ? 1 : outer, n, m, a.right);
}

ARGOSY_OP(searchsorted, SearchAttrs)
    .python("searchsorted(sorted_sequence, values, out_int32=False, right=False, name=None)")
    .doc(
        "For each of values, the place in the sorted last dimension where it would go: before "
        "equal "
        "elements, or after them with right=True.")
    .shape(
        "sorted_sequence [n], values [*v] -> [*v] | sorted_sequence [*b,n], values [*b,m] -> "
        "[*b,m]")
    .example(
        R"(>>> argosy.searchsorted(argosy.to_tensor([1.0, 3.0, 5.0]), argosy.to_tensor([3.0, 4.0])).tolist()
[1, 2])")
    .input("sorted_sequence", kReal)
    .input("values", kReal)
    .output("out")
    .infer(search_infer)
    .kernel("binary", search_run)
    .done();

void bucketize_infer(InferContext& c, const SearchAttrs& a) {
  c.out[0].dtype = a.out_int32 ? DType::int32 : DType::int64;
}
Tensors bucketize_compose(const op::Inputs& in, const SearchAttrs& a) {
  ARGOSY_CHECK(in[1].rank() == 1, invalid_argument)
      << "[bucketize] sorted_sequence must be a vector, got " << in[1]
      << ". Do this: flatten it, or use searchsorted.";
  return searchsorted_op(in[1], in[0], a);
}

ARGOSY_OP(bucketize, SearchAttrs)
    .python("bucketize(x, sorted_sequence, out_int32=False, right=False, name=None, *, out=None)")
    .method("bucketize")
    .alias("input", "x")
    .alias("boundaries", "sorted_sequence")
    .doc("For each element of x, the place in the sorted vector where it would go.")
    .shape("x [*s], sorted_sequence [n] -> [*s]")
    .example(
        R"(>>> argosy.bucketize(argosy.to_tensor([0.5, 3.0]), argosy.to_tensor([1.0, 2.0, 4.0])).tolist()
[0, 2])")
    .input("x", kReal)
    .input("sorted_sequence", kReal)
    .output("out")
    .infer(bucketize_infer)
    .compose(bucketize_compose)
    .done();

// --- unique ---

void unique_infer(InferContext& c, const UniqueAttrs& a) {
  const Shape& x = c.in[0].shape();
  Shape out{kUnknown};
  if (a.axis) {
    ARGOSY_CHECK(x.rank() > 0, invalid_argument)
        << "[unique] a 0-d tensor has no axis: expected 1 or more dimensions, got " << c.in[0]
        << ". Do this: leave axis out.";
    out = x;
    out[normalize_axis("unique", *a.axis, x.rank())] = kUnknown;
  }
  c.out[0].shape = out;
  for (int i = 1; i < 4; ++i) c.out[static_cast<size_t>(i)] = {{kUnknown}, a.dtype};
  if (a.only_values) {
    for (size_t i = 1; i < 4; ++i) c.out[i].shape = {0};
    return;
  }
  c.out[2].shape = {a.axis ? x[normalize_axis("unique", *a.axis, x.rank())] : x.numel()};
}

void give_numbers(KernelFrame& f, size_t output, const std::vector<int64_t>& values) {
  const int64_t n = static_cast<int64_t>(values.size());
  Tensor wide = Tensor::empty({n}, DType::int64);
  std::copy(values.begin(), values.end(), wide.data<int64_t>());
  op::copy_into(f.allocate(output, {n}), wide);
}

// Numbers, without slices.
void unique_values_run(KernelFrame& f, const UniqueAttrs& a) {
  const Tensor& x = f.in[0];
  const int64_t n = x.numel();
  if (a.only_values) {
    Tensor room = Tensor::empty({n}, x.dtype());
    const int64_t m = cpu::distinct_values(x.dtype(), x.raw(), n, a.consecutive, room.raw());
    op::copy_into(f.allocate(0, {m}), room.view({m}, {1}));
    for (size_t i = 1; i < 4; ++i) f.allocate(i, {0});
    return;
  }
  std::vector<int64_t> inverse(static_cast<size_t>(n));
  cpu::Groups groups = cpu::group_equal(x.dtype(), x.raw(), n, a.consecutive, inverse.data());
  const int64_t m = static_cast<int64_t>(groups.first.size());
  const int64_t item = item_size(x.dtype());
  cpu::gather_offsets(f.allocate(0, {m}).raw(), x.raw(), groups.first.data(), m, item, item);
  give_numbers(f, 1, groups.first);
  give_numbers(f, 2, inverse);
  give_numbers(f, 3, groups.counts);
}

void unique_run(KernelFrame& f, const UniqueAttrs& a) {
  if (!a.axis) return unique_values_run(f, a);
  // Seen as [n, width]: items along the axis first.
  Tensor x = f.in[0];
  const int axis = normalize_axis("unique", *a.axis, x.rank());
  Shape turned = x.shape(), turned_strides = x.strides();
  std::swap(turned[0], turned[axis]);
  std::swap(turned_strides[0], turned_strides[axis]);
  Tensor items = op::contiguous(x.view(turned, turned_strides));
  const int64_t n = items.dim(0), width = n ? items.numel() / n : 0;
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::vector<int64_t> first, counts, group(static_cast<size_t>(n));
  auto run = [&]<class T>(T) {
    const T* data = items.data<T>();
    auto less = [&](int64_t i, int64_t j) {
      return std::lexicographical_compare(data + i * width, data + (i + 1) * width,
                                          data + j * width, data + (j + 1) * width);
    };
    auto equal = [&](int64_t i, int64_t j) {
      return std::equal(data + i * width, data + (i + 1) * width, data + j * width);
    };
    if (!a.consecutive) std::stable_sort(order.begin(), order.end(), less);
    for (size_t k = 0; k < order.size(); ++k) {
      if (k == 0 || !equal(order[k], order[k - 1])) {
        first.push_back(order[k]);
        counts.push_back(0);
      }
      ++counts.back();
      group[static_cast<size_t>(order[k])] = static_cast<int64_t>(first.size()) - 1;
    }
  };
  dispatch_types<bool>(items.dtype(), run);
  dispatch_real(items.dtype(), run);
  const int64_t m = static_cast<int64_t>(first.size());
  Shape shape = items.shape();
  shape[0] = m;
  Tensor kept = Tensor::empty(shape, x.dtype());
  const int64_t row = width * item_size(x.dtype());
  for (int64_t i = 0; i < m; ++i)
    std::memcpy(static_cast<char*>(kept.raw()) + i * row,
                static_cast<char*>(items.raw()) + first[static_cast<size_t>(i)] * row,
                static_cast<size_t>(row));
  Shape back = kept.shape(), strides = kept.strides();
  std::swap(back[0], back[axis]);
  std::swap(strides[0], strides[axis]);
  op::copy_into(f.allocate(0, back), kept.view(back, strides));
  if (a.only_values) first.clear(), group.clear(), counts.clear();
  give_numbers(f, 1, first);
  give_numbers(f, 2, group);
  give_numbers(f, 3, counts);
}

ARGOSY_OP(unique_all, UniqueAttrs)
    .doc(
        "Distinct elements (or slices along axis), sorted; where each was first; which one each "
        "element is; how often each came. consecutive: only neighbours are compared.")
    .input("x", kSortable)
    .index_output("out")
    .index_output("index")
    .index_output("inverse")
    .index_output("counts")
    .infer(unique_infer)
    .kernel("sort", unique_run)
    .done();

}  // namespace
}  // namespace argosy::ops
