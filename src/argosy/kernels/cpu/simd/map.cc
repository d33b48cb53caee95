#include "argosy/kernels/cpu/simd/map.h"

#include <immintrin.h>

#include "argosy/kernels/cpu/simd/tables.h"
#include "argosy/kernels/cpu/simd/vector.h"

namespace argosy::cpu::ARGOSY_ISA {
namespace {

constexpr int kBlockBytes = 2048;

template <int size>
void gather(const char* in, int64_t stride, char* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) __builtin_memcpy(out + i * size, in + i * stride, size);
}
template <int size>
void scatter(const char* in, char* out, int64_t stride, int64_t n) {
  for (int64_t i = 0; i < n; ++i) __builtin_memcpy(out + i * stride, in + i * size, size);
}

void load(Form form, const char* in, int64_t stride, char* out, int64_t n) {
  uint16_t packed[kBlockBytes / 4];
  const uint16_t* halves = reinterpret_cast<const uint16_t*>(in);
  switch (form) {
    case Form::w1:
      return gather<1>(in, stride, out, n);
    case Form::w2:
      return gather<2>(in, stride, out, n);
    case Form::w4:
      return gather<4>(in, stride, out, n);
    case Form::w8:
      return gather<8>(in, stride, out, n);
    case Form::w16:
      return gather<16>(in, stride, out, n);
    case Form::f16:
    case Form::bf16:
      if (stride != 2) {
        gather<2>(in, stride, reinterpret_cast<char*>(packed), n);
        halves = packed;
      }
      return (form == Form::f16 ? widen_f16 : widen_bf16)(halves, reinterpret_cast<float*>(out), n);
    case Form::f8_e4m3:
    case Form::f8_e5m2:
      gather<1>(in, stride, reinterpret_cast<char*>(packed), n);
      return widen_f8(form == Form::f8_e4m3, reinterpret_cast<const uint8_t*>(packed),
                      reinterpret_cast<float*>(out), n);
  }
}

void store(Form form, const char* in, char* out, int64_t stride, int64_t n) {
  uint16_t packed[kBlockBytes / 4];
  switch (form) {
    case Form::w1:
      return scatter<1>(in, out, stride, n);
    case Form::w2:
      return scatter<2>(in, out, stride, n);
    case Form::w4:
      return scatter<4>(in, out, stride, n);
    case Form::w8:
      return scatter<8>(in, out, stride, n);
    case Form::w16:
      return scatter<16>(in, out, stride, n);
    case Form::f16:
    case Form::bf16: {
      uint16_t* to = stride == 2 ? reinterpret_cast<uint16_t*>(out) : packed;
      (form == Form::f16 ? narrow_f16 : narrow_bf16)(reinterpret_cast<const float*>(in), to, n);
      if (stride != 2) scatter<2>(reinterpret_cast<const char*>(packed), out, stride, n);
      return;
    }
    case Form::f8_e4m3:
    case Form::f8_e5m2:
      narrow_f8(form == Form::f8_e4m3, reinterpret_cast<const float*>(in),
                reinterpret_cast<uint8_t*>(packed), n);
      return scatter<1>(reinterpret_cast<const char*>(packed), out, stride, n);
  }
}

}  // namespace

void widen_f16(const uint16_t* in, float* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i));
    _mm256_storeu_ps(out + i, _mm256_cvtph_ps(v));
  }
  for (; i < n; ++i) out[i] = _cvtsh_ss(in[i]);
}

void narrow_f16(const float* in, uint16_t* out, int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m128i v = _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), v);
  }
  for (; i < n; ++i) out[i] = _cvtss_sh(in[i], _MM_FROUND_TO_NEAREST_INT);
}

void widen_bf16(const uint16_t* in, float* out, int64_t n) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) {
    out[i] = __builtin_bit_cast(float, static_cast<uint32_t>(in[i]) << 16);
  }
}

void narrow_bf16(const float* in, uint16_t* out, int64_t n) {
  int64_t i = 0;
  // In vectors: what the compiler makes of the loop packs lanes by several instructions.
  using Lanes = Vector<uint32_t>;
  typedef uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
  for (; i + kLanes<float> <= n; i += kLanes<float>) {
    const Vector<float> v = load(in + i);
    const Lanes u = __builtin_bit_cast(Lanes, v);
    const Lanes r = v != v ? u | 0x400000 : u + 0x7fff + (u >> 16 & 1);
    const Halves packed = __builtin_convertvector(r >> 16, Halves);
    __builtin_memcpy(out + i, &packed, sizeof(packed));
  }
#pragma GCC ivdep
  for (; i < n; ++i) out[i] = static_cast<uint16_t>(round_bf16(in[i]) >> 16);
}

void run_blocked(char* const* ptrs, const int64_t* strides, int64_t n, const void* params,
                 Contiguous kernel, uint32_t operands) {
  alignas(64) char buffers[kMaxLoopOperands][kBlockBytes];
  Form forms[kMaxLoopOperands];
  bool direct[kMaxLoopOperands];
  char* now[kMaxLoopOperands];
  const int inputs = inputs_of(operands), count = count_of(operands);
  int widest = 1;
  for (int k = 0; k < count; ++k) {
    forms[k] = form_of(operands, k);
    if (computed_size(forms[k]) > widest) widest = computed_size(forms[k]);
  }
  const int64_t block = kBlockBytes / widest;
  const int64_t first = n < block ? n : block;
  for (int k = 0; k < count; ++k) {
    direct[k] = forms[k] < Form::f16 && strides[k] == stored_size(forms[k]);
    now[k] = direct[k] ? ptrs[k] : buffers[k];
    if (k < inputs && strides[k] == 0) load(forms[k], ptrs[k], 0, buffers[k], first);
  }
  for (int64_t begin = 0; begin < n; begin += block) {
    const int64_t m = n - begin < block ? n - begin : block;
    for (int k = 0; k < count; ++k) {
      char* at = ptrs[k] + begin * strides[k];
      if (direct[k]) {
        now[k] = at;
      } else if (k < inputs && strides[k] != 0) {
        load(forms[k], at, strides[k], buffers[k], m);
      }
    }
    kernel(now, m, params);
    for (int k = inputs; k < count; ++k) {
      if (!direct[k]) store(forms[k], buffers[k], ptrs[k] + begin * strides[k], strides[k], m);
    }
  }
}

}  // namespace argosy::cpu::ARGOSY_ISA
