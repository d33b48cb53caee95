#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/optim.h"

// Row-sparse gradients.
namespace argosy::cuda::optim {
namespace {

constexpr int kThreads = 256;

// Rows out of range are left out.
template <class V, class T>
__global__ void add(Rows from, const V* values, T* dense, uint8_t* visited) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x;
       i < from.count * from.width; i += stride) {
    const int64_t row = from.rows[i / from.width], column = i % from.width;
    if (row < 0 || row >= from.height) continue;
    atomicAdd(dense + row * from.width + column, static_cast<T>(load(values[i])));
    if (visited && column == 0) visited[row] = 1;
  }
}

template <class T>
void add_to(cudaStream_t stream, const Rows& from, T* dense, uint8_t* visited) {
  with_floating("optimizer", from.dtype, [&]<class V>(Type<V>) {
    add<V, T><<<grid(from.count * from.width, kThreads), kThreads, 0, stream>>>(
        from, static_cast<const V*>(from.values), dense, visited);
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace

void add_rows(cudaStream_t stream, const Rows& from, void* dense, DType dtype, uint8_t* visited) {
  const bool wide = dtype == DType::float64;
  const auto bytes = static_cast<size_t>(from.height * from.width) * (wide ? 8 : 4);
  if (bytes == 0) return;
  ARGOSY_CUDA(cudaMemsetAsync(dense, 0, bytes, stream));
  if (visited) ARGOSY_CUDA(cudaMemsetAsync(visited, 0, static_cast<size_t>(from.height), stream));
  if (from.count == 0) return;
  if (wide)
    add_to(stream, from, static_cast<double*>(dense), visited);
  else
    add_to(stream, from, static_cast<float*>(dense), visited);
}

}  // namespace argosy::cuda::optim
