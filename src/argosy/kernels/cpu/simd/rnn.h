#pragma once

#include <stdint.h>

// One step of one sequence, n = hidden size. Gates lie one after the other, n apart. Private to
// rnn.cc.
namespace argosy::cpu {

#define ARGOSY_RNN_KERNELS(T)                                                                   \
  /* gates: sums in, activated values out. c and c_next may be the same. */                     \
  void lstm_step(int64_t n, T* gates, const T* c, T* c_next, T* h);                             \
  /* dc: gradient of the new cell in, of the old one out. gates is replaced by its gradient. */ \
  void lstm_step_backward(int64_t n, T* gates, const T* c, const T* dh, T* dc);                 \
  /* gates: r and z summed with u, n without; u_n apart. Activated values out. */               \
  void gru_step(int64_t n, T* gates, const T* u_n, const T* h, T* h_next);                      \
  /* gates becomes the gradient of its sums, u_n that of itself; dh that of the direct path. */ \
  void gru_step_backward(int64_t n, T* gates, T* u_n, const T* h, T* dh);                       \
  void tanh_step(int64_t n, T* gates);                                                          \
  void relu_step(int64_t n, T* gates);                                                          \
  void tanh_step_backward(int64_t n, T* gates, const T* dh);                                    \
  void relu_step_backward(int64_t n, T* gates, const T* dh);
namespace avx2 {
ARGOSY_RNN_KERNELS(float)
ARGOSY_RNN_KERNELS(double)
}  // namespace avx2
namespace avx512 {
ARGOSY_RNN_KERNELS(float)
ARGOSY_RNN_KERNELS(double)
}  // namespace avx512
#undef ARGOSY_RNN_KERNELS

}  // namespace argosy::cpu
