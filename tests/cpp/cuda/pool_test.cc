#include "argosy/cuda/pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <utility>
#include <vector>

namespace argosy::cuda {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A GPU of which nothing is real but the addresses.
struct Fake {
  static inline std::map<char*, size_t> held;
  static inline size_t capacity = 0, next = 0;

  static void* allocate(int, size_t bytes) {
    size_t total = bytes;
    for (auto& [address, size] : held) total += size;
    if (total > capacity) return nullptr;
    char* address = reinterpret_cast<char*>(next += size_t{1} << 40);
    held[address] = bytes;
    return address;
  }
  static void release(int, void* block, size_t) {
    EXPECT_EQ(held.erase(static_cast<char*>(block)), 1u);
  }
};
constexpr memory::Backend kFake = {Fake::allocate, Fake::release};

class StreamPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    Fake::held.clear();
    Fake::capacity = 1024 * kMiB;
  }
};

TEST_F(StreamPoolTest, SizesAreRoundedUpAndNeverZero) {
  EXPECT_EQ(StreamPool::rounded(0), 512u);
  EXPECT_EQ(StreamPool::rounded(512), 512u);
  EXPECT_EQ(StreamPool::rounded(513), 1024u);
}

TEST_F(StreamPoolTest, WhatIsGivenBackIsTakenAgain) {
  StreamPool pool(&kFake, 0);
  void* small = pool.allocate(1024);
  void* large = pool.allocate(32 * kMiB);
  EXPECT_EQ(pool.in_use(), 1024 + 32 * kMiB);
  pool.release(small, 1024);
  pool.release(large, 32 * kMiB);
  EXPECT_EQ(pool.in_use(), 0u);
  EXPECT_EQ(pool.allocate(1024), small);
  EXPECT_EQ(pool.allocate(32 * kMiB), large);
  pool.release(small, 1024);
  pool.release(large, 32 * kMiB);
  pool.release_cached();
  EXPECT_EQ(pool.reserved(), 0u);
  EXPECT_TRUE(Fake::held.empty());
}

TEST_F(StreamPoolTest, TheOrderOfGivingBackDoesNotMatter) {
  StreamPool pool(&kFake, 0);
  std::vector<void*> blocks;
  for (int i = 0; i < 9; ++i) blocks.push_back(pool.allocate(1024));
  std::ranges::sort(blocks);
  std::mt19937 random(1);
  for (int round = 0; round < 20; ++round) {
    std::vector<void*> back = blocks, taken;
    std::ranges::shuffle(back, random);
    for (void* block : back) pool.release(block, 1024);
    for (int i = 0; i < 9; ++i) taken.push_back(pool.allocate(1024));
    EXPECT_EQ(taken, blocks);
  }
  for (void* block : blocks) pool.release(block, 1024);
}

TEST_F(StreamPoolTest, BlocksInListsMakeRoomForOthers) {
  Fake::capacity = 64 * kMiB;
  StreamPool pool(&kFake, 0);
  std::vector<void*> blocks;
  while (void* block = pool.allocate(kMiB)) blocks.push_back(block);
  EXPECT_GE(blocks.size(), 56u);
  EXPECT_EQ(pool.allocate(kMiB), nullptr);
  for (void* block : blocks) pool.release(block, kMiB);
  void* whole = pool.allocate(48 * kMiB);  // only if the lists went back to the chunks
  EXPECT_NE(whole, nullptr);
  pool.release(whole, 48 * kMiB);
  pool.release_cached();
  EXPECT_TRUE(Fake::held.empty());
}

TEST_F(StreamPoolTest, BlocksInUseNeverOverlap) {
  StreamPool pool(&kFake, 0);
  std::mt19937 draw(7);
  std::map<char*, size_t> used;
  size_t bytes = 0;
  for (int i = 0; i < 20000; ++i) {
    if (used.empty() || draw() % 5 < 3) {
      const size_t size = StreamPool::rounded(draw() % (draw() % 8 ? 100000 : 5 * kMiB));
      auto* block = static_cast<char*>(pool.allocate(size));
      if (!block) continue;
      const auto after = used.lower_bound(block);
      if (after != used.end()) {
        ASSERT_LE(block + size, after->first);
      }
      if (after != used.begin()) {
        const auto& [begin, held] = *std::prev(after);
        ASSERT_LE(begin + held, block);
      }
      used.emplace(block, size);
      bytes += size;
    } else {
      auto any = std::next(used.begin(), static_cast<ptrdiff_t>(draw() % used.size()));
      pool.release(any->first, any->second);
      bytes -= any->second;
      used.erase(any);
    }
    ASSERT_EQ(pool.in_use(), bytes);
  }
  for (auto [block, size] : used) pool.release(block, size);
  pool.release_cached();
  EXPECT_TRUE(Fake::held.empty());
}

}  // namespace
}  // namespace argosy::cuda
