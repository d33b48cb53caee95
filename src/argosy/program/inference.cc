#include "argosy/program/inference.h"

#include <algorithm>
#include <optional>

#include "argosy/program/unread.h"

namespace argosy::program {
namespace {

class Producers final : public op::Surroundings {
 public:
  explicit Producers(const Operation& o) : o_(o) {}
  const op::OpDef* made_by(size_t operand, const void** attrs) const override {
    const Value* v = operand < o_.operands.size() ? o_.operands[operand].get() : nullptr;
    if (!v || !v->producer) return nullptr;
    if (v->producer->attr_operands) {
      ARGOSY_CHECK(!v->producer->op->training_only, not_implemented)
          << '[' << v->producer->op->name
          << "] draws by a value of the Program, of which a Program for testing cannot know what "
             "to "
             "expect. Do this: give a number, or build a Program for testing with training=False.";
      return nullptr;
    }
    *attrs = v->producer->attrs.get();
    return v->producer->op;
  }

 private:
  const Operation& o_;
};

// Is it anything but an array that a block makes? Where nobody reads one, it was kept for a
// gradient.
bool is_no_save(const Value& v) {
  return v.layout != Layout::tensor_array || !v.producer->op->structural;
}

class Converter {
 public:
  Converter(Program& p, bool (*which)(const op::OpDef&))
      : p_(p),
        which_(which),
        dropped_(program::drop_unread(p, is_no_save, nullptr)),
        uses_(count_uses(p)),
        read_on_(p.value_count()) {
    each_operation(p.main, [&](const Operation& o) {
      const auto instead = said(o);
      for (size_t i = 0; i < o.operands.size(); ++i)
        if (o.operands[i] && !(instead && drops(*instead, i))) read_on_[o.operands[i]->id] = true;
    });
  }

  bool run() {
    each_operation(p_.main, [&](Operation& o) {
      auto instead = said(o);
      if (!instead || !may(o, *instead)) return;
      become(o, *instead);
      changed_ = true;
    });
    if (!changed_) {
      if (dropped_) p_.changed();
      return dropped_;
    }
    for (StateUse& s : p_.states)
      if (s.last == s.initial) s.last = nullptr;
    infer_types(p_.main);
    uses_ = count_uses(p_);
    drop_unread(p_.main);
    p_.changed();
    return true;
  }

 private:
  std::optional<op::Instead> said(const Operation& o) const {
    if (!o.op->inference || (which_ && !which_(*o.op))) return {};
    op::Instead instead;
    if (!o.op->inference(Producers(o), instead, o.attrs.get())) return {};
    const bool other_operands = instead.op || !instead.operands.empty();
    if (other_operands && o.attr_operands) return {};
    if (!other_operands && op::equal(*o.op->attrs, instead.attrs.get(), o.attrs.get())) return {};
    return instead;
  }

  static bool drops(const op::Instead& instead, size_t operand) {
    const auto& kept = instead.operands;
    return (instead.op || !kept.empty()) &&
           std::find(kept.begin(), kept.end(), static_cast<int32_t>(operand)) == kept.end();
  }

  bool may(const Operation& o, const op::Instead& instead) const {
    for (size_t i = 0; i < o.operands.size(); ++i) {
      const Ref<Value>& v = o.operands[i];
      if (v && v->producer && v->producer->op->training_only && drops(instead, i) &&
          read_on_[v->id])
        return false;
    }
    const size_t made = instead.results ? instead.results : o.outputs();
    for (size_t i = made; i < o.outputs(); ++i)
      if (uses_[o.results[i]->id]) return false;
    return true;
  }

  void become(Operation& o, op::Instead& instead) {
    const size_t outputs = o.outputs();
    const std::vector<size_t> updated = o.updated_inputs();
    const std::vector<Ref<Value>> before = o.operands, results = o.results;
    if (instead.op || !instead.operands.empty()) {
      o.operands.clear();
      for (int32_t k : instead.operands) {
        ARGOSY_INVARIANT(k >= 0 || k == op::Instead::kNone);
        o.operands.push_back(k < 0 ? Ref<Value>() : before[static_cast<size_t>(k)]);
      }
      if (instead.op) o.ends.clear();
    }
    if (instead.op) {
      o.op = instead.op;
      o.results.resize(instead.results);
      while (o.results.size() < o.op->outputs.size()) add_unread_result(o);
    }
    if (instead.attrs.type()) o.attrs = std::move(instead.attrs);
    // What it would have updated now stays as it was.
    if (!updated.empty() && !updates(o)) {
      for (size_t i = 0; i < updated.size(); ++i)
        replace_uses(p_, results[outputs + i], before[updated[i]]);
      if (!instead.op) o.results.resize(outputs);
    }
    for (size_t i = instead.op ? instead.results : o.results.size(); i < results.size(); ++i) {
      results[i]->block = nullptr;
      results[i]->producer = nullptr;
    }
  }

  // Its type is inferred at the end.
  void add_unread_result(Operation& o) {
    const Ref<Value> v = p_.make_value(o.results[0]->shape, o.results[0]->dtype);
    v->block = o.parent;
    v->producer = &o;
    o.results.push_back(v);
  }

  static bool updates(const Operation& o) {
    if (o.op->updates.empty() || !o.op->updates_if) return !o.op->updates.empty();
    std::vector<Tensor> in;
    for (const Ref<Value>& v : o.inputs()) in.push_back(handle(v));
    return o.op->updates_if(op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()),
                            o.attrs.get());
  }

  void drop_unread(Block& block) {
    std::erase_if(block.operations, [&](const std::unique_ptr<Operation>& o) {
      for (const auto& b : o->blocks) drop_unread(*b);
      if (!o->op->training_only) return false;
      for (const Ref<Value>& v : o->results)
        if (uses_[v->id]) return false;
      for (const Ref<Value>& v : o->results) {
        v->block = nullptr;
        v->producer = nullptr;
      }
      return true;
    });
  }

  Program& p_;
  bool (*which_)(const op::OpDef&);
  // Blocks may have kept masks and statistics for a gradient that is not there any more.
  const bool dropped_;
  std::vector<uint32_t> uses_;
  std::vector<bool> read_on_;  // by id: somebody reads it when not training, too
  bool changed_ = false;
};

}  // namespace

bool become_inference(Program& p, bool (*which)(const op::OpDef&)) {
  return Converter(p, which).run();
}

}  // namespace argosy::program
