#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Kernels that draw random numbers. What element i gets depends on the seed, the first place and i
// alone, not on how a launch is divided. Each call uses fewer places than it has elements (at least
// one).
namespace argosy::cuda::random {

struct Places {
  uint64_t seed = 0, first = 0;
};

// Contiguous floating `out` of n elements; 16-bit floats are drawn in float32 and rounded.
void uniform(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, float low,
             float high);
// Complex numbers: as pairs.
void normal(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, float mean,
            float stddev);
// -1 / rate * log(1 - u).
void exponential(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, float rate);
// Between low and high, by the inverse of the distribution function.
void truncated_normal(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n,
                      double mean, double stddev, double low, double high);
// 1 with probability p[i], else 0; p of the dtype of out.
void bernoulli(cudaStream_t stream, Places at, const void* p, void* out, DType dtype, int64_t n);
// Of [low, high), evenly up to 2^-32; out: int32 or int64.
void integers(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n, int64_t low,
              int64_t high);
// 0 .. n - 1 in random order, n < 2^31; out: int32, int64, float32 or float64.
void permutation(cudaStream_t stream, Places at, void* out, DType dtype, int64_t n);

// Poisson numbers of mean x[i], gamma numbers of shape x[i] and scale 1; out of x's floating dtype.
void poisson(cudaStream_t stream, Places at, const void* x, void* out, DType dtype, int64_t n);
void gamma(cudaStream_t stream, Places at, const void* x, void* out, DType dtype, int64_t n);
// p: float32 or float64.
void binomial(cudaStream_t stream, Places at, const int64_t* trials, const void* p, DType p_dtype,
              int64_t* out, int64_t n);

// Weights [rows, n] of float32 or float64; out [rows, samples].
// status: 0, or what is wrong with the weights: 1 negative or not finite, 2 a row of zeros, 3 fewer
// than `samples` that are not zero.
void check_weights(cudaStream_t stream, const void* weights, DType dtype, int64_t rows, int64_t n,
                   int64_t least, int* status);
void multinomial(cudaStream_t stream, Places at, const void* weights, DType dtype, int64_t rows,
                 int64_t n, int64_t samples, bool replacement, int64_t* out);

// Dropout's choices: 0 with probability p, else 1, as bytes and as bits. The same places give the
// same choices.
void kept(cudaStream_t stream, Places at, uint8_t* out, int64_t n, double p);
void kept_bits(cudaStream_t stream, Places at, uint8_t* out, int64_t n, double p);
// y = x * factor where the bit is 1, else 0; x and y of n floating elements, may be the same.
void keep_by_bits(cudaStream_t stream, const void* x, const uint8_t* bits, void* y, DType dtype,
                  int64_t n, double factor);

// slope: 1, where x < 0 drawn from [lower, upper) or, if not training, their mean; y = x * slope.
void rrelu(cudaStream_t stream, Places at, const void* x, void* y, void* slope, DType dtype,
           int64_t n, double lower, double upper, bool training);
// soft = softmax((x + Gumbel noise) / temperature) along the middle axis; y: the same, or one-hot.
void gumbel_softmax(cudaStream_t stream, Places at, const void* x, void* y, void* soft, DType dtype,
                    int64_t outer, int64_t n, int64_t inner, double temperature, bool hard);

}  // namespace argosy::cuda::random
