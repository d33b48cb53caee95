#pragma once

#include <cstdint>

#include "argosy/kernels/cpu/gemm.h"

// Products of bfloat16 by the processor's own instructions, through oneDNN. Private to kernels/cpu.
namespace argosy::cpu {

// C = op(A) * op(B), accumulated in float32, then bias and relu; as gemm(), on the calling thread.
struct Bf16Product {
  int64_t trans_a = 0, trans_b = 0, m = 0, n = 0, k = 0, lda = 0, ldb = 0, ldc = 0;
  int64_t bias = 0, relu = 0;  // whether there is one
  int64_t wide = 0;            // C is float32
};

// Whether this machine has such instructions and the library code for the shape, which is made and
// kept at the first question.
bool has_bf16_product(const Bf16Product& product);

// REQUIRES: has_bf16_product(product).
void run_bf16_product(const Bf16Product& product, const void* a, const void* b, const void* bias,
                      void* c);

}  // namespace argosy::cpu
