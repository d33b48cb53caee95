#pragma once

#include "argosy/op/define.h"

// What an op expects of the shapes of its operands. Ops that only rules of gradients call check
// them too: a Program that comes from a file may give them anything.
namespace argosy::ops {

// Whether two sizes can be equal; those that are not known can.
inline bool may_equal(int64_t a, int64_t b) {
  return a == b || a < 0 || b < 0;
}
// Raises unless operand i can have that shape.
ARGOSY_API void expect_shape(const op::InferContext& c, size_t i, const Shape& wanted);
// Raises unless operand i has from `low` to `high` dimensions.
ARGOSY_API void expect_rank(const op::InferContext& c, size_t i, int low, int high);
// Raises unless operand i, if it is there, can have that many elements.
ARGOSY_API void expect_size(const op::InferContext& c, size_t i, int64_t wanted);
// Raises unless operand i, if it is there, has that dtype.
ARGOSY_API void expect_dtype(const op::InferContext& c, size_t i, DType wanted);

}  // namespace argosy::ops
