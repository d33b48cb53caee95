#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string_view>

#include "argosy/passes/rewrite.h"
#include "argosy/ps/split.h"

namespace argosy::ps {
namespace {

using passes::attr;
using passes::is;
using program::Operation;
using program::Program;
using program::StateUse;
using program::Value;

// Rows are uniform by key: the range with the spread that the initializer has. Of a constant,
// uniform within it, since equal rows would stay equal.
std::optional<double> range_of(const Operation& o) {
  const auto real = [&](const char* name) {
    const auto* scalar = passes::find_attr<op::Scalar>(o.attrs, name);
    return scalar ? scalar->real() : attr<double>(o, name);
  };
  if (is(o, "full")) return std::abs(attr<op::Scalar>(o, "fill_value").real());
  if (is(o, "uniform")) return std::max(std::abs(real("min")), std::abs(real("max")));
  if (is(o, "gaussian") || is(o, "truncated_gaussian_random")) return real("std") * std::sqrt(3.0);
  return {};
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
