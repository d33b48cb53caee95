#include "argosy/runtime/places.h"

#include <algorithm>

#include "argosy/program/state.h"

namespace argosy::runtime {

using program::Block;
using program::Operation;
using program::Value;

namespace {

// Calls fn(input, value) for what the operation is given, until that is true.
template <class F>
bool any_input(const Operation& o, F&& fn) {
  for (size_t i = 0, k = 0; i < o.op->inputs.size() && k < o.inputs().size(); ++i) {
    const size_t end = o.ends.empty() ? k + 1 : o.ends[i];
    for (; k < end; ++k)
      if (const Ref<Value>& v = o.operands[k]; v && fn(o.op->inputs[i], *v)) return true;
  }
  return false;
}

}  // namespace

bool moves(const Operation& o) {
  return static_cast<bool>(o.op->result_place);
}

Places::Places(program::Program& p, Place place, program::Scope* scope) : p_(p), place_(place) {
  bool several = false;
  program::each_operation(p.main, [&](const Operation& o) { several |= moves(o); });
  if (!several || place.kind == DeviceKind::null) return;
  elsewhere_.assign(p.value_count(), place);
  for (const program::StateUse& s : p.states) {
    const Tensor t = program::peek_state(*s.state, scope);
    if (t.defined()) elsewhere_[s.initial->id] = t.place();
  }
  for (size_t i = 0; i < p.constants.size(); ++i) constants_.emplace(p.constants[i].value->id, i);
  visit(p.main);
}

std::vector<Place> Places::all() const {
  std::vector<Place> all{place_};
  for (const Place place : elsewhere_)
    if (!std::ranges::count(all, place)) all.push_back(place);
  return all;
}

std::optional<Place> Places::runs_on(const Operation& o) const {
  if (!several()) return place_;
  if (moves(o)) return of(*o.operands[0]);
  const Place place = find_place(o);
  const auto away = [&](const Ref<Value>& v) { return v && of(*v) != place; };
  const auto out_of_reach = [&](const op::InputDef& input, const Value& v) {
    const bool brought = input.host && place.kind != DeviceKind::cpu;
    return of(v) != place && !brought;
  };
  if (std::ranges::any_of(o.results, away) || any_input(o, out_of_reach)) return {};
  return place;
}

void Places::need_here(const Operation& o, const Ref<Value>& v) const {
  ARGOSY_CHECK(!v || of(*v) == place_, not_implemented)
      << '[' << o.op->name << "] a value on " << of(*v)
      << " goes into or out of a block of a Program that runs on " << place_
      << ". Do this: bring it back with .to(..) before.";
}

Ref<Value> Places::constant_at(const Value& v, Place place) {
  const program::Constant of = p_.constants[constants_.at(v.id)];
  for (const program::Constant& c : p_.constants)
    if (c.tensor.is(of.tensor) && elsewhere_[c.value->id] == place) return c.value;
  Ref<Value> made = p_.make_value(v.shape, v.dtype, v.layout);
  constants_.emplace(made->id, p_.constants.size());
  p_.constants.push_back({made, of.tensor, of.fixed});
  elsewhere_.push_back(place);
  return made;
}

// As dispatch finds it.
Place Places::find_place(const Operation& o) const {
  if (moves(o)) return o.op->result_place(o.attrs.get());
  Place place = place_;
  any_input(o, [&](const op::InputDef& input, const Value& v) {
    const bool speaks = !input.host && !is_constant(v) && of(v) != place_;
    if (speaks) place = of(v);
    return speaks;
  });
  return place;
}

void Places::visit(Block& b) {
  for (const auto& o : b.operations) visit(*o);
  if (b.owner)
    for (const Ref<Value>& v : b.yields) need_here(*b.owner, v);
}

void Places::visit(Operation& o) {
  if (o.op->structural) {
    for (const Ref<Value>& v : o.operands) need_here(o, v);
    for (const auto& inner : o.blocks) visit(*inner);
    return;
  }
  const Place place = find_place(o);
  for (const Ref<Value>& v : o.results) elsewhere_[v->id] = place;
  if (moves(o)) return;
  for (Ref<Value>& v : o.operands)
    if (v && is_constant(*v) && of(*v) != place) v = constant_at(*v, place);
}

}  // namespace argosy::runtime
