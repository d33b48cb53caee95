#include "argosy/streamed/mirror.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

namespace argosy::streamed {
namespace {

// What a system call says of an address: 0 or the error.
int read_by_system(const char* at) {
  std::array<int, 2> ends;
  EXPECT_EQ(pipe(ends.data()), 0);
  const int error = write(ends[1], at, 1) == 1 ? 0 : errno;
  close(ends[0]);
  close(ends[1]);
  return error;
}

TEST(Mirror, OnlyTheAliasCanBeUsed) {
  Mirror mirror(64 * Mirror::kPage);
  char* face = mirror.open(Mirror::kPage);
  ASSERT_NE(face, nullptr);
  EXPECT_TRUE(mirror.has(face));
  EXPECT_FALSE(mirror.has(&mirror));
  EXPECT_EQ(read_by_system(face), EFAULT);
  EXPECT_EQ(read_by_system(mirror.alias(face)), 0);
  mirror.alias(face)[5] = 7;
  EXPECT_EQ(mirror.alias(face + 5)[0], 7);
  EXPECT_DEATH(static_cast<volatile char*>(face)[0] = 1, "");
}

TEST(Mirror, WhatIsClosedStaysClosed) {
  Mirror mirror(4 * Mirror::kPage);
  char* first = mirror.open(Mirror::kPage);
  mirror.close(first, Mirror::kPage);
  EXPECT_EQ(read_by_system(mirror.alias(first)), EFAULT);
  // Until no other address is left.
  for (int i = 0; i < 3; ++i) EXPECT_NE(mirror.open(Mirror::kPage), first);
  EXPECT_EQ(read_by_system(mirror.alias(first)), EFAULT);
  EXPECT_EQ(mirror.open(Mirror::kPage), first);
  EXPECT_EQ(read_by_system(mirror.alias(first)), 0);
  EXPECT_EQ(mirror.open(Mirror::kPage), nullptr);
}

TEST(Mirror, NewMemoryHoldsNaN) {
  Mirror mirror(4 * Mirror::kPage);
  const char* face = mirror.open(Mirror::kPage);
  const float x = *reinterpret_cast<const float*>(mirror.alias(face));
  EXPECT_NE(x, x);
}

}  // namespace
}  // namespace argosy::streamed
