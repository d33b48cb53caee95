#include <algorithm>
#include <cstring>

#include "argosy/kernels/cpu/copy.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/kernels.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"

// Elements moved or repeated: flip, roll, tile, repeat_interleave, diagonals.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::IntArray;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

// --- flip ---

}  // namespace

void flip_run(KernelFrame& f, const FlipAttrs& a) {
  const Tensor& x = f.in[0];
  const bool nothing = !a.axis.none && a.axis.size() == 0;
  uint32_t mask = nothing ? 0 : op::axes_mask("flip", a.axis, x.rank());
  Shape strides = x.strides();
  int64_t offset = 0;
  for (int d = 0; d < x.rank(); ++d) {
    if (!(mask >> d & 1) || x.dim(d) == 0) continue;
    offset += strides[d] * (x.dim(d) - 1);
    strides[d] = -strides[d];
  }
  if (x.numel()) op::copy_into(f.out[0], x.view(x.shape(), strides, offset));
}

namespace {
Tensors flip_grad(const GradCall& c, const FlipAttrs& a);

ARGOSY_OP(flip, FlipAttrs)
    .python("flip(x, axis, name=None)")
    .python("reverse(x, axis, name=None)")
    .method("flip")
    .alias("input", "x")
    .alias("dims", "axis")
    .doc("x with the order of its elements reversed along the axes.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.flip(argosy.to_tensor([[1, 2], [3, 4]]), axis=[1]).tolist()
[[2, 1], [4, 3]])")
    .input("x")
    .output("out")
    .kernel("copy", flip_run)
    .strided()
    .gradient(flip_grad)
    .done();

Tensors flip_grad(const GradCall& c, const FlipAttrs& a) {
  return flip_op(c.dy(), a);
}

// --- roll ---

void roll_one(const Tensor& to, const Tensor& from, int axis, int64_t shift) {
  int64_t n = from.dim(axis);
  if (n == 0) return;
  shift = ((shift % n) + n) % n;
  auto part = [axis](const Tensor& t, int64_t start, int64_t size) {
    Shape shape = t.shape();
    shape[axis] = size;
    return t.view(shape, t.strides(), start * t.strides()[axis]);
  };
  op::copy_into(part(to, shift, n - shift), part(from, 0, n - shift));
  if (shift) op::copy_into(part(to, 0, shift), part(from, n - shift, shift));
}

}  // namespace

void roll_run(KernelFrame& f, const RollAttrs& a) {
  const Tensor& x = f.in[0];
  const Tensor& out = f.out[0];
  if (x.numel() == 0) return;
  if (a.axis.none || a.axis.size() == 0) {
    ARGOSY_CHECK(a.shifts.size() == 1, invalid_argument)
        << "[roll] without axis, expected one shift, got " << a.shifts.size()
        << ". Do this: pass axis, too, one for each shift.";
    Shape flat{x.numel()};
    roll_one(out.view(flat, {1}), x.view(flat, {1}), 0, a.shifts[0]);
    return;
  }
  ARGOSY_CHECK(a.shifts.size() == a.axis.size(), invalid_argument)
      << "[roll] expected one shift for each axis, got " << a.shifts.size() << " shifts and "
      << a.axis.size() << " axes. Do this: pass lists of one length.";
  ARGOSY_CHECK(x.rank() > 0, invalid_argument)
      << "[roll] axis is out of range: a tensor of 0 dimensions has none, got " << a.axis[0]
      << ". Do this: leave axis out.";
  Tensor from = x;
  for (size_t i = 0; i < a.axis.size(); ++i) {
    Tensor to = i + 1 == a.axis.size() ? out : Tensor::empty(x.shape(), x.dtype(), x.place());
    roll_one(to, from, normalize_axis("roll", a.axis[i], x.rank()), a.shifts[i]);
    from = to;
  }
}

namespace {
Tensors roll_grad(const GradCall& c, const RollAttrs& a);

ARGOSY_OP(roll, RollAttrs)
    .python("roll(x, shifts, axis=None, name=None, *, out=None)")
    .method("roll")
    .alias("input", "x")
    .alias("dims", "axis")
    .doc(
        "x with its elements moved by `shifts` along the axes, those that leave one end coming in "
        "at the other; without axis x is rolled as if flattened.")
    .shape("x [*s] -> [*s]")
    .example(R"(>>> argosy.roll(argosy.to_tensor([1, 2, 3, 4]), 1).tolist()
[4, 1, 2, 3])")
    .input("x")
    .output("out")
    .kernel("copy", roll_run)
    .gradient(roll_grad)
    .done();

Tensors roll_grad(const GradCall& c, const RollAttrs& a) {
  RollAttrs back = a;
  for (int64_t& s : back.shifts.values) s = -s;
  for (auto& symbol : back.shifts.symbols) symbol.value = negative(symbol.value);
  return roll_op(c.dy(), back);
}

// --- tile ---

// x's shape with leading 1s, and repeats with leading 1s, of one rank.
void align(const Shape& x, const TileAttrs& a, Shape* shape, Shape* times) {
  int rank = std::max(x.rank(), static_cast<int>(a.repeat_times.size()));
  *shape = Shape::filled(rank, 1);
  *times = Shape::filled(rank, 1);
  for (int i = 0; i < x.rank(); ++i) (*shape)[rank - x.rank() + i] = x[i];
  int skip = rank - static_cast<int>(a.repeat_times.size());
  for (size_t i = 0; i < a.repeat_times.size(); ++i) {
    bool symbol = std::any_of(a.repeat_times.symbols.begin(), a.repeat_times.symbols.end(),
                              [&](const IntArray::Symbol& s) { return s.position == i; });
    ARGOSY_CHECK(a.repeat_times[i] >= 0 || symbol, invalid_argument)
        << "[tile] repeat_times must not be negative, got " << a.repeat_times[i] << '.';
    (*times)[skip + static_cast<int>(i)] = a.repeat_times[i];
  }
}

Shape tiled(const Shape& x, const TileAttrs& a) {
  Shape shape, times;
  align(x, a, &shape, &times);
  for (int i = 0; i < shape.rank(); ++i) {
    int64_t size = kUnknown;
    if (shape[i] >= 0 && times[i] >= 0)
      ARGOSY_CHECK(!__builtin_mul_overflow(shape[i], times[i], &size), memory)
          << "[tile] dimension " << i << " would have " << shape[i] << " * " << times[i]
          << " elements. Do this: check how repeat_times was computed.";
    shape[i] = size;
  }
  return shape;
}

void tile_infer(InferContext& c, const TileAttrs& a) {
  c.out[0].shape = tiled(c.in[0].shape(), a);
}

// The output as [times0, size0, times1, size1, ..]; ranks up to kMaxRank go axis by axis.
}  // namespace

void tile_run(KernelFrame& f, const TileAttrs& a) {
  const Tensor& out = f.out[0];
  if (out.numel() == 0) return;
  Shape shape, times, strides;
  align(f.in[0].shape(), a, &shape, &times);
  reshape_strides(f.in[0], shape, &strides);
  Tensor from = f.in[0].view(shape, strides);
  // The last axis first: later ones move long runs.
  int last = 0;
  while (last < shape.rank() && times[last] == 1) ++last;
  if (last == shape.rank()) return op::copy_into(out, from);
  for (int d = shape.rank() - 1; d >= last; --d) {
    if (times[d] == 1) continue;
    Shape next = from.shape();
    next[d] *= times[d];
    Tensor to = d == last ? out.view(next, next.contiguous_strides())
                          : Tensor::empty(next, out.dtype(), out.place());
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < d; ++i) outer *= next[i];
    for (int i = d; i < from.rank(); ++i) inner *= from.dim(i);
    Tensor dense = op::contiguous(from);
    op::copy_into(to.view({outer, times[d], inner}, {times[d] * inner, inner, 1}),
                  dense.view({outer, 1, inner}, {inner, inner, 1}));
    from = to;
  }
}

namespace {

void tile_grad_infer(InferContext& c, const TileGradAttrs& a) {
  expect_shape(c, 0, tiled(c.in[1].shape(), {a.repeat_times}));
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
}  // namespace

void tile_grad_run(KernelFrame& f, const TileGradAttrs& a) {
  const Tensor& out = f.out[0];
  Shape shape, times;
  align(out.shape(), {a.repeat_times}, &shape, &times);
  Tensor from = f.in[0];
  for (int d = 0; d < shape.rank(); ++d) {
    if (times[d] == 1) continue;
    int64_t outer = 1, inner = 1;
    for (int i = 0; i < d; ++i) outer *= shape[i];
    for (int i = d; i < from.rank(); ++i) inner *= from.dim(i);
    if (times[d] == 0 || from.numel() == 0) {
      op::copy_into(out, constant(0, out.dtype(), out.place()));
      return;
    }
    inner /= times[d];
    Tensor parts = from.view({outer, times[d], inner}, {times[d] * inner, inner, 1});
    Tensor total =
        sum_like(parts, Tensor::describe({outer, 1, inner}, parts.dtype(), parts.place()));
    Shape next = from.shape();
    next[d] /= times[d];
    from = total.view(next, next.contiguous_strides());
  }
  op::copy_into(out, from.view(out.shape(), out.strides()));
}

namespace {
Tensors tile_grad_grad(const GradCall& c, const TileGradAttrs& a);

ARGOSY_OP(tile_grad, TileGradAttrs)
    .doc("The gradient of tile: the sum of the repetitions.")
    .input("dy", kFloating | kComplex)
    .input("x", kAny)
    .shape_only()
    .output("out")
    .infer(tile_grad_infer)
    .kernel("reference", tile_grad_run)
    .gradient(tile_grad_grad)
    .done();

Tensors tile_rule(const GradCall& c, const TileAttrs& a) {
  return tile_grad_op(c.dy(), c.in[0], TileGradAttrs{a.repeat_times});
}

ARGOSY_OP(tile, TileAttrs)
    .python("tile(x, repeat_times, name=None)")
    .method("tile")
    .alias("input", "x")
    .alias("dims", "repeat_times")
    .doc(
        "x repeated repeat_times[i] times along dimension i; the shorter of shape and repeat_times "
        "gets leading ones.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.tile(argosy.to_tensor([1, 2]), [2, 2]).tolist()
[[1, 2, 1, 2], [1, 2, 1, 2]])")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(tile_infer)
    .kernel("copy", tile_run)
    .gradient(tile_rule)
    .done();

Tensors tile_grad_grad(const GradCall& c, const TileGradAttrs& a) {
  return {tile_op(c.dy(), TileAttrs{a.repeat_times}), Tensor()};
}

// --- diagonal: a view ---

int64_t diagonal_size(int64_t rows, int64_t columns, int64_t offset) {
  if (rows < 0 || columns < 0) return kUnknown;
  int64_t n = offset >= 0 ? std::min(rows, columns - offset) : std::min(rows + offset, columns);
  return std::max<int64_t>(n, 0);
}

void diagonal_axes(const Shape& x, const DiagonalAttrs& a, int* axis1, int* axis2) {
  *axis1 = normalize_axis("diagonal", a.axis1, x.rank(), ErrorKind::index);
  *axis2 = normalize_axis("diagonal", a.axis2, x.rank(), ErrorKind::index);
  ARGOSY_CHECK(x.rank() >= 2 && *axis1 != *axis2, invalid_argument)
      << "[diagonal] needs two different axes of a tensor of 2 or more dimensions, got axes "
      << a.axis1 << " and " << a.axis2 << " of shape " << x
      << ". Do this: name two different axes, or unsqueeze the tensor.";
}

void diagonal_infer(InferContext& c, const DiagonalAttrs& a) {
  const Shape& x = c.in[0].shape();
  int a1, a2;
  diagonal_axes(x, a, &a1, &a2);
  Shape out;
  for (int i = 0; i < x.rank(); ++i)
    if (i != a1 && i != a2) out.push_back(x[i]);
  out.push_back(diagonal_size(x[a1], x[a2], a.offset));
  c.out[0].shape = out;
}

}  // namespace

Tensor diagonal_view(const Tensor& x, const DiagonalAttrs& a) {
  int a1, a2;
  diagonal_axes(x.shape(), a, &a1, &a2);
  Shape shape, strides;
  for (int i = 0; i < x.rank(); ++i) {
    if (i == a1 || i == a2) continue;
    shape.push_back(x.dim(i));
    strides.push_back(x.strides()[i]);
  }
  int64_t n = diagonal_size(x.dim(a1), x.dim(a2), a.offset);
  int64_t start = 0;
  if (n) start = a.offset >= 0 ? a.offset * x.strides()[a2] : -a.offset * x.strides()[a1];
  shape.push_back(n);
  strides.push_back(x.strides()[a1] + x.strides()[a2]);
  return x.view(shape, strides, start);
}

namespace {

// x with y on its diagonal; without x's data, zeros elsewhere.
}  // namespace

void diagonal_scatter_run(KernelFrame& f, const DiagonalAttrs& a) {
  const Tensor& out = f.out[0];
  op::copy_into(out, f.in[0]);
  op::copy_into(diagonal_view(out, a), f.in[1]);
}

namespace {
Tensors diagonal_scatter_grad(const GradCall& c, const DiagonalAttrs& a);

ARGOSY_OP(diagonal_scatter, DiagonalAttrs)
    .python("diagonal_scatter(x, y, offset=0, axis1=0, axis2=1, name=None)")
    .method("diagonal_scatter")
    .doc("A copy of x with y on the diagonal that diagonal() gives.")
    .shape("x [*s], y [*t] -> [*s]")
    .example(
        R"(>>> argosy.diagonal_scatter(argosy.zeros([2, 2]), argosy.to_tensor([1.0, 2.0])).tolist()
[[1.0, 0.0], [0.0, 2.0]])")
    .input("x")
    .input("y", kAny, Save::shape)
    .output("out")
    .kernel("copy", diagonal_scatter_run)
    .strided()
    .gradient(diagonal_scatter_grad)
    .done();

Tensors diagonal_grad(const GradCall& c, const DiagonalAttrs& a) {
  return diagonal_scatter_op(zeros_like(c.in[0]), c.dy(), a);
}

ARGOSY_OP(diagonal, DiagonalAttrs)
    .python("diagonal(x, offset=0, axis1=0, axis2=1, name=None, *, out=None)")
    .method("diagonal")
    .alias("input", "x")
    .alias("dim1", "axis1")
    .alias("dim2", "axis2")
    .doc(
        "The diagonals of the matrices along axis1 and axis2, as a last dimension; a view. offset "
        "moves it up (positive) or down.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.diagonal(argosy.to_tensor([[1, 2], [3, 4]])).tolist()
[1, 4])")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(diagonal_infer)
    .view(diagonal_view)
    .gradient(diagonal_grad)
    .done();

Tensors diagonal_scatter_grad(const GradCall& c, const DiagonalAttrs& a) {
  Tensor dx, dy;
  if (c.needs(0)) {
    Tensor zeros = zeros_like(c.in[1]);
    dx = diagonal_scatter_op(c.dy(), zeros, a);
  }
  if (c.needs(1)) dy = diagonal_op(c.dy(), a);
  return {dx, dy};
}

// --- diag_embed: vectors onto diagonals ---

void diag_embed_infer(InferContext& c, const DiagEmbedAttrs& a) {
  const Shape& x = c.in[0].shape();
  ARGOSY_CHECK(x.rank() >= 1, invalid_argument)
      << "[diag_embed] needs at least 1 dimension, got a 0-d tensor. Do this: unsqueeze it.";
  int rank = x.rank() + 1;
  int d1 = normalize_axis("diag_embed", a.dim1, rank),
      d2 = normalize_axis("diag_embed", a.dim2, rank);
  ARGOSY_CHECK(d1 != d2, invalid_argument)
      << "[diag_embed] dim1 and dim2 must differ, got " << a.dim1 << " and " << a.dim2 << '.';
  int64_t n = x.back() < 0 ? kUnknown : x.back() + std::abs(a.offset);
  Shape out;
  for (int i = 0, from = 0; i < rank; ++i) out.push_back(i == d1 || i == d2 ? n : x[from++]);
  c.out[0].shape = out;
}
void diag_embed_run(KernelFrame& f, const DiagEmbedAttrs& a) {
  const Tensor& out = f.out[0];
  std::memset(out.raw(), 0, out.nbytes());
  op::copy_into(diagonal_view(out, {a.offset, a.dim1, a.dim2}), f.in[0]);
}
Tensors diag_embed_grad(const GradCall& c, const DiagEmbedAttrs& a) {
  return diagonal_op(c.dy(), DiagonalAttrs{a.offset, a.dim1, a.dim2});
}

ARGOSY_OP(diag_embed, DiagEmbedAttrs)
    .python("diag_embed(input, offset=0, dim1=-2, dim2=-1)")
    .python("nn.functional.diag_embed(input, offset=0, dim1=-2, dim2=-1)")
    .method("diag_embed")
    .doc("Zeros with the vectors of the last dimension on the diagonals of dim1 and dim2.")
    .shape("input [*s] -> [*s']")
    .example(R"(>>> argosy.diag_embed(argosy.to_tensor([1, 2])).tolist()
[[1, 0], [0, 2]])")
    .input("input")
    .output("out")
    .infer(diag_embed_infer)
    .kernel("copy", diag_embed_run)
    .strided()
    .gradient(diag_embed_grad)
    .done();

// --- as_strided ---

void as_strided_infer(InferContext& c, const AsStridedAttrs& a) {
  c.out[0].shape = Shape(a.shape);
}
Tensor as_strided_view(const Tensor& x, const AsStridedAttrs& a) {
  ARGOSY_CHECK(a.shape.size() == a.stride.size(), invalid_argument)
      << "[as_strided] shape and stride must have one length, got " << a.shape.size() << " and "
      << a.stride.size() << ". Do this: pass one stride (in elements) for each size.";
  __int128 low = a.offset, high = a.offset;  // of any sizes and strides
  for (size_t i = 0; i < a.shape.size(); ++i) {
    if (a.shape[i] == 0) return x.view(Shape(a.shape), Shape(a.stride));
    (a.stride[i] < 0 ? low : high) += static_cast<__int128>(a.shape[i] - 1) * a.stride[i];
  }
  ARGOSY_CHECK(!x.requires_grad() || x.is_contiguous(), not_implemented)
      << "[as_strided] has a gradient for contiguous tensors only, got " << x << " with strides "
      << x.strides() << ". Do this: call .contiguous() first.";
  const Storage& s = *x.impl()->storage;
  int64_t start = (static_cast<char*>(x.raw()) - s.data()) / item_size(x.dtype());
  int64_t room = static_cast<int64_t>(s.bytes()) / item_size(x.dtype());
  ARGOSY_CHECK(start + low >= 0 && start + high < room, invalid_argument)
      << "[as_strided] the view of shape " << Shape(a.shape) << ", strides " << Shape(a.stride)
      << " and offset " << a.offset << " reaches out of memory that has " << room
      << " elements. Do this: check them.";
  return x.view(Shape(a.shape), Shape(a.stride), a.offset);
}

Tensors as_strided_grad(const GradCall& c, const AsStridedAttrs& a);

ARGOSY_OP(as_strided, AsStridedAttrs)
    .python("as_strided(x, shape, stride, offset=0, name=None)")
    .method("as_strided")
    .alias("input", "x")
    .alias("size", "shape")
    .doc("A view of x's memory with the given shape and strides (in elements).")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.as_strided(argosy.arange(6), [2, 3], [1, 2]).tolist()
[[0, 2, 4], [1, 3, 5]])")
    .input("x", kAny, Save::shape)
    .output("out")
    .infer(as_strided_infer)
    .view(as_strided_view)
    .gradient(as_strided_grad)
    .done();

void as_strided_add_infer(InferContext& c, const AsStridedAttrs& a) {
  const int rank = static_cast<int>(std::min<size_t>(a.stride.size(), kMaxRank));
  expect_rank(c, 0, rank, rank);
  c.out[0] = {c.in[1].shape(), c.in[0].dtype()};
}
// What several places of the view have in common gets the sum of their gradients; what lies outside
// of x gets none.
void as_strided_add_run(KernelFrame& f, const AsStridedAttrs& a) {
  const Tensor &dy = f.in[0], &dx = f.out[0];
  std::memset(dx.raw(), 0, dx.nbytes());
  Shape at = Shape::filled(dy.rank(), 0);
  dispatch_types<float, double, float16, bfloat16, complex64, complex128>(
      dx.dtype(), [&]<class T>(T) {
        int64_t place = a.offset;
        for (int64_t i = 0; i < dy.numel(); ++i) {
          if (place >= 0 && place < dx.numel())
            dx.data<T>()[place] = static_cast<T>(dx.data<T>()[place] + dy.data<T>()[i]);
          for (int d = dy.rank() - 1; d >= 0; --d) {
            const int64_t stride = a.stride[static_cast<size_t>(d)];
            place += stride;
            if (++at[d] < dy.dim(d)) break;
            place -= stride * dy.dim(d);
            at[d] = 0;
          }
        }
      });
}
Tensors as_strided_add_grad(const GradCall& c, const AsStridedAttrs& a) {
  return {as_strided_op(c.dy(), a), Tensor()};
}

ARGOSY_OP(as_strided_add, AsStridedAttrs)
    .doc("The gradient of as_strided: dy added up at the places of x that it came from.")
    .input("dy", kFloating | kComplex)
    .input("x")
    .shape_only()
    .output("dx")
    .infer(as_strided_add_infer)
    .kernel("walk", as_strided_add_run)
    .gradient(as_strided_add_grad)
    .done();

Tensors as_strided_grad(const GradCall& c, const AsStridedAttrs& a) {
  return as_strided_add_op(c.dy(), c.in[0], a);
}

// --- expand_as, view_as ---

Tensors expand_as_compose(const op::Inputs& in, const NoAttrs&) {
  Tensor out = expand_like(in[0], in[1]);
  return out.is(in[0]) ? assign(out) : out;
}
void expand_as_infer(InferContext& c, const NoAttrs&) {
  c.out[0].shape = c.in[1].shape();
}

ARGOSY_OP(expand_as, NoAttrs)
    .python("expand_as(x, y, name=None, *, out=None)")
    .method("expand_as")
    .alias("input", "x")
    .alias("other", "y")
    .doc("x broadcast to the shape of y.")
    .shape("x [*s], y [*t] -> [*t]")
    .example(R"(>>> argosy.expand_as(argosy.to_tensor([1, 2]), argosy.ones([2, 2])).tolist()
[[1, 2], [1, 2]])")
    .input("x")
    .input("y")
    .shape_only()
    .output("out")
    .infer(expand_as_infer)
    .compose(expand_as_compose)
    .done();

Tensors view_as_compose(const op::Inputs& in, const NoAttrs&) {
  return reshape_like(in[0], in[1]);
}

ARGOSY_OP(view_as, NoAttrs)
    .python("view_as(x, other, name=None)")
    .method("view_as")
    .doc("x's elements in the shape of other.")
    .shape("x [*s], other [*t] -> [*t]")
    .example(R"(>>> argosy.view_as(argosy.arange(4), argosy.ones([2, 2])).tolist()
[[0, 1], [2, 3]])")
    .input("x")
    .input("other")
    .shape_only()
    .output("out")
    .infer(expand_as_infer)
    .compose(view_as_compose)
    .done();

// --- repeat_interleave ---

// repeats: one number for all, or one for each index of axis.
void repeat_infer(InferContext& c, const RepeatInterleaveAttrs& a) {
  expect_rank(c, 0, 1, kMaxRank);
  Shape out = c.in[0].shape();
  out[normalize_axis("repeat_interleave", a.axis, out.rank(), ErrorKind::index)] = kUnknown;
  c.out[0].shape = out;
}

std::vector<int64_t> repeat_counts(const Tensor& repeats, int64_t size) {
  Tensor wide = Tensor::empty({repeats.numel() == 1 ? size : repeats.numel()}, DType::int64);
  op::copy_into(wide, repeats);
  ARGOSY_CHECK(wide.numel() == size, invalid_argument)
      << "[repeat_interleave] expected 1 or " << size << " repeats, got " << repeats.numel()
      << ". Do this: pass one number, or one for each element of the axis.";
  std::vector<int64_t> out(wide.data<int64_t>(), wide.data<int64_t>() + size);
  for (int64_t r : out)
    ARGOSY_CHECK(r >= 0, invalid_argument)
        << "[repeat_interleave] repeats must not be negative, got " << r << '.';
  return out;
}

// i, counts[i] times, for each i: `size` numbers.
std::vector<int64_t> repeated_index(const std::vector<int64_t>& counts, int64_t size) {
  std::vector<int64_t> index;
  index.reserve(static_cast<size_t>(size));
  for (size_t i = 0; i < counts.size(); ++i)
    index.insert(index.end(), static_cast<size_t>(counts[i]), static_cast<int64_t>(i));
  return index;
}

void repeat_run(KernelFrame& f, const RepeatInterleaveAttrs& a) {
  const Tensor& x = f.in[0];
  int axis = normalize_axis("repeat_interleave", a.axis, x.rank());
  auto counts = repeat_counts(f.in[1], x.dim(axis));
  Shape shape = x.shape();
  shape[axis] = 0;
  for (int64_t n : counts)
    ARGOSY_CHECK(!__builtin_add_overflow(shape[axis], n, &shape[axis]), memory)
        << "[repeat_interleave] the repeats add up to more than 2^63. Do this: check how they were "
           "computed.";
  Tensor& out = f.allocate(0, shape);
  if (out.numel() == 0) return;
  const std::vector<int64_t> index = repeated_index(counts, shape[axis]);
  int64_t outer = 1, inner = item_size(x.dtype());
  for (int d = 0; d < x.rank(); ++d) {
    if (d != axis) (d < axis ? outer : inner) *= x.dim(d);
  }
  cpu::index_select(out.raw(), op::contiguous(x).raw(), outer, x.dim(axis), inner, DType::int64,
                    index.data(), shape[axis]);
}

void repeat_grad_infer(InferContext& c, const RepeatInterleaveAttrs& a) {
  expect_rank(c, 2, 1, kMaxRank);
  Shape repeated = c.in[2].shape();
  repeated[normalize_axis(c.name(), a.axis, repeated.rank())] = kUnknown;
  expect_shape(c, 0, repeated);
  c.out[0] = {c.in[2].shape(), c.in[0].dtype()};
}
void repeat_grad_run(KernelFrame& f, const RepeatInterleaveAttrs& a) {
  const Tensor& dy = f.in[0];
  const Tensor& out = f.out[0];
  int axis = normalize_axis("repeat_interleave", a.axis, out.rank());
  auto counts = repeat_counts(f.in[1], out.dim(axis));
  int64_t all = 0;
  for (const int64_t n : counts) all += std::min(n, dy.dim(axis) + 1);
  ARGOSY_CHECK(all == dy.dim(axis), invalid_argument)
      << "[repeat_interleave_grad] repeats must add up to the size of dy, " << dy.dim(axis)
      << ". Do this: pass those of the forward operation.";
  if (dy.is_contiguous() && dy.numel() > 0 && f.in[1].numel() == 1) {
    // One sum over [outer, size, times, inner].
    const int64_t times = counts[0];
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < dy.rank(); ++d) {
      if (d != axis) (d < axis ? outer : inner) *= dy.dim(d);
    }
    outer *= out.dim(axis);
    Tensor parts = dy.view({outer, times, inner}, {times * inner, inner, 1});
    Tensor total = sum_like(parts, Tensor::describe({outer, 1, inner}, dy.dtype(), dy.place()));
    op::copy_into(out, total.view(out.shape(), out.strides()));
    return;
  }
  if (dy.is_contiguous() && item_size(dy.dtype()) >= 4) {  // 16-bit floats would add up as such
    const std::vector<int64_t> index = repeated_index(counts, dy.dim(axis));
    int64_t outer = 1, inner = 1;
    for (int d = 0; d < dy.rank(); ++d) {
      if (d != axis) (d < axis ? outer : inner) *= dy.dim(d);
    }
    std::memset(out.raw(), 0, out.nbytes());
    cpu::scatter_add(dy.dtype(), out.raw(), dy.raw(), outer, out.dim(axis), inner, DType::int64,
                     index.data(), dy.dim(axis));
    return;
  }
  int64_t at = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    Shape from = dy.shape(), to = out.shape();
    from[axis] = counts[i];
    to[axis] = 1;
    Tensor part = dy.view(from, dy.strides(), at * dy.strides()[axis]);
    op::copy_into(out.view(to, out.strides(), static_cast<int64_t>(i) * out.strides()[axis]),
                  counts[i] ? sum_like(part, Tensor::describe(to, dy.dtype(), dy.place()))
                            : constant(0, dy.dtype()));
    at += counts[i];
  }
}
Tensors repeat_grad_grad(const GradCall& c, const RepeatInterleaveAttrs& a);

ARGOSY_OP(repeat_interleave_grad, RepeatInterleaveAttrs)
    .doc("The gradient of repeat_interleave: the sum of what was repeated.")
    .input("dy", kFloating | kComplex)
    .input("repeats", kIndex, Save::value)
    .input("x", kAny)
    .shape_only()
    .output("out")
    .infer(repeat_grad_infer)
    .kernel("reference", repeat_grad_run)
    .strided()
    .gradient(repeat_grad_grad)
    .done();

Tensors repeat_rule(const GradCall& c, const RepeatInterleaveAttrs& a) {
  return {repeat_interleave_grad_op(c.dy(), c.in[1], c.in[0], a), Tensor()};
}

ARGOSY_OP(repeat_interleave, RepeatInterleaveAttrs)
    .doc("Each index of axis repeated as often as `repeats` says, neighbours together.")
    .shape("x [*a,n@axis,*b], repeats [*r] -> [*a,n',*b]")
    .input("x", kAny, Save::shape)
    .input("repeats", kIndex, Save::value)
    .output("out")
    .infer(repeat_infer)
    .kernel("copy", repeat_run)
    .strided()
    .gradient(repeat_rule)
    .done();

Tensors repeat_grad_grad(const GradCall& c, const RepeatInterleaveAttrs& a) {
  return {repeat_interleave_op(c.dy(), c.in[1], a), Tensor(), Tensor()};
}

}  // namespace

Tensor diagonal(const Tensor& x) {
  return diagonal_op(x, DiagonalAttrs{0, -2, -1});
}
Tensor diag_embed(const Tensor& x) {
  return diag_embed_op(x);
}

}  // namespace argosy::ops
