#include <algorithm>

#include "argosy/op/define.h"
#include "argosy/ops/manip/kernels.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/reduce/reduce.h"

// Ops that give the same elements another shape: a view where strides allow, else a copy.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

struct PermAttrs {
  std::vector<int64_t> perm;
};
ARGOSY_ATTRS(PermAttrs, perm)

Tensor view_as(const Tensor& x, const Shape& shape) {
  Shape strides;
  return reshape_strides(x, shape, &strides) ? x.view(shape, strides) : Tensor();
}

// The kernel of all of them, where the strides of x do not allow a view: x arrives contiguous.
}  // namespace

void copy_elements(const KernelFrame& f) {
  op::copy_into(f.out[0], f.in[0].view(f.out[0].shape(), f.out[0].strides()));
}

namespace {

Tensors back_to_x(const GradCall& c) {
  return reshape_like(c.dy(), c.in[0]);
}

// --- reshape ---

// What -1 stands for beside a 0: the sizes other than 0 stay together.
int64_t open_size(const Shape& x, const Shape& wanted) {
  auto product = [](const Shape& sizes) {
    int64_t n = 1;
    bool overflow = false;
    for (int64_t size : sizes)
      if (size > 0) overflow |= __builtin_mul_overflow(n, size, &n);
    ARGOSY_CHECK(!overflow, invalid_argument)
        << "[reshape] the sizes of " << sizes << " multiply to more than 2^63.";
    return n;
  };
  const int64_t have = product(x), named = product(wanted);
  return have % named ? 0 : have / named;
}

Shape reshaped(const Shape& x, const IntArray& wanted) {
  Shape out;
  int open = -1;
  int64_t rest = 1;
  bool known = true, none = false, overflow = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    int64_t size = wanted[i];
    bool symbolic = std::any_of(wanted.symbols.begin(), wanted.symbols.end(),
                                [&](const IntArray::Symbol& s) { return s.position == i; });
    if (symbolic) {
      known = false;
      out.push_back(kUnknown);
      continue;
    }
    // 0 copies x's size, but without elements to keep it is what it says.
    if (size == 0 && static_cast<int>(i) < x.rank() && x.numel() != 0) {
      size = x[static_cast<int>(i)];
    }
    if (size == -1 && wanted[i] == -1) {
      ARGOSY_CHECK(open < 0, invalid_argument)
          << "[reshape] only one size can be -1, got shape " << Shape(wanted.values)
          << ". Do this: replace all but one by numbers.";
      open = static_cast<int>(i);
    } else {
      ARGOSY_CHECK(size >= 0 || wanted[i] == 0, invalid_argument)
          << "[reshape] sizes must be -1 or more, got " << size << " at position " << i << '.';
      known &= size >= 0;
      none |= size == 0;
      if (size > 0) overflow |= __builtin_mul_overflow(rest, size, &rest);
    }
    out.push_back(size);
  }
  ARGOSY_CHECK(none || !overflow, invalid_argument)
      << "[reshape] a shape must have less than 2^63 elements, got " << Shape(wanted.values) << '.';
  if (none) rest = 0;
  int64_t numel = x.numel();
  if (numel < 0 || !known) return out;
  if (open >= 0) {
    ARGOSY_CHECK(rest ? numel % rest == 0 : numel == 0, invalid_argument)
        << "[reshape] cannot give a tensor of shape " << x << " the shape " << out << ": " << numel
        << " elements are no multiple of " << rest
        << ". Do this: check the sizes; one of them may be -1.";
    out[open] = rest ? numel / rest : open_size(x, out);
  } else {
    ARGOSY_CHECK(rest == numel, invalid_argument)
        << "[reshape] cannot give a tensor of shape " << x << " the shape " << out << ": it has "
        << numel << " elements, the new shape " << rest << ". Do this: use -1 for one size.";
  }
  return out;
}

void reshape_infer(InferContext& c, const ReshapeAttrs& a) {
  c.out[0].shape = reshaped(c.in[0].shape(), a.shape);
}
Tensor reshape_view(const Tensor& x, const ReshapeAttrs& a) {
  return view_as(x, reshaped(x.shape(), a.shape));
}
void reshape_run(KernelFrame& f, const ReshapeAttrs&) {
  copy_elements(f);
}
Tensors reshape_grad(const GradCall& c, const ReshapeAttrs&) {
  return back_to_x(c);
}

ARGOSY_OP(reshape, ReshapeAttrs)
    .python("reshape(x, shape, name=None)")
    .method("reshape")
    .inplace("reshape_")
    .alias("input", "x")
    .doc(
        "x's elements, in C order, in another shape. A size of -1 is what is left (once), a size "
        "of "
        "0 is x's size at that place. Shares memory with x where strides allow.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.reshape(argosy.arange(6), [2, -1]).tolist()
[[0, 1, 2], [3, 4, 5]]
>>> argosy.reshape(argosy.ones([2, 3, 4]), [0, -1]).shape
paddle.Size([2, 12]))")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(reshape_infer)
    .view(reshape_view)
    .kernel("copy", reshape_run)
    .gradient(reshape_grad)
    .same_order()
    .done();

// --- squeeze, unsqueeze, flatten ---

Shape squeezed(const Shape& x, const IntArray& axis) {
  uint32_t named = 0;
  const bool every = axis.none || axis.size() == 0;
  for (int64_t a : axis.values) named |= 1u << normalize_axis_of_any("squeeze", a, x.rank());
  // A named size that is not known yet counts as 1, an unnamed one as another.
  Shape out;
  for (int i = 0; i < x.rank(); ++i) {
    const bool gone = every ? x[i] == 1 : (named >> i & 1) && (x[i] == 1 || x[i] < 0);
    if (!gone) out.push_back(x[i]);
  }
  return out;
}
void squeeze_infer(InferContext& c, const SqueezeAttrs& a) {
  if (!a.axis.symbols.empty()) {
    // Sizes of 1 are meant, as is to be hoped, if there are any.
    const Shape& x = c.in[0].shape();
    if (std::none_of(x.begin(), x.end(), [](int64_t n) { return n == 1 || n < 0; })) return;
    const int left = c.in[0].rank() - static_cast<int>(a.axis.size());
    c.out[0].shape = Shape::filled(std::max(0, left), kUnknown);
    return;
  }
  c.out[0].shape = squeezed(c.in[0].shape(), a.axis);
}
Tensor squeeze_view(const Tensor& x, const SqueezeAttrs& a) {
  return view_as(x, squeezed(x.shape(), a.axis));
}
void squeeze_run(KernelFrame& f, const SqueezeAttrs&) {
  copy_elements(f);
}
Tensors squeeze_grad(const GradCall& c, const SqueezeAttrs&) {
  return back_to_x(c);
}

ARGOSY_OP(squeeze, SqueezeAttrs)
    .python("squeeze(x, axis=None, name=None)")
    .method("squeeze")
    .inplace("squeeze_")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("x without its dimensions of size 1, or without those of them that axis names.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.squeeze(argosy.ones([1, 3, 1])).shape
paddle.Size([3])
>>> argosy.squeeze(argosy.ones([1, 3, 1]), axis=0).shape
paddle.Size([3, 1]))")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(squeeze_infer)
    .view(squeeze_view)
    .kernel("copy", squeeze_run)
    .gradient(squeeze_grad)
    .same_order()
    .done();

Shape unsqueezed(const Shape& x, const IntArray& axis) {
  Shape out = x;
  for (int64_t a : axis.values) out.insert(normalize_axis("unsqueeze", a, out.rank() + 1), 1);
  return out;
}
void unsqueeze_infer(InferContext& c, const SqueezeAttrs& a) {
  if (!a.axis.symbols.empty()) {
    c.out[0].shape = Shape::filled(c.in[0].rank() + static_cast<int>(a.axis.size()), kUnknown);
    return;
  }
  c.out[0].shape = unsqueezed(c.in[0].shape(), a.axis);
}
Tensor unsqueeze_view(const Tensor& x, const SqueezeAttrs& a) {
  return view_as(x, unsqueezed(x.shape(), a.axis));
}
void unsqueeze_run(KernelFrame& f, const SqueezeAttrs&) {
  copy_elements(f);
}
Tensors unsqueeze_grad(const GradCall& c, const SqueezeAttrs&) {
  return back_to_x(c);
}

ARGOSY_OP(unsqueeze, SqueezeAttrs)
    .python("unsqueeze(x, axis, name=None)")
    .method("unsqueeze")
    .inplace("unsqueeze_")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("x with dimensions of size 1 inserted, one after the other, at the places axis names.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.unsqueeze(argosy.ones([3]), axis=[0, 2]).shape
paddle.Size([1, 3, 1]))")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(unsqueeze_infer)
    .view(unsqueeze_view)
    .kernel("copy", unsqueeze_run)
    .gradient(unsqueeze_grad)
    .same_order()
    .done();

Shape flattened(const Shape& x, const FlattenAttrs& a) {
  if (x.rank() == 0) return {1};
  int start = normalize_axis_of_any("flatten", a.start_axis, x.rank());
  int stop = normalize_axis_of_any("flatten", a.stop_axis, x.rank());
  ARGOSY_CHECK(start <= stop, invalid_argument)
      << "[flatten] start_axis must not come after stop_axis, got " << a.start_axis << " and "
      << a.stop_axis << " for shape " << x << ". Do this: swap them.";
  Shape out;
  Shape run;
  for (int i = 0; i < x.rank(); ++i) {
    if (i >= start && i <= stop) {
      run.push_back(x[i]);
      if (i == stop) out.push_back(run.numel());
    } else {
      out.push_back(x[i]);
    }
  }
  return out;
}
void flatten_infer(InferContext& c, const FlattenAttrs& a) {
  c.out[0].shape = flattened(c.in[0].shape(), a);
}
Tensor flatten_view(const Tensor& x, const FlattenAttrs& a) {
  return view_as(x, flattened(x.shape(), a));
}
void flatten_run(KernelFrame& f, const FlattenAttrs&) {
  copy_elements(f);
}
Tensors flatten_grad(const GradCall& c, const FlattenAttrs&) {
  return back_to_x(c);
}

ARGOSY_OP(flatten, FlattenAttrs)
    .python("flatten(x, start_axis=0, stop_axis=-1, name=None)")
    .method("flatten")
    .inplace("flatten_")
    .alias("input", "x")
    .alias("start_dim", "start_axis")
    .alias("end_dim", "stop_axis")
    .doc("x with its dimensions start_axis to stop_axis (inclusive) made one.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.flatten(argosy.ones([2, 3, 4]), start_axis=1).shape
paddle.Size([2, 12]))")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(flatten_infer)
    .view(flatten_view)
    .kernel("copy", flatten_run)
    .gradient(flatten_grad)
    .same_order()
    .done();

// --- transpose ---

InlineVector<int, kMaxRank> checked_perm(const Shape& x, const std::vector<int64_t>& perm) {
  ARGOSY_CHECK(static_cast<int>(perm.size()) == x.rank(), invalid_argument)
      << "[transpose] perm must name every dimension of x once: x has " << x.rank()
      << " dimensions, perm has " << perm.size()
      << " entries. Do this: list all dimensions, as [0, 2, 1].";
  InlineVector<int, kMaxRank> out;
  uint32_t seen = 0;
  for (int64_t p : perm) {
    int a = normalize_axis("transpose", p, x.rank());
    ARGOSY_CHECK(!(seen >> a & 1), invalid_argument)
        << "[transpose] perm names dimension " << a
        << " twice. Do this: list every dimension once, as [0, 2, 1].";
    seen |= 1u << a;
    out.push_back(a);
  }
  return out;
}
void transpose_infer(InferContext& c, const PermAttrs& a) {
  const Shape& x = c.in[0].shape();
  Shape out;
  for (int p : checked_perm(x, a.perm)) out.push_back(x[p]);
  c.out[0].shape = out;
}
Tensor transpose_view(const Tensor& x, const PermAttrs& a) {
  Shape shape, strides;
  for (int p : checked_perm(x.shape(), a.perm)) {
    shape.push_back(x.dim(p));
    strides.push_back(x.strides()[p]);
  }
  return x.view(shape, strides);
}
Tensors transpose_grad(const GradCall& c, const PermAttrs& a) {
  std::vector<int64_t> inverse(a.perm.size());
  const int64_t rank = static_cast<int64_t>(a.perm.size());
  for (size_t i = 0; i < a.perm.size(); ++i)
    inverse[static_cast<size_t>(a.perm[i] < 0 ? a.perm[i] + rank : a.perm[i])] =
        static_cast<int64_t>(i);
  return transpose(c.dy(), inverse);
}

ARGOSY_OP(transpose, PermAttrs)
    .python("transpose(x, perm, name=None)")
    .method("transpose")
    .inplace("transpose_")
    .alias("input", "x")
    .doc(
        "x with its dimensions reordered: dimension i of the result is dimension perm[i] of x. "
        "Shares memory with x.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.transpose(argosy.ones([2, 3, 4]), [2, 0, 1]).shape
paddle.Size([4, 2, 3]))")
    .input("x")
    .output("out")
    .infer(transpose_infer)
    .view(transpose_view)
    .gradient(transpose_grad)
    .done();

// --- expand ---

Shape expanded(const Shape& x, const IntArray& wanted) {
  int lead = static_cast<int>(wanted.size()) - x.rank();
  ARGOSY_CHECK(lead >= 0, invalid_argument)
      << "[expand] shape must have at least as many dimensions as x: x is " << x << ", got "
      << Shape(wanted.values) << ". Do this: keep the leading sizes, with -1 where they stay.";
  Shape out;
  for (int i = 0; i < static_cast<int>(wanted.size()); ++i) {
    int64_t size = wanted[static_cast<size_t>(i)];
    bool symbolic = std::any_of(wanted.symbols.begin(), wanted.symbols.end(),
                                [&](const auto& s) { return static_cast<int>(s.position) == i; });
    int64_t own = i >= lead ? x[i - lead] : 1;
    if (size == -1 && !symbolic) {
      ARGOSY_CHECK(i >= lead, invalid_argument)
          << "[expand] a new leading dimension needs a size, got -1 at position " << i << '.';
      size = own;
    }
    ARGOSY_CHECK(size >= 0 || symbolic || own < 0, invalid_argument)
        << "[expand] sizes must be -1 or at least 0, got " << size << " at position " << i << '.';
    ARGOSY_CHECK(own == 1 || own == size || own < 0 || size < 0, invalid_argument)
        << "[expand] cannot expand a tensor of shape " << x << " to " << Shape(wanted.values)
        << ": size " << own << " is neither 1 nor " << size
        << ". Do this: use tile to repeat, or reshape first.";
    out.push_back(size < 0 && own > 1 ? own : size);
  }
  return out;
}
void expand_infer(InferContext& c, const ReshapeAttrs& a) {
  c.out[0].shape = expanded(c.in[0].shape(), a.shape);
}
Tensor expand_view(const Tensor& x, const ReshapeAttrs& a) {
  Shape shape = expanded(x.shape(), a.shape);
  return x.view(shape, broadcast_strides(x, shape));
}
Tensors expand_grad(const GradCall& c, const ReshapeAttrs&) {
  return sum_like(c.dy(), c.in[0]);
}

ARGOSY_OP(expand, ReshapeAttrs)
    .python("expand(x, shape, name=None)")
    .python("broadcast_to(x, shape, name=None)")
    .method("expand")
    .alias("input", "x")
    .alias("size", "shape")
    .doc(
        "x repeated to a shape that it broadcasts to; -1 keeps x's size. Elements are copied when "
        "x or the result is written in place, not before.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.expand(argosy.to_tensor([[1], [2]]), [2, 3]).tolist()
[[1, 1, 1], [2, 2, 2]])")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(expand_infer)
    .view(expand_view)
    .apart()
    .gradient(expand_grad)
    .done();

}  // namespace

Tensor reshape(const Tensor& x, const IntArray& shape) {
  return reshape_op(x, ReshapeAttrs{shape});
}
Tensor transpose(const Tensor& x, const std::vector<int64_t>& perm) {
  return transpose_op(x, PermAttrs{perm});
}
Tensor squeeze(const Tensor& x, const IntArray& axis) {
  return squeeze_op(x, SqueezeAttrs{axis});
}
Tensor unsqueeze(const Tensor& x, const IntArray& axis) {
  return unsqueeze_op(x, SqueezeAttrs{axis});
}
Tensor flatten(const Tensor& x, int64_t start_axis, int64_t stop_axis) {
  return flatten_op(x, FlattenAttrs{start_axis, stop_axis});
}
Tensor expand(const Tensor& x, const IntArray& shape) {
  return expand_op(x, ReshapeAttrs{shape});
}

}  // namespace argosy::ops
