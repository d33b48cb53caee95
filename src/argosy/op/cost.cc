#include "argosy/op/cost.h"

namespace argosy::op {
namespace {

// Rows of a sparse tensor are not in its shape: they count as nothing.
double elements(const Shape& shape, Layout layout) {
  return layout == Layout::strided ? static_cast<double>(shape.numel()) : 0;
}
double bytes(const Shape& shape, DType dtype, Layout layout) {
  return elements(shape, layout) * static_cast<double>(item_size(dtype));
}

}  // namespace

Cost cost_of_shapes(const InferContext& c, double operations) {
  Cost cost{.operations = operations};
  size_t flat = 0;
  for (size_t i = 0; i < c.op.inputs.size(); ++i) {
    const size_t count = c.op.inputs[i].list ? c.in.list(i).size() : 1;
    for (size_t k = 0; k < count && flat < c.in.flat().size(); ++k, ++flat) {
      const Tensor& t = c.in.flat()[flat];
      if (t.defined() && c.op.inputs[i].reads == Reads::values)
        cost.bytes_read += bytes(t.shape(), t.dtype(), t.layout());
    }
  }
  for (const Meta& m : c.out) cost.bytes_written += bytes(m.shape, m.dtype, m.layout);
  return cost;
}

Cost cost_of_shapes(const InferContext& c) {
  double made = 0;
  for (const Meta& m : c.out) made += elements(m.shape, m.layout);
  return cost_of_shapes(c, made);
}

Cost cost_of(const InferContext& c, const void* attrs) {
  return c.op.cost ? c.op.cost(c, attrs) : cost_of_shapes(c);
}

}  // namespace argosy::op
