#include "argosy/kernels/cuda/channel_norm.h"
#include "argosy/kernels/cuda/channels.cuh"
#include "argosy/kernels/cuda/each.cuh"

namespace argosy::cuda {
namespace {

constexpr int kWarps = 4;

Units units_of(const Image& a) {
  if (a.last || a.inner == 1)
    return {true, a.channels, 1, a.n * a.inner, a.n * a.inner * a.channels};
  return {false, a.channels, a.n, a.inner, a.channels * a.inner};
}

// running = keep * running + (1 - keep) * now
template <class C>
__device__ __forceinline__ void mix(void* p, DType dtype, int64_t i, C keep, C now) {
  auto into = [&]<class T>(T* to) {
    const C old = static_cast<C>(load(to[i]));
    to[i] = store<T>(static_cast<Computed<T>>(keep * old + (1 - keep) * now));
  };
  if (dtype == DType::float32)
    into(static_cast<float*>(p));
  else if (dtype == DType::float64)
    into(static_cast<double*>(p));
  else if (dtype == DType::float16)
    into(static_cast<half_t*>(p));
  else
    into(static_cast<bf16_t*>(p));
}

// What is made of x, in `numbers` (null: nothing is).
template <class C>
struct Affine {
  const C *gamma, *beta;  // may be null
  C epsilon;
  Numbers<C>* numbers;

  __device__ __forceinline__ void put(int64_t c, C mean, C variance) const {
    const C rstd = 1 / sqrt(variance + epsilon);
    numbers[c] = {mean, gamma ? gamma[c] * rstd : rstd, beta ? beta[c] : C(0), C(0)};
  }
};

template <class C>
__global__ void finish_statistics(const Moments<C>* parts, int64_t run, int64_t channels, C* mean,
                                  C* variance, Running running, Affine<C> affine) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (c >= channels) return;
  const Moments<C> m = merged(parts, run, c);
  if (threadIdx.x % kWarp != 0) return;
  const C var = m.squares / m.count;
  mean[c] = m.mean;
  variance[c] = var;
  const C keep = static_cast<C>(running.momentum);
  if (running.mean) mix(running.mean, running.mean_dtype, c, keep, m.mean);
  if (running.variance) mix(running.variance, running.variance_dtype, c, keep, var);
  if (affine.numbers) affine.put(c, m.mean, var);
}

template <class C>
struct GradCall {
  const PairSums<C>* parts;  // null: there are no sums
  int64_t run, channels;
  const C *mean, *variance, *gamma;
  C epsilon, count;
  bool fixed;
  C *dgamma, *dbeta;
  Numbers<C>* numbers;
};
template <class C>
__global__ void finish_grad(GradCall<C> a) {
  const int64_t c = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  if (c >= a.channels) return;
  const PairSums<C> s = merged(a.parts, a.parts ? a.run : 0, c);
  if (threadIdx.x % kWarp != 0) return;
  const C rstd = 1 / sqrt(a.variance[c] + a.epsilon), scale = (a.gamma ? a.gamma[c] : 1) * rstd;
  if (a.dgamma) a.dgamma[c] = s.product * rstd;
  if (a.dbeta) a.dbeta[c] = s.sum;
  Numbers<C> k{a.mean[c], scale, 0, 0};
  if (!a.fixed) {
    k.b = -scale * rstd * rstd * s.product / a.count;
    k.c = -scale * s.sum / a.count;
  }
  a.numbers[c] = k;
}

template <class C>
void forward_numbers(cudaStream_t stream, int64_t channels, const C* mean, const C* variance,
                     const Affine<C>& affine) {
  each(stream, channels, [=] __device__(int64_t c) { affine.put(c, mean[c], variance[c]); });
}

unsigned warp_blocks(int64_t n) {
  return static_cast<unsigned>((n + kWarps - 1) / kWarps);
}

}  // namespace

namespace {

template <class T, class C>
void statistics(cudaStream_t stream, const Image& a, const void* x, void* mean, void* variance,
                const Running& running, const Affine<C>& affine) {
  const Source<T> in{static_cast<const T*>(x), nullptr, nullptr, 1, a.channels};
  with_sums<Moments<C>>(stream, in, units_of(a), [&](const Moments<C>* parts, int64_t run) {
    finish_statistics<C><<<warp_blocks(a.channels), kWarps * kWarp, 0, stream>>>(
        parts, run, a.channels, static_cast<C*>(mean), static_cast<C*>(variance), running, affine);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace

void batch_statistics(cudaStream_t stream, const Image& a, const void* x, void* mean,
                      void* variance, const Running& running) {
  if (a.n * a.channels * a.inner == 0) return;
  with_floating("batch_norm", a.dtype, [&]<class T>(Type<T>) {
    statistics<T>(stream, a, x, mean, variance, running, Affine<Computed<T>>{});
  });
}

void batch_norm(cudaStream_t stream, const Image& a, const void* x, const Running* running,
                void* mean, void* variance, double epsilon, const void* gamma, const void* beta,
                void* y) {
  if (a.n * a.channels * a.inner == 0) return;
  with_floating("batch_norm", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const Scratch room(stream, static_cast<size_t>(a.channels) * sizeof(Numbers<C>));
    const Affine<C> affine{static_cast<const C*>(gamma), static_cast<const C*>(beta),
                           static_cast<C>(epsilon), room.data<Numbers<C>>()};
    if (running)
      statistics<T>(stream, a, x, mean, variance, *running, affine);
    else
      forward_numbers<C>(stream, a.channels, static_cast<const C*>(mean),
                         static_cast<const C*>(variance), affine);
    apply<false, T>(stream, units_of(a), static_cast<const T*>(x), nullptr, static_cast<T*>(y),
                    affine.numbers);
  });
}

void batch_norm_grad(cudaStream_t stream, const Image& a, const void* x, const void* mean,
                     const void* variance, double epsilon, const void* gamma, const void* dy,
                     bool fixed, void* dx, void* dgamma, void* dbeta) {
  if (a.n * a.channels * a.inner == 0) return;
  with_floating("batch_norm_grad", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const Units units = units_of(a);
    const Source<T> in{static_cast<const T*>(x), static_cast<const T*>(dy),
                       static_cast<const C*>(mean), 1, a.channels};
    const Scratch room(stream, static_cast<size_t>(a.channels) * sizeof(Numbers<C>));
    GradCall<C> call{nullptr,
                     0,
                     a.channels,
                     in.mean,
                     static_cast<const C*>(variance),
                     static_cast<const C*>(gamma),
                     static_cast<C>(epsilon),
                     static_cast<C>(a.n * a.inner),
                     fixed,
                     static_cast<C*>(dgamma),
                     static_cast<C*>(dbeta),
                     room.data<Numbers<C>>()};
    auto finish = [&](const PairSums<C>* parts, int64_t run) {
      call.parts = parts;
      call.run = run;
      finish_grad<C><<<warp_blocks(a.channels), kWarps * kWarp, 0, stream>>>(call);
      ARGOSY_CUDA_LAUNCHED();
    };
    if (fixed && !dgamma && !dbeta)
      finish(nullptr, 0);
    else
      with_sums<PairSums<C>>(stream, in, units, finish);
    apply<true, T>(stream, units, in.x, in.dy, static_cast<T*>(dx), call.numbers);
  });
}

}  // namespace argosy::cuda
