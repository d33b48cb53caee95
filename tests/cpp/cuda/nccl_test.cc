#include "argosy/cuda/nccl.h"

#include <dlfcn.h>

#include "argosy/op/copy.h"
#include "tests/cpp/comm/world.h"
#include "tests/cpp/cuda/host_device.h"

// Groups whose tensors go from device to device: the calls that NCCL gets, by one that runs between
// threads (fake_nccl.cc) and looks at them. What NCCL does on GPUs is not tested here.
namespace argosy::comm {
namespace {

cuda::HostDevice& the_device() {
  static auto& device = *new cuda::HostDevice;
  return device;
}

template <class F>
F* fake(const char* name) {
  static void* library = dlopen(ARGOSY_FAKE_NCCL, RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<F*>(dlsym(library, name));
}
void set(const char* what, int value) {
  fake<void(const char*, int)>("fake_nccl_set")(what, value);
}
int count(const char* what) {
  return fake<int(const char*)>("fake_nccl_count")(what);
}

cuda::Native native() {
  cuda::Native n;
  n.stream = [](Stream stream) { return the_device().native(stream); };
  n.enter = [](Place) {};
  n.identity = [](Place place) { return "card " + std::to_string(place.index); };
  return n;
}

class Nccl : public Ranks {
 protected:
  static void SetUpTestSuite() {
    device::add(&the_device());
    op::set_launcher(&the_device());
  }
  void SetUp() override {
    static DeviceLinker* linker = cuda::nccl_linker(native(), ARGOSY_FAKE_NCCL);
    device::set_linker(kAccelerator, linker);
  }
  void TearDown() override {
    for (const char* what : {"never_joins", "refuses", "async_error"}) set(what, 0);
    the_device().stuck = false;
  }
  // With connected devices.
  void connected(int size, const std::function<void(ProcessGroup&)>& body) {
    with_ranks(size, [&](ProcessGroup& g) {
      ASSERT_EQ(g.connect_devices(Place{kAccelerator, static_cast<int16_t>(g.rank())}), "");
      ASSERT_STREQ(g.devices(), "nccl");
      body(g);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Ways, Nccl, testing::Values(Over::board, Over::mesh), name_of_way);

Tensor there(const ProcessGroup& g, const Tensor& t) {
  return op::to_place(t, Place{kAccelerator, static_cast<int16_t>(g.rank())});
}
template <class T = float>
std::vector<T> read(const Tensor& t) {
  return values<T>(op::to_host(t));
}
Tensor filled(const ProcessGroup& g, float value, int64_t n = 5) {
  return there(g, tensor(std::vector<float>(static_cast<size_t>(n), value)));
}

TEST_P(Nccl, EachCollective) {
  for (int size : {1, 2, 3}) {
    const int before = count("calls");
    connected(size, [size](ProcessGroup& g) {
      const auto me = static_cast<float>(g.rank());
      const auto n = static_cast<float>(size);
      const auto ranks = static_cast<size_t>(size);
      const float sum = n * (n - 1) / 2;
      const int root = size - 1;
      const Tensor a = filled(g, me), b = filled(g, 10 * me, 3);
      g.all_reduce({a, b}, Reduce::sum);  // two tensors, one call
      EXPECT_EQ(read(a), std::vector<float>(5, sum));
      EXPECT_EQ(read(b), std::vector<float>(3, 10 * sum));
      const Tensor most = filled(g, me), least = filled(g, me), mean = filled(g, 2 * me),
                   product = filled(g, me + 1);
      g.all_reduce({most}, Reduce::max);
      g.all_reduce({least}, Reduce::min);
      g.all_reduce({mean}, Reduce::avg);
      g.all_reduce({product}, Reduce::prod);
      EXPECT_EQ(read(most)[0], n - 1);
      EXPECT_EQ(read(least)[0], 0);
      EXPECT_EQ(read(mean)[0], n - 1);
      EXPECT_EQ(read(product)[0], size == 3 ? 6 : n);
      const Tensor reduced = filled(g, me);
      g.reduce({reduced}, root, Reduce::sum);
      EXPECT_EQ(read(reduced)[2], g.rank() == root ? sum : me);
      const Tensor given = filled(g, me + 7);
      g.broadcast({given}, root);
      EXPECT_EQ(read(given)[4], n + 6);
      TensorList all;
      for (int r = 0; r < size; ++r) all.push_back(filled(g, -1, 4));
      g.all_gather(all, filled(g, me, 4), false);
      for (size_t r = 0; r < ranks; ++r)
        EXPECT_EQ(read(all[r]), std::vector<float>(4, static_cast<float>(r)));
      const Tensor whole = filled(g, -1, 4 * size);  // parts of one tensor: no copies
      TensorList parts;
      for (int r = 0; r < size; ++r) parts.push_back(whole.view(Shape{4}, Shape{1}, 4 * r));
      g.all_gather(parts, filled(g, me, 4), false);
      EXPECT_EQ(read(whole)[static_cast<size_t>(4 * size - 1)], n - 1);
      const Tensor share = filled(g, 0, 4);
      g.reduce_scatter(share, parts, Reduce::sum);
      EXPECT_EQ(read(share), std::vector<float>(4, n * me));
      g.reduce_scatter(share, all, Reduce::sum);
      EXPECT_EQ(read(share), std::vector<float>(4, n * me));
      TensorList to, from;
      for (int r = 0; r < size; ++r) {  // of unequal sizes, some empty
        from.push_back(filled(g, 10 * me + static_cast<float>(r), g.rank() + r));
        to.push_back(filled(g, -1, g.rank() + r));
      }
      g.alltoall(to, from);
      for (size_t r = 0; r < ranks; ++r)
        EXPECT_EQ(read(to[r]), std::vector<float>(r + static_cast<size_t>(g.rank()),
                                                  10 * static_cast<float>(r) + me));
      TensorList unequal;
      for (int r = 0; r < size; ++r) unequal.push_back(filled(g, -1, r));
      g.all_gather(unequal, filled(g, me, g.rank()), true);
      for (size_t r = 0; r < ranks; ++r)
        EXPECT_EQ(read(unequal[r]), std::vector<float>(r, static_cast<float>(r)));
      const Tensor part = filled(g, -1, 4);
      g.scatter(part, g.rank() == root ? all : TensorList(), root);
      EXPECT_EQ(read(part), std::vector<float>(4, me));
      g.gather(g.rank() == root ? all : TensorList(), filled(g, me + 3, 4), root);
      if (g.rank() == root) {
        EXPECT_EQ(read(all[0]), std::vector<float>(4, 3));
      }
      g.barrier();
    });
    EXPECT_GE(count("calls") - before, 11 * size);
  }
}

TEST_P(Nccl, DTypes) {
  connected(2, [](ProcessGroup& g) {
    const auto sum = [&](DType dtype) {
      Tensor t = Tensor::empty({3}, DType::float32);
      for (int i = 0; i < 3; ++i) t.data<float>()[i] = static_cast<float>(i + g.rank());
      Tensor of = Tensor::empty({3}, dtype), back = Tensor::empty({3}, DType::float32);
      op::copy_into(of, t);
      const Tensor x = there(g, of);
      g.all_reduce({x}, Reduce::sum);
      op::copy_into(back, op::to_host(x));
      EXPECT_EQ(values<float>(back), (std::vector<float>{1, 3, 5})) << argosy::name_of(dtype);
    };
    int before = count("calls");
    for (DType d : {DType::int8, DType::uint8, DType::int32, DType::int64, DType::float32,
                    DType::float64, DType::bfloat16, DType::complex64, DType::complex128})
      sum(d);
    g.barrier();
    EXPECT_EQ(count("calls"), before + 18);
    g.barrier();
    before = count("calls");
    g.barrier();
    sum(DType::int16);  // NCCL has none: through the host
    g.barrier();
    EXPECT_EQ(count("calls"), before);
    g.barrier();
    // What is moved is bytes.
    const Tensor flags = there(g, tensor<uint8_t>({static_cast<uint8_t>(g.rank()), 1}));
    const Tensor words = Tensor::empty({1}, DType::int16, flags.place());
    op::copy_into(words, op::to_host(flags).view(Shape{1}, Shape{1}));
    g.broadcast({words}, 1);
    Tensor back = Tensor::empty({1}, DType::float32);
    op::copy_into(back, op::to_host(words));
    EXPECT_EQ(*back.data<float>(), 1);
    g.barrier();
    EXPECT_EQ(count("calls"), before + 2);
  });
}

TEST_P(Nccl, ViewsAndEmptyTensors) {
  connected(2, [](ProcessGroup& g) {
    const float own = static_cast<float>(g.rank() + 1);
    const Tensor whole = filled(g, own, 12);
    const Tensor column = whole.view(Shape{3}, Shape{4});
    g.all_reduce({column}, Reduce::sum);
    EXPECT_EQ(read(whole),
              (std::vector<float>{3, own, own, own, 3, own, own, own, 3, own, own, own}));
    g.broadcast({column}, 1);
    TensorList columns{whole.view(Shape{3}, Shape{4}), whole.view(Shape{3}, Shape{4}, 1)};
    g.all_gather(columns, filled(g, own, 3), false);
    g.alltoall({columns[1], columns[0]}, {columns[0], columns[1]});
    g.scatter(columns[0], g.rank() == 0 ? columns : TensorList(), 0);
    g.reduce_scatter(columns[0], {columns[0], columns[1]}, Reduce::sum);
    g.reduce({column}, 0, Reduce::sum);
    const Tensor none = filled(g, 0, 0);
    g.all_reduce({none}, Reduce::sum);
    g.broadcast({none}, 0);
    g.all_gather({none, filled(g, 0, 0)}, none, false);
    g.alltoall({none, filled(g, 0, 0)}, {none, filled(g, 0, 0)});
    g.reduce_scatter(none, {filled(g, 0, 0), filled(g, 0, 0)}, Reduce::max);
  });
}

TEST_P(Nccl, EventsPutItBetweenWhatWasAndWhatWillBe) {
  connected(1, [](ProcessGroup& g) {
    const Tensor x = filled(g, 1);
    device::set_current({x.place(), 0});
    auto work = g.all_reduce({x}, Reduce::sum, Mode::async);
    work->wait();
    const auto& uses = the_device().used;
    const auto use = std::ranges::find(uses, x.raw(), &std::pair<uint32_t, const void*>::second);
    ASSERT_NE(use, uses.end());
    const uint32_t stream = use->first;
    EXPECT_NE(stream, 0u);
    EXPECT_TRUE(the_device().waits.contains({stream, 0}));
    EXPECT_TRUE(the_device().waits.contains({0, stream}));
  });
}

TEST_P(Nccl, ACallIsCompletedWhenTheDeviceIs) {
  connected(1, [](ProcessGroup& g) {
    the_device().stuck = true;
    auto work = g.all_reduce({filled(g, 1)}, Reduce::sum, Mode::async);
    while (!work->done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_FALSE(work->completed());
    the_device().stuck = false;
    EXPECT_TRUE(work->completed());
  });
}

TEST_P(Nccl, AsynchronousCallsAndGroupsOfTheirOwn) {
  connected(3, [](ProcessGroup& g) {
    std::vector<std::shared_ptr<Work>> works;
    TensorList all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(filled(g, static_cast<float>(i)));
      works.push_back(g.all_reduce({all.back()}, Reduce::sum, Mode::async));
    }
    for (const auto& work : works) work->wait();
    for (size_t i = 0; i < 20; ++i) EXPECT_EQ(read(all[i])[0], static_cast<float>(3 * i));
    auto pair = g.subgroup({0, 2}, kPatience);
    if (!pair) return;
    const Tensor x = filled(g, 1);
    pair->all_reduce({x}, Reduce::sum);  // through the host
    EXPECT_EQ(pair->devices(), nullptr);
    EXPECT_EQ(read(x)[0], 2);
    EXPECT_EQ(pair->connect_devices(x.place()), "");
    pair->all_reduce({x}, Reduce::sum);
    EXPECT_EQ(read(x)[0], 4);
    pair->close();
  });
}

TEST_P(Nccl, RanksThatDisagree) {
  const auto differ = [&](const std::function<void(ProcessGroup&)>& call, const std::string& text) {
    const auto errors = run_ranks(2, kPatience, [&](ProcessGroup& g) {
      EXPECT_EQ(g.connect_devices(Place{kAccelerator, static_cast<int16_t>(g.rank())}), "");
      call(g);
    });
    for (const std::string& e : errors) EXPECT_NE(e.find(text), std::string::npos) << e;
  };
  differ([](ProcessGroup& g) { g.all_reduce({filled(g, 1, 4 + g.rank())}, Reduce::sum); },
         "all_reduce(sum) of 4 float32 between devices");
  // One of them has its tensor on the host.
  differ(
      [](ProcessGroup& g) { g.all_reduce({g.rank() ? filled(g, 1) : numbers(0, 5)}, Reduce::sum); },
      "all_reduce(sum) of 5 float32 between devices");
  differ(
      [](ProcessGroup& g) {
        g.alltoall({filled(g, 0, 2), filled(g, 0, 3)}, {filled(g, 1, 2), filled(g, 1, 2)});
      },
      "expected 3 float32 of rank 1, which has 2 for it");
}

TEST_P(Nccl, WhyDevicesAreNotConnected) {
  const auto reason = [&](const std::function<std::optional<Place>(int)>& place,
                          const std::string& text) {
    with_ranks(2, [&](ProcessGroup& g) {
      const std::string why = g.connect_devices(place(g.rank()));
      EXPECT_NE(why.find(text), std::string::npos) << why;
      EXPECT_EQ(g.devices(), nullptr);
      const Tensor x = filled(g, 1);
      g.all_reduce({x}, Reduce::sum);  // through the host
      EXPECT_EQ(read(x)[0], 2);
    });
  };
  reason([](int) { return Place{kAccelerator, 1}; }, "rank 0 and rank 1 have one device");
  reason(
      [](int rank) {
        return rank ? std::nullopt : std::optional(Place{kAccelerator, 0});
      },
      "rank 1: a process has no device");
  static DeviceLinker* linker = cuda::nccl_linker(native(), "/nowhere/libnccl.so");
  device::set_linker(kAccelerator, linker);
  reason(
      [](int rank) {
        return Place{kAccelerator, static_cast<int16_t>(rank)};
      },
      "install NCCL 2.18 or later");
}

TEST_P(Nccl, ARankThatNeverComes) {
  set("never_joins", 1);
  const int aborts = count("aborts");
  const auto errors = run_ranks(2, 0.6, [&](ProcessGroup& g) {
    const std::string why = g.connect_devices(Place{kAccelerator, static_cast<int16_t>(g.rank())});
    EXPECT_NE(why.find("ncclCommInitRankConfig has waited 0.3 s for the other ranks"),
              std::string::npos)
        << why;
  });
  for (const std::string& e : errors) EXPECT_EQ(e, "");
  EXPECT_EQ(count("aborts"), aborts + 2);
}

TEST_P(Nccl, WhatNcclRefusesIsTheGroupsFailure) {
  const auto errors = run_ranks(2, kPatience, [&](ProcessGroup& g) {
    EXPECT_EQ(g.connect_devices(Place{kAccelerator, static_cast<int16_t>(g.rank())}), "");
    g.barrier();
    set("refuses", 1);
    try {
      g.all_reduce({filled(g, 1)}, Reduce::sum);
    } catch (const CommError&) {
      EXPECT_EQ(count("depth"), 0);  // else the thread's next calls are held back
      throw;
    }
  });
  for (const std::string& e : errors)
    EXPECT_NE(e.find("[nccl] ncclAllReduce: system error"), std::string::npos) << e;
  EXPECT_EQ(errors[0], errors[1]);
}

TEST_P(Nccl, WhatDoesNotEndIsAborted) {
  for (const bool fails : {false, true}) {
    const int aborts = count("aborts");
    const auto errors = run_ranks(2, 0.5, [&](ProcessGroup& g) {
      EXPECT_EQ(g.connect_devices(Place{kAccelerator, static_cast<int16_t>(g.rank())}), "");
      g.barrier();
      the_device().stuck = true;
      auto work = g.all_reduce({filled(g, 1)}, Reduce::sum, Mode::async);
      while (!work->done()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      if (fails) set("async_error", 1);
      for (;;) {
        work->wait();
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      }
    });
    for (const std::string& e : errors) {
      const char* text = fails ? "failed between devices: remote error" : "has not ended on host:";
      EXPECT_NE(e.find(text), std::string::npos) << e;
      EXPECT_NE(e.find("[all_reduce] collective"), std::string::npos) << e;
    }
    EXPECT_EQ(errors[0], errors[1]);
    EXPECT_EQ(count("aborts"), aborts + 2);
    TearDown();
  }
}

TEST_P(Nccl, CommunicatorsEndWithTheirGroup) {
  const int destroyed = count("destroyed"), dropped = the_device().dropped;
  connected(2, [](ProcessGroup& g) { g.all_reduce({filled(g, 1)}, Reduce::sum); });
  EXPECT_EQ(count("destroyed"), destroyed + 2);
  EXPECT_EQ(the_device().dropped, dropped + 2);
}

}  // namespace
}  // namespace argosy::comm
