#include "argosy/kernels/cuda/attention.h"
#include "argosy/kernels/cuda/common.cuh"

namespace argosy::cuda {
namespace {

constexpr int kThreads = 128;

__device__ __forceinline__ int64_t within(int64_t at, int64_t rows) {
  return at < 0 ? 0 : at > rows ? rows : at;
}

// Thread i: sequence i, and the end behind the last one.
template <class I>
__global__ void places_kernel(PackedPlaces p, const I* starts_q, const I* starts_k, int64_t step,
                              int32_t* to) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i > p.most) return;
  const int64_t own = i < p.sequences ? i : p.sequences;
  const int64_t next = own < p.sequences ? own + 1 : own;
  const int64_t q = within(starts_q[own], p.rows), k = within(starts_k[own], p.key_rows);
  if (i < p.most) {
    const int64_t length_q = within(starts_q[next], p.rows) - q;
    const int64_t length_k = within(starts_k[next], p.key_rows) - k;
    const bool some = length_q > 0 && length_k > 0;
    to[i] = some ? static_cast<int32_t>(length_q) : 0;
    to[step + i] = some ? static_cast<int32_t>(length_k) : 0;
  }
  for (int t = 0; t < kPackedTensors; ++t) {
    const bool of_keys = t == 1 || t == 2;
    to[(2 + t) * step + i] = static_cast<int32_t>((of_keys ? k : q) * p.widths[t]);
  }
}

}  // namespace

void packed_places(cudaStream_t stream, const PackedPlaces& p, int32_t* to) {
  const auto blocks = static_cast<unsigned>(p.most / kThreads + 1);
  with_index("packed_attention", p.starts_type, [&](auto type) {
    using I = typename decltype(type)::type;
    places_kernel<I><<<blocks, kThreads, 0, stream>>>(p, static_cast<const I*>(p.starts_q),
                                                      static_cast<const I*>(p.starts_k),
                                                      places_step(p.most), to);
  });
  ARGOSY_CUDA_LAUNCHED();
}

}  // namespace argosy::cuda
