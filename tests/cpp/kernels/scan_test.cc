#include "argosy/kernels/cpu/scan.h"

#include <cmath>
#include <vector>

#include "argosy/base/half.h"
#include "tests/cpp/kernels/each_isa.h"
#include "tests/cpp/kernels/values.h"

namespace argosy::cpu {
namespace {

TEST(Scan, SumsAndProducts) {
  for (auto [outer, n, inner] : kShapes) {
    const std::vector<float> x = random_values<float>(outer * n * inner, 0.9, 1.1);
    for (Scan kind : {Scan::sum, Scan::prod, Scan::logsumexp}) {
      for (bool exclusive : {false, true}) {
        for (bool reverse : {false, true}) {
          std::vector<float> y(x.size());
          scan(kind, DType::float32, x.data(), y.data(), outer, n, inner, exclusive, reverse);
          for (int64_t o = 0; o < outer; ++o) {
            for (int64_t j = 0; j < inner; ++j) {
              double sum = 0, product = 1, exps = 0;
              for (int64_t i = 0; i < n; ++i) {
                const int64_t at = (o * n + (reverse ? n - 1 - i : i)) * inner + j;
                auto now = [&] {
                  return kind == Scan::sum ? sum : kind == Scan::prod ? product : std::log(exps);
                };
                const double before = now();
                sum += x[at];
                product *= x[at];
                exps += std::exp(double{x[at]});
                const double want = exclusive ? before : now();
                if (std::isinf(want)) {
                  ASSERT_EQ(y[at], want);
                } else {
                  ASSERT_NEAR(y[at], want,
                              2e-7 * std::fabs(want) + 1e-6 * (kind == Scan::logsumexp));
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(Scan, IntegersHalvesAndExtremes) {
  std::vector<int64_t> x = {3, 1, 3, 2, 5, 5, 0}, y(7), index(7);
  scan(Scan::sum, DType::int64, x.data(), y.data(), 1, 7, 1);
  EXPECT_EQ(y, (std::vector<int64_t>{3, 4, 7, 9, 14, 19, 19}));
  scan_extreme(true, DType::int64, x.data(), y.data(), DType::int64, index.data(), 1, 7, 1);
  EXPECT_EQ(y, (std::vector<int64_t>{3, 3, 3, 3, 5, 5, 5}));
  EXPECT_EQ(index, (std::vector<int64_t>{0, 0, 2, 2, 4, 5, 5}));
  std::vector<float> f = {2, NAN, 1, 7}, g(4);
  std::vector<int32_t> at(4);
  scan_extreme(false, DType::float32, f.data(), g.data(), DType::int32, at.data(), 1, 4, 1);
  EXPECT_EQ(at, (std::vector<int32_t>{0, 1, 1, 1}));
  EXPECT_TRUE(std::isnan(g[3]));
  // Accumulates in float32: 2049 is no float16, the sum of 4096 ones must still come out right.
  std::vector<float16> h(4096, float16(1)), s(4096);
  scan(Scan::sum, DType::float16, h.data(), s.data(), 1, 4096, 1);
  EXPECT_EQ(static_cast<float>(s.back()), 4096);
}

}  // namespace
}  // namespace argosy::cpu
