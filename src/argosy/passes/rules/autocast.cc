#include "argosy/op/autocast.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "argosy/passes/rewrite.h"

// What auto_cast does while ops are called, done to a Program that is there already.
namespace argosy::passes {
namespace {

void put_on_list(op::Autocast& state, std::string_view names, op::Amp how) {
  while (!names.empty()) {
    const size_t end = std::min(names.find(','), names.size());
    state.custom[&op::get(names.substr(0, end))] = how;
    names.remove_prefix(std::min(end + 1, names.size()));
  }
}

op::Autocast state_of(const PassContext& c) {
  op::Autocast state;
  const std::string_view level = c.option("autocast.level", "O1");
  const std::string_view dtype = c.option("autocast.dtype", "bfloat16");
  ARGOSY_CHECK(level == "OD" || level == "O1" || level == "O2", invalid_argument)
      << "[autocast] autocast.level: expected OD, O1 or O2, got " << std::string(level)
      << ". Do this: use one of them.";
  ARGOSY_CHECK(dtype == "bfloat16" || dtype == "float16", invalid_argument)
      << "[autocast] autocast.dtype: expected bfloat16 or float16, got " << std::string(dtype)
      << ". Do this: use one of them.";
  state.level = level == "OD"   ? op::Autocast::Level::od
                : level == "O1" ? op::Autocast::Level::o1
                                : op::Autocast::Level::o2;
  state.dtype = dtype == "bfloat16" ? DType::bfloat16 : DType::float16;
  state.promote = c.number("autocast.promote", 1) != 0;
  put_on_list(state, c.option("autocast.lower"), op::Amp::lower);
  put_on_list(state, c.option("autocast.full"), op::Amp::full);
  return state;
}

class Caster {
 public:
  Caster(Program& p, const op::Autocast& state) : r_(p), state_(state) {
    for (const program::StateUse& s : p.states)
      if (s.last) keep(s.last);
    program::each_operation(p.main, [&](const Operation& o) {
      for (const auto& block : o.blocks)
        for (const Ref<Value>& v : block->yields) keep(v);
    });
  }

  bool run() {
    r_.walk([&](Operation& o) {
      if (o.role != program::Role::forward) return;
      Tensors described;
      for (const Ref<Value>& v : o.inputs()) described.push_back(program::handle(v));
      const op::Inputs in(described, o.ends.empty() ? nullptr : o.ends.data());
      InlineVector<DType, 8> wanted;
      if (must_stay(o) || !op::autocast_dtypes(state_, *o.op, in, wanted)) {
        wanted.resize(0);
        const bool as_was = must_stay(o);
        for (const Ref<Value>& v : o.inputs())
          wanted.push_back(!v ? DType::float32 : as_was ? original(v) : v->dtype);
      }
      bool changed = false;
      for (size_t i = 0; i < o.inputs().size(); ++i) {
        const Ref<Value> v = o.operands[i];
        if (!v || v->dtype == wanted[i]) continue;
        r_.set_operand(o, i, cast(v, wanted[i]));
        changed = true;
      }
      if (changed || grew(o)) settle(o);
    });
    return r_.changed();
  }

 private:
  void keep(const Ref<Value>& v) { kept_.insert(v->id); }
  bool must_stay(const Operation& o) const {
    bool stays = o.op->structural || op::precision_of(state_, *o.op) == op::Amp::never;
    for (const Ref<Value>& v : o.results) stays |= kept_.contains(v->id);
    return stays && !is(o, "cast");
  }
  DType original(const Ref<Value>& v) const {
    auto it = original_.find(v->id);
    return it == original_.end() ? v->dtype : it->second;
  }
  bool grew(const Operation& o) const {
    for (const Ref<Value>& v : o.inputs())
      if (v && original_.contains(v->id)) return true;
    return false;
  }
  // Results follow the operands; what they were is remembered.
  void settle(Operation& o) {
    std::vector<DType> before;
    for (const Ref<Value>& v : o.results) before.push_back(v->dtype);
    program::infer_operation(o);
    for (size_t i = 0; i < before.size(); ++i)
      if (o.results[i]->dtype != before[i]) original_.emplace(o.results[i]->id, before[i]);
    r_.note_change();
  }
  Ref<Value> cast(const Ref<Value>& v, DType to) {
    op::AttrBox attrs = default_attrs(op::get("cast"));
    set_attr<DType>(attrs, "dtype", to);
    return r_.insert("cast", {v}, std::move(attrs)).results[0];
  }

  Rewriter r_;
  const op::Autocast& state_;
  std::unordered_set<uint32_t> kept_;             // values whose dtype others rely on
  std::unordered_map<uint32_t, DType> original_;  // of values that have another now
};

bool run(Program& p, const PassContext& c) {
  const op::Autocast state = state_of(c);
  return Caster(p, state).run();
}

ARGOSY_PASS(autocast, Rounding::meaning,
            "Casts operands as auto_cast does: products and the like in 16 bits, losses and "
            "exponentials in float32. Before gradients are appended; state, and what blocks give "
            "back, keeps its dtype. Options: autocast.level (O1), autocast.dtype (bfloat16), "
            "autocast.promote (1), autocast.lower, autocast.full: names of ops by commas.",
            run)

}  // namespace
}  // namespace argosy::passes
