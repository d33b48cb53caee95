#include "argosy/kernels/cpu/integer_linear.h"

#include "argosy/op/cost.h"
#include "argosy/ops/conv/packed_epilogue.h"
#include "argosy/ops/quant/integer.h"

// Products of codes with packed codes: what passes make of products of numbers that stand for
// codes.
namespace argosy::ops {
namespace {

using op::InferContext;
using op::KernelFrame;

constexpr DTypes kCodes = only(DType::uint8) | only(DType::int8);

void pack_infer(InferContext& c, const IntegerLinearAttrs& a) {
  expect_shape(c, 0, {a.in, a.out});
  const int64_t bytes = cpu::integer_linear_bytes(a.in, a.out);
  ARGOSY_CHECK(bytes > 0, not_implemented)
      << "[pack_integer_linear] there are no 8-bit dot products for a matrix " << Shape{a.in, a.out}
      << " on this machine. Do this: multiply numbers.";
  c.out[0] = {{bytes}, DType::uint8};
}
void pack_run(KernelFrame& f, const IntegerLinearAttrs& a) {
  const Tensor& w = f.in[0];
  cpu::pack_integer_linear(a.in, a.out, w.data<int8_t>(), w.strides()[0], w.strides()[1],
                           f.out[0].raw());
}

ARGOSY_OP(pack_integer_linear, IntegerLinearAttrs)
    .doc("The matrix of codes of a product, [in, out], in the order that integer_linear reads.")
    .input("weight", only(DType::int8))
    .index_output("out")
    .infer(pack_infer)
    .kernel("reorder", pack_run)
    .strided()
    .done();

void linear_infer(InferContext& c, const IntegerLinearAttrs& a) {
  const Shape& x = c.in[0].shape();
  ARGOSY_CHECK(x.rank() >= 1 && may_equal(x.back(), a.in), invalid_argument)
      << "[integer_linear] expected x [.., " << a.in << "], got " << x << '.';
  ARGOSY_CHECK(-128 <= a.zero && a.zero <= 255, invalid_argument)
      << "[integer_linear] zero: expected a code of 8 bits, got " << a.zero << '.';
  expect_packed(c, 1, cpu::integer_linear_bytes(a.in, a.out));
  expect_shape(c, 4, {a.out});
  expect_size(c, 5, 1);
  check_post(c, a.post);
  c.out[0] = {x, DType::float32};
  c.out[0].shape[x.rank() - 1] = a.out;
  expect_epilogue(c, a.out);
}
void linear_run(KernelFrame& f, const IntegerLinearAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  int64_t zero = a.zero;
  if (f.in[5].defined()) zero += *f.in[5].data<int32_t>();
  // What codes of 8 bits can have; others would overflow sums.
  ARGOSY_CHECK(-128 <= zero && zero <= 255, invalid_argument)
      << "[integer_linear] zero: expected a code of 8 bits, got " << zero << '.';
  const cpu::Codes codes{x.raw(), x.dtype() == DType::int8, static_cast<int32_t>(zero)};
  cpu::integer_linear(y.numel() / a.out, a.in, a.out, codes, f.in[1].raw(), f.in[4].data<float>(),
                      epilogue_of(f, a), y.data<float>());
}
op::Cost linear_cost(const InferContext& c, const IntegerLinearAttrs& a) {
  return op::cost_of_shapes(
      c, 2.0 * static_cast<double>(c.out[0].shape.numel()) * static_cast<double>(a.in));
}

ARGOSY_OP(integer_linear, IntegerLinearAttrs)
    .doc(
        "scale * post(factor [out] * (codes x [.., in], less zero, times a matrix [in, out] of "
        "pack_integer_linear) plus bias [out], plus residual) + shift. Sums of products are exact. "
        "more_zero [1] is added to zero.")
    .input("x", kCodes)
    .input("weight", only(DType::uint8))
    .optional_input("bias", only(DType::float32))
    .optional_input("residual", only(DType::float32))
    .input("factor", only(DType::float32))
    .optional_input("more_zero", only(DType::int32))
    .index_output("out")
    .infer(linear_infer)
    .kernel("dot products", linear_run)
    .cost(linear_cost)
    .done();

}  // namespace

bool can_pack(const IntegerLinearAttrs& a) {
  return cpu::integer_linear_bytes(a.in, a.out) > 0;
}
Tensor pack(const Tensor& codes, const IntegerLinearAttrs& a) {
  return pack_integer_linear_op(codes, a);
}

}  // namespace argosy::ops
