#include "argosy/jit/split.h"

#include <algorithm>

#include "argosy/passes/pass.h"

namespace argosy::jit {

using program::Block;
using program::Operation;
using program::Program;
using program::Role;
using program::Value;

Split split(const Program& whole, size_t inputs, std::span<const Ref<Value>> given_results,
            std::span<const Ref<Value>> given_wanted) {
  // While both parts are one: what the gradient need not have need not be saved.
  std::vector<Ref<Value>> copies, results, wanted;
  const std::shared_ptr<Program> optimized = whole.clone(&copies);
  Program& g = *optimized;
  g.outputs.clear();
  for (const Ref<Value>& v : given_results) g.outputs.push_back({{}, copies[v->id]});
  for (const Ref<Value>& v : given_wanted)
    if (v) g.outputs.push_back({{}, copies[v->id]});
  passes::optimize(g, false);
  size_t next = 0;
  for (size_t i = 0; i < given_results.size(); ++i) results.push_back(g.outputs[next++].value);
  for (const Ref<Value>& v : given_wanted)
    wanted.push_back(v ? g.outputs[next++].value : Ref<Value>());

  Split s;
  std::vector<Ref<Value>> in_forward, in_backward;
  s.forward = g.clone(&in_forward);
  s.backward = g.clone(&in_backward);
  auto erase_role = [](Program& p, bool backward) {
    std::erase_if(p.main.operations, [&](const std::unique_ptr<Operation>& o) {
      return (o->role == Role::backward) == backward;
    });
  };
  // What the gradient uses of the forward part.
  std::vector<bool> made(g.value_count()), used(g.value_count());
  for (const auto& o : g.main.operations) {
    if (o->role == Role::backward) {
      for (const Ref<Value>& v : o->operands)
        if (v) used[v->id] = true;
    } else {
      for (const Ref<Value>& v : o->results) made[v->id] = true;
    }
  }
  for (const Ref<Value>& v : wanted)
    if (v) used[v->id] = true;

  // The backward part first: its forward operations go, what they made is fed.
  Program& b = *s.backward;
  std::vector<Ref<Value>> arguments;
  std::vector<uint32_t> saved;
  for (size_t i = 0; i < inputs; ++i) {
    if (!used[g.main.arguments[i]->id]) continue;
    s.taken.push_back(static_cast<uint32_t>(i));
    arguments.push_back(b.main.arguments[i]);
  }
  for (const auto& o : g.main.operations) {
    if (o->role == Role::backward) continue;
    for (const Ref<Value>& v : o->results)
      if (used[v->id]) saved.push_back(v->id);
  }
  // State that the forward part writes is another one when the backward part runs.
  for (const program::StateUse& use : g.states)
    if (use.last && use.last != use.initial && used[use.initial->id])
      saved.push_back(use.initial->id);
  for (uint32_t id : saved) arguments.push_back(in_backward[id]);
  for (size_t i = inputs; i < b.main.arguments.size(); ++i)
    arguments.push_back(b.main.arguments[i]);
  erase_role(b, false);
  for (const Ref<Value>& v : arguments) {
    v->block = &b.main;
    v->producer = nullptr;
  }
  b.main.arguments = arguments;
  std::erase_if(b.states, [&](const program::StateUse& use) {
    return !used[use.initial->id] || (use.last && use.last != use.initial);
  });
  for (program::StateUse& use : b.states) use.last = nullptr;
  b.outputs.clear();
  for (const Ref<Value>& v : wanted) {
    s.made.push_back(static_cast<bool>(v));
    if (v)
      b.outputs.push_back({"gradient_" + std::to_string(s.made.size() - 1), in_backward[v->id]});
  }
  b.changed();

  Program& f = *s.forward;
  f.main.arguments.resize(inputs);
  erase_role(f, true);
  f.outputs.clear();
  for (size_t i = 0; i < results.size(); ++i)
    f.outputs.push_back({"output_" + std::to_string(i), in_forward[results[i]->id]});
  for (uint32_t id : saved) f.outputs.push_back({"saved_" + std::to_string(id), in_forward[id]});
  s.saved = saved.size();
  f.changed();
  return s;
}

}  // namespace argosy::jit
