#include "argosy/kernels/cpu/gemm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "argosy/base/error.h"
#include "argosy/base/parallel.h"
#include "argosy/kernels/cpu/bits.h"
#include "argosy/kernels/cpu/gemm_bf16.h"
#include "argosy/kernels/cpu/gemm_blas.h"
#include "argosy/kernels/cpu/gemm_panels.h"
#include "argosy/kernels/cpu/isa.h"
#include "argosy/kernels/cpu/scratch.h"
#include "argosy/kernels/cpu/simd/gemm_integer.h"

namespace argosy::cpu {

namespace avx2 {
bool small_sgemm(bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                 int64_t, float, float*, int64_t);
void gelu_row(float* c, int64_t n);
}  // namespace avx2
namespace avx512 {
bool small_sgemm(bool, bool, int64_t, int64_t, int64_t, float, const float*, int64_t, const float*,
                 int64_t, float, float*, int64_t);
void gelu_row(float* c, int64_t n);
}  // namespace avx512

bool small_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                 const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                 int64_t ldc) {
  if (m * n * k > 32 * 1024 || m > 256 || n > 256 || k > 256) return false;
  auto* kernel = isa() == Isa::avx512 ? avx512::small_sgemm : avx2::small_sgemm;
  return kernel(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

namespace {

struct Product {
  DType dtype;
  bool trans_a, trans_b;
  int64_t m, n, k;
  double alpha;
  const char* a;
  int64_t lda;
  const char* b;
  int64_t ldb;
  double beta;
  char* c;
  int64_t ldc;
  const Epilogue* epilogue;
  PanelWay way = PanelWay::none;  // of its tiles, too, whatever their form

  int64_t item() const { return item_size(dtype); }
};

PanelWay way_of(const Product& p) {
  if (p.dtype != DType::float32 || p.alpha != 1 || p.beta != 0) return PanelWay::none;
  return panel_way(p.trans_a, p.trans_b, p.m, p.n, p.k);
}

// About what a core takes.
double nanoseconds(DType dtype, double m, double n, double k) {
  double per_multiply = 0.0125;
  if (dtype == DType::float64) per_multiply = 0.025;
  if (dtype == DType::complex64) per_multiply = 0.1;
  if (dtype == DType::complex128) per_multiply = 0.2;
  if (is_integral(dtype)) per_multiply = 0.3;
  double bytes = (m * k + k * n + 2 * m * n) * item_size(dtype);
  return m * n * k * per_multiply + bytes * 0.05;
}

struct Tiling {
  int64_t m, n;           // sides of a tile
  int64_t rows, columns;  // how many of them
  int64_t count() const { return rows * columns; }
};

constexpr double kTileNs = 18e3;

int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

// Multiplications a tile takes, in effect: register tiles are 8 rows by 48 columns; of the rest, 32
// columns run as fast, 16 do not. B must be packed where it is transposed.
double effort(int64_t m, int64_t n, int64_t k, bool trans_b) {
  int64_t full = n / 48 * 48, rest = divide_up(n - full, 16) * 16;
  double columns = static_cast<double>(full) + (rest == 16 ? 1.8 : 1.1) * static_cast<double>(rest);
  double rows = static_cast<double>(divide_up(m, 8) * 8);
  double packing = (trans_b ? 12 : 6) * static_cast<double>(n) + 6 * static_cast<double>(m);
  return static_cast<double>(k) * (rows * columns + packing);
}

// By shape alone: among the ways to cut, the one that two threads end first.
Tiling cut(DType dtype, int64_t m, int64_t n, int64_t k, bool trans_b) {
  Tiling best{m, n, 1, 1};
  // A few tiles are enough to share. Packing costs least in tiles of about 1024 by 1024, so large
  // products are cut into those.
  double total =
      nanoseconds(dtype, static_cast<double>(m), static_cast<double>(n), static_cast<double>(k));
  if (total < 30e3) return best;
  int64_t wanted = total < 120e3 ? 2 : total < 320e3 ? 4 : 8;
  if (total > 30e6) wanted = std::max<int64_t>(4, divide_up(m, 1024) * divide_up(n, 1024));
  double best_effort = 1e300;
  for (int64_t rows = 1; rows <= wanted; ++rows) {
    int64_t tile_m = divide_up(divide_up(m, rows), 8) * 8;
    if (rows > 1 && divide_up(m, tile_m) != rows) continue;
    int64_t tile_n = divide_up(divide_up(n, divide_up(wanted, rows)), 16) * 16;
    Tiling t{std::min(tile_m, m), std::min(tile_n, n), rows, divide_up(n, tile_n)};
    double sum = effort(t.m, t.n, k, trans_b) * static_cast<double>(divide_up(t.count(), 2));
    if (sum < best_effort * 0.995) {
      best_effort = sum;
      best = t;
    }
  }
  return best;
}

void gelu_row(float* c, int64_t n) {
  (isa() == Isa::avx512 ? avx512::gelu_row : avx2::gelu_row)(c, n);
}
void gelu_row(double* c, int64_t n) {
  for (int64_t j = 0; j < n; ++j) c[j] *= 0.5 * (1 + std::erf(c[j] * 0.70710678118654752440));
}

template <class T>
void finish(T* c, int64_t ldc, int64_t m, int64_t n, const T* bias, Activation activation) {
  for (int64_t i = 0; i < m; ++i, c += ldc) {
    if (bias)
      for (int64_t j = 0; j < n; ++j) c[j] += bias[j];
    if constexpr (std::is_floating_point_v<T>) {
      if (activation == Activation::relu)
        for (int64_t j = 0; j < n; ++j) c[j] = c[j] < 0 ? T(0) : c[j];
      if (activation == Activation::gelu) gelu_row(c, n);
    }
  }
}

bool has_epilogue(const Product& p) {
  return p.epilogue->bias || p.epilogue->activation != Activation::none;
}

// Whether panels do what follows the product while C is in registers.
bool finishes_by_panels(const Product& p) {
  return p.way != PanelWay::none && p.way != PanelWay::rows_of_b &&
         p.epilogue->activation != Activation::gelu;
}

void panel_tile(const Product& p, int64_t m, int64_t j, int64_t n, const char* a, const char* b,
                char* c) {
  FloatProduct g{p.trans_a, p.trans_b,
                 m,         n,
                 p.k,       reinterpret_cast<const float*>(a),
                 p.lda,     reinterpret_cast<const float*>(b),
                 p.ldb,     reinterpret_cast<float*>(c),
                 p.ldc};
  if (finishes_by_panels(p)) {
    const auto* bias = static_cast<const float*>(p.epilogue->bias);
    g.bias = bias ? bias + j : nullptr;
    g.relu = p.epilogue->activation == Activation::relu;
  }
  panel_gemm(p.way, g);
}

// The epilogue of columns [j, j + n) on a tile of C.
void finish_tile(const Product& p, void* c, int64_t m, int64_t j, int64_t n) {
  if (!has_epilogue(p)) return;
  bool known =
      dispatch_types<float, double, complex64, complex128, uint8_t, int8_t, uint16_t, int16_t,
                     uint32_t, int32_t, uint64_t, int64_t>(p.dtype, [&]<class T>(T) {
        auto* bias = static_cast<const T*>(p.epilogue->bias);
        finish(static_cast<T*>(c), p.ldc, m, n, bias ? bias + j : nullptr, p.epilogue->activation);
      });
  ARGOSY_INVARIANT(known);
}

template <class T>
void scale_rows(T* c, int64_t ldc, int64_t m, int64_t n, T beta) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = beta == T(0) ? T(0) : T(c[i * ldc + j] * beta);
}

// Wraps around as two's complement does, so signed types run as unsigned ones.
void run_integer_tile(const Product& p, int64_t m, int64_t n, const char* a, const char* b,
                      char* c) {
  bool known =
      dispatch_types<uint8_t, uint16_t, uint32_t, uint64_t, int8_t, int16_t, int32_t, int64_t>(
          p.dtype, [&]<class T>(T) {
            using U = std::make_unsigned_t<T>;
            scale_rows(reinterpret_cast<U*>(c), p.ldc, m, n,
                       static_cast<U>(static_cast<int64_t>(p.beta)));
          });
  ARGOSY_INVARIANT(known);
  const IntegerProduct product{
      p.item(), p.trans_a, p.trans_b, m,     n, p.k,  static_cast<int64_t>(p.alpha),
      a,        p.lda,     b,         p.ldb, c, p.ldc};
  (isa() == Isa::avx512 ? avx512::integer_gemm : avx2::integer_gemm)(product);
}

// Copies a [rows, cols] block of 16-bit floats into packed float32.
void widen_block(DType dtype, const char* from, int64_t ld, int64_t rows, int64_t cols, float* to) {
  if (ld == cols) return half_to_float(dtype, from, to, rows * cols);
  for (int64_t i = 0; i < rows; ++i) half_to_float(dtype, from + 2 * i * ld, to + i * cols, cols);
}

void float_tile(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                int64_t ldc) {
  if (small_sgemm(trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)) return;
  blas_gemm(DType::float32, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

// 16-bit: `wide_b` is all of B in float32, packed.
void half_tile(const Product& p, const float* wide_b, int64_t i, int64_t m, int64_t j, int64_t n) {
  Scratch scratch(static_cast<size_t>(m * p.k + m * n + n) * sizeof(float));
  float* a = scratch.as<float>();
  float* c = a + m * p.k;
  float* bias = c + m * n;
  const char* from = p.a + 2 * (p.trans_a ? i : i * p.lda);
  if (p.trans_a)
    widen_block(p.dtype, from, p.lda, p.k, m, a);
  else
    widen_block(p.dtype, from, p.lda, m, p.k, a);
  char* out = p.c + 2 * (i * p.ldc + j);
  if (p.beta != 0) widen_block(p.dtype, out, p.ldc, m, n, c);
  const float* b = wide_b + (p.trans_b ? j * p.k : j);
  float_tile(p.trans_a, p.trans_b, m, n, p.k, static_cast<float>(p.alpha), a, p.trans_a ? m : p.k,
             b, p.trans_b ? p.k : p.n, static_cast<float>(p.beta), c, n);
  if (has_epilogue(p)) {
    auto* from_bias = static_cast<const char*>(p.epilogue->bias);
    if (from_bias) half_to_float(p.dtype, from_bias + 2 * j, bias, n);
    finish(c, n, m, n, from_bias ? bias : nullptr, p.epilogue->activation);
  }
  for (int64_t r = 0; r < m; ++r) float_to_half(p.dtype, c + r * n, out + 2 * r * p.ldc, n);
}

// Where a gate is open over a part of C, as bits: C, which may be the gate, can be written then.
class OpenGates {
 public:
  static int64_t bytes(int64_t m, int64_t n) { return m * row_bytes(n); }

  // bits: room for bytes(m, n).
  OpenGates(const Product& p, int64_t i, int64_t m, int64_t j, int64_t n, uint8_t* bits)
      : p_(p), at_(i * p.ldc + j), m_(m), n_(n), bits_(bits) {
    const bool known = dispatch_floating(
        p.dtype, [&]<class T>(T) { look(static_cast<const T*>(p.epilogue->gate) + at_); });
    ARGOSY_INVARIANT(known);
  }
  // What came through the others vanishes.
  void close() const {
    for (int64_t r = 0; r < m_; ++r) {
      char* row = p_.c + p_.item() * (at_ + r * p_.ldc);
      keep_by_bits(p_.dtype, row, bits_ + r * row_bytes(n_), 0, n_, n_, p_.epilogue->factor, row);
    }
  }

 private:
  static int64_t row_bytes(int64_t n) { return (n + 7) / 8; }
  // Small floats as integers: positive, and no NaN.
  template <class T>
  static bool is_open(T gate) {
    if constexpr (std::is_same_v<T, bfloat16>) {
      return static_cast<uint16_t>(gate.bits - 1) < 0x7f80;
    } else if constexpr (std::is_same_v<T, float16>) {
      return static_cast<uint16_t>(gate.bits - 1) < 0x7c00;
    } else {
      return gate > 0;
    }
  }
  template <class T>
  void look(const T* gate) {
    constexpr int64_t kBlock = 512;
    uint8_t open[kBlock];
    for (int64_t r = 0; r < m_; ++r, gate += p_.ldc) {
      uint8_t* to = bits_ + r * row_bytes(n_);
      for (int64_t j = 0; j < n_; j += kBlock) {
        const int64_t count = std::min(kBlock, n_ - j), whole = divide_up(count, 8) * 8;
        for (int64_t q = 0; q < count; ++q) open[q] = is_open(gate[j + q]);
        std::fill(open + count, open + whole, uint8_t{0});
        pack_bits(open, whole, to + j / 8);
      }
    }
  }

  const Product& p_;
  const int64_t at_, m_, n_;
  uint8_t* const bits_;
};

void run_tile(const Product& p, int64_t i, int64_t m, int64_t j, int64_t n);

void gated_tile(const Product& p, int64_t i, int64_t m, int64_t j, int64_t n) {
  const Scratch bits(static_cast<size_t>(OpenGates::bytes(m, n)));
  const OpenGates gates(p, i, m, j, n, bits.as<uint8_t>());
  Epilogue none;
  Product plain = p;
  plain.epilogue = &none;
  run_tile(plain, i, m, j, n);
  gates.close();
}

void run_tile(const Product& p, int64_t i, int64_t m, int64_t j, int64_t n) {
  if (p.epilogue->gate) return gated_tile(p, i, m, j, n);
  const char* a = p.a + p.item() * (p.trans_a ? i : i * p.lda);
  const char* b = p.b + p.item() * (p.trans_b ? j * p.ldb : j);
  char* c = p.c + p.item() * (i * p.ldc + j);
  if (p.way != PanelWay::none)
    panel_tile(p, m, j, n, a, b, c);
  else if (p.dtype == DType::float32)
    float_tile(p.trans_a, p.trans_b, m, n, p.k, static_cast<float>(p.alpha),
               reinterpret_cast<const float*>(a), p.lda, reinterpret_cast<const float*>(b), p.ldb,
               static_cast<float>(p.beta), reinterpret_cast<float*>(c), p.ldc);
  else if (is_integral(p.dtype))
    run_integer_tile(p, m, n, a, b, c);
  else
    blas_gemm(p.dtype, p.trans_a, p.trans_b, m, n, p.k, p.alpha, a, p.lda, b, p.ldb, p.beta, c,
              p.ldc);
  if (!finishes_by_panels(p)) finish_tile(p, c, m, j, n);
}

// A small C from a long K: K is cut too, and partial products are added in order.
constexpr int64_t kMaxDepthCuts = 16;
int64_t depth_cuts(const Product& p, const Tiling& t) {
  if (p.dtype != DType::float32 && p.dtype != DType::float64 && p.dtype != DType::bfloat16)
    return 1;
  if (t.count() >= 4 || p.m * p.n > 128 * 128) return 1;
  double total = nanoseconds(p.dtype, static_cast<double>(p.m), static_cast<double>(p.n),
                             static_cast<double>(p.k));
  int64_t cuts = std::min(
      {kMaxDepthCuts, static_cast<int64_t>(total / (2 * kTileNs)), p.k / (4 * (p.m + p.n))});
  return std::max<int64_t>(cuts, 1);
}

template <class T>
void run_by_depth(const Product& p, int64_t cuts) {
  int64_t step = divide_up(divide_up(p.k, cuts), 16) * 16;
  cuts = divide_up(p.k, step);
  int64_t size = p.m * p.n;
  Scratch scratch(static_cast<size_t>((cuts - 1) * size) * sizeof(T));
  Epilogue none;
  parallel_for(cuts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      Product part = p;
      part.epilogue = &none;
      part.k = std::min(step, p.k - s * step);
      part.a += p.item() * s * step * (p.trans_a ? p.lda : 1);
      part.b += p.item() * s * step * (p.trans_b ? 1 : p.ldb);
      if (s > 0) {
        part.beta = 0;
        part.c = reinterpret_cast<char*>(scratch.as<T>((s - 1) * size));
        part.ldc = p.n;
      }
      run_tile(part, 0, p.m, 0, p.n);
    }
  });
  T* c = reinterpret_cast<T*>(p.c);
  for (int64_t s = 1; s < cuts; ++s) {
    const T* part = scratch.as<T>((s - 1) * size);
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) c[i * p.ldc + j] += part[i * p.n + j];
  }
  finish_tile(p, p.c, p.m, 0, p.n);
}

void scale(const Product& p) {
  bool known = dispatch_all(p.dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      using F = std::conditional_t<
          std::is_convertible_v<T, float> && sizeof(T) == 2 && !std::is_integral_v<T>, float, T>;
      T* c = reinterpret_cast<T*>(p.c);
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          T& at = c[i * p.ldc + j];
          at = p.beta == 0 ? T(0) : T(F(at) * F(p.beta));
        }
    }
  });
  ARGOSY_INVARIANT(known);
}

// A tile of a bfloat16 product as oneDNN takes it; `wide`: into float32.
Bf16Product bf16_tile(const Product& p, int64_t m, int64_t n, int64_t k, bool wide) {
  Bf16Product t;
  t.trans_a = p.trans_a;
  t.trans_b = p.trans_b;
  t.m = m;
  t.n = n;
  t.k = k;
  t.lda = p.lda;
  t.ldb = p.ldb;
  t.ldc = wide ? n : p.ldc;
  t.bias = !wide && p.epilogue->bias;
  t.relu = !wide && p.epilogue->activation == Activation::relu;
  t.wide = wide;
  return t;
}

// K is cut too: partial products in float32 are added in order.
void run_bf16_by_depth(const Product& p, int64_t cuts) {
  const int64_t step = divide_up(divide_up(p.k, cuts), 32) * 32, size = p.m * p.n;
  cuts = divide_up(p.k, step);
  Scratch scratch(static_cast<size_t>(cuts * size) * sizeof(float));
  parallel_for(cuts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      run_bf16_product(bf16_tile(p, p.m, p.n, std::min(step, p.k - s * step), true),
                       p.a + 2 * s * step * (p.trans_a ? p.lda : 1),
                       p.b + 2 * s * step * (p.trans_b ? 1 : p.ldb), nullptr,
                       scratch.as<float>(s * size));
  });
  float* sum = scratch.as<float>();
  for (int64_t s = 1; s < cuts; ++s)
    for (int64_t i = 0; i < size; ++i) sum[i] += scratch.as<float>(s * size)[i];
  for (int64_t i = 0; i < p.m; ++i) float_to_half(p.dtype, sum + i * p.n, p.c + 2 * i * p.ldc, p.n);
}

// Whole rows of C: for matrices that are part of others the library takes code that collects C in
// float32 beside it. It does so for rows of a transposed A, too, whose tiles are small therefore.
Tiling bf16_tiling(const Product& p) {
  const Tiling t = cut(DType::float32, p.m, p.n, p.k, p.trans_b);
  int64_t count = t.count();
  if (p.trans_a && count > 1) count = std::max(count, divide_up(p.m * p.n, 256 * 1024));
  const int64_t rows = divide_up(divide_up(p.m, count), 16) * 16;
  if (count == 1 || rows < 64) return t;
  return {rows, p.n, divide_up(p.m, rows), 1};
}

// By instructions on bfloat16, where there are any and the product is large enough for a library.
bool run_bf16(const Product& p) {
  if (p.dtype != DType::bfloat16 || p.alpha != 1 || p.beta != 0 ||
      p.epilogue->activation == Activation::gelu || p.m * p.n * p.k <= 64 * 1024)
    return false;
  const Tiling t = bf16_tiling(p);
  const int64_t cuts = has_epilogue(p) ? 1 : depth_cuts(p, t);
  if (!has_bf16_product(cuts > 1 ? bf16_tile(p, p.m, p.n, std::min<int64_t>(p.k, 32), true)
                                 : bf16_tile(p, t.m, t.n, p.k, false)))
    return false;
  if (cuts > 1) return run_bf16_by_depth(p, cuts), true;
  parallel_for(t.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      const int64_t i = s / t.columns * t.m, j = s % t.columns * t.n;
      const auto* bias = static_cast<const char*>(p.epilogue->bias);
      run_bf16_product(bf16_tile(p, std::min(t.m, p.m - i), std::min(t.n, p.n - j), p.k, false),
                       p.a + 2 * (p.trans_a ? i : i * p.lda), p.b + 2 * (p.trans_b ? j * p.ldb : j),
                       bias ? bias + 2 * j : nullptr, p.c + 2 * (i * p.ldc + j));
    }
  });
  return true;
}

void run_half(const Product& p) {
  if (run_bf16(p)) return;
  Tiling t = cut(DType::float32, p.m, p.n, p.k, p.trans_b);
  int64_t rows = p.trans_b ? p.n : p.k, cols = p.trans_b ? p.k : p.n;
  Scratch wide(static_cast<size_t>(rows * cols) * sizeof(float));
  int64_t grain = std::max<int64_t>(1, 65536 / std::max<int64_t>(cols, 1));
  parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    widen_block(p.dtype, p.b + 2 * begin * p.ldb, p.ldb, end - begin, cols,
                wide.as<float>(begin * cols));
  });
  // A's panel is converted once for each tile of its row: whole rows of C make that once.
  int64_t tiles = t.count();
  int64_t tile_m = std::max<int64_t>(1, divide_up(divide_up(p.m, tiles), 8) * 8);
  if (p.m < 8 * tiles) tile_m = t.m;
  int64_t tile_n = p.m < 8 * tiles ? t.n : p.n;
  int64_t across = divide_up(p.n, tile_n);
  parallel_for(divide_up(p.m, tile_m) * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      int64_t i = s / across * tile_m, j = s % across * tile_n;
      half_tile(p, wide.as<float>(), i, std::min(tile_m, p.m - i), j, std::min(tile_n, p.n - j));
    }
  });
}

void run(const Product& p);

// The whole product before any gate closes.
void gated_whole(const Product& p) {
  const int64_t rows = std::max<int64_t>(1, 65536 / p.n), parts = divide_up(p.m, rows);
  const int64_t part_bytes = OpenGates::bytes(rows, p.n);
  const Scratch bits(static_cast<size_t>(parts * part_bytes));
  std::vector<std::optional<OpenGates>> gates(static_cast<size_t>(parts));
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s)
      gates[static_cast<size_t>(s)].emplace(p, s * rows, std::min(rows, p.m - s * rows), 0, p.n,
                                            bits.as<uint8_t>(s * part_bytes));
  });
  Epilogue none;
  Product plain = p;
  plain.epilogue = &none;
  run(plain);
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) gates[static_cast<size_t>(s)]->close();
  });
}

// Whether the whole product has the bits of its tiles: then a thread that takes all of them
// computes it at once, and packs operands once. So it is with oneDNN's code for AVX-512 where B is
// as it stands and no tile is a sliver; the test of thread counts looks for shapes where it is not.
bool has_bits_of_tiles(const Product& p, const Tiling& t) {
  if (p.way != PanelWay::none) return true;
  if (p.dtype != DType::float32 || p.trans_b || p.alpha != 1 || p.beta != 0 || isa() != Isa::avx512)
    return false;
  const int64_t last_m = p.m - (t.rows - 1) * t.m, last_n = p.n - (t.columns - 1) * t.n;
  return std::min(t.m, last_m) >= 8 && std::min(t.n, last_n) >= 16;
}

void run(const Product& p) {
  if (p.m <= 0 || p.n <= 0) return;
  if (p.epilogue->gate && (p.k <= 0 || kHalf.has(p.dtype))) return gated_whole(p);
  if (p.k <= 0) {
    scale(p);
    if (!has_epilogue(p)) return;
    bool half = kHalf.has(p.dtype);
    if (!half) return finish_tile(p, p.c, p.m, 0, p.n);
    for (int64_t i = 0; i < p.m; ++i) {
      Scratch row(static_cast<size_t>(2 * p.n) * sizeof(float));
      float *c = row.as<float>(), *bias = c + p.n;
      half_to_float(p.dtype, p.c + 2 * i * p.ldc, c, p.n);
      if (p.epilogue->bias) half_to_float(p.dtype, p.epilogue->bias, bias, p.n);
      finish(c, p.n, 1, p.n, p.epilogue->bias ? bias : nullptr, p.epilogue->activation);
      float_to_half(p.dtype, c, p.c + 2 * i * p.ldc, p.n);
    }
    return;
  }
  if (kHalf.has(p.dtype)) return run_half(p);
  Tiling t = cut(p.dtype, p.m, p.n, p.k, p.trans_b);
  int64_t cuts = depth_cuts(p, t);
  if (cuts > 1 && p.epilogue->gate) return gated_whole(p);
  if (cuts > 1)
    return p.dtype == DType::float32 ? run_by_depth<float>(p, cuts) : run_by_depth<double>(p, cuts);
  const bool alone = in_parallel_region() || num_threads() == 1;
  // More tiles than these are of the size that costs least.
  const bool at_once = alone && t.count() <= 8 && has_bits_of_tiles(p, t);
  if (t.count() == 1 || at_once) return run_tile(p, 0, p.m, 0, p.n);
  parallel_for(t.count(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      int64_t i = s / t.columns * t.m, j = s % t.columns * t.n;
      run_tile(p, i, std::min(t.m, p.m - i), j, std::min(t.n, p.n - j));
    }
  });
}

void check_dtype(DType dtype) {
  ARGOSY_CHECK(kNumeric.has(dtype), type)
      << "[matmul] has no product for " << dtype
      << ": expected a floating, complex or integer dtype. Do this: cast the operands first.";
}

}  // namespace

namespace {

// Four chains of vectors, then across the lanes.
template <class T>
T dot_vectors(const T* x, const T* y, int64_t n) {
  typedef T Vector __attribute__((vector_size(32)));
  constexpr int64_t kLanes = 32 / sizeof(T);
  auto load = [](const T* p) {
    Vector v;
    std::memcpy(&v, p, sizeof(v));
    return v;
  };
  Vector sums[4] = {};
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    for (int64_t c = 0; c < 4; ++c) sums[c] += load(x + i + c * kLanes) * load(y + i + c * kLanes);
  }
  const Vector all = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  T total = 0;
  for (int64_t l = 0; l < kLanes; ++l) total += all[l];
  for (; i < n; ++i) total += x[i] * y[i];
  return total;
}

// Sums in eight lanes, blocks of 4096 added pairwise by the recursion.
template <class T, class Acc>
Acc dot_run(const T* x, int64_t incx, const T* y, int64_t incy, int64_t n) {
  if (n > 4096) {
    int64_t half = n / 2 / 4096 * 4096;
    if (half == 0) half = 4096;
    return dot_run<T, Acc>(x, incx, y, incy, half) +
           dot_run<T, Acc>(x + half * incx, incx, y + half * incy, incy, n - half);
  }
  if constexpr (std::is_floating_point_v<T>) {
    if (incx == 1 && incy == 1) return dot_vectors(x, y, n);
  }
  Acc lane[8] = {};
  int64_t i = 0;
  if (incx == 1 && incy == 1) {
    for (; i + 8 <= n; i += 8)
      for (int64_t l = 0; l < 8; ++l)
        lane[l] += static_cast<Acc>(x[i + l]) * static_cast<Acc>(y[i + l]);
  }
  for (; i < n; ++i) lane[i % 8] += static_cast<Acc>(x[i * incx]) * static_cast<Acc>(y[i * incy]);
  return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

Product product_of(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                   double alpha, const void* a, int64_t lda, const void* b, int64_t ldb,
                   double beta, void* c, int64_t ldc, const Epilogue& epilogue) {
  const auto *from_a = static_cast<const char*>(a), *from_b = static_cast<const char*>(b);
  return {dtype,
          trans_a,
          trans_b,
          m,
          n,
          k,
          alpha,
          from_a,
          lda,
          from_b,
          ldb,
          beta,
          static_cast<char*>(c),
          ldc,
          &epilogue};
}

// A column times a row: as much work as there is memory to write.
void outer(DType dtype, int64_t m, int64_t n, const void* a, int64_t a_step, const void* b,
           int64_t b_step, void* c, int64_t ldc) {
  dispatch_types<float, double>(dtype, [&]<class T>(T) {
    const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
    Scratch scratch(b_step == 1 ? 0 : static_cast<size_t>(n) * sizeof(T));
    if (b_step != 1) {
      T* row = scratch.as<T>();
      for (int64_t j = 0; j < n; ++j) row[j] = y[j * b_step];
      y = row;
    }
    const int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(1, n));
    parallel_for(m, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T by = x[i * a_step];
        T* to = static_cast<T*>(c) + i * ldc;
#pragma GCC ivdep
        for (int64_t j = 0; j < n; ++j) to[j] = by * y[j];
      }
    });
  });
}

}  // namespace

void gemm(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, double alpha,
          const void* a, int64_t lda, const void* b, int64_t ldb, double beta, void* c, int64_t ldc,
          const Epilogue& epilogue) {
  if (dtype == DType::float32 && m * n * k <= 4096 && k > 0 && m > 0 && n > 0 && !epilogue.bias &&
      epilogue.activation == Activation::none && !epilogue.gate &&
      small_sgemm(trans_a, trans_b, m, n, k, static_cast<float>(alpha),
                  static_cast<const float*>(a), lda, static_cast<const float*>(b), ldb,
                  static_cast<float>(beta), static_cast<float*>(c), ldc))
    return;
  check_dtype(dtype);
  if (m == 1 && n == 1 && k > 0 && beta == 0 && alpha == 1 && !epilogue.bias &&
      epilogue.activation == Activation::none && !epilogue.gate &&
      (dtype == DType::float32 || dtype == DType::float64)) {
    return dot(dtype, k, a, trans_a ? lda : 1, b, trans_b ? 1 : ldb, c);
  }
  if (k == 1 && beta == 0 && alpha == 1 && !epilogue.bias &&
      epilogue.activation == Activation::none && !epilogue.gate &&
      (dtype == DType::float32 || dtype == DType::float64)) {
    return outer(dtype, m, n, a, trans_a ? 1 : lda, b, trans_b ? ldb : 1, c, ldc);
  }
  ARGOSY_INVARIANT(!epilogue.gate || kFloating.has(dtype));
  Product p =
      product_of(dtype, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, epilogue);
  p.way = way_of(p);
  run(p);
}

void gemm_batched(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
                  double alpha, const void* a, int64_t lda, std::span<const int64_t> a_strides,
                  const void* b, int64_t ldb, std::span<const int64_t> b_strides, double beta,
                  void* c, int64_t ldc, std::span<const int64_t> c_strides,
                  std::span<const int64_t> batch) {
  check_dtype(dtype);
  int64_t count = 1;
  for (int64_t size : batch) count *= size;
  if (count == 0) return;
  Epilogue none;
  Product p =
      product_of(dtype, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, none);
  // One B for a stack of As is a single tall product.
  if (batch.size() == 1 && b_strides[0] == 0 && !trans_a && a_strides[0] == m * lda &&
      c_strides[0] == m * ldc) {
    p.m = m * count;
    p.way = way_of(p);
    return run(p);
  }
  p.way = way_of(p);
  double each =
      nanoseconds(dtype, static_cast<double>(m), static_cast<double>(n), static_cast<double>(k)) +
      (kHalf.has(dtype) ? 500 : 20);
  int64_t grain = std::max<int64_t>(1, static_cast<int64_t>(kTileNs / std::max(each, 1.0)));
  // As in gemm(). (Shorter ones are as fast by the way of all others.)
  const bool plain = alpha == 1 && beta == 0 && m * n * k >= 64 &&
                     (dtype == DType::float32 || dtype == DType::float64);
  auto some = [&](int64_t begin, int64_t end) {
    for (int64_t s = begin; s < end; ++s) {
      Product one = p;
      int64_t rest = s;
      for (size_t d = batch.size(); d-- > 0;) {
        int64_t at = rest % batch[d];
        rest /= batch[d];
        one.a += p.item() * at * a_strides[d];
        one.b += p.item() * at * b_strides[d];
        one.c += p.item() * at * c_strides[d];
      }
      if (plain && m == 1 && n == 1) {
        dot(dtype, k, one.a, trans_a ? lda : 1, one.b, trans_b ? 1 : ldb, one.c);
      } else if (plain && k == 1) {
        outer(dtype, m, n, one.a, trans_a ? 1 : lda, one.b, trans_b ? ldb : 1, one.c, ldc);
      } else {
        run(one);
      }
    }
  };
  // Few large products are each cut instead.
  if (count < 4 && each > 4 * kTileNs) return some(0, count);
  parallel_for(count, grain, some);
}

void dot(DType dtype, int64_t n, const void* x, int64_t incx, const void* y, int64_t incy,
         void* out) {
  check_dtype(dtype);
  dispatch_all(dtype, [&]<class T>(T) {
    if constexpr (!std::is_same_v<T, bool>) {
      using Acc = std::conditional_t<std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>,
                                     float, std::conditional_t<std::is_integral_v<T>, uint64_t, T>>;
      Acc sum = dot_run<T, Acc>(static_cast<const T*>(x), incx, static_cast<const T*>(y), incy, n);
      *static_cast<T*>(out) = static_cast<T>(sum);
    }
  });
}

}  // namespace argosy::cpu
