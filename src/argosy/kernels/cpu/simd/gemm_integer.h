#pragma once

#include <stdint.h>

// Products of integer matrices, compiled once per instruction set.
namespace argosy::cpu {

// C += alpha A B, modulo 2 to the width of `item` bytes; row-major.
struct IntegerProduct {
  int64_t item;
  bool trans_a, trans_b;
  int64_t m, n, k;
  int64_t alpha;
  const void* a;
  int64_t lda;
  const void* b;
  int64_t ldb;
  void* c;
  int64_t ldc;
};

namespace avx2 {
void integer_gemm(const IntegerProduct& p);
}
namespace avx512 {
void integer_gemm(const IntegerProduct& p);
}

}  // namespace argosy::cpu
