#include "argosy/base/parallel.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <numeric>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "argosy/base/error.h"

namespace argosy {
namespace {

class ParallelTest : public testing::Test {
 protected:
  void SetUp() override { set_num_threads(4); }
  void TearDown() override { set_num_threads(before_); }
  int before_ = num_threads();
};

TEST_F(ParallelTest, CoversEachIndexOnce) {
  for (int64_t n : {0, 1, 7, 64, 1000, 10001}) {
    for (int64_t grain : {1, 3, 64, 100000}) {
      std::vector<int> hits(n, 0);
      parallel_for(n, grain, [&](int64_t begin, int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        EXPECT_EQ(end, std::min(n, begin + grain));
        for (int64_t i = begin; i < end; ++i) ++hits[i];
      });
      EXPECT_EQ(std::count(hits.begin(), hits.end(), 1), n);
    }
  }
}

TEST_F(ParallelTest, ChunksDoNotDependOnTheNumberOfThreads) {
  std::vector<float> x(100000);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1.0f / static_cast<float>(i + 1);
  auto sum = [&] {
    std::vector<float> parts((x.size() + 999) / 1000);
    parallel_for(static_cast<int64_t>(x.size()), 1000, [&](int64_t begin, int64_t end) {
      parts[begin / 1000] = std::accumulate(x.begin() + begin, x.begin() + end, 0.0f);
    });
    return std::accumulate(parts.begin(), parts.end(), 0.0f);
  };
  float expected = sum();
  for (int threads : {1, 2, 3, 8}) {
    set_num_threads(threads);
    EXPECT_EQ(sum(), expected) << threads;
  }
}

TEST_F(ParallelTest, NestedCallsRunInline) {
  EXPECT_FALSE(in_parallel_region());
  std::atomic<int> total{0};
  parallel_for(8, 1, [&](int64_t, int64_t) {
    EXPECT_TRUE(in_parallel_region());
    auto outer = std::this_thread::get_id();
    parallel_for(100, 10, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(std::this_thread::get_id(), outer);
      total += static_cast<int>(end - begin);
    });
    EXPECT_TRUE(in_parallel_region());
  });
  EXPECT_FALSE(in_parallel_region());
  EXPECT_EQ(total, 800);
}

TEST_F(ParallelTest, ASingleChunkLeavesInnerLoopsParallel) {
  parallel_for(10, 10, [&](int64_t, int64_t) { EXPECT_FALSE(in_parallel_region()); });
}

TEST_F(ParallelTest, RethrowsTheFirstFailingChunk) {
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> running{0};
    try {
      parallel_for(64, 1, [&](int64_t begin, int64_t) {
        ++running;
        if (begin >= 3) {
          --running;
          throw std::runtime_error(std::to_string(begin));
        }
        --running;
      });
      FAIL();
    } catch (const std::runtime_error& e) {
      EXPECT_STREQ(e.what(), "3");
      EXPECT_EQ(running, 0);
    }
    EXPECT_FALSE(in_parallel_region());
  }
  std::atomic<int> ran{0};
  parallel_for(64, 1, [&](int64_t, int64_t) { ++ran; });
  EXPECT_EQ(ran, 64);
}

TEST_F(ParallelTest, SeveralThreadsAreUsed) {
  // Each chunk waits until another thread has one too.
  std::atomic<int> inside{0};
  std::thread::id ran[2];
  parallel_for(2, 1, [&](int64_t begin, int64_t) {
    ran[begin] = std::this_thread::get_id();
    ++inside;
    auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (inside < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
    EXPECT_EQ(inside, 2) << "chunk " << begin << " was alone for 30 s";
  });
  EXPECT_NE(ran[0], ran[1]);
}

TEST_F(ParallelTest, ManyCallersProgressTogether) {
  constexpr int kCallers = 4, kRounds = 500;
  std::atomic<int64_t> total{0};
  std::vector<std::thread> callers;
  for (int c = 0; c < kCallers; ++c) {
    callers.emplace_back([&, c] {
      for (int r = 0; r < kRounds; ++r) {
        int64_t n = 1 + (r * 7 + c) % 50;
        std::vector<int64_t> out(n);
        parallel_for(n, 1 + r % 3, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) out[i] = i;
        });
        EXPECT_EQ(std::accumulate(out.begin(), out.end(), int64_t{0}), n * (n - 1) / 2);
        total += n;
      }
    });
  }
  for (auto& t : callers) t.join();
  int64_t expected = 0;
  for (int c = 0; c < kCallers; ++c) {
    for (int r = 0; r < kRounds; ++r) expected += 1 + (r * 7 + c) % 50;
  }
  EXPECT_EQ(total, expected);
}

TEST_F(ParallelTest, ResizingWhileOthersWork) {
  std::atomic<bool> stop{false};
  std::thread resizer([&] {
    for (int i = 0; !stop; ++i) {
      set_num_threads(1 + i % 5);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  for (int r = 0; r < 1000; ++r) {
    std::atomic<int> sum{0};
    parallel_for(40, 3, [&](int64_t begin, int64_t end) { sum += static_cast<int>(end - begin); });
    ASSERT_EQ(sum, 40);
  }
  stop = true;
  resizer.join();
}

TEST_F(ParallelTest, ThreadCountIsChecked) {
  set_num_threads(3);
  EXPECT_EQ(num_threads(), 3);
  try {
    set_num_threads(0);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
    EXPECT_STREQ(e.what(), "[set_num_threads] expected at least 1 thread, got 0.");
  }
}

// Runs `body` in a forked child and expects it to return true within a minute.
template <class F>
void expect_in_child(F body) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(body() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "killed by signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

// The thread sanitizer cannot follow threads that a forked child starts.
#ifdef __SANITIZE_THREAD__
#define SKIP_UNDER_TSAN() GTEST_SKIP() << "threads in a forked child"
#else
#define SKIP_UNDER_TSAN() (void)0
#endif

bool works() {
  std::atomic<int> sum{0};
  for (int r = 0; r < 20; ++r) {
    parallel_for(100, 1, [&](int64_t, int64_t) { ++sum; });
  }
  return sum == 2000;
}

TEST_F(ParallelTest, AForkedChildHasAPoolOfItsOwn) {
  SKIP_UNDER_TSAN();
  ASSERT_TRUE(works());
  for (int i = 0; i < 5; ++i) expect_in_child(works);
  EXPECT_TRUE(works());
}

TEST_F(ParallelTest, ForkingWhileAnotherThreadIsInALoop) {
  SKIP_UNDER_TSAN();
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) works();
  });
  for (int i = 0; i < 10; ++i) expect_in_child(works);
  stop = true;
  busy.join();
}

TEST_F(ParallelTest, AChildForkedInsideALoopGetsAnErrorNotAHang) {
  std::atomic<int> entered{0};
  pid_t caller = getpid();
  auto me = std::this_thread::get_id();
  int status = -1;
  try {
    parallel_for(2, 1, [&](int64_t, int64_t) {
      ++entered;
      while (entered < 2 && getpid() == caller) std::this_thread::yield();
      if (std::this_thread::get_id() != me) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        return;
      }
      if (pid_t child = fork(); child != 0) waitpid(child, &status, 0);
    });
  } catch (const Error& e) {
    if (getpid() != caller) _exit(e.kind() == ErrorKind::runtime ? 7 : 8);
  }
  if (getpid() != caller) _exit(9);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

}  // namespace
}  // namespace argosy
