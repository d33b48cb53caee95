#include "argosy/kernels/cpu/interp.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "argosy/base/error.h"
#include "tests/cpp/kernels/values.h"

namespace argosy::cpu {
namespace {

struct Case {
  InterpMode mode;
  int dims;
  int64_t in, out;
  bool align, half;
  double scale = 0;
};

InterpShape make(const Case& c, bool last) {
  InterpShape s;
  s.dims = c.dims;
  s.channels_last = last;
  s.batch = 2;
  s.channels = 3;
  s.align_corners = c.align;
  s.half_pixel = c.half;
  for (int d = 0; d < c.dims; ++d) {
    s.in[d] = c.in + d;
    s.out[d] = c.out;
    s.scale[d] = c.scale;
  }
  return s;
}

double cubic(double t) {
  t = std::abs(t);
  double a = -0.75;
  if (t <= 1) return (a + 2) * t * t * t - (a + 3) * t * t + 1;
  return t < 2 ? a * t * t * t - 5 * a * t * t + 8 * a * t - 4 * a : 0;
}

// How much input i of dim d counts for output k: the formulas of interp.h.
double weight(const Case& c, const InterpShape& s, int d, int64_t k, int64_t i) {
  int64_t in = s.in[d], out = s.out[d];
  double ratio = out == 1  ? 0
                 : c.align ? double(in - 1) / double(out - 1)
                 : c.scale ? 1 / c.scale
                           : double(in) / double(out);
  double plain = ratio * double(k), half = c.align ? plain : ratio * (double(k) + 0.5) - 0.5;
  auto clamped = [&](int64_t at) { return std::clamp<int64_t>(at, 0, in - 1); };
  if (c.mode == InterpMode::nearest)
    return clamped(int64_t(c.align ? plain + 0.5 : plain + 1e-6)) == i;
  double sum = 0;
  if (c.mode == InterpMode::linear) {
    double source = std::max(c.half ? half : plain, 0.0);
    auto at = static_cast<int64_t>(source);
    double part = source - double(at);
    if (clamped(at) == i) sum += 1 - part;
    if (clamped(at + 1) == i) sum += part;
    return sum;
  }
  auto at = static_cast<int64_t>(std::floor(half));
  for (int64_t tap = at - 1; tap <= at + 2; ++tap)
    if (clamped(tap) == i) sum += cubic(half - double(tap));
  return sum;
}

template <class T>
void check(const Case& c, bool last) {
  SCOPED_TRACE(testing::Message() << name_of(dtype_of<T>) << " mode=" << int(c.mode)
                                  << " dims=" << c.dims << " in=" << c.in << " out=" << c.out
                                  << " align=" << c.align << " half=" << c.half
                                  << " last=" << last);
  InterpShape s = make(c, last);
  int64_t in = 1, out = 1;
  for (int d = 0; d < s.dims; ++d) in *= s.in[d], out *= s.out[d];
  int64_t parts = s.batch * s.channels;
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> real(-1, 1);
  std::vector<T> x(static_cast<size_t>(parts * in)), y(static_cast<size_t>(parts * out), T(9));
  std::vector<T> dy(y.size()), dx(x.size(), T(9));
  for (T& v : x) v = T(real(engine));
  for (T& v : dy) v = T(real(engine));
  interp(dtype_of<T>, c.mode, s, x.data(), y.data());
  interp_backward(dtype_of<T>, c.mode, s, dy.data(), dx.data());
  std::vector<double> want_y(y.size()), want_dx(x.size());
  auto at = [&](int64_t n, int64_t ch, int64_t p, int64_t plane) {
    return static_cast<size_t>(last ? (n * plane + p) * s.channels + ch
                                    : (n * s.channels + ch) * plane + p);
  };
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i) {
      double w = 1;
      int64_t ro = o, ri = i;
      for (int d = s.dims; d-- > 0; ro /= s.out[d], ri /= s.in[d])
        w *= weight(c, s, d, ro % s.out[d], ri % s.in[d]);
      if (w == 0) continue;
      for (int64_t n = 0; n < s.batch; ++n)
        for (int64_t ch = 0; ch < s.channels; ++ch) {
          want_y[at(n, ch, o, out)] += w * wide(x[at(n, ch, i, in)]);
          want_dx[at(n, ch, i, in)] += w * wide(dy[at(n, ch, o, out)]);
        }
    }
  double eps = sizeof(T) == 2 ? 3e-2 : 3e-5;
  for (size_t i = 0; i < y.size(); ++i) ASSERT_NEAR(wide(y[i]), want_y[i], eps) << "y " << i;
  for (size_t i = 0; i < dx.size(); ++i)
    ASSERT_NEAR(wide(dx[i]), want_dx[i], 8 * eps) << "dx " << i;
}

TEST(Interp, EveryModeAndDtype) {
  for (InterpMode mode : {InterpMode::nearest, InterpMode::linear, InterpMode::cubic})
    for (int dims : {1, 2, 3})
      for (auto [in, out] : {std::pair<int64_t, int64_t>{4, 7}, {6, 3}, {5, 1}, {1, 4}})
        for (bool align : {false, true})
          for (bool half : {false, true})
            for (bool last : {false, true}) {
              Case c{mode, dims, in, out, align, half};
              check<float>(c, last);
              if (dims != 2) continue;
              check<double>(c, last);
              check<float16>(c, last);
              check<bfloat16>(c, last);
            }
}

TEST(Interp, ScaleInsteadOfSizes) {
  check<float>({InterpMode::linear, 2, 7, 11, false, true, 1.6}, false);
  check<float>({InterpMode::nearest, 2, 7, 11, false, true, 1.6}, false);
  check<double>({InterpMode::cubic, 2, 7, 11, false, true, 1.6}, true);
}

TEST(Interp, SameSizeIsACopyWhateverTheScale) {
  InterpShape s = make({InterpMode::linear, 1, 2, 2, false, true, 1.3}, false);
  s.batch = s.channels = 1;
  float x[] = {1, 2}, y[2];
  interp(DType::float32, InterpMode::linear, s, x, y);
  EXPECT_EQ(y[1], 2);
  interp_backward(DType::float32, InterpMode::linear, s, x, y);
  EXPECT_EQ(y[0], 1);
}

TEST(Interp, NearestTakesAnyDtype) {
  InterpShape s = make({InterpMode::nearest, 1, 2, 4, false, true}, false);
  s.batch = s.channels = 1;
  int64_t x[] = {1, 2}, y[4];
  interp(DType::int64, InterpMode::nearest, s, x, y);
  EXPECT_EQ(y[1], 1);
  EXPECT_EQ(y[2], 2);
  complex128 cx[] = {{1, 2}, {3, 4}}, cy[4];
  interp(DType::complex128, InterpMode::nearest, s, cx, cy);
  EXPECT_EQ(cy[3], cx[1]);
}

TEST(Interp, EmptyBatchTouchesNothing) {
  InterpShape s = make({InterpMode::linear, 2, 4, 7, false, true}, false);
  s.batch = 0;
  std::vector<float> x(1000, 5), y(x);
  interp(DType::float32, InterpMode::linear, s, x.data(), y.data());
  interp_backward(DType::float32, InterpMode::linear, s, y.data(), x.data());
  EXPECT_EQ(x, std::vector<float>(1000, 5));
  EXPECT_EQ(y, x);
  EXPECT_NO_THROW(interp(DType::float32, InterpMode::linear, s, nullptr, nullptr));
  EXPECT_NO_THROW(interp_backward(DType::float32, InterpMode::linear, s, nullptr, nullptr));
}

TEST(Interp, RefusesIntegersButForNearest) {
  try {
    interp(DType::int32, InterpMode::cubic, InterpShape{}, nullptr, nullptr);
    FAIL() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::type);
    EXPECT_NE(std::string(e.what()).find("mode 'nearest'"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy::cpu
