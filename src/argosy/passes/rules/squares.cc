#include "argosy/passes/rewrite.h"

// The mean (or sum) of squares, as losses and norms have it, without the squares.
namespace argosy::passes {
namespace {

// What v is the square of, or null.
Ref<Value> root_of(const Rewriter& r, const Ref<Value>& v) {
  if (const Operation* o = made_by(v, "square")) return o->operands[0];
  if (const Operation* o = made_by(v, "multiply"))
    return o->operands[0] == o->operands[1] ? o->operands[0] : nullptr;
  const Operation* o = made_by(v, "pow");
  if (!o) return nullptr;
  const auto exponent = r.uniform(o->operands[1]);
  const bool two = exponent && o->operands[1]->shape.rank() == 0 && exponent->real() == 2;
  return two ? o->operands[0] : nullptr;
}

bool run(Program& p, const PassContext&) {
  Rewriter r(p);
  r.walk([&](Operation& o) {
    if ((!is(o, "mean") && !is(o, "sum")) || o.attr_operands) return;
    const Ref<Value> squares = o.operands[0];
    const DType t = squares->dtype;
    if ((t != DType::float32 && t != DType::float64) || o.results[0]->dtype != t) return;
    if (r.uses(squares) != 1 || r.leaves(squares)) return;
    const Ref<Value> x = root_of(r, squares);
    // In the order of memory, which is that of the squares.
    if (!x || !same_type(*x, *squares) || !x->producer || is_view(*x->producer) ||
        x->producer->op->structural)
      return;
    op::AttrBox attrs = default_attrs(op::get("sum_squares"));
    set_attr(attrs, "axis", attr<op::IntArray>(o, "axis"));
    set_attr(attrs, "keepdim", attr<bool>(o, "keepdim"));
    set_attr(attrs, "mean", is(o, "mean"));
    if (r.replace_with(o.results[0], "sum_squares", {x}, std::move(attrs))) r.erase();
  });
  return r.changed();
}

ARGOSY_PASS(squares, Rounding::kept,
            "Means and sums of squares (square, x * x, x ** 2) in float32 and float64 become one "
            "operation that does not make the squares.",
            run)

}  // namespace
}  // namespace argosy::passes
