#include <unordered_set>

#include "argosy/passes/pass.h"
#include "argosy/passes/rewrite.h"
#include "argosy/ps/op_names.h"

// The pass `parameter_server_ahead`.
namespace argosy::ps {
namespace {

using program::Operation;
using program::Value;

// What makes v, of operations that may run at another time; false if that is not all.
bool gather(const Ref<Value>& v, std::unordered_set<const Operation*>& needed) {
  Operation* o = v ? v->producer : nullptr;
  if (!o || needed.count(o)) return true;
  if (!passes::is_pure(*o->op)) return false;
  for (const Ref<Value>& x : o->operands)
    if (!gather(x, needed)) return false;
  needed.insert(o);
  return true;
}

bool reads_state(const program::Program& p, const std::unordered_set<const Operation*>& needed,
                 const Operation& pull) {
  for (const program::StateUse& s : p.states)
    for (const auto& o : p.main.operations)
      if (needed.count(o.get()) || o.get() == &pull)
        for (const Ref<Value>& x : o->operands)
          if (x == s.initial) return true;
  return false;
}

bool run(program::Program& p, const passes::PassContext&) {
  Operation* pull = nullptr;
  for (const auto& o : p.main.operations)
    if (passes::is(*o, made::kPullRows) && passes::attr<bool>(*o, "training")) {
      pull = o.get();
      break;
    }
  std::unordered_set<const Operation*> needed;
  if (!pull) return false;
  for (const Ref<Value>& ids : pull->operands)
    if (!gather(ids, needed)) return false;
  if (reads_state(p, needed, *pull)) return false;
  op::AttrBox attrs = passes::default_attrs(op::get(made::kPrefetchRows));
  for (const char* name : {"tables", "widths", "counts", "paddings"})
    passes::set_attr(attrs, name, passes::attr<std::vector<int64_t>>(*pull, name));
  pull->op = &op::get(made::kPrefetchRows);
  pull->attrs = std::move(attrs);
  pull->results.clear();
  needed.insert(pull);
  p.outputs.clear();
  p.states.clear();
  std::erase_if(p.main.operations, [&](const auto& o) { return !needed.count(o.get()); });
  p.changed();
  return true;
}

ARGOSY_PASS(parameter_server_ahead, passes::Rounding::meaning,
            "Of a trainer's Program what tells the tables which rows a step on the same inputs "
            "will pull, to be run a step before. Nothing changes where that cannot be known.",
            run)

}  // namespace
}  // namespace argosy::ps
