#include "argosy/kernels/cuda/cast.h"

#include "argosy/kernels/cuda/elementwise.cuh"

// Conversions. Pairs that matter have kernels that take packs; for all others one kernel for each
// target looks at the dtype of its input.
namespace argosy::cuda {
namespace {

template <class To, class From>
__device__ __forceinline__ To converted(From v) {
  if constexpr (is_complex_v<From> && is_complex_v<To>) {
    using T = decltype(To::re);
    return {static_cast<T>(v.re), static_cast<T>(v.im)};
  } else if constexpr (is_complex_v<To>) {
    using T = decltype(To::re);
    return {static_cast<T>(v), T(0)};
  } else if constexpr (is_complex_v<From>) {
    if constexpr (std::is_same_v<To, bool>)
      return v.re != 0 || v.im != 0;
    else
      return converted<To>(v.re);
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if constexpr (std::is_same_v<To, uint64_t>) {
      constexpr From kHalf = 9223372036854775808.0;
      return v >= kHalf
                 ? static_cast<uint64_t>(static_cast<int64_t>(v - kHalf)) ^ (uint64_t{1} << 63)
                 : static_cast<uint64_t>(static_cast<int64_t>(v));
    } else if constexpr (std::is_same_v<To, uint32_t> || sizeof(To) == 8) {
      return static_cast<To>(static_cast<int64_t>(v));
    } else {
      return static_cast<To>(static_cast<int32_t>(v));
    }
  } else {
    return static_cast<To>(v);
  }
}

template <class To>
struct CastOp {
  static constexpr Weight kWeight = Weight::light;
  static constexpr bool kMoves = true;
  template <class From>
  __device__ __forceinline__ Computed<To> operator()(From v) const {
    return converted<Computed<To>>(v);
  }
};

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

}  // namespace

void cast(cudaStream_t stream, const View& to, const View& from) {
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
