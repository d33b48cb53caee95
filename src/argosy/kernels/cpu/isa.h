#pragma once

#include "argosy/base/export.h"

// Which build of the files in simd/ runs. Every figure that these files compute elementwise is the
// same in both, bit for bit; sums may differ in the last places.
namespace argosy::cpu {

enum class Isa : unsigned char { avx2, avx512 };

// The best of what base/cpu.h reports.
ARGOSY_API Isa isa();
ARGOSY_API bool has_isa(Isa isa);
// For tests that visit each; the machine must have it. Not thread safe.
ARGOSY_API void set_isa(Isa isa);

}  // namespace argosy::cpu
