#include "argosy/program/parts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"

namespace argosy::program {
namespace {

Tensor copied(const Tensor& t) {
  static const op::OpDef& assign = op::get(op::names::kAssign);
  return std::move(op::dispatch(assign, op::Inputs({&t, 1}), assign.attrs->defaults)[0]);
}

// A value of the main block as block b sees it: one more operand of all operations around.
Ref<Value> bring(Program& p, Block& b, const Ref<Value>& outer) {
  if (outer->block == &b || !b.owner) return outer;
  Operation& owner = *b.owner;
  Ref<Value> here = bring(p, *owner.parent, outer), mine;
  owner.operands.push_back(here);
  for (const auto& inner : owner.blocks) {
    Ref<Value> argument = p.make_value(here->shape, here->dtype, here->layout);
    argument->block = inner.get();
    inner->arguments.push_back(argument);
    if (inner.get() == &b) mine = argument;
  }
  return mine;
}

}  // namespace

Draft end_parts(Builder& builder, OpenBlock& block, Tensors out, size_t results) {
  // Of the block's own operations only: arguments, and what another result is, are copied.
  std::vector<const Value*> seen;
  std::vector<Tensor> yields;
  for (Tensor& t : out) {
    if (!t.defined()) continue;
    const Value* v = builder.current(t).get();
    if (!v->producer || std::find(seen.begin(), seen.end(), v) != seen.end()) t = copied(t);
    seen.push_back(builder.current(t).get());
    yields.push_back(t);
  }
  Draft draft = block.end(yields);
  std::vector<Ref<Value>> places(results);
  for (size_t i = 0, next = 0; i < out.size() && i < places.size(); ++i)
    if (out[i].defined()) places[i] = draft.block->yields[next++];
  draft.block->yields = std::move(places);
  return draft;
}

std::vector<std::unique_ptr<Operation>> take_parts(Program& p, Block& b, const Operation& o,
                                                   std::span<const Ref<Value>> given,
                                                   Draft& draft) {
  std::map<const Value*, Ref<Value>> actual;
  size_t next = 0;
  for (const Ref<Value>& v : given)
    if (v) actual[draft.block->arguments[next++].get()] = v;
  for (auto& [outer, argument] : draft.captures) actual[argument.get()] = bring(p, b, outer);
  for (size_t i = 0; i < o.results.size(); ++i)
    if (draft.block->yields[i]) actual[draft.block->yields[i].get()] = o.results[i];
  auto replace = [&](Ref<Value>& v) {
    if (auto it = actual.find(v.get()); v && it != actual.end()) v = it->second;
  };
  auto parts = std::exchange(draft.block->operations, {});
  for (auto& part : parts) {
    for (Ref<Value>& v : part->operands) replace(v);
    for (Ref<Value>& v : part->results) {
      replace(v);
      v->block = &b;
      v->producer = part.get();
    }
    part->parent = &b;
    part->location = o.location;
  }
  return parts;
}

}  // namespace argosy::program
