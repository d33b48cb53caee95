#pragma once

#include "argosy/kernels/cuda/bounds.h"
#include "argosy/kernels/cuda/runtime.h"

namespace argosy::cuda {

// Softmax and the negative log-likelihood of hard labels in one. Scores x are [outer, n, inner],
// and there are outer * inner rows of them; labels are int32 or int64, in [0, n) or ignore_index.
// Of another one the loss and the gradient are NaN, and the watch is told. weight [n] (may
// be null), loss and dloss are of loss_dtype: that of x, or float32 beside 16-bit x.
struct CrossEntropy {
  DType dtype, label_dtype, loss_dtype;
  int64_t outer, n, inner, ignore_index;
  Watch watch;  // of the loss
};
// kept: of 16-bit x two float32 numbers of each row, the greatest of x and the factor of exp(x -
// greatest) that makes the softmax, zeros in ignored rows; else the softmax, [rows, n].
void cross_entropy(cudaStream_t stream, const CrossEntropy& a, const void* x, const void* labels,
                   const void* weight, void* loss, void* kept);
// dx = (softmax - one_hot(label)) * weight[label] * dloss[row], zeros in ignored rows. dx may be x.
void cross_entropy_grad(cudaStream_t stream, const CrossEntropy& a, const void* x, const void* kept,
                        const void* labels, const void* weight, const void* dloss, void* dx);

}  // namespace argosy::cuda
