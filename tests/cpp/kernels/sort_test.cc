#include "argosy/kernels/cpu/sort.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "argosy/base/half.h"
#include "tests/cpp/kernels/each_isa.h"
#include "tests/cpp/kernels/values.h"

namespace argosy::cpu {
namespace {

template <class T>
void check_sort(double low, double high, bool with_nan) {
  for (auto [outer, n, inner] : kShapes) {
    std::vector<T> x = random_values<T>(outer * n * inner, low, high);
    if (with_nan && n > 5) {
      x[3] = T(NAN);
      x[x.size() - 1] = T(-NAN);
      x[2] = T(-0.0f);
      x[1] = T(0.0f);
    }
    auto nan = [](T v) { return v != v; };
    for (bool descending : {false, true}) {
      for (int64_t k : {n, std::min<int64_t>(n, 4)}) {
        std::vector<T> values(outer * k * inner);
        std::vector<int64_t> index(outer * k * inner);
        topk(dtype_of<T>, x.data(), values.data(), index.data(), outer, n, inner, k, descending);
        for (int64_t o = 0; o < outer; ++o) {
          for (int64_t j = 0; j < inner; ++j) {
            std::vector<int64_t> order(n);
            std::iota(order.begin(), order.end(), 0);
            auto value = [&](int64_t i) { return x[(o * n + i) * inner + j]; };
            std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
              const T u = value(descending ? b : a), v = value(descending ? a : b);
              return u < v || (nan(v) && !nan(u));
            });
            for (int64_t i = 0; i < k; ++i) {
              const int64_t at = (o * k + i) * inner + j;
              ASSERT_EQ(index[at], order[i]) << n << ' ' << k;
              ASSERT_TRUE(values[at] == value(order[i]) || nan(value(order[i])));
            }
          }
        }
      }
    }
  }
}

TEST(Sort, StableForAllDtypes) {
  check_sort<float>(-3, 3, true);
  check_sort<double>(-3, 3, true);
  check_sort<float16>(-3, 3, true);
  check_sort<bfloat16>(-3, 3, true);
  check_sort<int64_t>(-20, 20, false);
  check_sort<int32_t>(-2e9, 2e9, false);
  check_sort<int8_t>(-100, 100, false);
  check_sort<uint8_t>(0, 255, false);
  check_sort<uint64_t>(0, 1e18, false);
}

TEST(Searchsorted, BothSides) {
  const std::vector<float> sorted = {1, 2, 2, 5, NAN}, values = {0, 2, 3, NAN, 5, 9};
  std::vector<int64_t> index(6);
  searchsorted(DType::float32, sorted.data(), values.data(), DType::int64, index.data(), 1, 1, 5, 6,
               false);
  EXPECT_EQ(index, (std::vector<int64_t>{0, 1, 3, 4, 3, 4}));
  searchsorted(DType::float32, sorted.data(), values.data(), DType::int64, index.data(), 1, 1, 5, 6,
               true);
  EXPECT_EQ(index, (std::vector<int64_t>{0, 3, 3, 5, 4, 4}));
  const std::vector<int32_t> rows = {1, 3, 5, 2, 4, 6}, wanted = {3, 3};
  std::vector<int32_t> at(2);
  searchsorted(DType::int32, rows.data(), wanted.data(), DType::int32, at.data(), 2, 2, 3, 1,
               false);
  EXPECT_EQ(at, (std::vector<int32_t>{1, 1}));
}

}  // namespace
}  // namespace argosy::cpu
