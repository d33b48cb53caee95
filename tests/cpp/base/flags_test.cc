#include "argosy/base/flags.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <sstream>
#include <string>

#include "argosy/base/error.h"
#include "argosy/base/log.h"

namespace argosy::flags {
namespace {

void expect_error(ErrorKind kind, const std::string& text, const std::function<void()>& call) {
  try {
    call();
    FAIL() << "no error: " << text;
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind);
    EXPECT_EQ(std::string(e.what()), text);
  }
}

TEST(FlagsTest, SetAndGet) {
  Flag& flag = find("FLAGS_check_nan_inf");
  EXPECT_EQ(flag.type(), Type::boolean);
  EXPECT_FALSE(flag.boolean());
  for (Value yes : {Value(true), Value(int64_t{1}), Value(2.5), Value("on"), Value("TRUE")}) {
    flag.set(yes);
    EXPECT_TRUE(flag.boolean());
    EXPECT_EQ(flag.get(), Value(true));
    flag.set(Value("off"));
    EXPECT_EQ(flag.get(), Value(false));
  }
  Flag& real = find("FLAGS_eager_delete_tensor_gb");
  real.set(Value(int64_t{2}));
  EXPECT_EQ(real.get(), Value(2.0));
  real.set(real.initial());
  Flag& text = find("FLAGS_selected_gpus");
  text.set(Value("0,1"));
  EXPECT_EQ(text.text(), "0,1");
  text.set(text.initial());
  Flag& integer = find("FLAGS_call_stack_level");
  integer.set(Value(2.0));
  EXPECT_EQ(integer.integer(), 2);
  integer.set(integer.initial());
}

TEST(FlagsTest, WhatDoesNotFitIsRefused) {
  expect_error(
      ErrorKind::type,
      "[set_flags] FLAGS_check_nan_inf expects a value of type bool, got 'abc' of type str.",
      [] { find("FLAGS_check_nan_inf").set(Value("abc")); });
  expect_error(ErrorKind::type,
               "[set_flags] FLAGS_call_stack_level expects a value of type int, got '1.5' of type "
               "float.",
               [] { find("FLAGS_call_stack_level").set(Value(1.5)); });
  expect_error(ErrorKind::type,
               "[set_flags] FLAGS_selected_gpus expects a value of type str, got '3' of type int.",
               [] { find("FLAGS_selected_gpus").set(Value(int64_t{3})); });
  expect_error(ErrorKind::invalid_argument,
               "[set_flags] ARGOSY_ISA is read once, when the process starts. Do this: set the "
               "environment variable before. (Widest instruction set to use: avx2, avx512, "
               "avx512_vnni, avx512_bf16, amx; empty: all.)",
               [] { find("ARGOSY_ISA").set(Value("avx2")); });
}

TEST(FlagsTest, UnknownNamesListSimilarOnes) {
  expect_error(ErrorKind::not_found,
               "[flags] there is no flag 'FLAGS_check_nan_in'. Did you mean FLAGS_check_nan_inf? "
               "Do this: take a name from docs/flags.md.",
               [] { find("FLAGS_check_nan_in"); });
  expect_error(
      ErrorKind::not_found,
      "[flags] there is no flag 'use_onednnn'. Did you mean FLAGS_use_onednn? Do this: take "
      "a name from docs/flags.md.",
      [] { find("use_onednnn"); });
  expect_error(ErrorKind::not_found,
               "[flags] there is no flag 'zzzz'. Do this: take a name from docs/flags.md.",
               [] { find("zzzz"); });
}

TEST(FlagsTest, OneParserForAll) {
  for (const char* no : {"", "0", "false", "False", "OFF", "no"}) {
    EXPECT_EQ(parse(no, Type::boolean), Value(false)) << no;
  }
  for (const char* yes : {"1", "true", "On", "YES"}) {
    EXPECT_EQ(parse(yes, Type::boolean), Value(true)) << yes;
  }
  EXPECT_EQ(parse("2", Type::boolean), std::nullopt);
  EXPECT_EQ(parse("-12", Type::integer), Value(int64_t{-12}));
  EXPECT_EQ(parse("12x", Type::integer), std::nullopt);
  EXPECT_EQ(parse("1e-3", Type::real), Value(1e-3));
  EXPECT_EQ(parse("", Type::real), std::nullopt);
  EXPECT_EQ(parse("x y", Type::text), Value("x y"));
}

TEST(FlagsTest, TheEnvironmentIsReadOnce) {
  setenv("FLAGS_made_up_1", "off", 1);
  setenv("FLAGS_made_up_2", "17", 1);
  setenv("FLAGS_made_up_3", "many", 1);
  EXPECT_FALSE(Flag("FLAGS_made_up_1", true, Effect::live, "").boolean());
  EXPECT_EQ(Flag("FLAGS_made_up_2", int64_t{3}, Effect::live, "").integer(), 17);
  testing::internal::CaptureStderr();
  EXPECT_EQ(Flag("FLAGS_made_up_3", int64_t{3}, Effect::live, "").integer(), 3);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "argosy warning: the environment's FLAGS_made_up_3=many is no int; using 3\n");
}

TEST(FlagsTest, EachIsListedOnceAndExplained) {
  std::set<std::string> names;
  for (const Flag& flag : all()) {
    std::string name = flag.name();
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(name.starts_with("FLAGS_") || name.starts_with("ARGOSY_")) << name;
    EXPECT_GT(std::string(flag.doc()).size(), 10u) << name;
  }
}

// To regenerate the page: test_base --gtest_filter='*PageListsThem' writes what it should hold to
// flags.md of the working directory when they differ.
TEST(FlagsTest, ThePageListsThem) {
  namespace fs = std::filesystem;
  fs::path folder = fs::current_path();
  while (!fs::exists(folder / "docs" / "flags.md") && folder != folder.parent_path()) {
    folder = folder.parent_path();
  }
  std::ifstream file(folder / "docs" / "flags.md");
  if (!file) GTEST_SKIP() << "not inside the source tree";
  std::stringstream page;
  page << file.rdbuf();
  if (page.str().find(markdown()) == std::string::npos) {
    std::ofstream("flags.md") << markdown();
    FAIL() << "docs/flags.md is not up to date: put in the table of ./flags.md";
  }
}

TEST(LogTest, LevelsAndLines) {
  testing::internal::CaptureStderr();
  int evaluated = 0;
  log::set_level(log::Level::warning);
  ARGOSY_LOG(warning) << "low on " << ++evaluated << " thing";
  ARGOSY_LOG(info) << "not shown " << ++evaluated;
  if (evaluated == 0)
    ARGOSY_LOG(error) << "never";
  else
    evaluated += 10;
  log::set_level(log::Level::debug);
  ARGOSY_LOG(debug) << "shown";
  log::set_level(log::Level::warning);
  EXPECT_EQ(testing::internal::GetCapturedStderr(),
            "argosy warning: low on 1 thing\nargosy debug: shown\n");
  EXPECT_EQ(evaluated, 11);
}

}  // namespace
}  // namespace argosy::flags
