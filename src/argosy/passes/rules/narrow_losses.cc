#include <algorithm>
#include <unordered_map>
#include <utility>

#include "argosy/passes/rewrite.h"

// Scores in 16 bits that are cast to float32 for the loss, whose gradient is cast back: cross
// entropy reads and writes them as they are, and computes in float32 all the same.
namespace argosy::passes {
namespace {

// Gives its first operand another shape and does nothing else.
bool reshapes(const Operation& o) {
  if (!o.op->same_order || o.results.size() != 1 || o.results[0]->dtype != o.operands[0]->dtype)
    return false;
  for (size_t i = 1; i < o.operands.size(); ++i)
    if (!reads_only_shape(o, i)) return false;
  return true;
}

class Losses {
 public:
  explicit Losses(Program& p) : r_(p) {
    program::each_operation(p.main, [&](Operation& o) { look(o); });
  }

  bool run() {
    r_.walk([&](Operation& o) {
      if (is(o, "hard_cross_entropy")) forward(o);
      if (auto it = gradients_.find(&o); it != gradients_.end()) gradient(o, it->second);
      if (auto it = results_.find(&o); it != results_.end()) result(o, *it->second);
    });
    return r_.changed();
  }

 private:
  // A gradient in float32 on its way to a cast to 16 bits.
  struct Way {
    const Operation* gradient = nullptr;
    std::vector<const Operation*> shapes;
    const Operation* cast = nullptr;
    Ref<Value> x, kept, narrow;  // the loss's new operands, the new gradient
  };

  void look(Operation& o) {
    if (is(o, "hard_cross_entropy_grad")) {
      Way& way = gradients_[&o];
      way.gradient = &o;
      of_loss_[o.operands[1].get()].push_back(&o);
      at_[o.results[0].get()] = &way;
      return;
    }
    const auto found = o.operands.empty() ? at_.end() : at_.find(o.operands[0].get());
    if (found == at_.end() || r_.uses(o.operands[0]) != 1 || r_.leaves(o.operands[0])) return;
    Way& way = *found->second;
    if (reshapes(o)) {
      way.shapes.push_back(&o);
      at_[o.results[0].get()] = &way;
    } else if (is(o, "cast")) {
      way.cast = &o;
    }
  }

  void forward(Operation& o) {
    if (o.results[0]->dtype != DType::float32 || o.segment) return;
    std::vector<const Operation*> shapes;
    Ref<Value> x = o.operands[0];
    for (; x->producer && reshapes(*x->producer); x = x->producer->operands[0])
      shapes.push_back(x->producer);
    const Operation* cast = made_by(x, "cast");
    if (!cast || !kHalf.has(cast->operands[0]->dtype)) return;
    x = cast->operands[0];
    const std::vector<Operation*>& gradients = of_loss_[o.results[1].get()];
    if (r_.uses(o.results[1]) != gradients.size()) return;
    for (const Operation* g : gradients) {
      const Way& way = gradients_[g];
      if (!way.cast || way.cast->results[0]->dtype != x->dtype || g->parent != o.parent) return;
    }
    for (auto s = shapes.rbegin(); s != shapes.rend(); ++s) x = shaped(**s, x);
    const Operation& loss = as_narrow(o, x, nullptr);
    if (!r_.replace(o.results[0], loss.results[0])) return;
    for (const Operation* g : gradients) {
      gradients_[g].x = x;
      gradients_[g].kept = loss.results[1];
    }
  }

  void gradient(const Operation& o, Way& way) {
    if (!way.x) return;
    way.narrow = as_narrow(o, way.x, way.kept).results[0];
    results_[way.cast] = &way;
  }

  // At the cast: what the shapes depend on is there.
  void result(const Operation& o, const Way& way) {
    Ref<Value> dx = way.narrow;
    for (const Operation* s : way.shapes) dx = shaped(*s, dx);
    r_.replace(o.results[0], dx);
  }

  Ref<Value> shaped(const Operation& view, const Ref<Value>& x) {
    std::vector<Ref<Value>> operands = view.operands;
    operands[0] = x;
    const Ref<Value> v = r_.insert_copy(view, std::move(operands)).results[0];
    v->dtype = x->dtype;
    return v;
  }
  const Operation& as_narrow(const Operation& o, const Ref<Value>& x, const Ref<Value>& kept) {
    std::vector<Ref<Value>> operands = o.operands;
    operands[0] = x;
    if (kept) operands[1] = kept;
    op::AttrBox attrs(*o.attrs.type(), o.attrs.get());
    set_attr(attrs, "wide", true);
    return r_.insert(o.op->name, std::move(operands), std::move(attrs));
  }

  Rewriter r_;
  std::unordered_map<const Operation*, Way> gradients_;
  std::unordered_map<const Operation*, Way*> results_;                 // by the cast
  std::unordered_map<const Value*, Way*> at_;                          // who is on the way
  std::unordered_map<const Value*, std::vector<Operation*>> of_loss_;  // by what is kept
};

bool run(Program& p, const PassContext&) {
  return Losses(p).run();
}

ARGOSY_PASS(
    narrow_losses, Rounding::kept,
    "Cross entropy of 16-bit scores that are cast to float32, and its gradient that is cast "
    "back, read and write 16 bits; they compute in float32 as before. Neither scores nor "
    "softmax are made in float32.",
    run)

}  // namespace
}  // namespace argosy::passes
