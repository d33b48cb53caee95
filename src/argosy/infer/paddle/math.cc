#include "argosy/infer/paddle/common.h"

// Arithmetic, comparisons and functions of one number.
namespace argosy::infer::paddle {

Tensor stand_at(const Tensor& y, int64_t axis, int rank) {
  if (axis < 0 || axis >= rank || y.rank() >= rank) return y;
  Tensor t = y;
  // Before 2.0 sizes of 1 at the end of y did not count.
  while (t.rank() > rank - axis && t.dim(-1) == 1) t = ops::squeeze(t, {t.rank() - 1});
  while (t.rank() < rank - axis) t = ops::unsqueeze(t, {t.rank()});
  return t;
}

namespace {

struct Pair {
  Tensor x, y;
};

// Operands of an elementwise operation: the smaller one stands at `axis` of the other.
Pair aligned(const Node& n) {
  Tensor x = n.in("X"), y = n.in("Y");
  const int64_t axis = n.integer("axis", -1);
  if (x.rank() >= y.rank())
    y = stand_at(y, axis, x.rank());
  else
    x = stand_at(x, axis, y.rank());
  return {x, y};
}

// What fused operations do with the result.
void finish(const Node& n, Tensor out) {
  const double factor = n.real("Scale_out", 1) == 0 ? 1 : n.real("Scale_out", 1);
  if (factor != 1) out = ops::scale(out, factor);
  n.out("Out", activate(n, out, n.text("fuse_activation", "")));
}

template <Name op>
void elementwise(const Node& n) {
  const auto [x, y] = aligned(n);
  finish(n, call(op.text, {x, y}));
}

void divide(const Node& n) {
  const auto [x, y] = aligned(n);
  // Integers are divided as C does.
  if (is_integral(x.dtype()) && is_integral(y.dtype()) && !n.session.graph().pir)
    return finish(n, call("divide", {x, y}, {{"rounding_mode", "trunc"}}));
  finish(n, ops::divide(x, y));
}

template <Name op>
void compare(const Node& n) {
  const auto [x, y] = aligned(n);
  n.out("Out", call(op.text, {x, y}));
}

void scale(const Node& n) {
  const Tensor x = n.in("X");
  const op::Scalar factor = n.scalar("scale", 1, "ScaleTensor");
  const double bias = n.real("bias", 0);
  Tensor out;
  if (is_integral(x.dtype()) && !factor.tensor.defined()) {
    // Factor and bias become integers first.
    out = call("scale", {x},
               {{"scale", op::Scalar(static_cast<int64_t>(factor.real()))},
                {"bias", static_cast<double>(static_cast<int64_t>(bias))},
                {"bias_after_scale", n.flag("bias_after_scale", true)}});
  } else {
    out = call("scale", {x},
               {{"scale", factor},
                {"bias", bias},
                {"bias_after_scale", n.flag("bias_after_scale", true)}});
  }
  out = as(out, x.dtype());
  if (!factor.tensor.defined() && n.session.remembers(x) && x.symbolic()) {
    op::IntArray numbers = n.session.integers(x);
    const auto f = static_cast<int64_t>(factor.real()), b = static_cast<int64_t>(bias);
    for (int64_t& v : numbers.values)
      v = n.flag("bias_after_scale", true) ? v * f + b : (v + b) * f;
    for (op::IntArray::Symbol& s : numbers.symbols) {
      numbers.values[s.position] = kUnknown;
      s.value = ops::pick(ops::reshape(out, {out.numel()}), 0, s.position);
    }
    n.session.remember(out, numbers);
  }
  n.out("Out", out);
}

void sum(const Node& n) {
  const std::vector<Tensor> all = n.tensors("X");
  n.expect(!all.empty(), "nothing to add up");
  n.out("Out", all.size() == 1 ? all.front() : call("add_n", all));
}

void pow(const Node& n) {
  const Tensor x = n.in("X");
  const op::Scalar factor = n.scalar("factor", 1, "FactorTensor");
  const Tensor y =
      factor.tensor.defined() ? as(factor.tensor, x.dtype()) : number(factor.real(), x);
  n.out("Out", call("pow", {x, y}));
}

void clip(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Out", as(call("clip", {x},
                       {{"min", n.scalar("min", 0, "Min")}, {"max", n.scalar("max", 0, "Max")}}),
                  x.dtype()));
}

void increment(const Node& n) {
  const Tensor x = n.in("X");
  n.out("Out", as(ops::add(x, ops::constant(op::Scalar(n.real("step", 1)), x.dtype())), x.dtype()));
}

void logical_not(const Node& n) {
  n.out("Out", ops::logical_not(n.in("X")));
}

void clip_by_norm(const Node& n) {
  n.out("Out", call("clip_by_norm", {n.in("X")}, {{"max_norm", n.real("max_norm", 1)}}));
}

void isfinite_all(const Node& n) {
  n.out("Out", ops::reshape(ops::all(ops::isfinite(n.in("X"))), {1}));
}

void squared_distance(const Node& n) {
  n.out("Out", ops::square(ops::subtract(n.in("X"), n.in("Y"))));
}

void atan2(const Node& n) {
  n.out("Out", call("atan2", {n.in("X1"), n.in("X2")}));
}

void lerp(const Node& n) {
  n.out("Out", call("lerp", {n.in("X"), n.in("Y"), n.in("Weight")}));
}

void logit(const Node& n) {
  const double eps = n.real("eps", 0);
  n.out("Out", eps == 0 ? call("logit", {n.in("X")}) : call("logit", {n.in("X")}, {{"eps", eps}}));
}

void i0(const Node& n) {
  n.out("out", call("i0", {n.in("x")}));
}

void cos_sim(const Node& n) {
  const Tensor x = n.in("X"), y = n.in("Y");
  const auto norm = [](const Tensor& t) { return ops::sqrt(ops::sum(ops::square(t), {-1}, true)); };
  const Tensor nx = norm(x), ny = norm(y);
  n.out("XNorm", nx);
  n.out("YNorm", ny);
  n.out("Out", ops::divide(ops::sum(ops::multiply(x, y), {-1}, true), ops::multiply(nx, ny)));
}

// Bounds that were texts before 3.0.
op::Scalar bound(const Node& n, const char* attribute, const char* slot, double otherwise) {
  if (n.has(slot)) return n.scalar("", otherwise, slot);
  const Attribute* a = n.attribute(attribute);
  if (a && std::holds_alternative<std::string>(*a)) {
    const std::string text = n.text(attribute, "");
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    n.expect(!text.empty() && *end == '\0', "a bound is no number");
    return op::Scalar(value);
  }
  return op::Scalar(n.real(attribute, otherwise));
}

template <Name op>
void close_to(const Node& n) {
  n.out("Out", call(op.text, {n.in("Input"), n.in("Other")},
                    {{"rtol", bound(n, "rtol", "Rtol", 1e-5)},
                     {"atol", bound(n, "atol", "Atol", 1e-8)},
                     {"equal_nan", n.flag("equal_nan")}}));
}

void trunc_divide(const Node& n) {
  n.out("out", call("divide", {n.in("x"), n.in("y")}, {{"rounding_mode", "trunc"}}));
}

// The number of an id within its part, or `ignore_value` where it is of another part.
void shard_index(const Node& n) {
  const Tensor x = n.in("X");
  const int64_t count = n.integer("index_num", 1), parts = n.integer("nshards", 1);
  n.expect(count > 0 && parts > 0, "index_num and nshards are positive");
  const auto whole = [&](int64_t v) { return ops::constant(v, x.dtype()); };
  const int64_t size = (count + parts - 1) / parts;
  const Tensor own =
      ops::equal(call("floor_divide", {x, whole(size)}), whole(n.integer("shard_id", 0)));
  n.out("Out",
        ops::where(own, call("remainder", {x, whole(size)}), whole(n.integer("ignore_value", -1))));
}

constexpr Row kRows[] = {
    {"elementwise_add", elementwise<"add">},
    {"elementwise_sub", elementwise<"subtract">},
    {"elementwise_mul", elementwise<"multiply">},
    {"elementwise_div", divide},
    {"elementwise_max", elementwise<"maximum">},
    {"elementwise_min", elementwise<"minimum">},
    {"elementwise_pow", elementwise<"pow">},
    {"elementwise_mod", elementwise<"remainder">},
    {"elementwise_floordiv", elementwise<"floor_divide">},
    {"elementwise_fmax", elementwise<"fmax">},
    {"elementwise_fmin", elementwise<"fmin">},
    {"elementwise_heaviside", elementwise<"heaviside">},
    {"equal", compare<"equal">},
    {"not_equal", compare<"not_equal">},
    {"less_than", compare<"less_than">},
    {"less_equal", compare<"less_equal">},
    {"greater_than", compare<"greater_than">},
    {"greater_equal", compare<"greater_equal">},
    {"logical_and", binary<"logical_and">},
    {"logical_or", binary<"logical_or">},
    {"logical_xor", binary<"logical_xor">},
    {"logical_not", logical_not},
    {"bitwise_and", binary<"bitwise_and">},
    {"bitwise_or", binary<"bitwise_or">},
    {"bitwise_xor", binary<"bitwise_xor">},
    {"bitwise_not", unary<"bitwise_not">},
    {"atan2", atan2},
    {"allclose", close_to<"allclose">},
    {"isclose", close_to<"isclose">},
    {"shard_index", shard_index},
    {"trunc_divide", trunc_divide},
    {"minus", binary<"subtract">},
    {"scale", scale},
    {"sum", sum},
    {"add_n", sum},
    {"pow", pow},
    {"clip", clip},
    {"increment", increment},
    {"clip_by_norm", clip_by_norm},
    {"square_error_cost", squared_distance},
    {"cos_sim", cos_sim},
    {"lerp", lerp},
    {"isfinite", isfinite_all},
    {"isfinite_v2", unary<"isfinite">},
    {"isnan_v2", unary<"isnan">},
    {"isinf_v2", unary<"isinf">},
    {"abs", unary<"abs">},
    {"acos", unary<"acos">},
    {"acosh", unary<"acosh">},
    {"asin", unary<"asin">},
    {"asinh", unary<"asinh">},
    {"atan", unary<"atan">},
    {"atanh", unary<"atanh">},
    {"ceil", unary<"ceil">},
    {"cos", unary<"cos">},
    {"cosh", unary<"cosh">},
    {"digamma", unary<"digamma">},
    {"erf", unary<"erf">},
    {"erfinv", unary<"erfinv">},
    {"exp", unary<"exp">},
    {"expm1", unary<"expm1">},
    {"floor", unary<"floor">},
    {"lgamma", unary<"lgamma">},
    {"log", unary<"log">},
    {"log10", unary<"log10">},
    {"log1p", unary<"log1p">},
    {"log2", unary<"log2">},
    {"logit", logit},
    {"i0", i0},
    {"reciprocal", unary<"reciprocal">},
    {"round", unary<"round">},
    {"rsqrt", unary<"rsqrt">},
    {"sign", unary<"sign">},
    {"sin", unary<"sin">},
    {"sinh", unary<"sinh">},
    {"sqrt", unary<"sqrt">},
    {"square", unary<"square">},
    {"tan", unary<"tan">},
    {"trunc", unary<"trunc">},
};

}  // namespace

std::span<const Row> math_rows() {
  return kRows;
}

}  // namespace argosy::infer::paddle
