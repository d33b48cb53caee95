#pragma once

#include "argosy/kernels/cuda/loops.h"

// Loops of ops that have no table on the CPU. Numbers in params as noted.
namespace argosy::cuda {

bool nan_to_num_loop(cudaStream_t, const LoopCall&);  // a, b, c: for nan, inf, -inf
bool zero_nan_loop(cudaStream_t, const LoopCall&);    // nan: 0; floating and complex
bool signbit_loop(cudaStream_t, const LoopCall&);     // output bool
// To places of 10: a: a power of 10, to multiply with (b != 0) or to divide by.
bool round_places_loop(cudaStream_t, const LoopCall&);
bool polygamma_loop(cudaStream_t, const LoopCall&);  // a: n
bool gammainc_loop(cudaStream_t, const LoopCall&);   // a, x
bool gammaincc_loop(cudaStream_t, const LoopCall&);
bool complex_loop(cudaStream_t, const LoopCall&);  // real and imaginary part, float32 or float64
bool logits_loss_loop(cudaStream_t, const LoopCall&);       // x, label
bool probability_loss_loop(cudaStream_t, const LoopCall&);  // p, label; nan for p outside [0, 1]
bool floored_loop(cudaStream_t, const LoopCall&);           // a: epsilon; nan for negative numbers

// x = mantissa * 2^exponent; float32 or float64, n contiguous elements.
void frexp(cudaStream_t stream, DType dtype, const void* x, void* mantissa, void* exponent,
           int64_t n);

}  // namespace argosy::cuda
