#pragma once

// What element.cuh and ops_*.cuh use of the standard library, for NVRTC, which has none of it.
using int8_t = signed char;
using int16_t = short;
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
#ifndef INFINITY
#define INFINITY __int_as_float(0x7f800000)
#endif

namespace std {

template <bool yes, class A, class B>
struct conditional {
  using type = A;
};
template <class A, class B>
struct conditional<false, A, B> {
  using type = B;
};
template <bool yes, class A, class B>
using conditional_t = typename conditional<yes, A, B>::type;

template <class A, class B>
inline constexpr bool is_same_v = false;
template <class A>
inline constexpr bool is_same_v<A, A> = true;
template <class T, class... Of>
inline constexpr bool is_any_of_v = (is_same_v<T, Of> || ...);

template <class T>
inline constexpr bool is_floating_point_v = is_any_of_v<T, float, double>;
template <class T>
inline constexpr bool is_integral_v =
    is_any_of_v<T, bool, char, signed char, unsigned char, short, unsigned short, int, unsigned,
                long, unsigned long, long long, unsigned long long>;
template <class T>
inline constexpr bool is_signed_v =
    is_any_of_v<T, signed char, short, int, long, long long, float, double>;
template <class T>
inline constexpr bool is_unsigned_v = is_integral_v<T> && !is_signed_v<T>;

template <class F, class... A>
inline constexpr bool is_invocable_v = requires(F f, A... a) {
  f(a...);
};

template <class T>
struct make_unsigned {
  using type = T;
};
template <>
struct make_unsigned<int8_t> {
  using type = uint8_t;
};
template <>
struct make_unsigned<int16_t> {
  using type = uint16_t;
};
template <>
struct make_unsigned<int32_t> {
  using type = uint32_t;
};
template <>
struct make_unsigned<int64_t> {
  using type = uint64_t;
};
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;

}  // namespace std
