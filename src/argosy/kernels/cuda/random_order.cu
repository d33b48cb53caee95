#include <cub/device/device_radix_sort.cuh>

#include "argosy/kernels/cuda/philox.cuh"

// Permutations, and choices by weight.
namespace argosy::cuda::random {
namespace {

constexpr int kThreads = 256;

__global__ void make_keys(uint64_t* keys, uint32_t* numbers, int64_t n, Philox philox,
                          uint64_t first) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t b = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; b * 2 < n;
       b += stride) {
    const uint4 bits = philox(first + static_cast<uint64_t>(b));
    keys[2 * b] = word64(bits.x, bits.y);
    numbers[2 * b] = static_cast<uint32_t>(2 * b);
    if (2 * b + 1 >= n) continue;
    keys[2 * b + 1] = word64(bits.z, bits.w);
    numbers[2 * b + 1] = static_cast<uint32_t>(2 * b + 1);
  }
}

template <class T>
__global__ void widen(const uint32_t* from, T* to, int64_t n) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride)
    to[i] = static_cast<T>(from[i]);
}

// --- choices by weight ---

template <class T>
__global__ void check_rows(const T* weights, int64_t rows, int64_t n, int64_t least, int* status) {
  __shared__ int64_t shared[kWarp];
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    int64_t bad = 0, positive = 0;
    for (int64_t i = threadIdx.x; i < n; i += blockDim.x) {
      const T w = weights[r * n + i];
      bad += !(w >= 0 && isfinite(w));
      positive += w != 0;
    }
    bad = block_reduce(bad, int64_t{0}, Sum(), shared);
    positive = block_reduce(positive, int64_t{0}, Sum(), shared);
    const int found = bad ? 1 : positive == 0 ? 2 : positive < least ? 3 : 0;
    // The most basic error wins: 1 before 2 before 3, kept as 4 - error.
    if (threadIdx.x == 0 && found) atomicMax(status, 4 - found);
  }
}
__global__ void name_status(int* status) {
  if (*status) *status = 4 - *status;
}

// Sums of each row's weights up to each place.
template <class T>
__global__ void sum_up(const T* weights, double* sums, int64_t rows, int64_t n) {
  __shared__ double of_warps[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    double before = 0;
    for (int64_t begin = 0; begin < n; begin += blockDim.x) {
      const int64_t i = begin + threadIdx.x;
      double sum = i < n ? static_cast<double>(weights[r * n + i]) : 0;
#pragma unroll
      for (int step = 1; step < kWarp; step *= 2) {
        const double other = __shfl_up_sync(0xffffffffu, sum, step);
        if (lane >= step) sum += other;
      }
      if (lane == kWarp - 1) of_warps[warp] = sum;
      __syncthreads();
      double all = 0, mine = 0;
      for (int w = 0; w < warps; ++w) {
        if (w == warp) mine = all;
        all += of_warps[w];
      }
      if (i < n) sums[r * n + i] = before + (mine + sum);
      before += all;
      __syncthreads();
    }
  }
}

// The first place whose sum is above u * all. Rounding may lead to a weight of 0: then the next
// that is not, else the last before it.
template <class T>
__global__ void choose(const T* weights, const double* sums, int64_t* out, int64_t rows, int64_t n,
                       int64_t samples, Philox philox, uint64_t first) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t s = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; s < rows * samples;
       s += stride) {
    const uint4 bits = philox(first + static_cast<uint64_t>(s));
    const double* row = sums + s / samples * n;
    const T* weight = weights + s / samples * n;
    const double wanted = unit(word64(bits.x, bits.y)) * row[n - 1];
    int64_t low = 0, high = n - 1;
    while (low < high) {
      const int64_t middle = low + (high - low) / 2;
      if (row[middle] > wanted)
        high = middle;
      else
        low = middle + 1;
    }
    while (low + 1 < n && weight[low] == 0) ++low;
    while (low > 0 && weight[low] == 0) --low;
    out[s] = low;
  }
}

// Without replacement: the samples whose -log(u) / weight is least (Efraimidis and Spirakis 2006).
template <class T>
__global__ void make_times(const T* weights, double* times, int64_t n, Philox philox,
                           uint64_t first) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < n; i += stride) {
    const uint4 bits = philox(first + static_cast<uint64_t>(i));
    const double u = unit(word64(bits.x, bits.y)) + 0x1p-54;  // of (0, 1), fine near 0
    const double w = static_cast<double>(weights[i]);
    times[i] = w > 0 ? -log1p(-u) / w : INFINITY;
  }
}

struct Earliest {
  double time;
  int64_t at;
};
__device__ Earliest earlier(Earliest a, Earliest b) {
  return b.time < a.time || (b.time == a.time && b.at < a.at) ? b : a;
}

__global__ void take_least(double* times, int64_t* out, int64_t rows, int64_t n, int64_t samples) {
  __shared__ Earliest of_warps[kWarp];
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int warp = static_cast<int>(threadIdx.x) / kWarp;
  const int warps = static_cast<int>(blockDim.x) / kWarp;
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    double* row = times + r * n;
    for (int64_t s = 0; s < samples; ++s) {
      Earliest found{INFINITY, n};
      for (int64_t i = threadIdx.x; i < n; i += blockDim.x) found = earlier(found, {row[i], i});
#pragma unroll
      for (int step = kWarp / 2; step; step /= 2)
        found = earlier(found, {__shfl_xor_sync(0xffffffffu, found.time, step),
                                __shfl_xor_sync(0xffffffffu, found.at, step)});
      if (lane == 0) of_warps[warp] = found;
      __syncthreads();
      if (threadIdx.x == 0) {
        for (int w = 1; w < warps; ++w) found = earlier(found, of_warps[w]);
        const int64_t at = found.at < n ? found.at : 0;
        out[r * samples + s] = at;
        row[at] = INFINITY;
      }
      __syncthreads();
    }
  }
}

template <class F>
void with_weights(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(Type<float>{});
  else if (dtype == DType::float64)
    f(Type<double>{});
  else
    fail_dtype("multinomial", dtype);
}

}  // namespace

void permutation(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n) {
  if (n == 0) return;
  const size_t count = static_cast<size_t>(n);
  const Scratch keys(stream, 2 * count * sizeof(uint64_t));
  const Scratch numbers(stream, 2 * count * sizeof(uint32_t));
  auto* key = keys.data<uint64_t>();
  auto* number = numbers.data<uint32_t>();
  make_keys<<<grid((n + 1) / 2, kThreads), kThreads, 0, stream>>>(key, number, n, Philox(at.seed),
                                                                  at.first);
  ARGOSY_CUDA_LAUNCHED();
  size_t bytes = 0;
  ARGOSY_CUDA(cub::DeviceRadixSort::SortPairs(nullptr, bytes, key, key + n, number, number + n, n,
                                              0, 64, stream));
  const Scratch room(stream, bytes);
  ARGOSY_CUDA(cub::DeviceRadixSort::SortPairs(room.data(), bytes, key, key + n, number, number + n,
                                              n, 0, 64, stream));
  const auto write = [&]<class T>(Type<T>) {
    widen<T><<<grid(n, kThreads), kThreads, 0, stream>>>(number + n, static_cast<T*>(out), n);
    ARGOSY_CUDA_LAUNCHED();
  };
  switch (dtype) {
    case DType::int32:
      return write(Type<int32_t>{});
    case DType::int64:
      return write(Type<int64_t>{});
    case DType::float32:
      return write(Type<float>{});
    case DType::float64:
      return write(Type<double>{});
    default:
      fail_dtype("randperm", dtype);
  }
}

void check_weights(cudaStream_t stream, const void* weights, DType dtype, int64_t rows, int64_t n,
                   int64_t least, int* status) {
  ARGOSY_CUDA(cudaMemsetAsync(status, 0, sizeof(int), stream));
  if (rows == 0) return;
  with_weights(dtype, [&]<class T>(Type<T>) {
    check_rows<T><<<grid(rows, 1), kThreads, 0, stream>>>(static_cast<const T*>(weights), rows, n,
                                                          least, status);
    ARGOSY_CUDA_LAUNCHED();
  });
  name_status<<<1, 1, 0, stream>>>(status);
  ARGOSY_CUDA_LAUNCHED();
}

void multinomial(cudaStream_t stream, Places at, const void* weights, DType dtype, int64_t rows,
                 int64_t n, int64_t samples, bool replacement, int64_t* out) {
  if (rows == 0 || n == 0 || samples == 0) return;
  const Scratch numbers(stream, static_cast<size_t>(rows * n) * sizeof(double));
  with_weights(dtype, [&]<class T>(Type<T>) {
    const T* w = static_cast<const T*>(weights);
    double* number = numbers.data<double>();
    if (replacement) {
      sum_up<T><<<grid(rows, 1), 1024, 0, stream>>>(w, number, rows, n);
      ARGOSY_CUDA_LAUNCHED();
      choose<T><<<grid(rows * samples, kThreads), kThreads, 0, stream>>>(
          w, number, out, rows, n, samples, Philox(at.seed), at.first);
      ARGOSY_CUDA_LAUNCHED();
      return;
    }
    make_times<T><<<grid(rows * n, kThreads), kThreads, 0, stream>>>(w, number, rows * n,
                                                                     Philox(at.seed), at.first);
    ARGOSY_CUDA_LAUNCHED();
    take_least<<<grid(rows, 1), 1024, 0, stream>>>(number, out, rows, n, samples);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda::random
