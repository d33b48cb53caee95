#include <gtest/gtest.h>

#include <cstring>

#include "argosy/op/dispatch.h"
#include "argosy/program/builder.h"
#include "tests/cpp/tensors.h"

namespace argosy::op {
namespace {

using test::counting;
using test::each_index;
using test::elements;
using test::error_of;
using test::floats;
using test::number;
using test::offset_of;
using test::permuted;
using test::tensor;
using Floats = std::vector<float>;

// Views of 12 elements as [2, 3, 2], of every kind of stride.
std::vector<Tensor> layouts(DType dtype) {
  auto empty = [&](const Shape& shape) {
    Tensor t = Tensor::empty(shape, dtype);
    std::memset(t.raw(), 0, t.nbytes());
    return t;
  };
  return {empty({2, 3, 2}), permuted(empty({2, 3, 2}), {2, 1, 0}),
          permuted(empty({3, 2, 2}), {1, 0, 2}), empty({4, 3, 4}).view({2, 3, 2}, {24, 4, 2}, 1),
          empty({2, 3, 2}).view({2, 3, 2}, {-6, 2, -1}, 7)};
}

TEST(CopyInto, BetweenAnyTwoLayouts) {
  for (const Tensor& src : layouts(DType::float32))
    for (const Tensor& dst : layouts(DType::float32)) {
      float next = 1;
      each_index(src.shape(),
                 [&](const Shape& i) { src.data<float>()[offset_of(i, src.strides())] = next++; });
      copy_into(dst, src);
      EXPECT_EQ(elements(dst), (Floats{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}))
          << test::text_of(src.strides()) << " to " << test::text_of(dst.strides());
    }
}

TEST(CopyInto, WritesOnlyTheView) {
  Tensor base = counting({3, 4});
  copy_into(base.view({2, 2}, {8, 2}, 1), floats({2, 2}, {-1, -2, -3, -4}));
  EXPECT_EQ(elements(base), (Floats{0, -1, 2, -2, 4, 5, 6, 7, 8, -3, 10, -4}));
  EXPECT_EQ(base.version(), 0u);  // whoever calls says what wrote
}

TEST(CopyInto, BroadcastsTheSource) {
  Tensor dst = Tensor::empty({2, 3}, DType::float32);
  copy_into(dst, floats({3}, {1, 2, 3}));
  EXPECT_EQ(elements(dst), (Floats{1, 2, 3, 1, 2, 3}));
  copy_into(dst, floats({2, 1}, {4, 5}));
  EXPECT_EQ(elements(dst), (Floats{4, 4, 4, 5, 5, 5}));
  copy_into(dst, number(7));
  EXPECT_EQ(elements(dst), Floats(6, 7));
  copy_into(dst, floats({1, 1, 2, 1}, {8, 9}));  // more dimensions, of size 1
  EXPECT_EQ(elements(dst), (Floats{8, 8, 8, 9, 9, 9}));
  Tensor one = number(0);
  copy_into(one, floats({1, 1}, {3}));
  EXPECT_EQ(elements(one), Floats{3});
}

TEST(CopyInto, WhatDoesNotBroadcastIsAnError) {
  Tensor dst = Tensor::empty({2, 3}, DType::float32);
  for (const Shape& shape : {Shape({2}), Shape({3, 3}), Shape({2, 2, 3}), Shape({0})})
    EXPECT_EQ(error_of(ErrorKind::invalid_argument,
                       [&] { copy_into(dst, Tensor::empty(shape, DType::float32)); }),
              "[assign] a value of shape " + test::text_of(shape) +
                  " does not broadcast to shape [2, 3]. Do this: give a value of that shape.");
}

TEST(CopyInto, WithoutElementsNothingIsWritten) {
  Tensor base = counting({2});
  copy_into(base.view({0, 2}, {2, 1}), number(5));
  copy_into(base.view({0}, {1}, 2), counting({0}));
  EXPECT_EQ(elements(base), (Floats{0, 1}));
}

template <class From, class To>
void check_cast(const std::vector<From>& values, const std::vector<To>& want) {
  SCOPED_TRACE(std::string(name_of(dtype_of<From>)) + " to " + name_of(dtype_of<To>));
  const auto n = static_cast<int64_t>(values.size());
  const Tensor src = Tensor::empty({n}, dtype_of<From>);
  for (size_t i = 0; i < values.size(); ++i) src.data<From>()[i] = values[i];
  const Tensor wide = Tensor::empty({n, 3}, dtype_of<To>);
  const Tensor forward = wide.view({n}, {3}, 1);
  copy_into(forward, src);
  EXPECT_EQ(elements<To>(forward), want);
  copy_into(forward, src.view({n}, {-1}, n - 1));
  EXPECT_EQ(elements<To>(forward), std::vector<To>(want.rbegin(), want.rend()));
}

TEST(CopyInto, CastsByTheRulesOfTheLanguage) {
  check_cast<float, int32_t>({1.9f, -1.9f, 0, 100}, {1, -1, 0, 100});
  check_cast<int64_t, float>({-3, 16777217}, {-3, 16777216});
  check_cast<double, float>({0.1, 1e300}, {0.1f, std::numeric_limits<float>::infinity()});
  check_cast<int32_t, uint8_t>({1, 255, 256, -1}, {1, 255, 0, 255});
  check_cast<bool, double>({true, false}, {1, 0});
  check_cast<float, complex64>({2, -3}, {{2, 0}, {-3, 0}});
  check_cast<complex64, float>({{2, 5}, {-3, 0}}, {2, -3});
  check_cast<uint64_t, double>({UINT64_MAX}, {18446744073709551616.0});
}

TEST(CopyInto, CastsToBool) {
  const Tensor dst = Tensor::empty({4}, DType::bool_);
  copy_into(dst, floats({4}, {0, -0.0f, 0.5f, std::numeric_limits<float>::quiet_NaN()}));
  const bool want[] = {false, false, true, true};
  for (int i = 0; i < 4; ++i) EXPECT_EQ(dst.data<bool>()[i], want[i]) << i;
}

TEST(CopyInto, CastsToHalf) {
  const Tensor dst = Tensor::empty({3}, DType::float16);
  copy_into(dst, floats({3}, {1.0f / 3, 65520, 2049}));
  EXPECT_EQ(static_cast<float>(dst.data<float16>()[0]), 0.333251953125f);
  EXPECT_EQ(static_cast<float>(dst.data<float16>()[1]), std::numeric_limits<float>::infinity());
  EXPECT_EQ(static_cast<float>(dst.data<float16>()[2]), 2048);  // to even
}

// --- who has no elements ---

TEST(CopyInto, DescriptionsHaveNoElements) {
  const Tensor described = Tensor::describe({2}, DType::float32);
  const std::string text =
      "The elements of float32[2] are asked for, but it is a description without data. Do this: "
      "use "
      "ops that can be recorded, or compute it eagerly.";
  EXPECT_EQ(error_of(ErrorKind::type, [&] { copy_into(counting({2}), described); }), text);
  EXPECT_EQ(error_of(ErrorKind::type, [&] { copy_into(described, counting({2})); }), text);
  EXPECT_EQ(error_of(ErrorKind::type, [&] { contiguous(described); }), text);
}

TEST(CopyInto, ValuesOfAProgramHaveNoElements) {
  auto program = program::Program::make();
  const Tensor x = program->builder().input("x", {2}, DType::float32);
  EXPECT_EQ(error_of(ErrorKind::type, [&] { contiguous(x); }),
            "The elements of float32[2] are asked for, but it is a value of a Program being built. "
            "Do this: use ops that can be recorded, or compute it eagerly.");
}

TEST(CopyInto, TheNullDeviceCopiesNothing) {
  const Tensor there = Tensor::empty({int64_t{1} << 40}, DType::float32, {DeviceKind::null, 0});
  copy_into(there, number(1));
  EXPECT_EQ(there.numel(), int64_t{1} << 40);
}

// --- contiguous ---

TEST(Contiguous, GivesItselfOrACopy) {
  const Tensor t = counting({2, 3});
  EXPECT_TRUE(contiguous(t).is(t));
  Tensor turned = permuted(t, {1, 0});
  turned.set_stop_gradient(false);
  const Tensor copy = contiguous(turned);
  EXPECT_TRUE(copy.is_contiguous());
  EXPECT_FALSE(copy.impl()->storage == t.impl()->storage);
  EXPECT_EQ(elements(copy), (Floats{0, 3, 1, 4, 2, 5}));
  EXPECT_TRUE(copy.stop_gradient());  // no history
  const Tensor repeated = number(4).view({3}, {0});
  EXPECT_EQ(elements(contiguous(repeated)), (Floats{4, 4, 4}));
  EXPECT_TRUE(contiguous(repeated).is_contiguous());
}

}  // namespace
}  // namespace argosy::op
