#pragma once

#include <string>

#include "argosy/tensor/tensor.h"

// Batches of sequences of different lengths: the rows of all of them, one after the other, [T, ..],
// and their lengths, int64 [S].
namespace argosy::ops {

// One row for each sequence: pool is "sum", "average", "sqrt" (the sum over the root of the
// length), "max", "first" or "last"; pad_value for those without rows.
ARGOSY_API Tensor sequence_pool(const Tensor& x, const Tensor& lengths, const std::string& pool,
                                double pad_value = 0);

}  // namespace argosy::ops
