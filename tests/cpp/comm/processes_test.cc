#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "argosy/comm/shm_engine.h"
#include "tests/cpp/comm/world.h"

// Ranks that are processes and share memory by connect_shm. Each is this program again, not a fork
// of it: libgomp's threads do not survive a fork, and the thread sanitizer allows no new ones.
namespace argosy::comm {
namespace {

constexpr const char* kRank = "ARGOSY_TEST_RANK";
constexpr const char* kPlace = "ARGOSY_TEST_PLACE";  // where the ranks meet
constexpr int kKilled = 9;                           // status of a rank that ends at once

// Starts rank `rank` of the running test.
pid_t start_rank(int rank, const std::string& place) {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  std::vector<std::string> words = {
      "rank", std::string("--gtest_filter=") + test.test_suite_name() + "." + test.name(),
      "--gtest_brief=1"};
  std::vector<std::string> variables = {std::string(kRank) + "=" + std::to_string(rank),
                                        std::string(kPlace) + "=" + place};
  for (char** v = environ; *v; ++v) variables.emplace_back(*v);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> out;
    for (std::string& text : texts) out.push_back(text.data());
    out.push_back(nullptr);
    return out;
  };
  pid_t child = -1;
  EXPECT_EQ(posix_spawn(&child, "/proc/self/exe", nullptr, nullptr, pointers(words).data(),
                        pointers(variables).data()),
            0);
  return child;
}

// Runs body(group) in `size` processes and waits for them: each of them must end with `status`
// of its rank, 0 where there is none. What a rank expects in vain it prints, and its status is 1.
void in_processes(int size, const std::function<void(ProcessGroup&)>& body,
                  std::vector<int> status = {}) {
  if (const char* rank = std::getenv(kRank)) {
    ShmOptions o;
    o.rank = std::atoi(rank);
    o.size = size;
    o.name = std::getenv(kPlace);
    o.host = this_host();
    o.seconds = 30;
    auto group = ProcessGroup::world(connect_shm(o), o.seconds);
    EXPECT_STREQ(group->engine(), "shm");
    body(*group);
    return;
  }
  const std::string place = "argosy-test-" + std::to_string(getpid());
  std::vector<pid_t> children;
  for (int r = 0; r < size; ++r) children.push_back(start_rank(r, place));
  status.resize(static_cast<size_t>(size));
  for (size_t r = 0; r < children.size(); ++r) {
    int ended = 0;
    ASSERT_EQ(waitpid(children[r], &ended, 0), children[r]);
    EXPECT_TRUE(WIFEXITED(ended)) << "rank " << r << ": signal " << WTERMSIG(ended);
    EXPECT_EQ(WEXITSTATUS(ended), status[r]) << "rank " << r;
  }
}

std::vector<float> sums(int size, int64_t n) {
  std::vector<float> out(static_cast<size_t>(n));
  for (int r = 0; r < size; ++r) {
    const std::vector<float> one = values<float>(numbers(r, n));
    for (size_t i = 0; i < out.size(); ++i) out[i] += one[i];
  }
  return out;
}

// Of a few elements, of several windows, and of so many that they are summed where they lie.
TEST(Processes, Sums) {
  in_processes(3, [](ProcessGroup& g) {
    for (int64_t n : {1, 2051, 150001, 1500001}) {
      const std::vector<float> want = sums(3, n);
      for (int turn = 0; turn < 3; ++turn) {
        Tensor x = numbers(g.rank(), n), rest = numbers(g.rank(), n);
        const Tensor first = x.view(Shape{n / 2}, Shape{1}),
                     second = x.view(Shape{n - n / 2}, Shape{1}, n / 2);
        g.all_reduce({first, second}, Reduce::sum);
        g.all_reduce({rest}, Reduce::sum, Mode::async)->wait();
        ASSERT_EQ(values<float>(x), want) << n;
        ASSERT_EQ(values<float>(rest), want) << n;
      }
    }
  });
}

TEST(Processes, EachCollective) {
  in_processes(3, [](ProcessGroup& g) {
    for (int64_t n : {5, 70001}) {
      TensorList all, back, mine;
      for (int r = 0; r < 3; ++r) {
        all.push_back(numbers(99, n));
        back.push_back(numbers(99, n));
        mine.push_back(numbers(10 * g.rank() + r, n));
      }
      g.all_gather(all, numbers(g.rank(), n), false);
      g.alltoall(back, mine);
      for (size_t r = 0; r < 3; ++r) {
        EXPECT_EQ(values<float>(all[r]), values<float>(numbers(static_cast<int>(r), n)));
        EXPECT_EQ(values<float>(back[r]),
                  values<float>(numbers(10 * static_cast<int>(r) + g.rank(), n)));
      }
      Tensor x = numbers(g.rank(), n), part = numbers(99, n);
      g.broadcast({x}, 1);
      EXPECT_EQ(values<float>(x), values<float>(numbers(1, n)));
      g.reduce_scatter(part, {numbers(0, n), numbers(1, n), numbers(2, n)}, Reduce::max);
      EXPECT_EQ(values<float>(part), values<float>(numbers(g.rank(), n)));
      g.scatter(part, g.rank() == 2 ? mine : TensorList{}, 2);
      EXPECT_EQ(values<float>(part), values<float>(numbers(20 + g.rank(), n)));
      g.reduce({x}, 0, Reduce::avg);
      EXPECT_EQ(values<float>(x), values<float>(numbers(1, n)));
      g.gather(g.rank() == 1 ? all : TensorList{}, numbers(g.rank() + 4, n), 1);
      EXPECT_EQ(values<float>(all[2]), values<float>(numbers(g.rank() == 1 ? 6 : 2, n)));
    }
  });
}

// Two groups and the messages of a third, each from a thread of its own.
TEST(Processes, ThreadsOfARank) {
  in_processes(3, [](ProcessGroup& g) {
    auto one = g.subgroup({0, 1, 2}, 30), two = g.subgroup({2, 1, 0}, 30);
    const std::vector<float> want = sums(3, 200000);
    std::vector<std::thread> threads;
    for (ProcessGroup* group : {one.get(), two.get()})
      threads.emplace_back([&, group] {
        for (int turn = 0; turn < 5; ++turn) {
          Tensor x = numbers(g.rank(), 200000), y = numbers(g.rank(), 200000);
          auto work = group->all_reduce({x}, Reduce::sum, Mode::async);
          group->all_reduce({y}, Reduce::sum);
          work->wait();
          ASSERT_EQ(values<float>(x), want);
          ASSERT_EQ(values<float>(y), want);
        }
      });
    const int64_t n = 60000;  // more than a ring
    std::vector<std::shared_ptr<Work>> works;
    std::vector<Tensor> got(3);
    for (int r = 0; r < 3; ++r) {
      if (r == g.rank()) continue;
      got[static_cast<size_t>(r)] = numbers(99, n);
      works.push_back(g.send(numbers(g.rank(), n), r, Mode::async));
      works.push_back(g.recv(got[static_cast<size_t>(r)], r, Mode::async));
    }
    for (auto& w : works) w->wait();
    for (auto& t : threads) t.join();
    for (int r = 0; r < 3; ++r) {
      if (r == g.rank()) continue;
      EXPECT_EQ(values<float>(got[static_cast<size_t>(r)]), values<float>(numbers(r, n)));
    }
  });
}

TEST(Processes, ARankThatDies) {
  in_processes(3,
               [](ProcessGroup& g) {
                 Tensor x = numbers(g.rank(), 400000);
                 g.all_reduce({x}, Reduce::sum);
                 if (g.rank() == 1) _exit(kKilled);
                 auto message = g.recv(x, 1, Mode::async);
                 try {
                   g.all_reduce({x}, Reduce::sum);
                   ADD_FAILURE() << "nothing was thrown";
                 } catch (const CommError& e) {
                   EXPECT_EQ(e.failure(), Failure::lost);
                   EXPECT_NE(std::string(e.what()).find("rank 1 has ended"), std::string::npos)
                       << e.what();
                 }
                 EXPECT_THROW(message->wait(), CommError);
                 EXPECT_THROW(g.barrier(), CommError);
               },
               {0, kKilled, 0});
}

}  // namespace
}  // namespace argosy::comm
