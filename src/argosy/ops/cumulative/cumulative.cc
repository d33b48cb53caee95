#include "argosy/ops/cumulative/cumulative.h"

#include <cmath>

#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/scan.h"
#include "argosy/op/define.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"
#include "argosy/ops/reduce/reduce.h"
#include "argosy/ops/search/search.h"

namespace argosy::ops {
namespace {

using op::GradCall;
using op::NoAttrs;
using op::Save;

// Sizes around the axis; no axis: the tensor as one row.
struct Rows {
  int64_t outer = 1, n = 1, inner = 1;
  Rows(const Shape& shape, int axis) {
    for (int d = 0; d < shape.rank(); ++d) (d < axis ? outer : d == axis ? n : inner) *= shape[d];
  }
};

int axis_of(const char* name, const std::optional<int64_t>& axis, int rank) {
  return rank == 0 ? 0 : normalize_axis(name, axis.value_or(0), rank, ErrorKind::index);
}

// An axis out of range is an error of kind `outside`.
Shape scan_shape(const char* name, const Tensor& x, const std::optional<int64_t>& axis,
                 ErrorKind outside = ErrorKind::index) {
  if (axis) {
    if (x.rank() || *axis < -1 || *axis > 0) normalize_axis(name, *axis, x.rank(), outside);
    return x.shape();
  }
  return {x.numel()};
}

void run_scan(op::KernelFrame& f, cpu::Scan kind, const ScanAttrs& a) {
  Tensor x = f.in[0];
  const Tensor& y = f.out[0];
  if (x.dtype() != y.dtype()) {
    x = Tensor::empty(x.shape(), y.dtype());
    op::copy_into(x, f.in[0]);
  }
  Rows r(y.shape(), axis_of(f.name(), a.axis, y.rank()));
  if (y.numel())
    cpu::scan(kind, y.dtype(), x.raw(), y.raw(), r.outer, r.n, r.inner, false, a.reverse);
}

// --- sums ---

void cumsum_infer(op::InferContext& c, const ScanAttrs& a) {
  DType t = c.in[0].dtype();
  bool small = t == DType::bool_ || (is_integral(t) && item_size(t) < 8);
  c.out[0] = {scan_shape(c.name(), c.in[0], a.axis), a.dtype.value_or(small ? DType::int64 : t)};
}

void cumsum_run(op::KernelFrame& f, const ScanAttrs& a) {
  run_scan(f, cpu::Scan::sum, a);
}

Tensor cumsum_of(const Tensor& x, const ScanAttrs& a);

Tensors cumsum_grad(const GradCall& c, const ScanAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor dx = cumsum_of(c.dy(), ScanAttrs{a.axis.value_or(0), {}, !a.reverse});
  return cast(a.axis ? dx : reshape_like(dx, x), x.dtype());
}

ARGOSY_OP(cumsum, ScanAttrs)
    .python("cumsum(x, axis=None, dtype=None, name=None, *, out=None)")
    .method("cumsum")
    .inplace("cumsum_")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "Running sums along axis; of the flattened tensor without it. Small integers give int64; "
        "with dtype, x is cast to it first.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.cumsum(argosy.to_tensor([[1, 2], [3, 4]])).tolist()
[1, 3, 6, 10]
>>> argosy.cumsum(argosy.to_tensor([[1, 2], [3, 4]]), axis=0).tolist()
[[1, 2], [4, 6]])")
    .input("x", kAny - kFloat8, Save::shape)
    .output("out")
    .infer(cumsum_infer)
    .kernel("scan", cumsum_run)
    .gradient(cumsum_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- products ---

void cumprod_infer(op::InferContext& c, const CumprodAttrs& a) {
  c.out[0] = {scan_shape(c.name(), c.in[0], a.dim, ErrorKind::axis),
              a.dtype.value_or(c.in[0].dtype())};
}

void cumprod_run(op::KernelFrame& f, const CumprodAttrs& a) {
  run_scan(f, cpu::Scan::prod, ScanAttrs{a.dim, {}, false});
}

// The gradient of y = cumprod(x): dx[k] = sum over i >= k of dy[i] times the product of x[0..i]
// without x[k]. y[i] / x[k] where that is defined; beyond the first zero of a row, products are
// taken again without it. Of the parts only those for an unknown size divide.
Tensors cumprod_grad_parts(const op::Inputs& in, const ScanAttrs& a) {
  const Tensor &x = in[0], &y = in[1], &dy = in[2];
  if (x.rank() == 0) return dy;
  const int64_t axis = axis_of("cumprod", a.axis, x.rank());
  if (const int64_t n = x.dim(static_cast<int>(axis)); n >= 0) {
    if (n == 0) return dy;
    const Tensor wide = conj_if_complex(x);
    const Tensor last = slice(wide, axis, 0, 1);  // counts for nothing: there is no r[n]
    const Tensor parts[] = {slice(wide, axis, 1, std::numeric_limits<int64_t>::max()), last};
    return multiply(product_before(wide, axis, false), chained_sum(dy, concat(parts, axis), axis));
  }
  Tensor sums = cumsum_of(multiply(dy, conj_if_complex(y)), ScanAttrs{a.axis, {}, true});
  return divide(sums, conj_if_complex(x));
}

template <class T>
T conj_of(T v) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>)
    return std::conj(v);
  else
    return v;
}

template <class T, class Acc>
void cumprod_grad_rows(op::KernelFrame& f, const Rows& r) {
  const T *x = f.in[0].data<T>(), *y = f.in[1].data<T>(), *dy = f.in[2].data<T>();
  T* dx = f.out[0].data<T>();
  parallel_for(r.outer * r.inner, 1 + (1 << 12) / (r.n + 1), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t base = row / r.inner * r.n * r.inner + row % r.inner, step = r.inner;
      auto at = [&](const T* p, int64_t i) { return static_cast<Acc>(p[base + i * step]); };
      int64_t zero = 0;
      while (zero < r.n && at(x, zero) != Acc(0)) ++zero;
      // After the first zero only that zero has a gradient: the product goes around it.
      Acc around = zero > 0 && zero < r.n ? at(y, zero - 1) : Acc(1), at_zero = Acc(0);
      for (int64_t i = zero; i < r.n; ++i) {
        if (i > zero) around *= at(x, i);
        at_zero += at(dy, i) * conj_of(around);
        dx[base + i * step] = T(0.f);
      }
      if (zero < r.n) dx[base + zero * step] = static_cast<T>(at_zero);
      Acc sum = Acc(0);
      for (int64_t i = zero - 1; i >= 0; --i) {
        sum += at(dy, i) * conj_of(at(y, i));
        dx[base + i * step] = static_cast<T>(sum / conj_of(at(x, i)));
      }
    }
  });
}

void cumprod_grad_run(op::KernelFrame& f, const ScanAttrs& a) {
  if (f.in[0].numel() == 0) return;
  Rows r(f.in[0].shape(), axis_of(f.name(), a.axis, f.in[0].rank()));
  dispatch_floating(f.in[0].dtype(), [&]<class T>(T) { cumprod_grad_rows<T, double>(f, r); });
  dispatch_types<complex64, complex128>(f.in[0].dtype(),
                                        [&]<class T>(T) { cumprod_grad_rows<T, T>(f, r); });
}

// The gradients' y and dy have the form of their x.
void scan_grad_infer(op::InferContext& c, const ScanAttrs&) {
  for (size_t i : {1, 2}) {
    expect_shape(c, i, c.in[0].shape());
    expect_dtype(c, i, c.in[0].dtype());
  }
}

ARGOSY_OP(cumprod_grad, ScanAttrs)
    .doc("The gradient of y = cumprod(x) along axis, right where x has zeros too.")
    .input("x", kFloating | kComplex, Save::value)
    .input("y", kFloating | kComplex, Save::value)
    .input("dy", kFloating | kComplex, Save::value)
    .output("dx")
    .infer(scan_grad_infer)
    .compose(cumprod_grad_parts)
    .kernel("rows", cumprod_grad_run)
    .done();

Tensors cumprod_gradient(const GradCall& c, const CumprodAttrs& a) {
  const Tensor &x = c.in[0], &y = c.out(0);
  Tensor wide = cast(a.dim ? x : reshape_like(x, y), y.dtype());
  Tensor dx = cumprod_grad_op(wide, y, c.dy(), ScanAttrs{a.dim.value_or(0), {}, false});
  return cast(a.dim ? dx : reshape_like(dx, x), x.dtype());
}

ARGOSY_OP(cumprod, CumprodAttrs)
    .python("cumprod(x, dim=None, *, dtype=None, out=None, name=None)")
    .method("cumprod")
    .inplace("cumprod_")
    .alias("input", "x")
    .alias("axis", "dim")
    .doc(
        "Running products along dim; of the flattened tensor without it. With dtype, x is cast to "
        "it first.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.cumprod(argosy.to_tensor([[1, 2], [3, 4]]), dim=1).tolist()
[[1, 2], [3, 12]])")
    .input("x", kNumeric, Save::value)
    .output("out", Save::value)
    .infer(cumprod_infer)
    .kernel("scan", cumprod_run)
    .gradient(cumprod_gradient)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- logarithms of running sums of exponentials ---

void logcumsumexp_infer(op::InferContext& c, const ScanAttrs& a) {
  const DType t = a.dtype.value_or(c.in[0].dtype());
  c.out[0] = {scan_shape(c.name(), c.in[0], a.axis), is_floating(t) ? t : DType::float32};
}

void logcumsumexp_run(op::KernelFrame& f, const ScanAttrs& a) {
  run_scan(f, cpu::Scan::logsumexp, a);
}

// dx[k] = sum over i >= k of dy[i] exp(x[k] - y[i]); the adjoint (a.reverse) gives, for h in dx's
// place, sum over k <= i of h[k] exp(x[k] - y[i]). In plain terms; the kernel goes along y, which
// does not fall, so that nothing overflows.
Tensors logcumsumexp_grad_parts(const op::Inputs& in, const ScanAttrs& a) {
  const Tensor &x = in[0], &y = in[1], &dy = in[2];
  Tensor top = y.rank() ? slice(y, *a.axis, -1, INT64_MAX) : y;
  Tensor of_x = exp(subtract(x, top)), of_y = exp(subtract(top, y));
  const ScanAttrs scan{a.axis, {}, !a.reverse};
  return multiply(a.reverse ? of_y : of_x, cumsum_of(multiply(dy, a.reverse ? of_x : of_y), scan));
}

void logcumsumexp_grad_run(op::KernelFrame& f, const ScanAttrs& a) {
  if (f.in[0].numel() == 0) return;
  Rows r(f.in[0].shape(), axis_of(f.name(), a.axis, f.in[0].rank()));
  dispatch_floating(f.in[0].dtype(), [&]<class T>(T) {
    const T *x = f.in[0].data<T>(), *y = f.in[1].data<T>(), *dy = f.in[2].data<T>();
    T* dx = f.out[0].data<T>();
    parallel_for(r.outer * r.inner, 1 + (1 << 10) / (r.n + 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t base = row / r.inner * r.n * r.inner + row % r.inner;
        double sum = 0, next = 0;
        for (int64_t i = 0; a.reverse && i < r.n; ++i) {
          const int64_t at = base + i * r.inner;
          const double here = y[at];
          sum = dy[at] * std::exp(x[at] - here) + (sum != 0 ? std::exp(next - here) * sum : 0);
          dx[at] = static_cast<T>(sum);
          next = here;
        }
        for (int64_t i = r.n - 1; !a.reverse && i >= 0; --i) {
          const int64_t at = base + i * r.inner;
          const double here = y[at];
          sum = dy[at] + (i < r.n - 1 && sum != 0 ? std::exp(here - next) * sum : 0);
          dx[at] = static_cast<T>(std::exp(x[at] - here) * sum);
          next = here;
        }
      }
    });
  });
}

Tensors logcumsumexp_grad_second(const GradCall& c, const ScanAttrs& a);

ARGOSY_OP(logcumsumexp_grad, ScanAttrs)
    .doc("The gradient of y = logcumsumexp(x) along axis; with reverse, the adjoint of that.")
    .input("x", kFloating, Save::value)
    .input("y", kFloating, Save::value)
    .input("dy", kFloating, Save::value)
    .output("dx", Save::value)
    .infer(scan_grad_infer)
    .compose(logcumsumexp_grad_parts)
    .kernel("rows", logcumsumexp_grad_run)
    .gradient(logcumsumexp_grad_second)
    .done();

Tensors logcumsumexp_grad_second(const GradCall& c, const ScanAttrs& a) {
  const Tensor &x = c.in[0], &y = c.in[1], &dy = c.in[2], &h = c.dy();
  Tensor adjoint = logcumsumexp_grad_op(x, y, h, ScanAttrs{a.axis, {}, !a.reverse});
  Tensor of_dy = multiply(dy, adjoint), of_out = multiply(h, c.out(0));
  return {a.reverse ? of_dy : of_out, negative(a.reverse ? of_out : of_dy), adjoint};
}

Tensors logcumsumexp_gradient(const GradCall& c, const ScanAttrs& a) {
  const Tensor& y = c.out(0);
  Tensor x = cast(a.axis ? c.in[0] : reshape_like(c.in[0], y), y.dtype());
  Tensor dx = logcumsumexp_grad_op(x, y, c.dy(), ScanAttrs{a.axis.value_or(0), {}, false});
  return cast(a.axis ? dx : reshape_like(dx, c.in[0]), c.in[0].dtype());
}

ARGOSY_OP(logcumsumexp, ScanAttrs)
    .python("logcumsumexp(x, axis=None, dtype=None, name=None)")
    .method("logcumsumexp")
    .doc(
        "log of running sums of e^x along axis, without overflow; of the flattened tensor without "
        "axis. Integers give float32.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> argosy.logcumsumexp(argosy.to_tensor([0.0, 0.0, 0.0])).tolist()
[0.0, 0.69315, 1.0986])")
    .input("x", kReal, Save::value)
    .output("out", Save::value)
    .infer(logcumsumexp_infer)
    .kernel("scan", logcumsumexp_run)
    .gradient(logcumsumexp_gradient)
    .done();

// --- running extremes ---

void extreme_infer(op::InferContext& c, const RunningAttrs& a) {
  ARGOSY_CHECK(kIndex.has(a.dtype), invalid_argument)
      << '[' << c.name() << "] dtype: expected int32 or int64, got " << a.dtype << '.';
  Shape shape = scan_shape(c.name(), c.in[0], a.axis);
  c.out[0] = {shape, c.in[0].dtype()};
  c.out[1] = {shape, a.dtype};
}

template <bool kLargest>
void extreme_run(op::KernelFrame& f, const RunningAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  Rows r(y.shape(), axis_of(f.name(), a.axis, y.rank()));
  if (y.numel())
    cpu::scan_extreme(kLargest, x.dtype(), x.raw(), y.raw(), f.out[1].dtype(), f.out[1].raw(),
                      r.outer, r.n, r.inner);
}

Tensors extreme_grad(const GradCall& c, const RunningAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor zeros = zeros_of(a.axis ? x : c.out(1), c.dy().dtype());
  Tensor dx = put_along_add(zeros, c.out(1), c.dy(0), a.axis.value_or(0));
  return a.axis ? dx : reshape_like(dx, x);
}

#define ARGOSY_RUNNING(name, largest, text)                     \
  ARGOSY_OP(name, RunningAttrs)                                 \
      .shape("x [*s] -> [*s'], [*s']")                          \
      .python(#name "(x, axis=None, dtype='int64', name=None)") \
      .method(#name)                                            \
      .doc(text)                                                \
      .input("x", kReal, Save::shape)                           \
      .output("out")                                            \
      .index_output("indices", Save::value)                     \
      .infer(extreme_infer)                                     \
      .kernel("scan", extreme_run<largest>)                     \
      .gradient(extreme_grad)

ARGOSY_RUNNING(cummax, true,
               "(the largest element so far, the index where it was met last) along axis; of the "
               "flattened tensor without it. dtype: of the indices, int32 or int64.")
    .example(R"(>>> values, indices = argosy.cummax(argosy.to_tensor([2, 1, 3, 0]))
>>> values.tolist(), indices.tolist()
([2, 2, 3, 3], [0, 0, 2, 2]))")
    .done();
ARGOSY_RUNNING(cummin, false,
               "(the smallest element so far, the index where it was met last) along axis; of the "
               "flattened tensor without it. dtype: of the indices, int32 or int64.")
    .example(R"(>>> values, indices = argosy.cummin(argosy.to_tensor([2, 1, 3, 0]))
>>> values.tolist(), indices.tolist()
([2, 1, 1, 0], [0, 1, 1, 3]))")
    .done();

Tensor cumsum_of(const Tensor& x, const ScanAttrs& a) {
  return cumsum_op(x, a);
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t axis, bool reverse) {
  return cumsum_op(x, ScanAttrs{axis, {}, reverse});
}
Tensor cumprod(const Tensor& x, int64_t axis) {
  return cumprod_op(x, CumprodAttrs{axis, {}});
}
}  // namespace argosy::ops
