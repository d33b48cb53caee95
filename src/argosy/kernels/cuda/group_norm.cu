#include "argosy/kernels/cuda/channel_norm.h"
#include "argosy/kernels/cuda/channels.cuh"
#include "argosy/kernels/cuda/each.cuh"

namespace argosy::cuda {
namespace {

constexpr int kWarps = 4;

unsigned warp_blocks(int64_t n) {
  return static_cast<unsigned>((n + kWarps - 1) / kWarps);
}
__device__ __forceinline__ int64_t warp_number() {
  return static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
}

// A channel of a sample.
Units channels_of(const Image& a) {
  if (a.last) return {true, a.channels, a.n, a.inner, a.inner * a.channels};
  return {false, a.n * a.channels, 1, a.inner, 0};
}

template <class C>
__global__ void finish_statistics(const Moments<C>* parts, int64_t run, int64_t groups, C* mean,
                                  C* variance) {
  const int64_t g = warp_number();
  if (g >= groups) return;
  const Moments<C> m = merged(parts, run, g);
  if (threadIdx.x % kWarp != 0) return;
  mean[g] = m.mean;
  variance[g] = m.squares / m.count;
}

template <class C>
__global__ void finish_sums(const PairSums<C>* parts, int64_t run, int64_t units,
                            PairSums<C>* sums) {
  const int64_t u = warp_number();
  if (u >= units) return;
  const PairSums<C> s = merged(parts, run, u);
  if (threadIdx.x % kWarp == 0) sums[u] = s;
}

template <class C>
struct Statistics {
  int64_t n, channels, groups, members;
  const C *mean, *variance, *gamma;
  C epsilon, count;  // count: of a group

  __device__ __forceinline__ C rstd(int64_t group) const {
    return 1 / sqrt(variance[group] + epsilon);
  }
  __device__ __forceinline__ C scale(int64_t channel) const {
    return gamma ? gamma[channel] : C(1);
  }
};

template <class C>
__global__ void parameter_grads(Statistics<C> a, const PairSums<C>* sums, C* dgamma, C* dbeta) {
  const int64_t c = warp_number();
  if (c >= a.channels) return;
  PairSums<C> all;
  for (int64_t n = threadIdx.x % kWarp; n < a.n; n += kWarp) {
    const PairSums<C> s = sums[n * a.channels + c];
    all.product += s.product * a.rstd(n * a.groups + c / a.members);
    all.sum += s.sum;
  }
  merge_warp(all);
  if (threadIdx.x % kWarp != 0) return;
  if (dgamma) dgamma[c] = all.product;
  if (dbeta) dbeta[c] = all.sum;
}

template <class C>
__global__ void grad_numbers(Statistics<C> a, const PairSums<C>* sums, Numbers<C>* numbers) {
  const int64_t g = warp_number();
  if (g >= a.n * a.groups) return;
  const int64_t first = g * a.members, channel = g % a.groups * a.members;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  PairSums<C> all;
  for (int64_t m = lane; m < a.members; m += kWarp) {
    const PairSums<C> s = sums[first + m];
    all.sum += s.sum * a.scale(channel + m);
    all.product += s.product * a.scale(channel + m);
  }
  merge_warp(all);
  const C rstd = a.rstd(g), mean = a.mean[g];
  const C b = -rstd * rstd * rstd * all.product / a.count, c = -rstd * all.sum / a.count;
  for (int64_t m = lane; m < a.members; m += kWarp)
    numbers[first + m] = {mean, a.scale(channel + m) * rstd, b, c};
}

template <class C>
void forward_numbers(cudaStream_t stream, const Statistics<C>& a, const C* beta, Numbers<C>* out) {
  const Statistics<C> s = a;
  each(stream, s.n * s.channels, [=] __device__(int64_t i) {
    const int64_t c = i % s.channels, group = i / s.members;
    out[i] = {s.mean[group], s.scale(c) * s.rstd(group), beta ? beta[c] : C(0), C(0)};
  });
}

template <class C>
Statistics<C> statistics_of(const Image& a, int64_t groups, double epsilon, const void* mean,
                            const void* variance, const void* gamma) {
  const int64_t members = a.channels / groups;
  return {a.n,
          a.channels,
          groups,
          members,
          static_cast<const C*>(mean),
          static_cast<const C*>(variance),
          static_cast<const C*>(gamma),
          static_cast<C>(epsilon),
          static_cast<C>(members * a.inner)};
}

}  // namespace

void group_norm(cudaStream_t stream, const Image& a, int64_t groups, double epsilon, const void* x,
                const void* gamma, const void* beta, void* y, void* mean, void* variance) {
  if (a.n * a.channels * a.inner == 0) return;
  with_floating("group_norm", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const auto s = statistics_of<C>(a, groups, epsilon, mean, variance, gamma);
    const Source<T> in{static_cast<const T*>(x), nullptr, nullptr, 1, groups};
    Units units = channels_of(a);
    // Channels side by side: a group is one run. In columns the parts of its members lie so.
    if (!a.last) units = {false, a.n * groups, 1, s.members * a.inner, 0};
    with_sums<Moments<C>>(stream, in, units, [&](const Moments<C>* parts, int64_t run) {
      finish_statistics<C><<<warp_blocks(a.n * groups), kWarps * kWarp, 0, stream>>>(
          parts, a.last ? run * s.members : run, a.n * groups, static_cast<C*>(mean),
          static_cast<C*>(variance));
      ARGOSY_CUDA_LAUNCHED();
    });
    const Scratch room(stream, static_cast<size_t>(a.n * a.channels) * sizeof(Numbers<C>));
    auto* numbers = room.data<Numbers<C>>();
    forward_numbers<C>(stream, s, static_cast<const C*>(beta), numbers);
    apply<false, T>(stream, channels_of(a), in.x, nullptr, static_cast<T*>(y), numbers);
  });
}

void group_norm_grad(cudaStream_t stream, const Image& a, int64_t groups, double epsilon,
                     const void* x, const void* mean, const void* variance, const void* gamma,
                     const void* dy, void* dx, void* dgamma, void* dbeta) {
  if (a.n * a.channels * a.inner == 0) return;
  with_floating("group_norm_grad", a.dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    const auto s = statistics_of<C>(a, groups, epsilon, mean, variance, gamma);
    const Source<T> in{static_cast<const T*>(x), static_cast<const T*>(dy),
                       static_cast<const C*>(mean), s.members, groups};
    const int64_t all = a.n * a.channels;
    const Units units = channels_of(a);
    const Scratch room(stream,
                       static_cast<size_t>(all) * (sizeof(Numbers<C>) + sizeof(PairSums<C>)));
    auto* numbers = room.data<Numbers<C>>();
    auto* sums = reinterpret_cast<PairSums<C>*>(numbers + all);
    with_sums<PairSums<C>>(stream, in, units, [&](const PairSums<C>* parts, int64_t run) {
      finish_sums<C><<<warp_blocks(all), kWarps * kWarp, 0, stream>>>(parts, run, all, sums);
      ARGOSY_CUDA_LAUNCHED();
    });
    if (dgamma || dbeta) {
      parameter_grads<C><<<warp_blocks(a.channels), kWarps * kWarp, 0, stream>>>(
          s, sums, static_cast<C*>(dgamma), static_cast<C*>(dbeta));
      ARGOSY_CUDA_LAUNCHED();
    }
    if (s.members * a.inner == 1) {  // y is beta whatever x is
      ARGOSY_CUDA(cudaMemsetAsync(dx, 0, static_cast<size_t>(all) * sizeof(T), stream));
      return;
    }
    grad_numbers<C><<<warp_blocks(a.n * groups), kWarps * kWarp, 0, stream>>>(s, sums, numbers);
    ARGOSY_CUDA_LAUNCHED();
    apply<true, T>(stream, units, in.x, in.dy, static_cast<T*>(dx), numbers);
  });
}

}  // namespace argosy::cuda
