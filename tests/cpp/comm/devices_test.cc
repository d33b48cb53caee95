#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/math/math.h"
#include "argosy/streamed/device.h"
#include "tests/cpp/comm/world.h"

// Collectives of tensors that are on devices: each rank has a device and a stream of its own.
namespace argosy::comm {
namespace {

class OnDevices : public Ranks {
 protected:
  static void SetUpTestSuite() { streamed::start({.count = 3, .most_delay_us = 500}); }
  void TearDown() override { streamed::forget_failures(); }
};
INSTANTIATE_TEST_SUITE_P(Ways, OnDevices,
                         testing::Values(Over::board, Over::mesh, Over::ring, Over::hybrid),
                         name_of_way);

Place place_of(int rank) {
  return {kAccelerator, static_cast<int16_t>(rank % 3)};
}
Tensor there(const ProcessGroup& g, const Tensor& t) {
  return op::to_place(t, place_of(g.rank()));
}
std::vector<float> read(const Tensor& t) {
  return values<float>(op::to_host(t));
}
Tensor filled(const ProcessGroup& g, float value, int64_t n = 1000) {
  return there(g, tensor(std::vector<float>(static_cast<size_t>(n), value)));
}

TEST_P(OnDevices, WhatIsSentIsWhatWasEnqueuedBefore) {
  for (int size : {1, 2, 3})
    with_ranks(size, [&](ProcessGroup& g) {
      Tensor x = filled(g, static_cast<float>(g.rank() + 1));
      for (int i = 0; i < 3; ++i) x = ops::add(x, x);  // still under way
      g.all_reduce({x}, Reduce::sum);
      const Tensor y = ops::add(x, x);
      EXPECT_EQ(read(y)[999], static_cast<float>(16 * size * (size + 1) / 2));
      EXPECT_EQ(y.place(), place_of(g.rank()));
    });
}

TEST_P(OnDevices, EachCollective) {
  with_ranks(3, [](ProcessGroup& g) {
    const auto mine = static_cast<float>(g.rank());
    const auto row = [&](float v) { return filled(g, v, 4); };
    TensorList all{row(9), row(9), row(9)};
    g.all_gather(all, row(mine), false);
    for (size_t r = 0; r < 3; ++r) EXPECT_EQ(read(all[r])[3], static_cast<float>(r));
    Tensor sum = row(0);
    g.reduce_scatter(sum, {row(1), row(2), row(3)}, Reduce::sum);
    EXPECT_EQ(read(sum)[0], 3 * (mine + 1));
    Tensor from_root = row(mine + 5);
    g.broadcast({from_root}, 1);
    EXPECT_EQ(read(from_root)[2], 6);
    Tensor reduced = row(mine);
    g.reduce({reduced}, 2, Reduce::max);
    EXPECT_EQ(read(reduced)[2], mine);  // the root's is the largest anyway
    TensorList back{row(0), row(0), row(0)};
    g.alltoall(back, {row(10 * mine), row(10 * mine + 1), row(10 * mine + 2)});
    for (size_t r = 0; r < 3; ++r) EXPECT_EQ(read(back[r])[1], 10 * static_cast<float>(r) + mine);
    Tensor part = row(0);
    g.scatter(part, g.rank() == 0 ? TensorList{row(4), row(5), row(6)} : TensorList(), 0);
    EXPECT_EQ(read(part)[1], mine + 4);
    g.gather(g.rank() == 0 ? all : TensorList(), row(mine + 7), 0);
    if (g.rank() == 0) {
      EXPECT_EQ(read(all[2])[0], 9);
    }
  });
}

TEST_P(OnDevices, ViewsAndEmptyTensors) {
  with_ranks(2, [](ProcessGroup& g) {
    const Tensor whole = filled(g, static_cast<float>(g.rank() + 1), 12);
    const Tensor column = whole.view(Shape{3}, Shape{4});
    g.all_reduce({column}, Reduce::sum);
    const float own = static_cast<float>(g.rank() + 1);
    EXPECT_EQ(read(whole),
              (std::vector<float>{3, own, own, own, 3, own, own, own, 3, own, own, own}));
    const Tensor none = Tensor::empty({0}, DType::float32, place_of(g.rank()));
    g.all_reduce({none}, Reduce::sum);
    // Some on the host, some on the device.
    const Tensor here = numbers(g.rank(), 5), on_device = filled(g, own, 3);
    g.all_reduce({here, on_device}, Reduce::sum);
    EXPECT_EQ(read(on_device), (std::vector<float>{3, 3, 3}));
    EXPECT_EQ(values<float>(here)[1], (7 + 20) / 8.0F);
  });
}

TEST_P(OnDevices, WorkGoesOnUntilItIsWaitedFor) {
  with_ranks(2, [](ProcessGroup& g) {
    const uint64_t waits = device::host_waits();
    const Tensor x = filled(g, 1), y = filled(g, 2);
    auto work = g.all_reduce({x}, Reduce::sum, Mode::async);
    const Tensor z = ops::multiply(y, y);
    work->wait();
    EXPECT_EQ(read(ops::add(x, z))[500], 6);
    EXPECT_GT(device::host_waits(), waits);
  });
}

TEST_P(OnDevices, UsingAResultBeforeItIsWaitedForIsFound) {
  with_ranks(1, [](ProcessGroup& g) {
    const Tensor x = filled(g, 1);
    auto work = g.all_reduce({x}, Reduce::sum, Mode::async);
    while (!work->done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    bool found = false;
    try {
      ops::add(x, x);
    } catch (const Error& e) {
      found = std::string(e.what()).find("no event puts one before the other") != std::string::npos;
    }
    EXPECT_TRUE(found);
    work->wait();
    EXPECT_EQ(read(ops::add(x, x))[0], 2);
  });
}

TEST_P(OnDevices, OnAStreamOfTheCaller) {
  with_ranks(2, [](ProcessGroup& g) {
    const Place place = place_of(g.rank());
    Device& device = device::of(place);
    const Stream side = device.make_stream(place);
    device::set_current(side);
    const Tensor x = filled(g, 3), y = ops::add(x, x);
    g.all_reduce({y}, Reduce::avg);
    EXPECT_EQ(read(ops::add(y, y))[0], 12);
    device::set_current({place, 0});
    device.drop_stream(side);
  });
}

TEST_P(OnDevices, Messages) {
  with_ranks(2, [](ProcessGroup& g) {
    const int other = 1 - g.rank();
    const Tensor mine = filled(g, static_cast<float>(g.rank() + 1));
    const Tensor twice = ops::add(mine, mine), got = filled(g, 0);
    auto sent = g.send(twice, other, Mode::async);
    g.recv(got, other);
    sent->wait();
    EXPECT_EQ(read(ops::add(got, got))[7], static_cast<float>(4 * (other + 1)));
    // Into every second element.
    const Tensor wide = filled(g, 0, 8), places = wide.view(Shape{4}, Shape{2});
    const Tensor row = filled(g, 5, 4);
    auto again = g.send(row, other, Mode::async);
    auto arrived = g.recv(places, other, Mode::async);
    arrived->wait();
    again->wait();
    EXPECT_EQ(read(wide), (std::vector<float>{5, 0, 5, 0, 5, 0, 5, 0}));
  });
}

TEST_P(OnDevices, AFailureOfTheDeviceReachesAllRanks) {
  const std::vector<std::string> errors = run_ranks(2, 5, [](ProcessGroup& g) {
    const Tensor x = filled(g, 1);
    if (g.rank() == 1) {
      const op::OpDef& gather = op::get("gather");
      op::AttrBox attrs(*gather.attrs, gather.attrs->defaults);
      const Tensor in[] = {x, there(g, tensor<int64_t>({5000}))};
      op::dispatch(gather, op::Inputs(in), attrs.get());
      device::synchronize(Stream{{kAccelerator, 0}, 0});
    }
    g.all_reduce({x}, Reduce::sum);
  });
  for (const std::string& e : errors) EXPECT_NE(e, "");
  EXPECT_NE(errors[1].find("[take_slices] failed"), std::string::npos) << errors[1];
}

}  // namespace
}  // namespace argosy::comm
