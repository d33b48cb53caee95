#include <algorithm>
#include <cmath>

#include "argosy/cuda/call.h"
#include "argosy/cuda/ops/move_operands.h"
#include "argosy/kernels/cuda/count.h"
#include "argosy/op/copy.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/loss/loss.h"

// Counts, vector products, and what looks at elements before it goes on.
namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::BincountAttrs;
using ops::CrossAttrs;
using ops::HistogramAttrs;
using ops::LogLossAttrs;

// Waits for what was enqueued.
void read_back(cudaStream_t stream, void* to, const void* from, size_t bytes) {
  device::HostWait wait;
  ARGOSY_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream));
  ARGOSY_CUDA(cudaStreamSynchronize(stream));
}

struct Bounds {
  double low = 0, high = 0;
};

// Of the elements of x, of which there is one at least.
Bounds bounds_of(cudaStream_t stream, const Tensor& x) {
  const Scratch room(stream, 2 * sizeof(double));
  find_bounds(stream, x.dtype(), x.raw(), x.numel(), room.data<double>());
  Bounds b;
  read_back(stream, &b, room.data(), sizeof(b));
  return b;
}

// The range asked for; that of the data if both ends are equal, widened by 1 if that is a point.
Bounds range_of(cudaStream_t stream, const Tensor& x, const HistogramAttrs& a) {
  Bounds b{a.min, a.max};
  if (b.low == b.high && x.numel() > 0) b = bounds_of(stream, x);
  ARGOSY_CHECK(std::isfinite(b.low) && std::isfinite(b.high), invalid_argument)
      << "[histogram] the range of input must be finite, got " << b.low << " to " << b.high
      << ". Do this: give min and max.";
  if (b.low == b.high) {
    b.low -= 1;
    b.high += 1;
  }
  return b;
}

void histogram_run(KernelFrame& f, const HistogramAttrs& a) {
  const Tensor &x = f.in[0], &w = f.in[1], &out = f.out[0];
  cudaStream_t stream = stream_of(f);
  const Bounds b = range_of(stream, x, a);
  histogram(stream, x.dtype(), x.raw(), w.defined() ? w.dtype() : DType::float64,
            w.defined() ? w.raw() : nullptr, x.numel(), b.low, b.high, a.bins, a.density, out.raw(),
            out.dtype());
}

void edges_run(KernelFrame& f, const HistogramAttrs& a) {
  cudaStream_t stream = stream_of(f);
  const Bounds b = range_of(stream, f.in[0], a);
  bin_edges(stream, b.low, b.high, a.bins, f.out[0].data<float>());
}

[[noreturn]] void refuse_negative(const Tensor& x) {
  const Tensor values = op::to_host(as_form(x, x.shape(), DType::int64));
  const int64_t* first = values.data<int64_t>();
  const int64_t at =
      std::find_if(first, first + values.numel(), [](int64_t v) { return v < 0; }) - first;
  ARGOSY_THROW(invalid_argument) << "[bincount] elements must not be negative, got " << first[at]
                                 << " at " << at << ". Do this: subtract the smallest first.";
}

void bincount_run(KernelFrame& f, const BincountAttrs& a) {
  const Tensor &x = f.in[0], &w = f.in[1];
  cudaStream_t stream = stream_of(f);
  int64_t size = a.minlength;
  if (x.numel()) {
    const Bounds b = bounds_of(stream, x);
    if (b.low < 0) refuse_negative(x);
    size = std::max(size, static_cast<int64_t>(b.high) + 1);
  }
  const Tensor& out = f.allocate(0, {size});
  bincount(stream, x.dtype(), x.raw(), w.defined() ? w.dtype() : DType::float64,
           w.defined() ? w.raw() : nullptr, x.numel(), size, out.raw(), out.dtype());
}

void cross_run(KernelFrame& f, const CrossAttrs& a) {
  const Tensor &x = f.in[0], &z = f.out[0];
  const auto axis = static_cast<int>(ops::cross_axis(x.shape(), f.in[1].shape(), a.axis));
  int64_t step = 1;
  for (int d = axis + 1; d < z.rank(); ++d) step *= z.dim(d);
  cross(stream_of(f), z.dtype(), x.raw(), f.in[1].raw(), z.raw(), z.numel() / 3, step);
}

// Negative elements are an error of this call: it waits.
void floored_run(KernelFrame& f, const LogLossAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  cudaStream_t stream = stream_of(f);
  const Scratch room(stream, sizeof(double));
  floor_variance(stream, y.dtype(), x.raw(), y.raw(), y.numel(), a.epsilon, room.data<double>());
  double least = 0;
  read_back(stream, &least, room.data(), sizeof(least));
  ARGOSY_CHECK(least >= 0, invalid_argument)
      << "[gaussian_nll_loss] variance has negative entry/entries, e.g. " << least
      << ". Do this: make it positive, with exp or softplus.";
}

[[maybe_unused]] const bool histogram_added =
    add_kernel<HistogramAttrs>("histogram", histogram_run);
[[maybe_unused]] const bool edges_added =
    add_kernel<HistogramAttrs>("histogram_bin_edges", edges_run);
[[maybe_unused]] const bool bincount_added = add_kernel<BincountAttrs>("bincount", bincount_run);
[[maybe_unused]] const bool cross_added = add_kernel<CrossAttrs>("cross", cross_run);
[[maybe_unused]] const bool floored_added =
    add_kernel<LogLossAttrs>("floored_variance", floored_run);

}  // namespace
}  // namespace argosy::cuda
