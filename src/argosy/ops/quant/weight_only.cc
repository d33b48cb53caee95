#include <algorithm>

#include "argosy/kernels/cpu/weight_only.h"
#include "argosy/op/cost.h"
#include "argosy/op/define.h"
#include "argosy/op/dispatch.h"
#include "argosy/ops/linalg/linalg.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/operands.h"

// Products with weights that are integers of 8 or 4 bits (kernels/cpu/weight_only.h has their
// order).
namespace argosy::ops {
namespace {

using op::InferContext;
using op::Inputs;
using op::KernelFrame;

struct WeightOnlyAttrs {
  int64_t bits = 8;
  int64_t group_size = -1;  // codes of a row that share a scale; -1: all
};
ARGOSY_ATTRS(WeightOnlyAttrs, bits, group_size)

// [n, k] of the weights in operand i, whose scales are operand `scale`.
Shape expect_weights(const InferContext& c, size_t i, size_t scale, const WeightOnlyAttrs& a) {
  ARGOSY_CHECK(a.bits == 8 || a.bits == 4, invalid_argument)
      << '[' << c.name() << "] bits: expected 8 or 4, got " << a.bits << '.';
  ARGOSY_CHECK(a.group_size == -1 || a.group_size > 0, invalid_argument)
      << '[' << c.name() << "] group_size: expected -1 or more than 0, got " << a.group_size << '.';
  expect_rank(c, i, 2, 2);
  Shape shape = c.in[i].shape();
  if (a.bits == 4 && shape[0] > 0) shape[0] *= 2;
  const int64_t k = shape[1];
  if (a.group_size == -1)
    expect_shape(c, scale, {shape[0]});
  else
    expect_shape(c, scale, {k < 0 ? k : (k + a.group_size - 1) / a.group_size, shape[0]});
  return shape;
}

cpu::WeightOnly weights_of(const Tensor& codes, const Tensor& scale, const WeightOnlyAttrs& a) {
  cpu::WeightOnly w;
  w.k = codes.dim(1);
  w.n = codes.dim(0) * (a.bits == 4 ? 2 : 1);
  w.bits = static_cast<int>(a.bits);
  w.codes = codes.data<int8_t>();
  w.group = std::max<int64_t>(a.group_size == -1 ? w.k : a.group_size, 1);
  w.scale = scale.data<float>();
  return w;
}

// --- as numbers ---

void numbers_infer(InferContext& c, const WeightOnlyAttrs& a) {
  c.out[0] = {expect_weights(c, 0, 1, a), DType::float32};
}
void numbers_run(KernelFrame& f, const WeightOnlyAttrs& a) {
  cpu::weight_only_numbers(weights_of(f.in[0], f.in[1], a), f.out[0].data<float>());
}

ARGOSY_OP(weight_only_numbers, WeightOnlyAttrs)
    .doc(
        "What weights of 8 or 4 bits stand for, float32 [n, k]: each row of codes, or each "
        "group_size of a row, times its scale, [n] or [groups, n].")
    .input("weight", only(DType::int8))
    .input("scale", only(DType::float32))
    .index_output("out")
    .infer(numbers_infer)
    .kernel("loops", numbers_run)
    .done();

// --- products ---

void linear_infer(InferContext& c, const WeightOnlyAttrs& a) {
  const Shape weights = expect_weights(c, 1, 2, a), &x = c.in[0].shape();
  ARGOSY_CHECK(x.rank() >= 1 && may_equal(x.back(), weights[1]), invalid_argument)
      << '[' << c.name() << "] x: expected [.., " << weights[1] << "], got " << x
      << ". Do this: pass what the weights were quantized for.";
  expect_size(c, 3, weights[0]);
  c.out[0].shape = x;
  c.out[0].shape[x.rank() - 1] = weights[0];
}

const char* few_rows(const Inputs& in, const WeightOnlyAttrs&) {
  constexpr int64_t kFew = 16;
  if (in[0].dtype() != DType::float32) return "x is not float32";
  const int64_t k = std::max<int64_t>(in[0].shape().back(), 1);
  return in[0].numel() / k > kFew ? "for many rows a product of numbers is faster" : nullptr;
}
void linear_run(KernelFrame& f, const WeightOnlyAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const cpu::WeightOnly w = weights_of(f.in[1], f.in[2], a);
  cpu::weight_only_product(w, y.numel() / w.n, x.data<float>(),
                           f.in[3].defined() ? f.in[3].data<float>() : nullptr, y.data<float>());
}

Tensors linear_parts(const Inputs& in, const WeightOnlyAttrs& a) {
  const Tensor kept[] = {in[1], in[2]};
  const Tensor weights = op::dispatch(op::get("weight_only_numbers"), Inputs(kept), &a)[0];
  const Tensor y = matmul(in[0], cast(weights, in[0].dtype()), false, true);
  return in[3].defined() ? add(y, in[3]) : y;
}

op::Cost linear_cost(const InferContext& c, const WeightOnlyAttrs&) {
  return op::cost_of_shapes(c, 2.0 * static_cast<double>(c.out[0].shape.numel()) *
                                   static_cast<double>(c.in[0].shape().back()));
}

ARGOSY_OP(weight_only_linear, WeightOnlyAttrs)
    .doc(
        "x [.., k] times weights of 8 or 4 bits, int8 [n, k] or [n / 2, k], plus bias [n]. "
        "See weight_only_numbers.")
    .input("x", kFloating)
    .input("weight", only(DType::int8))
    .input("scale", only(DType::float32))
    .optional_input("bias", kFloating)
    .output("out")
    .infer(linear_infer)
    .kernel("codes", few_rows, linear_run)
    .compose(linear_parts)
    .cost(linear_cost)
    .done();

}  // namespace
}  // namespace argosy::ops
