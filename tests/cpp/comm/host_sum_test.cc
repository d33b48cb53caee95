#include "argosy/comm/host_sum.h"

#include <barrier>

#include "tests/cpp/comm/world.h"

namespace argosy::comm {
namespace {

constexpr int kRanks = 3;
constexpr int64_t kCount = 200000;
constexpr size_t kStretch = 100000;  // bytes

// What a rank of a host of three finds when that sums kCount numbers. Nothing is exchanged with
// other hosts: each has zeros, say.
struct Found {
  std::vector<float> reduced, spread;  // its tensor, after each of the two
  uint32_t steps;                      // that were taken
};

std::vector<Found> sum_on_host(bool see, size_t carriers, Reduce op) {
  std::vector<Found> found(kRanks);
  std::vector<std::thread> threads;
  std::barrier all(kRanks);
  for (auto& engine : thread_engines(kRanks, see))
    threads.emplace_back([&, engine] {
      auto board = Board::world(engine);
      Found& mine = found[static_cast<size_t>(board->rank())];
      Tensor x = numbers(board->rank(), kCount);
      Job job;
      job.header.kind = Kind::all_reduce;
      job.header.dtype = x.dtype();
      job.header.op = op;
      job.header.count = kCount;
      job.send.resize(1);
      job.send[0].add(x.raw(), x.nbytes());
      job.receive = job.send;
      uint64_t turn = 0;
      HostSum sum(board.get(), job, carriers, 4, &turn, nullptr);
      for (size_t at = 0; at < sum.share(); at += kStretch)
        sum.reduce(at, std::min(kStretch, sum.share() - at));
      all.arrive_and_wait();
      mine.reduced = values<float>(x);
      all.arrive_and_wait();
      for (size_t at = 0; at < sum.share(); at += kStretch)
        sum.spread(at, std::min(kStretch, sum.share() - at));
      sum.finish();
      mine.spread = values<float>(x);
      mine.steps = board->step();
    });
  for (auto& t : threads) t.join();
  return found;
}

float value(int rank, int64_t i) {
  return static_cast<float>((i * 7 + rank * 13) % 101) / 8;
}

}  // namespace

TEST(HostSum, CarriersReduceTheirSharesAndSpreadThem) {
  for (bool see : {true, false})
    for (size_t carriers : {1, 2, 3})
      for (Reduce op : {Reduce::sum, Reduce::avg}) {
        const auto found = sum_on_host(see, carriers, op);
        const auto share =
            (kCount + static_cast<int64_t>(carriers) - 1) / static_cast<int64_t>(carriers);
        for (int r = 0; r < kRanks; ++r)
          for (int64_t i = 0; i < kCount; i += 97) {
            const Found& f = found[static_cast<size_t>(r)];
            const float sum = value(0, i) + value(1, i) + value(2, i);
            ASSERT_EQ(f.reduced[static_cast<size_t>(i)], i / share == r ? sum : value(r, i)) << i;
            ASSERT_EQ(f.spread[static_cast<size_t>(i)], op == Reduce::avg ? sum / 4 : sum) << i;
          }
        // Where tensors lie it takes a step before and one behind, and where some ranks carry
        // nothing one for each stretch.
        const auto stretches = carriers < kRanks ? (share * 4 + kStretch - 1) / kStretch : 0;
        for (const Found& f : found) {
          if (see)
            EXPECT_EQ(f.steps, 2 + stretches);
          else
            EXPECT_GT(f.steps, 8u);
        }
      }
}

}  // namespace argosy::comm
