#include "argosy/kernels/cpu/linalg.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "argosy/base/error.h"

namespace argosy::cpu {
namespace {

template <class T>
struct RealType {
  using type = T;
};
template <class T>
struct RealType<std::complex<T>> {
  using type = T;
};

float conj_of(float v) {
  return v;
}
double conj_of(double v) {
  return v;
}
template <class T>
std::complex<T> conj_of(std::complex<T> v) {
  return std::conj(v);
}

// A batch of row-major matrices.
template <class T>
struct Batch {
  int64_t count, rows, cols;
  std::vector<T> v;
  Batch(int64_t b, int64_t r, int64_t c)
      : count(b), rows(r), cols(c), v(static_cast<size_t>(b * r * c)) {}
  T& at(int64_t s, int64_t i, int64_t j) {
    return v[static_cast<size_t>((s * rows + i) * cols + j)];
  }
  const T& at(int64_t s, int64_t i, int64_t j) const {
    return v[static_cast<size_t>((s * rows + i) * cols + j)];
  }
  T* data() { return v.data(); }
};

template <class T>
Batch<T> random_batch(int64_t b, int64_t r, int64_t c, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> real(-1, 1);
  Batch<T> out(b, r, c);
  for (T& v : out.v) {
    if constexpr (is_complex(dtype_of<T>))
      v = T(real(engine), real(engine));
    else
      v = real(engine);
  }
  return out;
}

enum class Op { none, transpose, adjoint };

template <class T>
Batch<T> turned(const Batch<T>& a, Op op) {
  if (op == Op::none) return a;
  Batch<T> out(a.count, a.cols, a.rows);
  for (int64_t s = 0; s < a.count; ++s)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t j = 0; j < a.cols; ++j)
        out.at(s, j, i) = op == Op::adjoint ? conj_of(a.at(s, i, j)) : a.at(s, i, j);
  return out;
}

template <class T>
Batch<T> product(const Batch<T>& a, const Batch<T>& b) {
  Batch<T> out(a.count, a.rows, b.cols);
  for (int64_t s = 0; s < a.count; ++s)
    for (int64_t i = 0; i < a.rows; ++i)
      for (int64_t k = 0; k < a.cols; ++k)
        for (int64_t j = 0; j < b.cols; ++j) out.at(s, i, j) += a.at(s, i, k) * b.at(s, k, j);
  return out;
}

template <class T>
Batch<T> identity(int64_t b, int64_t n) {
  Batch<T> out(b, n, n);
  for (int64_t s = 0; s < b; ++s)
    for (int64_t i = 0; i < n; ++i) out.at(s, i, i) = 1;
  return out;
}

template <class T>
Batch<T> positive(int64_t b, int64_t n, unsigned seed) {
  auto a = random_batch<T>(b, n, n, seed);
  auto out = product(a, turned(a, Op::adjoint));
  for (int64_t s = 0; s < b; ++s)
    for (int64_t i = 0; i < n; ++i) out.at(s, i, i) += T(1);
  return out;
}

template <class T>
void expect_same(const Batch<T>& got, const Batch<T>& want, const char* what, double slack = 1) {
  double eps = sizeof(typename RealType<T>::type) == 8 ? 1e-11 : 2e-4;
  ASSERT_EQ(got.v.size(), want.v.size());
  for (size_t i = 0; i < got.v.size(); ++i)
    ASSERT_LE(std::abs(got.v[i] - want.v[i]), slack * eps * (1 + std::abs(want.v[i])))
        << what << ' ' << i;
}

void expect_ok(const std::vector<int32_t>& info) {
  for (int32_t i : info) ASSERT_EQ(i, 0);
}

template <class T>
class Linalg : public testing::Test {};
using Types = testing::Types<float, double, complex64, complex128>;
TYPED_TEST_SUITE(Linalg, Types);

constexpr int64_t kBatch = 3;

TYPED_TEST(Linalg, CholeskyAndItsSolve) {
  using T = TypeParam;
  constexpr DType t = dtype_of<T>;
  for (bool upper : {false, true}) {
    auto a = positive<T>(kBatch, 7, 1);
    // The other triangle must not matter.
    auto half = a;
    for (int64_t s = 0; s < kBatch; ++s)
      for (int64_t i = 0; i < 7; ++i)
        for (int64_t j = 0; j < 7; ++j)
          if (upper ? j < i : j > i) half.at(s, i, j) = T(99);
    Batch<T> f(kBatch, 7, 7);
    std::vector<int32_t> info(kBatch, -1);
    cholesky(t, kBatch, 7, upper, half.data(), f.data(), info.data());
    expect_ok(info);
    EXPECT_EQ(upper ? f.at(1, 3, 0) : f.at(1, 0, 3), T(0));
    auto g = turned(f, Op::adjoint);
    expect_same(upper ? product(g, f) : product(f, g), a, "factor");
  }
  auto bad = identity<T>(2, 3);
  bad.at(1, 1, 1) = T(-1);
  int32_t info[2];
  Batch<T> f(2, 3, 3);
  cholesky(t, 2, 3, false, bad.data(), f.data(), info);
  EXPECT_EQ(info[0], 0);
  EXPECT_EQ(info[1], 2);
}

TYPED_TEST(Linalg, TriangularSolve) {
  using T = TypeParam;
  for (bool upper : {false, true})
    for (bool transpose : {false, true})
      for (bool unit : {false, true}) {
        auto a = random_batch<T>(kBatch, 6, 6, 3);
        Batch<T> full(kBatch, 6, 6);
        for (int64_t s = 0; s < kBatch; ++s)
          for (int64_t i = 0; i < 6; ++i) {
            a.at(s, i, i) += T(4);
            for (int64_t j = 0; j < 6; ++j)
              if (i == j)
                full.at(s, i, j) = unit ? T(1) : a.at(s, i, j);
              else if (upper == (j > i))
                full.at(s, i, j) = a.at(s, i, j);
          }
        auto b = random_batch<T>(kBatch, 6, 3, 4);
        auto x = b;
        triangular_solve(dtype_of<T>, kBatch, 6, 3, upper, transpose, unit, a.data(), x.data(),
                         x.data());
        expect_same(product(turned(full, transpose ? Op::transpose : Op::none), x), b, "solution");
      }
}

TYPED_TEST(Linalg, LuAndItsSolve) {
  using T = TypeParam;
  constexpr DType t = dtype_of<T>;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{5, 5}, {4, 7}, {7, 4}}) {
    int64_t k = std::min(m, n);
    auto a = random_batch<T>(kBatch, m, n, 5);
    Batch<T> lu(kBatch, m, n), l(kBatch, m, k), u(kBatch, k, n);
    std::vector<int32_t> pivots(static_cast<size_t>(kBatch * k)), info(kBatch, -1);
    lu_factor(t, kBatch, m, n, a.data(), lu.data(), pivots.data(), info.data());
    expect_ok(info);
    auto permuted = a;
    for (int64_t s = 0; s < kBatch; ++s) {
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < n; ++j)
          std::swap(permuted.at(s, i, j),
                    permuted.at(s, pivots[static_cast<size_t>(s * k + i)] - 1, j));
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j)
          if (j >= i)
            u.at(s, i, j) = lu.at(s, i, j);
          else
            l.at(s, i, j) = lu.at(s, i, j);
      for (int64_t i = 0; i < k; ++i) l.at(s, i, i) = T(1);
    }
    // Swaps were done one by one, as LAPACK does them.
    expect_same(product(l, u), permuted, "factors");
  }
}

TYPED_TEST(Linalg, SolveInverseDeterminant) {
  using T = TypeParam;
  using R = typename RealType<T>::type;
  constexpr DType t = dtype_of<T>;
  auto a = random_batch<T>(kBatch, 3, 3, 7), b = random_batch<T>(kBatch, 3, 2, 8);
  Batch<T> x(kBatch, 3, 2), inv(kBatch, 3, 3);
  std::vector<int32_t> info(kBatch, -1);
  solve(t, kBatch, 3, 2, a.data(), b.data(), x.data(), info.data());
  expect_ok(info);
  expect_same(product(a, x), b, "solution", 10);
  inverse(t, kBatch, 3, a.data(), inv.data(), info.data());
  expect_ok(info);
  expect_same(product(a, inv), identity<T>(kBatch, 3), "inverse", 10);
  std::vector<T> det(kBatch), sign(kBatch);
  std::vector<R> log_abs(kBatch);
  determinant(t, kBatch, 3, a.data(), det.data(), sign.data(), log_abs.data());
  for (int64_t s = 0; s < kBatch; ++s) {
    auto e = [&](int64_t i, int64_t j) { return a.at(s, i, j); };
    T want = e(0, 0) * (e(1, 1) * e(2, 2) - e(1, 2) * e(2, 1)) -
             e(0, 1) * (e(1, 0) * e(2, 2) - e(1, 2) * e(2, 0)) +
             e(0, 2) * (e(1, 0) * e(2, 1) - e(1, 1) * e(2, 0));
    auto i = static_cast<size_t>(s);
    EXPECT_LE(std::abs(det[i] - want), 1e-5);
    EXPECT_LE(std::abs(sign[i] * std::exp(log_abs[i]) - want), 1e-5);
  }
  Batch<T> singular(1, 2, 2);
  determinant(t, 1, 2, singular.data(), det.data(), sign.data(), log_abs.data());
  EXPECT_EQ(det[0], T(0));
  EXPECT_EQ(sign[0], T(0));
  EXPECT_EQ(log_abs[0], -std::numeric_limits<R>::infinity());
  inverse(t, 1, 2, singular.data(), singular.data(), info.data());
  EXPECT_GT(info[0], 0);
  determinant(t, 1, 0, nullptr, det.data(), sign.data(), log_abs.data());
  EXPECT_EQ(det[0], T(1));
  EXPECT_EQ(log_abs[0], R(0));
}

TYPED_TEST(Linalg, Qr) {
  using T = TypeParam;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{6, 4}, {4, 6}, {5, 5}})
    for (bool complete : {false, true}) {
      int64_t k = complete ? m : std::min(m, n);
      auto a = random_batch<T>(kBatch, m, n, 9);
      Batch<T> q(kBatch, m, k), r(kBatch, k, n), only(kBatch, k, n);
      qr(dtype_of<T>, kBatch, m, n, complete, a.data(), q.data(), r.data());
      expect_same(product(q, r), a, "product");
      expect_same(product(turned(q, Op::adjoint), q), identity<T>(kBatch, k), "orthogonality");
      for (int64_t i = 0; i < k; ++i)
        for (int64_t j = 0; j < std::min(i, n); ++j) ASSERT_EQ(r.at(1, i, j), T(0));
      qr(dtype_of<T>, kBatch, m, n, complete, a.data(), nullptr, only.data());
      EXPECT_EQ(only.v, r.v);
    }
}

TYPED_TEST(Linalg, Svd) {
  using T = TypeParam;
  using R = typename RealType<T>::type;
  for (auto [m, n] : {std::pair<int64_t, int64_t>{6, 4}, {4, 6}, {5, 5}, {1, 3}})
    for (bool full : {false, true}) {
      int64_t k = std::min(m, n), uc = full ? m : k, vr = full ? n : k;
      auto a = random_batch<T>(kBatch, m, n, 10);
      Batch<T> u(kBatch, m, uc), vh(kBatch, vr, n), scaled(kBatch, vr, n);
      Batch<R> s(kBatch, 1, k), only(kBatch, 1, k);
      std::vector<int32_t> info(kBatch, -1);
      svd(dtype_of<T>, kBatch, m, n, full, a.data(), u.data(), s.data(), vh.data(), info.data());
      expect_ok(info);
      expect_same(product(turned(u, Op::adjoint), u), identity<T>(kBatch, uc), "u");
      expect_same(product(vh, turned(vh, Op::adjoint)), identity<T>(kBatch, vr), "vh");
      Batch<T> us(kBatch, m, k), v(kBatch, k, n);
      for (int64_t b = 0; b < kBatch; ++b)
        for (int64_t j = 0; j < k; ++j) {
          ASSERT_GE(s.at(b, 0, std::max<int64_t>(j - 1, 0)), s.at(b, 0, j));
          for (int64_t i = 0; i < m; ++i) us.at(b, i, j) = u.at(b, i, j) * T(s.at(b, 0, j));
          for (int64_t i = 0; i < n; ++i) v.at(b, j, i) = vh.at(b, j, i);
        }
      expect_same(product(us, v), a, "product");
      svd(dtype_of<T>, kBatch, m, n, full, a.data(), nullptr, only.data(), nullptr, info.data());
      expect_same(only, s, "values");
    }
}

TYPED_TEST(Linalg, Eigh) {
  using T = TypeParam;
  using R = typename RealType<T>::type;
  for (bool upper : {false, true}) {
    auto a = positive<T>(kBatch, 5, 11);
    auto half = a;
    for (int64_t s = 0; s < kBatch; ++s)
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t j = 0; j < 5; ++j)
          if (upper ? j < i : j > i) half.at(s, i, j) = std::numeric_limits<R>::quiet_NaN();
    Batch<T> v(kBatch, 5, 5);
    Batch<R> w(kBatch, 1, 5), only(kBatch, 1, 5);
    std::vector<int32_t> info(kBatch, -1);
    eigh(dtype_of<T>, kBatch, 5, upper, half.data(), w.data(), v.data(), info.data());
    expect_ok(info);
    auto scaled = v;
    for (int64_t s = 0; s < kBatch; ++s)
      for (int64_t i = 0; i < 5; ++i)
        for (int64_t j = 0; j < 5; ++j) scaled.at(s, i, j) *= T(w.at(s, 0, j));
    expect_same(product(a, v), scaled, "a v = v w", 10);
    EXPECT_TRUE(std::is_sorted(w.v.begin(), w.v.begin() + 5));
    eigh(dtype_of<T>, kBatch, 5, upper, half.data(), only.data(), nullptr, info.data());
    expect_same(only, w, "values");
  }
}

TYPED_TEST(Linalg, Eig) {
  using T = TypeParam;
  using C = std::complex<typename RealType<T>::type>;
  auto a = random_batch<T>(kBatch, 5, 5, 12);
  Batch<C> v(kBatch, 5, 5), w(kBatch, 1, 5), wide(kBatch, 5, 5);
  for (size_t i = 0; i < a.v.size(); ++i) wide.v[i] = C(a.v[i]);
  std::vector<int32_t> info(kBatch, -1);
  eig(dtype_of<T>, kBatch, 5, a.data(), w.data(), v.data(), info.data());
  expect_ok(info);
  auto scaled = v;
  for (int64_t s = 0; s < kBatch; ++s)
    for (int64_t i = 0; i < 5; ++i)
      for (int64_t j = 0; j < 5; ++j) scaled.at(s, i, j) *= w.at(s, 0, j);
  expect_same(product(wide, v), scaled, "a v = v w", 10);
  // Values alone: the same multiset.
  Batch<C> only(kBatch, 1, 5);
  eig(dtype_of<T>, kBatch, 5, a.data(), only.data(), nullptr, info.data());
  for (int64_t s = 0; s < kBatch; ++s)
    for (int64_t j = 0; j < 5; ++j) {
      double nearest = 1e30;
      for (int64_t i = 0; i < 5; ++i)
        nearest = std::min<double>(nearest, std::abs(only.at(s, 0, i) - w.at(s, 0, j)));
      EXPECT_LE(nearest, 1e-4);
    }
}

TYPED_TEST(Linalg, Lstsq) {
  using T = TypeParam;
  using R = typename RealType<T>::type;
  for (auto driver :
       {LstsqDriver::gels, LstsqDriver::gelsy, LstsqDriver::gelsd, LstsqDriver::gelss})
    for (auto [m, n] : {std::pair<int64_t, int64_t>{7, 4}, {4, 7}, {4, 4}}) {
      auto a = random_batch<T>(kBatch, m, n, 13), b = random_batch<T>(kBatch, m, 2, 14);
      Batch<T> x(kBatch, n, 2);
      Batch<R> s(kBatch, 1, 4);
      std::vector<int32_t> rank(kBatch, -1), info(kBatch, -1);
      lstsq(dtype_of<T>, kBatch, m, n, 2, driver, -1, a.data(), b.data(), x.data(), rank.data(),
            s.data(), info.data());
      expect_ok(info);
      EXPECT_EQ(rank[1], 4);
      // a^H (a x - b) = 0.
      auto residual = product(a, x);
      for (size_t i = 0; i < residual.v.size(); ++i) residual.v[i] -= b.v[i];
      auto normal = product(turned(a, Op::adjoint), residual);
      expect_same(normal, Batch<T>(kBatch, n, 2), "normal equations", 10);
      if (driver < LstsqDriver::gelsd) continue;
      EXPECT_GE(s.at(0, 0, 0), s.at(0, 0, 3));
    }
  // Rank one: gelsy and gelsd find it.
  T a[] = {T(1), T(2), T(2), T(4), T(3), T(6)}, b[] = {T(1), T(2), T(3)}, x[2];
  for (auto driver : {LstsqDriver::gelsy, LstsqDriver::gelsd}) {
    int32_t rank, info;
    lstsq(dtype_of<T>, 1, 3, 2, 1, driver, 1e-4, a, b, x, &rank, nullptr, &info);
    EXPECT_EQ(rank, 1);
    EXPECT_LE(std::abs(x[0] - T(0.2)), 1e-5);
    EXPECT_LE(std::abs(x[1] - T(0.4)), 1e-5);
  }
}

TEST(LinalgErrors, NotFiniteIsReported) {
  double nan = std::numeric_limits<double>::quiet_NaN();
  double a[] = {1, nan, nan, 1, 1, 0, 0, 1}, s[4], w[8];
  int32_t info[2];
  svd(DType::float64, 2, 2, 2, false, a, nullptr, s, nullptr, info);
  EXPECT_GT(info[0], 0);
  EXPECT_EQ(info[1], 0);
  EXPECT_EQ(s[2], 1);
  eig(DType::float64, 2, 2, a, w, nullptr, info);
  EXPECT_GT(info[0], 0);
  double inv[8];
  inverse(DType::float64, 1, 2, a, inv, info);
  EXPECT_TRUE(std::isnan(inv[0]));
}

TEST(LinalgErrors, RefusesOtherDtypes) {
  try {
    int32_t info;
    cholesky(DType::float16, 1, 1, false, nullptr, nullptr, &info);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_NE(std::string(e.what()).find("[cholesky] has no kernel for float16"),
              std::string::npos);
  }
}

TEST(LinalgErrors, TooLargeASide) {
  try {
    int32_t info;
    inverse(DType::float32, 1, 50000, nullptr, nullptr, &info);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::not_implemented);
  }
}

}  // namespace
}  // namespace argosy::cpu
