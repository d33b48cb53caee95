#include "argosy/ops/cumulative/cumulative.h"
#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/scan.h"

// Running results (ops/cumulative).
namespace argosy::cuda {
namespace {

using op::Inputs;
using op::KernelFrame;
using ops::CumprodAttrs;
using ops::RunningAttrs;
using ops::ScanAttrs;

// Sizes around the axis; no axis: the tensor as one row (its result is 1-d).
ScanShape shape_around(const char* name, const Shape& shape, const std::optional<int64_t>& axis) {
  const int at = shape.rank() == 0
                     ? 0
                     : normalize_axis(name, axis.value_or(0), shape.rank(), ErrorKind::index);
  ScanShape s;
  for (int d = 0; d < shape.rank(); ++d) (d < at ? s.outer : d == at ? s.n : s.inner) *= shape[d];
  return s;
}

// x in y's dtype.
Tensor as_scanned(const Tensor& x, const Tensor& y) {
  if (x.dtype() == y.dtype()) return x;
  Tensor t = Tensor::empty(x.shape(), y.dtype(), x.place());
  op::copy_into(t, x);
  return t;
}

void sum_into(KernelFrame& f, bool product, const std::optional<int64_t>& axis, bool reverse) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  const Tensor x = as_scanned(f.in[0], y);
  scan_sum(stream_of(f), product, y.dtype(), x.raw(), y.raw(),
           shape_around(f.name(), y.shape(), axis), reverse);
}

const char* cumsum_match(const Inputs&, const ScanAttrs& a) {
  return a.dtype == DType::bool_ ? "sums in bool" : nullptr;
}
void cumsum_run(KernelFrame& f, const ScanAttrs& a) {
  sum_into(f, false, a.axis, a.reverse);
}
const char* cumprod_match(const Inputs&, const CumprodAttrs& a) {
  return a.dtype == DType::bool_ ? "products in bool" : nullptr;
}
void cumprod_run(KernelFrame& f, const CumprodAttrs& a) {
  sum_into(f, true, a.dim, false);
}

const char* logcumsumexp_match(const Inputs&, const ScanAttrs& a) {
  return a.dtype && !kFloating.has(*a.dtype) ? "results that are not floating" : nullptr;
}
void logcumsumexp_run(KernelFrame& f, const ScanAttrs& a) {
  const Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  const Tensor x = as_scanned(f.in[0], y);
  scan_logsumexp(stream_of(f), y.dtype(), x.raw(), y.raw(),
                 shape_around(f.name(), y.shape(), a.axis), a.reverse);
}

template <bool largest>
void extreme_run(KernelFrame& f, const RunningAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  scan_extreme(stream_of(f), largest, x.dtype(), x.raw(), y.raw(), f.out[1].dtype(), f.out[1].raw(),
               shape_around(f.name(), y.shape(), a.axis));
}

// A thread goes along a row: not where rows are few and long.
const char* rows_match(const Inputs& in, const ScanAttrs& a) {
  const ScanShape s = shape_around("cumprod_grad", in[0].shape(), a.axis);
  return s.n > 4096 && s.outer * s.inner < 1024 ? "few long rows" : nullptr;
}
void cumprod_grad_run(KernelFrame& f, const ScanAttrs& a) {
  const Tensor& x = f.in[0];
  cumprod_grad(stream_of(f), x.dtype(), x.raw(), f.in[1].raw(), f.in[2].raw(), f.out[0].raw(),
               shape_around(f.name(), x.shape(), a.axis));
}
void logcumsumexp_grad_run(KernelFrame& f, const ScanAttrs& a) {
  const Tensor& x = f.in[0];
  logcumsumexp_grad(stream_of(f), x.dtype(), x.raw(), f.in[1].raw(), f.in[2].raw(), f.out[0].raw(),
                    shape_around(f.name(), x.shape(), a.axis), a.reverse);
}

[[maybe_unused]] const bool cumsum_added =
    add_kernel<ScanAttrs>("cumsum", cumsum_match, cumsum_run);
[[maybe_unused]] const bool cumprod_added =
    add_kernel<CumprodAttrs>("cumprod", cumprod_match, cumprod_run);
[[maybe_unused]] const bool logcumsumexp_added =
    add_kernel<ScanAttrs>("logcumsumexp", logcumsumexp_match, logcumsumexp_run);
[[maybe_unused]] const bool cummax_added = add_kernel<RunningAttrs>("cummax", extreme_run<true>);
[[maybe_unused]] const bool cummin_added = add_kernel<RunningAttrs>("cummin", extreme_run<false>);
[[maybe_unused]] const bool cumprod_grad_added =
    add_kernel<ScanAttrs>("cumprod_grad", rows_match, cumprod_grad_run);
[[maybe_unused]] const bool logcumsumexp_grad_added =
    add_kernel<ScanAttrs>("logcumsumexp_grad", logcumsumexp_grad_run);

}  // namespace
}  // namespace argosy::cuda
