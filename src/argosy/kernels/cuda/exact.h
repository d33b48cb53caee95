#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#ifdef __CUDACC__
#define ARGOSY_ON_BOTH __host__ __device__
#else
#define ARGOSY_ON_BOTH
#endif

// The arithmetic of sums that are the same in any order: what is added becomes two integers, parts
// of 2^-bits and 2^-2bits of a power of two above the largest possible. What is smaller than that
// part of the largest is lost.
namespace argosy::cuda {

// x / 2^exponent * 2^bits as whole + rest * 2^-bits.
struct ExactParts {
  long long whole, rest;
};
ARGOSY_ON_BOTH inline ExactParts exact_parts(double x, double factor, double step) {
  const double scaled = x * factor, whole = rint(scaled);
  return {static_cast<long long>(whole), static_cast<long long>(rint((scaled - whole) * step))};
}
ARGOSY_ON_BOTH inline double exact_value(long long whole, long long rest, double step,
                                         int exponent) {
  const double sum = static_cast<double>(whole) + static_cast<double>(rest) / step;
  return ldexp(sum / step, exponent);
}
// The power of two above everything.
ARGOSY_ON_BOTH inline int exact_exponent(double largest) {
  if (!(largest > 0)) return 0;
  if (!(largest < 1e308)) return 1024;
  int exponent = 0;
  frexp(largest, &exponent);
  return exponent < -980 ? -980 : exponent;
}
// So many of such integers fit into 64 bits.
inline int exact_bits(int64_t count) {
  return std::min(40, 62 - static_cast<int>(std::bit_width(static_cast<uint64_t>(count))));
}

}  // namespace argosy::cuda
