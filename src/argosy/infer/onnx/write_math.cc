#include <cmath>
#include <limits>

#include "argosy/infer/onnx/emit.h"

// Arithmetic, comparison, reductions and functions of one number.
namespace argosy::infer::onnx {
namespace {

// x + alpha y and x - alpha y.
template <ForeignName op>
void with_alpha(Emit& e) {
  std::string y = e.in(1);
  if (e.real("alpha") != 1) y = e.node("Mul", {y, e.number(e.real("alpha"), 1)});
  if (e.dtype() == DType::bool_) return e.give(e.node("Or", {e.in(0), y}));
  e.give(e.node(op.text, {e.in(0), y}));
}

void multiply(Emit& e) {
  e.give(e.node(e.dtype() == DType::bool_ ? "And" : "Mul", {e.in(0), e.in(1)}));
}

void divide(Emit& e) {
  const auto& rounding = e.attr<std::optional<std::string>>("rounding_mode");
  std::string x = e.in(0), y = e.in(1);
  const bool floating = is_floating(e.dtype());
  if (!rounding && !floating) {
    x = e.to.cast(x, e.result().dtype);
    y = e.to.cast(y, e.result().dtype);
  }
  std::string z = e.node("Div", {x, y});
  if (rounding && *rounding == "floor" && !floating) e.unsupported("floor division of integers");
  if (rounding && *rounding == "floor") z = e.node("Floor", {z});
  if (rounding && *rounding == "trunc" && floating)
    z = e.node("Mul", {e.node("Sign", {z}), e.node("Floor", {e.node("Abs", {z})})});
  e.give(z);
}

// The product of a number of a Program, or of an attribute.
void scale(Emit& e) {
  const auto& factor = e.attr<op::Scalar>("scale");
  const double bias = e.real("bias");
  const bool after = e.flag("bias_after_scale");
  const DType dtype = e.dtype();
  std::string x = e.in(0);
  auto add = [&] {
    if (bias != 0) x = e.node("Add", {x, e.number(bias)});
  };
  if (!after) add();
  if (factor.tensor.defined()) {
    const std::string s = e.to.name(e.o.attr_values()[0]);
    x = e.node("Mul", {x, e.o.attr_values()[0]->dtype == dtype ? s : e.to.cast(s, dtype)});
  } else if (factor.real() != 1) {
    const bool whole = is_integral(dtype);
    if (whole && factor.real() != std::floor(factor.real()))
      x = e.to.cast(
          e.node("Mul", {e.to.cast(x, DType::float64), e.to.number(factor.real(), DType::float64)}),
          dtype);
    else
      x = e.node("Mul", {x, e.number(factor.real())});
  }
  if (after) add();
  if (e.attr<std::optional<std::string>>("act")) e.unsupported("an activation in scale");
  e.give(x);
}

void pow(Emit& e) {
  e.give(e.node("Pow", {e.in(0), e.in(1)}));
}

void cast(Emit& e) {
  e.give(e.to.cast(e.in(0), e.attr<DType>("dtype")));
}

void clip(Emit& e) {
  const auto &low = e.attr<std::optional<op::Scalar>>("min"),
             &high = e.attr<std::optional<op::Scalar>>("max");
  if (e.o.attr_operands) e.unsupported("a bound that only a run knows");
  const bool has_low = low && !std::isinf(low->real()),
             has_high = high && !std::isinf(high->real());
  e.give(e.node("Clip", {e.in(0), has_low ? e.number(low->real()) : "",
                         has_high ? e.number(high->real()) : ""}));
}

// Functions that give floating results of integers, too.
template <ForeignName op>
void function(Emit& e) {
  const DType dtype = e.result().dtype;
  e.give(e.node(op.text, {e.dtype() == dtype ? e.in(0) : e.to.cast(e.in(0), dtype)}));
}

// f(x) as g of another function.
template <ForeignName outer, ForeignName inner>
void two(Emit& e) {
  e.give(e.node(outer.text, {e.node(inner.text, {e.in(0)})}));
}

void square(Emit& e) {
  e.give(e.node("Mul", {e.in(0), e.in(0)}));
}
void log1p(Emit& e) {
  e.give(e.node("Log", {e.node("Add", {e.in(0), e.number(1)})}));
}
void expm1(Emit& e) {
  e.give(e.node("Sub", {e.node("Exp", {e.in(0)}), e.number(1)}));
}
template <int base>
void log_of_base(Emit& e) {
  e.give(e.node("Div", {e.node("Log", {e.in(0)}), e.number(std::log(base))}));
}
void round(Emit& e) {
  const int64_t decimals = e.integer("decimals");
  if (!is_floating(e.dtype())) return e.give(e.in(0));
  if (decimals == 0) return e.give(e.node("Round", {e.in(0)}));
  const std::string factor = e.number(std::pow(10, static_cast<double>(decimals)));
  e.give(e.node("Div", {e.node("Round", {e.node("Mul", {e.in(0), factor})}), factor}));
}
void trunc(Emit& e) {
  e.give(e.node("Mul", {e.node("Sign", {e.in(0)}), e.node("Floor", {e.node("Abs", {e.in(0)})})}));
}
void not_equal(Emit& e) {
  e.give(e.node("Not", {e.node("Equal", {e.in(0), e.in(1)})}));
}
void is_finite(Emit& e) {
  e.give(e.node("Not", {e.node("Or", {e.node("IsInf", {e.in(0)}), e.node("IsNaN", {e.in(0)})})}));
}
// Of numbers, what is not 0 is true.
template <ForeignName op>
void logical(Emit& e) {
  std::vector<std::string> in;
  for (const auto& v : e.o.inputs())
    in.push_back(v->dtype == DType::bool_ ? e.to.name(v) : e.to.cast(e.to.name(v), DType::bool_));
  e.give(e.to.node(op.text, in));
}
template <ForeignName on_bool, ForeignName on_numbers>
void bits(Emit& e) {
  std::vector<std::string> in;
  for (const auto& v : e.o.inputs()) in.push_back(e.to.name(v));
  if (e.dtype() == DType::bool_) return e.give(e.to.node(on_bool.text, in));
  if (e.to.opset() < 18) e.unsupported("integers before opset_version 18");
  e.give(e.to.node(on_numbers.text, in));
}
void floor_divide(Emit& e) {
  const std::string x = e.in(0), y = e.in(1);
  if (is_floating(e.dtype())) return e.give(e.node("Floor", {e.node("Div", {x, y})}));
  // Rounded down: what is left is divided without rest.
  const std::string rest = e.node("Mod", {x, y});
  e.give(e.node("Div", {e.node("Sub", {x, rest}), y}));
}
void remainder(Emit& e) {
  if (!is_floating(e.dtype())) return e.give(e.node("Mod", {e.in(0), e.in(1)}));
  const std::string times = e.node("Floor", {e.node("Div", {e.in(0), e.in(1)})});
  e.give(e.node("Sub", {e.in(0), e.node("Mul", {times, e.in(1)})}));
}
void where(Emit& e) {
  e.give(e.node("Where", {e.in(0), e.in(1), e.in(2)}));
}
void add_n(Emit& e) {
  e.give(e.to.node("Sum", e.list(0)));
}

// --- reductions ---

std::string wide_input(Emit& e) {
  return e.dtype() == e.result().dtype ? e.in(0) : e.to.cast(e.in(0), e.result().dtype);
}

template <ForeignName op>
void reduction(Emit& e) {
  e.give(e.reduce(op.text, wide_input(e), e.axes("axis", e.rank()), e.flag("keepdim")));
}
template <ForeignName op>
void bool_reduction(Emit& e) {
  const std::string numbers = e.to.cast(
      e.dtype() == DType::bool_ ? e.in(0) : e.to.cast(e.in(0), DType::bool_), DType::int32);
  e.give(e.to.cast(e.reduce(op.text, numbers, e.axes("axis", e.rank()), e.flag("keepdim")),
                   DType::bool_));
}
template <ForeignName op>
void place_of(Emit& e) {
  const auto& axis = e.attr<std::optional<int64_t>>("axis");
  std::string x = e.in(0);
  const bool keep = e.flag("keepdim");
  if (!axis) {
    if (keep) e.unsupported("keepdim of all dimensions");
    x = e.reshape(x, e.to.integers({-1}));
  }
  std::string y = e.node(op.text, {x}, {{"axis", axis.value_or(0)}, {"keepdims", keep}});
  if (e.attr<DType>("dtype") != DType::int64) y = e.to.cast(y, e.attr<DType>("dtype"));
  e.give(y);
}
// How many elements the axes have together, in the result's dtype.
std::string count_of(Emit& e, const std::vector<int64_t>& axes) {
  const std::string sizes =
      e.node("Gather", {e.node("Shape", {e.in(0)}), e.to.integers(std::span<const int64_t>(axes))});
  return e.to.cast(e.reduce("ReduceProd", sizes, {0}, false), e.result().dtype);
}
void variance(Emit& e) {
  const auto& unbiased = e.attr<std::optional<bool>>("unbiased");
  const double less = unbiased ? *unbiased : e.real("correction");
  const std::vector<int64_t> axes = e.axes("axis", e.rank());
  const std::string x = wide_input(e);
  const std::string centered = e.node("Sub", {x, e.reduce("ReduceMean", x, axes, true)});
  const std::string squares = e.node("Mul", {centered, centered});
  std::string y = e.reduce("ReduceMean", squares, axes, e.flag("keepdim"));
  if (less != 0) {
    const DType dtype = e.result().dtype;
    const std::string n = count_of(e, axes);
    const std::string rest = e.node("Sub", {n, e.to.number(less, dtype)});
    y = e.node("Mul", {y, e.node("Div", {n, rest})});
  }
  e.give(y);
}
void sum_squares(Emit& e) {
  const std::string squares = e.node("Mul", {e.in(0), e.in(0)});
  e.give(e.reduce(e.flag("mean") ? "ReduceMean" : "ReduceSum", squares, e.axes("axis", e.rank()),
                  e.flag("keepdim")));
}
void norm_along(Emit& e) {
  const double p = e.real("p");
  const std::vector<int64_t> axes = e.axes("axis", e.rank());
  if (p == 2) return e.give(e.reduce("ReduceL2", e.in(0), axes, true));
  if (p == 1) return e.give(e.reduce("ReduceL1", e.in(0), axes, true));
  if (std::isinf(p)) {
    const std::string sizes = e.node("Abs", {e.in(0)});
    return e.give(e.reduce(p > 0 ? "ReduceMax" : "ReduceMin", sizes, axes, true));
  }
  if (p == 0) {
    const std::string some = e.node("Sign", {e.node("Abs", {e.in(0)})});
    return e.give(e.reduce("ReduceSum", some, axes, true));
  }
  const std::string powers = e.node("Pow", {e.node("Abs", {e.in(0)}), e.number(p)});
  e.give(e.node("Pow", {e.reduce("ReduceSum", powers, axes, true), e.number(1 / p)}));
}
void zero_nan(Emit& e) {
  e.give(e.node("Where", {e.node("IsNaN", {e.in(0)}), e.number(0), e.in(0)}));
}
void cumulative_sum(Emit& e) {
  const auto& axis = e.attr<std::optional<int64_t>>("axis");
  std::string x = wide_input(e);
  if (!axis) x = e.reshape(x, e.to.integers({-1}));
  e.give(
      e.node("CumSum", {x, e.to.integers({axis.value_or(0)})}, {{"reverse", e.flag("reverse")}}));
}

constexpr WriteRow kRows[] = {
    {"abs", same_node<"Abs">},
    {"acos", function<"Acos">},
    {"acosh", function<"Acosh">},
    {"add", with_alpha<"Add">},
    {"add_n", add_n},
    {"all", bool_reduction<"ReduceMin">},
    {"amax", reduction<"ReduceMax">},
    {"amin", reduction<"ReduceMin">},
    {"any", bool_reduction<"ReduceMax">},
    {"argmax", place_of<"ArgMax">},
    {"argmin", place_of<"ArgMin">},
    {"asin", function<"Asin">},
    {"asinh", function<"Asinh">},
    {"atan", function<"Atan">},
    {"atanh", function<"Atanh">},
    {"bitwise_and", bits<"And", "BitwiseAnd">},
    {"bitwise_not", bits<"Not", "BitwiseNot">},
    {"bitwise_or", bits<"Or", "BitwiseOr">},
    {"bitwise_xor", bits<"Xor", "BitwiseXor">},
    {"cast", cast},
    {"ceil", same_node<"Ceil">},
    {"clip", clip},
    {"cos", function<"Cos">},
    {"cosh", function<"Cosh">},
    {"cumsum", cumulative_sum},
    {"divide", divide},
    {"equal", same_node<"Equal">},
    {"erf", function<"Erf">},
    {"exp", function<"Exp">},
    {"expm1", expm1},
    {"floor", same_node<"Floor">},
    {"floor_divide", floor_divide},
    {"greater_equal", same_node<"GreaterOrEqual">},
    {"greater_than", same_node<"Greater">},
    {"isfinite", is_finite},
    {"isinf", same_node<"IsInf">},
    {"isnan", same_node<"IsNaN">},
    {"less_equal", same_node<"LessOrEqual">},
    {"less_than", same_node<"Less">},
    {"log", function<"Log">},
    {"log10", log_of_base<10>},
    {"log1p", log1p},
    {"log2", log_of_base<2>},
    {"logical_and", logical<"And">},
    {"logical_not", logical<"Not">},
    {"logical_or", logical<"Or">},
    {"logical_xor", logical<"Xor">},
    {"logsumexp", reduction<"ReduceLogSumExp">},
    {"max", reduction<"ReduceMax">},
    {"maximum", same_node<"Max">},
    {"mean", reduction<"ReduceMean">},
    {"min", reduction<"ReduceMin">},
    {"minimum", same_node<"Min">},
    {"multiply", multiply},
    {"negative", same_node<"Neg">},
    {"norm_along", norm_along},
    {"not_equal", not_equal},
    {"pow", pow},
    {"prod", reduction<"ReduceProd">},
    {"reciprocal", function<"Reciprocal">},
    {"remainder", remainder},
    {"round", round},
    {"rsqrt", two<"Reciprocal", "Sqrt">},
    {"scale", scale},
    {"sigmoid", function<"Sigmoid">},
    {"sign", same_node<"Sign">},
    {"sin", function<"Sin">},
    {"sinh", function<"Sinh">},
    {"sqrt", function<"Sqrt">},
    {"square", square},
    {"subtract", with_alpha<"Sub">},
    {"sum", reduction<"ReduceSum">},
    {"sum_squares", sum_squares},
    {"tan", function<"Tan">},
    {"tanh", function<"Tanh">},
    {"trunc", trunc},
    {"var", variance},
    {"where_select", where},
    {"zero_nan", zero_nan},
};

}  // namespace

std::span<const WriteRow> write_math_rows() {
  return kRows;
}

}  // namespace argosy::infer::onnx
