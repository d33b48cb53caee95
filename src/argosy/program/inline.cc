#include <algorithm>
#include <unordered_map>

#include "argosy/program/builder.h"

namespace argosy::program {
namespace {

using Copies = std::unordered_map<const Value*, Ref<Value>>;

// Copies of a block's operations with new values, those in `copies` instead of what they stand for.
// `segments`: of these, how many there were before.
void copy_operations(Program& to, const Block& from, Block& block, Copies& copies,
                     uint32_t segments) {
  auto fresh = [&](const Ref<Value>& v) {
    Ref<Value> c = to.make_value(v->shape, v->dtype, v->layout);
    c->stop = v->stop;
    c->leaf = v->leaf;
    c->requires_grad = v->requires_grad;
    c->name = v->name;
    c->block = &block;
    copies[v.get()] = c;
    return c;
  };
  auto mapped = [&](const Ref<Value>& v) { return v ? copies.at(v.get()) : Ref<Value>(); };
  for (const auto& o : from.operations) {
    auto n = o->copy_without_values();
    n->parent = &block;
    if (n->segment) n->segment += segments;
    for (const Ref<Value>& v : o->operands) n->operands.push_back(mapped(v));
    for (const Ref<Value>& v : o->results) {
      n->results.push_back(fresh(v));
      n->results.back()->producer = n.get();
    }
    for (const auto& b : o->blocks) {
      n->blocks.push_back(std::make_unique<Block>());
      Block& inner = *n->blocks.back();
      inner.owner = n.get();
      // fresh() marks values as of `block`; arguments belong to the inner one.
      for (const Ref<Value>& v : b->arguments) {
        inner.arguments.push_back(fresh(v));
        inner.arguments.back()->block = &inner;
      }
      copy_operations(to, *b, inner, copies, segments);
      for (const Ref<Value>& v : b->yields) inner.yields.push_back(mapped(v));
    }
    block.operations.push_back(std::move(n));
  }
}

}  // namespace

Tensors Builder::inline_program(const Program& other, std::span<const Tensor> feeds) {
  ARGOSY_CHECK(feeds.size() == other.main.arguments.size(), invalid_argument)
      << "The Program has " << other.main.arguments.size() << " inputs, " << feeds.size()
      << " were fed.";
  Copies copies;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Value& v = *other.main.arguments[i];
    Ref<Value> fed = current(feeds[i]);
    bool fits = fed && fed->dtype == v.dtype && fed->shape.rank() == v.shape.rank();
    for (int d = 0; fits && d < v.shape.rank(); ++d)
      fits = v.shape[d] == kUnknown || fed->shape[d] == kUnknown || v.shape[d] == fed->shape[d];
    ARGOSY_CHECK(fits, invalid_argument)
        << "Input " << i << " '" << v.name << "' of the Program: expected " << v.dtype << v.shape
        << ", got " << feeds[i] << '.';
    copies[&v] = fed;
  }
  for (const Constant& c : other.constants) copies[c.value.get()] = localize(constant_of(c.tensor));
  for (const StateUse& s : other.states)
    copies[s.initial.get()] =
        s.state->tensor.defined() ? current(s.state->tensor) : current_state(s.state);
  const size_t before = top().operations.size();
  uint32_t most = 0;
  copy_operations(p_, other.main, top(), copies, segments);
  for (const auto& o : other.main.operations) most = std::max(most, o->segment);
  segments += most;
  for (size_t i = before; i < top().operations.size(); ++i) infer_operation(*top().operations[i]);
  for (const StateUse& s : other.states)
    if (s.last) move_handle(handle(s.state), copies.at(s.last.get()));
  p_.changed();
  Tensors out;
  for (const Output& o : other.outputs) out.push_back(handle(copies.at(o.value.get())));
  return out;
}

}  // namespace argosy::program
