#include "argosy/base/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "argosy/base/error.h"

namespace argosy::memory {
namespace {

constexpr Place kCpu{};
constexpr Place kNull{DeviceKind::null, 0};
constexpr size_t kMiB = size_t{1} << 20;

// Another allocator than that with the pool, which most processes have.
bool other_mode() {
  const char* choice = std::getenv("ARGOSY_ALLOCATOR");
  return choice && std::strcmp(choice, "pool") != 0;
}

class MemoryTest : public testing::Test {
 protected:
  void SetUp() override {
    set_limit(kCpu, 0);
    before_ = stats(kCpu).allocated;
  }
  void TearDown() override {
    set_limit(kCpu, 0);
    EXPECT_EQ(stats(kCpu).allocated, before_);
  }
  size_t before_ = 0;
};

TEST_F(MemoryTest, BlocksAreAlignedDisjointAndLargeEnough) {
  std::vector<std::pair<char*, size_t>> blocks;
  for (size_t bytes = 0; bytes < 300000; bytes = bytes * 5 / 4 + 1) {
    for (int i = 0; i < 3; ++i) {
      char* p = static_cast<char*>(allocate(kCpu, bytes));
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % kAlignment, 0u) << bytes;
      EXPECT_GE(block_size(kCpu, bytes), bytes);
      EXPECT_LE(block_size(kCpu, bytes), std::max<size_t>(bytes + bytes / 4, bytes + 4096));
      std::memset(p, static_cast<int>(blocks.size()), bytes);
      blocks.emplace_back(p, bytes);
    }
  }
  std::set<char*> unique;
  for (size_t i = 0; i < blocks.size(); ++i) {
    auto [p, bytes] = blocks[i];
    unique.insert(p);
    for (size_t j = 0; j < bytes; ++j) ASSERT_EQ(p[j], static_cast<char>(i));
    deallocate(kCpu, p, bytes);
  }
  EXPECT_EQ(unique.size(), blocks.size());
}

TEST_F(MemoryTest, StatisticsAreExact) {
  reset_peak(kCpu);
  EXPECT_EQ(stats(kCpu).peak, before_);
  size_t expected = before_;
  std::vector<std::pair<void*, size_t>> blocks;
  for (size_t bytes :
       {0ul, 1ul, 64ul, 65ul, 513ul, 4000ul, 65536ul, 65537ul, 1000000ul, 20000000ul}) {
    blocks.emplace_back(allocate(kCpu, bytes), bytes);
    expected += block_size(kCpu, bytes);
    EXPECT_EQ(stats(kCpu).allocated, expected);
    EXPECT_EQ(stats(kCpu).peak, expected);
  }
  EXPECT_GE(stats(kCpu).reserved, expected);
  for (auto [p, bytes] : blocks) deallocate(kCpu, p, bytes);
  EXPECT_EQ(stats(kCpu).allocated, before_);
  EXPECT_EQ(stats(kCpu).peak, expected);
  reset_peak(kCpu);
  EXPECT_EQ(stats(kCpu).peak, before_);
}

TEST_F(MemoryTest, ThePeakOfSeveralThreads) {
  constexpr int kThreads = 4, kBlocks = 1000;
  constexpr size_t kBytes = 1024, kTotal = kThreads * kBlocks * kBytes, kSlack = kThreads * 65536;
  reset_peak(kCpu);
  std::barrier holding(kThreads + 1), measured(kThreads + 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      std::vector<void*> blocks;
      for (int b = 0; b < kBlocks; ++b) blocks.push_back(allocate(kCpu, kBytes));
      holding.arrive_and_wait();
      measured.arrive_and_wait();
      for (void* p : blocks) deallocate(kCpu, p, kBytes);
      measured.arrive_and_wait();
      // A new epoch begins below, at this level; the one block is its peak.
      measured.arrive_and_wait();
      deallocate(kCpu, allocate(kCpu, kBytes), kBytes);
    });
  }
  holding.arrive_and_wait();
  EXPECT_EQ(stats(kCpu).allocated, before_ + kTotal);
  measured.arrive_and_wait();
  measured.arrive_and_wait();
  EXPECT_EQ(stats(kCpu).allocated, before_);
  EXPECT_GE(stats(kCpu).peak, before_ + kTotal - kSlack);
  EXPECT_LE(stats(kCpu).peak, before_ + kTotal + kSlack);
  reset_peak(kCpu);
  EXPECT_EQ(stats(kCpu).peak, before_);
  measured.arrive_and_wait();
  for (auto& t : threads) t.join();
  EXPECT_GE(stats(kCpu).peak, before_ + kBytes);
  EXPECT_LE(stats(kCpu).peak, before_ + kThreads * kBytes + kSlack);
}

// Small and large blocks of one thread, against a plain count.
TEST_F(MemoryTest, ThePeakOfOneThreadIsExact) {
  std::mt19937 random(3);
  std::vector<std::pair<void*, size_t>> live;
  size_t now = before_, peak = before_;
  reset_peak(kCpu);
  for (int step = 0; step < 20000; ++step) {
    if (step % 977 == 0) {
      reset_peak(kCpu);
      peak = now;
    }
    if (live.empty() || random() % 100 < 52) {
      size_t bytes = random() % 50 == 0 ? random() % 3000000 : random() % 9000;
      live.emplace_back(allocate(kCpu, bytes), bytes);
      now += block_size(kCpu, bytes);
      peak = std::max(peak, now);
    } else {
      std::swap(live[random() % live.size()], live.back());
      deallocate(kCpu, live.back().first, live.back().second);
      now -= block_size(kCpu, live.back().second);
      live.pop_back();
    }
    if (step % 7 == 0) {
      ASSERT_EQ(stats(kCpu).allocated, now) << step;
      ASSERT_EQ(stats(kCpu).peak, peak) << step;
    }
  }
  for (auto [p, bytes] : live) deallocate(kCpu, p, bytes);
}

TEST_F(MemoryTest, BlocksAreReused) {
  if (other_mode()) GTEST_SKIP() << "the C library decides";
  for (size_t bytes : {100ul, 5000ul, 100000ul, 50 * kMiB}) {
    void* p = allocate(kCpu, bytes);
    deallocate(kCpu, p, bytes);
    EXPECT_EQ(allocate(kCpu, bytes), p) << bytes;
    deallocate(kCpu, p, bytes);
  }
}

TEST_F(MemoryTest, ReleaseGivesEverythingFreeBack) {
  std::vector<std::pair<void*, size_t>> blocks;
  for (int i = 0; i < 2000; ++i) {
    size_t bytes = 1 + static_cast<size_t>(i) * 37 % 100000;
    blocks.emplace_back(allocate(kCpu, bytes), bytes);
  }
  void* huge = allocate(kCpu, 30 * kMiB);
  deallocate(kCpu, huge, 30 * kMiB);
  for (auto [p, bytes] : blocks) deallocate(kCpu, p, bytes);
  release_cached(kCpu);
  // What remains are blocks that are in use or lie in other threads' lists.
  EXPECT_LE(stats(kCpu).reserved, before_ + 9 * kMiB);
  void* again = allocate(kCpu, 1000);
  deallocate(kCpu, again, 1000);
}

TEST_F(MemoryTest, BlocksMoveBetweenThreads) {
  constexpr int kThreads = 4, kRounds = 3000;
  struct Shelf {
    std::mutex mutex;
    std::vector<std::pair<char*, size_t>> blocks;
  } shelf;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937 random(t);
      for (int r = 0; r < kRounds; ++r) {
        size_t bytes = random() % 10 ? random() % 3000 : random() % 200000;
        char* p = static_cast<char*>(allocate(kCpu, bytes));
        std::memset(p, t, std::min<size_t>(bytes, 64));
        std::pair<char*, size_t> old{};
        {
          std::lock_guard lock(shelf.mutex);
          shelf.blocks.emplace_back(p, bytes);
          if (shelf.blocks.size() > 200) {
            std::swap(shelf.blocks[random() % shelf.blocks.size()], shelf.blocks.back());
            old = shelf.blocks.back();
            shelf.blocks.pop_back();
          }
        }
        if (old.first) {
          for (size_t i = 1; i < std::min<size_t>(old.second, 64); ++i) {
            ASSERT_EQ(old.first[i], old.first[0]);
          }
          deallocate(kCpu, old.first, old.second);
        }
      }
    });
  }
  for (auto& t : threads) t.join();
  for (auto [p, bytes] : shelf.blocks) deallocate(kCpu, p, bytes);
}

TEST_F(MemoryTest, AnEndingThreadReturnsItsBlocks) {
  if (other_mode()) GTEST_SKIP() << "no lists";
  for (int i = 0; i < 300; ++i) {
    std::thread([] {
      std::vector<void*> blocks;
      for (int b = 0; b < 50; ++b) blocks.push_back(allocate(kCpu, 2000));
      for (void* p : blocks) deallocate(kCpu, p, 2000);
    }).join();
  }
  // 300 threads would have left 300 * 32 * 2 KiB behind.
  release_cached(kCpu);
  EXPECT_LE(stats(kCpu).reserved, before_ + 9 * kMiB);
}

// Freed by a destructor that runs after the thread's lists are gone.
TEST_F(MemoryTest, FreeingAtTheEndOfAThread) {
  struct Late {
    void* block = nullptr;
    ~Late() {
      if (block) deallocate(kCpu, block, 128);
      void* other = allocate(kCpu, 256);
      deallocate(kCpu, other, 256);
      ended = true;
    }
    bool& ended;
  };
  bool ended = false;
  std::thread([&ended] {
    static thread_local Late late{nullptr, ended};  // before the lists, so destroyed after them
    late.block = nullptr;
    late.block = allocate(kCpu, 128);
  }).join();
  EXPECT_TRUE(ended);
  EXPECT_EQ(stats(kCpu).allocated, before_);
}

ErrorKind kind_of_failure(Place place, size_t bytes, std::string* text) {
  try {
    deallocate(place, allocate(place, bytes), bytes);
  } catch (const Error& e) {
    *text = e.what();
    return e.kind();
  }
  *text = "no error";
  return ErrorKind::internal;
}

TEST_F(MemoryTest, TheLimitIsKeptAndTheErrorNamesTheSizes) {
  void* some = allocate(kCpu, 3 * kMiB);
  set_limit(kCpu, before_ + 16 * kMiB);
  std::string text;
  EXPECT_EQ(kind_of_failure(kCpu, 15 * kMiB, &text), ErrorKind::memory);
  EXPECT_NE(text.find("[memory] out of memory on cpu:0: 15.00 MiB requested, "), std::string::npos)
      << text;
  for (const char* part :
       {"3.0", " in use, ", " reserved, limit 16.0", "Do this: ", "raise the limit."}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }
  void* more = allocate(kCpu, 2 * kMiB);  // still works
  deallocate(kCpu, more, 2 * kMiB);
  set_limit(kCpu, 0);
  more = allocate(kCpu, 20 * kMiB);
  deallocate(kCpu, more, 20 * kMiB);
  set_limit(kCpu, before_ + 10 * kMiB);  // what is cached does not get around it
  EXPECT_EQ(kind_of_failure(kCpu, 20 * kMiB, &text), ErrorKind::memory);
  // Small blocks are counted too.
  set_limit(kCpu, stats(kCpu).allocated + 100);
  EXPECT_EQ(kind_of_failure(kCpu, 3333, &text), ErrorKind::memory) << text;
  set_limit(kCpu, 0);
  deallocate(kCpu, some, 3 * kMiB);
}

TEST_F(MemoryTest, ImpossibleRequestsAreErrors) {
  std::string text;
  for (size_t bytes : {SIZE_MAX, SIZE_MAX - 4096, SIZE_MAX / 2, size_t{1} << 50}) {
    EXPECT_EQ(kind_of_failure(kCpu, bytes, &text), ErrorKind::memory) << bytes;
    EXPECT_NE(text.find("requested"), std::string::npos);
  }
  EXPECT_EQ(kind_of_failure(kNull, SIZE_MAX, &text), ErrorKind::memory);
}

// The system runs out after `failing_after` more chunks.
std::atomic<int> failing_after{-1};
Backend real_backend;
void* failing_allocate(int index, size_t bytes) {
  if (failing_after == 0) return nullptr;
  if (failing_after > 0) --failing_after;
  return real_backend.allocate(index, bytes);
}
void failing_release(int index, void* block, size_t bytes) {
  real_backend.release(index, block, bytes);
}

TEST_F(MemoryTest, AFailingSystemIsAnErrorAndLeavesThePoolWhole) {
  if (other_mode()) GTEST_SKIP() << "no chunks";
  real_backend = set_backend(DeviceKind::cpu, {failing_allocate, failing_release});
  void* cached = allocate(kCpu, 40 * kMiB);
  deallocate(kCpu, cached, 40 * kMiB);
  failing_after = 0;
  std::string text;
  EXPECT_EQ(kind_of_failure(kCpu, 100 * kMiB, &text), ErrorKind::memory);
  EXPECT_NE(text.find("in this machine or container"), std::string::npos) << text;
  // All small sizes until the pool is dry.
  std::vector<void*> blocks;
  try {
    for (int i = 0; i < 100000; ++i) blocks.push_back(allocate(kCpu, 50000));
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::memory);
  }
  EXPECT_LT(blocks.size(), 100000u);
  for (void* p : blocks) deallocate(kCpu, p, 50000);
  failing_after = -1;
  set_backend(DeviceKind::cpu, real_backend);
  void* p = allocate(kCpu, 100 * kMiB);
  deallocate(kCpu, p, 100 * kMiB);
}

TEST_F(MemoryTest, TheNullPlaceCountsOnly) {
  Stats before = stats(kNull);
  constexpr size_t kTerabytes = size_t{64} << 40;
  char* a = static_cast<char*>(allocate(kNull, kTerabytes));
  char* b = static_cast<char*>(allocate(kNull, 1));
  EXPECT_GE(b, a + kTerabytes);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(a) % kAlignment, 0u);
  EXPECT_EQ(stats(kNull).allocated, before.allocated + kTerabytes + 64);
  deallocate(kNull, a, kTerabytes);
  deallocate(kNull, b, 1);
  EXPECT_EQ(stats(kNull).allocated, before.allocated);
  EXPECT_EQ(stats(kNull).peak, before.allocated + kTerabytes + 64);
  set_limit({DeviceKind::null, 1}, 80 * kMiB);
  std::string text;
  EXPECT_EQ(kind_of_failure({DeviceKind::null, 1}, 81 * kMiB, &text), ErrorKind::memory);
  EXPECT_NE(text.find("on null:1: 81.00 MiB requested"), std::string::npos) << text;
}

TEST_F(MemoryTest, PlacesThatDoNotExist) {
  std::string text;
  EXPECT_EQ(kind_of_failure({DeviceKind::null, 64}, 1, &text), ErrorKind::device);
  EXPECT_EQ(text, "[memory] expected a device index from 0 to 63, got 64.");
  Backend none = set_backend(DeviceKind::cuda, {});
  if (!none.allocate) {
    EXPECT_EQ(kind_of_failure({DeviceKind::cuda, 0}, 1, &text), ErrorKind::device);
    EXPECT_NE(text.find("has no CUDA"), std::string::npos) << text;
  }
  set_backend(DeviceKind::cuda, none);
}

TEST_F(MemoryTest, DumpIsATable) {
  void* p = allocate(kCpu, 700);
  std::string text = dump(kCpu);
  for (const char* part : {"in use", "reserved", "peak"}) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(text.find("       768 ") == std::string::npos, other_mode()) << text;
  deallocate(kCpu, p, 700);
}

TEST_F(MemoryTest, AForkedChildCanAllocate) {
#ifdef __SANITIZE_ADDRESS__
  // Its malloc does not survive a fork that meets another thread inside it.
  if (other_mode()) GTEST_SKIP() << "malloc of the address sanitizer is not fork-safe";
#endif
  std::atomic<bool> stop{false};
  std::thread busy([&] {
    while (!stop) {
      void* small = allocate(kCpu, 100);
      void* large = allocate(kCpu, 100000);
      deallocate(kCpu, small, 100);
      deallocate(kCpu, large, 100000);
    }
  });
  for (int i = 0; i < 10; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      for (int b = 0; b < 100; ++b) deallocate(kCpu, allocate(kCpu, b * 1000), b * 1000);
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  stop = true;
  busy.join();
}

// The variable is read once, so another process has to try it.
TEST_F(MemoryTest, OtherAllocatorsPassTheSameTests) {
  if (other_mode()) GTEST_SKIP() << "this is that process";
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  std::string command;
  for (const char* choice : {"system", "guard"}) {
    command = std::string("ARGOSY_ALLOCATOR=") + choice + " '" + self +
              "' --gtest_filter='MemoryTest.*' --gtest_brief=1 --gtest_output= >&2";
    EXPECT_EQ(std::system(command.c_str()), 0) << choice;
  }
  command = std::string("ARGOSY_ALLOCATOR=typo '") + self +
            "' --gtest_filter=MemoryTest.StatisticsAreExact --gtest_output= 2>&1 | grep -q \"got "
            "'typo'\"";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(MemoryTest, GuardedBlocksFaultAtTheirEnd) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const char* where = std::getenv("ARGOSY_TEST_TOUCH");
  if (!where) {
    // At the last byte nothing happens; the signal of a fault, as the shell gives it on.
    for (const auto& [touch, status] : {std::pair{"127", 0}, {"128", 139}, {"-4096", 139}}) {
      const std::string command = std::string("ARGOSY_ALLOCATOR=guard ARGOSY_TEST_TOUCH=") + touch +
                                  " sh -c \"'" + self +
                                  "' --gtest_filter=*GuardedBlocksFault* --gtest_output= >&2\"";
      EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), status) << touch;
    }
    return;
  }
  auto* block = static_cast<volatile char*>(allocate(kCpu, 128));
  EXPECT_EQ(block[0], '\xff');
  block[std::atoi(where)] = 1;
  deallocate(kCpu, const_cast<char*>(block), 128);
}

// Once in the life of a process, so all of it is one test.
TEST_F(MemoryTest, BlocksOfMemoryThatOtherProcessesMap) {
  constexpr size_t kBytes = 64 * kMiB;
  const int file = memfd_create("test", MFD_CLOEXEC);
  ASSERT_EQ(ftruncate(file, kBytes), 0);
  auto* begin = static_cast<char*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0));
  void* early = allocate_shared(kMiB);
  EXPECT_FALSE(is_shared(early));
  deallocate(kCpu, early, kMiB);
  if (other_mode()) {
    EXPECT_FALSE(share(begin, kBytes));
    munmap(begin, kBytes);
    close(file);
    return;
  }
  ASSERT_TRUE(share(begin, kBytes));
  EXPECT_FALSE(share(begin, kBytes));

  const size_t held = stats(kCpu).reserved;
  auto* block = static_cast<char*>(allocate_shared(kMiB));
  EXPECT_TRUE(is_shared(block) && is_shared(block + kMiB - 1));
  EXPECT_EQ(stats(kCpu).allocated, before_ + kMiB);
  EXPECT_GE(stats(kCpu).reserved, held + kMiB);
  EXPECT_NE(dump(kCpu).find("seen by other processes"), std::string::npos);
  std::memset(block, 7, kMiB);
  const auto in_file = [&] {
    struct stat s;
    return fstat(file, &s) ? 0 : static_cast<size_t>(s.st_blocks) * 512;
  };
  EXPECT_GE(in_file(), kMiB);
  void* small = allocate_shared(1000);
  EXPECT_FALSE(is_shared(small));
  deallocate(kCpu, small, 1000);
  void* usual = allocate(kCpu, kMiB);
  EXPECT_FALSE(is_shared(usual));
  deallocate(kCpu, usual, kMiB);

  deallocate(kCpu, block, kMiB);
  EXPECT_EQ(allocate_shared(kMiB), block) << "it is used again";
  deallocate(kCpu, block, kMiB);
  release_cached(kCpu);
  EXPECT_EQ(in_file(), 0u) << "its pages are given back";

  std::vector<void*> blocks;
  while (is_shared(blocks.emplace_back(allocate_shared(4 * kMiB)))) ASSERT_LT(blocks.size(), 20u);
  EXPECT_GT(blocks.size(), 8u) << "then blocks lie elsewhere";
  for (void* b : blocks) deallocate(kCpu, b, 4 * kMiB);
  set_limit(kCpu, stats(kCpu).allocated + kMiB);
  EXPECT_THROW(allocate_shared(2 * kMiB), Error);
}

}  // namespace
}  // namespace argosy::memory
