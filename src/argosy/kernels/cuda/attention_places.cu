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

// Where sequences begin, within what there is.
struct Starts {
  PackedStarts starts;
  int64_t rows;
  __device__ __forceinline__ int64_t operator[](int64_t i) const {
    const bool narrow = starts.type == DType::int32;
    return within(narrow ? static_cast<const int32_t*>(starts.data)[i]
                         : static_cast<const int64_t*>(starts.data)[i],
                  rows);
  }
  // The last sequence that begins at or before a row; -1 for none.
  __device__ int64_t of_row(int64_t row, int64_t sequences) const {
    int64_t low = 0, high = sequences + 1;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if ((*this)[middle] <= row)
        low = middle + 1;
      else
        high = middle;
    }
    return low - 1 < sequences ? low - 1 : -1;
  }
};

__global__ void spans_kernel(Starts q, Starts k, int64_t sequences, bool causal, int2* of_queries,
                             int2* of_keys) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < q.rows) {
    int2 span{0, 0};
    if (const int64_t s = q.of_row(i, sequences); s >= 0) {
      const int64_t begin = k[s], last = causal ? begin + i - q[s] + 1 : k.rows;
      span = {static_cast<int>(begin), static_cast<int>(last < k[s + 1] ? last : k[s + 1])};
    }
    of_queries[i] = span;
  }
  if (i < k.rows) {
    int2 span{0, 0};
    if (const int64_t s = k.of_row(i, sequences); s >= 0)
      span = {static_cast<int>(q[s]), static_cast<int>(q[s + 1])};
    of_keys[i] = span;
  }
}

}  // namespace

void packed_spans(cudaStream_t stream, PackedStarts starts_q, PackedStarts starts_k,
                  int64_t sequences, int64_t rows, int64_t key_rows, bool causal, int2* of_queries,
                  int2* of_keys) {
  const int64_t most = rows > key_rows ? rows : key_rows;
  spans_kernel<<<static_cast<unsigned>((most + kThreads - 1) / kThreads), kThreads, 0, stream>>>(
      {starts_q, rows}, {starts_k, key_rows}, sequences, causal, of_queries, of_keys);
  ARGOSY_CUDA_LAUNCHED();
}

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
