#include <algorithm>
#include <charconv>
#include <unordered_map>
#include <unordered_set>

#include "argosy/passes/again.h"
#include "argosy/passes/liveness.h"
#include "argosy/program/builder.h"

// Segments of the forward pass that are computed again for the gradient, so that what they make
// need not be kept. Chen et al., arXiv:1604.06174.
namespace argosy::passes {
namespace {

uint32_t last_segment(const Program& p) {
  uint32_t last = 0;
  for (const auto& o : p.main.operations) last = std::max(last, o->segment);
  return last;
}

// "3-8,10-14": the segment of each operation of the main block.
void read_ranges(const PassContext& c, Program& p) {
  const std::string_view text = c.option("recompute.segments");
  uint32_t segment = last_segment(p);
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
    int32_t at = 0;
    for (const auto& o : p.main.operations) {
      ++at;
      for (const Ref<Value>& v : o->operands) {
        if (!v) continue;
        if (o->role != program::Role::forward)
          last_gradient_[v.get()] = at;
        else if (v->producer && v->producer->segment != o->segment)
          kept_.insert(v.get());
      }
    }
    find_spared(p);
  }

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.parent != &r_.program().main) return;
      ++at_;
      if (o.role == program::Role::forward) return;
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const Ref<Value> v = o.operands[i];
        if (!v) continue;
        if (again(*v))
          r_.set_operand(o, i,
                         copies_.count(v.get()) && is_easy(*v) ? late_copy_of(v) : copy_of(v));
        else if (is_spared(*v) && is_easy(*v))
          r_.set_operand(o, i, late_copy_of(v));
      }
    });
    return r_.changed();
  }

 private:
  bool again(const Value& v) const {
    const Operation* o = v.producer;
    return o && o->segment && o->segment != spared_ && o->role == program::Role::forward &&
           !has_effect(*o->op) && !o->op->structural && !kept_.count(&v) && !comes_along(v) &&
           !r_.leaves(Ref<Value>::share(const_cast<Value*>(&v)));
  }

  // Statistics and the like of an operation whose result is kept are kept with it.
  bool comes_along(const Value& v) const {
    const Value* first = v.producer->results[0].get();
    return first != &v && kept_.count(first) && 8 * bytes_of(v) <= bytes_of(*first);
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

  // The gradient of the last segment follows right upon it, if hardly anything comes between: it is
  // not computed again then but for what is easily made.
  void find_spared(const Program& p) {
    int64_t own = 0, after = 0;
    for (const auto& o : p.main.operations) {
      if (o->role != program::Role::forward) continue;
      if (o->segment && o->segment != spared_) own = 0;
      if (o->segment) {
        spared_ = o->segment;
        after = 0;
      }
      for (const Ref<Value>& v : o->results)
        if (!is_view(*o)) (o->segment ? own : after) += bytes_of(*v);
    }
    if (2 * after > own) spared_ = 0;
  }
  bool is_spared(const Value& v) const {
    const Operation* o = v.producer;
    return spared_ && o && o->segment == spared_ && o->role == program::Role::forward &&
           !kept_.count(&v) && !r_.leaves(Ref<Value>::share(const_cast<Value*>(&v)));
  }

  // Is v easily made now from what is there anyway? Then it need not be kept until now, even if it
  // was made (again) already on the way to something else.
  bool is_easy(const Value& v) const {
    const Operation& o = *v.producer;
    if (!may_repeat(o) || is_work(o) || is_view(o) || o.op->again_from || o.results[0].get() != &v)
      return false;
    return std::all_of(o.operands.begin(), o.operands.end(), [&](const Ref<Value>& x) {
      if (!x || !x->producer) return true;
      const auto last = last_gradient_.find(x.get());
      return last != last_gradient_.end() && last->second >= at_;
    });
  }

  // Right before the current operation, once.
  Ref<Value> late_copy_of(const Ref<Value>& v) {
    if (auto it = late_copies_.find(v.get()); it != late_copies_.end()) return it->second;
    const Operation& o = *v->producer;
    std::vector<Ref<Value>> operands;
    for (const Ref<Value>& x : o.operands) operands.push_back(copy_of(x));
    const Operation& copy = r_.insert_copy(o, std::move(operands));
    for (size_t i = 0; i < o.results.size(); ++i)
      if (o.results[i] == v) late_copies_.emplace(v.get(), copy.results[i]);
    return late_copies_.at(v.get());
  }

  Rewriter r_;
  uint32_t spared_ = 0;
  int32_t at_ = 0;  // the current operation of the main block, counted from 1
  std::unordered_map<const Value*, int32_t> last_gradient_;  // the last that is not of forward
  std::unordered_set<const Value*> kept_;
  std::unordered_map<const Value*, Ref<Value>> copies_, late_copies_;
};

bool run(Program& p, const PassContext& c) {
  read_ranges(c, p);
  bool any = false;
  for (const auto& o : p.main.operations) any |= o->segment != 0;
  return any && Recomputer(p).run();
}

ARGOSY_PASS(recompute, Rounding::kept,
            "Computes the operations of marked segments (fleet.utils.recompute, the checkpoints of "
            "append_backward, or ranges of operations in the option recompute.segments, "
            "\"3-8,10-14\") again right before the "
            "gradient first needs them, instead of keeping what they made. What leaves a segment "
            "is kept, and so are random numbers, which are never drawn twice. What is easily made "
            "again (elementwise values, normalizations, softmax) is made when it is needed; of the "
            "last segment, whose gradient follows at once, only that.",
            run)

}  // namespace

void mark_segments(Program& p, std::span<const Ref<Value>> ends) {
  std::unordered_set<const Operation*> makers;
  for (const Ref<Value>& v : ends)
    if (v && v->producer && v->producer->parent == &p.main) makers.insert(v->producer);
  uint32_t segment = last_segment(p) + 1;
  for (const auto& o : p.main.operations) {
    if (makers.empty()) break;
    if (o->role == program::Role::forward && !o->segment) o->segment = segment;
    if (makers.erase(o.get())) ++segment;
  }
  p.builder().segments = segment;
}

}  // namespace argosy::passes
