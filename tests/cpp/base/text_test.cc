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

TEST(Text, NestedDeeper) {
  EXPECT_FALSE(nested_deeper("", 0));
  EXPECT_FALSE(nested_deeper(R"({"a": [1, {"b": []}], "c": [[]]})", 4));
  EXPECT_TRUE(nested_deeper(R"({"a": [1, {"b": []}], "c": [[]]})", 3));
  EXPECT_FALSE(nested_deeper(R"(["[[[", "\"[[[", "\\", "[[["])", 1));
  EXPECT_TRUE(nested_deeper(R"(["\\", [1]])", 1));
  EXPECT_TRUE(nested_deeper(std::string(1'000'000, '['), 500));
  EXPECT_FALSE(nested_deeper("]]][", 1));
  EXPECT_FALSE(nested_deeper(R"(["\)", 1));
}

}  // namespace
}  // namespace argosy
