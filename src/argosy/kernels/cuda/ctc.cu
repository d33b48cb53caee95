#include "argosy/kernels/cuda/ctc.h"
#include "argosy/kernels/cuda/rows.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

__device__ __forceinline__ double log_add(double a, double b) {
  if (a < b) {
    const double c = a;
    a = b;
    b = c;
  }
  return b == minus_infinity<double>() ? a : a + log1p(exp(b - a));
}

// log_sums[r] = log(sum(exp(x))) of row r
template <class T>
__global__ void __launch_bounds__(team_bound(true, 0))
    log_sums_of(const T* x, int64_t rows, int64_t n, double* log_sums) {
  using Row = Team<true>;
  for (int64_t r = Row::first(); r < rows; r += Row::step()) {
    ExpSum<double> s;
    for (int64_t k = Row::rank(); k < n; k += kWarp) {
      const double v[1] = {static_cast<double>(load(x[r * n + k]))};
      s.add(v);
    }
    s.combine<Row>();
    if (Row::rank() == 0) log_sums[r] = s.high + log(s.sum);
  }
}

template <class T>
struct Call {
  Ctc a;
  const T* x;
  const int64_t *labels, *times, *lengths;
  const double* log_sums;
  double *alpha, *beta;  // [batch, times, 2 longest + 1]
  T* loss;
  Computed<T>* gradient;
};

// A block for each sequence. The path is its labels with blanks between and around.
template <class T>
__global__ void __launch_bounds__(kThreads) sequences(Call<T> c) {
  const Ctc& a = c.a;
  const int64_t b = blockIdx.x, times = c.times[b], length = c.lengths[b], n = 2 * length + 1;
  const int64_t width = 2 * a.longest + 1;
  const int thread = static_cast<int>(threadIdx.x);
  const int64_t* labels = c.labels + b * a.longest;
  double *alpha = c.alpha + b * a.times * width, *beta = c.beta + b * a.times * width;
  constexpr double kNever = -INFINITY;

  bool wrong = times < 0 || times > a.times || length < 0 || length > a.longest;
  if (!wrong) {
    for (int64_t i = thread; i < length; i += kThreads)
      wrong = wrong || labels[i] < 0 || labels[i] >= a.classes;
  }
  if (__syncthreads_or(wrong)) {
    if (thread == 0) c.loss[b] = store<T>(static_cast<Computed<T>>(NAN));
    return;
  }
  auto path = [&](int64_t s) { return s % 2 ? labels[s / 2] : a.blank; };
  auto at = [&](int64_t t, int64_t k) {
    const int64_t r = t * a.batch + b;
    return static_cast<double>(load(c.x[r * a.classes + k])) - c.log_sums[r];
  };
  auto skips = [&](int64_t s) { return s >= 2 && s % 2 && path(s) != path(s - 2); };

  double total = n == 1 ? 0 : kNever;
  if (times > 0) {
    for (int64_t s = thread; s < n; s += kThreads) alpha[s] = s < 2 ? at(0, path(s)) : kNever;
    __syncthreads();
    for (int64_t t = 1; t < times; ++t) {
      const double* before = alpha + (t - 1) * width;
      for (int64_t s = thread; s < n; s += kThreads) {
        double v = before[s];
        if (s >= 1) v = log_add(v, before[s - 1]);
        if (skips(s)) v = log_add(v, before[s - 2]);
        alpha[t * width + s] = v + at(t, path(s));
      }
      __syncthreads();
    }
    // beta leaves out the step's own probability.
    for (int64_t s = thread; s < n; s += kThreads)
      beta[(times - 1) * width + s] = s >= n - 2 ? 0 : kNever;
    __syncthreads();
    for (int64_t t = times - 2; t >= 0; --t) {
      const double* next = beta + (t + 1) * width;
      for (int64_t s = thread; s < n; s += kThreads) {
        double v = next[s] + at(t + 1, path(s));
        if (s + 1 < n) v = log_add(v, next[s + 1] + at(t + 1, path(s + 1)));
        if (s + 2 < n && skips(s + 2)) v = log_add(v, next[s + 2] + at(t + 1, path(s + 2)));
        beta[t * width + s] = v;
      }
      __syncthreads();
    }
    const double* last = alpha + (times - 1) * width;
    total = last[n - 1];
    if (n > 1) total = log_add(total, last[n - 2]);
  }
  if (thread == 0) {
    const double loss = a.zero_infinity && isinf(total) ? 0 : -total;
    c.loss[b] = store<T>(static_cast<Computed<T>>(loss));
  }
  if (total == kNever || times == 0) return;
  const double per = a.norm_by_times ? 1 / static_cast<double>(times) : 1;
  for (int64_t i = thread; i < times * a.classes; i += kThreads) {
    const int64_t t = i / a.classes, k = i % a.classes;
    c.gradient[(t * a.batch + b) * a.classes + k] = static_cast<Computed<T>>(exp(at(t, k)) * per);
  }
  __syncthreads();
  // One thread has all of a step, so that labels which come again are added in order.
  for (int64_t t = thread; t < times; t += kThreads) {
    Computed<T>* row = c.gradient + (t * a.batch + b) * a.classes;
    double of_blank = 0;
    for (int64_t s = 0; s < n; ++s) {
      const double share = exp(alpha[t * width + s] + beta[t * width + s] - total) * per;
      if (s % 2)
        row[labels[s / 2]] -= static_cast<Computed<T>>(share);
      else
        of_blank += share;
    }
    row[a.blank] -= static_cast<Computed<T>>(of_blank);
  }
}

}  // namespace

void ctc(cudaStream_t stream, const Ctc& a, const void* x, const int64_t* labels,
         const int64_t* times, const int64_t* lengths, void* loss, void* gradient) {
  if (a.batch == 0) return;
  with_floating("ctc_loss", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const int64_t rows = a.times * a.batch, cells = rows * (2 * a.longest + 1);
    const Scratch room(stream, static_cast<size_t>(rows + 2 * cells) * sizeof(double) + 16);
    auto* log_sums = room.data<double>();
    if (rows * a.classes > 0) {
      ARGOSY_CUDA(
          cudaMemsetAsync(gradient, 0, static_cast<size_t>(rows * a.classes) * sizeof(C), stream));
      log_sums_of<T><<<team_blocks(rows, true), team_bound(true, 0), 0, stream>>>(
          static_cast<const T*>(x), rows, a.classes, log_sums);
      ARGOSY_CUDA_LAUNCHED();
    }
    const Call<T> call{a,
                       static_cast<const T*>(x),
                       labels,
                       times,
                       lengths,
                       log_sums,
                       log_sums + rows,
                       log_sums + rows + cells,
                       static_cast<T*>(loss),
                       static_cast<C*>(gradient)};
    sequences<T><<<static_cast<unsigned>(a.batch), kThreads, 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
