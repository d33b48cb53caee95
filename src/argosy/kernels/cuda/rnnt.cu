#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/rnnt.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ double log_add(double a, double b) {
  if (a < b) {
    const double c = a;
    a = b;
    b = c;
  }
  return b == -INFINITY ? a : a + log1p(exp(b - a));
}

template <class T>
struct Call {
  Rnnt a;
  const T* x;
  const int64_t *labels, *times, *lengths;
  double *alpha, *beta;  // [batch, times, longest + 1]
  T* loss;
  Computed<T>* gradient;
};

// A block for each sequence. Cells (t, u), with u labels emitted before step t, of one t + u know
// nothing of each other, so a thread has each.
template <class T>
__global__ void __launch_bounds__(kThreads) sequences(Call<T> c) {
  const Rnnt& a = c.a;
  const int64_t b = blockIdx.x, times = c.times[b], length = c.lengths[b], n = length + 1;
  const int64_t width = a.longest + 1;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t* labels = c.labels + b * a.longest;
  const T* x = c.x + b * a.times * width * a.classes;
  double *alpha = c.alpha + b * a.times * width, *beta = c.beta + b * a.times * width;
  constexpr double kNever = -INFINITY;

  bool wrong = times < 0 || times > a.times || length < 0 || length > a.longest;
  if (!wrong) {
    for (int64_t i = thread; i < length; i += kThreads)
      wrong = wrong || labels[i] < 0 || labels[i] >= a.classes;
  }
  wrong = __syncthreads_or(wrong);
  if (wrong || times == 0) {
    const double loss = wrong ? NAN : INFINITY;
    if (thread == 0) c.loss[b] = store<T>(static_cast<Computed<T>>(loss));
    return;
  }
  const auto at = [&](int64_t t, int64_t u, int64_t k) {
    return static_cast<double>(load(x[(t * width + u) * a.classes + k]));
  };
  const auto blank = [&](int64_t t, int64_t u) { return at(t, u, a.blank); };
  const auto emit = [&](int64_t t, int64_t u) { return at(t, u, labels[u]); };

  const int64_t last = times + n - 2;  // t + u of the last cell
  for (int64_t d = 0; d <= last; ++d) {
    for (int64_t u = thread; u < n && u <= d; u += kThreads) {
      const int64_t t = d - u;
      if (t >= times) continue;
      double v = d == 0 ? 0 : kNever;
      if (t > 0) v = log_add(v, alpha[(t - 1) * width + u] + blank(t - 1, u));
      if (u > 0) v = log_add(v, alpha[t * width + u - 1] + emit(t, u - 1));
      alpha[t * width + u] = v;
    }
    __syncthreads();
  }
  for (int64_t d = last; d >= 0; --d) {
    for (int64_t u = thread; u < n && u <= d; u += kThreads) {
      const int64_t t = d - u;
      if (t >= times) continue;
      double v = d == last ? blank(t, u) : kNever;
      if (t + 1 < times) v = log_add(v, beta[(t + 1) * width + u] + blank(t, u));
      if (u + 1 < n) v = log_add(v, beta[t * width + u + 1] + emit(t, u));
      beta[t * width + u] = v;
    }
    __syncthreads();
  }
  const double total = beta[0];
  if (thread == 0) c.loss[b] = store<T>(static_cast<Computed<T>>(-total));
  for (int64_t i = thread; i < times * n; i += kThreads) {
    const int64_t t = i / n, u = i % n;
    Computed<T>* row = c.gradient + ((b * a.times + t) * width + u) * a.classes;
    const double here = alpha[t * width + u] - total;
    double emitted = 0, passed = 0;
    if (u + 1 < n) emitted = exp(here + emit(t, u) + beta[t * width + u + 1]);
    if (t + 1 < times)
      passed = exp(here + blank(t, u) + beta[(t + 1) * width + u]);
    else if (u == n - 1)
      passed = exp(here + blank(t, u));
    row[a.blank] -= static_cast<Computed<T>>(passed);
    if (u + 1 < n) row[labels[u]] -= static_cast<Computed<T>>((1 + a.emit_more) * emitted);
  }
}

}  // namespace

void rnnt(cudaStream_t stream, const Rnnt& a, const void* x, const int64_t* labels,
          const int64_t* times, const int64_t* lengths, void* loss, void* gradient) {
  if (a.batch == 0) return;
  with_floating("rnnt_loss", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const int64_t cells = a.batch * a.times * (a.longest + 1);
    const Scratch room(stream, static_cast<size_t>(2 * cells) * sizeof(double) + 16);
    if (cells * a.classes > 0)
      ARGOSY_CUDA(
          cudaMemsetAsync(gradient, 0, static_cast<size_t>(cells * a.classes) * sizeof(C), stream));
    const Call<T> call{a,
                       static_cast<const T*>(x),
                       labels,
                       times,
                       lengths,
                       room.data<double>(),
                       room.data<double>() + cells,
                       static_cast<T*>(loss),
                       static_cast<C*>(gradient)};
    sequences<T><<<static_cast<unsigned>(a.batch), kThreads, 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
