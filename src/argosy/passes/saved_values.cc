#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

#include "argosy/op/names.h"
#include "argosy/passes/rewrite.h"

// Gradients of `if` and `while` read what the forward blocks saved for them: arrays of values, for
// a loop one for each round (program/gradient.cc). Values in these that nobody reads any more,
// since other passes found another way, are not put in.
namespace argosy::passes {
namespace {

namespace names = op::names;

class Tracer {
 public:
  explicit Tracer(const Program& p) {
    for (const auto& o : p.outputs) kept_.insert(o.value.get());
    for (const auto& s : p.states)
      if (s.last) kept_.insert(s.last.get());
    block(p.main);
  }

  // Which elements of the array that `made` makes are read. All, if it goes where that cannot be
  // told.
  std::vector<bool> read_elements(const Operation& made) {
    read_.assign(made.operands.size() - 1, false);
    all_ = false;
    for (auto& seen : seen_) seen.clear();
    follow(made.results[0].get(), 0);
    while (!work_.empty() && !all_) {
      const auto [v, depth] = work_.back();
      work_.pop_back();
      visit(v, depth);
    }
    work_.clear();
    if (all_) read_.assign(read_.size(), true);
    return read_;
  }

 private:
  struct Use {
    const Operation* operation = nullptr;  // null: yielded by `yielding`
    size_t place = 0;
    const Block* yielding = nullptr;
  };

  void block(const Block& b) {
    for (const auto& o : b.operations) {
      for (size_t i = 0; i < o->operands.size(); ++i)
        if (o->operands[i] && o->operands[i]->layout == Layout::tensor_array)
          uses_[o->operands[i].get()].push_back({o.get(), i, nullptr});
      for (const auto& inner : o->blocks) block(*inner);
    }
    for (size_t i = 0; i < b.yields.size(); ++i)
      if (b.yields[i]->layout == Layout::tensor_array)
        uses_[b.yields[i].get()].push_back({nullptr, i, &b});
  }

  // v is the array, or holds it in arrays within arrays, so many of them.
  void follow(const Value* v, size_t depth) {
    if (depth >= std::size(seen_))
      all_ = true;
    else if (v->layout == Layout::tensor_array && seen_[depth].insert(v).second)
      work_.emplace_back(v, depth);
  }

  void visit(const Value* v, size_t depth) {
    all_ |= kept_.count(v) != 0;
    for (const Use& use : uses_[v]) {
      if (use.yielding) {
        yielded(*use.yielding, use.place, depth);
        continue;
      }
      const Operation& o = *use.operation;
      if (o.op->structural) {
        passed_in(o, use.place, depth);
      } else if (is(o, names::kArrayGet) && depth == 0) {
        const auto index = static_cast<size_t>(attr<int64_t>(o, "index"));
        if (index < read_.size()) read_[index] = true;
      } else if (depth > 0 && use.place == 0 &&
                 (is(o, names::kArrayGet) || is(o, names::kArrayRead))) {
        follow(o.results[0].get(), depth - 1);
      } else if (is(o, names::kArrayExtend) && (depth > 0 || use.place > 0)) {
        follow(o.results[0].get(), use.place ? depth + 1 : depth);
      } else {
        all_ = true;
      }
    }
  }

  void yielded(const Block& b, size_t place, size_t depth) {
    const Operation& owner = *b.owner;
    follow(owner.results[place].get(), depth);
    if (owner.is_while())
      for (const auto& inner : owner.blocks) follow(inner->arguments[place].get(), depth);
  }

  void passed_in(const Operation& o, size_t place, size_t depth) {
    const bool is_if = o.is_if();
    for (const auto& inner : o.blocks)
      follow(inner->arguments[is_if ? place - 1 : place].get(), depth);
    if (!is_if && place < o.results.size()) follow(o.results[place].get(), depth);
  }

  std::unordered_map<const Value*, std::vector<Use>> uses_;  // of arrays
  std::unordered_set<const Value*> kept_;
  std::vector<bool> read_;
  bool all_ = false;
  std::unordered_set<const Value*> seen_[8];  // by depth
  std::vector<std::pair<const Value*, size_t>> work_;
};

bool run(Program& p, const PassContext&) {
  bool any = false;
  program::each_operation(p.main, [&](Operation& o) { any |= is(o, names::kArrayExtend); });
  if (!any) return false;
  Tracer tracer(p);
  std::unordered_map<const Operation*, std::vector<bool>> read;
  program::each_operation(p.main, [&](Operation& o) {
    if (is(o, names::kArrayExtend) && made_by(o.operands[0], names::kArrayNew))
      read.emplace(&o, tracer.read_elements(o));
  });
  Rewriter r(p);
  r.walk([&](Operation& o) {
    auto it = read.find(&o);
    if (it == read.end()) return;
    Ref<Value> nothing;  // keeps the place
    for (size_t i = 0; i < it->second.size(); ++i) {
      if (it->second[i] || made_by(o.operands[i + 1], names::kArrayNew)) continue;
      if (!nothing) nothing = r.insert(names::kArrayNew, {}).results[0];
      r.set_operand(o, i + 1, nothing);
    }
  });
  return r.changed();
}

ARGOSY_PASS(
    saved_values, Rounding::kept,
    "What the blocks of `if` and `while` save for their gradients, value by value and round "
    "by round, and no gradient reads any more is not saved: an empty array keeps its place.",
    run)

}  // namespace
}  // namespace argosy::passes
