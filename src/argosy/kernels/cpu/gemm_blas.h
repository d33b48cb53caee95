#pragma once

#include <signal.h>

#include <cstdint>

#include "argosy/base/dtype.h"

// The libraries behind gemm.h, each call on the calling thread only. Private to kernels/cpu.
namespace argosy::cpu {

// Lives while a thread is in oneDNN, which must not start OpenMP threads: they hang a forked child,
// and their barriers spin. Signals wait meanwhile: sgemm's code points the stack pointer into a
// block of the heap, and a handler's frame would be written before it. Those that an instruction
// raises (SIGSEGV, ..) do not wait.
class OneDnnCall {
 public:
  OneDnnCall();
  ~OneDnnCall();
  OneDnnCall(const OneDnnCall&) = delete;
  OneDnnCall& operator=(const OneDnnCall&) = delete;

 private:
  sigset_t before_;
  const bool holds_;
};

// To be called by every thread each time before it enters the library.
void enter_openblas();

// As gemm(), one tile, no epilogue; float32, float64, complex64, complex128. k > 0.
void blas_gemm(DType dtype, bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k,
               double alpha, const void* a, int64_t lda, const void* b, int64_t ldb, double beta,
               void* c, int64_t ldc);

// For products too small for a library call to pay; tells whether it took the work.
bool small_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, float alpha,
                 const float* a, int64_t lda, const float* b, int64_t ldb, float beta, float* c,
                 int64_t ldc);

// Rows of 16-bit floats to float32 and back (rounded to nearest even).
void half_to_float(DType dtype, const void* from, float* to, int64_t n);
void float_to_half(DType dtype, const float* from, void* to, int64_t n);

}  // namespace argosy::cpu
