#include "argosy/base/chunk_pool.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace argosy::memory {
namespace {

constexpr size_t kMiB = size_t{1} << 20;

// A device of which nothing is real but the addresses.
struct Fake {
  static inline std::map<char*, size_t> held;
  static inline size_t capacity = 0, next = 0;
  static inline int calls = 0;

  static void* allocate(int, size_t bytes) {
    ++calls;
    size_t total = bytes;
    for (auto& [address, size] : held) total += size;
    if (total > capacity) return nullptr;
    char* address = reinterpret_cast<char*>(next += size_t{1} << 40);
    held[address] = bytes;
    return address;
  }
  static void release(int, void* block, size_t bytes) {
    auto found = held.find(static_cast<char*>(block));
    ASSERT_NE(found, held.end());
    EXPECT_EQ(found->second, bytes);
    held.erase(found);
  }
};
constexpr Backend kFake = {Fake::allocate, Fake::release};

class ChunkPoolTest : public testing::Test {
 protected:
  void SetUp() override {
    Fake::held.clear();
    Fake::capacity = size_t{1} << 40;
    Fake::calls = 0;
  }
};

TEST_F(ChunkPoolTest, SplitsAndMerges) {
  ChunkPool pool(&kFake, 0, 4096);
  char* a = static_cast<char*>(pool.allocate(8192, 0));
  char* b = static_cast<char*>(pool.allocate(4096, 0));
  char* c = static_cast<char*>(pool.allocate(4096, 0));
  EXPECT_EQ(b, a + 8192);
  EXPECT_EQ(c, b + 4096);
  pool.check();
  EXPECT_TRUE(pool.deallocate(a));
  EXPECT_TRUE(pool.deallocate(c));
  pool.check();
  EXPECT_TRUE(pool.deallocate(b));
  pool.check();
  EXPECT_EQ(pool.allocate(pool.reserved(), 0), a);  // one block again
  EXPECT_EQ(Fake::calls, 1);
  EXPECT_TRUE(pool.deallocate(a));
  pool.release_free();
  EXPECT_EQ(pool.reserved(), 0u);
  EXPECT_TRUE(Fake::held.empty());
}

TEST_F(ChunkPoolTest, TakesTheSmallestBlockThatFits) {
  ChunkPool pool(&kFake, 0, 4096);
  void* big = pool.allocate(5 * 4096, 0);
  void* wall1 = pool.allocate(4096, 0);
  void* small = pool.allocate(2 * 4096, 0);
  void* wall2 = pool.allocate(4096, 0);
  pool.deallocate(big);
  pool.deallocate(small);
  EXPECT_EQ(pool.allocate(2 * 4096, 0), small);
  EXPECT_EQ(pool.allocate(3 * 4096, 0), big);
  for (void* p : {wall1, wall2, small, big}) EXPECT_TRUE(pool.deallocate(p));
  pool.check();
}

TEST_F(ChunkPoolTest, RefusesWhatItDoesNotHold) {
  ChunkPool pool(&kFake, 0, 4096);
  void* a = pool.allocate(4096, 0);
  EXPECT_FALSE(pool.deallocate(static_cast<char*>(a) + 64));
  EXPECT_TRUE(pool.deallocate(a));
  EXPECT_FALSE(pool.deallocate(a));
}

TEST_F(ChunkPoolTest, HugeBlocksAreReusedButNotBrokenUp) {
  ChunkPool pool(&kFake, 0, 4096);
  void* huge = pool.allocate(100 * kMiB, 0);
  pool.deallocate(huge);
  void* small = pool.allocate(4096, 0);  // from a chunk of its own
  EXPECT_EQ(Fake::calls, 2);
  EXPECT_EQ(pool.allocate(95 * kMiB, 0), huge);  // little waste: given whole
  pool.deallocate(huge);
  void* other = pool.allocate(86 * kMiB, 0);  // 14 MiB would be lost
  EXPECT_NE(other, huge);
  EXPECT_EQ(pool.allocate(40 * kMiB, 0), huge);  // the rest is huge too: split
  pool.check();
  void* rest = pool.allocate(60 * kMiB, 0);
  EXPECT_EQ(rest, static_cast<char*>(huge) + 40 * kMiB);
  for (void* p : {small, other, huge, rest}) EXPECT_TRUE(pool.deallocate(p));
  pool.check();
}

TEST_F(ChunkPoolTest, GivesBackWhatIsFreeBeforeItFails) {
  Fake::capacity = 100 * kMiB;
  ChunkPool pool(&kFake, 0, 4096);
  void* a = pool.allocate(60 * kMiB, 0);
  EXPECT_EQ(pool.allocate(60 * kMiB, 0), nullptr);
  pool.deallocate(a);
  void* b = pool.allocate(98 * kMiB, 0);
  EXPECT_NE(b, nullptr);
  EXPECT_EQ(pool.reserved(), 98 * kMiB);
  void* c = pool.allocate(kMiB, 0);  // no room for a usual chunk: an exact one
  EXPECT_NE(c, nullptr);
  pool.check();
  pool.deallocate(b);
  pool.deallocate(c);
}

TEST_F(ChunkPoolTest, KeepsToItsLimit) {
  ChunkPool pool(&kFake, 0, 4096);
  EXPECT_EQ(pool.allocate(20 * kMiB, 10 * kMiB), nullptr);
  EXPECT_EQ(Fake::calls, 0);
  void* a = pool.allocate(kMiB, 3 * kMiB);
  EXPECT_NE(a, nullptr);
  EXPECT_LE(pool.reserved(), 3 * kMiB);
  EXPECT_EQ(pool.allocate(3 * kMiB, 3 * kMiB), nullptr);
  pool.deallocate(a);
  EXPECT_NE(a = pool.allocate(3 * kMiB, 3 * kMiB), nullptr);
  pool.deallocate(a);
}

TEST_F(ChunkPoolTest, ManySizesOfHugeBlocksDoNotPileUp) {
  ChunkPool pool(&kFake, 0, 4096);
  for (size_t i = 0; i < 200; ++i) {
    void* p = pool.allocate((20 + i * 7) * kMiB, 0);
    ASSERT_NE(p, nullptr);
    pool.deallocate(p);
  }
  EXPECT_LE(pool.reserved(), 2 * 1500 * kMiB);
  pool.check();
}

TEST_F(ChunkPoolTest, RandomUse) {
  std::mt19937 random(7);
  ChunkPool pool(&kFake, 0, 512);
  std::vector<std::pair<char*, size_t>> live;
  std::map<char*, size_t> ranges;
  for (int step = 0; step < 4000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      size_t bytes = pool.rounded(random() % 20 == 0 ? 1 + random() % (60 * kMiB)
                                                     : 1 + random() % (300 << random() % 10));
      char* p = static_cast<char*>(pool.allocate(bytes, 0));
      ASSERT_NE(p, nullptr);
      auto after = ranges.lower_bound(p);
      ASSERT_TRUE(after == ranges.end() || p + bytes <= after->first);
      ASSERT_TRUE(after == ranges.begin() ||
                  std::prev(after)->first + std::prev(after)->second <= p);
      ranges[p] = bytes;
      live.emplace_back(p, bytes);
    } else {
      size_t i = random() % live.size();
      ASSERT_TRUE(pool.deallocate(live[i].first));
      ranges.erase(live[i].first);
      live[i] = live.back();
      live.pop_back();
    }
    if (step % 100 == 0) pool.check();
  }
  for (auto& [p, bytes] : live) EXPECT_TRUE(pool.deallocate(p));
  pool.check();
  EXPECT_EQ(pool.in_use(), 0u);
  pool.release_free();
  EXPECT_EQ(pool.reserved(), 0u);
  EXPECT_TRUE(Fake::held.empty());
}

}  // namespace
}  // namespace argosy::memory
