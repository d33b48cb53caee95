#include "argosy/kernels/cpu/simd/map.h"
#include "argosy/kernels/cpu/simd/tables.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

template <class To, class From>
ARGOSY_INLINE To cast(From v) {
  if constexpr (is_complex_v<From> && is_complex_v<To>) {
    using T = decltype(To::re);
    return {static_cast<T>(v.re), static_cast<T>(v.im)};
  } else if constexpr (is_complex_v<To>) {
    using T = decltype(To::re);
    return {static_cast<T>(v), T(0)};
  } else if constexpr (is_complex_v<From>) {
    if constexpr (std::is_same_v<To, bool>) {
      return v.re != 0 || v.im != 0;
    } else {
      return cast<To>(v.re);
    }
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else if constexpr (is_float_v<From> && std::is_integral_v<To>) {
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
constexpr auto kCast = [](auto v) { return cast<To>(v); };

// Between integers only the width of the target matters.
template <class From, class To>
struct Target {
  using type = To;
};
template <class From, class To>
requires(std::is_integral_v<From>&& std::is_integral_v<To> &&
         !std::is_same_v<To, bool>) struct Target<From, To> {
  using type = std::make_unsigned_t<To>;
};

void bf16_to_float(char* const* ptrs, int64_t n, const void*) {
  widen_bf16(input<uint16_t>(ptrs[0]), reinterpret_cast<float*>(ptrs[1]), n);
}
void float_to_bf16(char* const* ptrs, int64_t n, const void*) {
  narrow_bf16(input<float>(ptrs[0]), reinterpret_cast<uint16_t*>(ptrs[1]), n);
}

// Eight bytes at a time are shifted out of the word that they are: the compiler would unpack them
// in steps.
typedef uint64_t FourWords __attribute__((vector_size(32)));
template <class To>
requires(sizeof(To) == 8) ARGOSY_INLINE void spread_bytes(FourWords all, To* out) {
  constexpr FourWords kLow = {0, 8, 16, 24}, kHigh = {32, 40, 48, 56};
  const FourWords low = all >> kLow & 0xff, high = all >> kHigh & 0xff;
  __builtin_memcpy(out, &low, 32);
  __builtin_memcpy(out + 4, &high, 32);
}
// Two bytes in each word, its halves.
template <class To>
requires(sizeof(To) == 4) ARGOSY_INLINE void spread_bytes(FourWords all, To* out) {
  typedef int32_t Eight __attribute__((vector_size(32)));
  typedef To EightOut __attribute__((vector_size(32)));
  constexpr FourWords kShift = {0, 16, 32, 48};
  const FourWords pairs = all >> kShift;
  const auto numbers = reinterpret_cast<Eight>((pairs & 0xff) | (pairs << 24 & 0xff00000000));
  const EightOut made = __builtin_convertvector(numbers, EightOut);
  __builtin_memcpy(out, &made, 32);
}
template <class To>
void cast_bytes(char* const* ptrs, int64_t n, const void*) {
  const uint8_t* in = input<uint8_t>(ptrs[0]);
  To* out = reinterpret_cast<To*>(ptrs[1]);
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    uint64_t word;
    __builtin_memcpy(&word, in + i, 8);
    spread_bytes(word - FourWords{}, out + i);
  }
  for (; i < n; ++i) out[i] = static_cast<To>(in[i]);
}

template <class From, class To>
consteval Loop cast_of() {
  if (std::is_same_v<From, bfloat16> && std::is_same_v<To, float>)
    return loop_of<bf16_to_float, 1, Form::w2, Form::w4>;
  if (std::is_same_v<From, float> && std::is_same_v<To, bfloat16>)
    return loop_of<float_to_bf16, 1, Form::w4, Form::w2>;
  if constexpr (std::is_same_v<From, bool> || std::is_same_v<From, uint8_t>) {
    if constexpr (std::is_same_v<To, float>) return loop_of<cast_bytes<To>, 1, Form::w1, Form::w4>;
    if constexpr (std::is_integral_v<To> && sizeof(To) >= 4) {
      using Word = std::make_unsigned_t<To>;
      return loop_of<cast_bytes<Word>, 1, Form::w1, Stored<Word>::form>;
    }
  }
  using C = typename Target<Computed<From>, Computed<To>>::type;
  return loop_of<map1<kCast<C>, C, Computed<From>>, 1, Stored<From>::form, Stored<To>::form>;
}

template <class From, class... To>
consteval void fill_row(CastLoops& t, Types<To...>) {
  ((t.by_dtypes[static_cast<int>(dtype_id<From>)][static_cast<int>(dtype_id<To>)] =
        cast_of<From, To>()),
   ...);
}
template <class... T>
consteval CastLoops fill(Types<T...> all) {
  CastLoops t{};
  (fill_row<T>(t, all), ...);
  return t;
}

constexpr CastLoops kLoops =
    fill(Types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
               float8_e4m3, float8_e5m2, float16, bfloat16, float, double, c64, c128>{});

}  // namespace

const CastLoops cast_loops = kLoops;

}  // namespace argosy::cpu::ARGOSY_ISA
