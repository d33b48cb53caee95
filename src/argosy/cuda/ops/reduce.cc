#include <cmath>

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/reduce.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/norm/norm.h"
#include "argosy/ops/reduce/common.h"

// Reductions over axes (ops/reduce, norms).
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using op::NoAttrs;
using ops::ArgAttrs;
using ops::ReduceAttrs;
using ops::TypedReduceAttrs;

template <class A>
uint32_t mask_of(const KernelFrame& f, const A& a) {
  return op::axes_mask(f.name(), a.axis, f.in[0].rank());
}

// x in another dtype; itself where it has it.
Tensor in_dtype(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  Tensor t = Tensor::empty(x.shape(), dtype, x.place());
  op::copy_into(t, x);
  return t;
}

// --- sums, means, products ---

bool sums_into(DType x, DType out) {
  if (x == out) return true;
  if (kHalf.has(x)) return out == DType::float32;
  return !is_differentiable(x) && !is_differentiable(out);
}

// What the sum cannot be stored as is what x is cast to first.
void sum_into(KernelFrame& f, SumKind kind, const Tensor& x, const Tensor& out, uint32_t mask) {
  const Tensor from = sums_into(x.dtype(), out.dtype()) ? x : in_dtype(x, out.dtype());
  reduce_sum(stream_of(f), kind, view_of(from), mask, out.raw(), out.dtype());
}

template <SumKind kind>
void sum_run(KernelFrame& f, const TypedReduceAttrs& a) {
  sum_into(f, kind, f.in[0], f.out[0], mask_of(f, a));
}

void mean_run(KernelFrame& f, const TypedReduceAttrs& a) {
  const Tensor& out = f.out[0];
  if (is_differentiable(out.dtype())) return sum_run<SumKind::mean>(f, a);
  const Tensor floats = Tensor::empty(out.shape(), DType::float64, out.place());
  sum_into(f, SumKind::mean, f.in[0], floats, mask_of(f, a));
  op::copy_into(out, floats);
}

void sum_like_run(KernelFrame& f, const NoAttrs&) {
  sum_into(f, SumKind::sum, f.in[0], f.out[0],
           ops::repeated_axes(f.name(), f.in[0].shape(), f.in[1].shape()));
}

[[maybe_unused]] const bool sum_added =
    add_kernel<TypedReduceAttrs>("sum", sum_run<SumKind::sum>, true);
[[maybe_unused]] const bool mean_added = add_kernel<TypedReduceAttrs>("mean", mean_run, true);
[[maybe_unused]] const bool prod_added =
    add_kernel<TypedReduceAttrs>("prod", sum_run<SumKind::prod>, true);
[[maybe_unused]] const bool sum_like_added = add_kernel<NoAttrs>("sum_like", sum_like_run, true);
[[maybe_unused]] const bool reduce_as_added = add_kernel<NoAttrs>("reduce_as", sum_like_run, true);

// --- extremes ---

template <bool largest>
void extreme_run(KernelFrame& f, const ReduceAttrs& a) {
  if (f.out[0].numel() == 0) return;
  reduce_extreme(stream_of(f), largest, view_of(f.in[0]), mask_of(f, a), f.out[0].raw());
}

template <bool largest>
void arg_run(KernelFrame& f, const ArgAttrs& a) {
  if (f.out[0].numel() == 0) return;
  Tensor x = f.in[0];
  int axis = 0;
  if (!a.axis || x.rank() == 0) {
    x = op::contiguous(x);
    x = x.view({x.numel()}, {1});
  } else {
    axis = static_cast<int>(*a.axis < 0 ? *a.axis + x.rank() : *a.axis);
  }
  reduce_arg(stream_of(f), largest, view_of(x), axis, f.out[0].raw(), f.out[0].dtype());
}

[[maybe_unused]] const bool max_added = add_kernel<ReduceAttrs>("max", extreme_run<true>, true);
[[maybe_unused]] const bool min_added = add_kernel<ReduceAttrs>("min", extreme_run<false>, true);
[[maybe_unused]] const bool amax_added = add_kernel<ReduceAttrs>("amax", extreme_run<true>, true);
[[maybe_unused]] const bool amin_added = add_kernel<ReduceAttrs>("amin", extreme_run<false>, true);
[[maybe_unused]] const bool argmax_added = add_kernel<ArgAttrs>("argmax", arg_run<true>, true);
[[maybe_unused]] const bool argmin_added = add_kernel<ArgAttrs>("argmin", arg_run<false>, true);

// --- any, all, counts ---

template <CountKind kind>
void count_run(KernelFrame& f, const ReduceAttrs& a) {
  reduce_count(stream_of(f), kind, view_of(f.in[0]), mask_of(f, a), f.out[0].raw(),
               f.out[0].dtype());
}

void size_run(KernelFrame& f, const ops::SizeOfAttrs& a) {
  const Tensor& x = f.in[0];
  const uint32_t mask = mask_of(f, a);
  double count = 1;
  for (int d = 0; d < x.rank(); ++d)
    if (mask >> d & 1) count *= static_cast<double>(x.dim(d));
  fill_number(stream_of(f), f.out[0].dtype(), f.out[0].raw(), 1,
              count > a.minus ? count - a.minus : 0);
}
const char* size_match(const Inputs&, const ops::SizeOfAttrs& a) {
  return is_complex(a.dtype) ? "complex dtypes" : nullptr;
}

[[maybe_unused]] const bool any_added =
    add_kernel<ReduceAttrs>("any", count_run<CountKind::any>, true);
[[maybe_unused]] const bool all_added =
    add_kernel<ReduceAttrs>("all", count_run<CountKind::all>, true);
[[maybe_unused]] const bool count_added =
    add_kernel<ReduceAttrs>("count_nonzero", count_run<CountKind::count>, true);
[[maybe_unused]] const bool size_added =
    add_kernel<ops::SizeOfAttrs>("size_of", size_match, size_run, true);

// --- norms and moments ---

void squares_run(KernelFrame& f, const ops::SquaresAttrs& a) {
  reduce_norm(stream_of(f), a.mean ? NormKind::mean_squares : NormKind::sum_squares, 2,
              view_of(f.in[0]), mask_of(f, a), f.out[0].raw());
}

void var_run(KernelFrame& f, const ops::VarAttrs& a) {
  const Tensor x = in_dtype(f.in[0], f.out[0].dtype());
  reduce_variance(stream_of(f), view_of(x), mask_of(f, a), a.divisor_less(), f.out[0].raw());
}

void logsumexp_run(KernelFrame& f, const ReduceAttrs& a) {
  const Tensor x = in_dtype(f.in[0], f.out[0].dtype());
  reduce_logsumexp(stream_of(f), view_of(x), mask_of(f, a), f.out[0].raw());
}

template <class A>
void norm_run(KernelFrame& f, const A& a) {
  const Tensor &x = f.in[0], &out = f.out[0];
  if (out.numel() == 0) return;
  const uint32_t mask = mask_of(f, a);
  if (a.p == 0)
    return reduce_count(stream_of(f), CountKind::count, view_of(x), mask, out.raw(), out.dtype());
  const NormKind kind = a.p == 2           ? NormKind::norm
                        : a.p == 1         ? NormKind::sum_abs
                        : !std::isinf(a.p) ? NormKind::power
                        : a.p > 0          ? NormKind::most_abs
                                           : NormKind::least_abs;
  reduce_norm(stream_of(f), kind, a.p, view_of(x), mask, out.raw());
}
template <class A>
const char* norm_match(const Inputs& in, const A& a) {
  if (is_complex(in[0].dtype())) return "complex dtypes";
  return std::isinf(a.p) && in[0].numel() == 0 ? "no elements" : nullptr;
}

[[maybe_unused]] const bool squares_added =
    add_kernel<ops::SquaresAttrs>("sum_squares", squares_run, true);
[[maybe_unused]] const bool var_added = add_kernel<ops::VarAttrs>("var", var_run, true);
[[maybe_unused]] const bool logsumexp_added =
    add_kernel<ReduceAttrs>("logsumexp", logsumexp_run, true);
[[maybe_unused]] const bool norm_along_added = add_kernel<ops::NormAlongAttrs>(
    "norm_along", norm_match<ops::NormAlongAttrs>, norm_run<ops::NormAlongAttrs>, true);
[[maybe_unused]] const bool p_norm_added = add_kernel<ops::PNormAttrs>(
    "p_norm", norm_match<ops::PNormAttrs>, norm_run<ops::PNormAttrs>, true);

// --- rows ---

const char* others_match(const Inputs& in, const NoAttrs&) {
  const int64_t n = in[0].dim(-1);
  return n > 4096 && in[0].numel() / n < 1024 ? "few long rows" : nullptr;
}
void others_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& x = f.in[0];
  const int64_t n = x.dim(-1);
  if (x.numel())
    product_of_others(stream_of(f), x.dtype(), x.raw(), f.out[0].raw(), x.numel() / n, n);
}

void or_nan_run(KernelFrame& f, const NoAttrs&) {
  fill_number(stream_of(f), f.out[0].dtype(), f.out[0].raw(), f.out[0].numel(), std::nan(""));
}

[[maybe_unused]] const bool others_added =
    add_kernel<NoAttrs>("product_of_others", others_match, others_run);
[[maybe_unused]] const bool or_nan_added = add_kernel<NoAttrs>("rows_or_nan", or_nan_run);

}  // namespace
}  // namespace argosy::cuda
