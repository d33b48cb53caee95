#pragma once

#include <algorithm>
#include <vector>

#include "argosy/kernels/cuda/floats.cuh"
#include "argosy/kernels/cuda/optim_rate.cuh"

// One pass over many parameters. A launch gets a table of them by value; each block finds the
// parameter that its chunk belongs to.
//
//   template <class T> struct Rule {
//     static constexpr int kStates = 1;
//     __device__ Rule(const Numbers&, const Entry&);
//     __device__ void operator()(T& p, T g, T* states) const;
//   };
namespace argosy::cuda::optim {

struct Entry {
  int64_t n;
  char* target;
  char* copy;
  const char* grad;
  char* states[kMaxStates];
  const double* made;
  double lr, l1, l2, decay;
  const uint8_t* visited;  // rows of `width` elements, or null: all
  int64_t width;
  Kind target_kind, copy_kind, grad_kind, state_kinds[kMaxStates];
  bool aligned;  // all arrays to 16 bytes
};

__device__ __forceinline__ double rate_of(const Numbers& n, const Entry& e) {
  return e.lr * factor_of(n.rate);
}

inline constexpr int kEntries = 30;
struct Table {
  Entry entries[kEntries];
  uint32_t first[kEntries + 1];  // block of each entry, then their number
  int count;
  double* sums;  // two for each block, for rules with norms
  Numbers numbers;
};
static_assert(sizeof(Table) <= 4096);  // of kernel arguments

inline constexpr int kThreads = 256;
inline constexpr int kChunk = kThreads * 4 * 4;  // elements of a block

// --- the pass ---

// What a rule may say beside kStates, by a type of that name.
template <class R>
inline constexpr bool kKeepsParam = requires {
  typename R::KeepsParam;
};  // the parameter stays
template <class R>
inline constexpr bool kSliced = requires {
  typename R::Sliced;
};  // state 1 begins at made[1]
template <class R>
inline constexpr bool kNorms = requires {
  typename R::Norms;
};  // squares of p and of state 2 add up

template <class T>
struct Regularizer {
  T scale, l1, l2;
  bool plain;
  __device__ Regularizer(const Numbers& n, const Entry& e)
      : scale(static_cast<T>(n.grad_scale)),
        l1(static_cast<T>(e.l1)),
        l2(static_cast<T>(e.l2)),
        plain(n.grad_scale == 1 && e.l1 == 0 && e.l2 == 0) {}
  __device__ __forceinline__ T operator()(T g, T p) const {
    if (plain) return g;
    const T sign = p > 0 ? T{1} : p < 0 ? T{-1} : T{0};
    return l1 == 0 ? scale * g + l2 * p : scale * g + l2 * p + l1 * sign;
  }
};

__device__ __forceinline__ int entry_of(const Table& table, uint32_t block) {
  int low = 0, high = table.count - 1;  // the last entry that begins at or before the block
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (table.first[middle] <= block)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

template <class R, class T>
__global__ void __launch_bounds__(kThreads) update(const __grid_constant__ Table table) {
  constexpr int kStates = R::kStates;
  const int which = entry_of(table, blockIdx.x);
  const Entry& e = table.entries[which];
  const int64_t begin = static_cast<int64_t>(blockIdx.x - table.first[which]) * kChunk;
  const int64_t end = begin + kChunk < e.n ? begin + kChunk : e.n;
  const R rule(table.numbers, e);
  const Regularizer<T> regularize(table.numbers, e);
  char* states[kStates > 0 ? kStates : 1] = {};
#pragma unroll
  for (int k = 0; k < kStates; ++k) states[k] = e.states[k];
  bool whole = e.aligned && !e.visited;
  if constexpr (kSliced<R>) {
    const int64_t slice = static_cast<int64_t>(e.made[1]);
    states[1] += slice * width(e.state_kinds[1]);
    whole = whole && slice % 4 == 0;
  }
  double squares[2] = {};
  auto step = [&](T& p, T g, T* s) {
    if constexpr (kNorms<R>) squares[0] += static_cast<double>(p) * static_cast<double>(p);
    rule(p, regularize(g, p), s);
    if constexpr (kNorms<R>) squares[1] += static_cast<double>(s[2]) * static_cast<double>(s[2]);
  };
  for (int64_t i = begin + threadIdx.x * 4; i < end; i += kThreads * 4) {
    if (whole && i + 4 <= end) {
      const Raw raw_p = fetch(e.target, e.target_kind, i), raw_g = fetch(e.grad, e.grad_kind, i);
      Raw raw_s[kStates > 0 ? kStates : 1];
#pragma unroll
      for (int k = 0; k < kStates; ++k) raw_s[k] = fetch(states[k], e.state_kinds[k], i);
      T p[4], g[4], s[kStates > 0 ? kStates : 1][4];
      decode(raw_p, e.target_kind, p);
      decode(raw_g, e.grad_kind, g);
#pragma unroll
      for (int k = 0; k < kStates; ++k) decode(raw_s[k], e.state_kinds[k], s[k]);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        T own[kStates > 0 ? kStates : 1];
#pragma unroll
        for (int k = 0; k < kStates; ++k) own[k] = s[k][j];
        step(p[j], g[j], own);
#pragma unroll
        for (int k = 0; k < kStates; ++k) s[k][j] = own[k];
      }
      if constexpr (!kKeepsParam<R>) {
        put(e.target, e.target_kind, i, p);
        if (e.copy) put(e.copy, e.copy_kind, i, p);
      }
#pragma unroll
      for (int k = 0; k < kStates; ++k) put(states[k], e.state_kinds[k], i, s[k]);
      continue;
    }
    for (int64_t j = i; j < i + 4 && j < end; ++j) {
      if (e.visited && !e.visited[j / e.width]) continue;
      T p = get_one<T>(e.target, e.target_kind, j);
      const T g = get_one<T>(e.grad, e.grad_kind, j);
      T own[kStates > 0 ? kStates : 1];
#pragma unroll
      for (int k = 0; k < kStates; ++k) own[k] = get_one<T>(states[k], e.state_kinds[k], j);
      step(p, g, own);
      if constexpr (!kKeepsParam<R>) {
        put_one(e.target, e.target_kind, j, p);
        if (e.copy) put_one(e.copy, e.copy_kind, j, p);
      }
#pragma unroll
      for (int k = 0; k < kStates; ++k) put_one(states[k], e.state_kinds[k], j, own[k]);
    }
  }
  if constexpr (kNorms<R>) {
    __shared__ double shared[kWarp];
    const double p = block_reduce(squares[0], 0.0, Sum(), shared);
    const double r = block_reduce(squares[1], 0.0, Sum(), shared);
    if (threadIdx.x == 0) {
      table.sums[2 * blockIdx.x] = p;
      table.sums[2 * blockIdx.x + 1] = r;
    }
  }
}

inline int64_t blocks_of(const Param& p) {
  return (p.n + kChunk - 1) / kChunk;
}

inline Entry entry(const Param& p, int states, const double* made) {
  Entry e{};
  e.n = p.n;
  e.target = static_cast<char*>(p.target.data);
  e.copy = static_cast<char*>(p.copy.data);
  e.grad = static_cast<const char*>(p.grad.data);
  e.made = made;
  e.visited = p.visited;
  e.width = p.width;
  e.lr = p.lr, e.l1 = p.l1, e.l2 = p.l2, e.decay = p.decay;
  e.target_kind = kind_of(p.target.data, p.target.dtype);
  e.copy_kind = kind_of(p.copy.data, p.copy.dtype);
  e.grad_kind = kind_of(p.grad.data, p.grad.dtype);
  e.aligned = aligned(e.target) && aligned(e.copy) && aligned(e.grad);
  for (int k = 0; k < states; ++k) {
    e.states[k] = static_cast<char*>(p.states[k].data);
    e.state_kinds[k] = kind_of(p.states[k].data, p.states[k].dtype);
    e.aligned = e.aligned && aligned(e.states[k]);
  }
  return e;
}

// Parameters of one computing type; made: null or kMade numbers for each of `params`. sums: two
// numbers for each block, blocks in the order of params.
template <template <class> class R, class T>
void run_as(cudaStream_t stream, Params params, const Numbers& numbers, const double* made,
            double* sums) {
  Table table;
  table.numbers = numbers;
  table.count = 0;
  table.first[0] = 0;
  int64_t before = 0;  // blocks of parameters that went by
  table.sums = sums;
  auto launch = [&] {
    if (table.count == 0) return;
    update<R<T>, T><<<table.first[table.count], kThreads, 0, stream>>>(table);
    ARGOSY_CUDA_LAUNCHED();
    table.count = 0;
  };
  for (size_t i = 0; i < params.size(); ++i) {
    const int64_t blocks = blocks_of(params[i]);
    const bool own = (params[i].target.dtype == DType::float64) == std::is_same_v<T, double>;
    if (own && blocks > 0) {
      // Blocks of one launch stand side by side in `sums`.
      const bool gap =
          sums && table.count && table.sums + 2 * table.first[table.count] != sums + 2 * before;
      const bool wide = table.count && table.first[table.count] + blocks > (int64_t{1} << 30);
      if (table.count == kEntries || gap || wide) launch();
      if (table.count == 0) table.sums = sums ? sums + 2 * before : nullptr;
      table.entries[table.count] =
          entry(params[i], R<T>::kStates, made ? made + i * kMade : nullptr);
      table.first[table.count + 1] = table.first[table.count] + static_cast<uint32_t>(blocks);
      ++table.count;
    }
    before += blocks;
  }
  launch();
}

template <template <class> class R>
void run(cudaStream_t stream, Params params, const Numbers& numbers, const double* made = nullptr,
         double* sums = nullptr) {
  const auto wide = [](const Param& p) { return p.target.dtype == DType::float64; };
  const auto count = std::count_if(params.begin(), params.end(), wide);
  if (count < static_cast<int64_t>(params.size()))
    run_as<R, float>(stream, params, numbers, made, sums);
  if (count > 0) run_as<R, double>(stream, params, numbers, made, sums);
}

}  // namespace argosy::cuda::optim
