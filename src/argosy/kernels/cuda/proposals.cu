#include <algorithm>

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/proposals.h"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class F>
void with_coordinates(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(float());
  else
    f(double());
}

// Rounded each, as on the CPU.
__device__ __forceinline__ float product(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double product(double a, double b) {
  return __dmul_rn(a, b);
}
template <class T>
__device__ __forceinline__ T inside(T x, T limit) {
  const T low = limit < x ? limit : x;
  return low < T(0) ? T(0) : low;
}

template <class T>
__global__ void decode_kernel(Proposals c, T least, T most, T* out, bool* left_out) {
  const int64_t n = c.images * c.most, step = int64_t{gridDim.x} * blockDim.x;
  const T extra = c.pixel_offset ? T(1) : T(0);
  for (int64_t at = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; at < n; at += step) {
    const int64_t image = at / c.most, k = c.order[at];
    const T* size = static_cast<const T*>(c.sizes) + image * 2;
    const T* anchor = static_cast<const T*>(c.boxes) + 4 * k;
    const T* variance = static_cast<const T*>(c.variances) + 4 * k;
    const T* deltas = static_cast<const T*>(c.deltas) +
                      (image * c.anchors + k % c.anchors) * 4 * c.places + k / c.anchors;
    T delta[4];
    for (int i = 0; i < 4; ++i) delta[i] = product(deltas[i * c.places], variance[i]);
    T w = anchor[2] - anchor[0] + extra, h = anchor[3] - anchor[1] + extra;
    const T cx = product(delta[0], w) + (anchor[0] + w / 2);
    const T cy = product(delta[1], h) + (anchor[1] + h / 2);
    w = product(w, exp(most < delta[2] ? most : delta[2]));
    h = product(h, exp(most < delta[3] ? most : delta[3]));
    const T right = size[1] - extra, bottom = size[0] - extra;
    const T box[] = {inside(cx - w / 2, right), inside(cy - h / 2, bottom),
                     inside(cx + w / 2 - extra, right), inside(cy + h / 2 - extra, bottom)};
    w = box[2] - box[0] + extra;
    h = box[3] - box[1] + extra;
    bool good = w >= least && h >= least;
    if (c.pixel_offset) good = good && box[0] + w / 2 <= size[1] && box[1] + h / 2 <= size[0];
    left_out[at] = !good;
    for (int i = 0; i < 4; ++i) out[4 * at + i] = box[i];
  }
}

// A row of blocks for each image.
template <class T>
__global__ void take_kernel(Proposals c, const T* boxes, const T* scores, const int32_t* kept,
                            const int32_t* count, const int64_t* start, T* out_boxes,
                            T* out_scores) {
  const int64_t image = blockIdx.y, step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count[image]; i += step) {
    const int64_t from = image * c.most + kept[image * c.most + i], to = start[image] + i;
    for (int d = 0; d < 4; ++d) out_boxes[4 * to + d] = boxes[4 * from + d];
    out_scores[to] = scores[image * c.anchors * c.places + c.order[from]];
  }
}

// A thread for each list: scores fall.
template <class T>
__global__ void ranges_kernel(const T* scores, const uint32_t* order, int64_t lists, int64_t n,
                              int64_t classes, int64_t skipped, T threshold, int64_t most,
                              int32_t* first, int32_t* count) {
  const int64_t l = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (l >= lists) return;
  const T* s = scores + l * n;
  const uint32_t* o = order + l * n;
  const auto end_of = [&](auto&& holds) {  // of what holds for the first ones
    int64_t low = 0, high = n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (holds(s[o[middle]]))
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  };
  const int64_t begin = end_of([](T v) { return v != v; });
  const int64_t end = end_of([&](T v) { return v != v || v > threshold; });
  int64_t found = end - begin;
  if (most >= 0 && found > most) found = most;
  first[l] = static_cast<int32_t>(begin);
  count[l] = l % classes == skipped ? 0 : static_cast<int32_t>(found);
}

// A block for each list.
template <class T>
__global__ void collect_kernel(const T* scores, const uint32_t* order, int64_t n,
                               const int32_t* first, const int32_t* kept, const int32_t* count,
                               const int64_t* start, int32_t* places, T* kept_scores) {
  const int64_t l = blockIdx.x;
  for (int64_t i = threadIdx.x; i < count[l]; i += blockDim.x) {
    const uint32_t place = order[l * n + first[l] + kept[l * n + i]];
    places[start[l] + i] = static_cast<int32_t>(place);
    kept_scores[start[l] + i] = scores[l * n + place];
  }
}

template <class T>
__global__ void rows_kernel(int64_t rows, const int32_t* kinds, const T* scores,
                            const int32_t* places, const T* boxes, T* out) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < rows; i += step) {
    out[6 * i] = static_cast<T>(kinds[i]);
    out[6 * i + 1] = scores[i];
    for (int d = 0; d < 4; ++d) out[6 * i + 2 + d] = boxes[int64_t{places[i]} * 4 + d];
  }
}

}  // namespace

void decode_proposals(cudaStream_t stream, const Proposals& c, void* boxes, bool* left_out) {
  const int64_t n = c.images * c.most;
  if (n == 0) return;
  with_coordinates(c.dtype, [&]<class T>(T) {
    // Wider boxes are the network's errors.
    const T most = static_cast<T>(std::log(1000.0 / 16));
    decode_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(c, static_cast<T>(c.least), most,
                                                                 static_cast<T*>(boxes), left_out);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void take_proposals(cudaStream_t stream, const Proposals& c, const void* boxes, const void* scores,
                    const int32_t* kept, const int32_t* count, const int64_t* start,
                    void* out_boxes, void* out_scores) {
  if (c.images * c.most == 0) return;
  const dim3 blocks(
      static_cast<unsigned>(std::min<int64_t>((c.most + kThreads - 1) / kThreads, 64)),
      static_cast<unsigned>(c.images));
  with_coordinates(c.dtype, [&]<class T>(T) {
    take_kernel<T><<<blocks, kThreads, 0, stream>>>(
        c, static_cast<const T*>(boxes), static_cast<const T*>(scores), kept, count, start,
        static_cast<T*>(out_boxes), static_cast<T*>(out_scores));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void score_ranges(cudaStream_t stream, DType dtype, const void* scores, const uint32_t* order,
                  int64_t lists, int64_t n, int64_t classes, int64_t skipped, double threshold,
                  int64_t most, int32_t* first, int32_t* count) {
  if (lists == 0) return;
  const auto blocks = static_cast<unsigned>((lists + kThreads - 1) / kThreads);
  with_coordinates(dtype, [&]<class T>(T) {
    ranges_kernel<T>
        <<<blocks, kThreads, 0, stream>>>(static_cast<const T*>(scores), order, lists, n, classes,
                                          skipped, static_cast<T>(threshold), most, first, count);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void collect_kept(cudaStream_t stream, DType dtype, const void* scores, const uint32_t* order,
                  int64_t lists, int64_t n, const int32_t* first, const int32_t* kept,
                  const int32_t* count, const int64_t* start, int32_t* places, void* kept_scores) {
  if (lists == 0) return;
  with_coordinates(dtype, [&]<class T>(T) {
    collect_kernel<T><<<static_cast<unsigned>(lists), kThreads, 0, stream>>>(
        static_cast<const T*>(scores), order, n, first, kept, count, start, places,
        static_cast<T*>(kept_scores));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void write_rows(cudaStream_t stream, DType dtype, int64_t rows, const int32_t* kinds,
                const void* scores, const int32_t* places, const void* boxes, void* out) {
  if (rows == 0) return;
  with_coordinates(dtype, [&]<class T>(T) {
    rows_kernel<T><<<grid(rows, kThreads), kThreads, 0, stream>>>(
        rows, kinds, static_cast<const T*>(scores), places, static_cast<const T*>(boxes),
        static_cast<T*>(out));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
