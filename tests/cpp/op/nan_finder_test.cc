#include "argosy/op/nan_finder.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "argosy/base/flags.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/watched.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "tests/cpp/tensors.h"

namespace argosy::op {
namespace {

using test::counting;
using test::error_of;
using test::floats;
using test::number;
using test::tensor;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<std::string> lines;

class NanFinder : public testing::Test {
 protected:
  void SetUp() override {
    lines.clear();
    set_report([](const std::string& line) { lines.push_back(line); });
    look(true, 0);
  }
  void TearDown() override {
    look(false, 0);
    set_report(nullptr);
    set_checked_ops({}, {});
  }
  static void look(bool on, int64_t level) {
    flags::find("FLAGS_check_nan_inf_level").set(level);
    flags::find("FLAGS_check_nan_inf").set(on);
  }
};

// --- what a tensor holds ---

TEST_F(NanFinder, CountsOfATensor) {
  const Numbers r = look_at(floats({2, 4}, {1, -2, 0, kNan, kInf, -0.0f, -kInf, 3.5f}));
  EXPECT_EQ(r.count, 8);
  EXPECT_EQ(r.nans, 1);
  EXPECT_EQ(r.infs, 2);
  EXPECT_EQ(r.zeros, 2);
  EXPECT_EQ(r.min, -static_cast<double>(kInf));
  EXPECT_EQ(r.max, static_cast<double>(kInf));
  EXPECT_FALSE(r.finite());

  const Numbers finite = look_at(floats({3}, {1, -2, 4}));
  EXPECT_TRUE(finite.finite());
  EXPECT_EQ(finite.min, -2);
  EXPECT_EQ(finite.max, 4);
  EXPECT_EQ(finite.mean, 1);
}

TEST_F(NanFinder, NanIsLeftOutOfMinAndMax) {
  const Numbers some = look_at(floats({3}, {kNan, 2, 1}));
  EXPECT_EQ(some.min, 1);
  EXPECT_EQ(some.max, 2);
  const Numbers none = look_at(floats({2}, {kNan, kNan}));
  EXPECT_TRUE(std::isnan(none.min) && std::isnan(none.max));
  const Numbers empty = look_at(counting({0}));
  EXPECT_EQ(empty.count, 0);
  EXPECT_TRUE(empty.finite());
}

TEST_F(NanFinder, ComplexNumbersCountByTheirParts) {
  const Numbers r = look_at(tensor<complex64>({2}, {{1, kNan}, {0, -3}}));
  EXPECT_EQ(r.count, 4);
  EXPECT_EQ(r.nans, 1);
  EXPECT_EQ(r.zeros, 1);
  EXPECT_EQ(r.min, -3);
  EXPECT_EQ(r.max, 1);
}

TEST_F(NanFinder, EveryFloatingDtypeAndStride) {
  look(false, 0);
  for (DType t : {DType::float16, DType::bfloat16, DType::float32, DType::float64,
                  DType::float8_e4m3, DType::float8_e5m2}) {
    SCOPED_TRACE(name_of(t));
    const Tensor x = ops::cast(floats({4}, {1, kNan, -2, 0}), t);
    const Numbers every = look_at(x), other = look_at(x.view({2}, {2}));
    EXPECT_EQ(every.nans, 1);
    EXPECT_EQ(every.min, -2);
    EXPECT_EQ(other.nans, 0);
    EXPECT_EQ(other.count, 2);
  }
}

TEST_F(NanFinder, OtherDtypesAreRefused) {
  EXPECT_EQ(error_of(ErrorKind::type, [] { look_at(counting<int32_t>({2})); }),
            "[check_numerics] expected a Tensor of floating or complex numbers on the CPU, got "
            "int32[2].");
}

// --- level 0: an error ---

TEST_F(NanFinder, TheErrorNamesTheOpAndShowsItsOperands) {
  const Tensor x = floats({2}, {1, -1}), y = number(0);
  EXPECT_EQ(error_of(ErrorKind::runtime, [&] { ops::divide(x, y); }),
            "[divide] NaN or Inf in the result: out has num_nan=0, num_inf=2 among 2 values.\n"
            "  input x: float32 [2], num_nan=0, num_inf=0, min=-1, max=1\n"
            "  input y: float32 [], num_nan=0, num_inf=0, min=0, max=0\n"
            "  output out: float32 [2], num_nan=0, num_inf=2, min=-inf, max=inf\n"
            "Do this: the inputs are finite, so this op made them; keep its inputs in the range "
            "where it is defined, or scale them down.");
}

TEST_F(NanFinder, WhatCameInIsToldFromWhatWasMade) {
  const std::string text = error_of(ErrorKind::runtime, [] {
    ops::add(number(1), floats({2}, {0, kNan}));
  });
  EXPECT_NE(text.find("[add] NaN or Inf in the result: out has num_nan=1, num_inf=0 among 2"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("Do this: an input has them already; look at where it comes from"),
            std::string::npos)
      << text;
}

TEST_F(NanFinder, FiniteResultsPass) {
  EXPECT_EQ(*ops::divide(number(1), number(4)).data<float>(), 0.25f);
  EXPECT_EQ(*ops::add(counting<int32_t>({1}, 3), counting<int32_t>({1}, 4)).data<int32_t>(), 7);
  EXPECT_TRUE(lines.empty());
}

TEST_F(NanFinder, ElementsOfListsHavePlaces) {
  const Tensor parts[] = {number(1).view({1}, {1}), floats({1}, {kInf})};
  const std::string text = error_of(ErrorKind::runtime, [&] { ops::concat(parts, 0); });
  EXPECT_NE(text.find("[1]: float32 [1], num_nan=0, num_inf=1"), std::string::npos) << text;
  EXPECT_NE(text.find("[0]: float32 [1], num_nan=0, num_inf=0"), std::string::npos) << text;
}

TEST_F(NanFinder, AnOperandThatWasOverwrittenIsSaidToBe) {
  Tensor x = floats({2}, {1, 2});
  const std::string text = error_of(ErrorKind::runtime, [&] { ops::add_(x, number(kInf)); });
  EXPECT_NE(text.find("input x: float32 [2], overwritten by the result"), std::string::npos)
      << text;
}

TEST_F(NanFinder, ViewsHoldWhatTheirBaseHolds) {
  EXPECT_EQ(ops::reshape(floats({2}, {kNan, 1}), {1, 2}).shape(), Shape({1, 2}));
}

TEST_F(NanFinder, InfinitiesInTheMiddleOfAFormulaAreNoResults) {
  {
    Unchecked data;
    EXPECT_EQ(ops::add(number(kInf), number(1)).numel(), 1);
  }
  EXPECT_THROW(ops::add(number(kInf), number(1)), Error);
}

// --- which ops ---

TEST_F(NanFinder, OpsAreChosenOrLeftOut) {
  const Tensor bad = number(kInf);
  set_checked_ops({}, {"add"});
  EXPECT_NO_THROW(ops::add(bad, bad));
  EXPECT_THROW(ops::multiply(bad, bad), Error);
  set_checked_ops({"add"}, {});
  EXPECT_THROW(ops::add(bad, bad), Error);
  EXPECT_NO_THROW(ops::multiply(bad, bad));
  set_checked_ops({}, {});
  EXPECT_THROW(ops::multiply(bad, bad), Error);
}

// --- levels that print ---

TEST_F(NanFinder, Level1PrintsWhatIsNotFinite) {
  look(true, 1);
  EXPECT_TRUE(std::isnan(*ops::add(number(kNan), number(1)).data<float>()));
  ops::add(number(2), number(1e30f));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "[PRECISION] [ERROR] in [device=cpu, op=add, tensor=out, dtype=fp32], numel=1, "
            "num_nan=1, num_inf=0, num_zero=0, max=nan, min=nan, mean=nan");
}

TEST_F(NanFinder, Level2AlsoWhatFloat16CannotHold) {
  look(true, 2);
  ops::add(number(65504), number(0));
  EXPECT_TRUE(lines.empty());
  ops::add(number(65505), number(0));
  ops::add(number(-70000), number(0));
  EXPECT_EQ(lines.size(), 2u);
}

TEST_F(NanFinder, Level3All) {
  look(true, 3);
  ops::add(floats({2}, {1, 0}), floats({2}, {2, 0}));
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0],
            "[PRECISION] in [device=cpu, op=add, tensor=out, dtype=fp32], numel=2, num_zero=1, "
            "max=3.000000e+00, min=0.000000e+00, mean=1.500000e+00");
}

TEST_F(NanFinder, OneTensorAtALevelGiven) {
  look(false, 0);
  EXPECT_EQ(check_numbers(number(2), "mine", "w", 0).mean, 2);
  EXPECT_EQ(error_of(ErrorKind::runtime, [] { check_numbers(number(kInf), "mine", "w", 0); })
                .substr(0, 73),
            "[mine] NaN or Inf in the result: w has num_nan=0, num_inf=1 among 1 value");
  EXPECT_EQ(check_numbers(number(kInf), "mine", "w", 1).infs, 1);
  EXPECT_EQ(lines.size(), 1u);
}

TEST_F(NanFinder, OffMeansNobodyLooks) {
  look(false, 0);
  EXPECT_TRUE(std::isinf(*ops::divide(number(1), number(0)).data<float>()));
  EXPECT_TRUE(lines.empty());
}

}  // namespace
}  // namespace argosy::op
