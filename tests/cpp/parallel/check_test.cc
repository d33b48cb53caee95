#include "argosy/parallel/check.h"

#include "argosy/parallel/data_parallel.h"
#include "tests/cpp/parallel/ranks.h"

namespace argosy::parallel {
namespace {

using passes::call;
using passes::Recorded;

Tensor value(int64_t n) {
  return test::counting<float>({n}, 1);
}

// What check_ranks says of `size` ranks with such Programs.
std::string said(int size, const std::function<void(int rank, const Tensor& x)>& record,
                 const GroupRanks& groups = {}) {
  std::vector<std::shared_ptr<Program>> kept;
  std::vector<const Program*> programs;
  for (int r = 0; r < size; ++r) {
    Recorded one;
    record(r, one.input(value(4)));
    one.end();
    kept.push_back(one.program);
    programs.push_back(kept.back().get());
  }
  return check_ranks(programs, groups);
}

// The same Programs, run: whether every rank came to its end.
bool ends(int size, const std::function<void(int rank, const Tensor& x)>& record,
          double seconds = 0.5) {
  bool all = true;
  for (const std::string& error : errors_on_ranks(size, seconds, [&](comm::ProcessGroup& g) {
         Recorded one;
         record(g.rank(), one.input(value(4)));
         one.end();
         execute(one.program, one.feeds);
       }))
    all &= error.empty();
  return all;
}

}  // namespace

TEST(CheckRanks, WhatMeetsIsFine) {
  for (int size : {1, 2, 3, 8, 64}) {
    const auto record = [=](int rank, const Tensor& x) {
      call("all_reduce", {x});
      const Tensor started = call("all_reduce_start", {x}, {}, {1})[0];
      if (size > 1) {
        call("send_to", {x}, with<int64_t>("peer", (rank + 1) % size));
        call("recv_from", {x}, with<int64_t>("peer", (rank + size - 1) % size));
      }
      call("barrier", {});
      call("all_reduce_wait", {x, started}, {}, {1, 2});
    };
    EXPECT_EQ(said(size, record), "");
    EXPECT_TRUE(ends(size, record, 60));
  }
}

TEST(CheckRanks, WhoWaitsForWhatNobodySends) {
  const auto record = [](int rank, const Tensor& x) {
    if (rank != 2) call("all_reduce", {x});
    if (rank == 1) call("recv_from", {x}, with<int64_t>("peer", 0));
  };
  EXPECT_EQ(
      said(3, record),
      "rank 0 waits in all_reduce(sum) of 4 float32 of group 0 for rank 2, which has ended.\n"
      "rank 1 waits in all_reduce(sum) of 4 float32 of group 0 for rank 2, which has ended.\n");
  EXPECT_FALSE(ends(3, record));
  EXPECT_EQ(
      said(2,
           [](int rank, const Tensor& x) {
             if (rank) call("recv_from", {x}, with<int64_t>("peer", 0));
           }),
      "rank 1 waits in recv from member 0 of 4 float32 of group 0 for rank 0, which has ended.\n");
  // Each waits for the other's message before it sends.
  const auto crossed = [](int rank, const Tensor& x) {
    call("recv_from", {x}, with<int64_t>("peer", 1 - rank));
    call("send_to", {x}, with<int64_t>("peer", 1 - rank));
  };
  EXPECT_NE(said(2, crossed)
                .find("rank 0 waits in recv from member 1 of 4 float32 of group 0 for rank "
                      "1, which waits in recv"),
            std::string::npos)
      << said(2, crossed);
  EXPECT_FALSE(ends(2, crossed));
}

TEST(CheckRanks, WhatNobodyReceives) {
  EXPECT_EQ(said(2,
                 [](int rank, const Tensor& x) {
                   if (!rank) call("send_to", {x}, with<int64_t>("peer", 1));
                 }),
            "rank 0 sends what rank 1 never receives: send to member 1 of 4 float32 of group 0.\n");
  // More than may wait unread: the sender waits.
  const auto large = [](int rank, const Tensor&) {
    const Tensor x = call("add", {value(100000), value(100000)})[0];
    call("send_to", {x}, with<int64_t>("peer", 1 - rank));
    call("recv_from", {x}, with<int64_t>("peer", 1 - rank));
  };
  EXPECT_NE(said(2, large).find("rank 0 waits in send to member 1"), std::string::npos);
  EXPECT_FALSE(ends(2, large));
}

TEST(CheckRanks, Disagreement) {
  const auto record = [](int rank, const Tensor& x) {
    call("all_reduce", {x}, with<std::string>("reduce", rank ? "max" : "sum"));
  };
  EXPECT_EQ(
      said(2, record),
      "ranks disagree about collective 0 of group 0: all_reduce(sum) of 4 float32 of group 0 on "
      "rank 0, all_reduce(max) of 4 float32 of group 0 on rank 1.\n");
  EXPECT_FALSE(ends(2, record));
}

TEST(CheckRanks, Groups) {
  const auto record = [](int rank, const Tensor& x) {
    call("all_reduce", {x}, with<int64_t>("group", rank < 2 ? 1 : 2));
  };
  EXPECT_EQ(said(4, record, {{1, {0, 1}}, {2, {2, 3}}}), "");
  EXPECT_EQ(
      said(4, record, {{1, {0, 1}}, {2, {2}}}),
      "rank 3 is no member of group 2, but comes to all_reduce(sum) of 4 float32 of group 2.\n");
}

}  // namespace argosy::parallel
