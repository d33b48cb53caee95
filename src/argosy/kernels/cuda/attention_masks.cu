#include "argosy/kernels/cuda/attention_masks.h"
#include "argosy/kernels/cuda/each.cuh"

namespace argosy::cuda {
namespace {

template <class T>
void fill(cudaStream_t stream, const T* x, int64_t batch, int64_t rows, int64_t columns,
          double value, T* y) {
  const T other = static_cast<T>(static_cast<float>(value));
  each(stream, batch * rows * columns, [=] __device__(int64_t i) {
    const int64_t line = i / columns;
    y[i] = i - line * columns <= line % rows ? x[i] : other;
  });
}

// Where sequences begin, of int32 or int64.
struct Starts {
  const void* data;
  bool narrow;
  __device__ __forceinline__ int64_t operator[](int64_t i) const {
    return narrow ? static_cast<const int32_t*>(data)[i] : static_cast<const int64_t*>(data)[i];
  }
};

// A block for each row; its sequence is the last that begins at or before it.
__global__ void mask_rows(Starts q, Starts k, int64_t sequences, int64_t rows, int64_t keys,
                          bool causal, bool* out) {
  for (int64_t i = blockIdx.x; i < rows; i += gridDim.x) {
    int64_t low = 0, high = sequences + 1;  // q[low - 1] <= i < q[high]
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (q[middle] <= i)
        low = middle + 1;
      else
        high = middle;
    }
    const int64_t s = low - 1;
    int64_t begin = 0, end = 0;
    if (s >= 0 && s < sequences) {
      begin = k[s];
      end = k[s + 1];
      if (causal && begin + i - q[s] + 1 < end) end = begin + i - q[s] + 1;
    }
    for (int64_t j = threadIdx.x; j < keys; j += blockDim.x)
      out[i * keys + j] = begin <= j && j < end;
  }
}

}  // namespace

void fill_future(cudaStream_t stream, DType dtype, const void* x, int64_t batch, int64_t rows,
                 int64_t columns, double value, void* y) {
  with_floating("fill_future", dtype, [&]<class T>(Type<T>) {
    fill<T>(stream, static_cast<const T*>(x), batch, rows, columns, value, static_cast<T*>(y));
  });
}

void varlen_mask(cudaStream_t stream, const void* starts_q, DType dtype_q, const void* starts_k,
                 DType dtype_k, int64_t sequences, int64_t rows, int64_t keys, bool causal,
                 bool* out) {
  if (rows * keys == 0) return;
  mask_rows<<<grid(rows, 1, 16), 256, 0, stream>>>({starts_q, dtype_q == DType::int32},
                                                   {starts_k, dtype_k == DType::int32}, sequences,
                                                   rows, keys, causal, out);
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
