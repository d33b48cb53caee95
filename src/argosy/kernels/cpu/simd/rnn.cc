#include "argosy/kernels/cpu/simd/rnn.h"

#include "argosy/kernels/cpu/simd/math.h"

namespace argosy::cpu::ARGOSY_ISA {

#define ARGOSY_RNN_KERNELS(T)                                                               \
  void lstm_step(int64_t n, T* gates, const T* c, T* c_next, T* h) {                        \
    T* __restrict gi = gates, * __restrict gf = gates + n;                                  \
    T* __restrict gg = gates + 2 * n, * __restrict go = gates + 3 * n;                      \
    _Pragma("GCC ivdep") for (int64_t j = 0; j < n; ++j) {                                  \
      T i = sigmoid_of(gi[j]), f = sigmoid_of(gf[j]);                                       \
      T g = tanh_of(gg[j]), o = sigmoid_of(go[j]);                                          \
      T cell = f * c[j] + i * g;                                                            \
      gi[j] = i;                                                                            \
      gf[j] = f;                                                                            \
      gg[j] = g;                                                                            \
      go[j] = o;                                                                            \
      c_next[j] = cell;                                                                     \
      h[j] = o * tanh_of(cell);                                                             \
    }                                                                                       \
  }                                                                                         \
  void lstm_step_backward(int64_t n, T* gates, const T* c, const T* dh, T* dc) {            \
    T* __restrict gi = gates, * __restrict gf = gates + n;                                  \
    T* __restrict gg = gates + 2 * n, * __restrict go = gates + 3 * n;                      \
    _Pragma("GCC ivdep") for (int64_t j = 0; j < n; ++j) {                                  \
      T i = gi[j], f = gf[j], g = gg[j], o = go[j];                                         \
      T t = tanh_of(f * c[j] + i * g);                                                      \
      T d = dc[j] + dh[j] * o * (1 - t * t);                                                \
      gi[j] = d * g * i * (1 - i);                                                          \
      gf[j] = d * c[j] * f * (1 - f);                                                       \
      gg[j] = d * i * (1 - g * g);                                                          \
      go[j] = dh[j] * t * o * (1 - o);                                                      \
      dc[j] = d * f;                                                                        \
    }                                                                                       \
  }                                                                                         \
  void gru_step(int64_t n, T* gates, const T* u_n, const T* h, T* h_next) {                 \
    T* __restrict gr = gates, * __restrict gz = gates + n, * __restrict gn = gates + 2 * n; \
    _Pragma("GCC ivdep") for (int64_t j = 0; j < n; ++j) {                                  \
      T r = sigmoid_of(gr[j]), z = sigmoid_of(gz[j]);                                       \
      T c = tanh_of(gn[j] + r * u_n[j]);                                                    \
      gr[j] = r;                                                                            \
      gz[j] = z;                                                                            \
      gn[j] = c;                                                                            \
      h_next[j] = (h[j] - c) * z + c;                                                       \
    }                                                                                       \
  }                                                                                         \
  void gru_step_backward(int64_t n, T* gates, T* u_n, const T* h, T* dh) {                  \
    T* __restrict gr = gates, * __restrict gz = gates + n, * __restrict gn = gates + 2 * n; \
    _Pragma("GCC ivdep") for (int64_t j = 0; j < n; ++j) {                                  \
      T r = gr[j], z = gz[j], c = gn[j], d = dh[j];                                         \
      T dn = d * (1 - z) * (1 - c * c);                                                     \
      gr[j] = dn * u_n[j] * r * (1 - r);                                                    \
      gz[j] = d * (h[j] - c) * z * (1 - z);                                                 \
      gn[j] = dn;                                                                           \
      u_n[j] = dn * r;                                                                      \
      dh[j] = d * z;                                                                        \
    }                                                                                       \
  }                                                                                         \
  void tanh_step(int64_t n, T* gates) {                                                     \
    for (int64_t j = 0; j < n; ++j) gates[j] = tanh_of(gates[j]);                           \
  }                                                                                         \
  void relu_step(int64_t n, T* gates) {                                                     \
    for (int64_t j = 0; j < n; ++j) gates[j] = gates[j] < 0 ? 0 : gates[j];                 \
  }                                                                                         \
  void tanh_step_backward(int64_t n, T* gates, const T* dh) {                               \
    for (int64_t j = 0; j < n; ++j) gates[j] = dh[j] * (1 - gates[j] * gates[j]);           \
  }                                                                                         \
  void relu_step_backward(int64_t n, T* gates, const T* dh) {                               \
    for (int64_t j = 0; j < n; ++j) gates[j] = gates[j] > 0 ? dh[j] : 0;                    \
  }
ARGOSY_RNN_KERNELS(float)
ARGOSY_RNN_KERNELS(double)

}  // namespace argosy::cpu::ARGOSY_ISA
