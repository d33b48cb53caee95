#include "argosy/program/cost.h"

#include <algorithm>
#include <map>
#include <set>

#include "argosy/op/cost.h"

namespace argosy::program {
namespace {

Shape known(Shape s, int64_t unknown) {
  for (int d = 0; d < s.rank(); ++d)
    if (s[d] < 0) s[d] = unknown;
  return s;
}

double elements(const Value& v, int64_t unknown) {
  double n = 1;
  for (int64_t size : known(v.shape, unknown)) n *= static_cast<double>(size);
  return n;
}

}  // namespace

op::Cost cost_of(const Operation& o, int64_t unknown) {
  std::vector<Tensor> in;
  for (const Ref<Value>& v : o.inputs()) {
    in.push_back(v ? Tensor::describe(known(v->shape, unknown), v->dtype) : Tensor());
    if (v) in.back().impl()->layout = v->layout;
  }
  op::InferContext c{*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), {}};
  for (const Ref<Value>& v : o.results)
    c.out.push_back({known(v->shape, unknown), v->dtype, v->layout});
  return op::cost_of(c, o.attrs.get());
}

std::vector<OpCost> cost(const Program& p, int64_t unknown) {
  // State by the value that stands for it, followed into blocks.
  std::map<const Value*, const State*> state_of;
  for (const StateUse& s : p.states)
    if (s.state->trainable) state_of[s.initial.get()] = s.state.get();
  std::map<std::string, OpCost> by_op;
  std::set<const State*> counted;
  each_operation(p.main, [&](const Operation& o) {
    const size_t first = o.is_if();
    for (const auto& b : o.blocks)
      for (size_t i = 0; i < b->arguments.size() && first + i < o.operands.size(); ++i)
        if (auto it = state_of.find(o.operands[first + i].get()); it != state_of.end())
          state_of[b->arguments[i].get()] = it->second;
    if (o.op->structural) return;
    OpCost& c = by_op[o.op->name];
    c.op = o.op->name;
    ++c.count;
    for (const Ref<Value>& v : o.inputs()) {
      if (!v) continue;
      auto it = state_of.find(v.get());
      if (it != state_of.end() && counted.insert(it->second).second)
        c.parameters += static_cast<int64_t>(elements(*v, unknown));
    }
    const op::Cost cost = cost_of(o, unknown);
    c.bytes += cost.bytes_read + cost.bytes_written;
    c.estimated |= !o.op->cost;
    c.arithmetic += cost.operations;
  });
  std::vector<OpCost> list;
  for (auto& [name, c] : by_op) list.push_back(std::move(c));
  std::stable_sort(list.begin(), list.end(),
                   [](const OpCost& a, const OpCost& b) { return a.arithmetic > b.arithmetic; });
  return list;
}

}  // namespace argosy::program
