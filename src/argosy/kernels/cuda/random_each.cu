#include "argosy/kernels/cuda/philox.cuh"

// Distributions of which each element takes as many numbers as it needs. Computed in float64.
namespace argosy::cuda::random {
namespace {

constexpr int kThreads = 256;

// f(draws, i) for each element.
template <class F>
__global__ void for_each(int64_t n, Philox philox, uint64_t first, F f) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
    Draws draws(philox, first + static_cast<uint64_t>(i));
    f(draws, i);
  }
}
template <class F>
void run_each(cudaStream_t stream, Places at, int64_t n, F f) {
  for_each<F><<<grid(n, kThreads), kThreads, 0, stream>>>(n, Philox(at.seed), at.first, f);
  ARGOSY_CUDA_LAUNCHED();
}

// Below 10 how many factors u it takes to get below e^-mean; else transformed rejection (Hoermann
// 1993, algorithm PTRS). Means so large that counting ends: by the normal distribution.
__device__ double draw_poisson(Draws& draws, double mean) {
  if (!(mean > 0)) return 0;
  if (mean < 10) {
    const double least = exp(-mean);
    double product = 1 - draws.uniform(), count = 0;
    while (product > least) {
      product *= 1 - draws.uniform();
      ++count;
    }
    return count;
  }
  if (mean > 2e9) return floor(mean + sqrt(mean) * draws.normal() + 0.5);
  const double root = sqrt(mean), log_mean = log(mean);
  const double b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b;
  const double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), inside = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = draws.uniform() - 0.5, v = 1 - draws.uniform(), us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + mean + 0.43);
    if (us >= 0.07 && v <= inside) return k;
    if (!(k >= 0) || (us < 0.013 && v > us)) continue;
    if (log(v * inverse_alpha / (a / (us * us) + b)) <= k * log_mean - mean - lgamma(k + 1))
      return k;
  }
}

// With x normal, d (1 + c x)^3 is nearly Gamma(shape); the rest is rejected (Marsaglia and Tsang
// 2000). A shape below 1 goes through shape + 1.
__device__ double draw_gamma(Draws& draws, double shape) {
  if (!(shape > 0)) return 0;
  double scale = 1;
  if (shape < 1) {
    scale = pow(1 - draws.uniform(), 1 / shape);
    shape += 1;
  }
  const double d = shape - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    const double x = draws.normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = 1 - draws.uniform(), square = x * x;
    if (u < 1 - 0.0331 * square * square || log(u) < 0.5 * square + d * (1 - v + log(v)) ||
        isinf(d))
      return scale * d * v;
  }
}

// What Stirling's formula for log(k!) lacks.
__device__ double stirling_rest(double k) {
  const double next = k + 1, square = next * next;
  if (k > 9) return (1.0 / 12 - (1.0 / 360 - 1.0 / 1260 / square) / square) / next;
  return lgamma(next) - ((k + 0.5) * log(next) - next + 0.91893853320467274178);
}

// Of p <= 1/2: geometric waiting times (Devroye 1986) where trials * p < 10, else transformed
// rejection (Hoermann 1993, algorithm BTRS).
__device__ double draw_binomial(Draws& draws, double trials, double p) {
  if (trials * p < 10) {
    const double log_failure = log1p(-p);
    double sum = 0;
    for (double count = 0;; ++count) {
      sum += ceil(log(1 - draws.uniform()) / log_failure);
      if (!(sum <= trials)) return count;
    }
  }
  const double spread = sqrt(trials * p * (1 - p));
  const double b = 1.15 + 2.53 * spread, a = -0.0873 + 0.0248 * b + 0.01 * p;
  const double c = trials * p + 0.5, inside = 0.92 - 4.2 / b, odds = p / (1 - p);
  const double alpha = (2.83 + 5.1 / b) * spread, m = floor((trials + 1) * p);
  for (;;) {
    const double u = draws.uniform() - 0.5, v = 1 - draws.uniform(), us = 0.5 - fabs(u);
    const double k = floor((2 * a / us + b) * u + c);
    if (!(k >= 0 && k <= trials)) continue;
    if (us >= 0.07 && v <= inside) return k;
    const double bound = (m + 0.5) * log((m + 1) / (odds * (trials - m + 1))) +
                         (trials + 1) * log((trials - m + 1) / (trials - k + 1)) +
                         (k + 0.5) * log(odds * (trials - k + 1) / (k + 1)) + stirling_rest(m) +
                         stirling_rest(trials - m) - stirling_rest(k) - stirling_rest(trials - k);
    if (log(v * alpha / (a / (us * us) + b)) <= bound) return k;
  }
}

template <class T>
struct Poisson {
  const T* x;
  T* out;
  __device__ void operator()(Draws& draws, int64_t i) const {
    out[i] = store<T>(static_cast<Computed<T>>(draw_poisson(draws, load(x[i]))));
  }
};
template <class T>
struct Gamma {
  const T* x;
  T* out;
  __device__ void operator()(Draws& draws, int64_t i) const {
    out[i] = store<T>(static_cast<Computed<T>>(draw_gamma(draws, load(x[i]))));
  }
};
template <class T>
struct Binomial {
  const int64_t* trials;
  const T* p;
  int64_t* out;
  __device__ void operator()(Draws& draws, int64_t i) const {
    const int64_t count = trials[i];
    const double chance = p[i];
    int64_t hits = 0;
    if (count > 0 && chance >= 1) {
      hits = count;
    } else if (count > 0 && chance > 0) {
      const bool few = chance <= 0.5;
      const double n = static_cast<double>(count);
      const auto drawn = static_cast<int64_t>(draw_binomial(draws, n, few ? chance : 1 - chance));
      hits = few ? drawn : count - drawn;
    }
    out[i] = hits;
  }
};

}  // namespace

void poisson(cudaStream_t stream, Places at, const void* x, void* out, DType dtype, int64_t n) {
  if (n == 0) return;
  with_floating("poisson", dtype, [&]<class T>(Type<T>) {
    run_each(stream, at, n, Poisson<T>{static_cast<const T*>(x), static_cast<T*>(out)});
  });
}

void gamma(cudaStream_t stream, Places at, const void* x, void* out, DType dtype, int64_t n) {
  if (n == 0) return;
  with_floating("standard_gamma", dtype, [&]<class T>(Type<T>) {
    run_each(stream, at, n, Gamma<T>{static_cast<const T*>(x), static_cast<T*>(out)});
  });
}

void binomial(cudaStream_t stream, Places at, const int64_t* trials, const void* p, DType p_dtype,
              int64_t* out, int64_t n) {
  if (n == 0) return;
  if (p_dtype == DType::float32)
    run_each(stream, at, n, Binomial<float>{trials, static_cast<const float*>(p), out});
  else if (p_dtype == DType::float64)
    run_each(stream, at, n, Binomial<double>{trials, static_cast<const double*>(p), out});
  else
    fail_dtype("binomial", p_dtype);
}

}  // namespace argosy::cuda::random
