#include "argosy/kernels/cpu/reduce.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

using Shape = std::vector<int64_t>;

Shape dense(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

// Gathers the elements of each result by plain indexing.
template <class T>
std::vector<std::vector<T>> groups(const std::vector<T>& x, const Shape& shape,
                                   const Shape& strides, int64_t start, uint32_t axes) {
  int64_t n = 1, results = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    n *= shape[d];
    if (!(axes >> d & 1)) results *= shape[d];
  }
  std::vector<std::vector<T>> out(results);
  for (int64_t i = 0; i < n; ++i) {
    int64_t rest = i, at = start, result = 0, factor = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      const int64_t k = rest % shape[d];
      rest /= shape[d];
      at += k * strides[d];
      if (!(axes >> d & 1)) {
        result += k * factor;
        factor *= shape[d];
      }
    }
    out[result].push_back(x[at]);
  }
  return out;
}

template <class T>
std::vector<T> random_values(int64_t n, double low, double high) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(low, high);
  std::vector<T> x(n);
  for (T& v : x) v = T(static_cast<float>(uniform(random)));
  return x;
}

template <class T>
struct Case {
  Shape shape, strides;
  uint32_t axes;
  int64_t start = 0;
};

template <class T>
std::vector<Case<T>> cases() {
  std::vector<Case<T>> all;
  auto add = [&](Shape shape, uint32_t axes) { all.push_back({shape, dense(shape), axes}); };
  add({}, 0);
  for (int64_t n = 0; n < 70; ++n) {
    add({n}, 1);
    add({3, n}, 2);
    add({n, 3}, 1);
  }
  add({5, 1}, 1);
  add({4, 5, 6}, 0);
  for (uint32_t axes = 1; axes < 8; ++axes) add({7, 33, 40}, axes);
  for (uint32_t axes = 1; axes < 16; ++axes) add({3, 5, 9, 17}, axes);
  add({140000}, 1);
  add({2, 70000}, 2);
  add({2000, 70}, 1);
  add({600, 300}, 1);
  add({9000, 3}, 1);
  add({2, 3, 9000}, 5);
  add({4, 600, 3}, 2);
  all.push_back({{40, 30}, {1, 40}, 1});  // transposed
  all.push_back({{40, 30}, {1, 40}, 2});
  all.push_back({{40, 30}, {60, 2}, 2});  // steps
  all.push_back({{40, 30}, {60, 2}, 1});
  all.push_back({{40, 30}, {-30, -1}, 2, 40 * 30 - 1});
  all.push_back({{40, 30}, {0, 1}, 1});  // broadcast
  all.push_back({{40, 30}, {1, 0}, 2});
  all.push_back({{6, 5, 4}, {1, 24, 6}, 4});
  return all;
}

template <class T>
double exact(Reduce kind, const std::vector<T>& v) {
  long double sum = 0, product = 1, squares = 0, absolute = 0;
  double high = -INFINITY, low = INFINITY, count = 0;
  for (T e : v) {
    const double x = static_cast<double>(e);
    sum += x;
    product *= x;
    squares += x * x;
    absolute += std::fabs(x);
    high = std::fmax(high, x);
    low = std::fmin(low, x);
    count += x != 0;
  }
  double exps = 0;
  if (kind == Reduce::logsumexp) {
    for (T e : v) exps += std::exp(static_cast<double>(e) - high);
  }
  switch (kind) {
    case Reduce::sum:
    case Reduce::sum_numbers:
      return static_cast<double>(sum);
    case Reduce::mean:
      return static_cast<double>(sum / v.size());
    case Reduce::prod:
      return static_cast<double>(product);
    case Reduce::max:
      return high;
    case Reduce::min:
      return low;
    case Reduce::any:
      return count > 0;
    case Reduce::all:
      return count == static_cast<double>(v.size());
    case Reduce::sum_squares:
      return static_cast<double>(squares);
    case Reduce::mean_squares:
      return static_cast<double>(squares / v.size());
    case Reduce::sum_abs:
      return static_cast<double>(absolute);
    case Reduce::norm:
      return std::sqrt(static_cast<double>(squares));
    case Reduce::count_nonzero:
      return count;
    default:
      return v.empty() ? -INFINITY : std::log(exps) + high;
  }
}

double read(DType t, const void* p, int64_t i) {
  double value = 0;
  dispatch_types<bool, uint8_t, int8_t, uint16_t, int16_t, uint32_t, int32_t, uint64_t, int64_t,
                 float16, bfloat16, float, double>(
      t, [&]<class T>(T) { value = static_cast<double>(static_cast<const T*>(p)[i]); });
  return value;
}

template <class T>
void check(double low, double high, double tolerance) {
  const DType type = dtype_of<T>;
  for (const Case<T>& c : cases<T>()) {
    int64_t reach = 1;
    for (size_t d = 0; d < c.shape.size(); ++d) {
      reach += std::max<int64_t>(c.shape[d] - 1, 0) * std::abs(c.strides[d]);
    }
    std::vector<T> x = random_values<T>(reach, low, high);
    auto parts = groups(x, c.shape, c.strides, c.start, c.axes);
    for (int k = 0; k < kReduceKinds; ++k) {
      const Reduce kind = static_cast<Reduce>(k);
      if (!is_floating(type) &&
          (kind == Reduce::mean || kind == Reduce::sum_squares || kind == Reduce::sum_abs ||
           kind == Reduce::norm || kind == Reduce::logsumexp || kind == Reduce::prod ||
           kind == Reduce::mean_squares || kind == Reduce::sum_numbers)) {
        continue;
      }
      if (!parts.empty() && parts[0].empty() && (kind == Reduce::max || kind == Reduce::min))
        continue;
      // Long products underflow.
      if (kind == Reduce::prod && (sizeof(T) == 2 || (parts.size() && parts[0].size() > 20)))
        continue;
      std::vector<char> one(parts.size() * 16 + 16), two(parts.size() * 16 + 16);
      set_num_threads(1);
      reduce(kind, type, x.data() + c.start, c.shape, c.strides.data(), c.axes, one.data());
      set_num_threads(2);
      reduce(kind, type, x.data() + c.start, c.shape, c.strides.data(), c.axes, two.data());
      ASSERT_EQ(std::memcmp(one.data(), two.data(), one.size()), 0);
      for (size_t i = 0; i < parts.size(); ++i) {
        const double want = exact(kind, parts[i]);
        const double got = read(reduced_dtype(kind, type), one.data(), static_cast<int64_t>(i));
        if (std::isnan(want) || std::isinf(want)) {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(got) : got == want) << k << ' ' << got;
        } else {
          // Sums of mixed signs: relative to the sum of magnitudes.
          const double scale =
              kind == Reduce::sum || kind == Reduce::sum_numbers || kind == Reduce::mean
                  ? exact(Reduce::sum_abs, parts[i]) /
                        (kind == Reduce::mean ? static_cast<double>(parts[i].size()) : 1)
                  : std::fabs(want);
          ASSERT_NEAR(got, want,
                      tolerance * scale + (kind == Reduce::logsumexp ? tolerance : 0) +
                          (kind == Reduce::prod ? 50 * tolerance * scale : 0) +
                          (sizeof(T) == 2 ? 1e-7 : 0))  // float16 gets denormal
              << "kind " << k << " result " << i << " of " << parts.size() << 'x'
              << parts[i].size();
        }
      }
    }
  }
}

TEST(Reduce, Float32) {
  for_each_isa([] { check<float>(-1, 2, 3e-7); });
}
TEST(Reduce, Float64) {
  for_each_isa([] { check<double>(-1, 2, 1e-13); });
}
TEST(Reduce, SixteenBitFloats) {
  for_each_isa([] {
    check<float16>(-0.01, 0.3, 6e-4);
    check<bfloat16>(-1, 2, 4.5e-3);
  });
}
TEST(Reduce, Integers) {
  for_each_isa([] {
    check<int32_t>(-100, 100, 0);
    check<int8_t>(-100, 100, 0);
    check<uint8_t>(0, 200, 0);
    check<uint64_t>(0, 1000, 0);
  });
}

TEST(Reduce, LongSumsStayAccurate) {
  std::vector<float> x(10000000, 0.1f);
  const int64_t n = 10000000, one = 1;
  for_each_isa([&] {
    float sum = 0;
    reduce(Reduce::sum, DType::float32, x.data(), std::span(&n, 1), &one, 1, &sum);
    EXPECT_NEAR(sum, n * double{0.1f}, 0.25);  // four units in the last place
  });
}

TEST(Reduce, NanWins) {
  for_each_isa([] {
    for (int64_t n : {1, 5, 33, 300, 5000}) {
      for (int64_t at : {int64_t{0}, n / 2, n - 1}) {
        std::vector<float> x(n * 2, 1);
        x[at] = NAN;
        const int64_t rows[] = {2, n}, row_strides[] = {n, 1}, column_strides[] = {1, 2};
        float y[2];
        reduce(Reduce::max, DType::float32, x.data(), rows, row_strides, 2, y);
        EXPECT_TRUE(std::isnan(y[0]));
        EXPECT_EQ(y[1], 1);
        std::vector<float> z(n * 2, 1);
        z[2 * at] = NAN;
        reduce(Reduce::min, DType::float32, z.data(), rows, column_strides, 2, y);
        EXPECT_TRUE(std::isnan(y[0]));
        EXPECT_EQ(y[1], 1);
        int64_t index[2];
        reduce_arg(true, DType::float32, x.data(), rows, row_strides, 1, index);
        EXPECT_EQ(index[0], at);
        EXPECT_EQ(index[1], 0);
      }
    }
  });
}

TEST(Reduce, NumbersAmongNan) {
  for_each_isa([] {
    for (int64_t n : {1, 7, 16, 40, 300, 5000}) {
      const int64_t shape[] = {n, 3}, strides[] = {3, 1}, turned[] = {1, n};
      std::vector<float> x(3 * n, NAN);
      double want = 0;
      for (size_t i = 0; i < x.size(); i += 2) x[i] = 0.5f, want += 0.5;
      float all = -1, columns[3], rows[3];
      reduce(Reduce::sum_numbers, DType::float32, x.data(), shape, strides, 3, &all);
      reduce(Reduce::sum_numbers, DType::float32, x.data(), shape, strides, 1, columns);
      reduce(Reduce::sum_numbers, DType::float32, x.data(), shape, turned, 1, rows);
      EXPECT_EQ(all, want);
      EXPECT_EQ(columns[0] + columns[1] + columns[2], want);
      EXPECT_EQ(rows[0] + rows[1] + rows[2], want);
    }
  });
}

TEST(Reduce, VarianceAndNorm) {
  for_each_isa([] {
    for (auto [shape, axes] : {std::pair<Shape, uint32_t>{{50, 70}, 2},
                               {{50, 70}, 1},
                               {{3, 9, 40}, 5},
                               {{3, 9, 40}, 2},
                               {{100000}, 1},
                               {{1}, 1}}) {
      std::vector<float> x = random_values<float>(50 * 70 + 100000, 99, 101);
      auto parts = groups(x, shape, dense(shape), 0, axes);
      std::vector<float> variance(parts.size()), mean(parts.size()), norm(parts.size());
      reduce_variance(DType::float32, x.data(), shape, dense(shape).data(), axes, 1,
                      variance.data(), mean.data());
      reduce_norm(3, DType::float32, x.data(), shape, dense(shape).data(), axes, norm.data());
      for (size_t i = 0; i < parts.size(); ++i) {
        const double n = static_cast<double>(parts[i].size());
        double sum = 0, squares = 0, cubes = 0;
        for (float v : parts[i]) sum += v;
        for (float v : parts[i])
          squares += (v - sum / n) * (v - sum / n), cubes += std::pow(double{v}, 3);
        EXPECT_FLOAT_EQ(mean[i], static_cast<float>(sum / n));
        EXPECT_NEAR(norm[i], std::cbrt(cubes), 1e-6 * std::cbrt(cubes));
        if (n == 1) {
          EXPECT_TRUE(std::isnan(variance[i]));
        } else {
          EXPECT_NEAR(variance[i], squares / (n - 1), 1e-5 * squares / (n - 1));
        }
      }
    }
  });
}

template <class T>
void check_arg() {
  for (auto [shape, axis] : {std::pair<Shape, int>{{1}, 0},
                             {{700}, 0},
                             {{40, 33}, 1},
                             {{40, 33}, 0},
                             {{5, 60, 300}, 1},
                             {{4, 5, 6}, 0},
                             {{2, 3000}, 1},
                             {{0, 4}, 1}}) {
    int64_t n = 1;
    for (int64_t s : shape) n *= s;
    std::vector<T> x = random_values<T>(n, 0, 50);
    auto parts = groups(x, shape, dense(shape), 0, 1u << axis);
    for (bool largest : {false, true}) {
      std::vector<int64_t> got(parts.size());
      reduce_arg(largest, dtype_of<T>, x.data(), shape, dense(shape).data(), axis, got.data());
      for (size_t i = 0; i < parts.size(); ++i) {
        auto at = largest ? std::max_element(parts[i].begin(), parts[i].end())
                          : std::min_element(parts[i].begin(), parts[i].end());
        ASSERT_EQ(got[i], at - parts[i].begin()) << largest << ' ' << axis;
      }
    }
  }
}
TEST(Reduce, PositionOfExtremes) {
  for_each_isa([] {
    check_arg<float>();
    check_arg<double>();
    check_arg<float16>();
    check_arg<int32_t>();
    check_arg<int64_t>();
    check_arg<uint8_t>();
  });
}

TEST(Reduce, Complex) {
  using Z = std::complex<float>;
  const int64_t shape[] = {6, 50}, strides[] = {50, 1};
  std::vector<Z> x(300);
  for (int i = 0; i < 300; ++i)
    x[i] = {0.1f * static_cast<float>(i % 17), 1 - 0.01f * static_cast<float>(i)};
  for_each_isa([&] {
    Z sum[6], mean[50];
    float norm[6];
    reduce(Reduce::sum, DType::complex64, x.data(), shape, strides, 2, sum);
    reduce(Reduce::mean, DType::complex64, x.data(), shape, strides, 1, mean);
    reduce(Reduce::norm, DType::complex64, x.data(), shape, strides, 2, norm);
    for (int r = 0; r < 6; ++r) {
      Z want = 0;
      float squares = 0;
      for (int c = 0; c < 50; ++c) want += x[r * 50 + c], squares += std::norm(x[r * 50 + c]);
      EXPECT_NEAR(std::abs(sum[r] - want), 0, 1e-4);
      EXPECT_NEAR(norm[r], std::sqrt(squares), 1e-5);
    }
    Z want = 0;
    for (int r = 0; r < 6; ++r) want += x[r * 50 + 7];
    EXPECT_NEAR(std::abs(mean[7] - want / 6.0f), 0, 1e-6);
  });
}

}  // namespace
}  // namespace argosy::cpu
