#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

#include "argosy/ps/split.h"

namespace argosy::ps {
namespace {

using program::Operation;
using program::Program;
using program::StateUse;
using program::Value;

// Rows are uniform by key.
std::optional<double> range_of(const Operation& o) {
  return o.op->initial_range ? o.op->initial_range(o.attrs.get()) : std::nullopt;
}

}  // namespace

void split_startup(Program& p, std::span<const std::string> removed,
                   std::vector<TableConfig>& tables) {
  const std::set<std::string_view> names(removed.begin(), removed.end());
  for (const StateUse& s : p.states) {
    if (!names.count(s.state->name) || !s.last || !s.last->producer) continue;
    const std::optional<double> range = range_of(*s.last->producer);
    for (TableConfig& t : tables)
      if (t.kind == "sparse" && t.name == s.state->name && range)
        t.accessor.embedding.initial_range = static_cast<float>(*range);
  }
  std::erase_if(p.states, [&](const StateUse& s) { return names.count(s.state->name) != 0; });
  // Backwards: what only they needed, also what draws random numbers; and what a state of that name
  // was first given before it was initialized again.
  std::vector<uint32_t> uses = program::count_uses(p);
  auto& operations = p.main.operations;
  std::set<const Value*> unneeded;
  for (size_t i = operations.size(); i-- > 0;) {
    const Operation& o = *operations[i];
    const bool idle = std::all_of(o.results.begin(), o.results.end(), [&](const Ref<Value>& v) {
      return !uses[v->id] && (names.count(v->name) || unneeded.count(v.get()));
    });
    if (!idle || o.results.empty()) continue;
    for (const Ref<Value>& v : o.operands)
      if (v && --uses[v->id] == 0) unneeded.insert(v.get());
    operations.erase(operations.begin() + static_cast<ptrdiff_t>(i));
  }
  p.changed();
}

}  // namespace argosy::ps
