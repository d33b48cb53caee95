#include <cmath>
#include <limits>

#include "argosy/infer/paddle/emit.h"

// Arithmetic, comparison, reductions and functions of one number.
namespace argosy::infer::paddle {
namespace {

// x + alpha y and x - alpha y.
template <ForeignName op>
void with_alpha(Emit& e) {
  Written y = e.wide(1);
  if (e.real("alpha") != 1) y = e.to.scale(y, e.real("alpha"));
  if (e.dtype() == DType::bool_) return e.give("logical_or", {e.in(0), y});
  e.give(op, {e.wide(0), y});
}

void multiply(Emit& e) {
  e.give(e.result().dtype == DType::bool_ ? "logical_and" : "multiply", {e.wide(0), e.wide(1)});
}

void divide(Emit& e) {
  const auto& rounding = e.attr<std::optional<std::string>>("rounding_mode");
  const Written x = e.wide(0), y = e.wide(1);
  if (!rounding) return e.give("divide", {x, y});
  if (*rounding == "floor") return e.give("floor_divide", {x, y});
  if (is_integral(x.dtype)) e.unsupported("truncated division of integers");
  e.give("trunc", {e.like_result("divide", {x, y})});
}

template <ForeignName op>
void binary(Emit& e) {
  e.give(op, {e.wide(0), e.wide(1)});
}

// The product of a number of a Program, or of an attribute.
void scale(Emit& e) {
  const auto& factor = e.attr<op::Scalar>("scale");
  if (e.attr<std::optional<std::string>>("act")) e.unsupported("an activation in scale");
  const Written s =
      factor.tensor.defined() ? e.attr_value(0) : e.to.number(factor.real(), DType::float32);
  e.give("scale", {e.in(0), s},
         {f32("bias", e.real("bias")), boolean("bias_after_scale", e.flag("bias_after_scale"))});
}

void negative(Emit& e) {
  e.give(e.to.scale(e.in(0), -1));
}

void cast(Emit& e) {
  e.give(e.to.cast(e.in(0), e.attr<DType>("dtype")));
}

// The numbers next to infinity that a dtype has.
Written bound(Emit& e, const std::optional<op::Scalar>& given, bool upper) {
  const DType dtype = e.dtype();
  if (given && !std::isinf(given->real())) return e.to.full(*given, dtype, Shape({1}));
  if (is_integral(dtype)) {
    const auto width = static_cast<unsigned>(item_size(dtype) * 8);
    const double most = std::ldexp(1.0, static_cast<int>(std::min(width - 1, 53U)));
    return e.to.number(upper ? most - 1 : dtype == DType::uint8 ? 0 : -most, dtype);
  }
  const double most = dtype == DType::float16 ? 65504.0
                      : dtype == DType::float64
                          ? std::numeric_limits<double>::max()
                          : static_cast<double>(std::numeric_limits<float>::max());
  return e.to.number(upper ? most : -most, dtype);
}

void clip(Emit& e) {
  if (e.o.attr_operands) e.unsupported("a bound that only a run knows");
  e.give("clip", {e.in(0), bound(e, e.attr<std::optional<op::Scalar>>("min"), false),
                  bound(e, e.attr<std::optional<op::Scalar>>("max"), true)});
}

void where(Emit& e) {
  const Written yes = e.wide(1), no = e.wide(2);
  const Shape& shape = e.result().shape;
  if (e.shape(0) == shape && e.shape(1) == shape && e.shape(2) == shape && shape.numel() >= 0)
    return e.give("where", {e.in(0), yes, no});
  // Paddle wants all of one shape.
  const auto all = e.to.broadcast({e.to.cast(e.in(0), yes.dtype), yes, no}, shape);
  e.give("where", {e.to.cast(all[0], DType::bool_), all[1], all[2]});
}

void add_n(Emit& e) {
  e.give("add_n", {e.to.combine(e.list(0))});
}

template <ForeignName op>
void logical(Emit& e) {
  std::vector<Written> in;
  for (size_t i = 0; i < e.o.inputs().size(); ++i) in.push_back(e.to.cast(e.in(i), DType::bool_));
  e.give(op, in);
}

// --- reductions ---

// Empty where all dimensions are meant, which also serves tensors without any.
std::vector<int64_t> axes_of(Emit& e) {
  return e.rank() ? e.axes("axis", e.rank()) : std::vector<int64_t>();
}

template <ForeignName op>
void reduction(Emit& e) {
  e.give(op, {e.wide(), e.to.integers(axes_of(e))}, {boolean("keepdim", e.flag("keepdim"))});
}
void sum(Emit& e) {
  e.give("sum", {e.wide(), e.to.integers(axes_of(e))},
         {no_dtype("dtype"), boolean("keepdim", e.flag("keepdim"))});
}
void product(Emit& e) {
  const std::vector<int64_t> axes = axes_of(e);
  e.give("prod", {e.wide(), e.to.integers(axes)},
         {boolean("keepdim", e.flag("keepdim")),
          boolean("reduce_all", static_cast<int>(axes.size()) == e.rank())});
}
// Those whose axes are an attribute.
template <ForeignName op>
void reduction_by_attribute(Emit& e) {
  e.give(op, {e.in(0)}, {i64s("axis", axes_of(e)), boolean("keepdim", e.flag("keepdim"))});
}
void logsumexp(Emit& e) {
  const std::vector<int64_t> axes = axes_of(e);
  e.give("logsumexp", {e.wide()},
         {i32s("axis", axes), boolean("keepdim", e.flag("keepdim")),
          boolean("reduce_all", static_cast<int>(axes.size()) == e.rank())});
}
template <ForeignName op>
void place_of(Emit& e) {
  const auto& axis = e.attr<std::optional<int64_t>>("axis");
  e.give(op, {e.in(0), e.to.full(op::Scalar(axis.value_or(0)), DType::int64, Shape({1}))},
         {boolean("keepdims", e.flag("keepdim")), boolean("flatten", !axis),
          dtype("dtype", e.result().dtype)});
}

// What a reduction that keeps its dimensions gives.
Shape kept(Emit& e, const std::vector<int64_t>& axes) {
  Shape shape = e.shape();
  for (const int64_t a : axes) shape[static_cast<int>(a)] = 1;
  return shape;
}
Written mean_of(Emit& e, const Written& x, const std::vector<int64_t>& axes, bool keep) {
  return e.to.node("mean", {x, e.to.integers(axes)}, {boolean("keepdim", keep)}, x.dtype,
                   keep ? kept(e, axes) : e.result().shape);
}
Written sum_of(Emit& e, const Written& x, const std::vector<int64_t>& axes, bool keep) {
  return e.to.node("sum", {x, e.to.integers(axes)}, {no_dtype("dtype"), boolean("keepdim", keep)},
                   x.dtype, keep ? kept(e, axes) : e.result().shape);
}
Written product_of(Emit& e, const Written& x, const Written& y) {
  return e.to.node("multiply", {x, y}, {}, x.dtype, x.shape);
}

void variance(Emit& e) {
  const auto& unbiased = e.attr<std::optional<bool>>("unbiased");
  const double less = unbiased ? *unbiased : e.real("correction");
  const std::vector<int64_t> axes = axes_of(e);
  const Written x = e.wide();
  const Written centered =
      e.to.node("subtract", {x, mean_of(e, x, axes, true)}, {}, x.dtype, x.shape);
  const Written y = mean_of(e, product_of(e, centered, centered), axes, e.flag("keepdim"));
  if (less == 0) return e.give(y);
  // n / (n - less), whose n a run may be the first to know.
  Written n = e.to.full(op::Scalar(1.0), x.dtype, {});
  for (const int64_t a : axes)
    n = product_of(e, n, e.to.cast(e.to.size_of(e.in(0), static_cast<int>(a)), x.dtype));
  const Written ratio = e.to.node("divide", {n, e.to.scale(n, 1, -less)}, {}, x.dtype, {});
  e.give("multiply", {y, ratio});
}

void sum_squares(Emit& e) {
  const std::vector<int64_t> axes = axes_of(e);
  const Written squares = product_of(e, e.in(0), e.in(0));
  e.give(e.flag("mean") ? mean_of(e, squares, axes, e.flag("keepdim"))
                        : sum_of(e, squares, axes, e.flag("keepdim")));
}

void norm_along(Emit& e) {
  const double p = e.real("p");
  const std::vector<int64_t> axes = axes_of(e);
  const Written x = e.in(0);
  if (p == 2) return e.give("sqrt", {sum_of(e, product_of(e, x, x), axes, true)});
  const Written a = e.to.node("abs", {x}, {}, x.dtype, x.shape);
  if (p == 1) return e.give(sum_of(e, a, axes, true));
  if (std::isinf(p))
    return e.give(p > 0 ? "amax" : "amin", {a}, {i64s("axis", axes), boolean("keepdim", true)});
  if (p == 0) return e.give(sum_of(e, e.to.node("sign", {a}, {}, x.dtype, x.shape), axes, true));
  const Written powers = e.to.node("pow", {a}, {f32("y", p)}, x.dtype, x.shape);
  e.give("pow", {sum_of(e, powers, axes, true)}, {f32("y", 1 / p)});
}

void zero_nan(Emit& e) {
  const Written x = e.in(0), bad = e.to.node("isnan", {x}, {}, DType::bool_, x.shape);
  const Written zero = e.to.full(op::Scalar(0.0), x.dtype, Shape({1}));
  const auto all = e.to.broadcast({e.to.cast(bad, x.dtype), zero, x}, x.shape);
  e.give("where", {e.to.cast(all[0], DType::bool_), all[1], all[2]});
}

void cumulative_sum(Emit& e) {
  const auto& axis = e.attr<std::optional<int64_t>>("axis");
  e.give("cumsum", {e.wide(), e.to.number(static_cast<double>(axis.value_or(-1)), DType::int32)},
         {boolean("flatten", !axis), boolean("exclusive", false),
          boolean("reverse", e.flag("reverse"))});
}

constexpr WriteRow kRows[] = {
    {"add", with_alpha<"add">},
    {"add_n", add_n},
    {"all", reduction_by_attribute<"all">},
    {"amax", reduction_by_attribute<"amax">},
    {"amin", reduction_by_attribute<"amin">},
    {"any", reduction_by_attribute<"any">},
    {"argmax", place_of<"argmax">},
    {"argmin", place_of<"argmin">},
    {"cast", cast},
    {"clip", clip},
    {"cumsum", cumulative_sum},
    {"divide", divide},
    {"floor_divide", binary<"floor_divide">},
    {"logical_and", logical<"logical_and">},
    {"logical_not", logical<"logical_not">},
    {"logical_or", logical<"logical_or">},
    {"logical_xor", logical<"logical_xor">},
    {"logsumexp", logsumexp},
    {"max", reduction<"max">},
    {"maximum", binary<"maximum">},
    {"mean", reduction<"mean">},
    {"min", reduction<"min">},
    {"minimum", binary<"minimum">},
    {"multiply", multiply},
    {"negative", negative},
    {"norm_along", norm_along},
    {"pow", binary<"elementwise_pow">},
    {"prod", product},
    {"remainder", binary<"remainder">},
    {"scale", scale},
    {"subtract", with_alpha<"subtract">},
    {"sum", sum},
    {"sum_squares", sum_squares},
    {"var", variance},
    {"where_select", where},
    {"zero_nan", zero_nan},
};

constexpr SameRow kSame[] = {
    {"abs", "abs", ""},
    {"acos", "acos", ""},
    {"acosh", "acosh", ""},
    {"angle", "angle", ""},
    {"as_complex", "as_complex", ""},
    {"as_real", "as_real", ""},
    {"asin", "asin", ""},
    {"asinh", "asinh", ""},
    {"atan", "atan", ""},
    {"atan2", "atan2", ""},
    {"atanh", "atanh", ""},
    {"bitwise_and", "bitwise_and", ""},
    {"bitwise_not", "bitwise_not", ""},
    {"bitwise_or", "bitwise_or", ""},
    {"bitwise_xor", "bitwise_xor", ""},
    {"ceil", "ceil", ""},
    {"celu", "celu", "alpha:f32"},
    {"cholesky", "cholesky", "upper:bool"},
    {"complex", "complex", ""},
    {"conj", "conj", ""},
    {"copysign", "copysign", ""},
    {"cos", "cos", ""},
    {"cosh", "cosh", ""},
    {"cross", "cross", "axis:i32"},
    {"det", "det", ""},
    {"diagonal", "diagonal", "offset:i32 axis1:i32 axis2:i32"},
    {"diagonal_scatter", "fill_diagonal_tensor", "offset:i64 dim1:i32=axis1 dim2:i32=axis2"},
    {"digamma", "digamma", ""},
    {"eig", "eig", ""},
    {"eigh", "eigh", "UPLO:str"},
    {"elu", "elu", "alpha:f32"},
    {"equal", "equal", ""},
    {"equal_all", "equal_all", ""},
    {"erf", "erf", ""},
    {"erfinv", "erfinv", ""},
    {"exp", "exp", ""},
    {"expm1", "expm1", ""},
    {"floor", "floor", ""},
    {"fmax", "fmax", ""},
    {"fmin", "fmin", ""},
    {"gelu", "gelu", "approximate:bool"},
    {"generate_proposals", "generate_proposals",
     "pre_nms_top_n:i32 post_nms_top_n:i32 nms_thresh:f32 min_size:f32 eta:f32 pixel_offset:bool"},
    {"greater_equal", "greater_equal", ""},
    {"greater_than", "greater_than", ""},
    {"grid_sample", "grid_sample", "mode:str padding_mode:str align_corners:bool"},
    {"hardshrink", "hardshrink", "threshold:f32"},
    {"hardsigmoid", "hardsigmoid", "slope:f32 offset:f32"},
    {"hardswish", "hardswish", ""},
    {"hardtanh", "hardtanh", "t_min:f32=min t_max:f32=max"},
    {"heaviside", "heaviside", ""},
    {"i0", "i0", ""},
    {"i0e", "i0e", ""},
    {"i1", "i1", ""},
    {"i1e", "i1e", ""},
    {"imag", "imag", ""},
    {"inverse", "inverse", ""},
    {"isfinite", "isfinite", ""},
    {"isinf", "isinf", ""},
    {"isnan", "isnan", ""},
    {"leaky_relu", "leaky_relu", "negative_slope:f64"},
    {"lerp", "lerp", ""},
    {"less_equal", "less_equal", ""},
    {"less_than", "less_than", ""},
    {"lgamma", "lgamma", ""},
    {"log", "log", ""},
    {"log10", "log10", ""},
    {"log1p", "log1p", ""},
    {"log2", "log2", ""},
    {"log_sigmoid", "logsigmoid", ""},
    {"matmul", "matmul", "transpose_x:bool transpose_y:bool"},
    {"mode", "mode", "axis:i32 keepdim:bool"},
    {"nextafter", "nextafter", ""},
    {"not_equal", "not_equal", ""},
    {"polygamma", "polygamma", "n:i32"},
    {"real", "real", ""},
    {"reciprocal", "reciprocal", ""},
    {"relu", "relu", ""},
    {"relu6", "relu6", ""},
    {"round", "round", "decimals:i32"},
    {"rsqrt", "rsqrt", ""},
    {"selu", "selu", "scale:f32 alpha:f32"},
    {"sigmoid", "sigmoid", ""},
    {"sign", "sign", ""},
    {"silu", "silu", ""},
    {"sin", "sin", ""},
    {"sinh", "sinh", ""},
    {"slogdet", "slogdet", ""},
    {"softplus", "softplus", "beta:f64 threshold:f64"},
    {"softshrink", "softshrink", "threshold:f32"},
    {"softsign", "softsign", ""},
    {"solve_matrix", "solve", ""},
    {"sqrt", "sqrt", ""},
    {"square", "square", ""},
    {"stanh", "stanh", "scale_a:f32 scale_b:f32"},
    {"svd", "svd", "full_matrices:bool"},
    {"swish", "swish", ""},
    {"tan", "tan", ""},
    {"tanh", "tanh", ""},
    {"tanhshrink", "tanh_shrink", ""},
    {"thresholded_relu", "thresholded_relu", "threshold:f32 value:f32"},
    {"triangular_solve", "triangular_solve", "upper:bool transpose:bool unitriangular:bool"},
    {"trunc", "trunc", ""},
};

}  // namespace

std::span<const WriteRow> write_math_rows() {
  return kRows;
}
std::span<const SameRow> write_same_rows() {
  return kSame;
}

}  // namespace argosy::infer::paddle
