#include "tests/cpp/kernels/each_isa.h"

#include <vector>

namespace argosy::cpu {
namespace {

// ctest runs it once more, alone, where a skip shows: see cmake/tests.cmake.
TEST(EachIsa, Avx512IsTested) {
  std::vector<Isa> visited;
  for_each_isa([&] { visited.push_back(isa()); });
  if (const char* why = why_not(Isa::avx512)) {
    EXPECT_EQ(visited, std::vector<Isa>{Isa::avx2});
    GTEST_SKIP() << "the AVX-512 kernels were not tested: " << why;
  }
  EXPECT_EQ(visited, (std::vector<Isa>{Isa::avx2, Isa::avx512}));
}

}  // namespace
}  // namespace argosy::cpu
