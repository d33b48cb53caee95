#include <algorithm>
#include <cmath>
#include <numbers>

#include "argosy/passes/rules/algebra.h"

// Activations that models say in several operations.
namespace argosy::passes {
namespace {

constexpr double kSixth = 1.0 / 6;

// What lies between two numbers: low and high of `of`.
struct Clip {
  Ref<Value> of;
  double low, high;
};

std::optional<Clip> clip_of(const Ref<Value>& v) {
  const Operation* o = v->producer;
  if (!o || o->attr_operands) return std::nullopt;
  if (is(*o, "relu6")) return Clip{o->operands[0], 0, 6};
  if (is(*o, "hardtanh"))
    return Clip{o->operands[0], attr<double>(*o, "min"), attr<double>(*o, "max")};
  if (!is(*o, "clip")) return std::nullopt;
  const auto& low = attr<std::optional<op::Scalar>>(*o, "min");
  const auto& high = attr<std::optional<op::Scalar>>(*o, "max");
  if (!low || !high) return std::nullopt;
  return Clip{o->operands[0], low->real(), high->real()};
}

class Recognizer {
 public:
  explicit Recognizer(Program& p) : r_(p), algebra_(r_) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.results.size() != 1 || o.attr_operands || !o.op->elementwise) return;
      if (!is_floating(o.results[0]->dtype)) return;
      if (is(o, "multiply") || is(o, "divide") || is(o, "scale")) {
        if (product(o)) return;
      }
      hardsigmoid(o);
    });
    return r_.changed();
  }

 private:
  // a * v + b is `of` * slope + offset, cut to [0, 1].
  std::optional<Affine> ramp(const Ref<Value>& v, double a, double b) const {
    const Affine outer = algebra_.affine(v);
    b += a * outer.b;
    a *= outer.a;
    double low = 0, high = 1;
    Affine inner{nullptr, a, b};
    if (const Operation* o = made_by(outer.of, "hardsigmoid")) {
      const double slope = attr<double>(*o, "slope"), offset = attr<double>(*o, "offset");
      inner = {o->operands[0], a * slope, a * offset + b};
    } else if (const auto clip = clip_of(outer.of)) {
      inner.of = clip->of;
      low = clip->low;
      high = clip->high;
    } else {
      return std::nullopt;
    }
    const double one = low * a + b, other = high * a + b;
    if (std::abs(std::min(one, other)) > 1e-6 || !close(std::max(one, other), 1))
      return std::nullopt;
    return inner;
  }

  void hardsigmoid(Operation& o) {
    const auto found = ramp(o.results[0], 1, 0);
    if (!found || is(o, "hardsigmoid")) return;
    const Affine inner = algebra_.affine(found->of);
    const double slope = found->a * inner.a, offset = found->a * inner.b + found->b;
    if (slope == 1 && offset == 0) return;
    op::AttrBox attrs = default_attrs(op::get("hardsigmoid"));
    set_attr(attrs, "slope", slope);
    set_attr(attrs, "offset", offset);
    replace(o, "hardsigmoid", inner.of, std::move(attrs));
  }

  bool product(Operation& o) {
    const Product p = algebra_.product(o);
    if (p.factors.size() != 2 || p.factors[0].power != 1 || p.factors[1].power != 1) return false;
    for (size_t i = 0; i < 2; ++i)
      if (gated(o, p.factors[i].of, p.factors[1 - i].of, p.number)) return true;
    return false;
  }

  // o is number * x * gate: is the gate a function of x?
  bool gated(Operation& o, const Ref<Value>& x, const Ref<Value>& gate, double number) {
    if (const auto found = ramp(gate, number, 0)) {
      const auto inner = line(found->of, x);
      if (!inner || !close(found->a * inner->a, kSixth) ||
          !close(found->a * inner->b + found->b, 0.5))
        return false;
      return replace(o, "hardswish", x, default_attrs(op::get("hardswish")));
    }
    const Affine outer = algebra_.affine(gate);
    const double a = outer.a * number, b = outer.b * number;
    if (const Operation* s = made_by(outer.of, "sigmoid")) {
      const auto inner = line(s->operands[0], x);
      return inner && close(inner->a, 1) && inner->b == 0 && close(a, 1) && b == 0 &&
             replace(o, "silu", x, default_attrs(op::get("silu")));
    }
    if (!close(a, 0.5) || !close(b, 0.5)) return false;
    if (const Operation* e = made_by(outer.of, "erf")) {
      const auto inner = line(e->operands[0], x);
      return inner && inner->b == 0 && close(inner->a, 1 / std::numbers::sqrt2) &&
             gelu(o, x, false);
    }
    if (const Operation* t = made_by(outer.of, "tanh")) {
      const double slope = std::sqrt(2 / std::numbers::pi);
      const auto inner = algebra_.polynomial(t->operands[0], x);
      return inner && (*inner)[0] == 0 && close((*inner)[1], slope) && (*inner)[2] == 0 &&
             close((*inner)[3], slope * 0.044715) && gelu(o, x, true);
    }
    return false;
  }

  std::optional<Affine> line(const Ref<Value>& v, const Ref<Value>& x) const {
    const auto p = algebra_.polynomial(v, x);
    if (!p || (*p)[2] != 0 || (*p)[3] != 0) return std::nullopt;
    return Affine{x, (*p)[1], (*p)[0]};
  }

  bool gelu(Operation& o, const Ref<Value>& x, bool approximate) {
    op::AttrBox attrs = default_attrs(op::get("gelu"));
    set_attr(attrs, "approximate", approximate);
    return replace(o, "gelu", x, std::move(attrs));
  }

  bool replace(Operation& o, const char* name, const Ref<Value>& x, op::AttrBox attrs) {
    if (x->dtype != o.results[0]->dtype || x->shape.rank() != o.results[0]->shape.rank() ||
        !r_.replace_with(o.results[0], name, {x}, std::move(attrs)))
      return false;
    r_.erase();
    return true;
  }

  Rewriter r_;
  Algebra algebra_;
};

bool run(Program& p, const PassContext&) {
  return Recognizer(p).run();
}

ARGOSY_PASS(recognize_activations, Rounding::changed,
            "Activations that are said in several operations become one: hardsigmoid and hardswish "
            "by clip, silu by sigmoid, gelu by erf or by tanh, however their numbers are spread.",
            run)

}  // namespace
}  // namespace argosy::passes
