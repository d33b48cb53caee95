#include "argosy/kernels/cpu/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

template <class T>
using Wide = std::conditional_t<is_complex(dtype_of<T>), complex128,
                                std::conditional_t<std::is_integral_v<T>, int64_t, double>>;

template <class T>
Wide<T> widen(T v) {
  if constexpr (kHalf.has(dtype_of<T>))
    return static_cast<float>(v);
  else
    return static_cast<Wide<T>>(v);
}

template <class T>
std::vector<T> random_values(int64_t n, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<T> out(static_cast<size_t>(n));
  for (T& v : out) {
    if constexpr (is_complex(dtype_of<T>))
      v = T(real(engine), real(engine));
    else if constexpr (std::is_integral_v<T>)
      v = static_cast<T>(static_cast<int>(engine() % 200) - 100);
    else
      v = T(real(engine));
  }
  return out;
}

struct Case {
  bool ta, tb;
  int64_t m, n, k;
  double alpha = 1, beta = 0;
  int64_t pad = 0;  // extra elements in each row of each matrix
};

template <class T>
double tolerance(int64_t k) {
  constexpr DType t = dtype_of<T>;
  double eps = t == DType::float16                            ? 1e-3
               : t == DType::bfloat16                         ? 8e-3
               : t == DType::float32 || t == DType::complex64 ? 1e-6
                                                              : 1e-14;
  return eps * (2 + std::sqrt(static_cast<double>(k)) * 2);
}

template <class T>
void check(const Case& s) {
  SCOPED_TRACE(testing::Message() << "ta=" << s.ta << " tb=" << s.tb << " m=" << s.m << " n=" << s.n
                                  << " k=" << s.k << " dtype " << name_of(dtype_of<T>));
  int64_t lda = (s.ta ? s.m : s.k) + s.pad, ldb = (s.tb ? s.k : s.n) + s.pad, ldc = s.n + s.pad;
  auto a = random_values<T>(lda * (s.ta ? s.k : s.m), 1);
  auto b = random_values<T>(ldb * (s.tb ? s.n : s.k), 2);
  auto c = random_values<T>(ldc * s.m, 3);
  auto before = c;
  gemm(dtype_of<T>, s.ta, s.tb, s.m, s.n, s.k, s.alpha, a.data(), lda, b.data(), ldb, s.beta,
       c.data(), ldc);
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < ldc; ++j) {
      T old = before[static_cast<size_t>(i * ldc + j)], got = c[static_cast<size_t>(i * ldc + j)];
      if (j >= s.n) {
        ASSERT_EQ(widen(got), widen(old)) << "padding was written at " << i << "," << j;
        continue;
      }
      Wide<T> sum = 0;
      for (int64_t p = 0; p < s.k; ++p)
        sum += widen(a[static_cast<size_t>(s.ta ? p * lda + i : i * lda + p)]) *
               widen(b[static_cast<size_t>(s.tb ? j * ldb + p : p * ldb + j)]);
      Wide<T> want = sum * Wide<T>(s.alpha);
      if (s.beta != 0) want += widen(old) * Wide<T>(s.beta);
      if constexpr (std::is_integral_v<T>)
        ASSERT_EQ(got, static_cast<T>(want)) << i << "," << j;
      else
        ASSERT_LE(std::abs(widen(got) - want), tolerance<T>(s.k)) << i << "," << j;
    }
  }
}

const Case kCases[] = {
    {false, false, 1, 1, 1},
    {false, false, 8, 16, 16},
    {false, true, 8, 16, 16},
    {true, false, 16, 16, 8},
    {true, true, 5, 7, 3, 0.5, 2, 3},
    {false, false, 9, 33, 17, 2, 1, 1},
    {false, true, 13, 50, 31, -1, 0, 2},
    {false, false, 64, 100, 37, 1, 1},
    {true, true, 70, 45, 90, 1, 0, 5},
    {false, false, 1, 300, 200},
    {false, false, 300, 1, 200},
    {false, true, 1, 1, 5000},
};

TEST(Gemm, EveryDtypeMatchesTheSums) {
  for (Case s : kCases) {
    check<float>(s);
    check<double>(s);
    check<complex64>(s);
    check<complex128>(s);
    check<float16>(s);
    check<bfloat16>(s);
    s.alpha = std::trunc(s.alpha);
    check<int8_t>(s);
    check<uint8_t>(s);
    check<int16_t>(s);
    check<int32_t>(s);
    check<int64_t>(s);
  }
}

TEST(Gemm, TiledAndDeepProducts) {
  for (bool ta : {false, true})
    for (bool tb : {false, true}) {
      check<float>({ta, tb, 200, 333, 150, 1, 0.5, 1});
      check<float>({ta, tb, 10, 20, 20000, 1, 1});
      check<double>({ta, tb, 9, 11, 30000});
      check<float16>({ta, tb, 130, 150, 260, 1, 0, 1});
    }
}

// Few rows, or few terms: products by panels, with edges that no panel and no block of depth fits.
TEST(Gemm, LargeMatricesForFewRows) {
  for (int64_t pad : {0, 3}) {
    for (bool ta : {false, true})
      for (bool tb : {false, true}) {
        check<float>({ta, tb, 63, 1050, 130, 1, 0, pad});
        check<float>({ta, tb, 9, 930, 1000, 1, 0, pad});
        check<float>({ta, tb, 8, 530, 2100, 1, 0, pad});
      }
    check<float>({true, false, 150, 1030, 64, 1, 0, pad});
    check<float>({true, false, 131, 600, 128, 1, 0, pad});
    check<float>({false, false, 64, 1050, 130, 0.5, 1, pad});
  }
}

// Many rows, where rows of the library's operands would be a multiple of 4 KB apart or B is narrow.
TEST(Gemm, LargeMatricesForManyRows) {
  for (int64_t pad : {0, 5}) {
    check<float>({false, false, 131, 1024, 200, 1, 0, pad});
    check<float>({false, true, 165, 200, 270, 1, 0, pad});
    check<float>({false, true, 70, 333, 1024, 1, 0, pad});
    check<float>({true, false, 1024, 150, 300, 1, 0, pad});
    check<float>({true, false, 1024, 129, 70, 2, 1, pad});
  }
}

// Bias and relu on what panels have in registers: the bits of a product that they follow.
TEST(Gemm, WhatFollowsAProductHasTheSameBits) {
  struct Form {
    bool ta, tb;
    int64_t m, n, k;
  };
  for (const Form s : {Form{false, false, 64, 1050, 130}, Form{false, false, 64, 130, 1300},
                       Form{false, true, 64, 530, 1024}, Form{true, false, 150, 1030, 64},
                       Form{false, false, 300, 1024, 250}, Form{false, true, 300, 250, 300},
                       Form{true, false, 1024, 300, 270}, Form{false, false, 300, 600, 300}}) {
    SCOPED_TRACE(testing::Message() << s.ta << s.tb << ' ' << s.m << 'x' << s.n << 'x' << s.k);
    const auto a = random_values<float>(s.m * s.k, 1);
    const auto b = random_values<float>(s.k * s.n, 2);
    auto bias = random_values<float>(s.n, 3);
    bias[7] = std::numeric_limits<float>::quiet_NaN();
    const auto product = [&](const Epilogue& epilogue) {
      std::vector<float> c(static_cast<size_t>(s.m * s.n));
      gemm(DType::float32, s.ta, s.tb, s.m, s.n, s.k, 1, a.data(), s.ta ? s.m : s.k, b.data(),
           s.tb ? s.k : s.n, 0, c.data(), s.n, epilogue);
      return c;
    };
    const std::vector<float> plain = product({});
    for (const bool biased : {false, true})
      for (const bool relu : {false, true}) {
        Epilogue epilogue;
        epilogue.bias = biased ? bias.data() : nullptr;
        epilogue.activation = relu ? Activation::relu : Activation::none;
        const std::vector<float> got = product(epilogue);
        for (int64_t i = 0; i < s.m * s.n; ++i) {
          const auto at = static_cast<size_t>(i), column = static_cast<size_t>(i % s.n);
          float want = plain[at];
          if (biased) want += bias[column];
          if (relu && want < 0) want = 0;
          if (std::isnan(want))
            ASSERT_TRUE(std::isnan(got[at])) << i;
          else
            ASSERT_EQ(got[at], want) << i;
        }
      }
  }
}

TEST(Gemm, ThreadsDoNotChangeTheResult) {
  int threads = num_threads();
  for (auto [m, n, k] :
       {std::array<int64_t, 3>{300, 500, 200}, {16, 9, 60000}, {64, 256, 784}, {500, 1024, 250}}) {
    auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2);
    std::vector<float> one(static_cast<size_t>(m * n)), four(one);
    set_num_threads(1);
    gemm(DType::float32, false, false, m, n, k, 1, a.data(), k, b.data(), n, 0, one.data(), n);
    set_num_threads(4);
    gemm(DType::float32, false, false, m, n, k, 1, a.data(), k, b.data(), n, 0, four.data(), n);
    EXPECT_EQ(one, four) << m << "x" << n << "x" << k;
  }
  set_num_threads(threads);
}

// One thread does not cut products that several do.
TEST(Gemm, ThreadsDoNotChangeTheResultOfAnyShape) {
  const int threads = num_threads();
  std::mt19937 draw(7);
  const auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(draw);
  };
  const auto side = [&](int64_t most) { return between(0, 3) ? between(1, most) : 1024; };
  for (int round = 0; round < 80; ++round) {
    const bool trans_a = between(0, 1), trans_b = between(0, 2) == 0;
    const int64_t m = side(500), n = side(700), k = side(1200);
    const auto a = random_values<float>(m * k, 1), b = random_values<float>(k * n, 2);
    const auto bias = random_values<float>(n, 3);
    Epilogue epilogue;
    if (between(0, 1)) epilogue.bias = bias.data();
    if (between(0, 1)) epilogue.activation = Activation::relu;
    std::vector<float> one(static_cast<size_t>(m * n)), four(one);
    for (auto* c : {&one, &four}) {
      set_num_threads(c == &one ? 1 : 4);
      gemm(DType::float32, trans_a, trans_b, m, n, k, 1, a.data(), trans_a ? m : k, b.data(),
           trans_b ? k : n, 0, c->data(), n, epilogue);
    }
    EXPECT_EQ(one, four) << trans_a << ' ' << trans_b << ' ' << m << 'x' << n << 'x' << k;
  }
  set_num_threads(threads);
}

TEST(Gemm, ZeroBetaForgetsNaN) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  for (int64_t side : {4, 100, 400}) {
    std::vector<float> a(static_cast<size_t>(side * side), 1), c(a.size(), nan);
    gemm(DType::float32, false, false, side, side, side, 1, a.data(), side, a.data(), side, 0,
         c.data(), side);
    for (float v : c) ASSERT_EQ(v, static_cast<float>(side));
  }
}

// A tensor's stride along a dim of size one may be anything.
TEST(Gemm, DistanceOfASingleRowIsNotRead) {
  for (int64_t k : {3, 400}) {
    std::vector<double> a(static_cast<size_t>(k), 2), b(a), c(1);
    gemm(DType::float64, false, true, 1, 1, k, 1, a.data(), 0, b.data(), 1, 0, c.data(), 0);
    EXPECT_EQ(c[0], 4 * static_cast<double>(k));
    std::vector<float> af(static_cast<size_t>(k * k), 2), bf(af), cf(static_cast<size_t>(k));
    gemm(DType::float32, false, false, 1, k, k, 1, af.data(), 0, bf.data(), k, 0, cf.data(), 0);
    EXPECT_EQ(cf, std::vector<float>(cf.size(), 4 * static_cast<float>(k)));
  }
}

TEST(Gemm, EmptyInnerSideScalesAndAddsBias) {
  float c[] = {1, 2, 3, 4}, bias[] = {10, 20};
  gemm(DType::float32, false, false, 2, 2, 0, 1, nullptr, 1, nullptr, 2, 2, c, 2);
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{2, 4, 6, 8}));
  gemm(DType::float32, false, false, 2, 2, 0, 1, nullptr, 1, nullptr, 2, 0, c, 2, {bias});
  EXPECT_EQ(std::vector<float>(c, c + 4), (std::vector<float>{10, 20, 10, 20}));
  gemm(DType::float32, false, false, 0, 2, 5, 1, nullptr, 5, nullptr, 2, 0, nullptr, 2);
}

template <class T>
void check_epilogue(int64_t m, int64_t n, int64_t k, Activation activation) {
  auto a = random_values<T>(m * k, 1), b = random_values<T>(k * n, 2),
       bias = random_values<T>(n, 3);
  std::vector<T> c(static_cast<size_t>(m * n));
  gemm(dtype_of<T>, false, false, m, n, k, 1, a.data(), k, b.data(), n, 0, c.data(), n,
       {bias.data(), activation});
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      double v = widen(bias[static_cast<size_t>(j)]);
      for (int64_t p = 0; p < k; ++p)
        v += widen(a[static_cast<size_t>(i * k + p)]) * widen(b[static_cast<size_t>(p * n + j)]);
      if (activation == Activation::relu) v = std::max(v, 0.0);
      if (activation == Activation::gelu) v = 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
      ASSERT_NEAR(widen(c[static_cast<size_t>(i * n + j)]), v, tolerance<T>(k)) << i << "," << j;
    }
}

TEST(Gemm, Epilogue) {
  for (auto activation : {Activation::none, Activation::relu, Activation::gelu}) {
    check_epilogue<float>(3, 5, 4, activation);
    check_epilogue<float>(150, 200, 300, activation);
    check_epilogue<float>(40, 500, 300, activation);
    check_epilogue<double>(150, 200, 100, activation);
    check_epilogue<float16>(150, 100, 100, activation);
    check_epilogue<bfloat16>(7, 9, 11, activation);
  }
}

TEST(GemmBatched, BroadcastsOverStrides) {
  int64_t batch[] = {2, 3}, m = 4, n = 5, k = 6;
  auto a = random_values<float>(2 * m * k, 1), b = random_values<float>(3 * n * k, 2);
  std::vector<float> c(static_cast<size_t>(6 * m * n));
  int64_t sa[] = {m * k, 0}, sb[] = {0, n * k}, sc[] = {3 * m * n, m * n};
  gemm_batched(DType::float32, false, true, m, n, k, 1, a.data(), k, sa, b.data(), k, sb, 0,
               c.data(), n, sc, batch);
  for (int64_t s = 0; s < 6; ++s)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double want = 0;
        for (int64_t p = 0; p < k; ++p)
          want += double(a[static_cast<size_t>(s / 3 * m * k + i * k + p)]) *
                  b[static_cast<size_t>(s % 3 * n * k + j * k + p)];
        ASSERT_NEAR(c[static_cast<size_t>(s * m * n + i * n + j)], want, 1e-5);
      }
}

TEST(GemmBatched, SharedRightOperandAndManyProducts) {
  for (int64_t count : {3, 200}) {
    int64_t m = 40, n = 30, k = 20;
    auto a = random_values<float>(count * m * k, 1), b = random_values<float>(n * k, 2);
    std::vector<float> c(static_cast<size_t>(count * m * n));
    int64_t sa[] = {m * k}, sb[] = {0}, sc[] = {m * n}, batch[] = {count};
    gemm_batched(DType::float32, false, false, m, n, k, 1, a.data(), k, sa, b.data(), n, sb, 0,
                 c.data(), n, sc, batch);
    for (int64_t row = 0; row < count * m; ++row)
      for (int64_t j = 0; j < n; ++j) {
        double want = 0;
        for (int64_t p = 0; p < k; ++p)
          want += double(a[static_cast<size_t>(row * k + p)]) * b[static_cast<size_t>(p * n + j)];
        ASSERT_NEAR(c[static_cast<size_t>(row * n + j)], want, 1e-5) << row << "," << j;
      }
  }
}

TEST(Dot, EveryKindOfDtype) {
  for (int64_t n : {0, 1, 7, 5000, 20000}) {
    auto x = random_values<float>(n, 1), y = random_values<float>(n, 2);
    double want = 0;
    for (size_t i = 0; i < x.size(); ++i) want += double(x[i]) * y[i];
    float got = -1;
    dot(DType::float32, n, x.data(), 1, y.data(), 1, &got);
    EXPECT_NEAR(got, want, 1e-4);
  }
  complex64 a[] = {{1, 2}, {9, 9}, {3, -1}}, b[] = {{0, 1}, {2, 0}}, out;
  dot(DType::complex64, 2, a, 2, b, 1, &out);
  EXPECT_EQ(out, complex64(4, -1));
  int8_t p[] = {100, 100}, q[] = {2, 1}, sum;
  dot(DType::int8, 2, p, 1, q, 1, &sum);
  EXPECT_EQ(sum, static_cast<int8_t>(300));
}

TEST(Gemm, RefusesBool) {
  bool v = true;
  try {
    gemm(DType::bool_, false, false, 1, 1, 1, 1, &v, 1, &v, 1, 0, &v, 1);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_NE(std::string(e.what()).find("[matmul] has no product for bool"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy::cpu
