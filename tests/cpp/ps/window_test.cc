#include "argosy/ps/service/window.h"

#include <gtest/gtest.h>

#include <thread>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

using std::chrono::seconds;
using Claim = Windows::Claim;

constexpr ClientId kClient{1, 2};
const Windows::Waiter kNobody = [](const Windows::Outcome&) { FAIL(); };

Claim claim(Windows& w, uint64_t sequence, Windows::Outcome* outcome = nullptr) {
  Windows::Outcome ignored;
  return w.claim(kClient, sequence, outcome ? outcome : &ignored, kNobody);
}

TEST(Windows, ARequestIsAppliedOnce) {
  Windows w(seconds(60));
  EXPECT_EQ(claim(w, 1), Claim::unknown_client);
  ASSERT_TRUE(w.hello(kClient));
  EXPECT_EQ(claim(w, 1), Claim::fresh);
  w.applied(kClient, 1, 17, 5);
  Windows::Outcome outcome;
  EXPECT_EQ(claim(w, 1, &outcome), Claim::applied);
  EXPECT_EQ(outcome.position, 17u);
  EXPECT_EQ(outcome.number, 5u);
  EXPECT_EQ(claim(w, 0), Claim::too_old);
  EXPECT_EQ(claim(w, UINT64_MAX), Claim::too_old);
}

TEST(Windows, OthersWaitForTheFirstAttempt) {
  Windows w(seconds(60));
  w.hello(kClient);
  ASSERT_EQ(claim(w, 3), Claim::fresh);
  Windows::Outcome got, ignored;
  int calls = 0;
  const auto waiter = [&](const Windows::Outcome& o) {
    got = o;
    ++calls;
  };
  EXPECT_EQ(w.claim(kClient, 3, &ignored, waiter), Claim::waiting);
  EXPECT_EQ(w.claim(kClient, 3, &ignored, waiter), Claim::waiting);
  for (const auto& go : w.applied(kClient, 3, 8)) go({{}, 8, 0});
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(got.position, 8u);
}

TEST(Windows, WhatIsBeingAppliedIsSavedAndNotAnswered) {
  Windows w(seconds(60));
  w.hello(kClient);
  ASSERT_EQ(claim(w, 1), Claim::fresh);
  w.applying(kClient, 1, 7);
  Windows::Outcome got;
  const auto waiter = [&](const Windows::Outcome& o) { got = o; };
  Windows::Outcome outcome;
  EXPECT_EQ(w.claim(kClient, 1, &outcome, waiter), Claim::waiting);

  Windows next(seconds(60));
  const std::string state = w.save();
  next.load(std::as_bytes(std::span(state)));
  EXPECT_EQ(claim(next, 1, &outcome), Claim::applied);
  EXPECT_EQ(outcome.number, 7u);

  const auto waiters = w.applied(kClient, 1, 0, 7);
  ASSERT_EQ(waiters.size(), 1u);
  waiters[0]({{}, 0, 7});
  EXPECT_EQ(got.number, 7u);
  EXPECT_EQ(claim(w, 1, &outcome), Claim::applied);
}

TEST(Windows, AnAbandonedRequestMayComeAgain) {
  Windows w(seconds(60));
  w.hello(kClient);
  ASSERT_EQ(claim(w, 1), Claim::fresh);
  EXPECT_TRUE(w.abandoned(kClient, 1).empty());
  EXPECT_EQ(claim(w, 1), Claim::fresh);
}

TEST(Windows, KnowsTheLastOnesInAnyOrder) {
  Windows w(seconds(60));
  w.hello(kClient);
  const uint64_t n = 3 * Windows::kWidth;
  for (uint64_t s = n; s > n - Windows::kWidth; --s) {
    ASSERT_EQ(claim(w, s), Claim::fresh) << s;
    if (s % 3)
      w.applied(kClient, s, s);
    else
      w.abandoned(kClient, s);
  }
  for (uint64_t s = n; s > n - Windows::kWidth; --s)
    ASSERT_EQ(claim(w, s), s % 3 ? Claim::applied : Claim::fresh) << s;
  EXPECT_EQ(claim(w, n - Windows::kWidth), Claim::too_old);
  // A leap forgets all that it leaves behind, and nothing looks applied that was not.
  ASSERT_EQ(claim(w, 10 * n), Claim::fresh);
  EXPECT_EQ(claim(w, n), Claim::too_old);
  for (uint64_t s = 10 * n - Windows::kWidth + 1; s < 10 * n; ++s)
    ASSERT_EQ(claim(w, s), Claim::fresh) << s;
}

TEST(Windows, OneThatLeftTheWindowWhileItRan) {
  Windows w(seconds(60));
  w.hello(kClient);
  ASSERT_EQ(claim(w, 1), Claim::fresh);
  ASSERT_EQ(claim(w, 1 + Windows::kWidth), Claim::fresh);
  w.applied(kClient, 1, 1);
  // The same place in the ring is another request's.
  EXPECT_TRUE(w.abandoned(kClient, 1 + Windows::kWidth).empty());
  EXPECT_EQ(claim(w, 1 + Windows::kWidth), Claim::fresh);
}

TEST(Windows, SavedAndLoaded) {
  Windows w(seconds(60));
  w.hello(kClient);
  w.hello({9, 9});
  for (uint64_t s = 1; s <= 5000; ++s) {
    ASSERT_EQ(claim(w, s), Claim::fresh);
    if (s % 2)
      w.applied(kClient, s, s, s);
    else
      w.abandoned(kClient, s);
  }
  ASSERT_EQ(claim(w, 5001), Claim::fresh);  // running: not in the state
  const std::string state = w.save();
  Windows other(seconds(60));
  other.load(std::as_bytes(std::span(state)));
  EXPECT_EQ(other.clients(), 2u);
  Windows::Outcome outcome;
  for (uint64_t s = 5000 - Windows::kWidth + 2; s <= 5000; ++s)
    ASSERT_EQ(claim(other, s, &outcome), s % 2 ? Claim::applied : Claim::fresh) << s;
  EXPECT_EQ(claim(other, 4999, &outcome), Claim::applied);
  EXPECT_EQ(outcome.number, 4999u);
  EXPECT_EQ(claim(other, 5001), Claim::fresh);
  for (size_t n : {size_t{1}, state.size() / 2, state.size() - 1})
    EXPECT_THROW(other.load(std::as_bytes(std::span(state).first(n))), Error);
}

TEST(Windows, ReplayMakesThem) {
  Windows w(seconds(60));
  for (uint64_t s : {3, 1, 2, 2}) w.replayed(kClient, s, 0);
  for (uint64_t s : {1, 2, 3}) EXPECT_EQ(claim(w, s), Claim::applied);
  EXPECT_EQ(claim(w, 4), Claim::fresh);
}

TEST(Windows, SilentClientsAreForgotten) {
  Windows w(seconds(0));
  w.hello(kClient);
  ASSERT_EQ(claim(w, 1), Claim::fresh);
  std::this_thread::sleep_for(std::chrono::milliseconds(2));
  w.expire();
  EXPECT_TRUE(w.known(kClient));  // its request is running
  w.applied(kClient, 1, 1);
  w.expire();
  EXPECT_FALSE(w.known(kClient));
  EXPECT_EQ(claim(w, 1), Claim::unknown_client);
}

TEST(Windows, ThereIsARoomForSoMany) {
  constexpr uint64_t kMost = 65536;
  Windows w(seconds(60), kMost);
  for (uint64_t i = 0; i < kMost; ++i) ASSERT_TRUE(w.hello({7, i}));
  EXPECT_FALSE(w.hello(kClient));
  EXPECT_TRUE(w.hello({7, 0}));
}

// Threads send the same requests at once; each must be fresh for one of them.
TEST(Windows, ConcurrentAttempts) {
  Windows w(seconds(60));
  w.hello(kClient);
  constexpr int kThreads = 4, kRequests = 2000;
  std::atomic<int> fresh{0}, answered{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (uint64_t s = 1; s <= kRequests; ++s) {
        Windows::Outcome outcome;
        switch (w.claim(kClient, s, &outcome, [&](const auto&) { ++answered; })) {
          case Claim::fresh:
            ++fresh;
            for (const auto& go : w.applied(kClient, s, s)) go({{}, s, 0});
            ++answered;
            break;
          case Claim::applied:
            ++answered;
            break;
          default:
            break;
        }
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(fresh, kRequests);
  EXPECT_EQ(answered, kThreads * kRequests);
}

}  // namespace
}  // namespace argosy::ps
