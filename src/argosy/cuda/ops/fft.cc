#include "argosy/ops/fft/fft.h"

#include <algorithm>

#include "argosy/cuda/call.h"
#include "argosy/kernels/cuda/copy.h"
#include "argosy/kernels/cuda/fft.h"

// Transforms over any axes: neighbouring ones are one of cuFFT's.
namespace argosy::cuda {
namespace {

using op::KernelFrame;
using ops::FftAttrs;

const char* match(const op::Inputs&, const FftAttrs&) {
  return fft_problem();
}

// Neighbouring axes, seen as [outer, points, inner].
struct Run {
  int rank = 0;
  int64_t n[kMostTransformed] = {};
  int64_t outer = 1, points = 1, inner = 1;
};

// Up to this many numbers of `outer` are a call each, instead of two copies.
constexpr int64_t kMostCalls = 4;

// Of those axes that have more than one point, each as often as it is named.
std::vector<Run> runs_of(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<int> sorted;
  for (int64_t axis : axes) {
    const int at = normalize_axis("fft", axis, shape.rank());
    if (shape[at] != 1) sorted.push_back(at);
  }
  std::sort(sorted.begin(), sorted.end());
  std::vector<Run> runs;
  for (size_t i = 0; i < sorted.size();) {
    const int first = sorted[i];
    Run run;
    int end = first;  // after the last
    while (i < sorted.size() && sorted[i] == end && run.rank < kMostTransformed) {
      run.n[run.rank++] = shape[end];
      run.points *= shape[end++];
      ++i;
    }
    for (int d = 0; d < first; ++d) run.outer *= shape[d];
    for (int d = end; d < shape.rank(); ++d) run.inner *= shape[d];
    runs.push_back(run);
  }
  return runs;
}

// [outer, points, inner] as [outer, inner, points]: as it lies, or packed in that order.
View turned(const Run& run, DType dtype, void* data, bool packed) {
  View v;
  v.data = data;
  v.dtype = dtype;
  v.rank = 3;
  const int64_t shape[] = {run.outer, run.inner, run.points};
  const int64_t lying[] = {run.points * run.inner, 1, run.inner};
  const int64_t in_order[] = {run.points * run.inner, run.points, 1};
  std::copy_n(shape, 3, v.shape);
  std::copy_n(packed ? in_order : lying, 3, v.strides);
  return v;
}

void transform(cudaStream_t stream, const Run& run, DType dtype, bool forward, void* x, void* y) {
  Transform t;
  t.dtype = dtype;
  t.rank = run.rank;
  std::copy_n(run.n, run.rank, t.n);
  t.forward = forward;
  if (run.inner == 1) {
    t.batch = run.outer;
    t.distance = run.points;
    return fft(stream, t, x, y);
  }
  if (run.outer <= kMostCalls) {
    t.batch = run.inner;
    t.stride = run.inner;
    t.distance = 1;
    const int64_t bytes = run.points * run.inner * item_size(dtype);
    for (int64_t i = 0; i < run.outer; ++i)
      fft(stream, t, static_cast<char*>(x) + i * bytes, static_cast<char*>(y) + i * bytes);
    return;
  }
  t.batch = run.outer * run.inner;
  t.distance = run.points;
  const Scratch room(stream, static_cast<size_t>(t.batch * run.points * item_size(dtype)));
  copy(stream, turned(run, dtype, room.data(), true), turned(run, dtype, x, false));
  fft(stream, t, room.data(), room.data());
  copy(stream, turned(run, dtype, y, false), turned(run, dtype, room.data(), true));
}

void run_fft(KernelFrame& f, const FftAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  cudaStream_t stream = stream_of(f);
  void* from = x.raw();
  for (const Run& run : runs_of(y.shape(), a.axes)) {
    transform(stream, run, y.dtype(), a.forward, from, y.raw());
    from = y.raw();
  }
  if (from != y.raw()) copy(stream, view_of(y), view_of(x));
  if (a.scale != 1 && !a.axes.empty())
    scale_complex(stream, y.dtype(), y.raw(), y.numel(), a.scale);
}

[[maybe_unused]] const bool fft_added = add_kernel<FftAttrs>("fft_c2c", match, run_fft);

}  // namespace
}  // namespace argosy::cuda
