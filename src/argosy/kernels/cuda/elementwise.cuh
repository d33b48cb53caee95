#pragma once

#include <cstring>
#include <tuple>

#include "argosy/kernels/cuda/chain_recorder.h"
#include "argosy/kernels/cuda/common.cuh"
#include "argosy/kernels/cuda/functors.cuh"
#include "argosy/kernels/cuda/loops.h"
#include "argosy/kernels/cuda/walk.h"

// out = op(in..), one element of each operand at a time, for operands of any strides.
namespace argosy::cuda {

// --- numbers ---

template <class T>
struct ScalarOf {
  using type = T;
};
template <>
struct ScalarOf<bool> {
  using type = uint8_t;
};
template <class T>
struct ScalarOf<Complex<T>> {
  using type = T;
};
template <class T>
using ScalarFor = typename ScalarOf<Computed<T>>::type;

template <class S>
S number(double v) {
  if constexpr (std::is_integral_v<S>) {
    constexpr S kMax = std::is_signed_v<S> ? static_cast<S>(~uint64_t{0} >> (65 - 8 * sizeof(S)))
                                           : static_cast<S>(~uint64_t{0});
    constexpr S kMin = static_cast<S>(~kMax);
    if (v >= static_cast<double>(kMax)) return kMax;
    if (v <= static_cast<double>(kMin)) return kMin;
    return v == v ? static_cast<S>(v) : S(0);
  } else {
    return static_cast<S>(v);
  }
}
template <class S>
Numbers<S> numbers_of(const cpu::LoopParams* p) {
  if (!p) return {};
  return {number<S>(p->a), number<S>(p->b), number<S>(p->c)};
}

template <class Op, class R, class N, class... A>
__device__ __noinline__ R applied_apart(const N p, A... a) {
  return applied<Op, R>(p, a...);
}

// --- the kernel ---

// What it goes through, `items` packs, of at most `most` dimensions: the driver copies all of it at
// each launch.
template <int count, int most = kMaxRank>
struct Walk {
  uint32_t items = 0;
  int rank = 1;
  void* data[count];
  bool repeated[count];  // one element is a whole pack
  Divider size[most];
  int64_t strides[most][count];  // of items
};
// Of a kernel that takes packs of n elements.
template <int count, int n>
using WalkOf = Walk<count, (n > 1 ? kPackedRank : kMaxRank)>;

template <class W, int count = static_cast<int>(std::extent_v<decltype(W::data)>)>
W walk_of(const Merged& m, void* const* data, int pack) {
  W w;
  const int last = m.rank - 1;
  w.rank = m.rank;
  w.items = static_cast<uint32_t>(m.numel() / pack);
  for (int d = 0; d < m.rank; ++d) {
    if (d) w.size[d] = Divider(static_cast<uint32_t>(d == last ? m.shape[d] / pack : m.shape[d]));
    for (int k = 0; k < count; ++k) w.strides[d][k] = m.strides[d][k] * (d == last ? pack : 1);
  }
  for (int k = 0; k < count; ++k) {
    w.data[k] = data[k];
    w.repeated[k] = m.strides[last][k] == 0;
  }
  return w;
}

template <int count, int most>
__device__ __forceinline__ void offsets_of(const Walk<count, most>& w, uint32_t item,
                                           int64_t (&offset)[count]) {
#pragma unroll
  for (int k = 0; k < count; ++k) offset[k] = 0;
#pragma unroll 1
  for (int d = w.rank - 1; d > 0; --d) {
    const uint32_t q = w.size[d].quotient(item), r = item - q * w.size[d].d;
#pragma unroll
    for (int k = 0; k < count; ++k) offset[k] += r * w.strides[d][k];
    item = q;
  }
#pragma unroll
  for (int k = 0; k < count; ++k) offset[k] += item * w.strides[0][k];
}

template <class T, int n>
__device__ __forceinline__ Pack<T, n> pack_at(const void* data, int64_t offset, bool repeated) {
  const T* p = static_cast<const T*>(data) + offset;
  if (!repeated) return *reinterpret_cast<const Pack<T, n>*>(p);
  Pack<T, n> all;
  const T one = *p;
#pragma unroll
  for (int j = 0; j < n; ++j) all.at[j] = one;
  return all;
}

// A pack of each input.
template <size_t k, class T, int n>
struct Slot {
  Pack<T, n> pack;
};
template <class Index, int n, class... A>
struct Slots;
template <size_t... k, int n, class... A>
struct Slots<std::index_sequence<k...>, n, A...> : Slot<k, A, n>... {
  template <int count, int most>
  __device__ __forceinline__ void fetch(const Walk<count, most>& w,
                                        const int64_t (&offset)[count]) {
    ((Slot<k, A, n>::pack = pack_at<A, n>(w.data[k], offset[k], n > 1 && w.repeated[k])), ...);
  }
  template <class Op, class R, class N>
  __device__ __forceinline__ Pack<R, n> apply(const N& p) const {
    Pack<R, n> out;
#pragma unroll
    for (int j = 0; j < n; ++j) {
      if constexpr (n > 1 && Op::kWeight == Weight::heavy)
        out.at[j] = applied_apart<Op, R>(p, cuda::load(Slot<k, A, n>::pack.at[j])...);
      else
        out.at[j] = applied<Op, R>(p, cuda::load(Slot<k, A, n>::pack.at[j])...);
    }
    return out;
  }
};

inline constexpr int kThreads = 256;

// Several waves, of 6 or 8 blocks a multiprocessor, so that the last one weighs little.
inline int blocks_for(int64_t items, int flight) {
  return grid(items, int64_t{kThreads} * flight, 48);
}

template <class Op, int n, int flight, class N, class R, class... A>
__global__ void __launch_bounds__(kThreads)
    each(const __grid_constant__ WalkOf<sizeof...(A) + 1, n> w, const N p) {
  constexpr int kOut = sizeof...(A);
  using Index = std::index_sequence_for<A...>;
  R* out = static_cast<R*>(w.data[kOut]);
  const uint32_t step = gridDim.x * kThreads, first = blockIdx.x * kThreads + threadIdx.x;
  for (uint32_t i = first; i < w.items; i += flight * step) {
    Slots<Index, n, A...> in[flight];
    int64_t offset[flight][kOut + 1];
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (u && i + u * step >= w.items) continue;
      offsets_of(w, i + u * step, offset[u]);
      in[u].fetch(w, offset[u]);
    }
#pragma unroll
    for (int u = 0; u < flight; ++u) {
      if (u && i + u * step >= w.items) continue;
      *reinterpret_cast<Pack<R, n>*>(out + offset[u][kOut]) = in[u].template apply<Op, R>(p);
    }
  }
}

template <class T>
inline constexpr bool is_wide_v = std::is_same_v<T, double> || is_complex_v<T>;

template <class Op>
constexpr bool moves() {
  if constexpr (requires { Op::kMoves; })
    return Op::kMoves;
  else
    return false;
}
template <class Op, class First>
struct NumberOf {
  using type = ScalarFor<First>;
};
template <class Op, class First>
requires requires {
  typename Op::Number;
}
struct NumberOf<Op, First> {
  using type = typename Op::Number;
};

// Elements of a pack. Integers go one by one, for the sake of the compiler's time, but where an op
// says that it only moves items of that width.
template <class Op, class R, class... A>
constexpr int widest_pack() {
  if (Op::kWeight != Weight::light && (is_wide_v<A> || ...)) return 1;
  if (Op::kWeight == Weight::heavy && !((is_half_v<A> || std::is_same_v<A, float>)&&...)) return 1;
  constexpr bool kMoves = moves<Op>();
  if (!kMoves && ((std::is_integral_v<A> && sizeof(A) > 1) || ...)) return 1;
  size_t size = sizeof(R);
  ((size = sizeof(A) > size ? sizeof(A) : size), ...);
  return size >= 16 ? 1 : size == 1 && !kMoves ? 8 : static_cast<int>(16 / size);
}
// Packs that a thread has in flight: of the ops that do little, 32 bytes or more.
template <class Op>
constexpr int flight_of(int pack, int inputs = 2) {
  return Op::kWeight != Weight::light || (pack >= 8 && inputs > 1) ? 1 : 2;
}

// --- chains ---

// What a type is called in the text of a chain; null: it is in none.
template <class T>
inline constexpr const char* type_name = nullptr;
#define ARGOSY_TYPE_NAME(T) \
  template <>               \
  inline constexpr const char* type_name<T> = #T;
ARGOSY_TYPE_NAME(bool)
ARGOSY_TYPE_NAME(uint8_t)
ARGOSY_TYPE_NAME(int8_t)
ARGOSY_TYPE_NAME(uint16_t)
ARGOSY_TYPE_NAME(int16_t)
ARGOSY_TYPE_NAME(uint32_t)
ARGOSY_TYPE_NAME(int32_t)
ARGOSY_TYPE_NAME(uint64_t)
ARGOSY_TYPE_NAME(int64_t)
ARGOSY_TYPE_NAME(half_t)
ARGOSY_TYPE_NAME(bf16_t)
ARGOSY_TYPE_NAME(float)
ARGOSY_TYPE_NAME(double)
#undef ARGOSY_TYPE_NAME

template <class Op, class S, class R, class... A>
constexpr ChainOp chain_op_of() {
  ChainOp op{};
  if constexpr (requires { Op::kName; }) {
    const bool named = ((type_name<A> != nullptr) && ...) && type_name<R> && type_name<S>;
    if (named && Op::kWeight != Weight::heavy) op.name = Op::kName;
  }
  op.light = Op::kWeight == Weight::light;
  int k = 0;
  ((op.types[k] = type_name<A>, op.sizes[k++] = sizeof(A)), ...);
  op.types[k] = type_name<R>;
  op.sizes[k] = sizeof(R);
  op.inputs = k;
  op.number = type_name<S>;
  op.number_bytes = sizeof(Numbers<S>);
  return op;
}
template <class Op, class S, class R, class... A>
inline constexpr ChainOp chain_op = chain_op_of<Op, S, R, A...>();

template <class Stated, class R, class... A>
void run_each(cudaStream_t stream, const View* operands, const cpu::LoopParams* params);

// Whether the call is held back. If not, what was before it is launched.
template <class Stated, class R, class... A>
bool held_back(const View* operands, const cpu::LoopParams* params) {
  using Op = OpFor<Stated, R>;
  using S = typename NumberOf<Op, std::tuple_element_t<0, std::tuple<A...>>>::type;
  static constexpr const ChainOp& kOp = chain_op<Op, S, R, A...>;
  if constexpr (kOp.name != nullptr) {
    ChainStep& s = chain_recorder->add(kOp);
    for (int k = 0; k <= kOp.inputs; ++k) s.operands[k] = operands[k];
    if (params) {
      s.has_params = true;
      s.params[0] = params->a;
      s.params[1] = params->b;
      s.params[2] = params->c;
      const Numbers<S> p = numbers_of<S>(params);
      static_assert(sizeof p <= sizeof s.numbers);
      std::memcpy(s.numbers, &p, sizeof p);
    }
    s.alone = [](void* stream, const ChainStep& s) {
      const cpu::LoopParams p{s.params[0], s.params[1], s.params[2]};
      run_each<Stated, R, A...>(static_cast<cudaStream_t>(stream), s.operands,
                                s.has_params ? &p : nullptr);
    };
    return true;
  } else {
    chain_recorder->run();
    return false;
  }
}

// Runs the op over operands (inputs, then the output) that hold A.. and R.
template <class Stated, class R, class... A>
void run_each(cudaStream_t stream, const View* operands, const cpu::LoopParams* params) {
  if (chain_recorder) [[unlikely]]
    if (held_back<Stated, R, A...>(operands, params)) return;
  using Op = OpFor<Stated, R>;
  constexpr int kCount = sizeof...(A) + 1, kPacked = widest_pack<Op, R, A...>();
  using First = std::tuple_element_t<0, std::tuple<A...>>;
  using S = typename NumberOf<Op, First>::type;
  using N = Numbers<S>;
  static constexpr int kSizes[] = {sizeof(A)..., sizeof(R)};
  const N p = numbers_of<S>(params);
  void* data[kCount];
  for (int k = 0; k < kCount; ++k) data[k] = operands[k].data;
  const auto launch = [&](const Merged& m, void* const* at, int pack) {
    if (kPacked > 1 && pack == kPacked) {
      const auto w = walk_of<WalkOf<kCount, kPacked>>(m, at, pack);
      constexpr int kFlight = flight_of<Op>(kPacked, kCount - 1);
      each<Op, kPacked, kFlight, N, R, A...>
          <<<blocks_for(w.items, kFlight), kThreads, 0, stream>>>(w, p);
    } else {
      const auto w = walk_of<WalkOf<kCount, 1>>(m, at, pack);
      constexpr int kFlight = flight_of<Op>(1, kCount - 1);
      each<Op, 1, kFlight, N, R, A...><<<blocks_for(w.items, kFlight), kThreads, 0, stream>>>(w, p);
    }
    ARGOSY_CUDA_LAUNCHED();
  };
  const auto part = [&](const Merged& m, void* const* at) {
    in_packs(m, at, kSizes, kCount, kPacked, launch);
  };
  for_parts(merged(operands, kCount, kCount - 1), data, kSizes, kCount, part);
}

// --- dtypes ---

template <class... T>
struct Types {};
using Unsigned = Types<uint8_t, uint16_t, uint32_t, uint64_t>;
using Signed = Types<int8_t, int16_t, int32_t, int64_t>;
using Integers = Types<uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t>;
using Floats = Types<half_t, bf16_t, float, double>;
using Complexes = Types<c64, c128>;
using Bools = Types<bool>;

template <class T>
inline constexpr DType dtype_id = dtype_of<T>;
template <>
inline constexpr DType dtype_id<half_t> = DType::float16;
template <>
inline constexpr DType dtype_id<bf16_t> = DType::bfloat16;
template <>
inline constexpr DType dtype_id<f8_e4m3_t> = DType::float8_e4m3;
template <>
inline constexpr DType dtype_id<f8_e5m2_t> = DType::float8_e5m2;
template <>
inline constexpr DType dtype_id<c64> = DType::complex64;
template <>
inline constexpr DType dtype_id<c128> = DType::complex128;

// Result types given the input's, beside types that are meant themselves.
struct Same {};
struct Real {};
template <class R, class T>
struct ResultOf {
  using type = R;
};
template <class T>
struct ResultOf<Same, T> {
  using type = T;
};
template <class T>
struct ResultOf<Real, T> {
  using type = typename ScalarOf<T>::type;
};

// Whether the key was one of the types; if so the op has been launched.
template <class Op, class R = Same, class... T>
bool unary(cudaStream_t stream, const LoopCall& c, Types<T...>) {
  return ((c.key == dtype_id<T> &&
           (run_each<Op, typename ResultOf<R, T>::type, T>(stream, c.operands, c.params), true)) ||
          ...);
}
template <class Op, class R = Same, class... T>
bool binary(cudaStream_t stream, const LoopCall& c, Types<T...>) {
  return (
      (c.key == dtype_id<T> &&
       (run_each<Op, typename ResultOf<R, T>::type, T, T>(stream, c.operands, c.params), true)) ||
      ...);
}
template <class Op, class... T>
bool ternary(cudaStream_t stream, const LoopCall& c, Types<T...>) {
  return (
      (c.key == dtype_id<T> && (run_each<Op, T, T, T, T>(stream, c.operands, c.params), true)) ||
      ...);
}

// For ops whose bits do not depend on the sign: kernels of unsigned types serve signed ones.
inline LoopCall as_unsigned(LoopCall c) {
  switch (c.key) {
    case DType::int8:
      c.key = DType::uint8;
      break;
    case DType::int16:
      c.key = DType::uint16;
      break;
    case DType::int32:
      c.key = DType::uint32;
      break;
    case DType::int64:
      c.key = DType::uint64;
      break;
    default:
      break;
  }
  return c;
}

}  // namespace argosy::cuda
