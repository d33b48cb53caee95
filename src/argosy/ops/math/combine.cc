#include <algorithm>
#include <cstring>

#include "argosy/ops/creation/creation.h"
#include "argosy/ops/cumulative/cumulative.h"
#include "argosy/ops/elementwise.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/reduce/reduce.h"

// Ops on several elements or tensors: sums of tensors, choices of rows, differences, integrals.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::IntArray;
using op::NoAttrs;
using op::Save;

// --- add_n ---

// A number may stand beside tensors of one element: both as [1].
bool is_number(const Tensor& t) {
  return t.rank() == 0;
}

void add_n_infer(op::InferContext& c, const NoAttrs&) {
  auto parts = c.in.list(0);
  ARGOSY_CHECK(!parts.empty(), invalid_argument)
      << "[add_n] nothing to add: expected at least one Tensor, got an empty list. Do this: check "
         "that the list was filled.";
  const auto shaped = std::find_if_not(parts.begin(), parts.end(), is_number);
  const Tensor* first = shaped == parts.end() ? &parts[0] : &*shaped;
  c.out[0] = {first->shape(), first->dtype()};
  const bool one = first->rank() == 1 && (first->dim(0) == 1 || first->dim(0) < 0);
  for (const Tensor& t : parts)
    ARGOSY_CHECK((t.shape() == first->shape() || !t.shape().known() || !first->shape().known() ||
                  (is_number(t) && one)) &&
                     t.dtype() == first->dtype(),
                 invalid_argument)
        << "[add_n] inputs must have one shape and dtype, got " << *first << " and " << t
        << ". Do this: broadcast and cast them first, or use add.";
}

void add_n_run(op::KernelFrame& f, const NoAttrs&) {
  auto parts = f.in.list(0);
  const Tensor& y = f.out[0];
  const auto form = [&](const Tensor& t) {
    return t.rank() == y.rank() ? t : t.view(Shape{1}, Shape{1});
  };
  op::copy_into(y, form(parts[0]));
  cpu::Loop loop = cpu::add_loops()[y.dtype()];
  const int item = item_size(y.dtype());
  for (const Tensor& part : parts.subspan(1)) {
    const Tensor t = form(part);
    const cpu::Operand operands[] = {{y.raw(), y.strides().data(), item},
                                     {t.raw(), t.strides().data(), item},
                                     {y.raw(), y.strides().data(), item}};
    cpu::run_loop(loop, y.shape(), operands);
  }
}

Tensors add_n_grad(const GradCall& c, const NoAttrs&) {
  Tensors dxs;
  for (const Tensor& x : c.in.list(0)) {
    const bool same = x.rank() == c.dy().rank();
    dxs.push_back(!c.needs(dxs.size()) ? Tensor() : same ? c.dy() : reshape_like(c.dy(), x));
  }
  return dxs;
}

ARGOSY_OP(add_n, NoAttrs)
    .python("add_n(inputs, name=None)")
    .method("add_n")
    .doc("The sum of tensors of one shape and dtype; those without dimensions count as [1].")
    .shape("inputs.. [*s] -> [*s]")
    .example(R"(>>> argosy.add_n([argosy.ones([2]), argosy.full([2], 2.0)]).tolist()
[3.0, 3.0])")
    .list_input("inputs", kNumeric, Save::shape)
    .output("out")
    .infer(add_n_infer)
    .kernel("loops", add_n_run)
    .strided()
    .gradient(add_n_grad)
    .sums()
    .done();

// --- multiplex ---

void multiplex_infer(op::InferContext& c, const NoAttrs&) {
  auto parts = c.in.list(0);
  const Tensor& index = c.in[1];
  ARGOSY_CHECK(parts.size() > 1, invalid_argument)
      << "[multiplex] expected at least two candidates, got " << parts.size() << '.';
  ARGOSY_CHECK(index.rank() == 2 && (index.dim(1) == 1 || index.dim(1) == kUnknown),
               invalid_argument)
      << "[multiplex] index: expected a tensor of shape [rows, 1], got " << index
      << ". Do this: reshape it with index.unsqueeze(-1).";
  for (const Tensor& t : parts)
    ARGOSY_CHECK(
        t.rank() >= 2 && t.rank() == parts[0].rank() && t.dtype() == parts[0].dtype() &&
            (t.shape() == parts[0].shape() || !t.shape().known() || !parts[0].shape().known()),
        invalid_argument)
        << "[multiplex] candidates must have one dtype and one shape of at least 2 dimensions, got "
        << parts[0] << " and " << t << ". Do this: cast and reshape them to one form.";
  c.out[0] = {parts[0].shape(), parts[0].dtype()};
  c.out[0].shape[0] = index.dim(0);
}

void multiplex_run(op::KernelFrame& f, const NoAttrs&) {
  auto parts = f.in.list(0);
  const Tensor &index = f.in[1], &y = f.out[0];
  const int64_t rows = y.dim(0);
  ARGOSY_CHECK(rows <= parts[0].dim(0), invalid_argument)
      << "[multiplex] index has " << rows << " rows, the candidates only " << parts[0].dim(0)
      << '.';
  const size_t bytes = rows ? y.nbytes() / static_cast<size_t>(rows) : 0;
  for (int64_t r = 0; r < rows; ++r) {
    int64_t k = index.dtype() == DType::int64 ? index.data<int64_t>()[r] : index.data<int32_t>()[r];
    ARGOSY_CHECK(k >= 0 && k < static_cast<int64_t>(parts.size()), invalid_argument)
        << "[multiplex] index " << k << " of row " << r << " is out of range: there are "
        << parts.size() << " candidates. Do this: check the index.";
    const size_t at = static_cast<size_t>(r) * bytes;
    std::memcpy(static_cast<char*>(y.raw()) + at,
                static_cast<const char*>(parts[static_cast<size_t>(k)].raw()) + at, bytes);
  }
}

Tensors multiplex_grad(const GradCall& c, const NoAttrs&) {
  Tensors dxs;
  const Tensor& index = c.in[1];
  const size_t count = c.in.list(0).size();
  IntArray axes;
  for (int d = 2; d < c.dy().rank(); ++d) axes.values.push_back(d);
  for (size_t k = 0; k < count; ++k) {
    if (!c.needs(k)) {
      dxs.push_back({});
      continue;
    }
    Tensor mine = equal(index, constant(static_cast<int64_t>(k), index.dtype(), index.place()));
    Tensor mask = cast(mine, c.dy().dtype());
    if (!axes.values.empty()) mask = unsqueeze(mask, axes);
    dxs.push_back(multiply(c.dy(), mask));
  }
  dxs.push_back({});
  return dxs;
}

ARGOSY_OP(multiplex, NoAttrs)
    .python("multiplex(inputs, index, name=None)")
    .method("multiplex")
    .doc("Row i of the result is row i of inputs[index[i]].")
    .shape("inputs.. [n,*s], index [n,1] -> [n,*s] | inputs.. [n,*s], index [n] -> [n,*s]")
    .example(
        R"(>>> argosy.multiplex([argosy.to_tensor([[1, 2], [3, 4]]), argosy.to_tensor([[5, 6], [7, 8]])], argosy.to_tensor([[1], [0]], dtype="int32")).tolist()
[[5, 6], [3, 4]])")
    .list_input("inputs", kNumeric, Save::shape)
    .input("index", kIndex, Save::value)
    .output("out")
    .infer(multiplex_infer)
    .kernel("rows", multiplex_run)
    .gradient(multiplex_grad)
    .done();

// --- differences and integrals along an axis ---

constexpr int64_t kToEnd = INT64_MAX;

Tensor head(const Tensor& x, int64_t axis) {
  return slice(x, axis, 0, -1);
}
Tensor tail(const Tensor& x, int64_t axis) {
  return slice(x, axis, 1, kToEnd);
}

struct DiffAttrs {
  int64_t n = 1;
  int64_t axis = -1;
};
ARGOSY_ATTRS(DiffAttrs, n, axis)

int differing_axis(const Tensor& x, const DiffAttrs& a) {
  ARGOSY_CHECK(x.rank() >= 1, invalid_argument)
      << "[diff] expected a tensor of at least 1 dimension, got " << x
      << ". Do this: unsqueeze it.";
  ARGOSY_CHECK(a.n >= 0, invalid_argument) << "[diff] n must not be negative, got " << a.n << '.';
  return normalize_axis("diff", a.axis, x.rank());
}

Tensors diff_parts(const op::Inputs& in, const DiffAttrs& a) {
  const int axis = differing_axis(in[0], a);
  Tensor x = in[0];
  Tensors parts;
  if (in[1].defined()) parts.push_back(in[1]);
  parts.push_back(x);
  if (in[2].defined()) parts.push_back(in[2]);
  if (parts.size() > 1) x = concat(parts, axis);
  // A known size is used up after that many differences.
  const int64_t size = x.dim(axis);
  const int64_t n = size == kUnknown ? a.n : std::min(a.n, size);
  for (int64_t i = 0; i < n; ++i)
    x = x.dtype() == DType::bool_ ? not_equal(tail(x, axis), head(x, axis))
                                  : subtract(tail(x, axis), head(x, axis));
  return x;
}

void diff_infer(op::InferContext& c, const DiffAttrs& a) {
  const int axis = differing_axis(c.in[0], a);
  int64_t size = c.in[0].dim(axis);
  for (size_t i : {1, 2})
    if (c.in[i].defined() && size != kUnknown)
      size = c.in[i].dim(axis) == kUnknown ? kUnknown : size + c.in[i].dim(axis);
  c.out[0].shape[axis] = size == kUnknown ? kUnknown : std::max<int64_t>(0, size - a.n);
}

ARGOSY_OP(diff, DiffAttrs)
    .python("diff(x, n=1, axis=-1, prepend=None, append=None, name=None, *, out=None)")
    .method("diff")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "Differences of neighbours along axis, n times over, of x with prepend before it and "
        "append after it.")
    .shape("x [*s], prepend [*p], append [*q] -> [*s']")
    .example(R"(>>> argosy.diff(argosy.to_tensor([1, 4, 9, 16])).tolist()
[3, 5, 7])")
    .input("x", kNumeric | kBool)
    .optional_input("prepend", kNumeric | kBool)
    .optional_input("append", kNumeric | kBool)
    .output("out")
    .infer(diff_infer)
    .compose(diff_parts)
    .done();

struct TrapezoidAttrs {
  std::optional<double> dx;
  int64_t axis = -1;
};
ARGOSY_ATTRS(TrapezoidAttrs, dx, axis)

int integrated_axis(const char* name, const Tensor& y, const TrapezoidAttrs& a) {
  ARGOSY_CHECK(y.rank() > 0, invalid_argument)
      << '[' << name << "] y has no axis to integrate along: expected 1 dimension or more, got "
      << y << ". Do this: reshape it to [1].";
  return normalize_axis(name, a.axis, y.rank());
}

// The form of the values at all positions.
Shape integrated(const char* name, const op::Inputs& in) {
  const Tensor &y = in[0], &x = in[1];
  if (!x.defined() || x.rank() == 1) return y.shape();
  ARGOSY_CHECK(x.rank() == y.rank(), invalid_argument)
      << '[' << name << "] x must have one dimension or those of y, x is " << x << ", y is " << y
      << ". Do this: reshape x.";
  return broadcast(name, y.shape(), x.shape());
}

// The areas between neighbours: their mean times their distance.
Tensor areas(const char* name, const op::Inputs& in, const TrapezoidAttrs& a, int64_t* axis) {
  const Tensor &y = in[0], &x = in[1];
  ARGOSY_CHECK(!(x.defined() && a.dx), invalid_argument)
      << '[' << name << "] both x and dx are given. Do this: give the positions or the distance.";
  *axis = integrated_axis(name, y, a);
  integrated(name, in);
  Tensor both = add(tail(y, *axis), head(y, *axis));
  if (!x.defined()) return scale(both, a.dx.value_or(1.0) / 2);
  Tensor step =
      x.rank() == 1 ? subtract(tail(x, 0), head(x, 0)) : subtract(tail(x, *axis), head(x, *axis));
  // Positions of one dimension lie along the axis.
  if (x.rank() == 1) {
    IntArray after;
    for (int64_t d = *axis + 1; d < y.rank(); ++d) after.values.push_back(d - *axis);
    if (!after.values.empty()) step = unsqueeze(step, after);
  }
  return scale(multiply(both, step), 0.5);
}

Tensors trapezoid_parts(const op::Inputs& in, const TrapezoidAttrs& a) {
  int64_t axis;
  Tensor parts = areas("trapezoid", in, a, &axis);
  return sum(parts, IntArray::one(axis));
}

void trapezoid_infer(op::InferContext& c, const TrapezoidAttrs& a) {
  c.out[0].shape = integrated(c.name(), c.in);
  c.out[0].shape.erase(integrated_axis(c.name(), c.in[0], a));
}

ARGOSY_OP(trapezoid, TrapezoidAttrs)
    .python("trapezoid(y, x=None, dx=None, axis=-1, name=None)")
    .method("trapezoid")
    .doc(
        "The integral of y along axis by the trapezoidal rule, at positions x (1-d along axis, or "
        "of y's shape) or at the distance dx (default 1).")
    .shape("y [*s], x [*t] -> [*s']")
    .example(R"(>>> argosy.trapezoid(argosy.to_tensor([1.0, 2.0, 3.0])).item()
4.0)")
    .input("y", kFloating)
    .optional_input("x", kFloating)
    .output("out")
    .infer(trapezoid_infer)
    .compose(trapezoid_parts)
    .done();

Tensors cumulative_trapezoid_parts(const op::Inputs& in, const TrapezoidAttrs& a) {
  int64_t axis;
  Tensor parts = areas("cumulative_trapezoid", in, a, &axis);
  return cumsum(parts, axis);
}

void cumulative_trapezoid_infer(op::InferContext& c, const TrapezoidAttrs& a) {
  const int axis = integrated_axis(c.name(), c.in[0], a);
  c.out[0].shape = integrated(c.name(), c.in);
  int64_t& size = c.out[0].shape[axis];
  if (size > 0) --size;
}

ARGOSY_OP(cumulative_trapezoid, TrapezoidAttrs)
    .python("cumulative_trapezoid(y, x=None, dx=None, axis=-1, name=None)")
    .method("cumulative_trapezoid")
    .doc("The integrals of y along axis up to each position but the first, as trapezoid.")
    .shape("y [*s], x [*t] -> [*s']")
    .example(R"(>>> argosy.cumulative_trapezoid(argosy.to_tensor([1.0, 2.0, 3.0])).tolist()
[1.5, 4.0])")
    .input("y", kFloating)
    .optional_input("x", kFloating)
    .output("out")
    .infer(cumulative_trapezoid_infer)
    .compose(cumulative_trapezoid_parts)
    .done();

// --- powers ---

struct VanderAttrs {
  std::optional<int64_t> n;
  bool increasing = false;
};
ARGOSY_ATTRS(VanderAttrs, n, increasing)

int64_t vander_columns(const Tensor& x, const VanderAttrs& a) {
  ARGOSY_CHECK(x.rank() == 1, invalid_argument)
      << "[vander] expected a tensor of 1 dimension, got " << x << ". Do this: flatten it.";
  int64_t n = a.n.value_or(x.dim(0));
  ARGOSY_CHECK(n >= 0 || !a.n, invalid_argument)
      << "[vander] n must not be negative, got " << n << '.';
  return n;
}

void vander_infer(op::InferContext& c, const VanderAttrs& a) {
  c.out[0].shape.push_back(vander_columns(c.in[0], a));
}

Tensors vander_parts(const op::Inputs& in, const VanderAttrs& a) {
  const Tensor& x = in[0];
  int64_t n = vander_columns(x, a);
  const op::IntArray count = a.n ? op::IntArray{n} : size_along(x, 0);
  op::IntArray shape = count;
  shape.values.insert(0, -1);
  for (auto& symbol : shape.symbols) ++symbol.position;
  // The running products 1, x, x^2, .. x^n without the last.
  Tensor column = unsqueeze(x, {1});
  const Tensor parts[] = {ones_like(column), cumprod(expand(column, shape), 1)};
  Tensor powers = slice(concat(parts, 1), 1, {0}, count);
  return a.increasing ? powers : slice(powers, 1, -1, INT64_MIN, -1);
}

ARGOSY_OP(vander, VanderAttrs)
    .python("vander(x, n=None, increasing=False, name=None)")
    .method("vander")
    .doc(
        "The Vandermonde matrix of a 1-d tensor: columns are its powers n - 1 to 0, or 0 to n - 1 "
        "if increasing. n defaults to x's length.")
    .shape("x [m] -> [m,k']")
    .example(R"(>>> argosy.vander(argosy.to_tensor([1, 2, 3]), n=3).tolist()
[[1, 1, 1], [4, 2, 1], [9, 3, 1]])")
    .input("x", kNumeric)
    .output("out")
    .infer(vander_infer)
    .compose(vander_parts)
    .done();

struct RenormAttrs {
  double p = 2;
  int64_t axis = 0;
  double max_norm = 1;
};
ARGOSY_ATTRS(RenormAttrs, p, axis, max_norm)

void check_renorm(const Tensor& x, const RenormAttrs& a) {
  const int rank = x.rank();
  ARGOSY_CHECK(a.axis >= -rank && a.axis < rank, invalid_argument)
      << "[renorm] axis " << a.axis << " is out of range for " << x << '.';
  ARGOSY_CHECK(a.p > 0 && a.max_norm >= 0, invalid_argument)
      << "[renorm] expected p > 0 and max_norm >= 0, got p " << a.p << " and max_norm "
      << a.max_norm << '.';
}

void renorm_infer(op::InferContext& c, const RenormAttrs& a) {
  check_renorm(c.in[0], a);
}

Tensors renorm_parts(const op::Inputs& in, const RenormAttrs& a) {
  const Tensor& x = in[0];
  check_renorm(x, a);
  int kept = normalize_axis("renorm", a.axis, x.rank());
  IntArray others;
  for (int d = 0; d < x.rank(); ++d)
    if (d != kept) others.values.push_back(d);
  Tensor size = abs(x);
  Tensor total = a.p == 1 ? size : pow(size, a.p);
  if (!others.values.empty()) total = sum(total, others, true);
  Tensor norm = a.p == 1 ? total : pow(total, 1 / a.p);
  // Slices within the limit keep their values exactly: their norm counts as max_norm.
  Tensor limit = constant(a.max_norm, x.dtype(), x.place());
  Tensor over = cast(greater_than(norm, limit), x.dtype());
  Tensor bounded = add(multiply(norm, over), scale(over, -a.max_norm, a.max_norm));
  return multiply(x, divide(limit, bounded));
}

ARGOSY_OP(renorm, RenormAttrs)
    .python("renorm(x, p, axis, max_norm)")
    .method("renorm")
    .inplace("renorm_")
    .doc("x with each slice along axis whose p-norm is above max_norm scaled down to it.")
    .shape("x [*s] -> [*s]")
    .example(
        R"(>>> argosy.renorm(argosy.to_tensor([[3.0, 4.0], [0.3, 0.4]]), p=2.0, axis=0, max_norm=1.0).tolist()
[[0.6, 0.8], [0.3, 0.4]])")
    .input("x", kFloating)
    .output("out")
    .infer(renorm_infer)
    .compose(renorm_parts)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

}  // namespace
}  // namespace argosy::ops
