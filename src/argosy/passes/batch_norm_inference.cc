#include "argosy/passes/rewrite.h"

// Batch normalization by the running statistics.
namespace argosy::passes {
namespace {

bool run(Program& p, const PassContext&) {
  Rewriter r(p);
  r.walk([&](Operation& o) {
    if (!is(o, "batch_norm") || !attr<bool>(o, "batch_stats")) return;
    // The gradient reads the statistics of the batch: these are not its own any more.
    if (r.uses(o.results[1]) || r.uses(o.results[2])) return;
    op::AttrBox attrs(*o.op->attrs, o.attrs.get());
    set_attr(attrs, "batch_stats", false);
    Operation& now = r.insert_copy(o, o.operands);
    now.attrs = std::move(attrs);
    now.results.resize(3);
    r.replace(o.results[0], now.results[0]);
    // The running statistics stay.
    for (auto& s : p.states)
      for (size_t i = 3; i < o.results.size(); ++i)
        if (s.last == o.results[i]) s.last = nullptr;
    for (size_t i = 3; i < o.results.size(); ++i)
      if (r.uses(o.results[i])) r.stand_in(o.results[i], o.operands[i - 2]);
    r.erase();
  });
  return r.changed();
}

ARGOSY_PASS(batch_norm_inference, Rounding::meaning,
            "Batch normalization uses the running statistics and leaves them as they are. Not "
            "where a gradient reads those of the batch.",
            run)

}  // namespace
}  // namespace argosy::passes
