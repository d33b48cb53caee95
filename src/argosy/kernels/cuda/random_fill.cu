#include "argosy/kernels/cuda/philox.cuh"

// Numbers that one place gives several of: uniform, normal, exponential, integers, choices.
namespace argosy::cuda::random {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 32;  // of a multiprocessor: several rounds, so that the last costs little

// f(bits, v): the numbers of one place.
template <class T, class F>
__global__ void fill(T* out, int64_t n, Philox philox, uint64_t first, bool whole, F f) {
  using C = Computed<T>;
  constexpr int kPer = kPerPlace<C>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * kPer < n;
       b += stride) {
    C v[kPer];
    f(philox(first + static_cast<uint64_t>(b)), v);
    if (whole && (b + 1) * kPer <= n) {
      Pack<T, kPer> pack;
#pragma unroll
      for (int k = 0; k < kPer; ++k) pack.at[k] = store<T>(v[k]);
      reinterpret_cast<Pack<T, kPer>*>(out)[b] = pack;
      continue;
    }
#pragma unroll
    for (int k = 0; k < kPer; ++k)
      if (b * kPer + k < n) out[b * kPer + k] = store<T>(v[k]);
  }
}

template <class T, class F>
void run_fill(cudaStream_t stream, Places at, void* out, int64_t n, F f) {
  constexpr int kPer = kPerPlace<Computed<T>>;
  const int64_t places = (n + kPer - 1) / kPer;
  fill<T, F><<<grid(places, kThreads, kBlocks), kThreads, 0, stream>>>(
      static_cast<T*>(out), n, Philox(at.seed), at.first, aligned(out, kPer * sizeof(T)), f);
  ARGOSY_CUDA_LAUNCHED();
}

template <class C>
struct Uniform {
  C low, width;
  __device__ void operator()(uint4 bits, C* v) const {
    units(bits, v);
#pragma unroll
    for (int k = 0; k < kPerPlace<C>; ++k) v[k] = v[k] * width + low;
  }
};

template <class C>
struct Normal {
  C mean, stddev;
  __device__ void operator()(uint4 bits, C* v) const {
    normals(bits, v);
#pragma unroll
    for (int k = 0; k < kPerPlace<C>; ++k) v[k] = v[k] * stddev + mean;
  }
};

template <class C>
struct Exponential {
  C scale;
  __device__ void operator()(uint4 bits, C* v) const {
    units(bits, v);
#pragma unroll
    for (int k = 0; k < kPerPlace<C>; ++k) v[k] = scale * log(1 - v[k]);
  }
};

template <class C>
struct Truncated {
  double from, share, mean, stddev, low, high;
  __device__ void operator()(uint4 bits, C* v) const {
    units(bits, v);
#pragma unroll
    for (int k = 0; k < kPerPlace<C>; ++k) {
      const double x = normcdfinv(from + share * static_cast<double>(v[k])) * stddev + mean;
      v[k] = static_cast<C>(x < low ? low : x > high ? high : x);
    }
  }
};

// The high 64 bits of a word times the range: of 64 bits, of 128 where the range is large.
template <class T>
__global__ void fill_integers(T* out, int64_t n, Philox philox, uint64_t first, uint64_t low,
                              uint64_t range) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  const bool large = range >> 32 != 0;
  const int per = large ? 1 : 2;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * per < n;
       b += stride) {
    const uint4 bits = philox(first + static_cast<uint64_t>(b));
    const uint64_t one = word64(bits.x, bits.y), two = word64(bits.z, bits.w);
    if (large) {
      const uint64_t rest = one * range, sum = rest + __umul64hi(two, range);
      out[b] = static_cast<T>(low + __umul64hi(one, range) + (sum < rest));
      continue;
    }
    out[2 * b] = static_cast<T>(low + __umul64hi(one, range));
    if (2 * b + 1 < n) out[2 * b + 1] = static_cast<T>(low + __umul64hi(two, range));
  }
}

template <class T>
__global__ void fill_bernoulli(const T* p, T* out, int64_t n, Philox philox, uint64_t first) {
  using C = Computed<T>;
  constexpr int kPer = kPerPlace<C>;
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * kPer < n;
       b += stride) {
    C u[kPer];
    units(philox(first + static_cast<uint64_t>(b)), u);
#pragma unroll
    for (int k = 0; k < kPer; ++k) {
      const int64_t i = b * kPer + k;
      if (i < n) out[i] = store<T>(u[k] < load(p[i]) ? C{1} : C{0});
    }
  }
}

}  // namespace

void uniform(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, float low,
             float high) {
  if (n == 0) return;
  with_floating("uniform", dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    run_fill<T>(stream, at, out, n,
                Uniform<C>{static_cast<C>(low), static_cast<C>(high) - static_cast<C>(low)});
  });
}

void normal(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, float mean,
            float stddev) {
  if (dtype == DType::complex64) dtype = DType::float32, n *= 2;
  if (dtype == DType::complex128) dtype = DType::float64, n *= 2;
  if (n == 0) return;
  with_floating("gaussian", dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    run_fill<T>(stream, at, out, n, Normal<C>{static_cast<C>(mean), static_cast<C>(stddev)});
  });
}

void exponential(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, float rate) {
  if (n == 0) return;
  with_floating("exponential_like", dtype, [&]<class T>(Type<T>) {
    using C = Computed<T>;
    run_fill<T>(stream, at, out, n, Exponential<C>{C{-1} / static_cast<C>(rate)});
  });
}

void truncated_normal(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n,
                      double mean, double stddev, double low, double high) {
  if (n == 0) return;
  const auto below = [&](double x) {
    return 0.5 * erfc(-(x - mean) / stddev * 0.70710678118654752);
  };
  const double from = below(low), share = below(high) - from;
  with_floating("truncated_gaussian_random", dtype, [&]<class T>(Type<T>) {
    run_fill<T>(stream, at, out, n, Truncated<Computed<T>>{from, share, mean, stddev, low, high});
  });
}

void bernoulli(cudaStream_t stream, Places at, const void* p, void* out, DType dtype, int64_t n) {
  if (n == 0) return;
  with_floating("bernoulli", dtype, [&]<class T>(Type<T>) {
    constexpr int kPer = kPerPlace<Computed<T>>;
    fill_bernoulli<T><<<grid((n + kPer - 1) / kPer, kThreads, kBlocks), kThreads, 0, stream>>>(
        static_cast<const T*>(p), static_cast<T*>(out), n, Philox(at.seed), at.first);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void integers(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, int64_t low,
              int64_t high) {
  if (n == 0) return;
  const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
  const int64_t places = range >> 32 ? n : (n + 1) / 2;
  with_index("randint", dtype, [&]<class T>(Type<T>) {
    fill_integers<T><<<grid(places, kThreads, kBlocks), kThreads, 0, stream>>>(
        static_cast<T*>(out), n, Philox(at.seed), at.first, static_cast<uint64_t>(low), range);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda::random
