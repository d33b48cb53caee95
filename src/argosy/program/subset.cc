#include "argosy/program/subset.h"

#include <algorithm>

#include "argosy/program/inference.h"

namespace argosy::program {

std::shared_ptr<Program> clone_for_test(const Program& p) {
  auto to = p.clone();
  std::vector<bool> gone(to->value_count());
  auto& operations = to->main.operations;
  // Written state reads as before the write; whatever else came of backward is gone.
  for (const auto& o : operations) {
    bool drop = o->role != Role::forward;
    for (const Ref<Value>& v : o->operands) drop |= v && gone[v->id];
    if (!drop) continue;
    if (!o->op->writes.empty() && o->role == Role::optimize) {
      std::vector<Tensor> places(o->inputs().size());
      const op::Inputs in(places, o->ends.empty() ? nullptr : o->ends.data());
      size_t at = 0;
      for (uint32_t i : o->op->writes)
        for (size_t k = 0; k < in.list(i).size() && at < o->results.size(); ++k) {
          const Ref<Value> before = o->operands[in.place_of(i) + k];
          if (before && !gone[before->id]) replace_uses(*to, o->results[at], before);
          ++at;
        }
    }
    for (const Ref<Value>& v : o->results) gone[v->id] = true;
  }
  operations.erase(std::remove_if(operations.begin(), operations.end(),
                                  [&](const auto& o) {
                                    return o->results.empty() ? o->role != Role::forward
                                                              : gone[o->results[0]->id];
                                  }),
                   operations.end());
  for (StateUse& s : to->states)
    if (s.last && (s.last == s.initial || gone[s.last->id])) s.last = nullptr;
  std::erase_if(to->outputs, [&](const Output& o) { return gone[o.value->id]; });
  become_inference(*to);
  infer_types(to->main);
  const std::vector<uint32_t> left = count_uses(*to);
  std::erase_if(to->states, [&](const StateUse& s) { return !left[s.initial->id] && !s.last; });
  to->changed();
  return to;
}

namespace {

bool does_io(const Operation& o) {
  bool found = o.op->effect == op::Effect::io;
  for (const auto& b : o.blocks)
    for (const auto& inner : b->operations) found = found || does_io(*inner);
  return found;
}

// Operations that print, call Python or check, where nothing unfed is needed for it.
std::vector<bool> fed_io(const Program& p, std::span<const Ref<Value>> arguments) {
  std::vector<bool> unfed(p.value_count());
  for (const Ref<Value>& v : p.main.arguments)
    unfed[v->id] = std::find(arguments.begin(), arguments.end(), v) == arguments.end();
  std::vector<bool> keep;
  for (const auto& o : p.main.operations) {
    bool fed = true;
    for (const Ref<Value>& v : o->operands) fed = fed && !(v && unfed[v->id]);
    for (const Ref<Value>& v : o->results) unfed[v->id] = !fed;
    keep.push_back(fed && does_io(*o));
  }
  return keep;
}

}  // namespace

std::shared_ptr<Program> extract(const Program& p, std::span<const Ref<Value>> feeds,
                                 std::span<const Ref<Value>> targets, bool writes,
                                 std::vector<size_t>* missing) {
  std::vector<Ref<Value>> by_id;
  auto to = p.clone(&by_id);
  if (!writes)
    for (StateUse& s : to->states) s.last = nullptr;
  // A fed value that operations made is cut off from them.
  std::vector<Ref<Value>> arguments, wanted;
  for (const Ref<Value>& t : targets) wanted.push_back(by_id[t->id]);
  for (const Ref<Value>& f : feeds) {
    Ref<Value> v = by_id[f->id];
    ARGOSY_CHECK(v && v->block == &to->main, invalid_argument)
        << "'" << f->name << "' is no value of this Program that can be fed.";
    if (v->producer) {
      Ref<Value> fed = to->make_value(v->shape, v->dtype, v->layout);
      fed->block = &to->main;
      fed->name = v->name;
      v->name += ".unfed";
      replace_uses(*to, v, fed);
      for (Ref<Value>& w : wanted)
        if (w == v) w = fed;
      v = fed;
    }
    arguments.push_back(v);
  }
  std::vector<bool> needed(to->value_count());
  for (const Ref<Value>& v : wanted) needed[v->id] = true;
  for (const StateUse& s : to->states)
    if (s.last) needed[s.last->id] = true;
  auto& operations = to->main.operations;
  std::vector<bool> keep(operations.size());
  if (writes) keep = fed_io(*to, arguments);
  for (size_t i = operations.size(); i-- > 0;) {
    for (const Ref<Value>& v : operations[i]->results) keep[i] = keep[i] || needed[v->id];
    if (keep[i])
      for (const Ref<Value>& v : operations[i]->operands)
        if (v) needed[v->id] = true;
  }
  size_t at = 0;
  std::erase_if(operations, [&](const auto&) { return !keep[at++]; });
  for (size_t i = 0; missing && i < to->main.arguments.size(); ++i) {
    const Ref<Value>& v = to->main.arguments[i];
    if (needed[v->id] && std::find(arguments.begin(), arguments.end(), v) == arguments.end())
      missing->push_back(i);
  }
  to->main.arguments = std::move(arguments);
  std::erase_if(to->states, [&](const StateUse& s) { return !needed[s.initial->id] && !s.last; });
  std::erase_if(to->constants, [&](const Constant& c) { return !needed[c.value->id]; });
  to->outputs.clear();
  for (const Ref<Value>& v : wanted) to->outputs.push_back({v->name, v});
  to->changed();
  return to;
}

std::shared_ptr<Program> with_ranks(const Program& p, std::span<const int> ranks) {
  auto to = p.clone();
  const auto& inputs = to->main.arguments;
  ARGOSY_CHECK(ranks.size() == inputs.size(), internal)
      << inputs.size() << " inputs, and ranks of " << ranks.size();
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Shape& whole = inputs[i]->shape;
    ARGOSY_CHECK(ranks[i] >= 0 && ranks[i] <= whole.rank(), internal)
        << "rank " << ranks[i] << " of " << whole;
    Shape cut;
    for (int d = 0; d < ranks[i]; ++d) cut.push_back(whole[d]);
    inputs[i]->shape = cut;
  }
  infer_types(to->main);
  for (const StateUse& s : to->states) {
    if (!s.last) continue;
    const Shape &has = s.initial->shape, &gets = s.last->shape;
    bool same = has.rank() == gets.rank();
    for (int d = 0; same && d < has.rank(); ++d)
      same = has[d] == gets[d] || has[d] == kUnknown || gets[d] == kUnknown;
    ARGOSY_CHECK(same, invalid_argument)
        << "state '" << s.state->name << "' is " << has << ", and would become " << gets;
  }
  to->changed();
  return to;
}

}  // namespace argosy::program
