#pragma once

#include <cstdint>

// Products of float32 that read a large matrix for few rows, or make one from a short sum: there a
// library spends as long on packing operands as on multiplying them; and those of many rows where a
// library steps through memory badly. Private to kernels/cpu.
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
  // Then: c + bias [n], and what is less than 0 becomes 0. Not by rows_of_b.
  const float* bias = nullptr;
  bool relu = false;
};

enum class PanelWay : uint8_t {
  none,
  few_rows,    // of op(A): B is read once, as it stands
  rows_of_b,   // few of op(A), and B transposed: its rows give columns of C
  short_sums,  // C is what takes time
  copied,      // panels of B, for many rows
};

// The fastest way to compute a product of this form by panels; none: a library is faster. To be
// asked of a whole product, whose tiles go the same way: sums are rounded otherwise in others.
PanelWay panel_way(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k);

// On the calling thread. How an element is summed up depends on the way and k alone, so a product
// has the bits of its tiles. REQUIRES: a way, other than none, of a product that g is a tile of.
void panel_gemm(PanelWay way, const FloatProduct& g);

}  // namespace argosy::cpu
