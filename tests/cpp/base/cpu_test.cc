#include "argosy/base/cpu.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "argosy/base/text.h"

namespace argosy::cpu {
namespace {

TEST(CpuTest, FeaturesAgreeWithTheCompilersView) {
  const Features& f = features();
  __builtin_cpu_init();
  if (!std::getenv("ARGOSY_ISA")) {
    EXPECT_EQ(f.avx2, !!__builtin_cpu_supports("x86-64-v3"));
    EXPECT_EQ(f.avx512, !!__builtin_cpu_supports("x86-64-v4"));
    EXPECT_EQ(f.avx512_vnni, f.avx512 && __builtin_cpu_supports("avx512vnni"));
    EXPECT_EQ(f.avx512_bf16, f.avx512_vnni && __builtin_cpu_supports("avx512bf16"));
  }
  EXPECT_NO_THROW(require_baseline());
  EXPECT_EQ(features_text().substr(0, 4), "avx2");
}

TEST(CpuTest, TheEnvironmentCapsThem) {
  char self[4096] = {};
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof(self) - 1), 0);
  auto run = [&](const std::string& isa) {
    std::string command = "ARGOSY_ISA=" + isa + " '" + self +
                          "' --gtest_filter=CpuTest.InAChild --gtest_output= >/dev/null 2>&1";
    return std::system(command.c_str());
  };
  EXPECT_EQ(run("avx2"), 0);
  EXPECT_EQ(run("typo"), 0);
}
// Run by the test above.
TEST(CpuTest, InAChild) {
  const char* isa = std::getenv("ARGOSY_ISA");
  if (!isa) GTEST_SKIP() << "needs ARGOSY_ISA";
  if (std::string(isa) == "avx2") {
    EXPECT_EQ(features_text(), "avx2");
  } else {
    EXPECT_ANY_THROW(features());
  }
}

TEST(CpuTest, CoresRespectTheAffinity) {
  cpu_set_t all, one;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  EXPECT_GE(available_cores(), 1);
  EXPECT_LE(available_cores(), CPU_COUNT(&all));
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) {
      CPU_SET(i, &one);
      break;
    }
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_cores(), 1);
  sched_setaffinity(0, sizeof(all), &all);
}

TEST(CpuTest, MemoryIsPlausible) {
  EXPECT_GT(available_memory(), uint64_t{64} << 20);
  EXPECT_LT(available_memory(), uint64_t{1} << 56);
}

TEST(TextTest, Bytes) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1023), "1023 bytes");
  EXPECT_EQ(bytes_text(1536), "1.50 KiB");
  EXPECT_EQ(bytes_text(size_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(bytes_text(SIZE_MAX), "16.00 EiB");
}

}  // namespace
}  // namespace argosy::cpu
