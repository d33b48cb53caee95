#include "argosy/kernels/cpu/elementwise.h"

#include <cmath>
#include <complex>
#include <limits>
#include <random>
#include <vector>

#include "argosy/base/error.h"
#include "tests/cpp/kernels/each_isa.h"

namespace argosy::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
const float kNan = std::numeric_limits<float>::quiet_NaN();

template <class R, class T>
std::vector<R> run1(const LoopTable& table, const std::vector<T>& x, LoopParams p = {}) {
  std::vector<R> out(x.size());
  Loop loop = table[dtype_of<T>];
  EXPECT_NE(loop, nullptr);
  if (!loop) return out;
  Operand operands[] = {{const_cast<T*>(x.data()), nullptr, sizeof(T)},
                        {out.data(), nullptr, sizeof(R)}};
  run_loop_flat(loop, static_cast<int64_t>(x.size()), operands, &p);
  return out;
}
template <class R, class T>
std::vector<R> run2(const LoopTable& table, const std::vector<T>& a, const std::vector<T>& b,
                    LoopParams p = {}) {
  std::vector<R> out(a.size());
  Loop loop = table[dtype_of<T>];
  EXPECT_NE(loop, nullptr);
  if (!loop) return out;
  Operand operands[] = {{const_cast<T*>(a.data()), nullptr, sizeof(T)},
                        {const_cast<T*>(b.data()), nullptr, sizeof(T)},
                        {out.data(), nullptr, sizeof(R)}};
  run_loop_flat(loop, static_cast<int64_t>(a.size()), operands, &p);
  return out;
}

// Distance in units of the last place of the exact result.
double ulps(float got, double want) {
  if (std::isnan(want)) return std::isnan(got) ? 0 : 1e30;
  float rounded = static_cast<float>(want);
  if (std::isinf(rounded) || std::isinf(got)) return got == rounded ? 0 : 1e30;
  if (want == 0) return got == 0 ? 0 : 1e30;
  double spacing = std::fabs(std::nextafter(std::fabs(rounded), kInf) - std::fabs(rounded));
  return std::fabs(got - want) / spacing;
}

std::vector<float> samples(float low, float high) {
  std::vector<float> x = {0.0f,   -0.0f,  1.0f,   -1.0f,  0.5f,    1e-38f,      -1e-38f,
                          1e-42f, 1e-45f, 1e-7f,  -1e-7f, 3.4e38f, -3.4e38f,    kInf,
                          -kInf,  kNan,   88.72f, -87.5f, -103.9f, 0.99999994f, 1.0000001f,
                          1e-4f,  -2e-4f, 0.92f,  0.625f};
  std::mt19937 random(7);
  std::uniform_real_distribution<float> uniform(low, high);
  for (int i = 0; i < 20000; ++i) x.push_back(uniform(random));
  std::uniform_real_distribution<float> exponent(-30, 3);
  for (int i = 0; i < 5000; ++i) {
    float v = std::exp(exponent(random));
    if (v <= high) x.push_back(v);
    if (-v >= low) x.push_back(-v);
  }
  return x;
}

struct MathCase {
  const char* name;
  const LoopTable& (*table)();
  double (*exact)(double);
  float low, high;
  double limit;  // units in the last place
};

TEST(Math, Float32IsCloseToTheExactValue) {
  const MathCase cases[] = {
      {"exp", exp_loops, std::exp, -104, 89, 1.5},
      {"expm1", expm1_loops, std::expm1, -20, 88, 0.51},
      {"exp2", exp2_loops, std::exp2, -140, 128, 0.51},
      {"log", log_loops, std::log, 0, 1e4, 1.5},
      {"log2", log2_loops, std::log2, 0, 1e4, 0.51},
      {"log10", log10_loops, std::log10, 0, 1e4, 0.51},
      {"log1p", log1p_loops, std::log1p, -1, 100, 0.51},
      {"sin", sin_loops, std::sin, -1000, 1000, 0.51},
      {"cos", cos_loops, std::cos, -1000, 1000, 0.51},
      {"tan", tan_loops, std::tan, -1000, 1000, 0.51},
      {"sin far", sin_loops, std::sin, -1e12, 1e12, 0.51},
      {"asin", asin_loops, std::asin, -1, 1, 0.51},
      {"acos", acos_loops, std::acos, -1, 1, 0.51},
      {"atan", atan_loops, std::atan, -50, 50, 0.51},
      {"sinh", sinh_loops, std::sinh, -90, 90, 0.51},
      {"cosh", cosh_loops, std::cosh, -90, 90, 0.51},
      {"tanh", tanh_loops, std::tanh, -10, 10, 2},
      {"asinh", asinh_loops, std::asinh, -1e3, 1e3, 0.51},
      {"acosh", acosh_loops, std::acosh, 1, 1e3, 0.51},
      {"atanh", atanh_loops, std::atanh, -1, 1, 0.51},
      {"erf", erf_loops, std::erf, -5, 5, 2},
      {"erfc", erfc_loops, std::erfc, -5, 9, 0.51},
      {"sqrt", sqrt_loops, std::sqrt, 0, 1e4, 0.51},
      {"lgamma", lgamma_loops, std::lgamma, -20, 40, 0.51},
      {"sigmoid", sigmoid_loops, [](double x) { return 1 / (1 + std::exp(-x)); }, -80, 40, 2.5},
      {"rsqrt", rsqrt_loops, [](double x) { return 1 / std::sqrt(x); }, 0, 1e4, 1.5},
      {"floor", floor_loops, std::floor, -1e4, 1e4, 0},
      {"ceil", ceil_loops, std::ceil, -1e4, 1e4, 0},
      {"trunc", trunc_loops, std::trunc, -1e4, 1e4, 0},
      {"round", round_loops, std::rint, -1e2, 1e2, 0},
  };
  for_each_isa([&] {
    for (const MathCase& c : cases) {
      std::vector<float> x = samples(c.low, c.high);
      std::vector<float> y = run1<float>(c.table(), x);
      for (size_t i = 0; i < x.size(); ++i) {
        double want = c.exact(x[i]);
        // sigmoid of less than -88: the denominator overflows, the result is denormal.
        if (c.table == sigmoid_loops && x[i] < -88) want = 0;
        ASSERT_LE(ulps(y[i], want), c.limit) << c.name << '(' << x[i] << ") = " << y[i];
      }
      // Doubles: the C library's.
      std::vector<double> xd = {0.3, 0.75, 1.0}, yd = run1<double>(c.table(), xd);
      for (size_t i = 0; i < xd.size(); ++i) {
        double want = c.exact(xd[i]);
        if (std::isfinite(want)) {
          ASSERT_NEAR(yd[i], want, 4e-16 * std::fabs(want)) << c.name;
        } else {
          ASSERT_TRUE(std::isnan(want) ? std::isnan(yd[i]) : yd[i] == want) << c.name;
        }
      }
    }
  });
}

TEST(Math, SignOfZeroIsKept) {
  for_each_isa([] {
    for (auto table : {sin_loops, tan_loops, asin_loops, atan_loops, sinh_loops, tanh_loops,
                       asinh_loops, atanh_loops, erf_loops, expm1_loops, log1p_loops, sqrt_loops}) {
      EXPECT_TRUE(std::signbit(run1<float>(table(), std::vector<float>{-0.0f})[0]));
    }
  });
}

TEST(Math, SpecialFunctionsMatchKnownValues) {
  // SciPy's values.
  std::vector<double> y = {-0.999, -0.5, 0, 1e-10, 0.3, 0.9, 0.999999, 1, -1};
  std::vector<double> inverse = run1<double>(erfinv_loops(), y);
  for (size_t i = 0; i < 7; ++i) EXPECT_NEAR(std::erf(inverse[i]), y[i], 2e-16) << y[i];
  EXPECT_NEAR(inverse[6], 3.458910737275499, 1e-12);
  EXPECT_EQ(inverse[7], kInf);
  EXPECT_EQ(inverse[8], -kInf);
  std::vector<double> x = {1, 0.5, -0.5, 12.25, 1e-3, -3};
  std::vector<double> want = {-0.5772156649015329, -1.9635100260214235, 0.03648997397857651,
                              2.4641546551853692,  -1000.5755719318103, NAN};
  std::vector<double> got = run1<double>(digamma_loops(), x);
  for (size_t i = 0; i < 5; ++i) EXPECT_NEAR(got[i], want[i], 1e-13 * std::fabs(want[i]) + 2e-14);
  EXPECT_TRUE(std::isnan(got[5]));
  std::vector<double> b = {0, 1, -3.5, 24, 26, 300};
  std::vector<double> i0e = run1<double>(i0e_loops(), b), i1e = run1<double>(i1e_loops(), b);
  std::vector<double> want0 = {1,
                               0.46575960759364043,
                               0.22280243801077917,
                               0.0818682883340306,
                               0.07862365204001373,
                               0.02304255841508546};
  std::vector<double> want1 = {0,
                               0.2079104153497085,
                               -0.18739997660304997,
                               0.08014413927653474,
                               0.07709652456966624,
                               0.02300412204026895};
  for (size_t i = 0; i < b.size(); ++i) {
    EXPECT_NEAR(i0e[i], want0[i], 1e-14) << b[i];
    EXPECT_NEAR(i1e[i], want1[i], 1e-14) << b[i];
  }
}

TEST(Math, TwoInputFunctions) {
  std::vector<float> values = {0.0f, -0.0f, 1,    -1,    2,    -2,    0.5f,   -0.5f, 3,    -3,
                               7.3f, -7.3f, kInf, -kInf, kNan, 1e20f, 1e-20f, 127,   -126, 1e-42f};
  std::vector<float> a, b;
  for (float x : values) {
    for (float y : values) {
      a.push_back(x);
      b.push_back(y);
    }
  }
  for_each_isa([&] {
    std::vector<float> power = run2<float>(pow_loops(), a, b),
                       angle = run2<float>(atan2_loops(), a, b),
                       length = run2<float>(hypot_loops(), a, b),
                       sum = run2<float>(logaddexp_loops(), a, b);
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_LE(ulps(power[i], std::pow(double{a[i]}, double{b[i]})), 0.51)
          << a[i] << " ** " << b[i] << " = " << power[i];
      EXPECT_LE(ulps(angle[i], std::atan2(double{a[i]}, double{b[i]})), 0.51)
          << a[i] << ' ' << b[i] << ' ' << angle[i];
      if (!std::isnan(angle[i])) {
        EXPECT_EQ(std::signbit(angle[i]), std::signbit(a[i])) << a[i] << ' ' << b[i];
      }
      EXPECT_LE(ulps(length[i], std::hypot(double{a[i]}, double{b[i]})), 0.51);
      double want = std::isnan(a[i]) || std::isnan(b[i]) ? NAN
                    : a[i] == b[i]
                        ? a[i] + std::log(2.0)
                        : std::fmax(a[i], b[i]) +
                              std::log1p(std::exp(-std::fabs(double{a[i]} - double{b[i]})));
      EXPECT_LE(ulps(sum[i], want), 0.51) << a[i] << ' ' << b[i];
    }
  });
}

TEST(Arithmetic, ExtremesKeepNan) {
  const std::vector<float> a = {1, kNan, 2, -0.0f}, b = {kNan, 1, 3, 1};
  for_each_isa([&] {
    std::vector<float> high = run2<float>(maximum_loops(), a, b);
    EXPECT_TRUE(std::isnan(high[0]) && std::isnan(high[1]));
    EXPECT_EQ(high[2], 3);
    std::vector<float> low = run2<float>(fmin_loops(), a, b);
    EXPECT_EQ(low[0], 1);
    EXPECT_EQ(low[1], 1);
    EXPECT_EQ(low[2], 2);
    std::vector<float> clipped = run1<float>(clip_loops(), a, {0.5, 1.5});
    EXPECT_EQ(clipped[0], 1);
    EXPECT_TRUE(std::isnan(clipped[1]));
    EXPECT_EQ(clipped[2], 1.5);
  });
}

template <class T>
void check_integers() {
  std::vector<T> a, b;
  for (int64_t v : {0, 1, 2, 3, 7, -1, -2, -3, -7, 100, -100}) {
    for (int64_t w : {1, 2, 3, 5, -1, -2, -5, 100}) {
      a.push_back(static_cast<T>(v));
      b.push_back(static_cast<T>(w));
    }
  }
  a.push_back(std::numeric_limits<T>::min());
  b.push_back(static_cast<T>(-1));
  a.push_back(std::numeric_limits<T>::max());
  b.push_back(std::numeric_limits<T>::max());
  using Wide = __int128;
  auto sum = run2<T>(add_loops(), a, b), product = run2<T>(multiply_loops(), a, b),
       difference = run2<T>(subtract_loops(), a, b), quotient = run2<T>(floor_divide_loops(), a, b),
       rest = run2<T>(remainder_loops(), a, b), fmod = run2<T>(fmod_loops(), a, b);
  auto less = run2<uint8_t>(less_loops(), a, b);
  auto negated = run1<T>(negative_loops(), a);
  for (size_t i = 0; i < a.size(); ++i) {
    Wide x = a[i], y = b[i];
    EXPECT_EQ(sum[i], static_cast<T>(x + y));
    EXPECT_EQ(product[i], static_cast<T>(x * y));
    EXPECT_EQ(difference[i], static_cast<T>(x - y));
    EXPECT_EQ(negated[i], static_cast<T>(-x));
    EXPECT_EQ(less[i], x < y);
    Wide q = x / y, r = x % y;
    EXPECT_EQ(fmod[i], static_cast<T>(r));
    if (r != 0 && (r < 0) != (y < 0)) {
      q -= 1;
      r += y;
    }
    EXPECT_EQ(quotient[i], static_cast<T>(q)) << int64_t(x) << ' ' << int64_t(y);
    EXPECT_EQ(rest[i], static_cast<T>(r)) << int64_t(x) << ' ' << int64_t(y);
  }
}

TEST(Integers, WrapAndDivideAsPythonDoes) {
  for_each_isa([] {
    check_integers<uint8_t>();
    check_integers<int8_t>();
    check_integers<uint16_t>();
    check_integers<int16_t>();
    check_integers<uint32_t>();
    check_integers<int32_t>();
    check_integers<uint64_t>();
    check_integers<int64_t>();
    EXPECT_THROW(run2<int32_t>(remainder_loops(), std::vector<int32_t>{1, 2}, {1, 0}), Error);
    EXPECT_THROW(run2<int64_t>(floor_divide_loops(), std::vector<int64_t>{1, 2}, {1, 0}), Error);
  });
}

TEST(Integers, PowersShiftsAndDivisors) {
  for_each_isa([] {
    using V = std::vector<int64_t>;
    EXPECT_EQ(run2<int64_t>(pow_loops(), V{2, -2, 0, 1, -1, 3, 10}, V{-1, 3, 0, -5, -5, 4, 19}),
              (V{0, -8, 1, 1, -1, 81, int64_t(10000000000000000000ull)}));
    EXPECT_EQ(run2<int64_t>(gcd_loops(), V{12, -12, 0, 7}, V{18, 18, -5, 0}), (V{6, 6, 5, 7}));
    EXPECT_EQ(run2<int64_t>(lcm_loops(), V{4, -4, 0}, V{6, 6, 3}), (V{12, 12, 0}));
    using B = std::vector<int8_t>;
    EXPECT_EQ(run2<int8_t>(left_shift_loops(), B{1, -8, 127, 64}, B{1, 2, 9, -1}),
              (B{2, -32, 0, 0}));
    EXPECT_EQ(run2<int8_t>(right_shift_loops(), B{1, -8, 127, 64}, B{1, 2, 9, -1}),
              (B{0, -2, 0, 0}));
    EXPECT_EQ(run2<int8_t>(right_shift_logical_loops(), B{1, -8, 127}, B{1, 2, 9}), (B{0, 62, 0}));
    EXPECT_EQ(run1<int8_t>(bitwise_not_loops(), B{0, -1, 5}), (B{-1, 0, -6}));
  });
}

TEST(Floats, DivisionFollowsNumPy) {
  const std::vector<double> a = {7, -7, 7, -7, 5.5, kInf, 6, -6, 0.7, 1e300},
                            b = {3, 3, -3, -3, 0, 3, 3, 3, 0.1, 3};
  for_each_isa([&] {
    std::vector<double> q = run2<double>(floor_divide_loops(), a, b),
                        r = run2<double>(remainder_loops(), a, b);
    const std::vector<double> want_q = {2, -3, -3, 2, kInf, NAN, 2, -2, 6, 1e300 / 3},
                              want_r = {1, 2, -2, -1, NAN, NAN, 0, 0, 0.09999999999999992, 2};
    for (size_t i = 0; i < a.size(); ++i) {
      if (std::isnan(want_q[i])) {
        EXPECT_TRUE(std::isnan(q[i]));
      } else {
        EXPECT_EQ(q[i], want_q[i]) << a[i] << ' ' << b[i];
      }
      if (std::isnan(want_r[i])) {
        EXPECT_TRUE(std::isnan(r[i]));
      } else {
        EXPECT_EQ(r[i], i == 9 ? std::fmod(1e300, 3) : want_r[i]);
      }
    }
  });
}

TEST(Complex, ArithmeticAndFunctions) {
  using Z = std::complex<float>;
  const std::vector<Z> a = {{1, 2}, {0, -3}, {1e20f, 1e20f}, {-2, 0.5f}},
                       b = {{3, -1}, {2, 2}, {1e20f, 0}, {0, 1}};
  for_each_isa([&] {
    auto product = run2<Z>(multiply_loops(), a, b), quotient = run2<Z>(divide_loops(), a, b);
    auto size = run1<float>(absolute_loops(), a);
    auto e = run1<Z>(exp_loops(), std::vector<Z>{{0.5f, 1}});
    for (size_t i : {0, 1, 3}) EXPECT_NEAR(std::abs(product[i] - a[i] * b[i]), 0, 1e-6);
    for (size_t i = 0; i < a.size(); ++i) {
      std::complex<double> want = std::complex<double>(a[i]) / std::complex<double>(b[i]);
      EXPECT_NEAR(std::abs(std::complex<double>(quotient[i]) - want), 0, 1e-6);
      EXPECT_FLOAT_EQ(size[i], std::abs(a[i]));
    }
    EXPECT_NEAR(std::abs(e[0] - std::exp(Z(0.5f, 1))), 0, 1e-6);
    EXPECT_EQ((run2<uint8_t>(equal_loops(), a, a)), std::vector<uint8_t>(4, 1));
  });
}

TEST(HalfPrecision, RoundsOnceFromFloat32) {
  for_each_isa([] {
    for (int64_t n : {1, 7, 8, 9, 63, 600, 3000}) {
      std::vector<float16> h(n);
      std::vector<bfloat16> b(n);
      for (int64_t i = 0; i < n; ++i) {
        h[i] = float16(0.01f * static_cast<float>(i) - 3);
        b[i] = bfloat16(0.01f * static_cast<float>(i) - 3);
      }
      std::vector<float16> h2 = run2<float16>(multiply_loops(), h, h);
      std::vector<bfloat16> b2 = run2<bfloat16>(add_loops(), b, b);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_EQ(h2[i].bits, float16(float{h[i]} * float{h[i]}).bits);
        ASSERT_EQ(b2[i].bits, bfloat16(float{b[i]} + float{b[i]}).bits);
      }
    }
  });
}

// Formulas as in the papers, in double.
struct ActivationCase {
  const char* name;
  const LoopTable& (*forward)();
  const LoopTable& (*backward)();  // null: none
  bool from_output;
  LoopParams params;
  double (*exact)(double);
};

double softplus(double x) {
  return std::fmax(x, 0) + std::log1p(std::exp(-std::fabs(x)));
}

TEST(Activations, ValuesAndGradients) {
  const ActivationCase cases[] = {
      {"relu", relu_loops, relu_grad_loops, true, {}, [](double x) { return x > 0 ? x : 0; }},
      {"relu6",
       relu6_loops,
       relu6_grad_loops,
       true,
       {},
       [](double x) { return std::clamp(x, 0., 6.); }},
      {"leaky_relu",
       leaky_relu_loops,
       leaky_relu_grad_loops,
       false,
       {0.1},
       [](double x) { return x > 0 ? x : 0.1 * x; }},
      {"elu",
       elu_loops,
       elu_grad_loops,
       false,
       {0.7},
       [](double x) { return x > 0 ? x : 0.7 * std::expm1(x); }},
      {"celu",
       celu_loops,
       celu_grad_loops,
       false,
       {0.7},
       [](double x) { return x > 0 ? x : 0.7 * std::expm1(x / 0.7); }},
      {"selu",
       selu_loops,
       selu_grad_loops,
       true,
       {1.05, 1.67},
       [](double x) { return 1.05 * (x > 0 ? x : 1.67 * std::expm1(x)); }},
      {"gelu",
       gelu_loops,
       gelu_grad_loops,
       false,
       {},
       [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.)); }},
      {"gelu tanh",
       gelu_loops,
       gelu_grad_loops,
       false,
       {1},
       [](double x) {
         return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
       }},
      {"silu",
       silu_loops,
       silu_grad_loops,
       false,
       {},
       [](double x) { return x / (1 + std::exp(-x)); }},
      {"mish",
       mish_loops,
       mish_grad_loops,
       false,
       {},
       [](double x) { return x * std::tanh(softplus(x)); }},
      {"softsign",
       softsign_loops,
       softsign_grad_loops,
       false,
       {},
       [](double x) { return x / (1 + std::fabs(x)); }},
      {"tanhshrink",
       tanhshrink_loops,
       tanhshrink_grad_loops,
       false,
       {},
       [](double x) { return x - std::tanh(x); }},
      {"log_sigmoid",
       log_sigmoid_loops,
       log_sigmoid_grad_loops,
       false,
       {},
       [](double x) { return -softplus(-x); }},
      {"softplus",
       softplus_loops,
       softplus_grad_loops,
       false,
       {2, 20},
       [](double x) { return softplus(2 * x) / 2; }},
      {"hardtanh",
       hardtanh_loops,
       hardtanh_grad_loops,
       false,
       {-0.9, 1.1},
       [](double x) { return std::clamp(x, -0.9, 1.1); }},
      {"hardsigmoid",
       hardsigmoid_loops,
       hardsigmoid_grad_loops,
       true,
       {0.2, 0.5},
       [](double x) { return std::clamp(0.2 * x + 0.5, 0., 1.); }},
      {"hardswish",
       hardswish_loops,
       hardswish_grad_loops,
       false,
       {},
       [](double x) { return x * std::clamp(x + 3, 0., 6.) / 6; }},
      {"softshrink",
       softshrink_loops,
       softshrink_grad_loops,
       false,
       {0.4},
       [](double x) { return x > 0.4    ? x - 0.4
                             : x < -0.4 ? x + 0.4
                                        : 0; }},
      {"hardshrink",
       hardshrink_loops,
       hardshrink_grad_loops,
       false,
       {0.4},
       [](double x) { return std::fabs(x) > 0.4 ? x : 0; }},
      {"thresholded_relu",
       thresholded_relu_loops,
       thresholded_relu_grad_loops,
       false,
       {0.8, 0.1},
       [](double x) { return x > 0.8 ? x : 0.1; }},
      {"stanh",
       stanh_loops,
       stanh_grad_loops,
       false,
       {0.67, 1.7},
       [](double x) { return 1.7 * std::tanh(0.67 * x); }},
      {"sigmoid",
       sigmoid_loops,
       sigmoid_grad_loops,
       true,
       {},
       [](double x) { return 1 / (1 + std::exp(-x)); }},
      {"tanh", tanh_loops, tanh_grad_loops, true, {}, [](double x) { return std::tanh(x); }},
      {"square", square_loops, square_grad_loops, false, {}, [](double x) { return x * x; }},
      {"absolute",
       absolute_loops,
       abs_grad_loops,
       false,
       {},
       [](double x) { return std::fabs(x); }},
      {"reciprocal",
       reciprocal_loops,
       reciprocal_grad_loops,
       true,
       {},
       [](double x) { return 1 / x; }},
      {"clip",
       clip_loops,
       clip_grad_loops,
       false,
       {-1, 1},
       [](double x) { return std::clamp(x, -1., 1.); }},
  };
  // No kink of any of them is among the points.
  std::vector<double> x;
  for (int i = 0; i < 333; ++i) x.push_back(-8.013 + 0.0487 * i);
  std::vector<float> xf(x.begin(), x.end());
  for_each_isa([&] {
    for (const ActivationCase& c : cases) {
      std::vector<double> y = run1<double>(c.forward(), x, c.params), dy(x.size(), 1.5);
      std::vector<float> yf = run1<float>(c.forward(), xf, c.params), dyf(x.size(), 1.5f);
      std::vector<double> dx = run2<double>(c.backward(), c.from_output ? y : x, dy, c.params);
      std::vector<float> dxf = run2<float>(c.backward(), c.from_output ? yf : xf, dyf, c.params);
      for (size_t i = 0; i < x.size(); ++i) {
        const double h = 1e-5, want = c.exact(x[i]);
        const double slope = 1.5 * (c.exact(x[i] + h) - c.exact(x[i] - h)) / (2 * h);
        const double scale = 1 + std::fabs(want) + std::fabs(slope);
        ASSERT_NEAR(y[i], want, 1e-13 * scale) << c.name << ' ' << x[i];
        ASSERT_NEAR(yf[i], c.exact(xf[i]), 4e-7 * scale) << c.name << ' ' << x[i];
        ASSERT_NEAR(dx[i], slope, 1e-6 * scale) << c.name << ' ' << x[i];
        ASSERT_NEAR(dxf[i], slope, 4e-6 * scale) << c.name << ' ' << x[i];
      }
      std::vector<float> nan = run1<float>(c.forward(), std::vector<float>{kNan}, c.params);
      EXPECT_TRUE(std::isnan(nan[0])) << c.name;
    }
  });
}

TEST(Gelu, LeftTailIsAccurate) {
  for_each_isa([] {
    std::vector<float> x;
    for (float v = -6; v < 6; v += 0.01f) x.push_back(v);
    std::vector<float> y = run1<float>(gelu_loops(), x);
    for (size_t i = 0; i < x.size(); ++i) {
      double want = 0.5 * x[i] * std::erfc(-x[i] / std::sqrt(2.));
      EXPECT_NEAR(y[i], want, 1e-3 * std::fabs(want)) << x[i];
    }
  });
}

TEST(Cast, EveryPairOfDtypes) {
  for_each_isa([] {
    for (int from = 0; from < kDTypeCount; ++from) {
      for (int to = 0; to < kDTypeCount; ++to) {
        Loop loop = cast_loop(static_cast<DType>(from), static_cast<DType>(to));
        ASSERT_NE(loop, nullptr);
        // 0, 1, 2, 3, .. through double: small whole numbers survive any pair.
        const int64_t n = 37;
        std::vector<double> start(n);
        for (int64_t i = 0; i < n; ++i) start[i] = static_cast<double>(i % 9);
        std::vector<char> a(n * 16), b(n * 16);
        std::vector<double> end(n);
        auto cast = [&](DType f, DType t, void* in, void* out) {
          Operand operands[] = {{in, nullptr, item_size(f)}, {out, nullptr, item_size(t)}};
          run_loop_flat(cast_loop(f, t), n, operands);
        };
        cast(DType::float64, static_cast<DType>(from), start.data(), a.data());
        cast(static_cast<DType>(from), static_cast<DType>(to), a.data(), b.data());
        cast(static_cast<DType>(to), DType::float64, b.data(), end.data());
        const bool boolean = from == 0 || to == 0;
        for (int64_t i = 0; i < n; ++i) {
          ASSERT_EQ(end[i], boolean ? start[i] != 0 : start[i]) << from << ' ' << to;
        }
      }
    }
  });
}

TEST(Cast, FloatsToIntegers) {
  auto cast = []<class To>(std::vector<double> x, To) {
    std::vector<To> out(x.size());
    Operand operands[] = {{x.data(), nullptr, 8}, {out.data(), nullptr, sizeof(To)}};
    run_loop_flat(cast_loop(DType::float64, dtype_of<To>), static_cast<int64_t>(x.size()),
                  operands);
    return out;
  };
  for_each_isa([&] {
    EXPECT_EQ(cast({1.9, -1.9, 2147483647.0}, int32_t{}),
              (std::vector<int32_t>{1, -1, 2147483647}));
    EXPECT_EQ(cast({1.9, 1.8e19, -1.0}, uint64_t{}),
              (std::vector<uint64_t>{1, 18000000000000000000ull, ~0ull}));
    EXPECT_EQ(cast({300.0, -1.0}, uint8_t{}), (std::vector<uint8_t>{44, 255}));
    EXPECT_EQ(cast({-9.2e18}, int64_t{}), (std::vector<int64_t>{-9200000000000000000}));
  });
}

TEST(Cast, Float8RoundsToNearestEven) {
  std::vector<float> x = {0.3f, 1e6f, -448, 464.1f, 0.001f, kNan, kInf, 1.0625f, 17};
  for_each_isa([&] {
    std::vector<uint8_t> out(x.size());
    Operand operands[] = {{x.data(), nullptr, 4}, {out.data(), nullptr, 1}};
    run_loop_flat(cast_loop(DType::float32, DType::float8_e4m3), static_cast<int64_t>(x.size()),
                  operands);
    for (size_t i = 0; i < x.size(); ++i) EXPECT_EQ(out[i], float8_e4m3(x[i]).bits) << x[i];
  });
}

TEST(Where, ChoosesByWidth) {
  for_each_isa([] {
    for (DType t :
         {DType::int8, DType::float16, DType::float32, DType::float64, DType::complex128}) {
      const int size = item_size(t);
      const int64_t n = 45;
      std::vector<uint8_t> condition(n);
      std::vector<char> a(n * size, 1), b(n * size, 2), out(n * size);
      for (int64_t i = 0; i < n; ++i) condition[i] = i % 3 == 0;
      Operand operands[] = {{condition.data(), nullptr, 1},
                            {a.data(), nullptr, size},
                            {b.data(), nullptr, size},
                            {out.data(), nullptr, size}};
      run_loop_flat(where_loops()[t], n, operands);
      for (int64_t i = 0; i < n * size; ++i) ASSERT_EQ(out[i], i / size % 3 == 0 ? 1 : 2);
    }
  });
}

}  // namespace
}  // namespace argosy::cpu
