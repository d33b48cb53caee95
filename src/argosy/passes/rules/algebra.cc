#include "argosy/passes/rules/algebra.h"

#include <algorithm>
#include <cmath>

namespace argosy::passes {
namespace {

constexpr int kDeepest = 16;  // operations that a formula may be made of, one after the other
constexpr size_t kFactors = 6;

bool is_plain_divide(const Operation& o) {
  if (!is(o, "divide")) return false;
  const auto* mode = find_attr<std::optional<std::string>>(o.attrs, "rounding_mode");
  return !mode || !*mode;
}

// Numbers beside x leave it its form.
bool keeps_form(const Operation& o, const Ref<Value>& x) {
  const Ref<Value>& y = o.results[0];
  return x->dtype == y->dtype && is_floating(x->dtype) && x->shape.rank() == y->shape.rank();
}

Cubic times(const Cubic& x, double a) {
  Cubic y = x;
  for (double& c : y) c *= a;
  return y;
}

Cubic plus(const Cubic& x, const Cubic& y, double alpha) {
  Cubic z = x;
  for (size_t i = 0; i < z.size(); ++i) z[i] += alpha * y[i];
  return z;
}

std::optional<Cubic> times(const Cubic& x, const Cubic& y) {
  Cubic z{};
  for (size_t i = 0; i < x.size(); ++i)
    for (size_t j = 0; j < y.size(); ++j) {
      const double c = x[i] * y[j];
      if (c == 0) continue;
      if (i + j >= z.size()) return std::nullopt;
      z[i + j] += c;
    }
  return z;
}

}  // namespace

bool close(double a, double b) {
  return std::abs(a - b) <= 1e-6 * std::max(std::abs(a), std::abs(b)) + 1e-12;
}

std::optional<double> Algebra::number(const Ref<Value>& v) const {
  if (!v || !v->shape.known() || v->shape.numel() != 1) return std::nullopt;
  const auto found = r_.uniform(v);
  return found ? std::optional(found->real()) : std::nullopt;
}

std::optional<Affine> Algebra::step(const Operation& o) const {
  if (o.attr_operands || o.operands.empty() || o.results.size() != 1) return std::nullopt;
  auto on = [&](size_t i, double a, double b) -> std::optional<Affine> {
    if (!keeps_form(o, o.operands[i]) || !std::isfinite(a) || !std::isfinite(b))
      return std::nullopt;
    return Affine{o.operands[i], a, b};
  };
  if (is(o, "negative")) return on(0, -1, 0);
  if (is(o, "scale")) {
    const auto& factor = attr<op::Scalar>(o, "scale");
    if (factor.tensor.defined() || attr<std::optional<std::string>>(o, "act")) return std::nullopt;
    const double bias = attr<double>(o, "bias");
    return on(0, factor.real(), attr<bool>(o, "bias_after_scale") ? bias : bias * factor.real());
  }
  if (o.operands.size() != 2) return std::nullopt;
  const auto left = number(o.operands[0]), right = number(o.operands[1]);
  if (!left == !right) return std::nullopt;
  if (is(o, "multiply")) return left ? on(1, *left, 0) : on(0, *right, 0);
  if (is_plain_divide(o)) return right ? on(0, 1 / *right, 0) : std::nullopt;
  if (is(o, "add")) {
    const double alpha = attr<double>(o, "alpha");
    return left ? on(1, alpha, *left) : on(0, 1, alpha * *right);
  }
  if (is(o, "subtract")) {
    const double alpha = attr<double>(o, "alpha");
    return left ? on(1, -alpha, *left) : on(0, 1, -alpha * *right);
  }
  return std::nullopt;
}

Affine Algebra::affine(const Ref<Value>& v) const {
  Affine all{v};
  for (int i = 0; i < kDeepest && all.of->producer; ++i) {
    if (all.of != v && !is_own(all.of)) break;
    const auto one = step(*all.of->producer);
    if (!one) break;
    all = {one->of, all.a * one->a, all.a * one->b + all.b};
  }
  return all;
}

Ref<Value> Algebra::root(const Ref<Value>& v) const {
  if (const Operation* o = made_by(v, "square")) return o->operands[0];
  if (const Operation* o = made_by(v, "multiply"))
    return o->operands[0] == o->operands[1] ? o->operands[0] : nullptr;
  if (const Operation* o = made_by(v, "pow"))
    return number(o->operands[1]) == 2.0 ? o->operands[0] : nullptr;
  return nullptr;
}

// --- products ---

Product Algebra::product(const Operation& o) const {
  Product p;
  if (!take_apart(p, o, 1, 0)) p.factors.push_back({o.results[0], 1});
  return p;
}

void Algebra::multiply_in(Product& p, const Ref<Value>& v, double power, int depth) const {
  if (const auto constant = number(v); constant && (*constant > 0 || power == 1)) {
    p.number *= std::pow(*constant, power);
    return;
  }
  const bool open = v->producer && is_own(v) && p.factors.size() < kFactors && depth < kDeepest;
  if (!open || !take_apart(p, *v->producer, power, depth + 1)) p.factors.push_back({v, power});
}

// The result of o, to a power, into the product; false, and nothing done, if it is none.
bool Algebra::take_apart(Product& p, const Operation& o, double power, int depth) const {
  if (o.attr_operands || o.results.size() != 1) return false;
  const bool whole = power == 1 || power == -1;
  auto go = [&](size_t i, double to) {
    multiply_in(p, o.operands[i], to, depth);
    return true;
  };
  if (is(o, "rsqrt")) return whole && go(0, -0.5 * power);
  if (is(o, "sqrt")) return whole && go(0, 0.5 * power);
  if (is(o, "reciprocal")) return go(0, -power);
  if (is(o, "pow")) {
    const auto exponent = number(o.operands[1]);
    const bool root = exponent == 0.5 || exponent == -0.5;
    return whole && (root || exponent == -1.0) && go(0, *exponent * power);
  }
  // Roots of products need not be products of roots.
  if (!whole) return false;
  if (is(o, "multiply")) return go(0, power) && go(1, power);
  if (is_plain_divide(o)) return go(0, power) && go(1, -power);
  const auto one = step(o);
  if (!one || one->b != 0 || one->a == 0) return false;
  p.number *= power == 1 ? one->a : 1 / one->a;
  multiply_in(p, one->of, power, depth);
  return true;
}

// --- polynomials ---

std::optional<Cubic> Algebra::polynomial(const Ref<Value>& v, const Ref<Value>& x) const {
  return polynomial(v, x, 0);
}

std::optional<Cubic> Algebra::polynomial(const Ref<Value>& v, const Ref<Value>& x,
                                         int depth) const {
  if (v == x) return Cubic{0, 1, 0, 0};
  if (const auto constant = number(v)) return Cubic{*constant, 0, 0, 0};
  const Operation* o = v->producer;
  if (!o || o->attr_operands || depth >= kDeepest || v->dtype != x->dtype ||
      v->shape.rank() != x->shape.rank())
    return std::nullopt;
  auto of = [&](size_t i) { return polynomial(o->operands[i], x, depth + 1); };
  if (const auto one = step(*o)) {
    const auto inner = polynomial(one->of, x, depth + 1);
    return inner ? std::optional(plus(times(*inner, one->a), Cubic{1, 0, 0, 0}, one->b))
                 : std::nullopt;
  }
  if (const Ref<Value> base = root(v)) {
    const auto inner = polynomial(base, x, depth + 1);
    return inner ? times(*inner, *inner) : std::nullopt;
  }
  if (is(*o, "pow") && number(o->operands[1]) == 3.0) {
    const auto inner = of(0);
    const auto square = inner ? times(*inner, *inner) : std::nullopt;
    return square ? times(*square, *inner) : std::nullopt;
  }
  const bool sum = is(*o, "add"), difference = is(*o, "subtract");
  if (!sum && !difference && !is(*o, "multiply")) return std::nullopt;
  const auto left = of(0), right = of(1);
  if (!left || !right) return std::nullopt;
  if (!sum && !difference) return times(*left, *right);
  return plus(*left, *right, (sum ? 1 : -1) * attr<double>(*o, "alpha"));
}

}  // namespace argosy::passes
