#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "argosy/ops/activation/activation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "tests/cpp/passes/recorded.h"

// dropout_removal, batch_norm_inference, conv_batch_norm: what they compute is said by their docs.
namespace argosy::passes {
namespace {

using test::counting;
using test::elements;
using test::floats;
using Floats = std::vector<float>;

void expect_near(const Tensor& got, const Floats& want) {
  const Floats values = elements(got);
  ASSERT_EQ(values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(values[i], want[i], 1e-5 * (1 + std::abs(want[i]))) << i;
}

TEST(DropoutRemoval, GivesTheExpectation) {
  Recorded r;
  const Tensor x = ops::scale(r.input(counting({4})), 2);
  r.output(ops::add(call("dropout", {x})[0], x));  // scaled while training: x
  r.output(ops::negative(call("dropout", {x}, [](op::AttrBox& a) {
    set_attr(a, "p", op::Scalar(0.25));
    set_attr(a, "mode", std::string("downscale_in_infer"));
  })[0]));
  EXPECT_TRUE(r.rewrite({"dropout_removal", "dead_code"}));
  EXPECT_EQ(r.ops(), (Names{"scale", "assign", "add", "scale", "negative"}));
  const auto out = r.run();
  EXPECT_EQ(elements(out[0]), (Floats{0, 4, 8, 12}));
  EXPECT_EQ(elements(out[1]), (Floats{0, -1.5f, -3, -4.5f}));
}

// A convolution of 2 channels into 2 and a normalization of these.
struct Normalized {
  Tensor weight = floats({2, 2, 1, 1}, {1, 2, -1, 0.5f});
  Tensor mean = floats({2}, {0.5f, -1}), variance = floats({2}, {4, 0.25f});
  Tensor scale = floats({2}, {2, -1}), shift = floats({2}, {0.25f, 3});
  Tensor image = floats({1, 2, 1, 2}, {1, 2, 3, -4});
  Recorded r;
  Tensor convolved;

  explicit Normalized(bool training) {
    for (const Tensor& t : {weight, mean, variance, scale, shift}) t.impl()->persistable = true;
    const Tensor x = r.input(image);
    convolved = call("conv2d", {x, weight, Tensor()}, [](op::AttrBox& a) {
      set_attr(a, "stride", std::vector<int64_t>{1, 1});
      set_attr(a, "padding", std::vector<int64_t>{0, 0, 0, 0});
      set_attr(a, "dilation", std::vector<int64_t>{1, 1});
    })[0];
    r.output(ops::negative(
        call("batch_norm", {convolved, mean, variance, scale, shift}, [&](op::AttrBox& a) {
          set_attr(a, "batch_stats", training);
          set_attr(a, "epsilon", 0.0);
        })[0]));
  }
  // By the running statistics: -((conv - mean) / sqrt(variance) * scale + shift), by hand. The
  // convolution gives 7 -6 and 0.5 -4.
  static Floats by_running_statistics() {
    return {-((7 - 0.5f) / 2 * 2 + 0.25f), -((-6 - 0.5f) / 2 * 2 + 0.25f),
            -((0.5f + 1) / 0.5f * -1 + 3), -((-4 + 1) / 0.5f * -1 + 3)};
  }
};

TEST(BatchNormInference, UsesTheRunningStatisticsAndLeavesThem) {
  Normalized n(true);
  const auto by_batch = n.r.run();
  EXPECT_TRUE(n.r.rewrite({"batch_norm_inference", "dead_code"}));
  const auto out = n.r.run();
  expect_near(out[0], Normalized::by_running_statistics());
  EXPECT_GT(std::abs(elements(by_batch[0])[0] - elements(out[0])[0]), 0.5f);
  for (const auto& s : n.r.program->states) EXPECT_FALSE(s.last);
  EXPECT_EQ(elements(n.mean), (Floats{0.5f, -1}));
}

TEST(ConvBatchNorm, TheConvolutionTakesTheNormalizationIn) {
  Normalized n(false);
  expect_near(n.r.run()[0], Normalized::by_running_statistics());
  EXPECT_TRUE(n.r.rewrite({"conv_batch_norm", "dead_code"}));
  EXPECT_EQ(n.r.ops(), (Names{"conv2d", "negative"}));
  expect_near(n.r.run()[0], Normalized::by_running_statistics());
}

// The constant that the only convolution of a Program has as its weight.
program::Constant& weight_of(Program& p) {
  Ref<Value> weight;
  program::each_operation(p.main, [&](Operation& o) {
    if (is(o, "conv2d")) weight = o.operands[1];
  });
  return *std::ranges::find(p.constants, weight, &program::Constant::value);
}

TEST(ConvBatchNorm, WritesWhereTheWeightIsOnlyIfNobodyElseReadsIt) {
  for (const bool alone : {false, true}) {
    Normalized n(false);
    EXPECT_TRUE(n.r.rewrite({"freeze_state"}));
    program::Constant& weight = weight_of(*n.r.program);
    if (alone) weight.tensor = floats({2, 2, 1, 1}, elements(n.weight));
    const void* const at = weight.tensor.raw();
    EXPECT_TRUE(n.r.rewrite({"conv_batch_norm", "dead_code"}));
    EXPECT_EQ(weight_of(*n.r.program).tensor.raw() == at, alone);
    expect_near(n.r.run()[0], Normalized::by_running_statistics());
    EXPECT_EQ(elements(n.weight), (Floats{1, 2, -1, 0.5f}));
  }
}

TEST(ConvBatchNorm, NotWhereTheConvolutionIsReadOrTheBatchCounts) {
  Normalized read(false);
  read.r.output(ops::negative(read.convolved));
  EXPECT_FALSE(read.r.rewrite({"conv_batch_norm"}));
  Normalized training(true);
  EXPECT_FALSE(training.r.rewrite({"conv_batch_norm"}));
}

TEST(Deploy, DoesAllOfThem) {
  Normalized n(true);
  EXPECT_TRUE(n.r.rewrite(pipeline("deploy")));
  EXPECT_EQ(n.r.ops(), (Names{"conv2d", "negative"}));
  expect_near(n.r.run()[0], Normalized::by_running_statistics());
}

}  // namespace
}  // namespace argosy::passes
