#include "argosy/kernels/cuda/columns.cuh"
#include "argosy/kernels/cuda/cross_entropy.h"
#include "argosy/kernels/cuda/labels.cuh"
#include "argosy/kernels/cuda/rows.cuh"

namespace argosy::cuda {
namespace {

template <class T>
inline constexpr bool kNarrow = sizeof(T) == 2;  // two numbers of a row are kept, not its softmax

template <class T>
struct Call {
  Labels labels;
  int64_t outer, n, inner;
  const T* x;
  const void* weight;
  bool narrow_loss;  // loss, dloss and weight are of T
  void* loss;        // dloss in the gradient
  void* kept;
  T* dx;

  __device__ __forceinline__ bool leaves_out(int64_t label) const {
    return label == labels.ignore_index;
  }
  // By what a row counts; NaN for a label that is no class.
  __device__ __forceinline__ Computed<T> factor(int64_t label) const {
    if (!labels.is_class(label)) return static_cast<Computed<T>>(NAN);
    return weight ? read_wide<T>(weight, label, narrow_loss) : Computed<T>(1);
  }
};

// Loss and statistics of row r from its sum of exponentials; `score` is x at the label.
template <class T>
__device__ __forceinline__ void give_row(const Call<T>& a, int64_t r, int64_t label,
                                         const ExpSum<T>& s, Computed<T> score) {
  using C = Computed<T>;
  a.labels.check(label);
  const bool left_out = a.leaves_out(label);
  const C loss = left_out ? C(0) : (log_of(s.sum) + (s.high - score)) * a.factor(label);
  write_wide<T>(a.loss, r, a.narrow_loss, loss);
  if constexpr (kNarrow<T>)
    static_cast<float2*>(a.kept)[r] = left_out ? float2{0, 0} : float2{s.high, 1 / s.sum};
}

template <class T, int P, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 1024)) loss_rows(Call<T> a) {
  using C = Computed<T>;
  using Row = Team<kWarps>;
  const int64_t n = a.n;
  for (int64_t r = Row::first(); r < a.outer; r += Row::step()) {
    const T* x = a.x + r * n;
    const int64_t label = a.labels[r];
    ExpSum<T> s;
    if (!kNarrow<T> || !a.leaves_out(label)) {
      const int64_t step = static_cast<int64_t>(Row::size()) * P;
#pragma unroll 4
      for (int64_t at = Row::rank() * P; at < n; at += step) {
        const auto raw = *reinterpret_cast<const Pack<T, P>*>(x + at);
        C v[P];
#pragma unroll
        for (int i = 0; i < P; ++i) v[i] = load(raw.at[i]);
        s.add(v);
      }
      s.template combine<Row>();
    }
    if (Row::rank() == 0)
      give_row(a, r, label, s, a.labels.is_class(label) ? load(x[label]) : C(0));
    if constexpr (!kNarrow<T>) {
      const C factor = 1 / s.sum;
      map_row<Row, P>(x, static_cast<T*>(a.kept) + r * n, n, [&](T v, int64_t) {
        return store<T>(exp_for<T>(load(v) - s.high) * factor);
      });
    }
  }
}

// The row whose column starts there.
__device__ __forceinline__ int64_t row_at(int64_t first, int64_t n, int64_t inner) {
  return first / (n * inner) * inner + first % (n * inner);
}

template <class T>
__global__ void __launch_bounds__(256) loss_columns(Call<T> a) {
  using C = Computed<T>;
  __shared__ C shared[256];
  const int64_t n = a.n, inner = a.inner;
  for_columns(a.outer, n, inner, [&](int64_t first) {
    ExpSum<T> s;
    if (first >= 0) {
      for (int64_t j = threadIdx.y; j < n; j += blockDim.y) {
        const C v[1] = {load(a.x[first + j * inner])};
        s.add(v);
      }
    }
    const C most = column_reduce(s.high, Max(), shared);
    s.sum = column_reduce(s.sum * exp_for<T>(s.high - ExpSum<T>::shift_of(most)), Sum(), shared);
    s.high = most;
    if (first < 0) return;
    const int64_t r = row_at(first, n, inner), label = a.labels[r];
    if (threadIdx.y == 0)
      give_row(a, r, label, s, a.labels.is_class(label) ? load(a.x[first + label * inner]) : C(0));
    if constexpr (!kNarrow<T>) {
      const C factor = 1 / s.sum;
      for (int64_t j = threadIdx.y; j < n; j += blockDim.y)
        static_cast<T*>(a.kept)[r * n + j] =
            store<T>(exp_for<T>(load(a.x[first + j * inner]) - s.high) * factor);
    }
  });
}

// The gradient of a row's elements from what was kept, by place.
template <class T>
struct RowGrad {
  using C = Computed<T>;
  C high = 0, factor = 1, times = 0;
  int64_t label = -1;
  bool left_out;

  __device__ __forceinline__ RowGrad(const Call<T>& a, int64_t r) : label(a.labels[r]) {
    left_out = a.leaves_out(label);
    if (left_out) return;
    times = read_wide<T>(a.loss, r, a.narrow_loss) * a.factor(label);
    if constexpr (kNarrow<T>) {
      const float2 kept = static_cast<const float2*>(a.kept)[r];
      high = kept.x;
      factor = kept.y;
    }
  }
  // v: the score, or the softmax where that is kept.
  __device__ __forceinline__ T operator()(T v, int64_t at) const {
    if (left_out) return store<T>(C(0));
    C p = load(v);
    if constexpr (kNarrow<T>) p = exp_for<T>(p - high) * factor;
    p *= times;
    return store<T>(at == label ? p - times : p);
  }
};

template <class T, int P, bool kWarps>
__global__ void __launch_bounds__(team_bound(kWarps, 1024)) grad_rows(Call<T> a) {
  using Row = Team<kWarps>;
  const T* from = kNarrow<T> ? a.x : static_cast<const T*>(a.kept);
  for (int64_t r = Row::first(); r < a.outer; r += Row::step()) {
    const RowGrad<T> grad(a, r);
    map_row<Row, P>(from + r * a.n, a.dx + r * a.n, a.n, grad);
  }
}

template <class T>
__global__ void __launch_bounds__(256) grad_columns(Call<T> a) {
  for_columns(a.outer, a.n, a.inner, [&](int64_t first) {
    if (first < 0) return;
    const int64_t r = row_at(first, a.n, a.inner);
    const RowGrad<T> grad(a, r);
    for (int64_t j = threadIdx.y; j < a.n; j += blockDim.y) {
      const int64_t at = first + j * a.inner;
      a.dx[at] = grad(kNarrow<T> ? a.x[at] : static_cast<const T*>(a.kept)[r * a.n + j], j);
    }
  });
}

template <class T>
Call<T> call_of(const CrossEntropy& a, const void* x, const void* kept, const void* labels,
                const void* weight, const void* loss, void* dx) {
  return {{labels, a.label_dtype == DType::int32, a.n, a.ignore_index, a.watch},
          a.outer,
          a.n,
          a.inner,
          static_cast<const T*>(x),
          weight,
          a.loss_dtype == a.dtype,
          const_cast<void*>(loss),
          const_cast<void*>(kept),
          static_cast<T*>(dx)};
}

unsigned block_threads(int64_t n, int pack) {
  return static_cast<unsigned>(std::clamp<int64_t>(n / (4 * pack) / kWarp * kWarp, 128, 1024));
}

// rows<P, warps>, for rows that lie side by side
#define ARGOSY_LAUNCH_ROWS(kernel, packed)                                     \
  do {                                                                         \
    constexpr int P = kPack<T>;                                                \
    const bool warps = a.n <= 1024;                                            \
    const unsigned blocks = team_blocks(a.outer, warps);                       \
    if (warps && (packed))                                                     \
      kernel<T, P, true><<<blocks, team_bound(true, 0), 0, stream>>>(call);    \
    else if (warps)                                                            \
      kernel<T, 1, true><<<blocks, team_bound(true, 0), 0, stream>>>(call);    \
    else if (packed)                                                           \
      kernel<T, P, false><<<blocks, block_threads(a.n, P), 0, stream>>>(call); \
    else                                                                       \
      kernel<T, 1, false><<<blocks, block_threads(a.n, 1), 0, stream>>>(call); \
    ARGOSY_CUDA_LAUNCHED();                                                    \
  } while (0)

}  // namespace

void cross_entropy(cudaStream_t stream, const CrossEntropy& a, const void* x, const void* labels,
                   const void* weight, void* loss, void* kept) {
  if (a.outer * a.inner * a.n == 0) return;
  with_floating("cross_entropy", a.dtype, [&]<class T>(Type<T>) {
    const Call<T> call = call_of<T>(a, x, kept, labels, weight, loss, nullptr);
    if (a.inner == 1) {
      const bool packed = a.n % kPack<T> == 0 && aligned(x) && (kNarrow<T> || aligned(kept));
      ARGOSY_LAUNCH_ROWS(loss_rows, packed);
      return;
    }
    const ColumnBlock block = column_block(a.n, a.inner);
    loss_columns<T>
        <<<column_blocks(a.outer, a.inner, block), dim3(block.x, block.y), 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  });
}

void cross_entropy_grad(cudaStream_t stream, const CrossEntropy& a, const void* x, const void* kept,
                        const void* labels, const void* weight, const void* dloss, void* dx) {
  if (a.outer * a.inner * a.n == 0) return;
  with_floating("cross_entropy_grad", a.dtype, [&]<class T>(Type<T>) {
    const Call<T> call = call_of<T>(a, x, kept, labels, weight, dloss, dx);
    if (a.inner == 1) {
      const bool packed = a.n % kPack<T> == 0 && aligned(kNarrow<T> ? x : kept) && aligned(dx);
      ARGOSY_LAUNCH_ROWS(grad_rows, packed);
      return;
    }
    const ColumnBlock block = column_block(a.n, a.inner);
    grad_columns<T>
        <<<column_blocks(a.outer, a.inner, block), dim3(block.x, block.y), 0, stream>>>(call);
    ARGOSY_CUDA_LAUNCHED();
  });
}
#undef ARGOSY_LAUNCH_ROWS

}  // namespace argosy::cuda
