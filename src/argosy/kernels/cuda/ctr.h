#pragma once

#include "argosy/kernels/cuda/runtime.h"

// Ops of click-through-rate models. Numbers are float32 or float64.
namespace argosy::cuda {

// counts[c][bin] += 1 for each sample: bin = floor(score * thresholds) in [0, thresholds], c = 0
// where it has a label. Scores lie `width` apart. Samples without weight, and scores that are no
// numbers, do not count. weight may be null.
void auc_count(cudaStream_t stream, DType dtype, int64_t* positive, int64_t* negative,
               const void* score, const bool* label, const bool* weight, int64_t n, int64_t width,
               int64_t thresholds);
// The area under the curve of counts [runs, bins]: ROC, else precision and recall.
void auc_area(cudaStream_t stream, double* area, const int64_t* positive, const int64_t* negative,
              int64_t runs, int64_t bins, bool roc);

// y [n, to] = the last `to` columns of x [n, from]; with logs, the first two become log(x0 + 1) and
// log(x1 + 1) - log(x0 + 1).
void value_model(cudaStream_t stream, DType dtype, void* y, const void* x, int64_t n, int64_t from,
                 int64_t to, bool logs);
// dx [n, to] = two columns of counts [n, 2], then the last to - 2 columns of dy [n, from].
void value_model_grad(cudaStream_t stream, DType dtype, void* dx, const void* dy,
                      const void* counts, int64_t n, int64_t from, int64_t to);

// States of [width] of data_norm; weight and bias may be null.
struct DataNorm {
  const void *size = nullptr, *sum = nullptr, *square = nullptr, *weight = nullptr;
  int64_t slot_dim = -1;
};
void data_norm(cudaStream_t stream, DType dtype, void* y, const void* x, const DataNorm& norm,
               const void* bias, int64_t n, int64_t width);
// sums: what the batch adds to the three states, then, with a weight, its gradient and the bias's.
void data_norm_grad(cudaStream_t stream, DType dtype, void* dx, void* const sums[5], const void* dy,
                    const void* x, const DataNorm& norm, int64_t n, int64_t width, double epsilon);
// p = p * decay + g
void summary_update(cudaStream_t stream, DType dtype, void* p, const void* g, int64_t n,
                    double decay);

}  // namespace argosy::cuda
