#include <cmath>
#include <cstring>
#include <limits>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "tests/cpp/comm/world.h"

namespace argosy::comm {

namespace {

const int kSizes[] = {1, 2, 3, 4, 7, 16, 64};
// Elements: none, one, fewer than ranks, one that shares do not divide, several windows.
const int64_t kCounts[] = {0, 1, 3, 2051, 150001};

float sum_of(int size, int64_t i) {
  float sum = 0;
  for (int r = 0; r < size; ++r) sum += static_cast<float>((i * 7 + r * 13) % 101) / 8;
  return sum;
}

}  // namespace

class Collectives : public Ranks {};
INSTANTIATE_TEST_SUITE_P(Ways, Collectives,
                         testing::Values(Over::board, Over::windows, Over::mesh, Over::ring,
                                         Over::hybrid, Over::hybrid_windows, Over::uneven,
                                         Over::one_host, Over::doubling, Over::halving, Over::tree,
                                         Over::automatic),
                         name_of_way);
class Groups : public Ranks {};
INSTANTIATE_TEST_SUITE_P(Ways, Groups,
                         testing::Values(Over::board, Over::mesh, Over::ring, Over::hybrid,
                                         Over::uneven, Over::one_host),
                         name_of_way);
class Transfers : public Ranks {};
INSTANTIATE_TEST_SUITE_P(Ways, Transfers,
                         testing::Values(Over::board, Over::mesh, Over::ring, Over::hybrid),
                         name_of_way);

TEST_P(Collectives, AllReduceSums) {
  for (int size : kSizes)
    for (int64_t count : kCounts) {
      if (size > 7 && count > 3000) continue;
      with_ranks(size, [&](ProcessGroup& g) {
        Tensor x = numbers(g.rank(), count);
        g.all_reduce({x}, Reduce::sum);
        for (int64_t i = 0; i < count; ++i) ASSERT_EQ(x.data<float>()[i], sum_of(size, i));
      });
    }
}

// Hybrids and meshes cut these into stretches. Of the first, the shares of two ranks of a host have
// other numbers of them.
TEST_P(Collectives, LargeSumsGoInStretches) {
  for (int64_t count : {524287, 1500001})
    for (int size : {2, 4, 6})
      with_ranks(size, [&](ProcessGroup& g) {
        Tensor sum = numbers(g.rank(), count), mean = numbers(g.rank(), count);
        Tensor parts = numbers(g.rank(), count);
        const auto part = [&](int64_t begin, int64_t n) {
          return parts.view(Shape{n}, Shape{1}, begin);
        };
        g.all_reduce({sum}, Reduce::sum);
        g.all_reduce({mean}, Reduce::avg);
        g.all_reduce({part(0, 100), part(100, 300001), part(300101, count - 300101)}, Reduce::sum);
        for (int64_t i = 0; i < count; ++i) {
          ASSERT_EQ(sum.data<float>()[i], sum_of(size, i)) << i;
          ASSERT_FLOAT_EQ(mean.data<float>()[i], sum_of(size, i) / static_cast<float>(size)) << i;
          ASSERT_EQ(parts.data<float>()[i], sum_of(size, i)) << i;
        }
      });
}

TEST_P(Collectives, EachOpOfEachDtype) {
  with_ranks(3, [](ProcessGroup& g) {
    const int r = g.rank();
    const auto check = [&]<class T>(T) {
      const auto of = [](float v) { return static_cast<T>(v); };
      const auto one = [&](Reduce op, float a, float b, float c, float want) {
        const float mine[] = {a, b, c};
        Tensor x = tensor<T>({of(mine[r])});
        g.all_reduce({x}, op);
        EXPECT_EQ(static_cast<float>(x.data<T>()[0]), want) << name_of(op);
      };
      one(Reduce::sum, 1, 2, 4, 7);
      one(Reduce::prod, 3, 2, 4, 24);
      one(Reduce::max, 3, 9, 4, 9);
      one(Reduce::min, 3, 2, 4, 2);
      if constexpr (!std::is_integral_v<T>) one(Reduce::avg, 3, 2, 4, 3);
    };
    dispatch_real(DType::uint8, check);
    for (DType t :
         {DType::int8, DType::int16, DType::int32, DType::int64, DType::uint16, DType::uint32,
          DType::uint64, DType::float16, DType::bfloat16, DType::float32, DType::float64})
      EXPECT_TRUE(dispatch_real(t, check));
    Tensor b = tensor<uint8_t>({r == 1, 1, 0});
    b.impl()->dtype = DType::bool_;
    g.all_reduce({b}, Reduce::sum);
    EXPECT_EQ(values<uint8_t>(b), (std::vector<uint8_t>{1, 1, 0}));
    Tensor c = tensor<complex64>({{1.0f, static_cast<float>(r)}});
    g.all_reduce({c}, Reduce::avg);
    EXPECT_EQ(c.data<complex64>()[0], complex64(1, 1));
  });
}

// Of two ranks, by a way of its own; and of tensors that vectors do not divide.
TEST_P(Collectives, AveragesOfTwo) {
  with_ranks(2, [](ProcessGroup& g) {
    const auto r = static_cast<float>(g.rank());
    Tensor c = tensor<complex64>({{1.0f + r, 3 * r}, {-r, 2.5f}, {0, r}});
    g.all_reduce({c}, Reduce::avg);
    EXPECT_EQ(values<complex64>(c),
              (std::vector<complex64>{{1.5f, 1.5f}, {-0.5f, 2.5f}, {0, 0.5f}}));
    const float tiny = std::numeric_limits<float>::denorm_min();
    Tensor x = tensor<float>({r * tiny, 3 * tiny, r ? INFINITY : 1.0f, r ? -2.0f : 2.0f, 7});
    g.all_reduce({x}, Reduce::avg);
    EXPECT_EQ(values<float>(x), (std::vector<float>{tiny / 2, 3 * tiny, INFINITY, 0, 7}));
    Tensor y = tensor<double>(std::vector<double>(1003, 1.0 + r));
    g.all_reduce({y}, Reduce::avg);
    EXPECT_EQ(values<double>(y), std::vector<double>(1003, 1.5));
    Tensor h = tensor<float16>({float16(1.0f + r)});
    g.all_reduce({h}, Reduce::avg);
    EXPECT_EQ(static_cast<float>(h.data<float16>()[0]), 1.5f);
  });
}

TEST_P(Collectives, SixteenBitsAreSummedInFloat32) {
  // Rounded after each addition, 256 + 1 + 1 would stay 256 in bfloat16.
  with_ranks(3, [](ProcessGroup& g) {
    Tensor x = tensor<bfloat16>({bfloat16(g.rank() == 0 ? 256.0f : 1.0f)});
    g.all_reduce({x}, Reduce::sum);
    EXPECT_EQ(static_cast<float>(x.data<bfloat16>()[0]), 258.0f);
    Tensor y = tensor<float16>({float16(g.rank() == 0 ? 2048.0f : 1.0f)});
    g.all_reduce({y}, Reduce::sum);
    EXPECT_EQ(static_cast<float>(y.data<float16>()[0]), 2050.0f);
  });
}

TEST_P(Collectives, IntegersWrapAndNanWins) {
  with_ranks(2, [](ProcessGroup& g) {
    Tensor x = tensor<int16_t>({30000, -30000});
    g.all_reduce({x}, Reduce::prod);
    EXPECT_EQ(values<int16_t>(x), (std::vector<int16_t>{-5888, -5888}));
    Tensor y = tensor<float>({g.rank() ? NAN : 1.0f, g.rank() ? 1.0f : NAN});
    g.all_reduce({y}, Reduce::max);
    EXPECT_TRUE(std::isnan(y.data<float>()[0]) && std::isnan(y.data<float>()[1]));
  });
}

TEST_P(Collectives, ResultsAreEqualBitForBit) {
  std::vector<std::vector<float>> runs;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::vector<float>> got(5);
    with_ranks(5, [&](ProcessGroup& g) {
      Tensor x = Tensor::empty(Shape{40000}, DType::float32);
      for (int64_t i = 0; i < x.numel(); ++i)
        x.data<float>()[i] = std::sin(static_cast<float>(i * (g.rank() + 1))) * 1e3f;
      g.all_reduce({x}, Reduce::sum);
      got[static_cast<size_t>(g.rank())] = values<float>(x);
    });
    runs.insert(runs.end(), got.begin(), got.end());
  }
  for (const auto& run : runs)
    EXPECT_EQ(std::memcmp(run.data(), runs[0].data(), run.size() * sizeof(float)), 0);
}

TEST_P(Collectives, ListsAndStridesAreOneTensor) {
  with_ranks(3, [](ProcessGroup& g) {
    const auto r = static_cast<float>(g.rank());
    Tensor a = tensor<float>({r, r + 1});
    Tensor matrix = tensor<float>({0, 1, 2, 3, 4, 5}, Shape{2, 3});
    Tensor column = matrix.view(Shape{2}, Shape{3}, 1);  // 1, 4
    g.all_reduce({a, column}, Reduce::sum);
    EXPECT_EQ(values<float>(a), (std::vector<float>{3, 6}));
    EXPECT_EQ(values<float>(matrix), (std::vector<float>{0, 3, 2, 3, 12, 5}));
  });
}

// Parts of a list that all ranks of a board see are reduced where they are, others by windows:
// ranks cut it in different ways, and some of their tensors are not contiguous.
TEST_P(Collectives, ListsThatAreSeenInPart) {
  const std::vector<std::vector<int64_t>> cuts = {
      {40000, 3, 0, 60000}, {1, 100002}, {100003}, {50001, 50001, 1}};
  for (int size : {2, 3, 5})
    for (int strided : {0, 1, 2})  // every, so many ranks' first tensor
      for (Reduce op : {Reduce::sum, Reduce::avg})
        with_ranks(size, [&](ProcessGroup& g) {
          const auto mine = static_cast<size_t>(g.rank());
          Tensor all = numbers(g.rank(), 100003);
          TensorList list;
          int64_t begin = 0;
          for (int64_t n : cuts[mine % cuts.size()]) {
            const bool apart = strided && g.rank() % strided == 0 && list.empty();
            Tensor room = Tensor::empty(Shape{n, 2}, DType::float32);
            Tensor part =
                apart ? room.view(Shape{n}, Shape{2}, 0) : Tensor::empty(Shape{n}, DType::float32);
            op::copy_into(part, all.view(Shape{n}, Shape{1}, begin));
            list.push_back(part);
            begin += n;
          }
          g.all_reduce(list, op);
          int64_t i = 0;
          for (const Tensor& t : list)
            for (float v : values<float>(op::contiguous(t))) {
              const float sum = sum_of(size, i++);
              ASSERT_FLOAT_EQ(v, op == Reduce::avg ? sum / static_cast<float>(size) : sum) << i;
            }
          ASSERT_EQ(i, 100003);
        });
}

TEST_P(Collectives, ReduceReachesTheRootOnly) {
  with_ranks(4, [](ProcessGroup& g) {
    Tensor x = numbers(g.rank(), 70001);
    g.reduce({x}, 2, Reduce::sum);
    const Tensor before = numbers(g.rank(), 70001);
    for (int64_t i = 0; i < x.numel(); ++i)
      ASSERT_EQ(x.data<float>()[i], g.rank() == 2 ? sum_of(4, i) : before.data<float>()[i]);
  });
}

TEST_P(Collectives, Broadcast) {
  for (int size : kSizes)
    for (int64_t count : kCounts) {
      if (size > 7 && count > 3000) continue;
      with_ranks(size, [&](ProcessGroup& g) {
        Tensor x = numbers(g.rank(), count);
        g.broadcast({x}, size - 1);
        EXPECT_EQ(values<float>(x), values<float>(numbers(size - 1, count)));
      });
    }
}

TEST_P(Collectives, Gathers) {
  for (int size : {1, 2, 4, 16})
    for (int64_t count : {int64_t{0}, int64_t{5}, int64_t{70000}}) {
      with_ranks(size, [&](ProcessGroup& g) {
        TensorList all, at_root;
        for (int r = 0; r < size; ++r) all.push_back(numbers(99, count));
        if (g.rank() == 1 % size) at_root = {all.begin(), all.end()};
        g.all_gather(all, numbers(g.rank(), count), false);
        for (int r = 0; r < size; ++r)
          EXPECT_EQ(values<float>(all[static_cast<size_t>(r)]), values<float>(numbers(r, count)));
        g.gather(at_root, numbers(g.rank() + 7, count), 1 % size);
        for (size_t r = 0; r < at_root.size(); ++r)
          EXPECT_EQ(values<float>(at_root[r]),
                    values<float>(numbers(static_cast<int>(r) + 7, count)));
      });
    }
}

TEST_P(Collectives, UnequalGatherAndAlltoall) {
  const auto length = [](int from, int to) { return int64_t{from} * 30011 + to * 3; };
  for (int size : {1, 2, 5})
    with_ranks(size, [&](ProcessGroup& g) {
      TensorList all, in, out;
      for (int r = 0; r < size; ++r) {
        all.push_back(numbers(99, length(r, 0)));
        in.push_back(numbers(r + 1, length(g.rank(), r)));
        out.push_back(numbers(99, length(r, g.rank())));
      }
      g.all_gather(all, numbers(g.rank(), length(g.rank(), 0)), true);
      g.alltoall(out, in);
      for (int r = 0; r < size; ++r) {
        EXPECT_EQ(values<float>(all[static_cast<size_t>(r)]),
                  values<float>(numbers(r, length(r, 0))));
        EXPECT_EQ(values<float>(out[static_cast<size_t>(r)]),
                  values<float>(numbers(g.rank() + 1, length(r, g.rank()))));
      }
    });
}

TEST_P(Collectives, ScatterAndReduceScatter) {
  for (int size : {1, 2, 3, 8})
    for (int64_t count : {int64_t{0}, int64_t{5}, int64_t{70001}}) {
      with_ranks(size, [&](ProcessGroup& g) {
        TensorList parts;
        for (int r = 0; r < size; ++r) parts.push_back(numbers(g.rank() + 10 * r, count));
        Tensor x = numbers(99, count);
        g.scatter(x, g.rank() == 0 ? parts : TensorList{}, 0);
        EXPECT_EQ(values<float>(x), values<float>(numbers(10 * g.rank(), count)));
        g.reduce_scatter(x, parts, Reduce::max);
        for (int64_t i = 0; i < count; ++i) {
          float most = -1;
          for (int r = 0; r < size; ++r)
            most = std::max(most, static_cast<float>((i * 7 + (r + 10 * g.rank()) * 13) % 101) / 8);
          ASSERT_EQ(x.data<float>()[i], most);
        }
      });
    }
}

TEST_P(Collectives, AsynchronousCallsKeepTheirOrder) {
  with_ranks(3, [](ProcessGroup& g) {
    std::vector<Tensor> xs;
    std::vector<std::shared_ptr<Work>> works;
    for (int k = 0; k < 20; ++k) {
      xs.push_back(tensor<float>(std::vector<float>(1000, static_cast<float>(k))));
      works.push_back(g.all_reduce({xs.back()}, Reduce::sum, k % 3 ? Mode::async : Mode::sync));
    }
    for (size_t k = 0; k < works.size(); ++k) {
      works[k]->wait();
      EXPECT_TRUE(works[k]->done());
      EXPECT_EQ(xs[k].data<float>()[999], 3.0f * static_cast<float>(k));
    }
  });
}

TEST_P(Groups, PartsOfTheWorld) {
  with_ranks(6, [](ProcessGroup& g) {
    auto even = g.subgroup({4, 0, 2}, 5);
    auto odd = g.subgroup({1, 3, 5}, 5);
    EXPECT_EQ(even != nullptr, g.rank() % 2 == 0);
    ProcessGroup& mine = even ? *even : *odd;
    EXPECT_EQ(mine.ranks()[static_cast<size_t>(mine.rank())], g.rank());
    Tensor x = tensor<int64_t>({g.rank()});
    auto all = tensor<int64_t>({g.rank()});
    auto work = g.all_reduce({all}, Reduce::sum, Mode::async);  // two groups at once
    mine.all_reduce({x}, Reduce::sum);
    work->wait();
    EXPECT_EQ(x.data<int64_t>()[0], g.rank() % 2 ? 9 : 6);
    EXPECT_EQ(all.data<int64_t>()[0], 15);
    mine.broadcast({x}, 0);
    g.barrier();
  });
}

TEST_P(Transfers, MessagesOfAPairComeInOrder) {
  with_ranks(2, [](ProcessGroup& g) {
    for (int64_t n : {int64_t{0}, int64_t{1}, int64_t{100000}}) {
      for (int k = 0; k < 3; ++k) {
        Tensor x = numbers(k, n);
        if (g.rank() == 0) {
          g.send(x, 1);
        } else {
          Tensor y = numbers(99, n);
          g.recv(y, 0);
          EXPECT_EQ(values<float>(y), values<float>(x));
        }
      }
    }
  });
}

TEST_P(Transfers, EverybodySendsFirst) {
  for (int size : {2, 5, 16})
    with_ranks(size, [&](ProcessGroup& g) {
      const int64_t n = 60000;  // more than a ring
      std::vector<std::shared_ptr<Work>> works;
      std::vector<Tensor> got(static_cast<size_t>(size));
      for (int r = 0; r < size; ++r)
        if (r != g.rank()) works.push_back(g.send(numbers(g.rank(), n), r, Mode::async));
      for (int r = 0; r < size; ++r) {
        if (r == g.rank()) continue;
        got[static_cast<size_t>(r)] = numbers(99, n);
        works.push_back(g.recv(got[static_cast<size_t>(r)], r, Mode::async));
      }
      Tensor x = tensor<float>({1});
      g.all_reduce({x}, Reduce::sum);  // beside them
      for (auto& w : works) w->wait();
      for (int r = 0; r < size; ++r) {
        if (r == g.rank()) continue;
        EXPECT_EQ(values<float>(got[static_cast<size_t>(r)]), values<float>(numbers(r, n)));
      }
    });
}

TEST_P(Transfers, IntoAColumn) {
  with_ranks(2, [](ProcessGroup& g) {
    Tensor matrix = tensor<float>({0, 1, 2, 3}, Shape{2, 2});
    Tensor column = matrix.view(Shape{2}, Shape{2}, g.rank());
    g.rank() == 0 ? g.send(column, 1) : g.recv(column, 0);
    EXPECT_EQ(values<float>(matrix),
              g.rank() == 0 ? (std::vector<float>{0, 1, 2, 3}) : (std::vector<float>{0, 0, 2, 2}));
  });
}

}  // namespace argosy::comm
