#include "argosy/base/json.h"

#include <gtest/gtest.h>

namespace argosy {
namespace {

std::string error_of(std::string_view text) {
  try {
    parse_json(text);
  } catch (const Json::exception& e) {
    return e.what();
  }
  return "none";
}

TEST(Json, FieldsByNameOrInTheOrderOfTheText) {
  const std::string_view text = R"({"b": [1, 2.5, null], "a": {"c": true}})";
  EXPECT_EQ(json_text(parse_json(text)), R"({"a":{"c":true},"b":[1,2.5,null]})");
  EXPECT_EQ(json_text(parse_json<OrderedJson>(text)), R"({"b":[1,2.5,null],"a":{"c":true}})");
}

TEST(Json, WhatIsNoneIsRefused) {
  for (const char* text : {"", "[1,]", "{\"a\" 1}", "[1] 2", "nan", "\"\xff\""})
    EXPECT_NE(error_of(text).find("parse_error"), std::string::npos) << text;
}

TEST(Json, SoIsWhatIsNestedTooDeep) {
  const auto nested = [](size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(error_of(nested(kJsonDepth)), "none");
  for (const std::string& text : {nested(kJsonDepth + 1), std::string(1'000'000, '[')})
    EXPECT_NE(error_of(text).find("nested deeper than 500"), std::string::npos);
}

TEST(Json, BytesThatAreNoTextAreReplaced) {
  EXPECT_EQ(json_text(Json("a\xff")), "\"a\xef\xbf\xbd\"");
}

TEST(Json, TheParserIsWatched) {
  std::string keys;
  parse_json(R"({"a": 1, "b": {"c": 2}})", [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::key) keys += parsed.get<std::string>();
    return true;
  });
  EXPECT_EQ(keys, "abc");
}

TEST(Json, NestedDeeper) {
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
