#include "argosy/tensor/storage.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace argosy
