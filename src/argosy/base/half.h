#pragma once

#include <bit>
#include <cstdint>

// 8- and 16-bit floating types for storage; arithmetic goes through float. All conversions round to
// nearest even.
namespace argosy {

struct float16 {
  uint16_t bits = 0;
  float16() = default;
  // The compiler's _Float16 converts in hardware (F16C).
  float16(float v) : bits(std::bit_cast<uint16_t>(static_cast<_Float16>(v))) {}
  operator float() const { return static_cast<float>(std::bit_cast<_Float16>(bits)); }
};

struct bfloat16 {
  uint16_t bits = 0;
  bfloat16() = default;
  bfloat16(float v) {
    uint32_t u = std::bit_cast<uint32_t>(v);
    // NaN must not round to infinity.
    bits = (u & 0x7fffffff) > 0x7f800000
               ? static_cast<uint16_t>(u >> 16 | 0x40)
               : static_cast<uint16_t>((u + 0x7fff + (u >> 16 & 1)) >> 16);
  }
  operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
};

namespace detail {
// Exponent/mantissa layouts of float8; E4M3 is the "fn" form: no infinities, NaN = S.1111.111.
template <int kExp, int kMan, bool kFinite>
struct Float8 {
  uint8_t bits = 0;
  Float8() = default;
  Float8(float v) : bits(encode(v)) {}
  operator float() const { return decode(bits); }

 private:
  static constexpr int kBias = (1 << (kExp - 1)) - 1;

  static uint8_t encode(float v) {
    uint32_t u = std::bit_cast<uint32_t>(v);
    uint8_t sign = static_cast<uint8_t>(u >> 24 & 0x80);
    u &= 0x7fffffff;
    constexpr uint8_t kNan = 0x7f;
    constexpr uint8_t kOverflow = kFinite ? kNan : ((1 << kExp) - 1) << kMan;
    if (u > 0x7f800000) return sign | kNan;
    if (u == 0x7f800000) return sign | kOverflow;
    int exp = static_cast<int>(u >> 23) - 127 + kBias;
    uint32_t man = (u & 0x7fffff) | (u >> 23 ? 0x800000 : 0);
    int shift = 23 - kMan;
    if (exp <= 0) shift += 1 - exp, exp = 0;
    if (shift > 25) return sign;
    uint32_t kept = man >> shift, rest = man & ((1u << shift) - 1), half = 1u << (shift - 1);
    kept += rest > half || (rest == half && (kept & 1));
    // Subnormals carry their missing leading bit; normals add it into the exponent field.
    uint32_t out = exp == 0 ? kept : (static_cast<uint32_t>(exp - 1) << kMan) + kept;
    constexpr uint32_t kMax = kFinite ? 0x7e : (((1 << kExp) - 1) << kMan) - 1;
    return sign | static_cast<uint8_t>(out > kMax ? kOverflow : out);
  }

  static float decode(uint8_t b) {
    uint32_t sign = static_cast<uint32_t>(b & 0x80) << 24;
    int exp = b >> kMan & ((1 << kExp) - 1);
    uint32_t man = b & ((1 << kMan) - 1);
    bool special = kFinite ? (b & 0x7f) == 0x7f : exp == (1 << kExp) - 1;
    if (special) {
      bool nan = kFinite || man;
      return std::bit_cast<float>(sign | 0x7f800000 | (nan ? 0x400000 : 0));
    }
    float magnitude = exp == 0 ? static_cast<float>(man) * pow2(1 - kBias - kMan)
                               : static_cast<float>(man | 1 << kMan) * pow2(exp - kBias - kMan);
    return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
  }

  static float pow2(int e) { return std::bit_cast<float>(static_cast<uint32_t>(e + 127) << 23); }
};
}  // namespace detail

struct float8_e4m3 : detail::Float8<4, 3, true> {
  using Float8::Float8;
};
struct float8_e5m2 : detail::Float8<5, 2, false> {
  using Float8::Float8;
};

}  // namespace argosy
