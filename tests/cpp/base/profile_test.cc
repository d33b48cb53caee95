#include "argosy/base/profile.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

namespace argosy::profile {
namespace {

TEST(ProfileTest, NothingIsRecordedUnlessStarted) {
  { Scope scope("early"); }
  EXPECT_FALSE(enabled());
  start();
  EXPECT_TRUE(enabled());
  EXPECT_TRUE(stop().empty());
  EXPECT_FALSE(enabled());
}

TEST(ProfileTest, ScopesNest) {
  start();
  {
    Scope outer("outer", Kind::op);
    { Scope inner("inner", Kind::kernel); }
    { Scope inner("second"); }
  }
  auto events = stop();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_STREQ(events[0].name, "outer");
  EXPECT_EQ(events[0].kind, Kind::op);
  EXPECT_EQ(events[0].depth, 0);
  EXPECT_STREQ(events[1].name, "inner");
  EXPECT_EQ(events[1].depth, 1);
  EXPECT_LE(events[0].begin, events[1].begin);
  EXPECT_LE(events[1].end, events[2].begin);
  EXPECT_LE(events[2].end, events[0].end);
  EXPECT_TRUE(stop().empty());
}

TEST(ProfileTest, TheNewestAreKept) {
  start({.capacity = 10});
  for (int i = 0; i < 25; ++i) Scope scope(intern("step " + std::to_string(i)));
  auto events = stop();
  ASSERT_EQ(events.size(), 10u);
  EXPECT_STREQ(events.front().name, "step 15");
  EXPECT_STREQ(events.back().name, "step 24");
  EXPECT_EQ(dropped(), 15);
}

TEST(ProfileTest, ScopesOpenAcrossASessionAreLeftOut) {
  start();
  {
    Scope open("open");
    EXPECT_TRUE(stop().empty());
  }
  start();
  { Scope fresh("fresh"); }
  auto events = stop();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_STREQ(events[0].name, "fresh");
  EXPECT_EQ(events[0].depth, 0);
}

TEST(ProfileTest, ThreadsRecordForThemselves) {
  start({.capacity = 1000});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 100; ++i) Scope scope("work");
    });
  }
  for (auto& t : threads) t.join();
  std::map<uint32_t, int> counts;
  for (const Event& e : stop()) ++counts[e.thread];
  EXPECT_EQ(counts.size(), 4u);
  for (auto [thread, count] : counts) EXPECT_EQ(count, 100) << thread;
}

TEST(ProfileTest, StartingAndStoppingWhileOthersRecord) {
  std::atomic<bool> quit{false};
  std::thread busy([&] {
    while (!quit) {
      Scope outer("a");
      Scope inner("b");
    }
  });
  for (int i = 0; i < 50; ++i) {
    start({.capacity = 64});
    std::this_thread::yield();
    for (const Event& e : stop()) EXPECT_LE(e.begin, e.end);
  }
  quit = true;
  busy.join();
}

TEST(ProfileTest, SamplesAndNotes) {
  start();
  detail::close("costly", Kind::op, detail::open(), {"x: float32[2]", 64, 12.5});
  sample("cpu", 4096);
  auto events = stop();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_STREQ(events[0].note.detail, "x: float32[2]");
  EXPECT_EQ(events[0].note.amount, 64);
  EXPECT_EQ(events[0].note.cost, 12.5);
  EXPECT_EQ(events[1].kind, Kind::memory);
  EXPECT_EQ(events[1].note.amount, 4096);
  EXPECT_EQ(events[1].begin, events[1].end);
}

TEST(ProfileTest, ThreadsHaveNames) {
  start();
  std::thread([] {
    pthread_setname_np(pthread_self(), "worker-7");
    { Scope scope("work"); }
  }).join();
  auto events = stop();
  ASSERT_EQ(events.size(), 1u);
  uint32_t number = events[0].thread;
  ASSERT_LT(number, threads().size());
  EXPECT_EQ(threads()[number].name, "worker-7");
  EXPECT_GT(threads()[number].id, 0);
}

TEST(ProfileTest, InternedNamesStay) {
  const char* a = intern(std::string("name"));
  EXPECT_EQ(intern("name"), a);
  EXPECT_STREQ(a, "name");
}

}  // namespace
}  // namespace argosy::profile
