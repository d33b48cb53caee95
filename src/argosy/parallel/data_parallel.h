#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "argosy/program/program.h"

// Data parallelism: every rank of a group runs the same Program on its part of the batch, and
// updates read gradients that are averaged over the ranks.
namespace argosy::parallel {

using GradientList = std::vector<Ref<program::Value>>;

struct DataParallel {
  int64_t group = 0;
  // Most bytes of gradients that are exchanged at a time; of the first exchange.
  size_t bucket = size_t{25} << 20, first_bucket = size_t{1} << 20;
  // Floating gradients are exchanged in this dtype. Sums of 16-bit floats are made in float32.
  std::optional<DType> wire;
  // Most parts of the first and the last gradient that are large, of this many bytes at least:
  // nothing travels before the first, and nothing is left to be computed while the last does, so
  // their first rows travel while further ones are computed. Worth their price where bytes take
  // long; 1: whole.
  int64_t parts = 1;
  size_t part = size_t{1} << 19;
};

// What updates are made from: values that operations of the gradient make and those of the update
// read, in the order in which they are made. Not what has been averaged already.
ARGOSY_API GradientList gradients_of(const program::Program& p);

// Lets operations of the update read the averages of these gradients. They are exchanged in
// buckets, each of one dtype: begun right after the last gradient of a bucket is made, waited for
// before the first operation of the update that reads one of it; so unscaling, the search for
// infinities, clipping and the update see averages. What the gradient itself reads stays.
// Row-sparse gradients are joined before the update. Says whether anything changed.
// REQUIRES: gradients are values of the main block, made by operations of it.
ARGOSY_API bool average_gradients(program::Program& p, const GradientList& gradients,
                                  const DataParallel& options);

}  // namespace argosy::parallel
