#include "argosy/ops/operands.h"

namespace argosy::ops {

void expect_shape(const op::InferContext& c, size_t i, const Shape& wanted) {
  const Shape& shape = c.in[i].shape();
  bool fits = shape.rank() == wanted.rank();
  for (int d = 0; fits && d < wanted.rank(); ++d) fits = may_equal(shape[d], wanted[d]);
  ARGOSY_CHECK(fits, invalid_argument)
      << '[' << c.name() << "] " << c.op.inputs[i].name
      << " does not fit the other operands: expected shape " << wanted << ", got " << shape
      << ". Do this: pass what the forward operation was given, and a gradient of its result.";
}

void expect_rank(const op::InferContext& c, size_t i, int low, int high) {
  const int rank = c.in[i].rank();
  ARGOSY_CHECK(low <= rank && rank <= high, invalid_argument)
      << '[' << c.name() << "] " << c.op.inputs[i].name << " has the wrong number of dimensions: "
      << "expected from " << low << " to " << high << ", got " << c.in[i]
      << ". Do this: reshape it.";
}

void expect_size(const op::InferContext& c, size_t i, int64_t wanted) {
  if (!c.in[i].defined()) return;
  ARGOSY_CHECK(may_equal(c.in[i].numel(), wanted), invalid_argument)
      << '[' << c.name() << "] " << c.op.inputs[i].name << " has the wrong size: expected "
      << wanted << " elements, got " << c.in[i]
      << ". Do this: pass what the forward operation was given.";
}

void expect_dtype(const op::InferContext& c, size_t i, DType wanted) {
  if (!c.in[i].defined()) return;
  ARGOSY_CHECK(c.in[i].dtype() == wanted, type)
      << '[' << c.name() << "] " << c.op.inputs[i].name << " has the wrong dtype: expected "
      << wanted << ", got " << c.in[i] << ". Do this: pass what the forward operation gave.";
}

}  // namespace argosy::ops
