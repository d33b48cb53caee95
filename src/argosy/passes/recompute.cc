#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "argosy/passes/rewrite.h"

// Segments of the forward pass that are computed again for the gradient, so that what they make
// need not be kept. Chen et al., arXiv:1604.06174.
namespace argosy::passes {
namespace {

// "3-8,10-14": the segment of each operation of the main block.
void read_ranges(const PassContext& c, Program& p) {
  const std::string_view text = c.option("recompute.segments");
  uint32_t segment = 0;
  for (const auto& o : p.main.operations) segment = std::max(segment, o->segment);
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    size_t first = 0, last = 0;
    auto left = std::from_chars(item.data(), item.data() + item.size(), first);
    bool good = left.ec == std::errc() && left.ptr < item.data() + item.size() && *left.ptr == '-';
    if (good) {
      auto right = std::from_chars(left.ptr + 1, item.data() + item.size(), last);
      good = right.ec == std::errc() && first <= last && last < p.main.operations.size();
    }
    ARGOSY_CHECK(good, invalid_argument)
        << "[recompute] recompute.segments must be ranges of operations such as 3-8,10-14 within 0 "
           "and "
        << p.main.operations.size() - 1 << ", got '" << item << "'.";
    ++segment;
    for (size_t i = first; i <= last; ++i) p.main.operations[i]->segment = segment;
    at = end + 1;
  }
}

class Recomputer {
 public:
  explicit Recomputer(Program& p) : r_(p) {
    // What leaves its segment within the forward pass is kept, and so are random numbers.
    for (const auto& o : p.main.operations)
      if (o->role == program::Role::forward)
        for (const Ref<Value>& v : o->operands)
          if (v && v->producer && v->producer->segment != o->segment) kept_.insert(v.get());
  }

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.role == program::Role::forward || o.parent != &r_.program().main) return;
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const Ref<Value> v = o.operands[i];
        if (v && again(*v)) r_.set_operand(o, i, copy_of(v));
      }
    });
    return r_.changed();
  }

 private:
  bool again(const Value& v) const {
    const Operation* o = v.producer;
    return o && o->segment && o->role == program::Role::forward && !has_effect(*o->op) &&
           !o->op->structural && !kept_.count(&v) &&
           !r_.leaves(Ref<Value>::share(const_cast<Value*>(&v)));
  }

  // Computed right before the current operation, once.
  Ref<Value> copy_of(const Ref<Value>& v) {
    if (!v || !again(*v)) return v;
    if (auto it = copies_.find(v.get()); it != copies_.end()) return it->second;
    const Operation& o = *v->producer;
    std::vector<Ref<Value>> operands;
    for (const Ref<Value>& x : o.operands) operands.push_back(copy_of(x));
    const Operation& copy = r_.insert_copy(o, std::move(operands));
    for (size_t i = 0; i < o.results.size(); ++i)
      copies_.emplace(o.results[i].get(), copy.results[i]);
    return copies_.at(v.get());
  }

  Rewriter r_;
  std::unordered_set<const Value*> kept_;
  std::unordered_map<const Value*, Ref<Value>> copies_;
};

bool run(Program& p, const PassContext& c) {
  read_ranges(c, p);
  bool any = false;
  for (const auto& o : p.main.operations) any |= o->segment != 0;
  return any && Recomputer(p).run();
}

ARGOSY_PASS(recompute, Rounding::kept,
            "Computes the operations of marked segments (fleet.utils.recompute, or ranges of "
            "operations in the option recompute.segments, \"3-8,10-14\") again right before the "
            "gradient first needs them, instead of keeping what they made. What leaves a segment "
            "is kept, and so are random numbers, which are never drawn twice.",
            run)

}  // namespace
}  // namespace argosy::passes
