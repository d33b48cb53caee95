#include "argosy/kernels/cuda/rnn_cells.h"

#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/places.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 256;

template <class T>
__device__ __forceinline__ T sigmoid(T v) {
  return 1 / (1 + exp(-v));
}

template <class T>
__global__ void __launch_bounds__(kThreads) step_kernel(RnnStep s) {
  const int64_t n = s.hidden, total = s.batch * n;
  const int64_t width = n * (s.mode == RnnMode::lstm ? 4 : s.mode == RnnMode::gru ? 3 : 1);
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t j;
    const int64_t b = divide(i, n, j), row = b * s.sequence;
    T* gates = static_cast<T*>(s.gates) + row * width + j;
    const T* u = static_cast<const T*>(s.u) + b * width + j;
    T& h = static_cast<T*>(s.h)[i];
    T& y = static_cast<T*>(s.y)[row * n + j];
    static_cast<T*>(s.h_before)[row * n + j] = h;
    if (s.mode == RnnMode::lstm) static_cast<T*>(s.cell)[row * n + j] = static_cast<T*>(s.c)[i];
    if (s.lengths && s.t >= s.lengths[b]) {
      y = 0;
      continue;
    }
    if (s.mode == RnnMode::lstm) {
      T& c = static_cast<T*>(s.c)[i];
      const T in = sigmoid(gates[0] + u[0]), forget = sigmoid(gates[n] + u[n]);
      const T g = tanh(gates[2 * n] + u[2 * n]), out = sigmoid(gates[3 * n] + u[3 * n]);
      gates[0] = in;
      gates[n] = forget;
      gates[2 * n] = g;
      gates[3 * n] = out;
      c = forget * c + in * g;
      h = out * tanh(c);
    } else if (s.mode == RnnMode::gru) {
      const T r = sigmoid(gates[0] + u[0]), z = sigmoid(gates[n] + u[n]);
      const T u_n = u[2 * n] + (s.bias_n ? static_cast<const T*>(s.bias_n)[j] : T(0));
      const T c = tanh(gates[2 * n] + r * u_n);
      gates[0] = r;
      gates[n] = z;
      gates[2 * n] = c;
      static_cast<T*>(s.cell)[row * n + j] = u_n;
      h = (h - c) * z + c;
    } else {
      const T sum = gates[0] + u[0];
      h = s.mode == RnnMode::tanh ? tanh(sum) : sum < 0 ? T(0) : sum;
      gates[0] = h;
    }
    y = h;
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) step_back_kernel(RnnStepBack s) {
  const int64_t n = s.hidden, total = s.batch * n;
  const int gates_count = s.mode == RnnMode::lstm ? 4 : s.mode == RnnMode::gru ? 3 : 1;
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < total;
       i += int64_t{gridDim.x} * kThreads) {
    int64_t j;
    const int64_t b = divide(i, n, j), row = b * s.sequence, at = row * n + j;
    const T* gates = static_cast<const T*>(s.gates) + row * gates_count * n + j;
    T* dgates = static_cast<T*>(s.dgates) + row * gates_count * n + j;
    T* du = static_cast<T*>(s.du) + row * gates_count * n + j;
    T& dh = static_cast<T*>(s.dh)[i];
    T d = dh + (s.through ? static_cast<const T*>(s.through)[i] : T(0));
    if (s.lengths && s.t >= s.lengths[b]) {
      dh = d;
      for (int k = 0; k < gates_count; ++k) dgates[k * n] = du[k * n] = 0;
      continue;
    }
    if (s.dy) d += static_cast<const T*>(s.dy)[at];
    dh = 0;
    if (s.mode == RnnMode::lstm) {
      T& dc = static_cast<T*>(s.dc)[i];
      const T in = gates[0], forget = gates[n], g = gates[2 * n], out = gates[3 * n];
      const T c = static_cast<const T*>(s.cell)[at];
      const T t = tanh(forget * c + in * g);
      const T e = dc + d * out * (1 - t * t);
      dgates[0] = e * g * in * (1 - in);
      dgates[n] = e * c * forget * (1 - forget);
      dgates[2 * n] = e * in * (1 - g * g);
      dgates[3 * n] = d * t * out * (1 - out);
      dc = e * forget;
    } else if (s.mode == RnnMode::gru) {
      const T r = gates[0], z = gates[n], c = gates[2 * n];
      const T u_n = static_cast<const T*>(s.cell)[at], h = static_cast<const T*>(s.h_before)[at];
      const T dn = d * (1 - z) * (1 - c * c);
      dgates[0] = du[0] = dn * u_n * r * (1 - r);
      dgates[n] = du[n] = d * (h - c) * z * (1 - z);
      dgates[2 * n] = dn;
      du[2 * n] = dn * r;
      dh = d * z;
    } else if (s.mode == RnnMode::tanh) {
      dgates[0] = d * (1 - gates[0] * gates[0]);
    } else {
      dgates[0] = gates[0] > 0 ? d : T(0);
    }
  }
}

template <class T>
__global__ void __launch_bounds__(kThreads) add_kernel(int64_t n, const T* a, const T* b, T* to) {
  for (int64_t i = int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n;
       i += int64_t{gridDim.x} * kThreads)
    to[i] = (a ? a[i] : T(0)) + (b ? b[i] : T(0));
}

constexpr int kColumns = 32, kRows = 16;

template <class T>
__global__ void __launch_bounds__(kColumns* kRows)
    column_sums_kernel(int64_t rows, int64_t columns, const T* __restrict__ from,
                       T* __restrict__ to) {
  __shared__ T sums[kRows][kColumns];
  const int64_t column = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  T sum = 0;
  if (column < columns)
    for (int64_t r = threadIdx.y; r < rows; r += kRows) sum += from[r * columns + column];
  sums[threadIdx.y][threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.y != 0 || column >= columns) return;
  for (int k = 1; k < kRows; ++k) sum += sums[k][threadIdx.x];
  to[column] = sum;
}

template <class F>
void with_wide(DType dtype, F&& f) {
  if (dtype == DType::float32)
    f(Type<float>{});
  else if (dtype == DType::float64)
    f(Type<double>{});
  else
    fail_dtype("rnn", dtype);
}

}  // namespace

void rnn_step(cudaStream_t stream, DType dtype, const RnnStep& step) {
  const int64_t total = step.batch * step.hidden;
  if (total == 0) return;
  with_wide(dtype, [&]<class T>(Type<T>) {
    step_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(step);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void rnn_step_back(cudaStream_t stream, DType dtype, const RnnStepBack& step) {
  const int64_t total = step.batch * step.hidden;
  if (total == 0) return;
  with_wide(dtype, [&]<class T>(Type<T>) {
    step_back_kernel<T><<<grid(total, kThreads), kThreads, 0, stream>>>(step);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void rnn_add(cudaStream_t stream, DType dtype, int64_t n, const void* a, const void* b, void* to) {
  if (n == 0) return;
  with_wide(dtype, [&]<class T>(Type<T>) {
    add_kernel<T><<<grid(n, kThreads), kThreads, 0, stream>>>(
        n, static_cast<const T*>(a), static_cast<const T*>(b), static_cast<T*>(to));
    ARGOSY_CUDA_LAUNCHED();
  });
}

void rnn_column_sums(cudaStream_t stream, DType dtype, int64_t rows, int64_t columns,
                     const void* from, void* to) {
  if (columns == 0) return;
  const auto blocks = static_cast<unsigned>((columns + kColumns - 1) / kColumns);
  with_wide(dtype, [&]<class T>(Type<T>) {
    column_sums_kernel<T><<<blocks, dim3(kColumns, kRows), 0, stream>>>(
        rows, columns, static_cast<const T*>(from), static_cast<T*>(to));
    ARGOSY_CUDA_LAUNCHED();
  });
}

}  // namespace argosy::cuda
