#include "argosy/kernels/cuda/pool.h"

#include <vector>

#include "argosy/cuda/call.h"
#include "argosy/cuda/channels_last.h"
#include "argosy/ops/conv/conv.h"

namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::AdaptivePoolAttrs;
using ops::AvgPoolAttrs;
using ops::LpPoolAttrs;
using ops::PoolAttrs;

template <class A>
PoolAttrs windows(const A& a) {
  return {a.kernel, a.stride, a.padding, a.pad_alg, a.ceil_mode, a.cl};
}
PoolAttrs adaptive(bool channels_last) {
  PoolAttrs a;
  a.cl = channels_last;
  return a;
}
PoolDivisor divisor(const AvgPoolAttrs& a) {
  return {a.exclusive, static_cast<int64_t>(a.divisor_override)};
}

PoolShape shape_of(const KernelFrame& f, const Tensor& x, const Tensor& y, const PoolAttrs& a) {
  const cpu::PoolShape given = ops::pool_kernel_shape(f.name(), x.shape(), y.shape(), a);
  PoolShape s;
  s.adaptive = given.adaptive;
  s.parts = given.channels_last ? given.batch : given.batch * given.channels;
  s.lanes = given.channels_last ? given.channels : 1;
  int64_t plane = 1;
  for (int d = 0; d < given.dims; ++d) {
    const int at = 3 - given.dims + d;
    s.in[at] = given.in[d];
    s.out[at] = given.out[d];
    s.kernel[at] = given.kernel[d];
    s.stride[at] = given.stride[d];
    s.pad[at] = given.pad[d];
    plane *= given.in[d];
  }
  ARGOSY_CHECK(plane <= INT32_MAX, invalid_argument)
      << '[' << f.name() << "] a plane of " << plane
      << " elements is more than its int32 indices can name (2147483647). Do this: cut it.";
  return s;
}

// Images whose channels lie last are pooled as they lie, into such.
void take_last(PoolShape& s, const Tensor& x) {
  s.parts = x.dim(0);
  s.lanes = x.dim(1);
}

// --- max ---

void run_max(KernelFrame& f, const PoolAttrs& a) {
  Tensor &y = f.out[0], &indices = f.out[1];
  if (y.numel() == 0) return;
  PoolShape s = shape_of(f, f.in[0], y, a);
  const bool last = !a.cl && lies_last(f.in[0]) && may_lie_last(y) && may_lie_last(indices);
  const Tensor x = last ? f.in[0] : op::contiguous(f.in[0]);
  if (last) take_last(s, x);
  max_pool(stream_of(f), x.dtype(), s, x.raw(), y.raw(), indices.data<int32_t>());
  if (!last) return;
  lay_last(y);
  lay_last(indices);
}
void run_adaptive_max(KernelFrame& f, const AdaptivePoolAttrs& a) {
  run_max(f, adaptive(a.cl));
}

// Are all indices in their windows? Those of the fractional form, which has no kernel sizes either,
// are not in the windows of the adaptive one, and those of a window of nothing but padding lie
// somewhere else.
bool in_windows(const PoolShape& s) {
  bool all = !s.adaptive;
  for (int d = 0; d < 3; ++d)
    all = all && s.kernel[d] > s.pad[d] && (s.out[d] - 1) * s.stride[d] - s.pad[d] < s.in[d];
  return all;
}
// dy at the indices: those outside of the plane are left out.
void max_backward(cudaStream_t stream, DType dtype, const PoolShape& s, const Tensor& dy,
                  const int32_t* indices, const Tensor& dx) {
  const auto backward = in_windows(s) ? max_pool_gather : max_pool_scatter;
  backward(stream, dtype, s, dy.raw(), indices, dx.raw());
}
void run_max_grad(KernelFrame& f, const PoolAttrs& a) {
  Tensor& dx = f.out[0];
  if (dx.numel() == 0) return;
  PoolShape s = shape_of(f, dx, f.in[0], a);
  const bool last = !a.cl && lies_last(f.in[1]) && may_lie_last(dx);
  const Tensor dy = last ? lying_last(f.in[0]) : op::contiguous(f.in[0]);
  const Tensor indices = last ? f.in[1] : op::contiguous(f.in[1]);
  if (last) take_last(s, dx);
  max_backward(stream_of(f), dx.dtype(), s, dy, indices.data<int32_t>(), dx);
  if (last) lay_last(dx);
}

void run_max_indices(KernelFrame& f, const PoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.in[1];
  if (y.numel() == 0) return;
  max_pool(stream_of(f), x.dtype(), shape_of(f, x, y, a), x.raw(), nullptr,
           f.out[0].data<int32_t>());
}

void run_fractional(KernelFrame& f, const ops::FractionalAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const double u = a.u.real();
  ARGOSY_CHECK(u >= 0 && u <= 1, invalid_argument)
      << '[' << f.name() << "] u must be in (0, 1), got " << u << ". Do this: correct it.";
  const PoolShape s = shape_of(f, x, y, adaptive(false));
  std::vector<ops::PoolRange> ranges;
  const int dims = static_cast<int>(a.output_size.size());
  for (int d = 0; d < 3; ++d) {
    const int given = d - (3 - dims);
    const std::vector<ops::PoolRange> more =
        given < 0 ? std::vector<ops::PoolRange>{{0, 1}}
                  : ops::fractional_ranges(s.in[d], s.out[d], a.kernel[static_cast<size_t>(given)],
                                           static_cast<float>(u));
    ranges.insert(ranges.end(), more.begin(), more.end());
  }
  const cudaStream_t stream = stream_of(f);
  const Scratch there(stream, ranges.size() * sizeof ranges[0]);
  // From pageable memory, so it is read when the call returns.
  ARGOSY_CUDA(
      cudaMemcpyAsync(there.data(), ranges.data(), there.bytes(), cudaMemcpyHostToDevice, stream));
  ranges_pool(stream, x.dtype(), s, there.data<int64_t>(), x.raw(), y.raw(),
              f.out[1].data<int32_t>());
}

// --- average ---

void run_avg_like(KernelFrame& f, const AvgPoolAttrs& a) {
  Tensor& y = f.out[0];
  if (y.numel() == 0) return;
  PoolShape s = shape_of(f, f.in[0], y, a.kernel.empty() ? adaptive(a.cl) : windows(a));
  // Images of one element lie both ways.
  const bool one = s.out[0] * s.out[1] * s.out[2] == 1;
  const bool last = !a.cl && lies_last(f.in[0]) && (one || may_lie_last(y));
  const Tensor x = last ? f.in[0] : op::contiguous(f.in[0]);
  if (last) take_last(s, x);
  avg_pool(stream_of(f), x.dtype(), s, divisor(a), x.raw(), y.raw());
  if (last && !one) lay_last(y);
}
void run_adaptive_avg(KernelFrame& f, const AdaptivePoolAttrs& a) {
  AvgPoolAttrs avg;
  avg.cl = a.cl;
  run_avg_like(f, avg);
}
void run_avg_grad(KernelFrame& f, const AvgPoolAttrs& a) {
  Tensor& dx = f.out[0];
  if (dx.numel() == 0) return;
  PoolShape s = shape_of(f, dx, f.in[0], a.kernel.empty() ? adaptive(a.cl) : windows(a));
  const bool last = !a.cl && lies_last(f.in[0]) && may_lie_last(dx);
  const Tensor dy = last ? f.in[0] : op::contiguous(f.in[0]);
  if (last) take_last(s, dx);
  avg_pool_backward(stream_of(f), dx.dtype(), s, divisor(a), dy.raw(), dx.raw());
  if (last) lay_last(dx);
}

// --- powers ---

constexpr double kInfinite = 1e30;  // norms from here on are the maximum

void run_lp(KernelFrame& f, const LpPoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const PoolShape s = shape_of(f, x, y, windows(a));
  if (a.norm_type > kInfinite)
    max_pool(stream_of(f), x.dtype(), s, x.raw(), y.raw(), nullptr);
  else
    lp_pool(stream_of(f), x.dtype(), s, a.norm_type, x.raw(), y.raw());
}
void run_lp_grad(KernelFrame& f, const LpPoolAttrs& a) {
  const Tensor &x = f.in[0], &y = f.in[1], &dy = f.in[2], &dx = f.out[0];
  if (x.numel() == 0) return;
  const cudaStream_t stream = stream_of(f);
  const PoolShape s = shape_of(f, x, y, windows(a));
  if (a.norm_type <= kInfinite)
    return lp_pool_backward(stream, x.dtype(), s, a.norm_type, x.raw(), y.raw(), dy.raw(),
                            dx.raw());
  const Scratch indices(stream, static_cast<size_t>(y.numel()) * sizeof(int32_t));
  max_pool(stream, x.dtype(), s, x.raw(), nullptr, indices.data<int32_t>());
  max_backward(stream, x.dtype(), s, dy, indices.data<int32_t>(), dx);
}

// --- unpool ---

void run_unpool(KernelFrame& f, const ops::UnpoolAttrs&) {
  const Tensor &x = f.in[0], &index = f.in[1], &out = f.out[0];
  const cudaStream_t stream = stream_of(f);
  if (out.numel())
    ARGOSY_CUDA(cudaMemsetAsync(out.raw(), 0, static_cast<size_t>(out.nbytes()), stream));
  if (x.numel() == 0) return;
  const int64_t planes = x.dim(0) * x.dim(1), room = out.numel() / planes;
  unpool(stream, x.dtype(), index.dtype(), planes, x.numel() / planes, room, x.raw(), index.raw(),
         out.raw(), watch_of(f, Named::place));
}

constexpr bool kStrided = true;  // inputs of any strides

#define ARGOSY_POOLS(dims)                                                                    \
  add_kernel<PoolAttrs>("max_pool" dims, run_max, kStrided),                                  \
      add_kernel<PoolAttrs>("max_pool" dims "_with_index", run_max, kStrided),                \
      add_kernel<AdaptivePoolAttrs>("adaptive_max_pool" dims, run_adaptive_max, kStrided),    \
      add_kernel<AdaptivePoolAttrs>("adaptive_max_pool" dims "_with_index", run_adaptive_max, \
                                    kStrided),                                                \
      add_kernel<AvgPoolAttrs>("avg_pool" dims, run_avg_like, kStrided),                      \
      add_kernel<AdaptivePoolAttrs>("adaptive_avg_pool" dims, run_adaptive_avg, kStrided),    \
      add_kernel<ops::UnpoolAttrs>("max_unpool" dims, run_unpool)

[[maybe_unused]] const bool added[] = {
    ARGOSY_POOLS("1d"),
    ARGOSY_POOLS("2d"),
    ARGOSY_POOLS("3d"),
    add_kernel<PoolAttrs>("max_pool_grad", run_max_grad, kStrided),
    add_kernel<PoolAttrs>("max_indices", run_max_indices),
    add_kernel<ops::FractionalAttrs>("fractional_max_pool2d", run_fractional),
    add_kernel<ops::FractionalAttrs>("fractional_max_pool3d", run_fractional),
    add_kernel<AvgPoolAttrs>("avg_pool_like", run_avg_like, kStrided),
    add_kernel<AvgPoolAttrs>("avg_pool_grad", run_avg_grad, kStrided),
    add_kernel<LpPoolAttrs>("lp_pool1d", run_lp),
    add_kernel<LpPoolAttrs>("lp_pool2d", run_lp),
    add_kernel<LpPoolAttrs>("lp_pool_grad", run_lp_grad),
};
#undef ARGOSY_POOLS

}  // namespace
}  // namespace argosy::cuda
