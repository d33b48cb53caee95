#include <unordered_map>

#include "argosy/passes/rewrite.h"

// The gradient of relu asks where its result was greater than 0. What the forward pass made of that
// result, and keeps anyway, often tells as much.
namespace argosy::passes {
namespace {

class Gates {
 public:
  explicit Gates(Program& p) : r_(p) {}

  bool run() {
    r_.walk([&](Operation& o) {
      if (is(o, "dropout_apply_bits") && o.role == program::Role::forward)
        dropped_[o.operands[1].get()] = {o.operands[0], o.results[0]};
      if (!is(o, "relu_grad")) return;
      if (after_pool(o)) return;
      after_dropout(o);
      into_product(o);
    });
    return r_.changed();
  }

 private:
  struct Dropped {
    Ref<Value> from, to;
  };

  // relu, then max pooling: what goes through a window goes to its maximum, which pooling's result
  // is. Nobody needs relu's own result then.
  bool after_pool(Operation& o) {
    const Ref<Value> y = o.operands[0];
    const Operation* grad = made_by(o.operands[1], "max_pool_grad");
    if (!grad || r_.uses(o.operands[1]) != 1 || grad->operands[2] != y) return false;
    const Operation* pool = grad->operands[1]->producer;
    if (!pool || !pool->op->name.starts_with("max_pool") || pool->operands[0] != y ||
        grad->operands[1] != pool->results[1] || !same_type(*pool->results[0], *grad->operands[0]))
      return false;
    const Operation& inner =
        r_.insert("relu_grad", {pool->results[0], grad->operands[0]}, copy_of(o.attrs));
    const Ref<Value> dy = inner.results[0];
    const Operation& outer = r_.insert_copy(*grad, {dy, grad->operands[1], grad->operands[2]});
    if (!r_.replace(o.results[0], outer.results[0])) return false;
    r_.erase();
    return true;
  }

  // relu, then dropout: where the gradient of dropout is not 0, its result is greater than 0
  // exactly where relu's is.
  void after_dropout(Operation& o) {
    const Operation* drop = made_by(o.operands[1], "dropout_apply_bits");
    if (!drop || drop->role == program::Role::forward || attr<double>(*drop, "factor") < 1) return;
    const auto found = dropped_.find(drop->operands[1].get());
    if (found == dropped_.end() || found->second.from != o.operands[0]) return;
    r_.set_operand(o, 0, found->second.to);
  }

  // A product straight into the gradient of relu, or through dropout that this also does.
  void into_product(Operation& o) {
    const Ref<Value> gate = o.operands[0];
    const Operation* product = o.operands[1]->producer;
    double factor = 1;
    if (r_.uses(o.operands[1]) != 1 || !product) return;
    if (is(*product, "dropout_apply_bits") && gate->producer &&
        is(*gate->producer, "dropout_apply_bits") &&
        gate->producer->operands[1] == product->operands[1]) {
      factor = attr<double>(*product, "factor");
      if (r_.uses(product->operands[0]) != 1) return;
      product = product->operands[0]->producer;
    }
    if (!product || !is(*product, "matmul") || product->attr_operands ||
        attr<bool>(*product, "transpose_x") || product->parent != o.parent)
      return;
    const Ref<Value>&x = product->operands[0], &y = product->operands[1];
    const DType t = x->dtype;
    if (y->shape.rank() != 2 || x->shape.rank() < 2 || !same_type(*gate, *o.results[0]) ||
        y->dtype != t || gate->dtype != t || !kFloating.has(t))
      return;
    op::AttrBox attrs = default_attrs(op::get("gated_matmul"));
    set_attr(attrs, "transpose_y", attr<bool>(*product, "transpose_y"));
    set_attr(attrs, "factor", factor);
    if (r_.replace_with(o.results[0], "gated_matmul", {gate, x, y}, std::move(attrs))) r_.erase();
  }

  static op::AttrBox copy_of(const op::AttrBox& a) { return op::AttrBox(*a.type(), a.get()); }

  Rewriter r_;
  std::unordered_map<const Value*, Dropped> dropped_;  // by bits
};

bool run(Program& p, const PassContext&) {
  return Gates(p).run();
}

ARGOSY_PASS(
    relu_gradients, Rounding::kept,
    "The gradient of relu reads what is kept anyway: dropout's result instead of relu's, or "
    "max pooling's; after a matrix product it becomes part of that (gated_matmul), which "
    "writes over relu's result once nobody else reads it.",
    run)

}  // namespace
}  // namespace argosy::passes
