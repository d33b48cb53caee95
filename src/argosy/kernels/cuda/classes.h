#pragma once

#include "argosy/kernels/cuda/gather.h"

// Kernels that read class numbers, lengths and parents. Numbers out of range read as zeros and are
// not written.
namespace argosy::cuda {

// *largest, on the device; n > 0, below 2^31.
void largest_of(cudaStream_t stream, Index numbers, int64_t n, int64_t* largest);
// target [n, classes] = 1 at the label, else 0.
void one_hot(cudaStream_t stream, float* target, Index labels, int64_t n, int64_t classes);

// x is [outer, classes, inner], labels and target [outer, inner]: target = x at the label, `fill`
// where that is `ignore`.
void select_class(cudaStream_t stream, DType dtype, void* target, const void* x, Index labels,
                  int64_t outer, int64_t classes, int64_t inner, int64_t ignore, double fill);
// target [outer, classes, inner] = value [outer, inner] at the label, else 0.
void spread_class(cudaStream_t stream, void* target, const void* value, Index labels, int64_t outer,
                  int64_t classes, int64_t inner, int64_t ignore, int item);
// target[i] = weight[label], or 1 without weight; 0 where the label is `ignore`.
void class_weights(cudaStream_t stream, DType dtype, void* target, const void* weight,
                   int64_t classes, Index labels, int64_t n, int64_t ignore);

// mask[i, k] = k < lengths[i], for k < width.
void length_mask(cudaStream_t stream, bool* mask, Index lengths, int64_t n, int64_t width);
// target[i] = numbers[i] rounded up.
void round_up(cudaStream_t stream, int64_t* target, const double* numbers, int64_t n);

// Tokens of beams [length, batch, beams], followed from the last step by their parents.
void gather_tree(cudaStream_t stream, DType dtype, void* target, const void* ids,
                 const int64_t* parents, int64_t length, int64_t batch, int64_t beams,
                 const Watch& watch);

}  // namespace argosy::cuda
