#include "argosy/ps/service/fault.h"

#include <gtest/gtest.h>

#include "argosy/base/error.h"

namespace argosy::ps {
namespace {

TEST(Faults, NoneUnlessAsked) {
  EXPECT_EQ(Faults::parse("", 1), nullptr);
}

TEST(Faults, ChancesAreKept) {
  const auto faults = Faults::parse("seed=3,lose=0.2,double=0.1,delay=0.3,delay_ms=40", 1);
  int requests = 0, answers = 0, twice = 0, delayed = 0;
  constexpr int kDraws = 20'000;
  for (int i = 0; i < kDraws; ++i) {
    const Faults::Fate f = faults->draw();
    requests += f.lose_request;
    answers += f.lose_answer;
    twice += f.twice;
    delayed += f.delay.count() > 0;
    EXPECT_LE(f.delay.count(), 40);
  }
  EXPECT_NEAR(requests, 0.1 * kDraws, 300);
  EXPECT_NEAR(answers, 0.1 * kDraws, 300);
  EXPECT_NEAR(twice, 0.1 * kDraws, 300);
  EXPECT_NEAR(delayed, 0.3 * kDraws, 600);
}

TEST(Faults, ASeedIsASequence) {
  const auto draws = [](std::string_view text, uint64_t salt) {
    const auto faults = Faults::parse(text, salt);
    std::string all;
    for (int i = 0; i < 200; ++i) all += faults->draw().twice ? '1' : '0';
    return all;
  };
  EXPECT_EQ(draws("seed=3,all=0.5", 1), draws("seed=3,all=0.5", 1));
  EXPECT_NE(draws("seed=3,all=0.5", 1), draws("seed=4,all=0.5", 1));
  EXPECT_NE(draws("seed=3,all=0.5", 1), draws("seed=3,all=0.5", 2));
}

TEST(Faults, OtherTextsAreErrors) {
  for (const char* text : {"lose", "lose=", "lose=2", "lose=-1", "lose=x", "rain=1", "lose=0.1;"})
    EXPECT_THROW(Faults::parse(text, 1), Error) << text;
}

}  // namespace
}  // namespace argosy::ps
