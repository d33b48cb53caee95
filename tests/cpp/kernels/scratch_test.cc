#include "argosy/kernels/cpu/scratch.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "argosy/base/parallel.h"

namespace argosy::cpu {
namespace {

struct alignas(64) Room {
  char bytes[1024];
  bool has(const Scratch& s) const { return s.as() >= bytes && s.as() < bytes + sizeof(bytes); }
};

TEST(Scratch, TakesSpareMemoryFirst) {
  auto room = std::make_unique<Room>();
  {
    SpareMemory spare(room->bytes, sizeof(room->bytes));
    Scratch a(100);
    auto b = std::make_unique<Scratch>(300);
    Scratch c(400);
    EXPECT_TRUE(room->has(a) && room->has(*b) && room->has(c));
    EXPECT_EQ(b->as(), a.as() + 128);
    EXPECT_FALSE(room->has(Scratch(300))) << "there is no gap of that size";
    char* gap = b->as();
    b.reset();
    EXPECT_EQ(Scratch(300).as(), gap);
    EXPECT_EQ(Scratch(1).as(), gap);
    EXPECT_FALSE(room->has(Scratch(0)));
    EXPECT_FALSE(room->has(Scratch(4096)));
  }
  EXPECT_FALSE(room->has(Scratch(100)));
}

TEST(Scratch, PoolThreadsShareIt) {
  auto room = std::make_unique<Room>();
  set_num_threads(2);
  {
    // Two threads at once, each with a part of its own.
    SpareMemory spare(room->bytes, sizeof(room->bytes));
    std::atomic<int> inside{0};
    const char* parts[2] = {};
    parallel_for(2, 1, [&](int64_t begin, int64_t) {
      Scratch own(400);
      EXPECT_TRUE(room->has(own));
      parts[begin] = own.as();
      ++inside;
      const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
      while (inside < 2 && std::chrono::steady_clock::now() < limit) std::this_thread::yield();
      EXPECT_EQ(inside, 2) << "no other thread came within 30 s";
    });
    EXPECT_GE(std::abs(parts[0] - parts[1]), 400);
  }
  for (int i = 0; i < 50; ++i) {
    SpareMemory spare(room->bytes, sizeof(room->bytes));
    parallel_for(64, 1, [&](int64_t begin, int64_t) {
      Scratch own(400);
      EXPECT_TRUE(room->has(own));
      for (int k = 0; k < 400; ++k) own.as()[k] = static_cast<char>(begin);
      for (int k = 0; k < 400; ++k) ASSERT_EQ(own.as()[k], static_cast<char>(begin));
    });
  }
  parallel_for(64, 1, [&](int64_t, int64_t) { EXPECT_FALSE(room->has(Scratch(100))); });
}

}  // namespace
}  // namespace argosy::cpu
