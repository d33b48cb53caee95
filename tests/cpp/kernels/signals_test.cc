#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "argosy/kernels/cpu/gemm.h"

namespace argosy::cpu {
namespace {

// Where the thread that computes has its stack, and how many handlers ran there and elsewhere.
char* stack_begin = nullptr;
char* stack_end = nullptr;
std::atomic<int> on_stack{0}, astray{0};

void look(int) {
  char here = 0;
  ++(&here >= stack_begin && &here < stack_end ? on_stack : astray);
}

void find_stack() {
  pthread_attr_t attributes;
  void* begin = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(pthread_getattr_np(pthread_self(), &attributes), 0);
  ASSERT_EQ(pthread_attr_getstack(&attributes, &begin, &bytes), 0);
  pthread_attr_destroy(&attributes);
  stack_begin = static_cast<char*>(begin);
  stack_end = stack_begin + bytes;
}

template <class T>
void multiply_for(std::chrono::milliseconds time, int64_t side) {
  const auto n = static_cast<size_t>(side * side);
  std::vector<T> a(n, T(1)), b(n, T(1)), c(n);
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
    gemm(dtype_of<T>, false, false, side, side, side, 1, a.data(), side, b.data(), side, 0,
         c.data(), side);
    ASSERT_EQ(c[n / 2], T(static_cast<float>(side)));
  }
}

// A library whose code uses the stack pointer for something else has the kernel write the frame of
// a handler there: into the heap.
TEST(Signals, HandlersFindAStackWhileProductsAreComputed) {
  struct sigaction action = {}, before;
  action.sa_handler = look;  // on the stack as it is, no other one
  ASSERT_EQ(sigaction(SIGUSR1, &action, &before), 0);
  std::atomic<bool> ready{false}, done{false};
  std::thread computes([&] {
    find_stack();
    ready = true;
    for (int64_t side : {96, 300, 512}) {
      multiply_for<float>(std::chrono::milliseconds(150), side);
      multiply_for<double>(std::chrono::milliseconds(100), side);
      multiply_for<bfloat16>(std::chrono::milliseconds(100), side);
    }
    done = true;
    // Until nobody sends to this thread any more.
    while (done) std::this_thread::yield();
  });
  while (!ready) std::this_thread::yield();
  while (!done) {
    pthread_kill(computes.native_handle(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  done = false;
  computes.join();
  sigaction(SIGUSR1, &before, nullptr);
  EXPECT_GT(on_stack, 20);
  EXPECT_EQ(astray, 0);
}

}  // namespace
}  // namespace argosy::cpu
