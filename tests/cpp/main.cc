#include <gtest/gtest.h>

#include <cstdio>

// gtest's own main() is content when a filter, misspelt or outdated, selects no test, and when it
// does not know an argument.
int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc > 1) {
    std::fprintf(stderr, "tests: unknown argument '%s'\n", argv[1]);
    return 2;
  }
  const int status = RUN_ALL_TESTS();
  if (testing::UnitTest::GetInstance()->test_to_run_count() > 0) return status;
  std::fprintf(stderr, "tests: no test was selected, so nothing was tested\n");
  return 2;
}
