#pragma once

#include <vector>

#include "argosy/kernels/cuda/runtime.h"

// Numbers that losses of many classes make of labels. Labels (int64) are not checked: the host does
// not see them. One out of range has -1 wherever it has a place.
namespace argosy::cuda {

// Nodes and turns [n, depth] on the way to each label; -1 where a path has ended.
void hsigmoid_path(cudaStream_t stream, const int64_t* labels, int64_t n, int64_t classes,
                   int64_t depth, int64_t* table, int64_t* code);
// out [n, cutoffs]: the place in the head, then in each cluster, or -1. At most 32 cutoffs.
inline constexpr int kMostCutoffs = 32;
void cluster_labels(cudaStream_t stream, const int64_t* labels, int64_t n,
                    const std::vector<int64_t>& cutoffs, int64_t* out);

// Of x [rows, classes] (float32 or float64) and labels [rows, classes] up to the first -1: loss[r]
// = the sum over labels t and classes k that are no label of max(0, 1 - x[t] + x[k]) / classes, and
// its gradient times dloss[r]. A label out of range gives NaN.
void multi_label_margin(cudaStream_t stream, DType dtype, const void* x, const int64_t* labels,
                        int64_t rows, int64_t classes, void* loss);
void multi_label_margin_grad(cudaStream_t stream, DType dtype, const void* x, const int64_t* labels,
                             const void* dloss, int64_t rows, int64_t classes, void* dx);

}  // namespace argosy::cuda
