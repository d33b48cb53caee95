#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "tests/cpp/comm/world.h"

namespace argosy::comm {

namespace {

struct Attributes {
  uint32_t size = sizeof(Attributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t runtime = 0, deadline = 0, period = 0;
};

uint64_t turn_of(int thread) {
  Attributes a;
  return syscall(SYS_sched_getattr, thread, &a, sizeof a, 0) ? 0 : a.runtime;
}

size_t threads_with(uint64_t turn) {
  size_t n = 0;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
    n += turn_of(std::atoi(task.path().filename().c_str())) == turn;
  return n;
}

constexpr uint64_t kTurn = 100'000;

// Whether the kernel lets a thread choose.
bool knows_turns() {
  bool knows = false;
  std::thread([&] {
    Attributes a;
    if (syscall(SYS_sched_getattr, 0, &a, sizeof a, 0)) return;
    a.runtime = kTurn;
    knows = syscall(SYS_sched_setattr, 0, &a, 0) == 0 && turn_of(0) == kTurn;
  }).join();
  return knows;
}

}  // namespace

// Beside threads that compute, those of groups would wait for the end of a whole turn of theirs.
TEST(ShortTurns, ThreadsOfGroupsTakeThemAndNoOthers) {
  if (!knows_turns()) GTEST_SKIP() << "this kernel has the same turns for all";
  EXPECT_EQ(threads_with(kTurn), 0u);
  const auto body = [](ProcessGroup& g) {
    Tensor x = Tensor::empty(Shape{3}, DType::float32);
    for (int i = 0; i < 3; ++i) x.data<float>()[i] = 1;
    g.all_reduce({x}, Reduce::sum, Mode::async)->wait();
    EXPECT_EQ(x.data<float>()[2], 2);
    EXPECT_NE(turn_of(0), kTurn);  // of who called
    g.barrier();
    EXPECT_EQ(threads_with(kTurn), 2u);
    g.barrier();
  };
  for (const std::string& error : run_ranks(Over::board, 2, 20, body)) EXPECT_EQ(error, "");
}

}  // namespace argosy::comm
