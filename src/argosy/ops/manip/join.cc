#include <algorithm>

#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/kernels.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/operands.h"

// concat, stack, split.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::Save;

int axis_of(const char* op, const JoinAxisAttrs& a, int rank) {
  ARGOSY_CHECK(a.axis.size() == 1, type) << '[' << op << "] axis: expected one int.";
  ARGOSY_CHECK(a.axis.symbols.empty(), not_implemented)
      << '[' << op << "] axis is a value of the Program, which only a run knows. Do this: give an "
      << "int.";
  return normalize_axis(op, a.axis[0], rank);
}

// The form of the tensors joined along axis; raises where they do not fit.
Shape joined(const char* name, std::span<const Tensor> parts, int axis) {
  Shape out = parts[0].shape();
  for (size_t i = 1; i < parts.size(); ++i) {
    const Shape& s = parts[i].shape();
    bool fits = s.rank() == out.rank();
    for (int d = 0; fits && d < out.rank(); ++d) {
      if (d == axis) continue;
      fits = may_equal(s[d], out[d]);
      if (out[d] < 0) out[d] = s[d];
    }
    ARGOSY_CHECK(fits, invalid_argument)
        << '[' << name << "] tensors must have equal sizes but on axis " << axis << ": tensor 0 is "
        << parts[0].shape() << ", tensor " << i << " is " << s
        << ". Do this: concatenate along the axis that differs, or pad the others.";
    out[axis] = out[axis] < 0 || s[axis] < 0 ? kUnknown : out[axis] + s[axis];
  }
  return out;
}

void concat_infer(InferContext& c, const JoinAxisAttrs& a) {
  auto parts = c.in.list(0);
  ARGOSY_CHECK(!parts.empty(), invalid_argument)
      << "[concat] needs at least one tensor, got an empty list. Do this: check that the list was "
         "filled.";
  const int rank = parts[0].rank();
  ARGOSY_CHECK(rank > 0, invalid_argument)
      << "[concat] tensors must have an axis to be joined along, tensor 0 is " << parts[0]
      << ". Do this: use stack.";
  const bool known = a.axis.symbols.empty();
  c.out[0] = {
      known ? joined("concat", parts, axis_of("concat", a, rank)) : Shape::filled(rank, kUnknown),
      parts[0].dtype()};
}

// Part of `whole` along axis.
Tensor window(const Tensor& whole, int axis, int64_t start, int64_t size) {
  Shape shape = whole.shape();
  shape[axis] = size;
  return whole.view(shape, whole.strides(), start * whole.strides()[axis]);
}

}  // namespace

void concat_run(KernelFrame& f, const JoinAxisAttrs& a) {
  int axis = axis_of("concat", a, f.out[0].rank());
  int64_t at = 0;
  for (const Tensor& part : f.in.list(0)) {
    op::copy_into(window(f.out[0], axis, at, part.dim(axis)), part);
    at += part.dim(axis);
  }
}

namespace {

// --- the pieces of dy, as large as the parts ---

void split_like_infer(InferContext& c, const JoinAxisAttrs& a) {
  auto parts = c.in.list(1);
  const Tensor& x = c.in[0];
  if (!parts.empty() && a.axis.symbols.empty()) {
    expect_rank(c, 0, 1, kMaxRank);
    const Shape all = joined("split_like", parts, axis_of("split_like", a, x.rank()));
    bool fits = all.rank() == x.rank();
    for (int d = 0; fits && d < x.rank(); ++d) fits = may_equal(all[d], x.dim(d));
    ARGOSY_CHECK(fits, invalid_argument)
        << "[split_like] the pieces must make up x: x is " << x << ", together they are " << all
        << ". Do this: pass tensors of the sizes of the pieces.";
  }
  c.out.resize(parts.size());
  for (size_t i = 0; i < parts.size(); ++i) c.out[i] = {parts[i].shape(), c.in[0].dtype()};
}
}  // namespace

void split_like_run(KernelFrame& f, const JoinAxisAttrs& a) {
  int axis = axis_of("split", a, f.in[0].rank());
  int64_t at = 0;
  for (const Tensor& part : f.out) {
    op::copy_into(part, window(f.in[0], axis, at, part.dim(axis)));
    at += part.dim(axis);
  }
}

namespace {
Tensors split_like_grad(const GradCall& c, const JoinAxisAttrs& a);

ARGOSY_OP(split_like, JoinAxisAttrs)
    .doc("x cut along axis into copies as long as the tensors of `like`.")
    .input("x")
    .list_input("like", kAny, Save::shape)
    .shape_only()
    .list_output("out")
    .infer(split_like_infer)
    .kernel("copy", split_like_run)
    .strided()
    .any_order()
    .gradient(split_like_grad)
    .done();

Tensors concat_grad(const GradCall& c, const JoinAxisAttrs& a) {
  InlineVector<Tensor, 6> in{c.dy()};
  for (const Tensor& t : c.in.list(0)) in.push_back(t);
  const uint32_t ends[] = {1, static_cast<uint32_t>(in.size())};
  return split_like_op.all(op::Inputs(in, ends), a);
}

ARGOSY_OP(concat, JoinAxisAttrs)
    .python("concat(x, axis=0, name=None, *, out=None)")
    .alias("tensors", "x")
    .alias("dim", "axis")
    .doc("Tensors joined along an axis they have; their other sizes must be equal. Dtypes promote.")
    .shape("x.. [*a,n'@axis,*b] -> [*a,m',*b]")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.concat([x, x], axis=1).tolist()
[[1.0, 2.0, 1.0, 2.0], [3.0, 4.0, 3.0, 4.0]])")
    .list_input("x", kAny, Save::shape)
    .output("out")
    .promote()
    .infer(concat_infer)
    .kernel("copy", concat_run)
    .strided()
    .any_order()
    .gradient(concat_grad)
    .done();

Tensors split_like_grad(const GradCall& c, const JoinAxisAttrs& a) {
  InlineVector<Tensor, 6> parts;
  auto like = c.in.list(1);
  for (size_t i = 0; i < like.size(); ++i)
    parts.push_back(c.dy(i).defined() ? c.dy(i) : zeros_like(like[i]));
  const uint32_t ends[] = {static_cast<uint32_t>(parts.size())};
  Tensors out{concat_op.all(op::Inputs(parts, ends), a)[0]};
  out.resize(1 + like.size());
  return out;
}

// --- stack ---

void stack_infer(InferContext& c, const JoinAxisAttrs& a) {
  auto parts = c.in.list(0);
  ARGOSY_CHECK(!parts.empty(), invalid_argument)
      << "[stack] needs at least one tensor, got an empty list. Do this: check that the list was "
         "filled.";
  Shape out = parts[0].shape();
  for (size_t i = 1; i < parts.size(); ++i) {
    bool fits = parts[i].rank() == out.rank();
    for (int d = 0; fits && d < out.rank(); ++d) {
      fits = parts[i].dim(d) == out[d] || parts[i].dim(d) < 0 || out[d] < 0;
      if (out[d] < 0) out[d] = parts[i].dim(d);
    }
    ARGOSY_CHECK(fits, invalid_argument)
        << "[stack] tensors must have one shape: tensor 0 is " << parts[0].shape() << ", tensor "
        << i << " is " << parts[i].shape()
        << ". Do this: pad or reshape them first, or use concat.";
  }
  if (!a.axis.symbols.empty()) {
    c.out[0] = {Shape::filled(out.rank() + 1, kUnknown), parts[0].dtype()};
    return;
  }
  out.insert(axis_of("stack", a, out.rank() + 1), static_cast<int64_t>(parts.size()));
  c.out[0] = {out, parts[0].dtype()};
}
}  // namespace

void stack_run(KernelFrame& f, const JoinAxisAttrs& a) {
  int axis = axis_of("stack", a, f.out[0].rank());
  int64_t at = 0;
  for (const Tensor& part : f.in.list(0)) {
    Tensor place = window(f.out[0], axis, at++, 1);
    Shape shape = place.shape(), strides = place.strides();
    shape.erase(axis);
    strides.erase(axis);
    op::copy_into(place.view(shape, strides), part);
  }
}

namespace {
Tensors stack_grad(const GradCall& c, const JoinAxisAttrs& a) {
  const int64_t n = static_cast<int64_t>(c.in.flat().size());
  const int64_t axis = axis_of("stack", a, c.dy().rank());
  Tensors out;
  for (int64_t i = 0; i < n; ++i) out.push_back(pick(c.dy(), axis, i));
  return out;
}

ARGOSY_OP(stack, JoinAxisAttrs)
    .python("stack(x, axis=0, name=None, *, out=None)")
    .alias("tensors", "x")
    .alias("dim", "axis")
    .doc("Tensors of one shape joined along a new axis. Dtypes promote.")
    .shape("x.. [*s] -> [*s']")
    .example(R"(>>> argosy.stack([argosy.to_tensor([1, 2]), argosy.to_tensor([3, 4])]).tolist()
[[1, 2], [3, 4]])")
    .list_input("x")
    .output("out")
    .promote()
    .infer(stack_infer)
    .kernel("copy", stack_run)
    .strided()
    .any_order()
    .gradient(stack_grad)
    .done();

// A call or a saved Program that asks for more is wrong, and must not take the memory for it.
constexpr int64_t kMaxParts = 1 << 20;

void check_parts(const char* op, int64_t n) {
  ARGOSY_CHECK(n <= kMaxParts, invalid_argument)
      << '[' << op << "] would make " << n << " tensors; at most " << kMaxParts
      << " are possible. Do this: reshape, or use another axis.";
}

// --- split ---

struct SplitAttrs {
  IntArray sizes;
  int64_t axis = 0;
};
ARGOSY_ATTRS(SplitAttrs, sizes, axis)

// Sizes of the parts: `sizes.single` is a number of equal parts; -1 in a list is what is left.
InlineVector<int64_t, 6> part_sizes(const Shape& x, const SplitAttrs& a, int axis) {
  ARGOSY_CHECK(x.rank() > 0, axis)
      << "[split] x must have a dimension to cut, got a tensor without. "
         "Do this: unsqueeze it first.";
  int64_t total = x[axis];
  InlineVector<int64_t, 6> out;
  if (a.sizes.single) {
    ARGOSY_CHECK(a.sizes.symbols.empty(), not_implemented)
        << "[split] the number of parts must be known while a Program is built. Do this: give an "
           "int.";
    int64_t n = a.sizes[0];
    ARGOSY_CHECK(n > 0 && (total < 0 || total % n == 0), invalid_argument)
        << "[split] cannot cut dimension " << axis << " of shape " << x << " into " << n
        << " equal parts. Do this: give a list of sizes.";
    check_parts("split", n);
    for (int64_t i = 0; i < n; ++i) out.push_back(total < 0 ? kUnknown : total / n);
    return out;
  }
  int64_t sum = 0, open = -1;
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    int64_t size = a.sizes[i];
    if (std::any_of(a.sizes.symbols.begin(), a.sizes.symbols.end(),
                    [&](const IntArray::Symbol& s) { return s.position == i; })) {
      total = kUnknown;
      out.push_back(kUnknown);
      continue;
    }
    ARGOSY_CHECK(size >= 0 || (size == -1 && open < 0), invalid_argument)
        << "[split] sizes must be 0 or more with one -1 at most, got " << Shape(a.sizes.values)
        << ". Do this: pass one -1 at most, for what is left.";
    if (size < 0)
      open = static_cast<int64_t>(i);
    else
      sum += size;
    out.push_back(size);
  }
  if (total >= 0) {
    if (open >= 0) out[static_cast<size_t>(open)] = total - sum;
    ARGOSY_CHECK(open >= 0 ? sum <= total : sum == total, invalid_argument)
        << "[split] sizes " << Shape(a.sizes.values) << " do not add up to size " << total
        << " of dimension " << axis << " of shape " << x
        << ". Do this: change the sizes, or leave one of them -1.";
  }
  return out;
}

void split_infer(InferContext& c, const SplitAttrs& a) {
  const Shape& x = c.in[0].shape();
  int axis = normalize_axis("split", a.axis, x.rank());
  auto sizes = part_sizes(x, a, axis);
  c.out.resize(sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    c.out[i] = {x, c.in[0].dtype()};
    c.out[i].shape[axis] = sizes[i];
  }
}

Tensors split_views(const Tensor& x, const SplitAttrs& a) {
  int axis = normalize_axis("split", a.axis, x.rank());
  Tensors out;
  int64_t at = 0;
  for (int64_t size : part_sizes(x.shape(), a, axis)) {
    out.push_back(window(x, axis, at, size));
    at += size;
  }
  return out;
}

Tensors split_grad(const GradCall& c, const SplitAttrs& a) {
  InlineVector<Tensor, 6> parts;
  for (size_t i = 0; i < c.dys().size(); ++i)
    parts.push_back(c.dy(i).defined() ? c.dy(i) : zeros_like(c.out(i)));
  return concat(parts, a.axis);
}

ARGOSY_OP(split, SplitAttrs)
    .doc(
        "x cut along axis: into `sizes` equal parts, or parts of the given sizes, one of which may "
        "be -1. Elements are copied when x or a part is written in place, not before.")
    .shape("x [*a,n@axis,*b] -> .. [*a,n',*b]")
    .input("x")
    .list_output("out", Save::shape)
    .infer(split_infer)
    .views(split_views)
    .apart()
    .gradient(split_grad)
    .done();

// --- unbind, unstack ---

void unbind_infer(InferContext& c, const UnbindAttrs& a) {
  Shape shape = c.in[0].shape();
  ARGOSY_CHECK(shape.rank() > 0, invalid_argument)
      << '[' << c.name()
      << "] a 0-d tensor has no axis to be taken apart along: expected 1 or more "
         "dimensions, "
         "got "
      << c.in[0] << ". Do this: use it as it is, or reshape it to [1].";
  int axis = normalize_axis(c.name(), a.axis, shape.rank());
  ARGOSY_CHECK(shape[axis] >= 0, invalid_argument)
      << '[' << c.name() << "] needs to know the size of dimension " << axis
      << " while a Program is built: " << c.in[0] << ". Do this: give static.data that size.";
  int64_t n = shape[axis];
  check_parts(c.name(), n);
  shape.erase(axis);
  c.out.resize(static_cast<size_t>(n));
  for (op::Meta& m : c.out) m = {shape, c.in[0].dtype()};
}

Tensors unbind_views(const Tensor& x, const UnbindAttrs& a) {
  int axis = normalize_axis("unbind", a.axis, x.rank());
  Shape shape = x.shape(), strides = x.strides();
  shape.erase(axis);
  strides.erase(axis);
  Tensors out;
  for (int64_t i = 0; i < x.dim(axis); ++i)
    out.push_back(x.view(shape, strides, i * x.strides()[axis]));
  return out;
}

// Runs where there is no view to give, as of an axis without elements.
}  // namespace

void unbind_nothing(KernelFrame& f, const UnbindAttrs&) {
  ARGOSY_CHECK(f.out.empty(), internal) << '[' << f.name() << "] " << f.in[0] << " has no views.";
}

namespace {

Tensors unbind_grad(const GradCall& c, const UnbindAttrs& a) {
  InlineVector<Tensor, 6> parts;
  for (size_t i = 0; i < c.dys().size(); ++i)
    parts.push_back(c.dy(i).defined() ? c.dy(i) : zeros_like(c.out(i)));
  return stack(parts, a.axis);
}

ARGOSY_OP(unbind, UnbindAttrs)
    .python("unbind(x, axis=0)")
    .method("unbind")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc("Views of x at each index of axis, as a list; the axis is gone.")
    .shape("x [*s] -> .. [*s']")
    .example(R"(>>> [t.tolist() for t in argosy.unbind(argosy.to_tensor([[1, 2], [3, 4]]))]
[[1, 2], [3, 4]])")
    .input("x")
    .list_output("out", Save::shape)
    .infer(unbind_infer)
    .views(unbind_views)
    .kernel("none", unbind_nothing)
    .gradient(unbind_grad)
    .done();

ARGOSY_OP(unstack, UnbindAttrs)
    .doc(
        "x at each index of axis, as a list; the axis is gone. Elements are copied when x or a "
        "part "
        "is written in place, not before.")
    .shape("x [*s] -> .. [*s']")
    .input("x")
    .list_output("out", Save::shape)
    .infer(unbind_infer)
    .views(unbind_views)
    .apart()
    .kernel("none", unbind_nothing)
    .gradient(unbind_grad)
    .done();

}  // namespace

Tensor concat(std::span<const Tensor> parts, int64_t axis) {
  const uint32_t ends[] = {static_cast<uint32_t>(parts.size())};
  return std::move(concat_op.all(op::Inputs(parts, ends), JoinAxisAttrs{IntArray::one(axis)})[0]);
}
Tensor stack(std::span<const Tensor> parts, int64_t axis) {
  const uint32_t ends[] = {static_cast<uint32_t>(parts.size())};
  return std::move(stack_op.all(op::Inputs(parts, ends), JoinAxisAttrs{IntArray::one(axis)})[0]);
}
Tensors split(const Tensor& x, const IntArray& sizes, int64_t axis) {
  return split_op.all({x}, SplitAttrs{sizes, axis});
}
}  // namespace argosy::ops
