#include <algorithm>
#include <cmath>

#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"

namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;
using op::Scalar;

// Calls fn(T) for each numeric dtype of ranges.
template <class F>
void dispatch_range(const char* op, DType t, F&& fn) {
  bool known = dispatch_real(t, fn) || dispatch_types<complex64, complex128>(t, fn);
  ARGOSY_CHECK(known, type) << '[' << op << "] is not defined for " << t << '.';
}

bool symbolic(const Scalar& s) {
  return s.tensor.defined();
}

bool is_whole(const Scalar& s) {
  return symbolic(s) ? !is_floating(s.tensor.dtype()) : s.kind != Scalar::Kind::real;
}

void arange_infer(InferContext& c, const ArangeAttrs& a) {
  Scalar start = a.end ? a.start : Scalar(int64_t{0});
  Scalar end = a.end.value_or(a.start);
  bool whole = is_whole(start) && is_whole(end) && is_whole(a.step);
  DType dtype = a.dtype.value_or(whole ? DType::int64 : op::default_dtype());
  if (symbolic(start) || symbolic(end) || symbolic(a.step)) {
    c.out[0] = {{kUnknown}, dtype};
    return;
  }
  // As in Paddle the numbers are converted to the dtype before anything is counted.
  const bool floating = is_floating(dtype);
  auto number = [&](const Scalar& s) {
    return floating ? s.real() : static_cast<double>(s.integer());
  };
  const double first = number(start), last = number(end), step = number(a.step);
  ARGOSY_CHECK(step != 0, invalid_argument)
      << "[arange] step must not be 0. Do this: give a step that leads from start to end.";
  double count = std::ceil((last - first) / step);
  ARGOSY_CHECK(std::isfinite(count) && count < 1e15, invalid_argument)
      << "[arange] cannot count from " << start.real() << " to " << end.real() << " by "
      << a.step.real() << ". Do this: pass a step that is not 0 and leads from start to end.";
  c.out[0] = {{std::max<int64_t>(0, static_cast<int64_t>(count))}, dtype};
}

void arange_run(KernelFrame& f, const ArangeAttrs& a) {
  const Tensor& out = f.out[0];
  Scalar start = a.end ? a.start : Scalar(int64_t{0});
  dispatch_range("arange", out.dtype(), [&]<class T>(T) {
    T* to = out.data<T>();
    if constexpr (std::is_integral_v<T>) {
      // As the element type counts: start and step are converted first.
      int64_t first = start.integer(), by = a.step.integer();
      for (int64_t i = 0; i < out.numel(); ++i) to[i] = static_cast<T>(first + i * by);
    } else {
      double first = start.real(), by = a.step.real();
      for (int64_t i = 0; i < out.numel(); ++i) to[i] = T(first + static_cast<double>(i) * by);
    }
  });
}

ARGOSY_OP(arange, ArangeAttrs)
    .python(
        "arange(start=0, end=None, step=1, dtype=None, *, out=None, device=None, "
        "requires_grad=False, pin_memory=False, name=None)")
    .doc(
        "start, start + step, .. below end; with one argument from 0 to it. dtype defaults to "
        "int64 "
        "for ints and the default dtype for floats.")
    .shape("-> [n']")
    .example(R"(>>> argosy.arange(5).tolist()
[0, 1, 2, 3, 4]
>>> argosy.arange(1.0, 2.0, 0.25).tolist()
[1.0, 1.25, 1.5, 1.75])")
    .output("out")
    .infer(arange_infer)
    .kernel("reference", arange_run)
    .done();

// --- linspace, logspace ---

int64_t count_of(const char* op, const Scalar& num) {
  ARGOSY_CHECK(num.integer() >= 0, invalid_argument)
      << '[' << op << "] num must not be negative, got " << num.integer()
      << ". Do this: pass how many numbers there shall be.";
  return num.integer();
}

void linspace_infer(InferContext& c, const LinspaceAttrs& a) {
  c.out[0] = {{symbolic(a.num) ? kUnknown : count_of("linspace", a.num)},
              a.dtype.value_or(op::default_dtype())};
}

// Counted from both ends, so that the last value is stop.
template <class F>
void spread(const Tensor& out, double start, double stop, F&& map) {
  const int64_t n = out.numel();
  const double step = n > 1 ? (stop - start) / static_cast<double>(n - 1) : 0;
  dispatch_range("linspace", out.dtype(), [&]<class T>(T) {
    for (int64_t i = 0; i < n; ++i) {
      double v = i < n / 2 || n == 1 ? start + step * static_cast<double>(i)
                                     : stop - step * static_cast<double>(n - 1 - i);
      v = map(v);
      if constexpr (std::is_integral_v<T>)
        out.data<T>()[i] = static_cast<T>(static_cast<int64_t>(v));
      else
        out.data<T>()[i] = T(v);
    }
  });
}

void linspace_run(KernelFrame& f, const LinspaceAttrs& a) {
  spread(f.out[0], a.start.real(), a.stop.real(), [](double v) { return v; });
}

ARGOSY_OP(linspace, LinspaceAttrs)
    .python(
        "linspace(start, stop, num, dtype=None, name=None, *, out=None, device=None, "
        "requires_grad=False)")
    .alias("end", "stop")
    .alias("steps", "num")
    .doc("num values evenly spaced from start to stop, both included.")
    .shape("-> [n']")
    .example(R"(>>> argosy.linspace(0, 1, 5).tolist()
[0.0, 0.25, 0.5, 0.75, 1.0])")
    .output("out")
    .infer(linspace_infer)
    .kernel("reference", linspace_run)
    .done();

void logspace_infer(InferContext& c, const LogspaceAttrs& a) {
  c.out[0] = {{symbolic(a.num) ? kUnknown : count_of("logspace", a.num)},
              a.dtype.value_or(op::default_dtype())};
}
void logspace_run(KernelFrame& f, const LogspaceAttrs& a) {
  spread(f.out[0], a.start.real(), a.stop.real(),
         [base = a.base.real()](double v) { return std::pow(base, v); });
}

ARGOSY_OP(logspace, LogspaceAttrs)
    .python("logspace(start, stop, num, base=10.0, dtype=None, name=None)")
    .doc("base to the power of num values evenly spaced from start to stop, both included.")
    .shape("-> [n']")
    .example(R"(>>> argosy.logspace(0, 2, 3).tolist()
[1.0, 10.0, 100.0])")
    .output("out")
    .infer(logspace_infer)
    .kernel("reference", logspace_run)
    .done();

// --- eye ---

void eye_infer(InferContext& c, const EyeAttrs& a) {
  int64_t columns = a.num_columns.value_or(a.num_rows);
  ARGOSY_CHECK(a.num_rows >= 0 && columns >= 0, type)
      << "[eye] sizes must not be negative, got " << a.num_rows << " and " << columns << '.';
  c.out[0] = {{a.num_rows, columns}, a.dtype.value_or(op::default_dtype())};
}
void eye_run(KernelFrame& f, const EyeAttrs&) {
  const Tensor& out = f.out[0];
  std::fill_n(static_cast<char*>(out.raw()), out.nbytes(), 0);
  Tensor one = constant(1, out.dtype());
  int64_t n = std::min(out.dim(0), out.dim(1));
  op::copy_into(out.view({n}, {out.dim(1) + 1}), one);
}

ARGOSY_OP(eye, EyeAttrs)
    .python(
        "eye(num_rows, num_columns=None, dtype=None, name=None, *, out=None, device=None, "
        "requires_grad=False, pin_memory=False)")
    .doc("A matrix with ones on its diagonal and zeros elsewhere.")
    .shape("-> [num_rows,m']")
    .example(R"(>>> argosy.eye(2, 3).tolist()
[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])")
    .output("out")
    .infer(eye_infer)
    .kernel("reference", eye_run)
    .done();

// --- tril, triu ---

// Copies row by row what lies on the kept side of the diagonal; the rest is zero.
void triangle(KernelFrame& f, int64_t diagonal, bool lower) {
  const Tensor& x = f.in[0];
  const Tensor& out = f.out[0];
  ARGOSY_CHECK(x.rank() >= 2, invalid_argument)
      << '[' << f.name() << "] needs a tensor of at least 2 dimensions, got " << x
      << ". Do this: unsqueeze it.";
  const int64_t rows = x.dim(-2), columns = x.dim(-1), item = item_size(x.dtype());
  if (x.numel() == 0) return;
  std::fill_n(static_cast<char*>(out.raw()), out.nbytes(), 0);
  const char* from = static_cast<const char*>(x.raw());
  char* to = static_cast<char*>(out.raw());
  for (int64_t r = 0; r < x.numel() / columns; ++r) {
    int64_t edge = std::clamp<int64_t>(r % rows + diagonal + (lower ? 1 : 0), 0, columns);
    int64_t begin = lower ? 0 : edge, end = lower ? edge : columns;
    std::copy(from + (r * columns + begin) * item, from + (r * columns + end) * item,
              to + (r * columns + begin) * item);
  }
}

void tril_run(KernelFrame& f, const TriangleAttrs& a) {
  triangle(f, a.diagonal, true);
}
void triu_run(KernelFrame& f, const TriangleAttrs& a) {
  triangle(f, a.diagonal, false);
}
Tensors tril_grad(const op::GradCall& c, const TriangleAttrs& a);
Tensors triu_grad(const op::GradCall& c, const TriangleAttrs& a);

ARGOSY_OP(tril, TriangleAttrs)
    .python("tril(x, diagonal=0, name=None, *, out=None)")
    .method("tril")
    .inplace("tril_")
    .alias("input", "x")
    .doc("x with zeros above its diagonal (of each matrix), moved up by `diagonal`.")
    .shape("x [*b,m,n] -> [*b,m,n]")
    .example(R"(>>> argosy.tril(argosy.ones([2, 2])).tolist()
[[1.0, 0.0], [1.0, 1.0]])")
    .input("x")
    .output("out")
    .kernel("reference", tril_run)
    .gradient(tril_grad)
    .done();

ARGOSY_OP(triu, TriangleAttrs)
    .python("triu(x, diagonal=0, name=None, *, out=None)")
    .method("triu")
    .inplace("triu_")
    .alias("input", "x")
    .doc("x with zeros below its diagonal (of each matrix), moved up by `diagonal`.")
    .shape("x [*b,m,n] -> [*b,m,n]")
    .example(R"(>>> argosy.triu(argosy.ones([2, 2])).tolist()
[[1.0, 1.0], [0.0, 1.0]])")
    .input("x")
    .output("out")
    .kernel("reference", triu_run)
    .gradient(triu_grad)
    .done();

Tensors tril_grad(const op::GradCall& c, const TriangleAttrs& a) {
  return tril_op(c.dy(), a);
}
Tensors triu_grad(const op::GradCall& c, const TriangleAttrs& a) {
  return triu_op(c.dy(), a);
}

}  // namespace

Tensor tril(const Tensor& x, int64_t diagonal) {
  return tril_op(x, TriangleAttrs{diagonal});
}
Tensor triu(const Tensor& x, int64_t diagonal) {
  return triu_op(x, TriangleAttrs{diagonal});
}

}  // namespace argosy::ops
