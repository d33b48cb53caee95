#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "argosy/passes/again.h"
#include "argosy/passes/liveness.h"
#include "argosy/program/cost.h"

// Rematerialisation: what is cheap to make again from values that are there anyway is not kept for
// the gradient, as far as that lowers the peak.
namespace argosy::passes {
namespace {

bool is_repeatable(const Operation& o) {
  return o.role == program::Role::forward && may_repeat(o) && !(is_work(o) && o.attr_operands);
}

// Arithmetic operations, as far as ops tell; 0 where sizes are not known.
double work_of(const Operation& o) {
  if (!o.op->cost || o.attr_operands) return 0;
  auto is_known = [](const Ref<Value>& v) {
    return !v || (v->layout == Layout::strided && v->shape.known());
  };
  if (!std::all_of(o.operands.begin(), o.operands.end(), is_known) ||
      !std::all_of(o.results.begin(), o.results.end(), is_known))
    return 0;
  return program::cost_of(o).operations;
}

class Rematerializer {
 public:
  Rematerializer(Program& p, const PassContext& c)
      : p_(p),
        live_(p, c.number("remat.unknown", 16)),
        least_(c.number("remat.bytes", 1024)),
        depth_(c.number("remat.depth", 6)),
        percent_(c.number("remat.products", 10)) {
    for (const auto& o : p.outputs) leaves_.insert(o.value.get());
    for (const auto& s : p.states)
      if (s.last) leaves_.insert(s.last.get());
  }

  bool run() {
    if (live_.bytes.empty()) return false;
    double forward = 0;
    for (const auto& o : p_.main.operations)
      if (o->role == program::Role::forward) forward += work_of(*o);
    spare_ = forward * static_cast<double>(percent_) / 100;
    find_candidates();
    bytes_ = live_.bytes;
    choose();
    if (spare_ > 0) {
      products_ = true;
      choose();
    }
    if (chosen_.empty()) return false;
    rewrite();
    return true;
  }

 private:
  struct Candidate {
    Ref<Value> value;
    int32_t forward = 0;   // last operation of the forward pass that reads it
    int32_t backward = 0;  // first operation after that reads it
  };

  void find_candidates() {
    std::unordered_map<const Value*, Candidate> found;
    const auto& operations = p_.main.operations;
    for (size_t i = 0; i < operations.size(); ++i) {
      const Operation& o = *operations[i];
      const auto at = static_cast<int32_t>(i);
      for (size_t k = 0; k < o.operands.size(); ++k) {
        const Ref<Value>& v = o.operands[k];
        if (!v || !v->producer || v->block != &p_.main || reads_no_memory(o, k)) continue;
        // A view is as good as what it is a view of.
        Candidate& c = found[v.get()];
        c.value = v;
        if (o.role == program::Role::forward)
          c.forward = at;
        else if (!c.backward)
          c.backward = at;
      }
    }
    // The memory of a value is free only if no view of it is read meanwhile.
    std::unordered_map<uint32_t, int32_t> reads;
    for (auto& [value, c] : found) {
      int32_t& last = reads[live_.root[value->id]];
      last = std::max(last, c.forward);
    }
    for (auto& [value, c] : found) {
      c.forward = std::max(c.forward, reads[live_.root[value->id]]);
      if (!c.backward || c.forward >= c.backward || leaves_.count(value) ||
          !is_repeatable(*value->producer))
        continue;
      users_[live_.root[value->id]].push_back(c);
    }
    // Memory that the gradient also reads as a value that cannot be made again.
    for (const auto& [value, c] : found) {
      const uint32_t root = live_.root[value->id];
      // (Views made by the gradient are views of the copy then.)
      if (!c.backward || !users_.count(root) || value->producer->role != program::Role::forward)
        continue;
      const auto& list = users_[root];
      if (std::none_of(list.begin(), list.end(),
                       [&](const Candidate& other) { return other.value.get() == value; }))
        unmovable_.insert(root);
    }
    for (const Value* v : leaves_) unmovable_.insert(live_.root[v->id]);
    for (auto& [root, list] : users_)
      if (live_.size[root] >= least_) roots_.push_back(root);
    std::sort(roots_.begin(), roots_.end());
  }

  // At this time.
  bool is_allowed(const Operation& o) const {
    return is_repeatable(o) && (!is_work(o) || (products_ && work_of(o) > 0));
  }

  // Is v in memory at operation `at`?
  bool there(const Value& v, int32_t at) const {
    const uint32_t root = live_.root[v.id];
    return live_.begin[root] < 0 || (live_.end[root] >= at && !dropped_.count(root));
  }

  // Operations that make v before operation `at` from what is there then; false if it cannot be.
  bool plan(const Ref<Value>& v, int32_t at, int64_t depth, std::vector<const Operation*>* work,
            std::vector<uint32_t>* needs) const {
    const Operation* o = v->producer;
    if (!o || !is_allowed(*o) || depth == 0) return false;
    if (std::find(work->begin(), work->end(), o) != work->end()) return true;
    for (const Ref<Value>& x : sources_of(*o)) {
      if (!x) continue;
      if (there(*x, at)) {
        needs->push_back(live_.root[x->id]);
        continue;
      }
      if (!plan(x, at, depth - 1, work, needs)) return false;
    }
    work->push_back(o);
    return true;
  }

  struct Choice {
    uint32_t root = 0;
    int32_t forward = 0, backward = 0;
    std::vector<uint32_t> needs;
    int64_t temporary = 0;
    double worth = 0, work = 0;
  };

  // Does an elementwise operation of `work` put its result in the place of v?
  bool overwritten(const Value& v, const std::vector<const Operation*>& work) const {
    return std::any_of(work.begin(), work.end(), [&](const Operation* o) {
      return o->op->elementwise && o->results.size() == 1 &&
             live_.size[o->results[0]->id] == live_.size[v.id] &&
             std::any_of(o->operands.begin(), o->operands.end(),
                         [&](const Ref<Value>& x) { return x.get() == &v; });
    });
  }

  // What it would take not to keep the memory `root`; false if it cannot be done.
  bool consider(uint32_t root, Choice* choice) {
    if (dropped_.count(root) || pinned_.count(root)) return false;
    choice->root = root;
    choice->backward = INT32_MAX;
    size_t repeated = 0;
    dropped_.insert(root);
    bool can = true;
    for (const Candidate& c : users_.at(root)) {
      choice->forward = std::max(choice->forward, c.forward);
      choice->backward = std::min(choice->backward, c.backward);
      std::vector<const Operation*> work;
      can = can && plan(c.value, c.backward, depth_, &work, &choice->needs);
      repeated += work.size();
      for (const Operation* o : work) {
        if (is_work(*o)) choice->work += work_of(*o);
        for (const Ref<Value>& v : o->results)
          if (live_.root[v->id] != root && !overwritten(*v, work))
            choice->temporary += live_.size[v->id];
      }
    }
    dropped_.erase(root);
    if (!can || unmovable_.count(root) || choice->forward + 1 >= choice->backward) return false;
    if (choice->work > spare_) return false;
    // By bytes for each operation; where products count, for the arithmetic in them.
    const double price = products_ ? choice->work + 1 : static_cast<double>(repeated);
    choice->worth = static_cast<double>(live_.size[root]) / price;
    return true;
  }

  void choose() {
    std::vector<int64_t>& bytes = bytes_;
    auto peak_of = [&] { return std::max_element(bytes.begin(), bytes.end()) - bytes.begin(); };
    for (;;) {
      const int64_t at = peak_of();
      const int64_t peak = bytes[static_cast<size_t>(at)];
      Choice best;
      for (uint32_t root : roots_) {
        Choice choice;
        if (!consider(root, &choice) || choice.forward >= at || at >= choice.backward ||
            choice.worth <= best.worth)
          continue;
        if (bytes[static_cast<size_t>(choice.backward)] + choice.temporary >= peak) continue;
        best = std::move(choice);
      }
      if (best.worth == 0) return;
      dropped_.insert(best.root);
      spare_ -= best.work;
      for (uint32_t need : best.needs) pinned_.insert(need);
      for (int32_t i = best.forward + 1; i < best.backward; ++i)
        bytes[static_cast<size_t>(i)] -= live_.size[best.root];
      bytes[static_cast<size_t>(best.backward)] += best.temporary;
      for (const Candidate& c : users_.at(best.root)) chosen_.insert(c.value.get());
    }
  }

  void rewrite() {
    Rewriter r(p_);
    int32_t at = -1;
    std::unordered_map<const Value*, Ref<Value>> copies;
    // Gives v as it is if it is there, else a copy made before the current operation.
    auto copy = [&](const Ref<Value>& v, auto&& self) -> Ref<Value> {
      if (!v || (!chosen_.count(v.get()) && there(*v, at))) return v;
      if (auto it = copies.find(v.get()); it != copies.end()) return it->second;
      const Operation& o = *v->producer;
      std::vector<Ref<Value>> operands;
      for (const Ref<Value>& x : sources_of(o)) operands.push_back(self(x, self));
      Operation& made = insert_again(r, o, std::move(operands));
      const bool keep = chosen_.count(v.get()) != 0;
      if (keep)
        for (size_t i = 0; i < made.results.size(); ++i)
          if (o.results[i] == v) copies.emplace(v.get(), made.results[i]);
      for (size_t i = 0; i < made.results.size(); ++i)
        if (o.results[i] == v) return made.results[i];
      return v;
    };
    r.walk([&](Operation& o) {
      if (o.parent != &p_.main) return;
      ++at;
      if (o.role == program::Role::forward) return;
      for (size_t i = 0; i < o.operands.size(); ++i) {
        const Ref<Value> v = o.operands[i];
        if (v && chosen_.count(v.get()) && !reads_no_memory(o, i))
          r.set_operand(o, i, copy(v, copy));
      }
    });
  }

  Program& p_;
  const Liveness live_;
  const int64_t least_, depth_, percent_;
  bool products_ = false;       // are they considered, too?
  double spare_ = 0;            // work that may still be spent on them
  std::vector<int64_t> bytes_;  // during each operation, without what was dropped
  std::unordered_set<const Value*> leaves_;
  std::unordered_map<uint32_t, std::vector<Candidate>> users_;  // by root
  std::vector<uint32_t> roots_;
  std::unordered_set<uint32_t> unmovable_, pinned_, dropped_;
  std::unordered_set<const Value*> chosen_;
};

bool run(Program& p, const PassContext& c) {
  return Rematerializer(p, c).run();
}

ARGOSY_PASS(remat, Rounding::kept,
            "What cheap operations made (elementwise ones, normalization, casts, broadcasts) is "
            "made again for the gradient instead of being kept, from values that are there anyway, "
            "greedily by bytes for each operation repeated, as long as the estimated peak falls. "
            "Matrix products are, too, for up to 10% of the forward pass's arithmetic. Options: "
            "remat.bytes, the least size of a value (1024); remat.depth, the longest chain (6); "
            "remat.products, percent for products (10); remat.unknown, what an unknown size counts "
            "as (16).",
            run)

}  // namespace
}  // namespace argosy::passes
