#include "argosy/comm/host_sum.h"

#include <atomic>
#include <barrier>
#include <tuple>

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

namespace {

// Counts what the ranks of a test put on links.
class Counted final : public Network {
 public:
  Counted(std::shared_ptr<Network> network, std::atomic<size_t>& bytes)
      : network_(std::move(network)), bytes_(bytes) {}
  int rank() const override { return network_->rank(); }
  int size() const override { return network_->size(); }
  const char* name() const override { return network_->name(); }
  Control& control() override { return network_->control(); }
  std::unique_ptr<Links> connect(uint32_t group, const std::vector<int>& ranks, int rank,
                                 double seconds) override {
    return std::make_unique<OfGroup>(network_->connect(group, ranks, rank, seconds), bytes_);
  }

 private:
  class OfGroup final : public Links {
   public:
    OfGroup(std::unique_ptr<Links> links, std::atomic<size_t>& bytes)
        : links_(std::move(links)), bytes_(bytes) {}
    size_t put(Lane lane, int peer, std::span<const iovec> from) override {
      const size_t n = links_->put(lane, peer, from);
      bytes_ += n;
      return n;
    }
    size_t get(Lane lane, int peer, std::span<const iovec> to) override {
      return links_->get(lane, peer, to);
    }
    bool ended(Lane lane, int peer) const override { return links_->ended(lane, peer); }
    void wait(Lane lane, std::span<const Channel::Wish> wishes,
              std::chrono::milliseconds limit) override {
      links_->wait(lane, wishes, limit);
    }
    void wake(Lane lane) override { links_->wake(lane); }

   private:
    const std::unique_ptr<Links> links_;
    std::atomic<size_t>& bytes_;
  };

  const std::shared_ptr<Network> network_;
  std::atomic<size_t>& bytes_;
};

}  // namespace

TEST(HostSum, LinksCarryWhatOneRankOfEachHostHas) {
  constexpr int64_t kNumbers = 1 << 20;
  for (const auto& [over, ranks, hosts] :
       std::vector<std::tuple<Over, int, size_t>>{{Over::hybrid, 4, 2},
                                                  {Over::hybrid_windows, 4, 2},
                                                  {Over::uneven, 3, 2},
                                                  {Over::uneven, 6, 3},
                                                  {Over::one_host, 3, 1}}) {
    std::atomic<size_t> bytes{0};
    const auto errors = run_ranks(
        over, ranks, 20,
        [](ProcessGroup& g) {
          const Tensor x = numbers(g.rank(), kNumbers);
          g.all_reduce({x}, Reduce::sum);
        },
        [&](std::shared_ptr<Network> network) {
          return std::make_shared<Counted>(std::move(network), bytes);
        });
    for (const std::string& error : errors) EXPECT_EQ(error, "");
    // Each host sends the share of each other one, and its own share to each, with some headers.
    const size_t least = 2 * (hosts - 1) * kNumbers * sizeof(float);
    EXPECT_GE(bytes, least) << name_of(over);
    EXPECT_LT(bytes, least + (32 << 10)) << name_of(over) << ' ' << ranks;
  }
}

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
