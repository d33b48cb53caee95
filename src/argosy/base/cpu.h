#pragma once

#include <cstdint>
#include <string>

#include "argosy/base/export.h"

// What the processor and the machine offer.
namespace argosy::cpu {

// What kernels may use: the CPU has it, the operating system saves its registers, and ARGOSY_ISA
// allows it.
struct Features {
  bool avx2 = false;         // with FMA, F16C, BMI2: the baseline everything is compiled for
  bool avx512 = false;       // F, BW, CD, DQ, VL
  bool avx512_vnni = false;  // 8-bit dot products
  bool avx512_bf16 = false;
  bool avx512_fp16 = false;
  bool amx_bf16 = false;
  bool amx_int8 = false;
};

// ARGOSY_ISA=avx2|avx512|avx512_vnni|avx512_bf16|amx caps what is reported (each includes the ones
// before it), for tests; it never adds what the CPU lacks.
ARGOSY_API const Features& features();
ARGOSY_API std::string features_text();  // "avx2 avx512 avx512_vnni"

// Throws ErrorKind::runtime where the CPU lacks the baseline. Call it first of all: code compiled
// for AVX2 dies from an illegal instruction there.
ARGOSY_API void require_baseline();

// Cores this process may use: its affinity mask, and the CPU quota of its container.
ARGOSY_API int available_cores();
// Bytes of memory and swap this process may ever use: the machine's, or its container's limit.
ARGOSY_API uint64_t available_memory();

}  // namespace argosy::cpu
