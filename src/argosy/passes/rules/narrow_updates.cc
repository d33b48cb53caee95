#include "argosy/passes/rewrite.h"

// What casting adds to a gradient of 16 bits is zeros, and an optimizer computes in the dtype of
// what it updates, whatever that of the gradient: it reads the 16 bits.
namespace argosy::passes {
namespace {

constexpr size_t kGrads = 1;  // list of an operation that updates each parameter by itself

// Does `to` have every number of `from`?
bool widens(DType from, DType to) {
  return is_floating(from) && is_floating(to) && item_size(from) == 2 &&
         item_size(to) > item_size(from);
}

bool run(Program& p, const PassContext&) {
  Rewriter r(p);
  r.walk([&](Operation& o) {
    if (!o.op->per_parameter || o.ends.size() <= kGrads) return;
    for (size_t k = o.ends[kGrads - 1]; k < o.ends[kGrads]; ++k) {
      const Ref<Value> v = o.operands[k];
      const Operation* cast = made_by(v, "cast");
      if (!cast || cast->parent != o.parent || r.uses(v) != 1 || r.leaves(v)) continue;
      const Ref<Value>& narrow = cast->operands[0];
      if (narrow->layout != Layout::strided || !widens(narrow->dtype, v->dtype)) continue;
      r.set_operand(o, k, narrow);
    }
  });
  return r.changed();
}

ARGOSY_PASS(narrow_updates, Rounding::kept,
            "Optimizers read gradients of 16 bits as they are, instead of casts to a wider dtype "
            "that nobody else reads.",
            run)

}  // namespace
}  // namespace argosy::passes
