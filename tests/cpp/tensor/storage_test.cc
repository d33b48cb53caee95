#include "argosy/tensor/storage.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "argosy/base/memory.h"

namespace argosy {
namespace {

constexpr Place kNull{DeviceKind::null, 0};

TEST(Storage, HeaderAndBytesAreOneBlock) {
  const size_t before = memory::stats({}).allocated;
  Ref<Storage> s = Storage::allocate({}, 1 << 20);
  const size_t taken = memory::stats({}).allocated - before;
  EXPECT_GE(taken, size_t{1} << 20);
  EXPECT_LE(taken, (size_t{1} << 20) + 4096);
  EXPECT_EQ(s->bytes(), size_t{1} << 20);
  EXPECT_EQ(s->place(), Place{});
  EXPECT_GT(s->data(), reinterpret_cast<char*>(s.get()));
  EXPECT_LT(s->data(), reinterpret_cast<char*>(s.get()) + 4096);
  s = nullptr;
  EXPECT_EQ(memory::stats({}).allocated, before);
}

TEST(Storage, OfADeviceWithoutMemoryIsCounted) {
  const size_t before = memory::stats(kNull).allocated, here = memory::stats({}).allocated;
  {
    Ref<Storage> s = Storage::allocate(kNull, size_t{1} << 40);
    EXPECT_GE(memory::stats(kNull).allocated, before + (size_t{1} << 40));
    EXPECT_LE(memory::stats({}).allocated, here + 4096);
  }
  EXPECT_EQ(memory::stats(kNull).allocated, before);
  EXPECT_EQ(memory::stats({}).allocated, here);
}

TEST(Storage, OfADeviceThatIsNotThereLeavesNothing) {
  const size_t before = memory::stats({}).allocated;
  EXPECT_ANY_THROW(Storage::allocate({DeviceKind::cuda, 99}, 64));
  EXPECT_EQ(memory::stats({}).allocated, before);
}

TEST(Storage, CountsWritesAndNamesTheLastWriter) {
  Ref<Storage> s = Storage::allocate({}, 8);
  EXPECT_EQ(s->version(), 0u);
  EXPECT_STREQ(s->writer(), "");
  s->wrote("add_");
  s->wrote("relu_");
  EXPECT_EQ(s->version(), 2u);
  EXPECT_STREQ(s->writer(), "relu_");
}

TEST(Storage, NoWriteOfSeveralThreadsIsLost) {
  Ref<Storage> s = Storage::allocate({}, 8);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([s] {
      for (int i = 0; i < 10000; ++i) (void)s->version(), Ref<Storage>(s);
    });
  for (int i = 0; i < 10000; ++i) s->wrote("here");
  for (auto& t : threads) t.join();
  EXPECT_EQ(s->version(), 10000u);
  EXPECT_EQ(s->ref_count(), 1u);
}

TEST(Storage, WrappedMemoryIsNotFreedButReleased) {
  static int released = 0;
  char bytes[16] = {};
  int owner = 5;
  const size_t before = memory::stats({}).allocated;
  {
    Ref<Storage> s = Storage::wrap({}, bytes, sizeof(bytes), &owner, [](void* o) {
      EXPECT_EQ(*static_cast<int*>(o), 5);
      ++released;
    });
    EXPECT_EQ(s->data(), bytes);
    EXPECT_EQ(s->bytes(), 16u);
    Ref<Storage> other = s;
    s = nullptr;
    EXPECT_EQ(released, 0);
  }
  EXPECT_EQ(released, 1);
  EXPECT_EQ(memory::stats({}).allocated, before);
}

// --- copy on write ---

Ref<Storage> filled(size_t bytes, char with) {
  Ref<Storage> s = Storage::allocate({}, bytes);
  std::memset(s->data(), with, bytes);
  return s;
}

TEST(Storage, BorrowedBytesAreTheLendersUntilOneMoves) {
  Ref<Storage> a = filled(64, 'a');
  EXPECT_FALSE(a->shared());
  Ref<Storage> b = a->borrow(16, 8);
  EXPECT_EQ(b->data(), a->data() + 16);
  EXPECT_EQ(b->bytes(), 8u);
  EXPECT_TRUE(a->shared() && b->shared() && a->same_memory(*b));
  b->own_bytes();
  EXPECT_FALSE(a->shared() || b->shared() || a->same_memory(*b));
  EXPECT_EQ(b->bytes(), 8u);
  b->data()[0] = 'b';
  EXPECT_EQ(a->data()[16], 'a');
}

TEST(Storage, ALenderThatWritesMovesAndComesBack) {
  Ref<Storage> a = filled(64, 'a');
  char* const home = a->data();
  Ref<Storage> b = a->borrow(0, 64);
  a->own_bytes();
  EXPECT_NE(a->data(), home);
  EXPECT_EQ(b->data(), home);
  a->data()[0] = 'x';
  EXPECT_EQ(b->data()[0], 'a');
  EXPECT_FALSE(a->shared());
  Ref<Storage> c = a->borrow(0, 64);  // of where it is now
  EXPECT_EQ(c->data()[0], 'x');
  b = nullptr;
  a->own_bytes();
  EXPECT_EQ(a->data(), home);
  a->data()[0] = 'y';
  EXPECT_EQ(c->data()[0], 'x');
  EXPECT_FALSE(a->shared() || c->shared());
}

TEST(Storage, TheLastOneLeftNeedsNoCopy) {
  Ref<Storage> a = filled(64, 'a');
  Ref<Storage> b = a->borrow(0, 32), c = b->borrow(8, 8);
  const char* const there = c->data();
  a = nullptr;
  EXPECT_TRUE(c->shared());
  b = nullptr;
  EXPECT_FALSE(c->shared());
  c->own_bytes();
  EXPECT_EQ(c->data(), there);
  EXPECT_EQ(c->data()[7], 'a');
}

TEST(Storage, NoBlockIsLeftOrFreedTwice) {
  const size_t before = memory::stats({}).allocated;
  {
    Ref<Storage> a = filled(1000, 'a');
    Ref<Storage> b = a->borrow(0, 500), c = a->borrow(500, 500);
    a->own_bytes();
    Ref<Storage> d = a->borrow(0, 1000);
    a->own_bytes();
    b = nullptr;
    c->own_bytes();
    a->own_bytes();
    EXPECT_EQ(d->data()[999], 'a');
    a = nullptr;
    d->own_bytes();
    EXPECT_EQ(c->data()[499], 'a');
  }
  EXPECT_EQ(memory::stats({}).allocated, before);
}

TEST(Storage, WhatIsNotOursIsNotLent) {
  char bytes[16] = {};
  Ref<Storage> wrapped = Storage::wrap({}, bytes, sizeof(bytes), nullptr, [](void*) {});
  EXPECT_FALSE(wrapped->borrow(0, 16));
  EXPECT_FALSE(wrapped->shared());
  EXPECT_FALSE(Storage::allocate(kNull, 16)->borrow(0, 16));
  Ref<Storage> known = filled(16, 'a');
  known->never_lend();
  EXPECT_FALSE(known->borrow(0, 16));
}

TEST(Storage, BorrowersMayComeAndGoOnOtherThreads) {
  Ref<Storage> a = filled(256, 'a');
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&a] {
      for (int i = 0; i < 2000; ++i) {
        Ref<Storage> mine = a->borrow(static_cast<size_t>(i % 4) * 64, 64);
        mine->own_bytes();
        std::memset(mine->data(), 'b', 64);
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_FALSE(a->shared());
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(a->data()[i], 'a');
}

}  // namespace
}  // namespace argosy
