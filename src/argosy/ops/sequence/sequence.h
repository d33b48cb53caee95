#pragma once

#include <string>

#include "argosy/op/attrs.h"

// Batches of sequences of different lengths: the rows of all of them, one after the other, [T, ..],
// and their lengths, int64 [S].
namespace argosy::ops {

struct SequencePoolAttrs {
  std::string pool = "sum";
  double pad_value = 0;
};
ARGOSY_ATTRS(SequencePoolAttrs, pool, pad_value)

struct EmbeddingPoolAttrs {
  std::string pool = "sum";
  double pad_value = 0;
  int64_t padding_idx = -1;
  bool sparse = false;
  // Of gradients: slots come from the last to the first; or where each begins in the joined rows.
  bool reversed = false;
  std::vector<int64_t> columns;
};
ARGOSY_ATTRS(EmbeddingPoolAttrs, pool, pad_value, padding_idx, sparse, reversed, columns)

// One row for each sequence: pool is "sum", "average", "sqrt" (the sum over the root of the
// length), "max", "first" or "last"; pad_value for those without rows.
ARGOSY_API Tensor sequence_pool(const Tensor& x, const Tensor& lengths, const std::string& pool,
                                double pad_value = 0);

}  // namespace argosy::ops
