#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/suppress.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 512;
constexpr size_t kMostShared = 40 << 10;

// Rounded each, as on the CPU, so that what is exactly at the threshold is decided alike.
__device__ __forceinline__ float product(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double product(double a, double b) {
  return __dmul_rn(a, b);
}

template <class T>
struct Box {
  T at[4];
};

template <class T>
__device__ __forceinline__ T area(const Box<T>& b, T more) {
  return product(b.at[2] - b.at[0] + more, b.at[3] - b.at[1] + more);
}

template <class T>
__device__ __forceinline__ bool too_near(const Box<T>& a, const Box<T>& b, T more, T limit) {
  const T w =
      (b.at[2] < a.at[2] ? b.at[2] : a.at[2]) - (a.at[0] < b.at[0] ? b.at[0] : a.at[0]) + more;
  const T h =
      (b.at[3] < a.at[3] ? b.at[3] : a.at[3]) - (a.at[1] < b.at[1] ? b.at[1] : a.at[1]) + more;
  const bool apart =
      a.at[0] > b.at[2] || b.at[0] > a.at[2] || a.at[1] > b.at[3] || b.at[1] > a.at[3];
  const T common = apart ? T(0) : product(w < T(0) ? T(0) : w, h < T(0) ? T(0) : h);
  return common / (area(a, more) + area(b, more) - common) > limit;
}

template <class T>
struct List {
  const Box<T>* boxes;
  const uint32_t* order;
  __device__ __forceinline__ Box<T> operator[](int64_t i) const {
    return boxes[order ? order[i] : i];
  }
};

// A block for each list. gone: a bit for each box, zeros.
template <class T>
__device__ int by_kept(const List<T>& list, int64_t n, T limit, T more, uint32_t* gone,
                       int32_t* kept) {
  int found = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (gone[i / 32] >> (i % 32) & 1) continue;  // of all threads alike
    if (threadIdx.x == 0) kept[found] = static_cast<int32_t>(i);
    ++found;
    const Box<T> better = list[i];
    for (int64_t j = i + 1 + threadIdx.x; j < n; j += blockDim.x)
      if (too_near(list[j], better, more, limit)) atomicOr(gone + j / 32, 1u << (j % 32));
    __syncthreads();
  }
  return found;
}

// Where the limit falls: each box against all that are kept, by the limit of then.
template <class T>
__device__ int by_box(const List<T>& list, int64_t n, T limit, T more, T eta, const bool* left_out,
                      int32_t* kept) {
  int found = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (left_out && left_out[i]) continue;  // of all threads alike
    const Box<T> box = list[i];
    bool near = false;
    for (int k = static_cast<int>(threadIdx.x); k < found && !near; k += blockDim.x)
      near = too_near(box, list[kept[k]], more, limit);
    if (__syncthreads_or(near)) continue;
    if (threadIdx.x == 0) kept[found] = static_cast<int32_t>(i);
    ++found;
    if (limit > T(0.5)) limit = product(limit, eta);
    __syncthreads();
  }
  return found;
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    suppress_kernel(Suppression c, T limit, T more, T eta, uint32_t* gone_global, int32_t* kept,
                    int32_t* kept_count) {
  extern __shared__ uint32_t gone_shared[];
  const int64_t l = blockIdx.x, first = c.first ? c.first[l] : 0, n = c.count ? c.count[l] : c.most,
                words = (c.most + 31) / 32;
  List<T> list{static_cast<const Box<T>*>(c.boxes) + l / c.lists_per_boxes * c.boxes_of, nullptr};
  if (c.order)
    list.order = c.order + l * c.most + first;
  else
    list.boxes += first;
  kept += l * c.most;
  const bool* left_out = c.left_out ? c.left_out + l * c.most + first : nullptr;
  int found;
  if (eta < T(1)) {
    found = by_box(list, n, limit, more, eta, left_out, kept);
  } else {
    uint32_t* gone = gone_global ? gone_global + l * words : gone_shared;
    for (int64_t i = threadIdx.x; i < words; i += blockDim.x) {
      uint32_t bits = 0;
      for (int64_t j = i * 32; left_out && j < n && j < i * 32 + 32; ++j)
        bits |= uint32_t{left_out[j]} << (j % 32);
      gone[i] = bits;
    }
    __syncthreads();
    found = by_kept(list, n, limit, more, gone, kept);
  }
  if (threadIdx.x == 0) kept_count[l] = found;
}

}  // namespace

void suppress(cudaStream_t stream, const Suppression& c, int32_t* kept, int32_t* kept_count) {
  if (c.lists == 0) return;
  const size_t bytes = static_cast<size_t>((c.most + 31) / 32) * sizeof(uint32_t);
  const bool shared = bytes <= kMostShared;
  const Scratch gone(stream, shared ? 1 : bytes * static_cast<size_t>(c.lists));
  const auto launch = [&]<class T>(T) {
    suppress_kernel<T><<<static_cast<unsigned>(c.lists), kThreads, shared ? bytes : 0, stream>>>(
        c, static_cast<T>(c.threshold), static_cast<T>(c.extra), static_cast<T>(c.eta),
        shared ? nullptr : gone.data<uint32_t>(), kept, kept_count);
    ARGOSY_CUDA_LAUNCHED();
  };
  if (c.dtype == DType::float32)
    launch(float());
  else
    launch(double());
}

}  // namespace argosy::cuda
