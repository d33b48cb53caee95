#include <cmath>

#include "argosy/passes/rewrite.h"

// Dropout as it is when not training.
namespace argosy::passes {
namespace {

// Attention whose weights are dropped: all of them are kept.
bool keep_weights(Rewriter& r, Operation& o) {
  const Operation* bits = made_by(o.operands[4], "attention_bits");
  if (!bits || bits->attr_operands) return false;
  r.set_operand(o, 4, nullptr);
  return true;
}

bool remove(Rewriter& r, Operation& o) {
  const bool bits = is(o, "dropout_apply_bits");
  const Operation* mask = made_by(o.operands[1], bits ? "dropout_bits" : "dropout_mask");
  if (!mask || mask->attr_operands) return false;
  // alpha_dropout reads its mask a second time, for what it puts in place of the dropped.
  if (r.uses(o.operands[1]) > 1) return false;
  const double p = attr<op::Scalar>(*mask, "p").real();
  const double expected = attr<double>(o, "factor") * (1 - p);
  if (p == 1 || std::abs(expected - 1) < 1e-6) {
    if (r.replace(o.results[0], o.operands[0])) return true;
    return r.replace_with(o.results[0], "assign", {o.operands[0]},
                          default_attrs(op::get("assign")));
  }
  op::AttrBox attrs = default_attrs(op::get("scale"));
  set_attr(attrs, "scale", op::Scalar(expected));
  return r.replace_with(o.results[0], "scale", {o.operands[0]}, std::move(attrs));
}

bool run(Program& p, const PassContext&) {
  bool any = false;
  {
    Rewriter r(p);
    r.walk([&](Operation& o) {
      if (is(o, "tiled_attention")) keep_weights(r, o);
      if ((is(o, "dropout_apply") || is(o, "dropout_apply_bits")) && remove(r, o)) r.erase();
    });
    any = r.changed();
  }
  if (!any) return false;
  // Masks that nobody reads now.
  Rewriter r(p);
  r.walk([&](Operation& o) {
    for (const char* name : {"dropout_mask", "dropout_bits", "attention_bits"})
      if (is(o, name) && !r.uses(o.results[0])) return r.erase();
  });
  return true;
}

ARGOSY_PASS(dropout_removal, Rounding::meaning,
            "Dropout computes its expectation, as when not training: x, or x * (1 - p) in the mode "
            "that scales then. No random numbers are drawn for it.",
            run)

}  // namespace
}  // namespace argosy::passes
