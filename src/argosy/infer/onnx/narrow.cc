#include "argosy/infer/onnx/narrow.h"

#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"

namespace argosy::infer::onnx {
namespace {

// A small float: its largest exponent field may be of finite numbers, and its zero may be unsigned.
struct SmallFloat {
  int element;
  int exponent_bits, mantissa_bits, bias;
  double largest;
  bool infinities;     // IEEE's: the largest exponent is of them and of what is no number
  bool not_a_number;   // has one at all
  bool unsigned_zero;  // "negative zero" is what is no number
};
constexpr SmallFloat kSmall[] = {
    {kFloat8E4M3FN, 4, 3, 7, 448, false, true, false},
    {kFloat8E5M2, 5, 2, 15, 57344, true, true, false},
    {kFloat8E4M3FNUZ, 4, 3, 8, 240, false, true, true},
    {kFloat8E5M2FNUZ, 5, 2, 16, 57344, false, true, true},
    {kFloat4E2M1, 2, 1, 1, 6, false, false, false},
};

const SmallFloat* small_of(int element) {
  for (const SmallFloat& f : kSmall)
    if (f.element == element) return &f;
  return nullptr;
}

struct SmallInteger {
  int element, bits;
  bool is_signed;
};
constexpr SmallInteger kIntegers[] = {
    {kUint4, 4, false}, {kInt4, 4, true}, {kUint2, 2, false}, {kInt2, 2, true}};

const SmallInteger* integer_of(int element) {
  for (const SmallInteger& i : kIntegers)
    if (i.element == element) return &i;
  return nullptr;
}

// Two to a power, of an integer tensor, exactly.
Tensor power_of_two(const Tensor& exponent) {
  return ops::pow(ops::constant(op::Scalar(2.0), exponent.dtype()), exponent);
}

Tensor round_small(const SmallFloat& f, const Tensor& x, bool saturate) {
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor wide = as(x, DType::float64);
  const Tensor exponent = ops::scale(call_all("frexp", {wide})[1], 1, -1);
  const Tensor lowest = number(1 - f.bias, exponent);
  const Tensor step = power_of_two(ops::scale(
      ops::maximum(as(exponent, DType::float64), as(lowest, DType::float64)), 1, -f.mantissa_bits));
  Tensor y = ops::multiply(ops::round(ops::divide(wide, step)), step);
  // frexp of infinity has no exponent.
  y = ops::where(ops::isfinite(wide), y, wide);
  const Tensor largest = number(f.largest, y);
  const Tensor large = ops::greater_than(ops::abs(y), largest);
  const Tensor sign = ops::sign(y);
  Tensor instead = ops::multiply(sign, largest);
  if (!saturate && f.not_a_number)
    instead = f.infinities ? ops::multiply(sign, number(infinity, y))
                           : ops::full_like(y, op::Scalar(std::nan("")));
  y = ops::where(large, instead, y);
  if (!f.not_a_number) y = ops::where(ops::isnan(y), number(0, y), y);
  if (f.unsigned_zero) y = ops::where(ops::equal(y, number(0, y)), number(0, y), y);
  return y;
}

Tensor round_power(const Tensor& x, const std::string& mode, bool saturate) {
  const Tensor wide = as(x, DType::float64);
  const Tensor magnitude = ops::abs(wide);
  const Tensors parts = call_all("frexp", {magnitude});
  const Tensor mantissa = parts[0], exponent = as(parts[1], DType::float64);
  // mantissa is in [0.5, 1): exactly 0.5 is a power of two.
  const Tensor half = number(0.5, mantissa);
  const Tensor up = mode == "up"     ? ops::greater_than(mantissa, half)
                    : mode == "down" ? ops::greater_than(mantissa, number(2, mantissa))
                                     : ops::greater_equal(mantissa, number(0.75, mantissa));
  Tensor e = ops::add(ops::scale(exponent, 1, -1), as(up, DType::float64));
  const Tensor over = ops::greater_than(e, number(127, e));
  e = ops::clip(e, -127, 127);
  Tensor y = power_of_two(e);
  const Tensor nan = number(std::nan(""), y);
  if (!saturate) y = ops::where(over, nan, y);
  y = ops::where(ops::equal(magnitude, number(0, y)), number(std::ldexp(1.0, -127), y), y);
  const Tensor infinite =
      ops::logical_and(ops::logical_not(ops::isfinite(wide)), ops::logical_not(ops::isnan(wide)));
  y = ops::where(infinite, saturate ? number(std::ldexp(1.0, 127), y) : nan, y);
  return ops::where(ops::isnan(wide), nan, y);
}

}  // namespace

int bits_of(int element) {
  if (const SmallInteger* i = integer_of(element)) return i->bits;
  if (element == kFloat4E2M1) return 4;
  if (element == kFloat8E4M3FNUZ || element == kFloat8E5M2FNUZ || element == kFloat8E8M0) return 8;
  const auto dtype = dtype_of_element(element);
  return dtype ? 8 * item_size(*dtype) : 0;
}

double decode(int element, uint32_t bits) {
  if (const SmallInteger* i = integer_of(element)) {
    const int value = static_cast<int>(bits);
    return i->is_signed && value >> (i->bits - 1) ? value - (1 << i->bits) : value;
  }
  if (element == kFloat8E8M0)
    return bits == 255 ? std::nan("") : std::ldexp(1.0, static_cast<int>(bits) - 127);
  const SmallFloat& f = *small_of(element);
  const int width = 1 + f.exponent_bits + f.mantissa_bits;
  const bool negative = bits >> (width - 1) & 1;
  const int exponent = static_cast<int>(bits >> f.mantissa_bits) & ((1 << f.exponent_bits) - 1);
  const int mantissa = static_cast<int>(bits) & ((1 << f.mantissa_bits) - 1);
  if (f.unsigned_zero && negative && exponent == 0 && mantissa == 0) return std::nan("");
  const double value = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                                     : std::ldexp((1 << f.mantissa_bits) + mantissa,
                                                  exponent - f.bias - f.mantissa_bits);
  return negative ? -value : value;
}

Range range_of(int element) {
  if (const SmallInteger* i = integer_of(element)) {
    const double span = 1 << i->bits;
    return i->is_signed ? Range{-span / 2, span / 2 - 1} : Range{0, span - 1};
  }
  if (const SmallFloat* f = small_of(element)) return {-f->largest, f->largest};
  switch (element) {
    case kInt8:
      return {-128, 127};
    case kUint8:
      return {0, 255};
    case kInt16:
      return {-32768, 32767};
    case kUint16:
      return {0, 65535};
    case kInt32:
      return {-2147483648.0, 2147483647.0};
    default:
      return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  }
}

Tensor cast_elements(const Tensor& x, int to, bool saturate, const std::string& round) {
  const DType dtype = *dtype_of_element(to);
  if (const SmallInteger* i = integer_of(to)) {
    // The lowest bits, as of wider integers.
    const Tensor whole = as(as(x, is_floating(x.dtype()) ? DType::int64 : x.dtype()), DType::int64);
    const Tensor mask = number((1 << i->bits) - 1, whole);
    const int64_t half = i->is_signed ? 1 << (i->bits - 1) : 0;
    const Tensor moved = ops::add(whole, number(static_cast<double>(half), whole));
    const Tensor low = call("bitwise_and", {moved, mask});
    return as(ops::subtract(low, number(static_cast<double>(half), low)), dtype);
  }
  if (to == kFloat8E8M0) return as(round_power(x, round, saturate), dtype);
  if (const SmallFloat* f = small_of(to)) return as(round_small(*f, x, saturate), dtype);
  return as(x, dtype);
}

}  // namespace argosy::infer::onnx
