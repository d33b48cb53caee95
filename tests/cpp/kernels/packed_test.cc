#include "argosy/kernels/cpu/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "argosy/base/parallel.h"
#include "tests/cpp/kernels/each_isa.h"
#include "tests/cpp/kernels/values.h"

// Products and convolutions with packed weights against sums in float64, with each instruction set.
namespace argosy::cpu {
namespace {

using Floats = std::vector<float>;

double post(const PackedEpilogue& e, double x) {
  switch (e.post) {
    case PostOp::relu:
      x = x < 0 ? x * e.alpha : x;
      break;
    case PostOp::hardswish:
      x *= std::clamp(x + 3, 0.0, 6.0) / 6;
      break;
    case PostOp::silu:
      x /= 1 + std::exp(-x);
      break;
    default:
      break;
  }
  return x * e.scale + e.shift;
}

// What is applied to results: registers' activations and others, with and without a factor.
std::vector<PackedEpilogue> epilogues() {
  PackedEpilogue plain, relu, swish, silu;
  relu.post = PostOp::relu;
  swish.post = PostOp::hardswish;
  swish.scale = 1.5f;
  swish.shift = -0.25f;
  silu.post = PostOp::silu;
  silu.scale = -2;
  return {plain, relu, swish, silu};
}

void expect_close(const Floats& got, const std::vector<double>& wanted) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], wanted[i], 1e-4 * (1 + std::abs(wanted[i]))) << "element " << i;
}

TEST(Packed, Products) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 5, 200},
                                {1, 1030, 128},
                                {7, 33, 81},
                                {25, 1100, 64},
                                {13, 40, 120},
                                {49, 70, 24},
                                {11, 9, 16}}) {
    const Floats x = random_values<float>(m * k), w = random_values<float>(k * n, -1, 1, 5),
                 bias = random_values<float>(n, -1, 1, 6), rest = random_values<float>(m * n);
    for (PackedEpilogue e : epilogues()) {
      e.bias = bias.data();
      e.residual = rest.data();
      std::vector<double> wanted;
      for (int64_t i = 0; i < m * n; ++i) {
        double sum = bias[static_cast<size_t>(i % n)] + rest[static_cast<size_t>(i)];
        for (int64_t q = 0; q < k; ++q)
          sum +=
              wide(x[static_cast<size_t>(i / n * k + q)]) * w[static_cast<size_t>(q * n + i % n)];
        wanted.push_back(post(e, sum));
      }
      for_each_isa([&] {
        std::vector<char> packed(static_cast<size_t>(packed_linear_bytes(k, n)));
        pack_linear(k, n, w.data(), n, 1, packed.data());
        Floats y(wanted.size(), std::numeric_limits<float>::quiet_NaN());
        packed_linear(m, k, n, x.data(), packed.data(), e, y.data());
        expect_close(y, wanted);
      });
    }
  }
}

// Few rows are multiplied by the panels in one order and then in the other.
TEST(Packed, RepeatedProductsOfFewRowsAreTheSameToTheBit) {
  for (const int64_t m : {1, 3, 4}) {
    const int64_t k = 1500, n = 330;  // blocks of rows, and a last panel that is narrow
    const Floats x = random_values<float>(m * k), w = random_values<float>(k * n, -1, 1, 5),
                 bias = random_values<float>(n, -1, 1, 6), rest = random_values<float>(m * n);
    PackedEpilogue e;
    e.bias = bias.data();
    e.residual = rest.data();
    for_each_isa([&] {
      std::vector<char> packed(static_cast<size_t>(packed_linear_bytes(k, n)));
      pack_linear(k, n, w.data(), n, 1, packed.data());
      Floats first;
      for (int i = 0; i < 5; ++i) {
        Floats y(static_cast<size_t>(m * n), std::numeric_limits<float>::quiet_NaN());
        packed_linear(m, k, n, x.data(), packed.data(), e, y.data());
        if (i == 0) first = y;
        ASSERT_EQ(y, first) << m << " rows, run " << i;
      }
    });
  }
}

TEST(Packed, AMatrixAndItsTransposeSeenOtherwiseArePackedAlike) {
  for (const auto& [k, n] : {std::array<int64_t, 2>{5, 200}, {64, 64}, {37, 81}, {100, 7}}) {
    const Floats w = random_values<float>(k * n);
    Floats turned(w.size());
    for (int64_t i = 0; i < k; ++i)
      for (int64_t j = 0; j < n; ++j)
        turned[static_cast<size_t>(j * k + i)] = w[static_cast<size_t>(i * n + j)];
    const auto bytes = static_cast<size_t>(packed_linear_bytes(k, n));
    std::vector<char> packed(bytes, 1), other(bytes, 2);
    pack_linear(k, n, w.data(), n, 1, packed.data());
    pack_linear(k, n, turned.data(), 1, k, other.data());
    EXPECT_EQ(packed, other) << k << " x " << n;
  }
}

struct Case {
  int64_t in, out, groups, kernel[2], stride[2], dilation[2], pad[2], size[2];
};

ConvShape shape_of(const Case& c) {
  ConvShape s;
  s.channels_last = true;
  s.batch = 2;
  s.in_channels = c.in;
  s.out_channels = c.out;
  s.groups = c.groups;
  for (int d = 0; d < 2; ++d) {
    s.in[d] = c.size[d];
    s.kernel[d] = c.kernel[d];
    s.stride[d] = c.stride[d];
    s.dilation[d] = c.dilation[d];
    s.pad[d] = c.pad[d];
    s.out[d] = conv_out_size(s.in[d], s.kernel[d], s.stride[d], s.dilation[d], s.pad[d], s.pad[d]);
  }
  return s;
}

// A sum over the window of output element i.
double window(const ConvShape& s, const Floats& x, const Floats& w, int64_t i) {
  const int64_t channel = i % s.out_channels, column = i / s.out_channels % s.out[1];
  const int64_t row = i / (s.out_channels * s.out[1]) % s.out[0];
  const int64_t image = i / (s.out_channels * s.out[1] * s.out[0]);
  const int64_t inner = s.in_channels / s.groups;
  const int64_t from = channel / (s.out_channels / s.groups) * inner;
  double sum = 0;
  for (int64_t r = 0; r < s.kernel[0]; ++r)
    for (int64_t t = 0; t < s.kernel[1]; ++t) {
      const int64_t y = row * s.stride[0] + r * s.dilation[0] - s.pad[0];
      const int64_t z = column * s.stride[1] + t * s.dilation[1] - s.pad[1];
      if (y < 0 || y >= s.in[0] || z < 0 || z >= s.in[1]) continue;
      for (int64_t q = 0; q < inner; ++q) {
        const int64_t at = ((image * s.in[0] + y) * s.in[1] + z) * s.in_channels + from + q;
        const int64_t weight = ((channel * inner + q) * s.kernel[0] + r) * s.kernel[1] + t;
        sum += wide(x[static_cast<size_t>(at)]) * w[static_cast<size_t>(weight)];
      }
    }
  return sum;
}

TEST(Packed, Convolutions) {
  const Case cases[] = {
      {16, 24, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {9, 8}},
      {20, 70, 1, {3, 2}, {2, 1}, {1, 2}, {0, 3}, {11, 6}},
      {600, 16, 1, {1, 3}, {1, 1}, {1, 1}, {0, 1}, {2, 5}},
      {3, 16, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {12, 12}},
      {3, 40, 1, {7, 7}, {2, 2}, {1, 1}, {3, 3}, {13, 17}},
      {4, 20, 1, {3, 5}, {1, 1}, {2, 1}, {2, 4}, {6, 3}},
      {2, 9, 1, {3, 3}, {1, 3}, {1, 2}, {1, 1}, {5, 8}},
      {1, 8, 1, {5, 5}, {1, 1}, {1, 1}, {4, 4}, {3, 3}},
      {40, 40, 40, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {7, 14}},
      {23, 23, 23, {5, 3}, {2, 1}, {1, 2}, {2, 4}, {9, 5}},
      {130, 130, 130, {3, 5}, {1, 2}, {1, 1}, {1, 2}, {4, 21}},
      {32, 32, 2, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {6, 6}},
  };
  for (const Case& c : cases) {
    const ConvShape s = shape_of(c);
    SCOPED_TRACE(::testing::Message() << c.in << " channels to " << c.out << " of " << c.groups);
    const int64_t count = s.batch * s.out[0] * s.out[1] * s.out_channels;
    const Floats x = random_values<float>(s.batch * s.in[0] * s.in[1] * s.in_channels),
                 w = random_values<float>(
                     s.out_channels * (s.in_channels / s.groups) * s.kernel[0] * s.kernel[1], -1, 1,
                     5),
                 bias = random_values<float>(s.out_channels, -1, 1, 6),
                 rest = random_values<float>(count, -1, 1, 7);
    for (PackedEpilogue e : epilogues()) {
      e.bias = bias.data();
      e.residual = rest.data();
      std::vector<double> wanted;
      for (int64_t i = 0; i < count; ++i)
        wanted.push_back(post(e, window(s, x, w, i) + rest[static_cast<size_t>(i)] +
                                     bias[static_cast<size_t>(i % s.out_channels)]));
      for_each_isa([&] {
        ASSERT_GT(packed_conv_bytes(s), 0);
        std::vector<char> packed(static_cast<size_t>(packed_conv_bytes(s)));
        pack_conv(s, w.data(), packed.data());
        Floats y(wanted.size(), std::numeric_limits<float>::quiet_NaN());
        packed_conv(s, s, x.data(), packed.data(), e, y.data());
        expect_close(y, wanted);
      });
    }
  }
}

// The cut depends on the number of threads, the bits do not.
template <class Run>
void expect_same_bits(size_t count, Run&& run) {
  const int before = num_threads();
  Floats one(count), more(count);
  set_num_threads(1);
  run(one.data());
  for (int threads : {2, 3, 7}) {
    set_num_threads(threads);
    std::fill(more.begin(), more.end(), std::numeric_limits<float>::quiet_NaN());
    run(more.data());
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(more[i], one[i]) << threads << " threads, " << i;
  }
  set_num_threads(before);
}

TEST(Packed, ThreadsDoNotChangeProducts) {
  for (const auto& [m, k, n] : {std::array<int64_t, 3>{1, 3000, 300},
                                {49, 2100, 320},
                                {300, 64, 200},
                                {700, 40, 24},
                                {500, 1030, 520}}) {
    SCOPED_TRACE(::testing::Message() << m << " x " << k << " x " << n);
    const Floats x = random_values<float>(m * k), w = random_values<float>(k * n, -1, 1, 5),
                 rest = random_values<float>(m * n, -1, 1, 6);
    std::vector<char> packed(static_cast<size_t>(packed_linear_bytes(k, n)));
    pack_linear(k, n, w.data(), n, 1, packed.data());
    for (PackedEpilogue e : epilogues()) {
      e.residual = rest.data();
      expect_same_bits(rest.size(),
                       [&](float* y) { packed_linear(m, k, n, x.data(), packed.data(), e, y); });
    }
  }
}

TEST(Packed, ThreadsDoNotChangeConvolutions) {
  const Case cases[] = {
      {64, 96, 1, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {21, 20}},
      {3, 32, 1, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {90, 70}},
      {520, 64, 1, {1, 1}, {2, 2}, {1, 1}, {0, 0}, {14, 14}},
      {96, 96, 96, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {14, 30}},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(::testing::Message() << c.in << " channels to " << c.out << " of " << c.groups);
    const ConvShape s = shape_of(c);
    const Floats x = random_values<float>(s.batch * s.in[0] * s.in[1] * s.in_channels),
                 w = random_values<float>(s.out_channels * (s.in_channels / s.groups) *
                                          s.kernel[0] * s.kernel[1]);
    std::vector<char> packed(static_cast<size_t>(packed_conv_bytes(s)));
    pack_conv(s, w.data(), packed.data());
    const int64_t count = s.batch * s.out[0] * s.out[1] * s.out_channels;
    for (const PackedEpilogue& e : epilogues())
      expect_same_bits(static_cast<size_t>(count),
                       [&](float* y) { packed_conv(s, s, x.data(), packed.data(), e, y); });
  }
}

}  // namespace
}  // namespace argosy::cpu
