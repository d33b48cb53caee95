#include "argosy/kernels/cuda/philox.cuh"

// Choices of dropout and their use.
namespace argosy::cuda::random {
namespace {

constexpr int kThreads = 256;
constexpr int kBlocks = 32;  // of a multiprocessor: several rounds, so that the last costs little

// 32 random bits below this: dropped.
uint64_t dropped_below(double p) {
  const double words = static_cast<double>(static_cast<float>(p)) * 0x1p32;
  return !(words > 0)      ? 0
         : words >= 0x1p32 ? uint64_t{1} << 32
                           : static_cast<uint64_t>(ceil(words));
}

// Choices of eight elements, 1: kept. 16 bits of one draw decide, but where they tie with those of
// `below`; then those of a second draw do.
__device__ __forceinline__ uint32_t eight(const Philox& philox, uint64_t place, uint64_t below) {
  const auto high = static_cast<uint32_t>(below >> 16), low = static_cast<uint32_t>(below) & 0xffff;
  const auto half = [](const uint4& bits, int k) {
    const uint32_t words[4] = {bits.x, bits.y, bits.z, bits.w};
    return k % 2 ? words[k / 2] >> 16 : words[k / 2] & 0xffff;
  };
  const uint4 bits = philox(place);
  uint32_t kept = 0, ties = 0;
#pragma unroll
  for (int k = 0; k < 8; ++k) {
    kept |= (half(bits, k) > high ? 1u : 0u) << k;
    ties |= (half(bits, k) == high ? 1u : 0u) << k;
  }
  if (ties) {
    const uint4 more = philox(place, 1);
#pragma unroll
    for (int k = 0; k < 8; ++k)
      if ((ties >> k & 1) && half(more, k) >= low) kept |= 1u << k;
  }
  return kept;
}

// 16 choices for each thread, of places 2 b and 2 b + 1.
__global__ void choose_bytes(uint8_t* out, int64_t n, Philox philox, uint64_t first, uint64_t below,
                             bool whole) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * 16 < n;
       b += stride) {
    const uint64_t place = first + static_cast<uint64_t>(2 * b);
    const uint32_t kept = eight(philox, place, below) | eight(philox, place + 1, below) << 8;
    Pack<uint8_t, 16> pack;
#pragma unroll
    for (int k = 0; k < 16; ++k) pack.at[k] = static_cast<uint8_t>(kept >> k & 1);
    if (whole && (b + 1) * 16 <= n) {
      reinterpret_cast<Pack<uint8_t, 16>*>(out)[b] = pack;
      continue;
    }
#pragma unroll
    for (int k = 0; k < 16; ++k)
      if (b * 16 + k < n) out[b * 16 + k] = pack.at[k];
  }
}

// 32 choices for each thread, of places 4 b ..; bits after the last are 0.
__global__ void choose_bits(uint8_t* out, int64_t n, Philox philox, uint64_t first, uint64_t below,
                            bool whole) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * 32 < n;
       b += stride) {
    uint32_t word = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k)
      word |= eight(philox, first + static_cast<uint64_t>(4 * b + k), below) << (8 * k);
    const int64_t left = n - b * 32;
    if (left < 32) word &= (1u << left) - 1;
    if (whole && left >= 32) {
      reinterpret_cast<uint32_t*>(out)[b] = word;
      continue;
    }
    const int64_t bytes = ((left < 32 ? left : 32) + 7) / 8;
    for (int64_t k = 0; k < bytes; ++k) out[b * 4 + k] = static_cast<uint8_t>(word >> (8 * k));
  }
}

// 8 elements for each thread: one byte of bits.
template <class T>
__global__ void apply_bits(const T* x, const uint8_t* __restrict__ bits, T* y, int64_t n,
                           Computed<T> factor, bool whole) {
  constexpr int kPer = sizeof(T) * 8 > 16 ? 16 / sizeof(T) : 8;  // of one access
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * 8 < n;
       b += stride) {
    const uint32_t byte = bits[b];
    const int64_t begin = b * 8;
    if (whole && begin + 8 <= n) {
      Pack<T, kPer> packs[8 / kPer];
#pragma unroll
      for (int j = 0; j < 8 / kPer; ++j)
        packs[j] = reinterpret_cast<const Pack<T, kPer>*>(x + begin)[j];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        T& v = packs[j / kPer].at[j % kPer];
        v = byte >> j & 1 ? store<T>(load(v) * factor) : store<T>(Computed<T>{0});
      }
#pragma unroll
      for (int j = 0; j < 8 / kPer; ++j) reinterpret_cast<Pack<T, kPer>*>(y + begin)[j] = packs[j];
      continue;
    }
    for (int j = 0; j < 8 && begin + j < n; ++j)
      y[begin + j] =
          byte >> j & 1 ? store<T>(load(x[begin + j]) * factor) : store<T>(Computed<T>{0});
  }
}

// A number of its own for each element, used where x < 0.
template <class T>
__global__ void rrelu_of(const T* x, T* y, T* slope, int64_t n, Philox philox, uint64_t first,
                         float lower, float width, Computed<T> mean, bool training) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * 4 < n;
       b += stride) {
    float u[4] = {};
    if (training) units(philox(first + static_cast<uint64_t>(b)), u);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int64_t i = b * 4 + k;
      if (i >= n) break;
      const Computed<T> v = load(x[i]);
      const Computed<T> drawn = training ? static_cast<Computed<T>>(u[k] * width + lower) : mean;
      const T s = store<T>(v < 0 ? drawn : Computed<T>{1});
      slope[i] = s;
      y[i] = store<T>(v * load(s));
    }
  }
}

template <class C>
struct Best {
  C value;
  int64_t at;  // of equal ones the first
};
struct Better {
  template <class C>
  __device__ Best<C> operator()(Best<C> a, Best<C> b) const {
    return b.value > a.value || (b.value == a.value && b.at < a.at) ? b : a;
  }
};

// Over all threads of the block; every thread gets it.
template <class C>
__device__ Best<C> best_of_block(Best<C> v, C* values, int64_t* places) {
  const int t = static_cast<int>(threadIdx.x);
  values[t] = v.value;
  places[t] = v.at;
  __syncthreads();
  for (int step = static_cast<int>(blockDim.x) / 2; step; step /= 2) {
    if (t < step) {
      const Best<C> both =
          Better()(Best<C>{values[t], places[t]}, Best<C>{values[t + step], places[t + step]});
      values[t] = both.value;
      places[t] = both.at;
    }
    __syncthreads();
  }
  return {values[0], places[0]};
}

// A block for each line; a thread reads only what it wrote itself.
template <class T>
__global__ void gumbel(const T* x, T* y, T* soft, int64_t lines, int64_t n, int64_t inner,
                       Philox philox, uint64_t first, Computed<T> temperature, bool hard) {
  using C = Computed<T>;
  constexpr int kPer = kPerPlace<C>;
  __shared__ C shared[kThreads];
  __shared__ int64_t places[kThreads];
  const C infinity = static_cast<C>(INFINITY);
  for (int64_t line = blockIdx.x; line < lines; line += gridDim.x) {
    const int64_t start = line / inner * n * inner + line % inner;
    C largest = -infinity;
    for (int64_t k = threadIdx.x; k < n; k += kThreads) {
      const int64_t i = start + k * inner;
      C u[kPer];
      units(philox(first + static_cast<uint64_t>(i / kPer)), u);
      constexpr C kLow = static_cast<C>(1e-5);
      constexpr C kBelowOne =
          1 - (sizeof(C) == 4 ? static_cast<C>(0x1p-24) : static_cast<C>(0x1p-53));
      C one = u[0];
#pragma unroll
      for (int j = 1; j < kPer; ++j)
        if (i % kPer == j) one = u[j];
      one = one * (1 - kLow) + kLow;
      if (one > kBelowOne) one = kBelowOne;
      const T z = store<T>((load(x[i]) - log(-log(one))) / temperature);
      soft[i] = z;
      largest = Max()(largest, load(z));
    }
    largest = block_reduce(largest, -infinity, Max(), shared);
    C sum = 0;
    for (int64_t k = threadIdx.x; k < n; k += kThreads)
      sum += exp(load(soft[start + k * inner]) - largest);
    sum = block_reduce(sum, C{0}, Sum(), shared);
    Best<C> best{-infinity, n};
    for (int64_t k = threadIdx.x; k < n; k += kThreads) {
      const int64_t i = start + k * inner;
      const T s = store<T>(exp(load(soft[i]) - largest) / sum);
      soft[i] = s;
      if (!hard) y[i] = s;
      best = Better()(best, Best<C>{load(s), k});
    }
    if (!hard) continue;
    best = best_of_block(best, shared, places);
    const int64_t chosen = best.at < n ? best.at : 0;
    for (int64_t k = threadIdx.x; k < n; k += kThreads)
      y[start + k * inner] = store<T>(k == chosen ? C{1} : C{0});
    __syncthreads();  // before `shared` is written again
  }
}

}  // namespace

void kept(cudaStream_t stream, Places at, uint8_t* out, int64_t n, double p) {
  if (n == 0) return;
  choose_bytes<<<grid((n + 15) / 16, kThreads, kBlocks), kThreads, 0, stream>>>(
      out, n, Philox(at.seed), at.first, dropped_below(p), aligned(out));
  ARGOSY_CUDA_LAUNCHED();
}

void kept_bits(cudaStream_t stream, Places at, uint8_t* out, int64_t n, double p) {
  if (n == 0) return;
  choose_bits<<<grid((n + 31) / 32, kThreads, kBlocks), kThreads, 0, stream>>>(
      out, n, Philox(at.seed), at.first, dropped_below(p), aligned(out, 4));
  ARGOSY_CUDA_LAUNCHED();
}

void keep_by_bits(cudaStream_t stream, const void* x, const uint8_t* bits, void* y, DType dtype,
                  int64_t n, double factor) {
  if (n == 0) return;
  with_floating("dropout_apply_bits", dtype, [&]<class T>(Type<T>) {
    apply_bits<T><<<grid((n + 7) / 8, kThreads, kBlocks), kThreads, 0, stream>>>(
        static_cast<const T*>(x), bits, static_cast<T*>(y), n, static_cast<Computed<T>>(factor),
        aligned(x) && aligned(y));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void rrelu(cudaStream_t stream, Places at, const void* x, void* y, void* slope, DType dtype,
           int64_t n, double lower, double upper, bool training) {
  if (n == 0) return;
  const float low = static_cast<float>(lower);
  with_floating("rrelu", dtype, [&]<class T>(Type<T>) {
    rrelu_of<T><<<grid((n + 3) / 4, kThreads, kBlocks), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(y), static_cast<T*>(slope), n, Philox(at.seed),
        at.first, low, static_cast<float>(upper) - low,
        static_cast<Computed<T>>((lower + upper) / 2), training);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void gumbel_softmax(cudaStream_t stream, Places at, const void* x, void* y, void* soft, DType dtype,
                    int64_t outer, int64_t n, int64_t inner, double temperature, bool hard) {
  const int64_t lines = outer * inner;
  if (lines == 0 || n == 0) return;
  with_floating("gumbel_softmax", dtype, [&]<class T>(Type<T>) {
    gumbel<T><<<grid(lines, 1), kThreads, 0, stream>>>(
        static_cast<const T*>(x), static_cast<T*>(y), static_cast<T*>(soft), lines, n, inner,
        Philox(at.seed), at.first, static_cast<Computed<T>>(temperature), hard);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda::random
