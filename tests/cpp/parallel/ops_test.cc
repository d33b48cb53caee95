#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "argosy/base/memory.h"
#include "argosy/comm/recorder.h"
#include "argosy/program/serialize.h"
#include "tests/cpp/parallel/ranks.h"

// The ops of collectives: what they give, in eager calls and in plans, and that each gradient is
// the adjoint: the sum over ranks of <out, dy> is that of <x, dx>.
namespace argosy::parallel {
namespace {

using comm::ProcessGroup;
using comm::Reduce;
using passes::call;
using passes::Recorded;

const int kSizes[] = {1, 2, 3, 8, 64};

// Small whole numbers that differ over ranks, places and `salt`, so that sums are exact.
Tensor whole(const Shape& shape, int rank, int salt = 0) {
  Tensor t = Tensor::empty(shape, DType::float64);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] = static_cast<double>((i * 5 + rank * 11 + salt * 3) % 17) - 8;
  return t;
}

std::vector<double> at(const Tensor& t) {
  return test::elements<double>(t);
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  const auto x = at(a), y = at(b);
  EXPECT_EQ(x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

// out = f(xs) on every rank, as one Program with its gradients, by the executor and by the
// interpreter.
void check_adjoint(ProcessGroup& g, const std::vector<Shape>& shapes,
                   const std::function<Tensors(const std::vector<Tensor>&)>& f) {
  Recorded r;
  std::vector<Tensor> xs;
  for (size_t i = 0; i < shapes.size(); ++i) {
    xs.push_back(r.input(whole(shapes[i], g.rank(), static_cast<int>(i))));
    program::set_stop_gradient(xs.back(), false);
  }
  const Tensors outs = f(xs);
  std::vector<Tensor> dys;
  for (const Tensor& out : outs)
    dys.push_back(r.input(whole(out.shape(), g.rank(), static_cast<int>(7 + dys.size()))));
  const Tensors dxs = r.program->builder().gradients({outs.begin(), outs.end()}, dys, xs);
  for (const Tensor& out : outs) r.output(out);
  for (const Tensor& dx : dxs) {
    ASSERT_TRUE(dx.defined());
    r.output(dx);
  }
  r.end();
  r.program->verify();
  const Tensors run = execute(r.program, r.feeds);
  Tensor sides = Tensor::empty({2}, DType::float64);
  double* side = sides.data<double>();
  side[0] = side[1] = 0;
  for (size_t i = 0; i < outs.size(); ++i) side[0] += dot(run[i], r.feeds[xs.size() + i]);
  for (size_t i = 0; i < xs.size(); ++i) side[1] += dot(r.feeds[i], run[outs.size() + i]);
  g.all_reduce({sides}, Reduce::sum);
  EXPECT_NEAR(side[0], side[1], 1e-9 * std::abs(side[0]));
  // The interpreter gives the same.
  std::vector<Ref<program::Value>> fetches;
  for (const auto& o : r.program->outputs) fetches.push_back(o.value);
  const Tensors again = r.program->run(r.feeds, fetches);
  for (size_t i = 0; i < run.size(); ++i) EXPECT_EQ(at(run[i]), at(again[i]));
}

void check_adjoint(const std::vector<Shape>& shapes,
                   const std::function<Tensors(const std::vector<Tensor>&, int)>& f) {
  for (int size : kSizes)
    on_ranks(size, [&](ProcessGroup& g) {
      std::vector<Shape> own = shapes;
      for (Shape& s : own)
        for (int d = 0; d < s.rank(); ++d)
          if (s[d] == kUnknown) s[d] = size;  // one for each rank
      check_adjoint(g, own, [&](const std::vector<Tensor>& xs) { return f(xs, size); });
    });
}

}  // namespace

TEST(CollectiveOps, AllReduce) {
  for (const char* reduce : {"sum", "avg"})
    check_adjoint({{3, 2}}, [=](const auto& xs, int) {
      return call("all_reduce", xs, with<std::string>("reduce", reduce));
    });
  on_ranks(3, [](ProcessGroup& g) {
    const Tensor x = whole({4}, g.rank());
    const Tensor max = call("all_reduce", {x}, with<std::string>("reduce", "max"))[0];
    for (int64_t i = 0; i < 4; ++i) {
      double want = -100;
      for (int r = 0; r < 3; ++r) want = std::max(want, at(whole({4}, r))[static_cast<size_t>(i)]);
      EXPECT_EQ(at(max)[static_cast<size_t>(i)], want);
    }
    EXPECT_EQ(at(x), at(whole({4}, g.rank())));  // a new tensor: x stays
  });
}

TEST(CollectiveOps, ReduceAndBroadcast) {
  for (const char* others : {"own", "zero"})
    check_adjoint({{5}}, [=](const auto& xs, int ranks) {
      return call("reduce_to", xs, [=](op::AttrBox& a) {
        passes::set_attr<int64_t>(a, "root", ranks - 1);
        passes::set_attr<std::string>(a, "others", others);
      });
    });
  for (const char* others : {"own", "root"})
    check_adjoint({{2, 0, 3}, {}, {7}}, [=](const auto& xs, int ranks) {
      Tensors out;
      for (const Tensor& x : xs)
        out.push_back(call("broadcast_from", {x}, [=](op::AttrBox& a) {
          passes::set_attr<int64_t>(a, "root", ranks / 2);
          passes::set_attr<std::string>(a, "others", others);
        })[0]);
      return out;
    });
  on_ranks(3, [](ProcessGroup& g) {
    const Tensor x = whole({4}, g.rank());
    EXPECT_EQ(at(call("broadcast_from", {x}, with<int64_t>("root", 2))[0]), at(whole({4}, 2)));
    const Tensor sum = call("reduce_to", {x}, with<int64_t>("root", 1))[0];
    if (g.rank() != 1) {
      EXPECT_EQ(at(sum), at(x));
    }
  });
}

TEST(CollectiveOps, OneForEachRank) {
  const auto ranks_of = [](int ranks) { return with<int64_t>("ranks", ranks); };
  check_adjoint({{3, 2}},
                [=](const auto& xs, int n) { return call("all_gather", xs, ranks_of(n)); });
  check_adjoint({{kUnknown, 3}},
                [=](const auto& xs, int n) { return call("reduce_scatter", xs, ranks_of(n)); });
  check_adjoint({{kUnknown}}, [=](const auto& xs, int n) {
    return call("reduce_scatter", xs, [=](op::AttrBox& a) {
      passes::set_attr<int64_t>(a, "ranks", n);
      passes::set_attr<std::string>(a, "reduce", "avg");
    });
  });
  check_adjoint({{4}}, [=](const auto& xs, int n) { return call("gather_to", xs, ranks_of(n)); });
  check_adjoint({{kUnknown, 2}}, [=](const auto& xs, int n) {
    return call("scatter_from", {Tensor::empty({2}, DType::float64), xs[0]}, ranks_of(n));
  });
}

TEST(CollectiveOps, ListsWithOneForEachRank) {
  for (int size : {1, 2, 3, 8})
    on_ranks(size, [&](ProcessGroup& g) {
      // Rank a has a + 1 rows for b, but none for itself.
      std::vector<Shape> sent;
      std::vector<Tensor> likes;
      for (int b = 0; b < size; ++b) {
        sent.push_back({b == g.rank() ? 0 : g.rank() + 1, 2});
        likes.push_back(Tensor::empty({b == g.rank() ? 0 : b + 1, 2}, DType::float64));
      }
      const auto n = static_cast<uint32_t>(size);
      check_adjoint(g, sent, [&](const std::vector<Tensor>& xs) {
        std::vector<Tensor> in = xs;
        in.insert(in.end(), likes.begin(), likes.end());
        return call("alltoall", in, {}, {n, 2 * n});
      });
      likes.clear();
      for (int b = 0; b < size; ++b) likes.push_back(Tensor::empty({b}, DType::float64));
      check_adjoint(g, {{g.rank()}}, [&](const std::vector<Tensor>& xs) {
        std::vector<Tensor> in = xs;
        in.insert(in.end(), likes.begin(), likes.end());
        return call("all_gather_unequal", in, {}, {1, n + 1});
      });
    });
}

TEST(CollectiveOps, MessagesAndBarriers) {
  on_ranks(4, [](ProcessGroup& g) {
    Recorded r;
    const Tensor x = r.input(whole({3}, g.rank()));
    call("send_to", {x}, with<int64_t>("peer", (g.rank() + 1) % 4));
    call("barrier", {});
    r.output(call("recv_from", {x}, with<int64_t>("peer", (g.rank() + 3) % 4))[0]);
    EXPECT_EQ(at(execute(r.program, (r.end(), r.feeds))[0]), at(whole({3}, (g.rank() + 3) % 4)));
  });
}

TEST(CollectiveOps, StartAndWait) {
  for (int size : kSizes)
    on_ranks(size, [&](ProcessGroup& g) {
      Recorded r;
      const Tensor x = r.input(whole({3}, g.rank())), y = r.input(whole({2, 2}, g.rank()));
      const Tensor a = call("add", {x, x})[0], b = call("add", {y, y})[0];
      const Tensor started = call("all_reduce_start", {a, b}, {}, {2})[0];
      const Tensor between = call("multiply", {x, x})[0];
      call("all_reduce_wait", {a, b, started}, {}, {2, 3});
      r.output(between);
      r.output(a);
      r.output(b);
      r.end();
      for (int round = 0; round < 3; ++round) {
        const Tensors out = execute(r.program, r.feeds);
        Tensor sx = whole({3}, g.rank()), sy = whole({2, 2}, g.rank());
        g.all_reduce({sx, sy}, Reduce::sum);
        for (size_t i = 0; i < 3; ++i) EXPECT_EQ(at(out[1])[i], 2 * at(sx)[i]);
        for (size_t i = 0; i < 4; ++i) EXPECT_EQ(at(out[2])[i], 2 * at(sy)[i]);
      }
    });
}

// What reads the operand of a start later reads what it was before.
TEST(CollectiveOps, AStartLeavesOthersTheirValue) {
  on_ranks(3, [](ProcessGroup& g) {
    Recorded r;
    const Tensor x = r.input(whole({3}, g.rank()));
    const Tensor a = call("add", {x, x})[0], old = call("assign", {a})[0],
                 view = call("add", {old, x})[0];
    const Tensor started = call("all_reduce_start", {a}, {}, {1})[0];
    const Tensor later = call("multiply", {old, old})[0];
    call("all_reduce_wait", {a, started}, {}, {1, 2});
    r.output(later);
    r.output(view);
    r.output(a);
    const Tensors out = execute(r.program, (r.end(), r.feeds));
    for (size_t i = 0; i < 3; ++i) {
      const double mine = at(whole({3}, g.rank()))[i];
      EXPECT_EQ(at(out[0])[i], 4 * mine * mine);
      EXPECT_EQ(at(out[1])[i], 3 * mine);
    }
  });
}

// The memory of a run that fails is given back when nobody writes it any more.
TEST(CollectiveOps, ARunThatFailsWaitsForWhatItStarted) {
  const auto errors = errors_on_ranks(2, 20, [](ProcessGroup& g) {
    Recorded r;
    const Tensor x = r.input(whole({300000}, g.rank()));
    const Tensor a = call("add", {x, x})[0];
    const Tensor started = call("all_reduce_start", {a}, {}, {1})[0];
    if (g.rank() == 0) call("recv_from", {x}, with<int64_t>("peer", 0));  // fails when it runs
    call("all_reduce_wait", {a, started}, {}, {1, 2});
    r.output(a);
    execute(r.program, (r.end(), r.feeds));
  });
  EXPECT_NE(errors[0].find("expected another rank"), std::string::npos) << errors[0];
  EXPECT_EQ(errors[1], "");
}

// A rank that comes late may go on with what has failed elsewhere.
TEST(CollectiveOps, MemoryThatAnotherRankMayWriteIsNotUsedAgain) {
  constexpr size_t kBytes = 300000 * sizeof(double);
  for (bool begins : {true, false}) {
    std::atomic<bool> over{false};
    const auto errors = errors_on_ranks(2, 0.3, [&](ProcessGroup& g) {
      if (g.rank() == 1) {
        while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        g.barrier();
      }
      Recorded r;
      const Tensor x = r.input(whole({300000}, 0));
      Tensor a = call("add", {x, x})[0];
      if (begins) {
        const Tensor started = call("all_reduce_start", {a}, {}, {1})[0];
        call("all_reduce_wait", {a, started}, {}, {1, 2});
      } else {
        a = call("all_reduce", {a})[0];
      }
      r.output(a);
      r.end();
      const size_t before = memory::stats({}).allocated;
      try {
        execute(r.program, r.feeds);
      } catch (const comm::CommError&) {
        EXPECT_GE(memory::stats({}).allocated, before + kBytes);
        over = true;
        throw;
      }
    });
    EXPECT_NE(errors[0].find("rank 1 has not come"), std::string::npos) << errors[0];
  }
}

// Two threads of a rank run Programs. The first has begun an exchange whose peer does not come
// before the run of the second has failed.
TEST(CollectiveOps, ARunThatFailsWaitsForItsOwnOnly) {
  const auto exchange = [](int64_t group, ProcessGroup& g, bool fails) {
    Recorded r;
    const Tensor x = r.input(whole({3000}, g.rank()));
    const Tensor a = call("add", {x, x})[0];
    const Tensor started = call("all_reduce_start", {a}, with<int64_t>("group", group), {1})[0];
    if (fails) call("recv_from", {x}, with<int64_t>("peer", g.rank()));
    call("all_reduce_wait", {a, started}, {}, {1, 2});
    r.output(a);
    return execute(r.program, (r.end(), r.feeds))[0];
  };
  const auto has_begun = [](uint32_t group) {
    const auto all = comm::records();
    return std::any_of(all.begin(), all.end(), [&](const comm::Record& record) {
      return record.header.group == group && record.header.count == 3000;
    });
  };
  on_ranks(2, [&](ProcessGroup& g) {
    comm::Groups& groups = comm::Groups::current();
    const auto other = g.subgroup({0, 1}, 60);
    groups.enter(1, other);
    const auto right = [&] {
      const auto got = at(exchange(1, g, false));
      Tensor sum = whole({3000}, g.rank());
      g.all_reduce({sum}, Reduce::sum);
      const auto want = at(sum);
      for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(got[i], 2 * want[i]);
    };
    if (g.rank() == 1) {
      EXPECT_THROW(exchange(0, g, true), Error);
      g.barrier();  // the other's run has failed, too
      right();
      return;
    }
    std::thread first([&] {
      const comm::Groups::Scope scope(groups);
      right();
    });
    while (!has_begun(other->number())) std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_THROW(exchange(0, g, true), Error);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(40));
    g.barrier();
    first.join();
  });
}

TEST(CollectiveOps, ProgramsArePrintedSavedAndLoaded) {
  on_ranks(2, [](ProcessGroup& g) {
    Recorded r;
    const Tensor x = r.input(whole({3}, g.rank()));
    const Tensor a = call("all_reduce", {x}, with<std::string>("reduce", "max"))[0];
    const Tensor started = call("all_reduce_start", {a}, {}, {1})[0];
    call("all_reduce_wait", {a, started}, {}, {1, 2});
    r.output(a);
    r.end();
    const auto loaded = program::deserialize(program::serialize(*r.program));
    EXPECT_EQ(loaded->print(), r.program->print());
    EXPECT_NE(loaded->print().find("max"), std::string::npos);
    EXPECT_EQ(at(execute(loaded, r.feeds)[0]), at(execute(r.program, r.feeds)[0]));
  });
}

TEST(CollectiveOps, Errors) {
  on_ranks(2, [](ProcessGroup& g) {
    const Tensor x = whole({3}, g.rank());
    const auto error = [](const std::function<void()>& f) {
      try {
        f();
      } catch (const Error& e) {
        return std::string(e.what());
      }
      return std::string("no error");
    };
    EXPECT_EQ(
        error([&] { call("all_reduce", {x}, with<int64_t>("group", 5)); })
            .find("[all_reduce] the Program exchanges tensors in group 5: expected this process to "
                  "be a member of it, got no such group. Do this: call new_group()"),
        0u);
    EXPECT_EQ(
        error([&] { call("all_gather", {x}, with<int64_t>("ranks", 3)); })
            .find(
                "[all_gather] the Program was made for a group of 3 ranks: expected group 0 to be "
                "one, got 2 ranks."),
        0u);
    EXPECT_EQ(error([&] {
                call("all_reduce", {x}, with<std::string>("reduce", "median"));
              }).find("[all_reduce] reduce: expected sum, prod, max, min or avg, got 'median'."),
              0u);
    EXPECT_EQ(
        error([&] {
          call("reduce_scatter", {x}, with<int64_t>("ranks", 2));
        }).find("[reduce_scatter] expected a tensor of 2 rows, one for each rank of the group"),
        0u);
    if (g.rank() == 0) {
      EXPECT_EQ(error([&] {
                  call("scatter_from", {x, Tensor()}, with<int64_t>("ranks", 2));
                }).find("[scatter_from] rank 0 has to have what is scattered"),
                0u);
    }
  });
  const auto errors = errors_on_ranks(
      2, 20, [](ProcessGroup& g) { call("all_reduce", {whole({g.rank() ? 4 : 3}, 0)}); });
  for (const std::string& e : errors)
    EXPECT_NE(e.find("disagree about collective"), std::string::npos) << e;
}

}  // namespace argosy::parallel
