#pragma once

#include <cstdint>

namespace argosy::cpu {

// target[c * target_ld + r] = source[r * source_ld + c]; leading dimensions in items.
using Transpose = void (*)(void* target, int64_t target_ld, const void* source, int64_t source_ld,
                           int64_t rows, int64_t cols);
struct CopyKernels {
  Transpose transpose[5];  // by log2 of the item size
};
namespace avx2 {
extern const CopyKernels copy_kernels;
}
namespace avx512 {
extern const CopyKernels copy_kernels;
}

// For items of 1, 2, 4, 8 or 16 bytes, of the instruction set that runs.
Transpose transpose_kernel(int item_size);

}  // namespace argosy::cpu
