#include "argosy/kernels/cpu/weight_only.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

struct Case {
  int64_t m, k, n, group;
};
// Rows and columns that no block and no vector divides, groups that no vector divides, one of each.
constexpr Case kCases[] = {{1, 64, 16, 64}, {3, 100, 30, 100}, {2, 131, 18, 64},
                           {4, 40, 10, 7},  {1, 1, 2, 1},      {2, 7, 34, 7}};

int code_of(int64_t row, int64_t i, int bits) {
  const int64_t all = int64_t{1} << bits;
  return static_cast<int>((row * 37 + i * 11 + row * i) % all - all / 2);
}

// Codes and scales of rows [n, k].
struct Weights {
  Weights(const Case& c, int bits) : c(c), bits(bits) {
    codes.resize(static_cast<size_t>(c.n * c.k / (bits == 4 ? 2 : 1)));
    for (int64_t row = 0; row < c.n; ++row)
      for (int64_t i = 0; i < c.k; ++i) put(row, i, code_of(row, i, bits));
    scale.resize(static_cast<size_t>((c.k + c.group - 1) / c.group * c.n));
    for (size_t i = 0; i < scale.size(); ++i) scale[i] = 0.01f * static_cast<float>(i % 7 + 1);
  }
  void put(int64_t row, int64_t i, int code) {
    int8_t& byte = codes[static_cast<size_t>((bits == 8 ? row : row / 2) * c.k + i)];
    const int low = row % 2 ? byte & 15 : code & 15, high = row % 2 ? code * 16 : byte & ~15;
    byte = static_cast<int8_t>(bits == 8 ? code : high | low);
  }
  double number(int64_t row, int64_t i) const {
    return code_of(row, i, bits) *
           static_cast<double>(scale[static_cast<size_t>(i / c.group * c.n + row)]);
  }
  WeightOnly view() const { return {c.k, c.n, bits, codes.data(), c.group, scale.data()}; }

  Case c;
  int bits;
  std::vector<int8_t> codes;
  std::vector<float> scale;
};

TEST(WeightOnly, NumbersAreCodesTimesScales) {
  for (const Case& c : kCases)
    for (int bits : {8, 4}) {
      const Weights w(c, bits);
      std::vector<float> numbers(static_cast<size_t>(c.n * c.k));
      weight_only_numbers(w.view(), numbers.data());
      for (int64_t row = 0; row < c.n; ++row)
        for (int64_t i = 0; i < c.k; ++i)
          ASSERT_NEAR(numbers[static_cast<size_t>(row * c.k + i)], w.number(row, i), 1e-5);
    }
}

void expect_product(const Case& c, int bits) {
  const Weights w(c, bits);
  std::vector<float> x(static_cast<size_t>(c.m * c.k)), bias(static_cast<size_t>(c.n)),
      y(static_cast<size_t>(c.m * c.n));
  for (size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  for (size_t i = 0; i < bias.size(); ++i) bias[i] = static_cast<float>(i % 3);
  weight_only_product(w.view(), c.m, x.data(), bias.data(), y.data());
  for (int64_t j = 0; j < c.m; ++j)
    for (int64_t row = 0; row < c.n; ++row) {
      double sum = static_cast<double>(bias[static_cast<size_t>(row)]), size = sum;
      for (int64_t i = 0; i < c.k; ++i) {
        const double part =
            w.number(row, i) * static_cast<double>(x[static_cast<size_t>(j * c.k + i)]);
        sum += part;
        size += std::abs(part);
      }
      ASSERT_NEAR(y[static_cast<size_t>(j * c.n + row)], sum, 1e-5 * size + 1e-6)
          << bits << " bits, row " << row << " of " << c.n << " by " << c.k;
    }
}

TEST(WeightOnly, ProductsAreThoseOfTheNumbers) {
  for_each_isa([] {
    for (const Case& c : kCases)
      for (int bits : {8, 4}) expect_product(c, bits);
  });
}

}  // namespace
}  // namespace argosy::cpu
