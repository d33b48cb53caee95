#include "argosy/streamed/device.h"

#include <gtest/gtest.h>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"
#include "tests/cpp/tensors.h"

namespace argosy::streamed {
namespace {

using test::counting;
using test::elements;
using test::error_of;
using test::floats;

constexpr Place kPlace{kAccelerator, 0}, kOther{kAccelerator, 1};

// One device for all tests of the process, slow enough that what does not wait is seen.
class Streamed : public testing::Test {
 protected:
  static void SetUpTestSuite() { start({.count = 2, .most_delay_us = 2000}); }
  void TearDown() override {
    device::set_current({kPlace, 0});
    forget_failures();
  }
  // Makes a stream current, and the former one again.
  struct On {
    explicit On(Stream stream) : before(device::current(stream.place)) {
      device::set_current(stream);
    }
    ~On() { device::set_current(before); }
    Stream before;
  };
};

Tensor there(const Tensor& t, Place place = kPlace) {
  return op::to_place(t, place);
}

TEST_F(Streamed, CopiesGoBetweenAllPlaces) {
  const Tensor x = counting({3, 4});
  const Tensor y = there(x), z = op::to_place(y, kOther);
  EXPECT_EQ(y.place(), kPlace);
  EXPECT_EQ(z.place(), kOther);
  EXPECT_EQ(elements(op::to_host(z)), elements(x));
  EXPECT_EQ(elements(op::to_host(test::permuted(y, {1, 0}))), elements(test::permuted(x, {1, 0})));
}

TEST_F(Streamed, CopyIntoCastsAndBroadcastsAcrossPlaces) {
  const Tensor wide = Tensor::empty({2, 3}, DType::float64, kPlace);
  op::copy_into(wide, floats({3}, {1, 2, 3}));
  EXPECT_EQ(elements<double>(op::to_host(wide)), (std::vector<double>{1, 2, 3, 1, 2, 3}));
  const Tensor here = Tensor::empty({2, 2, 3}, DType::float32);
  op::copy_into(here, wide);
  EXPECT_EQ(elements(here), (std::vector<float>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
  const Tensor transposed = test::permuted(there(counting({3, 2})), {1, 0});
  op::copy_into(wide, transposed);
  EXPECT_EQ(elements<double>(op::to_host(wide)), (std::vector<double>{0, 2, 4, 1, 3, 5}));
  const Tensor none = Tensor::empty({0, 3}, DType::float32, kPlace);
  EXPECT_EQ(op::to_host(none).numel(), 0);
}

TEST_F(Streamed, OpsDoNotWaitAndReadsDo) {
  const Tensor x = there(floats({3}, {1, 2, 3}));
  const uint64_t before = device::host_waits();
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = ops::add(y, x);
  EXPECT_EQ(device::host_waits(), before);
  EXPECT_EQ(elements(op::to_host(y)), (std::vector<float>{11, 22, 33}));
  EXPECT_EQ(device::host_waits(), before + 1);
}

TEST_F(Streamed, AQueueNeedsNoTensorsOfTheHost) {
  Tensor y;
  {
    const Tensor x = there(floats({3}, {1, 2, 3}));
    y = ops::multiply(ops::add(x, x), x);
  }
  EXPECT_EQ(elements(op::to_host(y)), (std::vector<float>{2, 8, 18}));
}

TEST_F(Streamed, AMissingEventIsAnErrorOfTheCall) {
  const Stream side = device::of(kPlace).make_stream(kPlace);
  const Tensor x = there(floats({2}, {1, 2}));
  const Tensor y = ops::multiply(x, x);
  {
    On other(side);
    const std::string text = error_of(ErrorKind::device, [&] { ops::add(y, y); });
    EXPECT_NE(text.find("[add] on stream"), std::string::npos) << text;
    EXPECT_NE(text.find("[multiply] on stream 0 writes"), std::string::npos) << text;
    auto event = device::of(kPlace).record({kPlace, 0});
    device::of(kPlace).wait(side, *event);
    EXPECT_EQ(elements(op::to_host(ops::add(y, y))), (std::vector<float>{2, 8}));
  }
  device::of(kPlace).drop_stream(side);
}

TEST_F(Streamed, WhatTheHostHasWaitedForNeedsNoEvent) {
  const Stream side = device::of(kPlace).make_stream(kPlace);
  const Tensor x = there(floats({2}, {1, 2}));
  const Tensor y = ops::multiply(x, x);
  device::synchronize(Stream{kPlace, 0});
  On other(side);
  EXPECT_EQ(elements(op::to_host(ops::add(y, y))), (std::vector<float>{2, 8}));
}

TEST_F(Streamed, FreeingWhatAnotherStreamUsesNeedsRecordUse) {
  Device& device = device::of(kPlace);
  for (const bool recorded : {true, false}) {
    const Stream side = device.make_stream(kPlace);
    Tensor result;
    {
      const Tensor x = there(counting({1000}));
      device.wait(side, *device.record({kPlace, 0}));
      On other(side);
      result = ops::add(x, x);
      if (recorded) device.record_use(side, x.raw());
    }
    if (recorded) {
      On other(side);
      EXPECT_EQ(elements(op::to_host(result)).back(), 1998);
    } else {
      const std::string text = error_of(ErrorKind::device, [&] { device.synchronize(kPlace); });
      EXPECT_NE(text.find("record_stream"), std::string::npos) << text;
    }
  }
}

TEST_F(Streamed, AKernelsErrorStaysAndNamesItsOp) {
  const Tensor ok = there(floats({2}, {1, 2}));
  const op::OpDef& gather = op::get("gather");
  const Tensor at = there(test::tensor<int64_t>({1}, {7}));
  op::AttrBox attrs(*gather.attrs, gather.attrs->defaults);
  const Tensor in[] = {ok, at};
  op::dispatch(gather, op::Inputs(in), attrs.get());  // does not throw: it has not run
  for (int i = 0; i < 2; ++i) {
    const std::string text = error_of(ErrorKind::device, [&] { device::synchronize(kPlace); });
    EXPECT_NE(text.find("[take_slices] failed on streamed:0"), std::string::npos) << text;
  }
  error_of(ErrorKind::device, [&] { ops::add(ok, ok); });
  EXPECT_EQ(elements(op::to_host(there(floats({2}, {1, 2}), kOther))).size(), 2u)
      << "other places go on";
}

TEST_F(Streamed, ThereIsNoOtherPlace) {
  const Place none{kAccelerator, 2};
  EXPECT_NE(error_of(ErrorKind::device, [&] { Tensor::empty({1}, DType::float32, none); })
                .find("there is no streamed:2"),
            std::string::npos);
  error_of(ErrorKind::already_exists, [] { start({.count = 3}); });
}

TEST_F(Streamed, AProcessHasOneKindOfAccelerator) {
  const std::string text =
      error_of(ErrorKind::already_exists, [] { device::add(&device::of(kPlace)); });
  EXPECT_NE(text.find("[device] 'streamed' cannot be added: 'streamed' is there. Do this: use one "
                      "such device in a process."),
            std::string::npos)
      << text;
}

TEST_F(Streamed, CopiesBetweenPlacesCastBroadcastAndDoNotWait) {
  const Tensor wide = Tensor::empty({2, 3}, DType::float64, kOther);
  const Tensor x = there(floats({3}, {1, 2, 3}));
  const Tensor flipped = test::permuted(there(counting({3, 2})), {1, 0});
  const uint64_t before = device::host_waits();
  op::copy_into(wide, x);
  const Tensor first = op::to_place(wide, kPlace);
  op::copy_into(wide, flipped);
  EXPECT_EQ(device::host_waits(), before);
  EXPECT_EQ(elements<double>(op::to_host(first)), (std::vector<double>{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(elements<double>(op::to_host(wide)), (std::vector<double>{0, 2, 4, 1, 3, 5}));
}

// Those of other streams than the copy's are work that it must be put after by the caller.
TEST_F(Streamed, ACopyBetweenPlacesIsWorkOfItsStreams) {
  const Stream side = device::of(kPlace).make_stream(kPlace);
  Tensor x;
  {
    On other(side);
    x = there(counting({8}));
    x = ops::add(x, x);
  }
  const std::string text = error_of(ErrorKind::device, [&] { op::to_place(x, kOther); });
  EXPECT_NE(text.find("[copy between devices] on stream 0 reads"), std::string::npos) << text;
  device::of(kPlace).wait({kPlace, 0}, *device::of(kPlace).record(side));
  EXPECT_EQ(elements(op::to_host(op::to_place(x, kOther))).back(), 14);
  device::synchronize(kPlace);
  device::of(kPlace).drop_stream(side);
}

TEST_F(Streamed, OperandsOfTwoPlacesAreRefused) {
  const Tensor x = floats({1}, {1});
  const std::string text = error_of(ErrorKind::invalid_argument, [&] { ops::add(x, there(x)); });
  EXPECT_NE(text.find("inputs are on different devices"), std::string::npos) << text;
}

}  // namespace
}  // namespace argosy::streamed
