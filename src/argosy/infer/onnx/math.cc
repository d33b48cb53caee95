#include <cmath>
#include <limits>

#include "argosy/infer/onnx/common.h"

// Arithmetic, comparison, logic and functions of one number.
namespace argosy::infer::onnx {
namespace {

Items div(const Node& n) {
  if (is_floating(n.in(0).dtype())) return {ops::divide(n.in(0), n.in(1))};
  return {as(call("divide", {n.in(0), n.in(1)}, {{"rounding_mode", "trunc"}}), n.in(0).dtype())};
}

Items mod(const Node& n) {
  const Tensor &x = n.in(0), &y = n.in(1);
  if (!n.flag("fmod")) return {call("remainder", {x, y})};
  // The remainder of y with the sign of x.
  const Tensor rest = call("remainder", {ops::abs(x), ops::abs(y)});
  if (is_floating(x.dtype())) return {call("copysign", {rest, x})};
  return {ops::where(ops::less_than(x, number(0, x)), ops::negative(rest), rest)};
}

Items pow(const Node& n) {
  const DType dtype = n.in(0).dtype();
  if (is_floating(dtype) || is_integral(n.in(1).dtype()))
    return {ops::pow(n.in(0), as(n.in(1), dtype))};
  const DType wide = n.in(1).dtype();
  return {as(ops::pow(as(n.in(0), wide), n.in(1)), dtype)};
}

template <Tensor (*combine)(const Tensor&, const Tensor&)>
Items variadic(const Node& n) {
  n.expect(n.inputs() > 0, "at least one input is expected");
  Tensor all = n.in(0);
  for (size_t i = 1; i < n.inputs(); ++i) all = combine(all, n.in(i));
  return {all};
}

Items mean(const Node& n) {
  const Item sum = variadic<ops::add>(n)[0];
  return {ops::divide(sum.tensor, number(static_cast<double>(n.inputs()), sum.tensor))};
}

Items is_inf(const Node& n) {
  const bool negative = n.flag("detect_negative", true), positive = n.flag("detect_positive", true);
  Tensor x = n.in();
  if (x.dtype() == DType::float8_e4m3 || x.dtype() == DType::float8_e5m2) x = as(x, DType::float32);
  if (negative && positive) return {call("isinf", {x})};
  if (negative) return {call("isneginf", {x})};
  if (positive) return {call("isposinf", {x})};
  return {call("full_like", {x}, {{"fill_value", op::Scalar(false)}, {"dtype", DType::bool_}})};
}

Items clip(const Node& n) {
  const Tensor& x = n.in();
  if (n.opset < 11) {
    const double low = n.real("min", -std::numeric_limits<double>::infinity());
    const double high = n.real("max", std::numeric_limits<double>::infinity());
    return {ops::clip(x, low, high)};
  }
  const Tensor low = n.optional(1), high = n.optional(2);
  auto known = [&](const Tensor& t) { return !t.defined() || n.session.is_known(t); };
  if (is_floating(x.dtype()) && known(low) && known(high)) {
    const double infinity = std::numeric_limits<double>::infinity();
    // Where the bounds cross, every element is the upper one.
    const double bottom = low.defined() ? n.known_real(1) : -infinity;
    const double top = high.defined() ? n.known_real(2) : infinity;
    return {ops::clip(x, std::min(bottom, top), top)};
  }
  Tensor y = x;
  if (low.defined()) y = ops::maximum(y, low);
  if (high.defined()) y = ops::minimum(y, high);
  return {y};
}

Items shift(const Node& n) {
  const std::string direction = n.text("direction", "");
  n.expect(direction == "LEFT" || direction == "RIGHT", "direction has to be LEFT or RIGHT");
  const Tensor &x = n.in(0), &by = n.in(1);
  if (direction == "LEFT") return {call("bitwise_left_shift", {x, by}, {{"is_arithmetic", false}})};
  if (kUnsigned.has(x.dtype()))
    return {call("bitwise_right_shift", {x, by}, {{"is_arithmetic", false}})};
  // What is shifted out of a signed number is its sign, however far.
  const Tensor most = number(8 * item_size(x.dtype()) - 1, by);
  const Tensor far =
      ops::logical_or(ops::less_than(by, number(0, by)), ops::greater_than(by, most));
  return {call("bitwise_right_shift", {x, ops::where(far, most, by)}, {{"is_arithmetic", true}})};
}

Items where(const Node& n) {
  return {ops::where(n.in(0), n.in(1), n.in(2))};
}

Items cumulative(const Node& n, const char* op, double first) {
  const Tensor& x = n.in();
  const int axis = n.axis(n.known_integer(1), x.rank());
  const bool reverse = n.flag("reverse"), exclusive = n.flag("exclusive");
  Tensor y = reverse ? call("flip", {x}, {{"axis", op::IntArray{axis}}}) : x;
  if (exclusive) {
    // One place later, the first of which is empty.
    op::IntArray shape;
    for (int i = 0; i < x.rank(); ++i) {
      if (i == axis)
        push(shape, 1);
      else
        ops::push_size(shape, x, i);
    }
    const Tensor head = ops::full(shape, op::Scalar(first), x.dtype());
    y = ops::concat(std::array{head, y}, axis);
    y = ops::slice(y, axis, 0, -1);
  }
  y = std::string_view(op) == "cumprod"
          ? call(op, {y}, {{"dim", static_cast<int64_t>(axis)}, {"dtype", x.dtype()}})
          : call(op, {y}, {{"axis", static_cast<int64_t>(axis)}, {"dtype", x.dtype()}});
  return {reverse ? call("flip", {y}, {{"axis", op::IntArray{axis}}}) : y};
}

Items cumulative_sum(const Node& n) {
  return cumulative(n, "cumsum", 0);
}
Items cumulative_product(const Node& n) {
  return cumulative(n, "cumprod", 1);
}

Items negative(const Node& n) {
  return {ops::negative(n.in())};
}

// Rounding leaves integers as they are.
template <Name op>
Items rounding(const Node& n) {
  return {is_floating(n.in().dtype()) ? call(op.text, {n.in()}) : n.in()};
}

Items bit_cast(const Node& n) {
  const int to = n.element_attribute("to", 0);
  const auto dtype = dtype_of_element(to);
  if (!dtype || is_narrow(to) || n.item(0).element) n.unsupported("BitCast of narrow elements");
  n.expect(item_size(*dtype) == item_size(n.in().dtype()), "the types have to be as wide");
  return {call("view_dtype", {n.in()}, {{"dtype", *dtype}})};
}

constexpr Row kRows[] = {
    {"Abs", same<"abs">},
    {"Acos", same<"acos">},
    {"Acosh", same<"acosh">},
    {"Add", same<"add">},
    {"And", same<"logical_and">},
    {"Asin", same<"asin">},
    {"Asinh", same<"asinh">},
    {"Atan", same<"atan">},
    {"Atanh", same<"atanh">},
    {"BitCast", bit_cast},
    {"BitShift", shift},
    {"BitwiseAnd", same<"bitwise_and">},
    {"BitwiseNot", same<"bitwise_not">},
    {"BitwiseOr", same<"bitwise_or">},
    {"BitwiseXor", same<"bitwise_xor">},
    {"Ceil", rounding<"ceil">},
    {"Clip", clip},
    {"Cos", same<"cos">},
    {"Cosh", same<"cosh">},
    {"CumProd", cumulative_product},
    {"CumSum", cumulative_sum},
    {"Div", div},
    {"Equal", same<"equal">},
    {"Erf", same<"erf">},
    {"Exp", same<"exp">},
    {"Floor", rounding<"floor">},
    {"Greater", same<"greater_than">},
    {"GreaterOrEqual", same<"greater_equal">},
    {"IsInf", is_inf},
    {"IsNaN", same<"isnan">},
    {"Less", same<"less_than">},
    {"LessOrEqual", same<"less_equal">},
    {"Log", same<"log">},
    {"Max", variadic<ops::maximum>},
    {"Mean", mean},
    {"Min", variadic<ops::minimum>},
    {"Mod", mod},
    {"Mul", same<"multiply">},
    {"Neg", negative},
    {"Not", same<"logical_not">},
    {"Or", same<"logical_or">},
    {"Pow", pow},
    {"Reciprocal", same<"reciprocal">},
    {"Round", rounding<"round">},
    {"Sign", same<"sign">},
    {"Sin", same<"sin">},
    {"Sinh", same<"sinh">},
    {"Sqrt", same<"sqrt">},
    {"Sub", same<"subtract">},
    {"Sum", variadic<ops::add>},
    {"Tan", same<"tan">},
    {"Where", where},
    {"Xor", same<"logical_xor">},
};

}  // namespace

std::span<const Row> math_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
