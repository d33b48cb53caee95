#include "argosy/kernels/cpu/pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "argosy/base/error.h"
#include "tests/cpp/kernels/values.h"

namespace argosy::cpu {
namespace {

struct Case {
  int dims;
  int64_t in, kernel, stride, before, after;
  bool ceil = false;
  int64_t adaptive = 0;  // parts
};

PoolShape make(const Case& c, bool last) {
  PoolShape s;
  s.dims = c.dims;
  s.channels_last = last;
  s.adaptive = c.adaptive != 0;
  s.batch = 2;
  s.channels = 3;
  for (int d = 0; d < c.dims; ++d) {
    s.in[d] = c.in + d;
    s.kernel[d] = c.kernel;
    s.stride[d] = c.stride;
    s.pad[d] = c.before;
    s.out[d] = c.adaptive ? c.adaptive + d
                          : pool_out_size(s.in[d], c.kernel, c.stride, c.before, c.after, c.ceil);
  }
  return s;
}

int64_t product(const int64_t* v, int dims) {
  int64_t p = 1;
  for (int d = 0; d < dims; ++d) p *= v[d];
  return p;
}

int64_t at(const PoolShape& s, int64_t n, int64_t c, int64_t p, int64_t plane) {
  return s.channels_last ? (n * plane + p) * s.channels + c : (n * s.channels + c) * plane + p;
}

// Calls f(position in the plane) over the window of output o; returns its size with padding, as
// averages that count padding see it.
template <class F>
int64_t for_window(const PoolShape& s, int64_t o, F f) {
  int64_t begin[3] = {0, 0, 0}, end[3] = {1, 1, 1}, rest = o, padded = 1;
  for (int d = s.dims; d-- > 0; rest /= s.out[d]) {
    int64_t i = rest % s.out[d];
    if (s.adaptive) {
      begin[d] = static_cast<int64_t>(std::floor(double(i) * double(s.in[d]) / double(s.out[d])));
      end[d] = static_cast<int64_t>(std::ceil(double(i + 1) * double(s.in[d]) / double(s.out[d])));
    } else {
      begin[d] = i * s.stride[d] - s.pad[d];
      end[d] = std::min(begin[d] + s.kernel[d], s.in[d] + s.pad[d]);
    }
    padded *= end[d] - begin[d];
    begin[d] = std::max<int64_t>(begin[d], 0);
    end[d] = std::min(end[d], s.in[d]);
  }
  for (int64_t a = begin[0]; a < end[0]; ++a)
    for (int64_t b = begin[1]; b < end[1]; ++b)
      for (int64_t c = begin[2]; c < end[2]; ++c) {
        int64_t index[3] = {a, b, c}, p = 0;
        for (int d = 0; d < s.dims; ++d) p = p * s.in[d] + index[d];
        f(p);
      }
  return padded;
}

const Case kCases[] = {
    {2, 8, 2, 2, 0, 0},
    {2, 9, 3, 2, 1, 1},
    {2, 9, 3, 2, 1, 1, true},
    {2, 7, 3, 1, 1, 1},
    {2, 11, 4, 3, 2, 1, true},
    {2, 9, 7, 7, 0, 0},
    {1, 20, 3, 2, 1, 1},
    {1, 5, 5, 1, 2, 2},
    {3, 6, 2, 2, 0, 0},
    {3, 5, 3, 2, 1, 1, true},
    {2, 7, 2, 2, 0, 0, true},
    {2, 9, 0, 0, 0, 0, false, 4},
    {2, 8, 0, 0, 0, 0, false, 1},
    {1, 30, 0, 0, 0, 0, false, 7},
    {3, 5, 0, 0, 0, 0, false, 3},
    // Cut into rows where channels are last.
    {2, 90, 3, 2, 1, 1},
    {2, 60, 0, 0, 0, 0, false, 7},
};

template <class T>
constexpr double kEps = dtype_of<T> == DType::float64   ? 1e-13
                        : dtype_of<T> == DType::float32 ? 1e-5
                                                        : 2e-2;

template <class T>
void check(const Case& c, bool last) {
  SCOPED_TRACE(testing::Message() << name_of(dtype_of<T>) << " dims=" << c.dims << " in=" << c.in
                                  << " k=" << c.kernel << " s=" << c.stride << " p=" << c.before
                                  << " ceil=" << c.ceil << " adaptive=" << c.adaptive
                                  << " last=" << last);
  constexpr DType t = dtype_of<T>;
  PoolShape s = make(c, last);
  int64_t in = product(s.in, s.dims), out = product(s.out, s.dims);
  int64_t parts = s.batch * s.channels;
  auto x = random_values<T>(parts * in, -1, 1, 1), dy = random_values<T>(parts * out, -1, 1, 2);
  std::vector<T> y(dy.size(), T(9)), dx(x.size(), T(9));
  std::vector<int32_t> indices(dy.size(), -1);
  auto each = [&](auto f) {
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t ch = 0; ch < s.channels; ++ch)
        for (int64_t o = 0; o < out; ++o) f(n, ch, o, static_cast<size_t>(at(s, n, ch, o, out)));
  };
  auto place = [&](int64_t n, int64_t ch, int64_t p) {
    return static_cast<size_t>(at(s, n, ch, p, in));
  };

  max_pool(t, s, x.data(), y.data(), indices.data());
  std::vector<double> want_dx(x.size());
  each([&](int64_t n, int64_t ch, int64_t o, size_t i) {
    double best = -1e30;
    int64_t where = -1;
    for_window(s, o, [&](int64_t p) {
      double v = wide(x[place(n, ch, p)]);
      if (v > best) best = v, where = p;
    });
    ASSERT_EQ(wide(y[i]), best) << "max " << i;
    ASSERT_EQ(indices[i], where) << "index " << i;
    want_dx[place(n, ch, where)] += wide(dy[i]);
  });
  std::vector<T> again(y.size());
  max_pool(t, s, x.data(), again.data(), nullptr);
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(wide(again[i]), wide(y[i]));
  max_pool_backward(t, s, dy.data(), indices.data(), dx.data());
  for (size_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(wide(dx[i]), want_dx[i], 4 * kEps<T>) << i;

  for (AverageDivisor divisor : {AverageDivisor{true, 0}, {false, 0}, {true, 5}}) {
    avg_pool(t, s, divisor, x.data(), y.data());
    avg_pool_backward(t, s, divisor, dy.data(), dx.data());
    std::fill(want_dx.begin(), want_dx.end(), 0.0);
    each([&](int64_t n, int64_t ch, int64_t o, size_t i) {
      double sum = 0, count = 0;
      double padded = double(for_window(s, o, [&](int64_t p) {
        sum += wide(x[place(n, ch, p)]);
        count += 1;
      }));
      double by = divisor.fixed ? double(divisor.fixed) : divisor.exclusive ? count : padded;
      ASSERT_NEAR(wide(y[i]), sum / by, kEps<T>) << "average " << i;
      for_window(s, o, [&](int64_t p) { want_dx[place(n, ch, p)] += wide(dy[i]) / by; });
    });
    for (size_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(wide(dx[i]), want_dx[i], 4 * kEps<T>) << i;
  }

  for (double p : {2.0, 3.0}) {
    auto positive = random_values<T>(parts * in, 0.1, 1, 3);
    lp_pool(t, s, p, positive.data(), y.data());
    lp_pool_backward(t, s, p, positive.data(), y.data(), dy.data(), dx.data());
    std::fill(want_dx.begin(), want_dx.end(), 0.0);
    each([&](int64_t n, int64_t ch, int64_t o, size_t i) {
      double sum = 0;
      for_window(s, o, [&](int64_t q) { sum += std::pow(wide(positive[place(n, ch, q)]), p); });
      double norm = std::pow(sum, 1 / p);
      ASSERT_NEAR(wide(y[i]), norm, kEps<T> * (1 + norm)) << "lp " << i;
      for_window(s, o, [&](int64_t q) {
        want_dx[place(n, ch, q)] +=
            wide(dy[i]) * std::pow(wide(positive[place(n, ch, q)]) / norm, p - 1);
      });
    });
    for (size_t i = 0; i < dx.size(); ++i) ASSERT_NEAR(wide(dx[i]), want_dx[i], 8 * kEps<T>) << i;
  }
}

TEST(Pool, EveryFormAndDtype) {
  for (const Case& c : kCases)
    for (bool last : {false, true}) {
      check<float>(c, last);
      check<double>(c, last);
      check<float16>(c, last);
      check<bfloat16>(c, last);
    }
}

TEST(Pool, FirstOfEqualsWinsAndNaNToo) {
  PoolShape s = make({2, 2, 2, 2, 0, 0}, false);
  s.batch = s.channels = 1;
  s.in[1] = 2;
  float nan = std::numeric_limits<float>::quiet_NaN();
  float equal[] = {5, 5, 5, 5}, bad[] = {1, nan, 3, 2}, y;
  int32_t index;
  max_pool(DType::float32, s, equal, &y, &index);
  EXPECT_EQ(index, 0);
  max_pool(DType::float32, s, bad, &y, &index);
  EXPECT_TRUE(std::isnan(y));
  EXPECT_EQ(index, 1);
}

TEST(Pool, MinusInfinityIsBelowNothing) {
  PoolShape s = make({1, 4, 2, 2, 0, 0}, false);
  s.batch = s.channels = 1;
  float low = -std::numeric_limits<float>::infinity();
  float x[] = {1, low, low, low}, y[2];
  int32_t index[2];
  max_pool(DType::float32, s, x, y, index);
  EXPECT_EQ(index[0], 0);
  EXPECT_EQ(y[1], low);
  EXPECT_EQ(index[1], 2);
}

TEST(Pool, EmptyBatchTouchesNothing) {
  PoolShape s = make({2, 4, 2, 2, 0, 0}, false);
  s.batch = 0;
  std::vector<float> x(1000, 5), y(x);
  std::vector<int32_t> index(1000, 5);
  max_pool(DType::float32, s, x.data(), y.data(), index.data());
  avg_pool_backward(DType::float32, s, {}, y.data(), x.data());
  EXPECT_EQ(x, std::vector<float>(1000, 5));
  EXPECT_EQ(y, x);
  EXPECT_EQ(index, std::vector<int32_t>(1000, 5));
  EXPECT_NO_THROW(max_pool(DType::float32, s, nullptr, nullptr, nullptr));
  EXPECT_NO_THROW(avg_pool_backward(DType::float32, s, {}, nullptr, nullptr));
}

TEST(Pool, RefusesIntegers) {
  try {
    max_pool(DType::int64, PoolShape{}, nullptr, nullptr, nullptr);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_NE(std::string(e.what()).find("[max_pool] has no kernel for int64"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy::cpu
