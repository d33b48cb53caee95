#include "argosy/program/program.h"

#include <algorithm>

#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"
#include "argosy/program/builder.h"

namespace argosy::program {

std::string (*user_location)() = nullptr;

Block::~Block() {
  // Handles may keep values alive; they must not point here.
  auto leave = [](const Ref<Value>& v) {
    v->block = nullptr;
    v->producer = nullptr;
  };
  for (const auto& v : arguments) leave(v);
  for (const auto& o : operations)
    for (const auto& v : o->results) leave(v);
}

bool Operation::is_if() const {
  return op->structural && op->name == op::names::kIf;
}
bool Operation::is_while() const {
  return op->structural && op->name == op::names::kWhile;
}

size_t Operation::outputs() const {
  return results.size() - updated_inputs().size();
}

std::vector<size_t> Operation::updated_inputs() const {
  std::vector<size_t> places;
  if (op->updates.empty()) return places;
  // As many extra results as there are, or none where updates_if said no.
  for (uint32_t i : op->updates) {
    const size_t begin = ends.empty() ? i : (i ? ends[i - 1] : 0);
    const size_t end = ends.empty() ? i + 1 : ends[i];
    for (size_t k = begin; k < end; ++k) places.push_back(k);
  }
  const bool list = op->outputs.size() == 1 && op->outputs[0].list;
  if (!list && results.size() == op->outputs.size()) places.clear();
  return places;
}

std::unique_ptr<Operation> Operation::copy_without_values() const {
  auto copy = std::make_unique<Operation>();
  copy->op = op;
  copy->attr_operands = attr_operands;
  copy->ends = ends;
  copy->attrs = op::AttrBox(*attrs.type(), attrs.get());
  copy->role = role;
  copy->segment = segment;
  copy->location = location;
  return copy;
}

Program::Program() = default;
Program::~Program() = default;

std::shared_ptr<Program> Program::make() {
  return std::shared_ptr<Program>(new Program());
}

Builder& Program::builder() {
  if (!builder_) builder_ = std::make_unique<Builder>(*this);
  return *builder_;
}

Ref<Value> Program::make_value(const Shape& shape, DType dtype, Layout layout) {
  auto v = make_ref<Value>();
  v->id = next_id_++;
  v->shape = shape;
  v->dtype = dtype;
  v->layout = layout;
  v->program = weak_from_this();
  return v;
}

Ref<Value> Program::find(std::string_view name) const {
  for (size_t i = main.operations.size(); i-- > 0;)
    for (const Ref<Value>& v : main.operations[i]->results)
      if (v->name == name) return v;
  for (size_t i = main.arguments.size(); i-- > 0;)
    if (main.arguments[i]->name == name) return main.arguments[i];
  for (const StateUse& s : states)
    if (s.state->name == name) return s.last ? s.last : s.initial;
  for (const Constant& c : constants)
    if (c.value->name == name) return c.value;
  return {};
}

StateUse* Program::find_state(const State& state) {
  for (StateUse& s : states)
    if (s.state.get() == &state ||
        (!state.tensor.defined() && !s.state->tensor.defined() && s.state->name == state.name))
      return &s;
  return nullptr;
}

StateUse* Program::find_state(std::string_view state_name) {
  for (StateUse& s : states)
    if (s.state->name == state_name) return &s;
  return nullptr;
}

// --- handles ---

Value* value_of(const Tensor& t) {
  auto* s = t.defined() ? static_cast<Symbol*>(t.impl()->symbol.get()) : nullptr;
  return s && s->kind == Symbol::Kind::value ? static_cast<Value*>(s) : nullptr;
}

State* state_of(const Tensor& t) {
  auto* s = t.defined() ? static_cast<Symbol*>(t.impl()->symbol.get()) : nullptr;
  return s && s->kind == Symbol::Kind::state ? static_cast<State*>(s) : nullptr;
}

Tensor handle(const Ref<Value>& v) {
  if (!v) return {};
  Tensor t = Tensor::describe(v->shape, v->dtype);
  t.impl()->layout = v->layout;
  t.impl()->symbol = Ref<RefCounted>::share(v.get());
  t.set_stop_gradient(v->stop || !v->requires_grad);
  return t;
}

Tensor handle(const Ref<State>& s) {
  if (!s) return {};
  if (s->tensor.defined()) return s->tensor;
  Tensor t = Tensor::describe(s->shape, s->dtype);
  t.impl()->symbol = Ref<RefCounted>::share(s.get());
  t.impl()->persistable = s->persistable;
  t.impl()->name = std::make_unique<std::string>(s->name);
  t.set_stop_gradient(!s->trainable);
  return t;
}

// --- copies ---

namespace {

using Copies = std::vector<Ref<Value>>;

Ref<Value> copied(Program& to, const Ref<Value>& v, Copies& copies) {
  if (!v) return {};
  Ref<Value>& c = copies[v->id];
  if (c) return c;
  c = make_ref<Value>();
  c->id = v->id;
  c->shape = v->shape;
  c->dtype = v->dtype;
  c->layout = v->layout;
  c->stop = v->stop;
  c->leaf = v->leaf;
  c->requires_grad = v->requires_grad;
  c->name = v->name;
  c->program = to.weak_from_this();
  return c;
}

void copy_block(Program& to, const Block& from, Block& block, Copies& copies) {
  for (const Ref<Value>& v : from.arguments) {
    block.arguments.push_back(copied(to, v, copies));
    block.arguments.back()->block = &block;
  }
  for (const auto& o : from.operations) {
    auto n = o->copy_without_values();
    n->parent = &block;
    for (const Ref<Value>& v : o->operands) n->operands.push_back(copied(to, v, copies));
    for (const Ref<Value>& v : o->results) {
      n->results.push_back(copied(to, v, copies));
      n->results.back()->block = &block;
      n->results.back()->producer = n.get();
    }
    for (const auto& b : o->blocks) {
      n->blocks.push_back(std::make_unique<Block>());
      n->blocks.back()->owner = n.get();
      copy_block(to, *b, *n->blocks.back(), copies);
    }
    block.operations.push_back(std::move(n));
  }
  for (const Ref<Value>& v : from.yields) block.yields.push_back(copied(to, v, copies));
}

}  // namespace

std::shared_ptr<Program> Program::clone(std::vector<Ref<Value>>* by_id) const {
  auto to = make();
  to->name = name;
  to->metadata = metadata;
  to->next_id_ = next_id_;
  Copies copies(next_id_);
  auto place = [&](const Ref<Value>& v) {
    Ref<Value> c = copied(*to, v, copies);
    if (c) c->block = &to->main;
    return c;
  };
  for (const Constant& c : constants) to->constants.push_back({place(c.value), c.tensor, c.fixed});
  for (const StateUse& s : states) to->states.push_back({s.state, place(s.initial), {}});
  copy_block(*to, main, to->main, copies);
  for (size_t i = 0; i < states.size(); ++i)
    to->states[i].last = copied(*to, states[i].last, copies);
  for (const Output& o : outputs) to->outputs.push_back({o.name, copied(*to, o.value, copies)});
  if (by_id) *by_id = std::move(copies);
  return to;
}

// --- uses ---

std::vector<uint32_t> count_uses(const Program& p) {
  std::vector<uint32_t> uses(p.value_count());
  auto use = [&](const Ref<Value>& v) {
    if (v) ++uses[v->id];
  };
  auto walk = [&](const Block& b, auto&& self) -> void {
    for (const auto& o : b.operations) {
      for (const Ref<Value>& v : o->operands) use(v);
      for (const auto& inner : o->blocks) self(*inner, self);
    }
    for (const Ref<Value>& v : b.yields) use(v);
  };
  walk(p.main, walk);
  for (const StateUse& s : p.states) use(s.last);
  for (const Output& o : p.outputs) use(o.value);
  return uses;
}

void replace_uses(Program& p, const Ref<Value>& from, const Ref<Value>& to) {
  const Ref<Value> old = from;  // may be one of the places that change
  auto change = [&](Ref<Value>& v) {
    if (v == old) v = to;
  };
  // Isolated blocks: all uses are in the block where the value lives.
  Block& block = old->block ? *old->block : p.main;
  for (const auto& o : block.operations)
    for (Ref<Value>& v : o->operands) change(v);
  for (Ref<Value>& v : block.yields) change(v);
  if (&block != &p.main) return;
  for (StateUse& s : p.states) change(s.last);
  for (Output& o : p.outputs) change(o.value);
}

}  // namespace argosy::program
