#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

// tests/cpp/main.cc: what a run gives back.
namespace argosy {
namespace {

int run(const std::string& arguments) {
  char self[4096] = {};
  EXPECT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  const std::string command =
      "'" + std::string(self) + "' --gtest_output= " + arguments + " >/dev/null 2>&1";
  return WEXITSTATUS(std::system(command.c_str()));
}

TEST(Main, AFilterThatSelectsNoTestFails) {
  EXPECT_EQ(run("--gtest_filter=TextTest.Bytes"), 0);
  EXPECT_EQ(run("--gtest_filter=TextTest.Bites"), 2);
  EXPECT_EQ(run("--gtest_filter=-*"), 2);
}

TEST(Main, UnknownArgumentsFail) {
  EXPECT_EQ(run("--gtest_filter=TextTest.Bytes --filter=Text"), 2);
  EXPECT_EQ(run("--gtest_filtre=TextTest.Bytes"), 2);
}

}  // namespace
}  // namespace argosy
