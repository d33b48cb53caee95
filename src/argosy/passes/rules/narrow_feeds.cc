#include <unordered_map>
#include <unordered_set>

#include "argosy/passes/rewrite.h"

// What the forward pass casts from a feed to a narrower dtype and the gradient reads too is cast
// again there. The feed is in memory anyway.
namespace argosy::passes {
namespace {

class Feeds {
 public:
  Feeds(Program& p, int64_t least) : r_(p), least_(least) {
    for (const Ref<Value>& v : p.main.arguments) feeds_.insert(v.get());
  }

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.role == program::Role::forward) {
        if (narrows(o)) casts_[o.results[0].get()] = {&o, nullptr};
        return;
      }
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const auto found = casts_.find(o.operands[i].get());
        if (found == casts_.end() || o.parent != found->second.cast->parent) continue;
        auto& [cast, again] = found->second;
        if (!again) again = r_.insert_copy(*cast, {cast->operands[0]}).results[0];
        r_.set_operand(o, i, again);
      }
    });
    return r_.changed();
  }

 private:
  struct Cast {
    const Operation* cast;
    Ref<Value> again;
  };

  bool narrows(const Operation& o) const {
    if (!is(o, "cast") || o.segment || !feeds_.count(o.operands[0].get())) return false;
    const Value &x = *o.operands[0], &y = *o.results[0];
    return x.layout == Layout::strided && y.shape.known() && y.shape.numel() >= least_ &&
           item_size(y.dtype) < item_size(x.dtype) && !r_.leaves(o.results[0]);
  }

  Rewriter r_;
  const int64_t least_;
  std::unordered_set<const Value*> feeds_;
  std::unordered_map<const Value*, Cast> casts_;
};

bool run(Program& p, const PassContext& c) {
  return Feeds(p, c.number("narrow_feeds.elements", 4096)).run();
}

ARGOSY_PASS(narrow_feeds, Rounding::kept,
            "A feed that is cast to a narrower dtype is cast again for the gradient, instead of "
            "keeping the result. Option: narrow_feeds.elements, the least size (4096).",
            run)

}  // namespace
}  // namespace argosy::passes
