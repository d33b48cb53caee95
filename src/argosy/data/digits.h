#pragma once

#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

// Decimal numbers, eight digits at a time. All read up to 8 bytes past what they take.
namespace argosy::data {

inline constexpr uint64_t kPowers[9] = {1,      10,      100,      1000,     10000,
                                        100000, 1000000, 10000000, 100000000};

// How many of the 8 bytes at p are digits before the first that is none, and what they say.
inline unsigned digits(const char* p, uint64_t* value) {
  uint64_t bytes;
  std::memcpy(&bytes, p, 8);
  const uint64_t low = bytes - 0x3030303030303030, high = bytes + 0x4646464646464646;
  const uint64_t others = (low | high) & 0x8080808080808080;
  const auto n = static_cast<unsigned>(std::countr_zero(others)) / 8;
  if (n == 0) {
    *value = 0;
    return 0;
  }
  // Zeros in front, so that the last digit is always the last byte.
  uint64_t x = low << (64 - 8 * n);
  x = x * 10 + (x >> 8);
  x = (((x & 0x000000ff000000ff) * 0x000f424000000064) +
       (((x >> 16) & 0x000000ff000000ff) * 0x0000271000000001)) >>
      32;
  *value = x;
  return n;
}

// Digits at p as a number; null if there is none, or it does not fit.
inline const char* read_unsigned(const char* p, uint64_t* value) {
  uint64_t part;
  unsigned n = digits(p, &part);
  if (n < 8) {
    *value = part;
    return n ? p + n : nullptr;
  }
  uint64_t all = part;
  do {
    p += 8;
    n = digits(p, &part);
    if (__builtin_mul_overflow(all, kPowers[n], &all) || __builtin_add_overflow(all, part, &all))
      return nullptr;
  } while (n == 8);
  *value = all;
  return p + n;
}

// An integer of 64 bits, signed or not, as its bits.
inline const char* read_bits(const char* p, uint64_t* bits) {
  const bool negative = *p == '-';
  p = read_unsigned(p + (negative || *p == '+'), bits);
  if (!negative || !p) return p;
  *bits = -*bits;
  return *bits != 0 && *bits < (uint64_t{1} << 63) ? nullptr : p;
}

// The nearest float; null if there is no number, or it is out of range.
inline const char* read_float(const char* const start, float* value) {
  static constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                     1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                     1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = start;
  const bool negative = *p == '-';
  p += negative || *p == '+';
  uint64_t mantissa, part;
  unsigned n = digits(p, &mantissa), total = n, after = 0;
  p += n;
  if (n == 8) {
    n = digits(p, &part);
    mantissa = mantissa * kPowers[n] + part;
    total += n;
    p += n;
  }
  if (*p == '.' && n < 8) {
    ++p;
    do {
      n = digits(p, &part);
      if (total + n > 19) break;
      mantissa = mantissa * kPowers[n] + part;
      total += n;
      after += n;
      p += n;
    } while (n == 8);
  }
  const char c = *p;
  const bool ended = c == ' ' || c == '\n' || c == '\t' || c == '\r';
  if (ended && total != 0) {
    // The power of ten is exact, so the quotient is off by less than two units in the last place,
    // and rounds to the right float unless it lies that near to the middle of two.
    const double quotient = static_cast<double>(mantissa) / kTens[after];
    const auto below = static_cast<int64_t>(std::bit_cast<uint64_t>(quotient) & 0x1fffffff);
    const int64_t off = below - 0x10000000;
    if ((off > 4 || off < -4) && (mantissa == 0 || (quotient >= 1.2e-38 && quotient < 3.4e38))) {
      const auto f = static_cast<float>(quotient);
      *value = negative ? -f : f;
      return p;
    }
  }
  const char* from = start + (*start == '+');
  if (from != start && *from == '-') return nullptr;
  const char* to = from;
  while (static_cast<unsigned char>(*to) > ' ') ++to;
  const auto [rest, error] = std::from_chars(from, to, *value);
  return error == std::errc() ? rest : nullptr;
}

}  // namespace argosy::data
