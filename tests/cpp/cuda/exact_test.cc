#include "argosy/kernels/cuda/exact.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <vector>

namespace argosy::cuda {
namespace {

// As the kernels add, in the order of x.
double sum_of(const std::vector<double>& x, double largest, int bits) {
  const int exponent = exact_exponent(largest);
  const double factor = std::ldexp(1.0, bits - exponent), step = std::ldexp(1.0, bits);
  uint64_t whole = 0, rest = 0;
  for (double v : x) {
    const ExactParts parts = exact_parts(v, factor, step);
    whole += static_cast<uint64_t>(parts.whole);
    rest += static_cast<uint64_t>(parts.rest);
  }
  return exact_value(static_cast<int64_t>(whole), static_cast<int64_t>(rest), step, exponent);
}

TEST(Exact, TheOrderDoesNotCount) {
  std::mt19937_64 draw(1);
  std::normal_distribution<double> normal;
  for (double scale : {1e-290, 1e-30, 1.0, 3e7, 1e300}) {
    std::vector<double> x(5000);
    long double want = 0;
    double largest = 0;
    for (double& v : x) {
      v = normal(draw) * scale * std::exp2(-static_cast<int>(draw() % 20));
      want += v;
      largest = std::max(largest, std::fabs(v));
    }
    const int bits = exact_bits(static_cast<int64_t>(x.size()));
    const double first = sum_of(x, largest, bits);
    EXPECT_NEAR(first / scale, static_cast<double>(want / scale), 1e-11) << scale;
    for (int i = 0; i < 5; ++i) {
      std::shuffle(x.begin(), x.end(), draw);
      EXPECT_EQ(sum_of(x, largest, bits), first) << scale;
    }
  }
}

TEST(Exact, OneNumberKeepsItsBits) {
  std::mt19937_64 draw(2);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 1000; ++i) {
    const double v = std::ldexp(normal(draw), static_cast<int>(draw() % 600) - 300);
    EXPECT_EQ(sum_of({v}, std::fabs(v), exact_bits(1)), v);
    // Beside one that is 2^20 times as large.
    EXPECT_EQ(sum_of({v}, std::fabs(v) * (1 << 20), exact_bits(1)), v);
  }
}

TEST(Exact, AsManyAsWereSaidFit) {
  for (int64_t count : {int64_t{1}, int64_t{1000}, int64_t{1} << 22, int64_t{1} << 30}) {
    const int bits = exact_bits(count);
    EXPECT_GE(bits, 30);
    EXPECT_LE(bits, 40);
    // The largest whole is below 2^bits, and the sum of all of them in 64 bits.
    EXPECT_LT(std::ldexp(static_cast<double>(count), bits), std::ldexp(1.0, 63));
  }
  std::vector<double> x(1 << 20, 1.5);
  EXPECT_EQ(sum_of(x, 1.5, exact_bits(1 << 20)), 1.5 * (1 << 20));
}

TEST(Exact, TheLargestMayBeAnything) {
  EXPECT_EQ(exact_exponent(0), 0);
  EXPECT_EQ(exact_exponent(1), 1);
  EXPECT_EQ(exact_exponent(0.75), 0);
  EXPECT_EQ(exact_exponent(1e-320), -980);
  EXPECT_EQ(exact_exponent(std::numeric_limits<double>::infinity()), 1024);
  EXPECT_EQ(sum_of({}, 0, 40), 0);
  EXPECT_EQ(sum_of({0, 0}, 0, 40), 0);
  EXPECT_EQ(sum_of({1.5e308, -1e308}, 1.5e308, 40), 0.5e308);
}

}  // namespace
}  // namespace argosy::cuda
