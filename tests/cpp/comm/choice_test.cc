#include <cmath>
#include <cstring>
#include <fstream>

#include "argosy/comm/choice.h"
#include "tests/cpp/comm/world.h"

// How sums go over links: which way is chosen, and that all ranks and runs get the same bits by
// each.
namespace argosy::comm {
namespace {

constexpr Algorithm kAll[] = {Algorithm::direct,   Algorithm::shares,  Algorithm::ring,
                              Algorithm::doubling, Algorithm::halving, Algorithm::tree};

size_t operator""_kb(unsigned long long n) {
  return n << 10;
}

Algorithm chosen(int ranks, size_t bytes, bool partial = true, const LinkModel& links = {}) {
  return choose(Algorithm::automatic, ranks, bytes, partial, links);
}

// What the ranks have after sums of several sizes by this way, one after the other.
std::vector<std::vector<double>> sums(Algorithm algorithm, int size, Reduce op) {
  std::vector<std::vector<double>> got(static_cast<size_t>(size));
  std::vector<std::thread> threads;
  for (auto& network : thread_networks(size))
    threads.emplace_back([&, network = std::move(network)]() mutable {
      auto group = ProcessGroup::world(Mesh::world(std::move(network), algorithm, 20), 20);
      auto& mine = got[static_cast<size_t>(group->rank())];
      for (int64_t count : {0, 1, 2, 5, 2051, 90001}) {
        Tensor x = Tensor::empty(Shape{count}, DType::float64);
        for (int64_t i = 0; i < count; ++i)
          x.data<double>()[i] = std::sin(static_cast<double>((i + 3) * (group->rank() + 1))) * 1e3;
        group->all_reduce({x}, op);
        mine.insert(mine.end(), x.data<double>(), x.data<double>() + count);
      }
    });
  for (auto& t : threads) t.join();
  return got;
}

}  // namespace

TEST(Choice, EachWayHasTheSameBitsOnAllRanksAndInAllRuns) {
  for (int size = 1; size <= 8; ++size)
    for (Reduce op : {Reduce::sum, Reduce::avg, Reduce::max, Reduce::prod}) {
      const auto want = sums(Algorithm::shares, size, op);
      for (Algorithm a : kAll) {
        const auto first = sums(a, size, op), second = sums(a, size, op);
        for (const auto& runs : {first, second})
          for (const auto& got : runs) {
            ASSERT_EQ(got.size(), first[0].size());
            ASSERT_EQ(std::memcmp(got.data(), first[0].data(), got.size() * sizeof(double)), 0)
                << name_of(a) << ' ' << size << ' ' << name_of(op);
          }
        for (size_t i = 0; i < first[0].size(); ++i)
          ASSERT_NEAR(first[0][i], want[0][i], 1e-12 * std::max(1e3, std::abs(want[0][i])))
              << name_of(a) << ' ' << size << ' ' << name_of(op) << ' ' << i;
      }
    }
}

TEST(Choice, DependsOnSizes) {
  // As on one host, up to some ranks.
  for (int ranks : {2, 3, 4, 8}) {
    EXPECT_EQ(chosen(ranks, 4), Algorithm::direct) << ranks;
    EXPECT_EQ(chosen(ranks, 65536_kb), Algorithm::shares) << ranks;
  }
  EXPECT_EQ(chosen(64, 4), Algorithm::doubling);
  EXPECT_EQ(chosen(64, 128_kb), Algorithm::halving);
  EXPECT_EQ(chosen(64, 1048576_kb), Algorithm::shares);
  EXPECT_EQ(chosen(1, 65536_kb), Algorithm::direct);
}

TEST(Choice, SixteenBitNumbersAreNotSummedInPart) {
  for (int ranks : {2, 3, 64, 1000})
    for (size_t bytes : {size_t{4}, 64_kb, 65536_kb}) {
      EXPECT_LE(chosen(ranks, bytes, false), Algorithm::shares);
      for (Algorithm a : kAll) EXPECT_LE(choose(a, ranks, bytes, false, {}), Algorithm::shares);
    }
}

TEST(Choice, WhatWasAskedForIsDone) {
  for (Algorithm a : kAll)
    if (a != Algorithm::shares) {
      EXPECT_EQ(choose(a, 8, 100, true, {}), a);
      EXPECT_EQ(choose(a, 8, 65536_kb, true, {}), a);
    }
  EXPECT_EQ(choose(Algorithm::shares, 8, 65536_kb, true, {}), Algorithm::shares);
  EXPECT_EQ(choose(Algorithm::shares, 8, 100, true, {}), Algorithm::direct);
  EXPECT_EQ(choose(Algorithm::ring, 2, 65536_kb, true, {}), Algorithm::shares);
}

TEST(Choice, FollowsTheModelOfTheLinks) {
  // Slow messages on fast links: few of them; long ways: few steps.
  EXPECT_EQ(chosen(16, 4, true, links_of("1us,50us,100gbit")), Algorithm::doubling);
  EXPECT_EQ(chosen(16, 4, true, links_of("5000us,1us,100gbit")), Algorithm::direct);
  EXPECT_EQ(links_of(""), LinkModel{});
  EXPECT_NEAR(links_of("20us,3us,1gbit").byte, 8e-9, 1e-15);
  // More bytes never take less.
  for (Algorithm a : kAll)
    for (int ranks = 2; ranks < 70; ++ranks)
      for (size_t bytes = 1; bytes < 65536_kb; bytes *= 4)
        EXPECT_LE(seconds_of(a, ranks, bytes, {}), seconds_of(a, ranks, 4 * bytes, {}));
}

TEST(Choice, AFileMayHaveTheModel) {
  const std::string path = testing::TempDir() + "links";
  std::ofstream(path) << "40us,3us,25gbit\nmore\n";
  EXPECT_EQ(links_text(path), "40us,3us,25gbit");
  EXPECT_EQ(links_text("1us,2us,3gbit"), "1us,2us,3gbit");
  EXPECT_EQ(links_text(""), "");
  std::ofstream(path).close();
  for (const std::string& none : {path, path + "/none"}) {
    try {
      links_text(none);
      ADD_FAILURE() << none;
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("expected a file with a line as 30us,5us,10gbit, got"),
                std::string::npos);
    }
  }
}

TEST(Choice, WrongWords) {
  EXPECT_EQ(algorithm_of(""), Algorithm::automatic);
  for (Algorithm a : kAll) EXPECT_EQ(algorithm_of(name_of(a)), a);
  const auto error = [](auto&& f) {
    try {
      f();
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string("none");
  };
  EXPECT_NE(error([] { algorithm_of("star"); })
                .find("[environment] ARGOSY_COMM_ALGORITHM: expected automatic, direct, shares, "
                      "ring, doubling, halving or tree, got 'star'"),
            std::string::npos);
  for (const char* text :
       {"fast", "30us,5us", "30us,5us,10gbit/s", "0us,5us,10gbit", "1us,2us,-3gbit"})
    EXPECT_NE(error([=] { links_of(text); }).find("as in 30us,5us,10gbit, got '"),
              std::string::npos)
        << text;
}

// A part of the world may have a way of its own: its sums have the bits of that way.
TEST(Choice, AGroupHasAWayOfItsOwn) {
  constexpr int kRanks = 4;
  std::vector<std::vector<float>> got(kRanks), want(kRanks);
  const auto into = [](std::vector<std::vector<float>>& out, bool own) {
    return [&out, own](ProcessGroup& world) {
      std::shared_ptr<ProcessGroup> part;
      if (own) part = world.subgroup({0, 1, 2, 3}, 20, Algorithm::ring);
      Tensor x = numbers(world.rank(), 5000);
      for (int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = 1 / (1 + x.data<float>()[i]);
      (part ? *part : world).all_reduce({x}, Reduce::sum);
      out[static_cast<size_t>(world.rank())] = values<float>(x);
    };
  };
  for (const auto& e : run_ranks(Over::mesh, kRanks, 20, into(got, true))) EXPECT_EQ(e, "");
  for (const auto& e : run_ranks(Over::ring, kRanks, 20, into(want, false))) EXPECT_EQ(e, "");
  EXPECT_EQ(got, want);
  for (const auto& e : run_ranks(Over::mesh, kRanks, 20, into(want, false))) EXPECT_EQ(e, "");
  EXPECT_NE(got, want);
}

TEST(Choice, RanksThatGiveAGroupOtherWaysDisagree) {
  const auto errors = run_ranks(Over::mesh, 3, 20, [](ProcessGroup& world) {
    world.subgroup({0, 1, 2}, 20, world.rank() == 1 ? Algorithm::ring : Algorithm::tree);
  });
  for (const std::string& e : errors) {
    EXPECT_NE(e.find("by ring on rank 1"), std::string::npos) << e;
    EXPECT_NE(e.find("by tree on rank"), std::string::npos) << e;
  }
}

// Two ranks that were told to go different ways do not begin.
TEST(Choice, RanksThatChooseOtherwiseDisagree) {
  std::vector<std::string> errors(3);
  std::vector<std::thread> threads;
  size_t at = 0;
  for (auto& network : thread_networks(3)) {
    const size_t rank = at++;
    const Algorithm a = rank == 1 ? Algorithm::ring : Algorithm::automatic;
    threads.emplace_back([&errors, rank, a, network = std::move(network)]() mutable {
      try {
        auto group = ProcessGroup::world(Mesh::world(std::move(network), a, 20), 20);
        Tensor x = numbers(0, 1000);
        group->all_reduce({x}, Reduce::sum);
      } catch (const CommError& e) {
        EXPECT_EQ(e.failure(), Failure::disagreement);
        errors[rank] = e.what();
      }
    });
  }
  for (auto& t : threads) t.join();
  for (const std::string& e : errors)
    EXPECT_NE(e.find("(ARGOSY_COMM_ALGORITHM=ring) on rank 1"), std::string::npos) << e;
}

}  // namespace argosy::comm
