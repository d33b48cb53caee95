#include "argosy/base/text.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

TEST(Text, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0u);
  EXPECT_EQ(edit_distance("", "abc"), 3u);
  EXPECT_EQ(edit_distance("abc", ""), 3u);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3u);
  EXPECT_EQ(edit_distance("flaw", "lawn"), 2u);
  EXPECT_EQ(edit_distance("Relu", "relu"), 1u);
  EXPECT_EQ(edit_distance("Relu", "rELU", true), 0u);
}

}  // namespace
}  // namespace argosy
