#include "argosy/kernels/cpu/mask.h"
#include "argosy/op/define.h"
#include "argosy/ops/indexing/indexing.h"

// What bool tensors select.
namespace argosy::ops {
namespace {

using op::GradCall;
using op::InferContext;
using op::KernelFrame;
using op::NoAttrs;
using op::Save;

// --- places ---

void mask_indices_infer(InferContext& c, const NoAttrs&) {
  c.out.resize(static_cast<size_t>(c.in[0].rank()));
  for (op::Meta& m : c.out) m = {{kUnknown}, DType::int64};
}
void mask_indices_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& mask = f.in[0];
  const bool* set = mask.data<bool>();
  const int64_t count = cpu::count_true(set, mask.numel());
  int64_t* to[kMaxRank];
  for (size_t d = 0; d < f.out.size(); ++d) to[d] = f.allocate(d, {count}).data<int64_t>();
  if (mask.rank() > 0) cpu::true_places(set, mask.shape(), to, 1);
}

ARGOSY_OP(mask_indices, NoAttrs)
    .doc("For each dimension of a bool tensor, the indices of its true elements in C order.")
    .input("mask", kBool)
    .list_output("indices")
    .infer(mask_indices_infer)
    .kernel("pack", mask_indices_run)
    .done();

void mask_places_infer(InferContext& c, const NoAttrs&) {
  c.out[0] = {{kUnknown, c.in[0].rank()}, DType::int64};
}
void mask_places_run(KernelFrame& f, const NoAttrs&) {
  const Tensor& mask = f.in[0];
  const bool* set = mask.data<bool>();
  int64_t* places =
      f.allocate(0, {cpu::count_true(set, mask.numel()), mask.rank()}).data<int64_t>();
  int64_t* to[kMaxRank];
  for (int d = 0; d < mask.rank(); ++d) to[d] = places + d;
  if (mask.rank() > 0) cpu::true_places(set, mask.shape(), to, mask.rank());
}

ARGOSY_OP(mask_places, NoAttrs)
    .doc("The indices of the true elements of a bool tensor in C order, as [n, rank] int64.")
    .shape("mask [*s] -> [?,rank(s)]")
    .input("mask", kBool)
    .index_output("places")
    .infer(mask_places_infer)
    .kernel("pack", mask_places_run)
    .done();

// --- elements ---

void check_mask(const char* op, const Shape& x, const Shape& mask) {
  bool fits = mask.rank() >= 1 && mask.rank() <= x.rank();
  for (int d = 0; fits && d < mask.rank(); ++d) fits = mask[d] == x[d] || mask[d] < 0 || x[d] < 0;
  ARGOSY_CHECK(fits, index) << '[' << op << "] mask must have the leading sizes of x: got mask "
                            << mask << " for x " << x
                            << ". Do this: reshape or broadcast the mask.";
}

void select_true_infer(InferContext& c, const NoAttrs&) {
  const Shape &x = c.in[0].shape(), &mask = c.in[1].shape();
  check_mask(c.name(), x, mask);
  Shape out{kUnknown};
  for (int d = mask.rank(); d < x.rank(); ++d) out.push_back(x[d]);
  c.out[0].shape = out;
}
void select_true_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &x = f.in[0], &mask = f.in[1];
  check_mask(f.name(), x.shape(), mask.shape());
  const bool* set = mask.data<bool>();
  const int64_t n = mask.numel();
  Shape shape{cpu::count_true(set, n)};
  int64_t row = item_size(x.dtype());
  for (int d = mask.rank(); d < x.rank(); ++d) {
    shape.push_back(x.dim(d));
    row *= x.dim(d);
  }
  cpu::select_true(f.allocate(0, shape).raw(), set, n, x.raw(), row);
}
Tensors select_true_grad(const GradCall& c, const NoAttrs&);

ARGOSY_OP(select_true, NoAttrs)
    .doc("x[mask]: the rows of x, in order, where mask, which has its leading dimensions, holds.")
    .shape("x [*s], mask [*t] -> [?,*s']")
    .input("x", kAny, Save::nothing)
    .input("mask", kBool, Save::value)
    .output("out")
    .infer(select_true_infer)
    .kernel("pack", select_true_run)
    .gradient(select_true_grad)
    .done();

void spread_true_infer(InferContext& c, const NoAttrs&) {
  const Shape &mask = c.in[0].shape(), &values = c.in[1].shape();
  Shape out = mask;
  for (int d = 1; d < values.rank(); ++d) out.push_back(values[d]);
  c.out[0] = {out, c.in[1].dtype()};
}
void spread_true_run(KernelFrame& f, const NoAttrs&) {
  const Tensor &mask = f.in[0], &values = f.in[1];
  const bool* set = mask.data<bool>();
  const int64_t n = mask.numel(), count = cpu::count_true(set, n);
  ARGOSY_CHECK(values.rank() >= 1 && values.dim(0) == count, invalid_argument)
      << '[' << f.name() << "] values must have a row for each true element of the mask: expected "
      << count << ", got " << values << ". Do this: pass as many rows as the mask selects.";
  int64_t row = item_size(values.dtype());
  for (int d = 1; d < values.rank(); ++d) row *= values.dim(d);
  cpu::spread_true(f.out[0].raw(), set, n, values.raw(), row);
}
Tensors spread_true_grad(const GradCall& c, const NoAttrs&) {
  return {Tensor(), select_true(c.dy(), c.in[0])};
}

ARGOSY_OP(spread_true, NoAttrs)
    .doc("Zeros with the rows of values, in order, where mask holds: [sizes of mask, row].")
    .input("mask", kBool, Save::value)
    .input("values")
    .output("out")
    .infer(spread_true_infer)
    .kernel("unpack", spread_true_run)
    .gradient(spread_true_grad)
    .done();

Tensors select_true_grad(const GradCall& c, const NoAttrs&) {
  return {spread_true_op(c.in[1], c.dy()), Tensor()};
}

}  // namespace

Tensors mask_indices(const Tensor& mask) {
  return mask_indices_op.all({mask});
}
Tensor select_true(const Tensor& x, const Tensor& mask) {
  return select_true_op(x, mask);
}

}  // namespace argosy::ops
