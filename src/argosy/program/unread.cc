#include "argosy/program/unread.h"

#include <algorithm>
#include <cstdint>

namespace argosy::program {
namespace {

class Liveness {
 public:
  Liveness(const Program& p, bool (*kept)(const Value&)) : live_(p.value_count()) {
    for (const auto& o : p.outputs) mark(o.value);
    for (const auto& s : p.states) mark(s.last);
    if (kept)
      for (const auto& o : p.main.operations)
        for (const Ref<Value>& v : o->results)
          if (kept(*v)) mark(v);
    block(p.main);
  }

  bool live(const Ref<Value>& v) const { return v && live_[v->id]; }
  std::vector<bool> take() { return std::move(live_); }
  bool needed(const Operation& o) const { return effect(o) || any_live(o.results); }

 private:
  bool any_live(const std::vector<Ref<Value>>& values) const {
    return std::any_of(values.begin(), values.end(), [&](const auto& v) { return live(v); });
  }
  void mark(const Ref<Value>& v) {
    if (!v || live_[v->id]) return;
    live_[v->id] = true;
    ++marked_;
  }
  static bool effect(const Operation& o) {
    if (has_effect(*o.op)) return true;
    for (const auto& b : o.blocks)
      for (const auto& inner : b->operations)
        if (effect(*inner)) return true;
    return false;
  }
  // Back over a block whose live yields are marked.
  void block(const Block& b) {
    for (size_t i = b.operations.size(); i-- > 0;) {
      const Operation& o = *b.operations[i];
      if (!needed(o)) continue;
      if (o.is_if())
        mark_if(o);
      else if (o.is_while())
        mark_while(o);
      else
        for (const Ref<Value>& v : o.operands) mark(v);
    }
  }
  void mark_if(const Operation& o) {
    mark(o.operands[0]);
    for (const auto& b : o.blocks) {
      for (size_t i = 0; i < o.results.size(); ++i)
        if (live(o.results[i])) mark(b->yields[i]);
      block(*b);
      for (size_t i = 0; i < b->arguments.size(); ++i)
        if (live(b->arguments[i])) mark(o.operands[i + 1]);
    }
  }
  void mark_while(const Operation& o) {
    const Block &cond = *o.blocks[0], &body = *o.blocks[1];
    mark(cond.yields[0]);
    block(cond);
    // What one round carries to the next.
    for (size_t before = SIZE_MAX; before != marked_;) {
      before = marked_;
      for (size_t i = 0; i < o.results.size(); ++i)
        if (live(o.results[i]) || live(cond.arguments[i]) || live(body.arguments[i]))
          mark(body.yields[i]);
      block(body);
    }
    for (size_t i = 0; i < o.operands.size(); ++i)
      if (live(cond.arguments[i]) || live(body.arguments[i]) ||
          (i < o.results.size() && live(o.results[i])))
        mark(o.operands[i]);
  }

  std::vector<bool> live_;
  size_t marked_ = 0;
};

class Sweeper {
 public:
  explicit Sweeper(const Liveness& live) : live_(live) {}

  void block(Block& b) {
    changed_ |= std::erase_if(b.operations, [&](const std::unique_ptr<Operation>& o) {
                  if (live_.needed(*o)) return false;
                  for (const Ref<Value>& v : o->results) forget(v);
                  return true;
                }) != 0;
    for (const auto& o : b.operations) {
      if (o->op->structural) o->is_if() ? sweep_if(*o) : sweep_while(*o);
      for (const auto& inner : o->blocks) block(*inner);
    }
  }
  bool changed() const { return changed_; }

 private:
  static void forget(const Ref<Value>& v) {
    v->block = nullptr;
    v->producer = nullptr;
  }
  // Removes the places of a list for which keep is false.
  void filter(std::vector<Ref<Value>>& list, const std::vector<bool>& keep, size_t from = 0) {
    size_t to = from;
    for (size_t i = from; i < list.size(); ++i) {
      if (!keep[i - from]) continue;
      if (to != i) list[to] = std::move(list[i]);
      ++to;
    }
    changed_ |= to != list.size();
    list.resize(to);
  }
  void forget_unless(const std::vector<Ref<Value>>& list, const std::vector<bool>& keep) {
    for (size_t i = 0; i < keep.size(); ++i)
      if (!keep[i]) forget(list[i]);
  }

  void sweep_if(Operation& o) {
    std::vector<bool> results(o.results.size()), arguments(o.operands.size() - 1);
    for (size_t i = 0; i < results.size(); ++i) results[i] = live_.live(o.results[i]);
    for (size_t i = 0; i < arguments.size(); ++i)
      for (const auto& b : o.blocks)
        if (live_.live(b->arguments[i])) arguments[i] = true;
    forget_unless(o.results, results);
    filter(o.results, results);
    filter(o.operands, arguments, 1);
    for (const auto& b : o.blocks) {
      filter(b->yields, results);
      forget_unless(b->arguments, arguments);
      filter(b->arguments, arguments);
    }
  }

  void sweep_while(Operation& o) {
    const size_t carried = o.results.size();
    std::vector<bool> results(carried), arguments(o.operands.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      arguments[i] = (i < carried && live_.live(o.results[i])) ||
                     live_.live(o.blocks[0]->arguments[i]) || live_.live(o.blocks[1]->arguments[i]);
      if (i < carried) results[i] = arguments[i];
    }
    forget_unless(o.results, results);
    filter(o.results, results);
    filter(o.operands, arguments);
    for (const auto& b : o.blocks) {
      forget_unless(b->arguments, arguments);
      filter(b->arguments, arguments);
    }
    filter(o.blocks[1]->yields, results);
  }

  const Liveness& live_;
  bool changed_ = false;
};

}  // namespace

bool drop_unread(Program& p, bool (*kept)(const Value&), std::vector<bool>* live) {
  Liveness found(p, kept);
  Sweeper sweeper(found);
  sweeper.block(p.main);
  if (live) *live = found.take();
  return sweeper.changed();
}

}  // namespace argosy::program
