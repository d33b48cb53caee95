#include "argosy/kernels/cuda/cast.h"

#include <algorithm>
#include <array>

#include "argosy/kernels/cuda/elementwise.cuh"
#include "argosy/kernels/cuda/ops_cast.cuh"

// Conversions. Pairs that matter have kernels that take packs; for all others one kernel for each
// target looks at the dtype of its input.
namespace argosy::cuda {
namespace {

template <class To, class From>
__device__ __forceinline__ To cast_at(const void* data, int64_t offset) {
  return store<To>(converted<Computed<To>>(load(static_cast<const From*>(data)[offset])));
}

template <class To>
__device__ __forceinline__ To any_at(const void* data, int64_t offset, DType from) {
  switch (from) {
    case DType::bool_:
      return cast_at<To, bool>(data, offset);
    case DType::uint8:
      return cast_at<To, uint8_t>(data, offset);
    case DType::int8:
      return cast_at<To, int8_t>(data, offset);
    case DType::uint16:
      return cast_at<To, uint16_t>(data, offset);
    case DType::int16:
      return cast_at<To, int16_t>(data, offset);
    case DType::uint32:
      return cast_at<To, uint32_t>(data, offset);
    case DType::int32:
      return cast_at<To, int32_t>(data, offset);
    case DType::uint64:
      return cast_at<To, uint64_t>(data, offset);
    case DType::int64:
      return cast_at<To, int64_t>(data, offset);
    case DType::float8_e4m3:
      return cast_at<To, f8_e4m3_t>(data, offset);
    case DType::float8_e5m2:
      return cast_at<To, f8_e5m2_t>(data, offset);
    case DType::float16:
      return cast_at<To, half_t>(data, offset);
    case DType::bfloat16:
      return cast_at<To, bf16_t>(data, offset);
    case DType::float32:
      return cast_at<To, float>(data, offset);
    case DType::float64:
      return cast_at<To, double>(data, offset);
    case DType::complex64:
      return cast_at<To, c64>(data, offset);
    default:
      return cast_at<To, c128>(data, offset);
  }
}

template <class To>
__global__ void __launch_bounds__(kThreads)
    cast_any(const __grid_constant__ Walk<2> w, const DType from) {
  To* to = static_cast<To*>(w.data[1]);
  const uint32_t step = gridDim.x * kThreads;
  for (uint32_t i = blockIdx.x * kThreads + threadIdx.x; i < w.items; i += step) {
    int64_t offset[2];
    offsets_of(w, i, offset);
    to[offset[1]] = any_at<To>(w.data[0], offset[0], from);
  }
}

// f(Type<T>{}) where the dtype is one of T; whether it was.
template <class F, class... T>
bool pick(DType dtype, Types<T...>, F&& f) {
  return ((dtype == dtype_id<T> && (f(Type<T>{}), true)) || ...);
}

template <class T, class... Of>
constexpr bool is_one_of(Types<Of...>) {
  return (std::is_same_v<T, Of> || ...);
}

using Integral = Types<bool, uint8_t, int32_t, int64_t>;
using Common = Types<bool, uint8_t, int32_t, int64_t, half_t, bf16_t, float, double>;

// With From, packs have a kernel; void: there is none.
template <class To, class From>
void run_cast(cudaStream_t stream, const View& to, const View& from) {
  const View operands[] = {from, to};
  void* const data[] = {from.data, to.data};
  const int sizes[] = {item_size(from.dtype), item_size(to.dtype)};
  constexpr int kPacked = [] {
    if constexpr (std::is_void_v<From>)
      return 1;
    else
      return widest_pack<CastOp<To>, To, From>();
  }();
  const auto launch = [&](const Merged& m, void* const* at, int pack) {
    if constexpr (kPacked > 1) {
      if (pack == kPacked) {
        const auto w = walk_of<WalkOf<2, kPacked>>(m, at, pack);
        constexpr int kFlight = flight_of<CastOp<To>>(kPacked);
        each<CastOp<To>, kPacked, kFlight, Numbers<int>, To, From>
            <<<blocks_for(w.items, kFlight), kThreads, 0, stream>>>(w, {});
        ARGOSY_CUDA_LAUNCHED();
        return;
      }
    }
    const auto w = walk_of<Walk<2>>(m, at, pack);
    cast_any<To><<<blocks_for(w.items, 1), kThreads, 0, stream>>>(w, from.dtype);
    ARGOSY_CUDA_LAUNCHED();
  };
  for_parts(merged(operands, 2, 1), data, sizes, 2,
            [&](const Merged& m, void* const* at) { in_packs(m, at, sizes, 2, kPacked, launch); });
}

template <class To, class... From>
bool run_common(cudaStream_t stream, const View& to, const View& from, Types<From...> types) {
  return pick(from.dtype, types, [&](auto type) {
    using F = typename decltype(type)::type;
    if constexpr (!std::is_same_v<To, F>) run_cast<To, F>(stream, to, from);
  });
}

// --- in chains ---

// Types that have a name in chains; -1: it has none.
int place_of(DType dtype) {
  static constexpr DType kOf[] = {DType::bool_,  DType::uint8,   DType::int8,     DType::uint16,
                                  DType::int16,  DType::uint32,  DType::int32,    DType::uint64,
                                  DType::int64,  DType::float16, DType::bfloat16, DType::float32,
                                  DType::float64};
  const auto* found = std::find(std::begin(kOf), std::end(kOf), dtype);
  return found == std::end(kOf) ? -1 : static_cast<int>(found - kOf);
}

template <class From, class... To>
constexpr std::array<ChainOp, sizeof...(To)> casts_from(Types<To...>) {
  return {ChainOp{"CastOp",
                  true,
                  true,
                  {type_name<From>, type_name<To>},
                  {sizeof(From), sizeof(To)},
                  1,
                  "float",
                  sizeof(Numbers<float>)}...};
}
template <class... T>
constexpr std::array<std::array<ChainOp, sizeof...(T)>, sizeof...(T)> all_casts(Types<T...> types) {
  return {casts_from<T>(types)...};
}

// Whether the conversion is held back. If not, what was before it is launched.
bool held_back(const View& to, const View& from) {
  static constexpr auto kCasts =
      all_casts(Types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t,
                      int64_t, half_t, bf16_t, float, double>{});
  const int a = place_of(from.dtype), b = place_of(to.dtype);
  if (a < 0 || b < 0) {
    chain_recorder->run();
    return false;
  }
  ChainStep& s = chain_recorder->add(kCasts[static_cast<size_t>(a)][static_cast<size_t>(b)]);
  s.operands[0] = from;
  s.operands[1] = to;
  s.alone = [](void* stream, const ChainStep& s) {
    cast(static_cast<cudaStream_t>(stream), s.operands[1], s.operands[0]);
  };
  return true;
}

}  // namespace

void cast(cudaStream_t stream, const View& to, const View& from) {
  if (chain_recorder) [[unlikely]]
    if (held_back(to, from)) return;
  using All = Types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                    f8_e4m3_t, f8_e5m2_t, half_t, bf16_t, float, double, c64, c128>;
  pick(to.dtype, All{}, [&](auto type) {
    using To = typename decltype(type)::type;
    bool done = false;
    if constexpr (is_one_of<To>(Floats{}))
      done = run_common<To>(stream, to, from, Common{});
    else if constexpr (is_one_of<To>(Integral{}))
      done = run_common<To>(stream, to, from, Floats{});
    if (!done) run_cast<To, void>(stream, to, from);
  });
}

}  // namespace argosy::cuda
