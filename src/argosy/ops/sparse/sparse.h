#pragma once

#include "argosy/tensor/tensor.h"

// Row-sparse tensors: {rows, values} of which repeated rows add up (gradients of embeddings).
namespace argosy::ops {

ARGOSY_API Tensor to_dense(const Tensor& x);
ARGOSY_API Tensor concat_rows(const Tensor& a, const Tensor& b);
// Sorted rows, each once.
ARGOSY_API Tensor merge_rows(const Tensor& x);

}  // namespace argosy::ops
