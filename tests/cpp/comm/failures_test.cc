#include <atomic>
#include <chrono>

#include "argosy/comm/recorder.h"
#include "tests/cpp/comm/world.h"

namespace argosy::comm {

namespace {

// All ranks threw one text, which has all of `parts`.
void expect_same(const std::vector<std::string>& errors, const std::vector<std::string>& parts) {
  for (const std::string& e : errors) EXPECT_EQ(e, errors[0]);
  for (const std::string& part : parts)
    EXPECT_NE(errors[0].find(part), std::string::npos) << part << " in: " << errors[0];
}

Failure failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const CommError& e) {
    return e.failure();
  }
  ADD_FAILURE() << "nothing was thrown";
  return Failure::connection;
}

}  // namespace

class Failures : public Ranks {};
INSTANTIATE_TEST_SUITE_P(Ways, Failures,
                         testing::Values(Over::board, Over::windows, Over::mesh, Over::ring,
                                         Over::hybrid, Over::uneven, Over::one_host),
                         name_of_way);
class Recorder : public Ranks {};
INSTANTIATE_TEST_SUITE_P(Ways, Recorder,
                         testing::Values(Over::board, Over::windows, Over::mesh, Over::ring,
                                         Over::hybrid),
                         name_of_way);

TEST_P(Failures, OtherSizesDtypesKindsRootsAndOps) {
  const auto differ = [&](int size, const std::function<void(ProcessGroup&)>& odd,
                          const std::string& text) {
    const auto errors = run_ranks(size, 20, [&](ProcessGroup& g) {
      Tensor x = numbers(0, 4);
      g.barrier();
      g.rank() == size - 1 ? odd(g) : static_cast<void>(g.all_reduce({x}, Reduce::sum));
    });
    Message last;
    last << text << " on rank " << size - 1;
    expect_same(errors, {"the ranks of group 0 disagree about collective 1",
                         "got all_reduce(sum) of 4 float32 on rank ", last.str()});
  };
  for (int size : {2, 5}) {
    differ(
        size, [](ProcessGroup& g) { g.all_reduce({numbers(0, 5)}, Reduce::sum); },
        "all_reduce(sum) of 5 float32");
    differ(
        size,
        [](ProcessGroup& g) {
          g.all_reduce({tensor<int32_t>({1, 2, 3, 4})}, Reduce::sum);
        },
        "all_reduce(sum) of 4 int32");
    differ(
        size, [](ProcessGroup& g) { g.all_reduce({numbers(0, 4)}, Reduce::max); },
        "all_reduce(max) of 4 float32");
    differ(
        size, [](ProcessGroup& g) { g.broadcast({numbers(0, 4)}, 1); },
        "broadcast from member 1 of 4 float32");
    differ(
        size, [](ProcessGroup& g) { g.barrier(); }, "barrier");
  }
}

TEST_P(Failures, DisagreementAboutLargeTensors) {
  const std::vector<std::function<void(ProcessGroup&)>> odd = {
      [](ProcessGroup& g) { g.all_reduce({numbers(0, 20001)}, Reduce::sum); },
      [](ProcessGroup& g) { g.all_reduce({numbers(0, 5)}, Reduce::sum); },
      [](ProcessGroup& g) { g.broadcast({numbers(0, 20000)}, 0); },
      [](ProcessGroup& g) { g.barrier(); },
  };
  for (int size : {4, 6})
    for (const auto& call : odd) {
      const auto errors = run_ranks(size, 20, [&](ProcessGroup& g) {
        g.barrier();
        g.rank() == 1 ? call(g) : static_cast<void>(g.all_reduce({numbers(0, 20000)}, Reduce::sum));
      });
      expect_same(errors, {"the ranks of group 0 disagree about collective 1", "on rank 1"});
    }
}

TEST_P(Failures, UnequalSizesThatDoNotFit) {
  const auto errors = run_ranks(3, 20, [](ProcessGroup& g) {
    TensorList out;
    for (int r = 0; r < 3; ++r) out.push_back(numbers(0, g.rank() == 1 && r == 2 ? 8 : 5));
    g.all_gather(out, numbers(0, 5), true);
  });
  expect_same(errors, {"[all_gather]", "rank 1 expected 8 float32 of rank 2, which has 5 for it"});
}

TEST_P(Failures, AMessageOfAnotherSize) {
  const auto errors = run_ranks(2, 20, [](ProcessGroup& g) {
    Tensor x = numbers(0, 4 + g.rank());
    g.rank() == 0 ? g.send(x, 1) : g.recv(x, 0);
    g.barrier();
  });
  expect_same(errors, {"message 0 from rank 0 to rank 1", "rank 0 sends 4 float32",
                       "rank 1 receives 5 float32"});
}

TEST_P(Failures, ARankThatDoesNotCome) {
  std::atomic<bool> over{false};
  const auto errors = run_ranks(4, 2, [&](ProcessGroup& g) {
    Tensor x = numbers(0, 4);
    g.all_reduce({x}, Reduce::sum);
    if (g.rank() == 2)
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    try {
      g.all_reduce({x}, Reduce::sum);
    } catch (const CommError& e) {
      EXPECT_EQ(e.failure(), Failure::timeout);
      over = true;
      throw;
    }
  });
  expect_same(errors, {"[all_reduce] collective 1 of group 0, all_reduce(sum) of 4 float32",
                       "rank 2 has not come within 2 s; waiting: rank 0, 1, 3"});
}

// A rank that was stopped in the middle of a sum may go on with it, and write.
TEST(Board, TensorsOfAFailedSumAreKept) {
  std::atomic<bool> over{false};
  int64_t kept = 0;
  const auto errors = run_ranks(Over::board, 2, 0.3, [&](ProcessGroup& g) {
    Tensor large = numbers(0, 100000), copy = numbers(0, 100000);
    g.all_reduce({copy}, Reduce::sum);
    EXPECT_EQ(copy.impl()->storage->ref_count(), 1u);
    if (g.rank() == 1)
      while (!over) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    try {
      g.all_reduce({large}, Reduce::sum);
    } catch (const CommError&) {
      if (g.rank() == 0) kept = large.impl()->storage->ref_count();
      over = true;
      throw;
    }
  });
  expect_same(errors, {"rank 1 has not come within"});
  EXPECT_GT(kept, 1);
}

// In the middle of a sum that goes on where tensors lie; each rank once.
TEST_P(Failures, ARankThatHasEndedBeforeALargeSum) {
  constexpr int kRanks = 5;
  for (int lost = 0; lost < kRanks; ++lost) {
    const auto errors = run_ranks(kRanks, 20, [&](ProcessGroup& g) {
      Tensor x = numbers(g.rank(), 400000);
      g.all_reduce({x}, Reduce::sum);
      if (g.rank() == lost) throw std::runtime_error("ended");
      g.all_reduce({x}, Reduce::sum);
    });
    for (int r = 0; r < kRanks; ++r) {
      const std::string& error = errors[static_cast<size_t>(r)];
      if (r == lost) continue;
      EXPECT_NE(error.find("all_reduce(sum) of 400000 float32"), std::string::npos) << error;
      EXPECT_EQ(error, errors[lost ? 0 : 1]);
    }
  }
}

TEST_P(Failures, ARankThatHasEnded) {
  auto connect = connections(GetParam(), 3);
  connect[1] = nullptr;
  std::vector<std::thread> threads;
  for (size_t r : {0, 2})
    threads.emplace_back([mine = connect[r]] {
      auto group = mine(20);
      Tensor x = numbers(0, 4);
      try {
        group->all_reduce({x}, Reduce::sum);
        ADD_FAILURE();
      } catch (const CommError& e) {
        EXPECT_EQ(e.failure(), Failure::lost);
        EXPECT_NE(std::string(e.what()).find("but rank 1 has ended"), std::string::npos)
            << e.what();
      }
      // The group stays failed, and says so at once.
      EXPECT_EQ(failure_of([&] { group->barrier(); }), Failure::lost);
    });
  for (auto& t : threads) t.join();
}

TEST_P(Failures, AMessageThatNobodySendsOrTakes) {
  const auto errors = run_ranks(2, 1, [](ProcessGroup& g) {
    Tensor x = numbers(0, 100000);
    g.rank() == 0 ? g.send(x, 1) : g.barrier();
  });
  EXPECT_NE(errors[0].find("has not"), std::string::npos) << errors[0];
  expect_same(errors, {});
}

TEST_P(Failures, ADestroyedGroup) {
  const auto errors = run_ranks(2, 20, [](ProcessGroup& g) {
    Tensor x = numbers(g.rank(), 5);
    if (g.rank() == 0) {
      g.send(x, 1);
      g.close();
      EXPECT_EQ(failure_of([&] { g.barrier(); }), Failure::closed);
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      g.recv(x, 0);  // what was sent before arrives
      EXPECT_EQ(values<float>(x), values<float>(numbers(0, 5)));
      EXPECT_EQ(failure_of([&] { g.barrier(); }), Failure::lost);
    }
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

// The group's thread may not have noticed yet that its last call is over.
TEST_P(Failures, WhoClosesRightAfterItsLastCallDisturbsNobody) {
  for (int k = 0; k < 100; ++k)
    for (const std::string& error : run_ranks(3, 20, [](ProcessGroup& g) {
           Tensor x = numbers(g.rank(), 20000);
           g.all_reduce({x}, Reduce::sum, Mode::async)->wait();
           g.close();
         }))
      ASSERT_EQ(error, "");
}

TEST_P(Failures, WhatIsUnderWayEndsWhenItsGroupIsDestroyed) {
  std::atomic<bool> closed{false};
  const auto errors = run_ranks(2, 20, [&](ProcessGroup& g) {
    if (g.rank() == 1) {
      g.barrier(Mode::sync);
      while (!closed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      EXPECT_EQ(failure_of([&] { g.barrier(); }), Failure::lost);
      return;
    }
    Tensor x = numbers(0, 5), y = numbers(0, 5);
    auto task = g.recv(x, 1, Mode::async);
    // One that another thread drives itself.
    std::thread other([&] { EXPECT_EQ(failure_of([&] { g.recv(y, 1); }), Failure::closed); });
    g.barrier();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    g.close();
    closed = true;
    EXPECT_EQ(failure_of([&] { task->wait(); }), Failure::closed);
    EXPECT_EQ(failure_of([&] { g.send(x, 1); }), Failure::closed);
    other.join();
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

TEST_P(Failures, AFailedGroupSendsNothing) {
  const auto errors = run_ranks(2, 20, [](ProcessGroup& g) {
    Tensor x = numbers(0, 4 + g.rank());
    EXPECT_EQ(failure_of([&] { g.all_reduce({x}, Reduce::sum); }), Failure::disagreement);
    Tensor y = numbers(0, 4);
    EXPECT_EQ(failure_of([&] { g.rank() ? g.recv(y, 0) : g.send(y, 1); }), Failure::disagreement);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

TEST_P(Failures, TheLimitOfAMessageBeginsWithItsTurn) {
  const auto errors = run_ranks(2, 4, [](ProcessGroup& g) {
    Tensor a = numbers(1, 8), b = numbers(2, 8);
    if (g.rank()) {
      for (const Tensor& x : {a, b}) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2500));
        g.send(x, 0);
      }
      return;
    }
    Tensor first = numbers(0, 8), second = numbers(0, 8);
    auto one = g.recv(first, 1, Mode::async), two = g.recv(second, 1, Mode::async);
    one->wait();
    two->wait();
    EXPECT_EQ(values<float>(first), values<float>(a));
    EXPECT_EQ(values<float>(second), values<float>(b));
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

TEST_P(Failures, ARankThatHasEndedIsNoticedAmongMessagesOfOthers) {
  constexpr int kMessages = 6000;  // which take 30 s
  const auto begin = std::chrono::steady_clock::now();
  const auto errors = run_ranks(3, 100, [](ProcessGroup& g) {
    g.barrier();
    if (g.rank() == 1) throw std::runtime_error("ended");
    Tensor x = numbers(0, 4);
    if (g.rank() == 2) {
      try {
        for (int i = 0; i < kMessages; ++i) {
          g.send(x, 0);
          std::this_thread::sleep_for(std::chrono::milliseconds(5));
        }
      } catch (const CommError&) {
      }
      return;
    }
    auto lost = g.recv(x, 1, Mode::async);
    std::vector<std::shared_ptr<Work>> others;
    for (int i = 0; i < kMessages; ++i) others.push_back(g.recv(x, 2, Mode::async));
    EXPECT_NE(failure_of([&] { lost->wait(); }), Failure::timeout);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(25));
}

TEST_P(Failures, AMessageOfTheRingsSizeIsSentBeforeItIsReceived) {
  with_ranks(2, [](ProcessGroup& g) {
    const int64_t n = (128 << 10) / 4;
    Tensor mine = numbers(g.rank(), n), theirs = numbers(3, n);
    g.send(mine, 1 - g.rank());
    g.recv(theirs, 1 - g.rank());
    EXPECT_EQ(values<float>(theirs), values<float>(numbers(1 - g.rank(), n)));
  });
}

TEST_P(Failures, WhoLeavesDoesNotDisturbTheOthers) {
  const auto errors = run_ranks(3, 20, [](ProcessGroup& g) {
    g.barrier();
    if (g.rank() == 2) return g.close();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    Tensor x = numbers(g.rank(), 100000);
    g.rank() == 0 ? g.send(x, 1) : g.recv(x, 0);
    EXPECT_EQ(values<float>(x), values<float>(numbers(0, 100000)));
    Tensor y = numbers(0, 5);
    EXPECT_EQ(failure_of([&] { g.recv(y, 2); }), Failure::lost);
  });
  for (const auto& e : errors) EXPECT_EQ(e, "");
}

TEST_P(Failures, WrongArgumentsLeaveTheGroupAlive) {
  with_ranks(2, [](ProcessGroup& g) {
    Tensor x = tensor<int32_t>({1, 2});
    EXPECT_THROW(g.all_reduce({x}, Reduce::avg), Error);
    EXPECT_THROW(g.broadcast({x}, 2), Error);
    EXPECT_THROW(g.send(x, g.rank()), Error);
    EXPECT_THROW(g.all_gather({x}, x, false), Error);
    EXPECT_THROW(g.all_reduce({x, numbers(0, 1)}, Reduce::sum), Error);
    Tensor none = Tensor::describe(Shape{2}, DType::int32);
    EXPECT_THROW(g.all_reduce({none}, Reduce::sum), Error);
    g.all_reduce({x}, Reduce::sum);
    EXPECT_EQ(x.data<int32_t>()[1], 4);
  });
}

TEST_P(Recorder, KeepsTheLastThousand) {
  with_ranks(1, [](ProcessGroup& g) {
    for (int i = 0; i < 1100; ++i) g.barrier();
  });
  const auto all = records();
  ASSERT_EQ(all.size(), kRecords);
  EXPECT_EQ(all.back().header.sequence, 1099u);
  EXPECT_EQ(all.back().stage, Stage::done);
  EXPECT_NE(print_records().find("group 0 #1099 done"), std::string::npos);
}

}  // namespace argosy::comm
