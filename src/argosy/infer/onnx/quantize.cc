#include "argosy/infer/onnx/common.h"
#include "argosy/infer/onnx/narrow.h"
#include "argosy/infer/onnx/window.h"

// Quantized numbers: scales and zero points, and products of integers.
namespace argosy::infer::onnx {
namespace {

bool is_integer_element(int element) {
  const auto dtype = dtype_of_element(element);
  return dtype && is_integral(*dtype);
}

// A scale or zero point for x: one number, one for each place of `axis`, or one for each block of
// `block` places.
Tensor spread(const Node& n, const Tensor& t, const Tensor& x, int64_t axis, int64_t block) {
  if (t.rank() == 0 || (t.rank() == 1 && t.dim(0) == 1 && block == 0))
    return ops::reshape(t, op::IntArray{});
  const int at = n.axis(axis, x.rank());
  if (block == 0) return t.rank() == 1 ? along(t, at, x.rank()) : t;
  n.expect(t.rank() == x.rank(), "the scale of blocks has as many dimensions as the input");
  op::IntArray shape = shape_of(ops::unsqueeze(t, op::IntArray{at + 1}));
  shape.values[static_cast<size_t>(at) + 1] = block;
  const Tensor whole =
      ops::flatten(ops::expand(ops::unsqueeze(t, op::IntArray{at + 1}), shape), at, at + 1);
  return ops::slice(whole, at, op::IntArray{0}, ops::size_along(x, at));
}

// round(x) + zero within what the type holds.
Item to_integers(const Tensor& x, const Tensor& zero, int element) {
  const Range range = range_of(element);
  Tensor y = ops::round(x);
  if (zero.defined()) y = ops::add(y, as(zero, y.dtype()));
  return {as(ops::clip(y, range.low, range.high), *dtype_of_element(element)), element};
}

// A matrix, or weights of a convolution, of which it matters how they are multiplied.
bool is_large(const Tensor& x) {
  constexpr int64_t kLeast = 1024;  // elements
  return !x.symbolic() && (x.rank() == 2 || x.rank() == 4) && x.numel() >= kLeast;
}
// Weights of a convolution whose channels are each by itself: few, but multiplied by all of x.
bool is_depthwise(const Tensor& x) {
  return !x.symbolic() && x.rank() == 4 && x.dim(1) == 1;
}

// The matrix of a product as an operation of the Program though its operands are known: its codes
// are a quarter of the numbers, and passes multiply codes by codes.
Tensor later_numbers(const Node& n, const Tensor& x, const Tensor& scale, const Tensor& zero) {
  auto numbers = [&] { return call("dequantize_affine", {x, scale, zero}); };
  if ((!is_large(x) && !is_depthwise(x)) || !n.is_multiplied()) return numbers();
  const program::Recording recording = n.session.recording();
  return numbers();
}

Items quantize(const Node& n) {
  const Tensor& given = n.in(0);
  const int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  const bool saturate = n.flag("saturate", true);
  int element = n.has(2) ? n.element(2) : n.element_attribute("output_dtype", 0);
  n.element_attribute("output_dtype", 0);
  if (element == 0) element = kUint8;
  const int precision = n.element_attribute("precision", 0);
  Tensor x = as(given, is_integral(given.dtype()) ? DType::float32 : given.dtype());
  if (precision) x = as(x, *dtype_of_element(precision));
  // In float32 at least, as the 16-bit ones are computed with.
  const DType wide = x.dtype() == DType::float64 ? DType::float64 : DType::float32;
  const Tensor scale = as(spread(n, n.in(1), x, axis, block), wide);
  const Tensor zero = n.has(2) ? spread(n, n.in(2), x, axis, block) : Tensor();
  if (is_integer_element(element)) {
    const Range range = range_of(element);
    return {Item(
        call("quantize_affine", {as(x, wide), scale, zero.defined() ? as(zero, wide) : zero},
             {{"low", range.low}, {"high", range.high}, {"dtype", *dtype_of_element(element)}}),
        element)};
  }
  const Tensor scaled = ops::divide(as(x, wide), scale);
  return {Item(as(cast_elements(scaled, element, saturate), *dtype_of_element(element)), element)};
}

Items dequantize(const Node& n) {
  const Tensor& x = n.in(0);
  const int64_t axis = n.integer("axis", 1), block = n.integer("block_size", 0);
  const int said = n.element_attribute("output_dtype", 0);
  const DType dtype = said ? *dtype_of_element(said) : n.in(1).dtype();
  const bool large = is_integral(x.dtype()) && item_size(x.dtype()) >= 4;
  const DType wide = large ? DType::float64 : DType::float32;
  const Tensor scale = as(spread(n, n.in(1), x, axis, block), wide);
  const Tensor zero = n.has(2) ? as(spread(n, n.in(2), x, axis, block), wide) : Tensor();
  if (is_integral(x.dtype())) return {as(later_numbers(n, x, scale, zero), dtype)};
  const Tensor y = as(x, wide);  // codes that are floating
  return {as(ops::multiply(zero.defined() ? ops::subtract(y, zero) : y, scale), dtype)};
}

Items dynamic_quantize(const Node& n) {
  const Tensor& x = n.in();
  const Tensor zero = number(0, x);
  const Tensor high = ops::maximum(ops::max(x), zero), low = ops::minimum(ops::min(x), zero);
  const Tensor scale = ops::scale(ops::subtract(high, low), 1.0 / 255);
  // Of zeros alone every scale is right.
  const Tensor safe = ops::where(ops::equal(scale, zero), number(1, scale), scale);
  const Tensor point = ops::clip(ops::round(ops::negative(ops::divide(low, safe))), 0, 255);
  const Tensor y = call("quantize_affine", {x, safe, point},
                        {{"low", 0.0}, {"high", 255.0}, {"dtype", DType::uint8}});
  return {Item(y, kUint8), scale, as(point, DType::uint8)};
}

// x without its zero point, which may be one for each row or column.
Tensor centered(const Tensor& x, const Tensor& zero, DType dtype, int rank_after) {
  const Tensor y = as(x, dtype);
  if (!zero.defined()) return y;
  Tensor z = as(zero, dtype);
  if (z.rank() == 1 && z.dim(0) == 1) z = ops::reshape(z, op::IntArray{});
  for (int i = 0; i < rank_after && z.rank() == 1; ++i) z = ops::unsqueeze(z, op::IntArray{-1});
  return ops::subtract(y, z);
}

Items matmul_integer(const Node& n) {
  return {ops::matmul(centered(n.in(0), n.optional(2), DType::int32, 1),
                      centered(n.in(1), n.optional(3), DType::int32, 0))};
}

// One number, or one for each row of a product.
Tensor by_rows(const Tensor& t) {
  return t.rank() == 1 && t.dim(0) != 1 ? ops::unsqueeze(t, op::IntArray{-1})
         : t.rank() == 1                ? ops::reshape(t, op::IntArray{})
                                        : t;
}
Tensor by_columns(const Tensor& t) {
  return t.rank() == 1 && t.dim(0) == 1 ? ops::reshape(t, op::IntArray{}) : t;
}

Items qlinear_matmul(const Node& n) {
  const Tensor sum = ops::matmul(centered(n.in(0), n.in(2), DType::int32, 1),
                                 centered(n.in(3), n.in(5), DType::int32, 0));
  const DType wide = DType::float32;
  const Tensor scale =
      ops::divide(ops::multiply(as(by_rows(n.in(1)), wide), as(by_columns(n.in(4)), wide)),
                  as(by_rows(n.in(6)), wide));
  return {to_integers(ops::multiply(as(sum, wide), scale), by_rows(n.in(7)), n.element(7))};
}

// Sums of products of 8-bit numbers, exact in float64, and in float32 where they are few.
Tensor integer_convolution(const Node& n, size_t x, size_t xz, size_t w, size_t wz) {
  constexpr int64_t kFew = (int64_t{1} << 24) / (255 * 255);
  Tensor zero = n.optional(wz);
  if (zero.defined() && zero.rank() == 1 && zero.dim(0) != 1) zero = along(zero, 0, n.rank(w));
  int64_t terms = 1;
  for (int d = 1; d < n.rank(w); ++d) terms *= std::clamp<int64_t>(n.in(w).dim(d), 0, kFew + 1);
  const DType wide = terms >= 0 && terms <= kFew ? DType::float32 : DType::float64;
  return convolve(n, centered(n.in(x), n.optional(xz), wide, 0), centered(n.in(w), zero, wide, 0),
                  Tensor());
}

Items conv_integer(const Node& n) {
  return {as(integer_convolution(n, 0, 2, 1, 3), DType::int32)};
}

// As numbers that stand for codes, of which passes multiply the codes.
Items large_qlinear_conv(const Node& n) {
  const DType wide = DType::float32;
  const auto one = [&](size_t i) { return ops::reshape(as(n.in(i), wide), op::IntArray{}); };
  // One number, or one for each channel of the result.
  const auto by_channels = [&](size_t i) {
    const Tensor t = as(n.in(i), wide);
    return t.rank() == 1 && t.dim(0) != 1 ? along(t, 0, 4) : ops::reshape(t, op::IntArray{});
  };
  const Tensor x = call("dequantize_affine", {n.in(0), one(1), one(2)});
  const Tensor scale = by_channels(4), zero = by_channels(5);
  const Tensor w = [&] {
    const program::Recording recording = n.session.recording();
    return call("dequantize_affine", {n.in(3), scale, zero});
  }();
  Tensor bias;
  if (n.has(8))
    bias = ops::multiply(as(n.in(8), wide), ops::multiply(one(1), ops::reshape(scale, {-1})));
  const int element = n.element(7);
  const Range range = range_of(element);
  return {
      Item(call("quantize_affine", {convolve(n, x, w, bias), one(6), one(7)},
                {{"low", range.low}, {"high", range.high}, {"dtype", *dtype_of_element(element)}}),
           element)};
}

Items qlinear_conv(const Node& n) {
  if (is_large(n.in(3)) && n.rank(3) == 4 && n.integer("group", 1) == 1)
    return large_qlinear_conv(n);
  const DType wide = DType::float64;
  Tensor sum = as(integer_convolution(n, 0, 2, 3, 5), wide);
  const int rank = sum.rank();
  if (n.has(8)) sum = ops::add(sum, along(as(n.in(8), wide), 1, rank));
  Tensor w_scale = as(n.in(4), wide);
  w_scale = w_scale.rank() == 1 && w_scale.dim(0) != 1 ? along(w_scale, 1, rank)
                                                       : ops::reshape(w_scale, op::IntArray{});
  auto one = [&](size_t i) { return ops::reshape(as(n.in(i), wide), op::IntArray{}); };
  const Tensor scale = ops::divide(ops::multiply(one(1), w_scale), one(6));
  return {to_integers(ops::multiply(sum, scale), one(7), n.element(7))};
}

constexpr Row kRows[] = {
    {"ConvInteger", conv_integer},
    {"DequantizeLinear", dequantize},
    {"DynamicQuantizeLinear", dynamic_quantize},
    {"MatMulInteger", matmul_integer},
    {"QLinearConv", qlinear_conv},
    {"QLinearMatMul", qlinear_matmul},
    {"QuantizeLinear", quantize},
};

}  // namespace

std::span<const Row> quantize_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
