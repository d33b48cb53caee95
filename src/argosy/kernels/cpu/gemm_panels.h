#pragma once

#include <cstdint>

// Products of float32 that read a large matrix for few rows, or make one from a short sum: there a
// library spends as long on packing operands as on multiplying them. Private to kernels/cpu.
namespace argosy::cpu {

// C[m, n] = op(A)[m, k] * op(B)[k, n], row major, rows lda, ldb and ldc apart.
struct FloatProduct {
  bool trans_a, trans_b;
  int64_t m, n, k;
  const float* a;
  int64_t lda;
  const float* b;
  int64_t ldb;
  float* c;
  int64_t ldc;
  // Then: c + bias [n], and what is less than 0 becomes 0. Not where few rows meet a transposed B.
  const float* bias = nullptr;
  bool relu = false;
};

// Whether panel_gemm() is the fastest way to compute a product of this form. To be asked of a whole
// product, not of its tiles: sums are rounded otherwise elsewhere.
bool prefers_panels(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k);

// On the calling thread. How an element is summed up depends on k and trans_b alone, so a product
// has the bits of its tiles.
void panel_gemm(const FloatProduct& g);

}  // namespace argosy::cpu
