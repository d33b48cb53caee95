#include "argosy/base/error.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

int half(int x) {
  ARGOSY_CHECK(x % 2 == 0, invalid_argument) << "[half] expected an even number, got " << x << '.';
  return x / 2;
}

TEST(ErrorTest, CarriesKindAndText) {
  EXPECT_EQ(half(4), 2);
  try {
    half(3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::invalid_argument);
    EXPECT_STREQ(e.what(), "[half] expected an even number, got 3.");
  }
}

TEST(ErrorTest, ChecksNestInIfWithoutBraces) {
  bool reached_else = false;
  if (half(2) == 1)
    ARGOSY_CHECK(true, runtime) << "never";
  else
    reached_else = true;
  EXPECT_FALSE(reached_else);
}

TEST(ErrorTest, MessagesPrintNumbers) {
  Message m;
  m << 1 << ' ' << -2L << ' ' << 3u << ' ' << 18446744073709551615ull << ' ' << 0.1 << ' ' << true
    << ' ' << std::string("s");
  EXPECT_EQ(m.str(), "1 -2 3 18446744073709551615 0.1 True s");
}

TEST(ErrorTest, InvariantsNameTheLine) {
  try {
    ARGOSY_INVARIANT(1 + 1 == 3);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::internal);
    EXPECT_NE(std::string(e.what()).find("`1 + 1 == 3` does not hold at"), std::string::npos);
  }
}

}  // namespace
}  // namespace argosy
