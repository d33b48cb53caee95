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

// What the results are, numbers or codes of 8 bits.
template <class A>
void check_result(const InferContext& c, const A& a) {
  const bool codes = a.dtype == DType::uint8 || a.dtype == DType::int8;
  ARGOSY_CHECK(codes || a.dtype == DType::float32, invalid_argument)
      << '[' << c.name() << "] dtype: expected float32, uint8 or int8, got " << a.dtype
      << ". Do this: leave other codes to quantize_affine.";
  ARGOSY_CHECK(!codes || (a.step > 0 && a.low <= a.high && a.low >= -128 && a.high <= 255),
               invalid_argument)
      << '[' << c.name() << "] expected a positive step and low <= high within 8 bits, got "
      << a.step << ", " << a.low << " and " << a.high << '.';
  ARGOSY_CHECK(-128 <= a.zero && a.zero <= 255, invalid_argument)
      << '[' << c.name() << "] zero: expected a code of 8 bits, got " << a.zero << '.';
}
template <class A>
cpu::CodeResult result_of(const Tensor& y, const A& a) {
  return {y.raw(),
          a.dtype != DType::float32,
          static_cast<float>(a.step),
          static_cast<float>(a.code_zero),
          static_cast<float>(a.low),
          static_cast<float>(a.high)};
}

void linear_infer(InferContext& c, const IntegerLinearAttrs& a) {
  const Shape& x = c.in[0].shape();
  ARGOSY_CHECK(x.rank() >= 1 && may_equal(x.back(), a.in), invalid_argument)
      << "[integer_linear] expected x [.., " << a.in << "], got " << x << '.';
  check_result(c, a);
  expect_packed(c, 1, cpu::integer_linear_bytes(a.in, a.out));
  expect_shape(c, 4, {a.out});
  expect_size(c, 5, 1);
  check_post(c, a.post);
  c.out[0] = {x, a.dtype};
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
                      epilogue_of(f, a), result_of(y, a));
}
op::Cost linear_cost(const InferContext& c, const IntegerLinearAttrs& a) {
  return op::cost_of_shapes(
      c, 2.0 * static_cast<double>(c.out[0].shape.numel()) * static_cast<double>(a.in));
}

ARGOSY_OP(integer_linear, IntegerLinearAttrs)
    .doc(
        "scale * post(factor [out] * (codes x [.., in], less zero, times a matrix [in, out] of "
        "pack_integer_linear) plus bias [out], plus residual) + shift. Sums of products are exact. "
        "more_zero [1] is added to zero. With a dtype of 8 bits the codes of the results, as "
        "quantize_affine has them.")
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

// --- convolutions ---

void pack_depthwise_infer(InferContext& c, const op::NoAttrs&) {
  expect_rank(c, 0, 4, 4);
  const Shape& w = c.in[0].shape();
  const int64_t bytes = cpu::integer_depthwise_bytes(w[0], w[2] * w[3]);
  ARGOSY_CHECK(w[1] == 1 && bytes > 0, not_implemented)
      << "[pack_integer_depthwise] there is no convolution of codes by weights " << w
      << " on this machine. Do this: convolve numbers.";
  c.out[0] = {{bytes}, DType::uint8};
}
void pack_depthwise_run(KernelFrame& f, const op::NoAttrs&) {
  const Tensor& w = f.in[0];
  cpu::pack_integer_depthwise(w.dim(0), w.dim(2) * w.dim(3), w.data<int8_t>(), f.out[0].raw());
}

ARGOSY_OP(pack_integer_depthwise, op::NoAttrs)
    .doc(
        "Codes [channels, 1, kernel..] of a convolution whose channels are each by itself, in the "
        "order that integer_conv2d reads.")
    .input("weight", only(DType::int8))
    .index_output("out")
    .infer(pack_depthwise_infer)
    .kernel("reorder", pack_depthwise_run)
    .done();

bool is_depthwise(const IntegerConvAttrs& a) {
  return a.groups > 1;
}
int64_t depth_of(const IntegerConvAttrs& a) {
  return a.kernel[0] * a.kernel[1] * a.in / a.groups;
}
int64_t bytes_of(const IntegerConvAttrs& a) {
  return is_depthwise(a) ? cpu::integer_depthwise_bytes(a.in, depth_of(a))
                         : cpu::integer_linear_bytes(depth_of(a), a.out);
}

void check_windows(const InferContext& c, const IntegerConvAttrs& a) {
  bool good = a.kernel.size() == 2 && a.stride.size() == 2 && a.dilation.size() == 2 &&
              a.padding.size() == 4 && a.in > 0 && a.out > 0;
  const auto within = [&](const std::vector<int64_t>& list, int64_t least) {
    for (const int64_t v : list) good = good && v >= least && v < (int64_t{1} << 15);
  };
  for (const auto* list : {&a.kernel, &a.stride, &a.dilation}) within(*list, 1);
  within(a.padding, 0);
  ARGOSY_CHECK(good && a.in < (int64_t{1} << 24) && a.out < (int64_t{1} << 24), invalid_argument)
      << '[' << c.name()
      << "] expected two kernel sizes, strides and dilations and four paddings. Do "
         "this: check the attributes.";
  ARGOSY_CHECK(a.groups == 1 || (a.groups == a.in && a.groups == a.out), invalid_argument)
      << '[' << c.name() << "] groups: expected 1, or as many as there are channels, got "
      << a.groups << " for " << a.in << " and " << a.out << ". Do this: convolve numbers.";
}

int64_t places(const IntegerConvAttrs& a, size_t d, int64_t size) {
  return cpu::conv_out_size(size, a.kernel[d], a.stride[d], a.dilation[d], a.padding[2 * d],
                            a.padding[2 * d + 1]);
}

void conv_infer(InferContext& c, const IntegerConvAttrs& a) {
  check_windows(c, a);
  expect_rank(c, 0, 4, 4);
  const Shape& x = c.in[0].shape();
  ARGOSY_CHECK(may_equal(x.back(), a.in), invalid_argument)
      << "[integer_conv2d] expected x [n, h, w, " << a.in << "], got " << x << '.';
  check_result(c, a);
  expect_packed(c, 1, bytes_of(a));
  expect_shape(c, 4, {a.out});
  check_post(c, a.post);
  c.out[0] = {x, a.dtype};
  Shape& y = c.out[0].shape;
  y[3] = a.out;
  for (size_t d = 0; d < 2; ++d) {
    const int axis = static_cast<int>(d) + 1;
    if (x[axis] < 0) continue;
    y[axis] = places(a, d, x[axis]);
    ARGOSY_CHECK(y[axis] > 0, invalid_argument)
        << "[integer_conv2d] the kernel does not fit: spatial dimension " << d << " of x has size "
        << x[axis] << ". Do this: use a larger input.";
  }
  expect_epilogue(c, a.out);
}

void conv_run(KernelFrame& f, const IntegerConvAttrs& a) {
  const Tensor &x = f.in[0], &y = f.out[0];
  if (y.numel() == 0) return;
  const bool is_signed = x.dtype() == DType::int8;
  // Padding is filled with it.
  ARGOSY_CHECK((is_signed ? -128 : 0) <= a.zero && a.zero <= (is_signed ? 127 : 255),
               invalid_argument)
      << "[integer_conv2d] zero: expected a code of " << x.dtype() << ", got " << a.zero << '.';
  cpu::ConvShape s;
  s.dims = 2;
  s.channels_last = true;
  s.batch = x.dim(0);
  s.in_channels = a.in;
  s.out_channels = a.out;
  for (size_t d = 0; d < 2; ++d) {
    s.in[d] = x.dim(static_cast<int>(d) + 1);
    s.out[d] = y.dim(static_cast<int>(d) + 1);
    s.kernel[d] = a.kernel[d];
    s.stride[d] = a.stride[d];
    s.dilation[d] = a.dilation[d];
    s.pad[d] = a.padding[2 * d];
  }
  s.groups = a.groups;
  const auto convolve = is_depthwise(a) ? cpu::integer_depthwise : cpu::integer_conv;
  convolve(s, {x.raw(), is_signed, static_cast<int32_t>(a.zero)}, f.in[1].raw(),
           f.in[4].data<float>(), epilogue_of(f, a), result_of(y, a));
}
op::Cost conv_cost(const InferContext& c, const IntegerConvAttrs& a) {
  const double taps = 2.0 * static_cast<double>(depth_of(a));
  return op::cost_of_shapes(c, taps * static_cast<double>(c.out[0].shape.numel()));
}

ARGOSY_OP(integer_conv2d, IntegerConvAttrs)
    .doc(
        "scale * post(factor [out] * cross-correlation of codes x [n, h, w, in], less zero, with a "
        "matrix [kernel.. * in, out] of pack_integer_linear, or, of as many groups as channels, "
        "with weights of pack_integer_depthwise, plus bias [out], plus residual) + shift: "
        "[n, h, w, out]. Sums of products are exact. With a dtype of 8 bits the codes of "
        "the results, as quantize_affine has them.")
    .input("x", kCodes)
    .input("weight", only(DType::uint8))
    .optional_input("bias", only(DType::float32))
    .optional_input("residual", only(DType::float32))
    .input("factor", only(DType::float32))
    .index_output("out")
    .infer(conv_infer)
    .kernel("dot products", conv_run)
    .cost(conv_cost)
    .done();

}  // namespace

bool can_pack(const IntegerLinearAttrs& a) {
  return cpu::integer_linear_bytes(a.in, a.out) > 0;
}
Tensor pack(const Tensor& codes, const IntegerLinearAttrs& a) {
  return pack_integer_linear_op(codes, a);
}
Tensor pack_depthwise(const Tensor& codes) {
  if (cpu::integer_depthwise_bytes(codes.dim(0), codes.dim(2) * codes.dim(3)) == 0) return {};
  return pack_integer_depthwise_op(codes);
}

}  // namespace argosy::ops
