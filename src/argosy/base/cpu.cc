#include "argosy/base/cpu.h"

#include <cpuid.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#include "argosy/base/error.h"
#include "argosy/base/flags.h"

namespace argosy::cpu {
namespace {

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

Leaf leaf(uint32_t number, uint32_t sub = 0) {
  Leaf l;
  if (__get_cpuid_max(0, nullptr) >= number) {
    __cpuid_count(number, sub, l.eax, l.ebx, l.ecx, l.edx);
  }
  return l;
}

// Which register states the operating system saves.
uint64_t saved_registers() {
  if (!(leaf(1).ecx >> 27 & 1)) return 0;
  uint32_t low, high;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

// Linux hands out the AMX tile registers on request only.
bool request_tiles() {
  constexpr long kArchReqXcompPerm = 0x1023, kTileData = 18;
  return syscall(SYS_arch_prctl, kArchReqXcompPerm, kTileData) == 0;
}

Features detect() {
  Features f;
  Leaf l1 = leaf(1), l7 = leaf(7), l71 = leaf(7, 1);
  uint64_t saved = saved_registers();
  auto all = [](uint32_t word, std::initializer_list<int> bits) {
    return std::all_of(bits.begin(), bits.end(), [=](int b) { return word >> b & 1; });
  };
  bool ymm = (saved & 0x6) == 0x6, zmm = (saved & 0xe6) == 0xe6;
  bool tiles = (saved & 0x60000) == 0x60000;
  // ecx: FMA, MOVBE, POPCNT, AVX, F16C; ebx: BMI1, AVX2, BMI2.
  f.avx2 = ymm && all(l1.ecx, {12, 22, 23, 28, 29}) && all(l7.ebx, {3, 5, 8});
  f.avx512 = f.avx2 && zmm && all(l7.ebx, {16, 17, 28, 30, 31});
  f.avx512_vnni = f.avx512 && all(l7.ecx, {11});
  f.avx512_bf16 = f.avx512_vnni && all(l71.eax, {5});
  f.avx512_fp16 = f.avx512_bf16 && all(l7.edx, {23});
  bool amx = f.avx512_bf16 && tiles && all(l7.edx, {24}) && request_tiles();
  f.amx_bf16 = amx && all(l7.edx, {22});
  f.amx_int8 = amx && all(l7.edx, {25});
  return f;
}

Features capped(Features f) {
  std::string text = flags::find("ARGOSY_ISA").text();
  if (text.empty()) return f;
  constexpr std::string_view kLevels[] = {"avx2", "avx512", "avx512_vnni", "avx512_bf16", "amx"};
  auto found = std::find(std::begin(kLevels), std::end(kLevels), text);
  ARGOSY_CHECK(found != std::end(kLevels), invalid_argument)
      << "[ARGOSY_ISA] unknown instruction set '" << text
      << "'. Do this: set it to one of avx2, avx512, avx512_vnni, avx512_bf16, amx, or unset it.";
  auto level = found - std::begin(kLevels);
  if (level < 1) f.avx512 = false;
  if (level < 2) f.avx512_vnni = false;
  if (level < 3) f.avx512_bf16 = f.avx512_fp16 = false;
  if (level < 4) f.amx_bf16 = f.amx_int8 = false;
  return f;
}

// The first numbers of a small file; returns how many there are. "max" reads as none.
int read_numbers(const char* path, double* a, double* b = nullptr) {
  FILE* file = std::fopen(path, "re");
  if (!file) return 0;
  double ignored;
  int count = std::fscanf(file, "%lf %lf", a, b ? b : &ignored);
  std::fclose(file);
  return std::max(count, 0);
}

double container_cpu_quota() {
  double quota, period;
  if (read_numbers("/sys/fs/cgroup/cpu.max", &quota, &period) == 2 && period > 0) {
    return quota / period;
  }
  if (read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", &quota) && quota > 0 &&
      read_numbers("/sys/fs/cgroup/cpu/cpu.cfs_period_us", &period) && period > 0) {
    return quota / period;
  }
  return 0;
}

}  // namespace

const Features& features() {
  static const Features f = capped(detect());
  return f;
}

std::string features_text() {
  const Features& f = features();
  std::string text;
  auto add = [&](bool has, const char* name) {
    if (has) text.append(text.empty() ? "" : " ").append(name);
  };
  add(f.avx2, "avx2");
  add(f.avx512, "avx512");
  add(f.avx512_vnni, "avx512_vnni");
  add(f.avx512_bf16, "avx512_bf16");
  add(f.avx512_fp16, "avx512_fp16");
  add(f.amx_bf16, "amx_bf16");
  add(f.amx_int8, "amx_int8");
  return text;
}

void require_baseline() {
  ARGOSY_CHECK(features().avx2, runtime)
      << "Argosy needs an x86-64 CPU with AVX2, FMA and F16C (Intel since Haswell, AMD since "
         "Excavator), which this one does not offer. Do this: in a virtual machine, let the host's "
         "CPU features through (-cpu host).";
}

int available_cores() {
  int cores = 0;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) cores = CPU_COUNT(&mask);
  if (cores == 0) cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));  // above 1024 CPUs
  double quota = container_cpu_quota();
  if (quota > 0) cores = std::min(cores, static_cast<int>(std::ceil(quota)));
  return std::max(cores, 1);
}

uint64_t available_memory() {
  struct sysinfo info = {};
  sysinfo(&info);
  uint64_t bytes = (static_cast<uint64_t>(info.totalram) + info.totalswap) * info.mem_unit;
  double limit, swap;
  if (read_numbers("/sys/fs/cgroup/memory.max", &limit)) {
    if (!read_numbers("/sys/fs/cgroup/memory.swap.max", &swap)) {
      swap = static_cast<double>(info.totalswap) * info.mem_unit;
    }
    bytes = std::min(bytes, static_cast<uint64_t>(limit + swap));
  } else if (read_numbers("/sys/fs/cgroup/memory/memory.limit_in_bytes", &limit) && limit < 9e18) {
    bytes = std::min(bytes, static_cast<uint64_t>(limit));
  }
  return bytes;
}

}  // namespace argosy::cpu
