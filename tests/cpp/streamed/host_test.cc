#include <gtest/gtest.h>

#include "argosy/op/copy.h"
#include "argosy/op/define.h"
#include "argosy/ops/math/math.h"
#include "argosy/streamed/device.h"
#include "tests/cpp/tensors.h"

// What kernels may read where, and kernels that are wrong on purpose: a device that runs the CPU's
// kernels must not make up for their mistakes.
namespace argosy::streamed {
namespace {

using op::KernelFrame;
using op::NoAttrs;
using test::counting;
using test::elements;
using test::error_of;
using test::floats;

constexpr Place kPlace{kAccelerator, 0}, kOther{kAccelerator, 1};

int64_t count_seen = 0;
const float* kept = nullptr;

void repeat(KernelFrame& f, const NoAttrs&) {
  const int64_t n = *f.in[1].data<int64_t>();
  for (int64_t i = 0; i < f.out[0].numel(); ++i)
    f.out[0].data<float>()[i] = f.in[0].data<float>()[i] * static_cast<float>(n);
}
ARGOSY_OP(probe_repeat, NoAttrs)
    .input("x", kFloating)
    .input("count", kIndex)
    .host()
    .output("out")
    .kernel("loop", repeat)
    .done();

void count(KernelFrame& f, const NoAttrs&) {
  count_seen = *f.in[0].data<int64_t>();
  op::put_integer(f.out[0], count_seen + 1);
}
ARGOSY_OP(probe_count, NoAttrs)
    .input("count", kIndex)
    .host()
    .input("beside")
    .shape_only()
    .output("out")
    .kernel("host", count)
    .on_host()
    .done();
// The same, but it does not say that it reads its operand there.
ARGOSY_OP(probe_peek, NoAttrs)
    .input("count", kIndex)
    .output("out")
    .kernel("host", count)
    .on_host()
    .done();

void scribble(KernelFrame& f, const NoAttrs&) {
  f.in[0].data<float>()[0] = 5;
  op::copy_into(f.out[0], f.in[0]);
}
ARGOSY_OP(probe_scribble, NoAttrs).input("x").output("out").kernel("wrong", scribble).done();

void keep(KernelFrame& f, const NoAttrs&) {
  kept = f.in[0].data<float>();
  op::copy_into(f.out[0], f.in[0]);
}
ARGOSY_OP(probe_keep, NoAttrs).input("x").output("out").kernel("keeps", keep).done();

void use_kept(KernelFrame& f, const NoAttrs&) {
  f.out[0].data<float>()[0] = *kept;
}
ARGOSY_OP(probe_use_kept, NoAttrs).input("x").output("out").kernel("uses", use_kept).done();

class HostWork : public testing::Test {
 protected:
  static void SetUpTestSuite() { start({.count = 2, .most_delay_us = 2000}); }
  void TearDown() override { forget_failures(); }
};

Tensor there(const Tensor& t) {
  return op::to_place(t, kPlace);
}
Tensor index(int64_t i) {
  return test::tensor<int64_t>({1}, {i});
}

TEST_F(HostWork, AnOperandOfTheHostIsCopiedByTheLaunch) {
  const Tensor x = there(floats({2}, {1, 2}));
  for (const bool here : {true, false}) {
    const Tensor n = here ? index(3) : there(index(3));
    const uint64_t before = device::host_waits();
    const Tensor y = probe_repeat_op(x, n);
    EXPECT_EQ(device::host_waits() - before, here ? 0u : 1u);
    if (here) *n.data<int64_t>() = 100;  // the call has its own
    EXPECT_EQ(y.place(), kPlace);
    EXPECT_EQ(elements(op::to_host(y)), (std::vector<float>{3, 6}));
  }
}

TEST_F(HostWork, OperandsThatAreNotOfTheHostAreOnOnePlace) {
  const std::string text = error_of(ErrorKind::invalid_argument, [] {
    probe_count_op.one(std::array{index(1), floats({1}, {1})});
    op::get("add");
    const Tensor other = op::to_place(floats({1}, {1}), kOther);
    ops::add(there(floats({1}, {1})), other);
  });
  EXPECT_NE(text.find("inputs are on different devices"), std::string::npos) << text;
}

TEST_F(HostWork, ItRunsOnTheCallingThreadAndWritesToTheDevice) {
  const Tensor out = probe_count_op(there(index(41)), there(floats({1}, {0})));
  EXPECT_EQ(count_seen, 41);  // no wait is needed for this
  EXPECT_EQ(out.place(), kPlace);
  EXPECT_EQ(elements<int64_t>(op::to_host(out)), (std::vector<int64_t>{42}));
}

TEST_F(HostWork, ReadingWithoutSayingSoFaults) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        start({.count = 2, .most_delay_us = 2000});
        probe_peek_op(there(index(1)));
      },
      "");
}

TEST_F(HostWork, AKernelThatWritesWhatItReadsIsReported) {
  const Tensor x = there(counting({4}));
  probe_scribble_op(x);
  const std::string text = error_of(ErrorKind::device, [] { device::synchronize(kPlace); });
  EXPECT_NE(text.find("[probe_scribble] failed on streamed:0"), std::string::npos) << text;
  EXPECT_NE(text.find("kernel wrong changed an operand that it may only read"), std::string::npos)
      << text;
}

TEST_F(HostWork, MemoryThatWasFreedCannotBeUsed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        start({.count = 2, .most_delay_us = 2000});
        const Tensor other = there(counting({4}));
        probe_keep_op(there(counting({4})));  // its operand goes with this statement
        probe_use_kept_op(other);
        device::synchronize(kPlace);
      },
      "");
}

TEST_F(HostWork, MemoryIsHeldByWhoWroteItLast) {
  const Tensor x = there(counting({1024}));
  const Tensor y = ops::multiply(x, x), z = ops::multiply(x, y);
  const auto holders = device::of(kPlace).holders(kPlace);
  ASSERT_GE(holders.size(), 2u);
  EXPECT_EQ(holders[0].name, "multiply");
  EXPECT_EQ(holders[0].bytes, 2u * 4096);
  EXPECT_EQ(holders[0].blocks, 2u);
  EXPECT_EQ(holders[1].name, "copy from host");
  EXPECT_TRUE(device::of(kOther).holders(kOther).empty());
}

TEST_F(HostWork, PinnedMemoryCopiesWithoutWaiting) {
  const Tensor x = op::to_pinned(counting({1000}));
  EXPECT_TRUE(op::is_pinned(x));
  EXPECT_FALSE(op::is_pinned(counting({1000})));
  const uint64_t before = device::host_waits();
  const Tensor y = op::send(x, kPlace);
  const Tensor back = op::to_pinned(ops::add(y, y), /*wait=*/false);
  EXPECT_EQ(device::host_waits(), before);
  device::synchronize(kPlace);
  EXPECT_EQ(elements(back)[999], 1998);
  EXPECT_EQ(elements(op::to_pinned(y))[7], 7);
  EXPECT_EQ(op::to_pinned(op::to_place(floats({0}, {}), kPlace)).numel(), 0);
}

TEST_F(HostWork, PinnedMemoryOutlivesItsCopies) {
  std::vector<Tensor> sent;
  for (int i = 0; i < 50; ++i) {
    const Tensor x = op::to_pinned(counting({5000}, static_cast<float>(i)));
    sent.push_back(op::send(x, kPlace));
  }
  for (int i = 0; i < 50; ++i)
    EXPECT_EQ(elements(op::to_host(sent[static_cast<size_t>(i)]))[10], static_cast<float>(i + 10));
}

TEST_F(HostWork, PinnedMemoryThatIsWrittenTooEarlyIsFound) {
  const Tensor slow = there(counting({64}));
  Tensor y = slow;
  for (int i = 0; i < 50; ++i) y = ops::add(y, slow);
  const Tensor x = op::to_pinned(counting({1000}));
  const Tensor z = op::send(x, kPlace);
  x.data<float>()[3] = -1;
  const std::string text = error_of(ErrorKind::device, [&] { op::to_host(z); });
  EXPECT_NE(text.find("wrote to pinned memory before its copy"), std::string::npos) << text;
}

TEST_F(HostWork, TheLogSaysWhatMayRunAtOnce) {
  Device& device = device::of(kPlace);
  const Stream side = device.make_stream(kPlace);
  const Tensor x = there(counting({8}));
  device.wait(side, *device.record({kPlace, 0}));
  begin_log();
  ops::add(x, x);
  device::set_current(side);
  ops::multiply(x, x);
  device::set_current({kPlace, 0});
  const auto log = end_log();
  ASSERT_EQ(log.size(), 2u);
  EXPECT_EQ(log[0].name, "add");
  EXPECT_EQ(log[1].name, "multiply");
  EXPECT_FALSE(log[1].before.covers(log[0].at) || log[0].before.covers(log[1].at));
  EXPECT_TRUE(end_log().empty());
  device::synchronize(kPlace);
  device.drop_stream(side);
}

}  // namespace
}  // namespace argosy::streamed
