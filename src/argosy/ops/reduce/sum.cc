#include "argosy/ops/elementwise.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/reduce/common.h"

// Sums, means and counts.
namespace argosy::ops {
namespace {

using cpu::Reduce;
using op::GradCall;
using op::NoAttrs;
using op::Save;

// --- sums over what broadcasting repeated ---

void sum_like_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0].shape = c.in[1].shape();
}

void sum_like_run(op::KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &like = f.in[1];
  run_reduce(Reduce::sum, x, f.out[0], repeated_axes(f.name(), x.shape(), like.shape()));
}

Tensors sum_like_grad(const GradCall& c, const NoAttrs&) {
  return {cast(expand_like(c.dy(), c.in[0]), c.in[0].dtype()), Tensor()};
}

ARGOSY_OP(sum_like, NoAttrs)
    .doc("Sum of x over what broadcasting `like` to x's shape repeats; has like's shape.")
    .shape("x [*s], like [*t] -> [*t]")
    .input("x", kNumeric, Save::shape)
    .input("like")
    .shape_only()
    .output("out")
    .infer(sum_like_infer)
    .kernel("reduce", sum_like_run)
    .strided()
    .gradient(sum_like_grad)
    .done();

// bool and int32 add up in int64.
DType sum_dtype(DType x) {
  return x == DType::bool_ || x == DType::int32 ? DType::int64 : x;
}

void reduce_as_infer(op::InferContext& c, const NoAttrs&) {
  c.out[0] = {c.in[1].shape(), sum_dtype(c.in[0].dtype())};
}

ARGOSY_OP(reduce_as, NoAttrs)
    .python("reduce_as(x, target, name=None)")
    .method("reduce_as")
    .doc("The sum of x over the axes that broadcasting target to x's shape repeats.")
    .shape("x [*s], target [*t] -> [*t]")
    .example(R"(>>> argosy.reduce_as(argosy.ones([3, 2]), argosy.ones([2])).tolist()
[3.0, 3.0])")
    .input("x", kAny - kFloat8, Save::shape)
    .input("target")
    .shape_only()
    .output("out")
    .infer(reduce_as_infer)
    .kernel("reduce", sum_like_run)
    .strided()
    .gradient(sum_like_grad)
    .done();

// --- sum ---

void sum_infer(op::InferContext& c, const TypedReduceAttrs& a) {
  infer_reduced(c, a);
  c.out[0].dtype = a.dtype.value_or(sum_dtype(c.in[0].dtype()));
}

Tensors sum_grad(const GradCall& c, const TypedReduceAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor dy = cast(c.dy(), x.dtype());
  return expand_like(with_axes("sum", dy, x, a.axis, a.keepdim), x);
}

ARGOSY_OP(sum, TypedReduceAttrs)
    .python("sum(x, axis=None, dtype=None, keepdim=False, name=None, *, out=None)")
    .method("sum")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "The sum over axis (an int or a list; None: all), 0 of nothing. bool and int32 give int64; "
        "with dtype, x is cast to it first.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.sum(x).item()
10.0
>>> argosy.sum(x, axis=1).tolist()
[3.0, 7.0])")
    .input("x", kAny - kFloat8, Save::shape)
    .output("out")
    .infer(sum_infer)
    .kernel("reduce", run_reduction<Reduce::sum, TypedReduceAttrs>)
    .strided()
    .gradient(sum_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- mean ---

void mean_infer(op::InferContext& c, const TypedReduceAttrs& a) {
  infer_reduced(c, a);
  if (a.dtype) c.out[0].dtype = *a.dtype;
}

void mean_run(op::KernelFrame& f, const TypedReduceAttrs& a) {
  DType t = f.out[0].dtype();
  uint32_t mask = op::axes_mask("mean", a.axis, f.in[0].rank());
  if (is_differentiable(t)) return run_reduce(Reduce::mean, f.in[0], f.out[0], mask);
  Tensor floats = Tensor::empty(f.out[0].shape(), DType::float64);
  run_reduce(Reduce::mean, f.in[0], floats, mask);
  op::copy_into(f.out[0], floats);
}

Tensors mean_grad(const GradCall& c, const TypedReduceAttrs& a) {
  const Tensor& x = c.in[0];
  Tensor dy = cast(c.dy(), x.dtype());
  Tensor share = divide(dy, count_of(x, a.axis, x.dtype()));
  return expand_like(with_axes("mean", share, x, a.axis, a.keepdim), x);
}

ARGOSY_OP(mean, TypedReduceAttrs)
    .python("mean(x, axis=None, keepdim=False, name=None, *, dtype=None, out=None)")
    .method("mean")
    .alias("input", "x")
    .alias("dim", "axis")
    .doc(
        "The arithmetic mean over axis (an int or a list; None: all), nan of nothing. Integers "
        "give integers, rounded towards 0; with dtype, x is cast to it first.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.mean(x).item()
2.5
>>> argosy.mean(x, axis=1).tolist()
[1.5, 3.5])")
    .input("x", kAny - kFloat8, Save::shape)
    .output("out")
    .infer(mean_infer)
    .kernel("reduce", mean_run)
    .strided()
    .gradient(mean_grad)
    .amp(op::Amp::full, op::Amp::follow)
    .done();

// --- number of elements that are reduced ---

void count_infer(op::InferContext& c, const SizeOfAttrs& a) {
  c.out[0] = {{}, a.dtype};
}

void count_run(op::KernelFrame& f, const SizeOfAttrs& a) {
  const Tensor& x = f.in[0];
  uint32_t mask = op::axes_mask(f.name(), a.axis, x.rank());
  double count = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (mask >> d & 1) count *= static_cast<double>(x.dim(d));
  op::copy_into(f.out[0], constant(count > a.minus ? count - a.minus : 0, DType::float64));
}

ARGOSY_OP(size_of, SizeOfAttrs)
    .doc(
        "The number of elements along the axes less `minus`, at least 0: a 0-d tensor. Reads only "
        "x's shape.")
    .shape("x [*s] -> [*s']")
    .input("x")
    .shape_only()
    .index_output("out")
    .infer(count_infer)
    .kernel("shape", count_run)
    .strided()
    .done();

// --- sums and means of what is not nan ---

template <class T>
void zero_nan_loop(char* const* ptrs, const int64_t* strides, int64_t n, const void*) {
  for (int64_t i = 0; i < n; ++i) {
    T v = *reinterpret_cast<const T*>(ptrs[0] + i * strides[0]);
    *reinterpret_cast<T*>(ptrs[1] + i * strides[1]) = v == v ? v : T(0.f);
  }
}

const cpu::LoopTable& zero_nan_loops() {
  static const cpu::LoopTable table = [] {
    cpu::LoopTable t;
    t.by_dtype[static_cast<int>(DType::float16)] = zero_nan_loop<float16>;
    t.by_dtype[static_cast<int>(DType::bfloat16)] = zero_nan_loop<bfloat16>;
    t.by_dtype[static_cast<int>(DType::float32)] = zero_nan_loop<float>;
    t.by_dtype[static_cast<int>(DType::float64)] = zero_nan_loop<double>;
    t.by_dtype[static_cast<int>(DType::complex64)] = zero_nan_loop<complex64>;
    t.by_dtype[static_cast<int>(DType::complex128)] = zero_nan_loop<complex128>;
    return t;
  }();
  return table;
}

Tensor number_mask(const Tensor& x, DType dtype) {
  return cast(logical_not(isnan(x)), dtype);
}

Tensors zero_nan_grad(const GradCall& c, const NoAttrs&) {
  return multiply(c.dy(), number_mask(c.in[0], c.dy().dtype()));
}

ARGOSY_OP(zero_nan, NoAttrs)
    .doc("x with 0 for every nan.")
    .input("x", kFloating | kComplex, Save::value)
    .output("out")
    .elementwise()
    .kernel("loops", run_loops<zero_nan_loops>)
    .strided()
    .gradient(zero_nan_grad)
    .done();

Tensors nansum_parts(const op::Inputs& in, const TypedReduceAttrs& a) {
  return sum_op(is_differentiable(in[0].dtype()) ? zero_nan_op(in[0]) : in[0], a);
}

const char* match_nansum(const op::Inputs& in, const TypedReduceAttrs& a) {
  if (!is_floating(in[0].dtype())) return "x is not of a floating dtype";
  return a.dtype && *a.dtype != in[0].dtype() ? "dtype is not x's" : nullptr;
}

Tensors nansum_grad(const GradCall& c, const TypedReduceAttrs& a) {
  const Tensor& x = c.in[0];
  const Tensor one = with_axes("nansum", cast(c.dy(), x.dtype()), x, a.axis, a.keepdim);
  const Tensor dy = expand_like(one, x);
  return where(isnan(x), zeros_like(dy), dy);
}

ARGOSY_OP(nansum, TypedReduceAttrs)
    .python("nansum(x, axis=None, dtype=None, keepdim=False, name=None)")
    .method("nansum")
    .doc("The sum over axis as if nan were 0.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.nansum(x).item()
10.0
>>> argosy.nansum(x, axis=1).tolist()
[3.0, 7.0])")
    .input("x", kAny - kFloat8, Save::value)
    .output("out")
    .infer(sum_infer)
    .compose(nansum_parts)
    .kernel("reduce", match_nansum, run_reduction<Reduce::sum_numbers, TypedReduceAttrs>)
    .strided()
    .gradient(nansum_grad)
    .done();

void nanmean_infer(op::InferContext& c, const ReduceAttrs& a) {
  infer_reduced(c, a);
  if (!is_differentiable(c.out[0].dtype)) c.out[0].dtype = DType::float32;
}

Tensors nanmean_parts(const op::Inputs& in, const ReduceAttrs& a) {
  Tensor x = is_differentiable(in[0].dtype()) ? in[0] : cast(in[0], DType::float32);
  TypedReduceAttrs t{a.axis, {}, a.keepdim};
  return divide(sum_op(zero_nan_op(x), t), sum_op(number_mask(x, x.dtype()), t));
}

ARGOSY_OP(nanmean, ReduceAttrs)
    .python("nanmean(x, axis=None, keepdim=False, name=None)")
    .method("nanmean")
    .doc("The mean over axis of what is not nan; nan where all is. Integers give float32.")
    .shape("x [*s] -> [*s']")
    .example(R"(>>> x = argosy.to_tensor([[1.0, 2.0], [3.0, 4.0]])
>>> argosy.nanmean(x).item()
2.5
>>> argosy.nanmean(x, axis=1).tolist()
[1.5, 3.5])")
    .input("x", kNumeric)
    .output("out")
    .infer(nanmean_infer)
    .compose(nanmean_parts)
    .done();

}  // namespace

uint32_t repeated_axes(const char* op, const Shape& x, const Shape& like) {
  const int skip = x.rank() - like.rank();
  bool fits = skip >= 0;
  for (int d = 0; fits && d < like.rank(); ++d) fits = like[d] == x[d + skip] || like[d] == 1;
  ARGOSY_CHECK(fits, invalid_argument) << '[' << op << "] " << like << " does not broadcast to "
                                       << x << ". Do this: reshape one of them.";
  uint32_t mask = 0;
  for (int d = 0; d < x.rank(); ++d)
    if (d < skip || (like[d - skip] == 1 && x[d] != 1)) mask |= 1u << d;
  return mask;
}

Tensor sum_like(const Tensor& x, const Tensor& like) {
  if (x.shape() == like.shape() && x.shape().known()) return x;
  return sum_like_op(x, like);
}
Tensor sum(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return sum_op(x, TypedReduceAttrs{axis, {}, keepdim});
}
Tensor mean(const Tensor& x, const op::IntArray& axis, bool keepdim) {
  return mean_op(x, TypedReduceAttrs{axis, {}, keepdim});
}
Tensor count_of(const Tensor& x, const op::IntArray& axis, DType dtype, double minus) {
  return size_of_op(x, SizeOfAttrs{axis, dtype, minus});
}

}  // namespace argosy::ops
