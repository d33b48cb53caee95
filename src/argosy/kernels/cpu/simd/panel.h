#pragma once

#include <immintrin.h>

#include "argosy/kernels/cpu/packed.h"
#include "argosy/kernels/cpu/simd/map.h"

// Vectors of float32, and what follows a product while it is in them. Private to the kernels with
// packed weights.
namespace argosy::cpu::ARGOSY_ISA {

#ifdef __AVX512F__
struct Vec {
  static constexpr int kLanes = 16;
  __m512 v;
  ARGOSY_INLINE static Vec zero() { return {_mm512_setzero_ps()}; }
  ARGOSY_INLINE static Vec fill(float x) { return {_mm512_set1_ps(x)}; }
  ARGOSY_INLINE static Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  ARGOSY_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  // Some of the lanes: loaded, the others are 0.
  using Lanes = __mmask16;
  ARGOSY_INLINE static Lanes first(int64_t n) {  // of at least 1
    return static_cast<Lanes>(n >= kLanes ? 0xffff : (1 << n) - 1);
  }
  ARGOSY_INLINE static Vec load(const float* p, Lanes some) {
    return {_mm512_maskz_loadu_ps(some, p)};
  }
  ARGOSY_INLINE void store(float* p, Lanes some) const { _mm512_mask_storeu_ps(p, some, v); }
  ARGOSY_INLINE static Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  ARGOSY_INLINE Vec operator+(Vec o) const { return {_mm512_add_ps(v, o.v)}; }
  ARGOSY_INLINE Vec operator*(Vec o) const { return {_mm512_mul_ps(v, o.v)}; }
  // The second where one is NaN: so NaN passes.  (Unmasked, GCC 12 warns in its own header.)
  ARGOSY_INLINE static Vec max(Vec a, Vec b) { return {_mm512_maskz_max_ps(0xffff, a.v, b.v)}; }
  ARGOSY_INLINE static Vec min(Vec a, Vec b) { return {_mm512_maskz_min_ps(0xffff, a.v, b.v)}; }
};
#else
struct Vec {
  static constexpr int kLanes = 8;
  __m256 v;
  ARGOSY_INLINE static Vec zero() { return {_mm256_setzero_ps()}; }
  ARGOSY_INLINE static Vec fill(float x) { return {_mm256_set1_ps(x)}; }
  ARGOSY_INLINE static Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  ARGOSY_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
  using Lanes = __m256i;
  ARGOSY_INLINE static Lanes first(int64_t n) {
    const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n < kLanes ? n : kLanes)), places);
  }
  ARGOSY_INLINE static Vec load(const float* p, Lanes some) {
    return {_mm256_maskload_ps(p, some)};
  }
  ARGOSY_INLINE void store(float* p, Lanes some) const { _mm256_maskstore_ps(p, some, v); }
  ARGOSY_INLINE static Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  ARGOSY_INLINE Vec operator+(Vec o) const { return {_mm256_add_ps(v, o.v)}; }
  ARGOSY_INLINE Vec operator*(Vec o) const { return {_mm256_mul_ps(v, o.v)}; }
  ARGOSY_INLINE static Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
  ARGOSY_INLINE static Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
};
#endif

// --- activations in registers: those of a few instructions ---

ARGOSY_INLINE bool scales(const PackedEpilogue& e) {
  return e.scale != 1 || e.shift != 0;
}

ARGOSY_INLINE bool in_registers(const PackedEpilogue& e) {
  return e.post == PostOp::none || (e.post == PostOp::relu && e.alpha == 0) ||
         e.post == PostOp::clip || e.post == PostOp::hardswish || e.post == PostOp::hardsigmoid;
}

// each(f) applies f to all vectors. REQUIRES: in_registers(e).
template <class Each>
ARGOSY_INLINE void post_in_registers(const PackedEpilogue& e, Each&& each) {
  const Vec zero = Vec::zero(), one = Vec::fill(1);
  switch (e.post) {
    case PostOp::relu:
      each([&](Vec x) { return Vec::max(zero, x); });
      break;
    case PostOp::clip: {
      const Vec low = Vec::fill(e.alpha), high = Vec::fill(e.beta);
      each([&](Vec x) { return Vec::min(high, Vec::max(low, x)); });
      break;
    }
    case PostOp::hardswish: {
      const Vec slope = Vec::fill(1.0f / 6), offset = Vec::fill(0.5f);
      each([&](Vec x) { return x * Vec::min(one, Vec::max(zero, Vec::fma(x, slope, offset))); });
      break;
    }
    case PostOp::hardsigmoid: {
      const Vec slope = Vec::fill(e.alpha), offset = Vec::fill(e.beta);
      each([&](Vec x) { return Vec::min(one, Vec::max(zero, Vec::fma(x, slope, offset))); });
      break;
    }
    default:
      break;
  }
  if (scales(e)) {
    const Vec scale = Vec::fill(e.scale), shift = Vec::fill(e.shift);
    each([&](Vec x) { return Vec::fma(x, scale, shift); });
  }
}

}  // namespace argosy::cpu::ARGOSY_ISA
