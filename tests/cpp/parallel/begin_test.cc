#include <algorithm>

#include "argosy/parallel/check.h"
#include "argosy/program/serialize.h"
#include "tests/cpp/parallel/ranks.h"

// Collectives in two parts, as the pass begin_collectives makes them: the same bits as those in
// one, with other operations in between.
namespace argosy::parallel {
namespace {

using comm::ProcessGroup;
using passes::call;
using passes::Recorded;

Tensor of_rank(const Shape& shape, int rank) {
  Tensor t = Tensor::empty(shape, DType::float64);
  for (int64_t i = 0; i < t.numel(); ++i)
    t.data<double>()[i] = static_cast<double>((i * 7 + rank * 13) % 23) / 3;
  return t;
}

struct Collective {
  const char* op;
  // Of `ranks` ranks, on this rank's x of shape [ranks, 2]: everything that it gives.
  std::function<Tensors(const Tensor& x, int rank, int ranks)> call;
};

std::function<void(op::AttrBox&)> of_root(int ranks, int root) {
  return [=](op::AttrBox& a) {
    passes::set_attr<int64_t>(a, "ranks", ranks);
    passes::set_attr<int64_t>(a, "root", root);
  };
}

std::function<void(op::AttrBox&)> for_others(int root, const char* others) {
  return [=](op::AttrBox& a) {
    passes::set_attr<int64_t>(a, "root", root);
    passes::set_attr<std::string>(a, "others", others);
  };
}

std::vector<Tensor> rows(const Tensor& x, int ranks) {
  std::vector<Tensor> out;
  for (int r = 0; r < ranks; ++r)
    out.push_back(call("slice", {x}, [=](op::AttrBox& a) {
      passes::set_attr(a, "axes", std::vector<int64_t>{0});
      passes::set_attr(a, "starts", op::IntArray{{r}});
      passes::set_attr(a, "ends", op::IntArray{{r + 1}});
    })[0]);
  return out;
}

const Collective kAll[] = {
    {"all_gather", [](const Tensor& x, int,
                      int n) { return call("all_gather", {x}, with<int64_t>("ranks", n)); }},
    {"reduce_scatter",
     [](const Tensor& x, int, int n) {
       return call("reduce_scatter", {x}, with<int64_t>("ranks", n));
     }},
    {"gather_to",
     [](const Tensor& x, int, int n) { return call("gather_to", {x}, of_root(n, n - 1)); }},
    {"scatter_from",
     [](const Tensor& x, int rank, int n) {
       const Tensor like = Tensor::empty({2}, DType::float64);
       return call("scatter_from", {like, rank == n / 2 ? x : Tensor()}, of_root(n, n / 2));
     }},
    {"reduce_to",
     [](const Tensor& x, int, int n) { return call("reduce_to", {x}, for_others(n - 1, "own")); }},
    {"reduce_to",
     [](const Tensor& x, int, int n) { return call("reduce_to", {x}, for_others(n / 2, "zero")); }},
    {"broadcast_from",
     [](const Tensor& x, int, int n) {
       return call("broadcast_from", {x}, for_others(n - 1, "root"));
     }},
    {"broadcast_from", [](const Tensor& x, int,
                          int n) { return call("broadcast_from", {x}, for_others(n / 2, "own")); }},
    {"alltoall",
     [](const Tensor& x, int, int n) {
       std::vector<Tensor> in = rows(x, n);
       for (int r = 0; r < n; ++r) in.push_back(in[static_cast<size_t>(r)]);
       const auto count = static_cast<uint32_t>(n);
       return call("alltoall", in, {}, {count, 2 * count});
     }},
    {"all_gather_unequal",
     [](const Tensor& x, int rank, int n) {
       std::vector<Tensor> in{of_rank({rank}, rank)};
       for (int r = 0; r < n; ++r) in.push_back(Tensor::empty({r}, DType::float64));
       static_cast<void>(x);
       return call("all_gather_unequal", in, {}, {1, static_cast<uint32_t>(n) + 1});
     }},
};

// Everything a step may do in between: read the operand, write over it, exchange something else.
void record(Recorded& r, const Collective& c, int rank, int ranks) {
  const Tensor fed = r.input(of_rank({ranks, 2}, rank));
  const Tensor x = call("add", {fed, fed})[0];
  const Tensors results = c.call(x, rank, ranks);
  const Tensor between = call("multiply", {x, x})[0];
  const Tensor sum = call("all_reduce", {between})[0];
  r.output(call("add", {between, fed})[0]);
  for (const Tensor& t : results) r.output(call("add", {t, t})[0]);
  r.output(sum);
}

bool has(const Recorded& r, const std::string& op) {
  const auto names = r.ops();
  return std::find(names.begin(), names.end(), op) != names.end();
}

std::vector<std::vector<double>> executed(const Recorded& r) {
  std::vector<std::vector<double>> out;
  for (const Tensor& t : execute(r.program, r.feeds)) out.push_back(test::elements<double>(t));
  return out;
}

}  // namespace

TEST(BegunCollectives, GiveTheSame) {
  for (const Collective& c : kAll)
    for (int size : {1, 2, 3, 8})
      on_ranks(size, [&](ProcessGroup& g) {
        Recorded whole;
        record(whole, c, g.rank(), size);
        whole.end();
        Recorded begun;
        record(begun, c, g.rank(), size);
        ASSERT_TRUE(begun.rewrite({"begin_collectives"}));
        ASSERT_TRUE(has(begun, std::string(c.op) + "_begin")) << c.op;
        ASSERT_FALSE(has(begun, c.op));
        const auto want = executed(whole);
        for (int round = 0; round < 3; ++round) EXPECT_EQ(executed(begun), want) << c.op;
        std::vector<Ref<program::Value>> fetches;
        for (const auto& o : begun.program->outputs) fetches.push_back(o.value);
        const Tensors interpreted = begun.program->run(begun.feeds, fetches);
        for (size_t i = 0; i < want.size(); ++i)
          EXPECT_EQ(test::elements<double>(interpreted[i]), want[i]) << c.op;
      });
}

TEST(BegunCollectives, ArePrintedSavedAndLoaded) {
  for (const Collective& c : kAll)
    on_ranks(2, [&](ProcessGroup& g) {
      Recorded r;
      record(r, c, g.rank(), 2);
      r.rewrite({"begin_collectives"});
      const auto loaded = program::deserialize(program::serialize(*r.program));
      EXPECT_EQ(loaded->print(), r.program->print());
      EXPECT_NE(loaded->print().find("collective_end"), std::string::npos);
      EXPECT_EQ(test::elements<double>(execute(loaded, r.feeds)[0]), executed(r)[0]);
    });
}

TEST(BegunCollectives, AreCheckedSideBySide) {
  for (const Collective& c : kAll) {
    std::vector<std::shared_ptr<Program>> kept;
    std::vector<const Program*> programs;
    for (int rank = 0; rank < 3; ++rank) {
      Recorded r;
      record(r, c, rank, 3);
      r.rewrite({"begin_collectives"});
      kept.push_back(r.program);
      programs.push_back(kept.back().get());
    }
    EXPECT_EQ(check_ranks(programs), "") << c.op;
    Recorded other;
    call("barrier", {});
    other.end();
    programs[0] = other.program.get();
    EXPECT_NE(check_ranks(programs).find("ranks disagree about collective 0"), std::string::npos)
        << c.op;
  }
}

// The memory of a run that fails is given back when nobody reads or writes it any more.
TEST(BegunCollectives, ARunThatFailsWaitsForWhatItBegan) {
  for (const Collective& c : kAll) {
    const auto errors = errors_on_ranks(2, 20, [&](ProcessGroup& g) {
      Recorded r;
      const Tensor fed = r.input(of_rank({2, 2}, g.rank()));
      const Tensors results = c.call(call("add", {fed, fed})[0], g.rank(), 2);
      if (g.rank() == 0) call("recv_from", {fed}, with<int64_t>("peer", 0));  // fails when it runs
      r.output(call("multiply", {fed, fed})[0]);
      for (const Tensor& t : results) r.output(call("add", {t, t})[0]);
      r.rewrite({"begin_collectives"});
      execute(r.program, r.feeds);
    });
    EXPECT_NE(errors[0].find("expected another rank"), std::string::npos) << c.op << errors[0];
    EXPECT_EQ(errors[1], "") << c.op;
  }
}

}  // namespace argosy::parallel
