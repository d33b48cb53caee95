#include "argosy/program/builder.h"

#include <algorithm>

#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"
#include "argosy/op/recorded_write.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/attributes.h"
#include "argosy/program/writes.h"

namespace argosy::program {

namespace {

// Whether a branch or a loop may ask this value; sizes that are not known may be one.
bool is_condition(const Value& v) {
  return v.dtype == DType::bool_ && (v.shape.numel() == 1 || !v.shape.known());
}

[[noreturn]] void fail_gone(const Value& v) {
  ARGOSY_THROW(invalid_argument)
      << "A value " << v.dtype << v.shape << (v.name.empty() ? "" : " '") << v.name
      << (v.name.empty() ? "" : "'")
      << " made inside a branch or a loop body is used outside of it. Do this: return it from the "
         "branch or body.";
}

}  // namespace

// --- values ---

Builder::Builder(Program& program) : p_(program) {
  for (size_t i = 0; i < p_.constants.size(); ++i) constants_[p_.constants[i].tensor.impl()] = i;
  for (const StateUse& s : p_.states)
    if (s.state->tensor.defined()) bound_[s.state->tensor.impl()] = s.state;
}

Tensor Builder::input(const std::string& name, const Shape& shape, DType dtype) {
  ARGOSY_CHECK(open_.empty(), invalid_argument)
      << "[data] inputs of a Program cannot be made inside a branch or a loop body.";
  Ref<Value> v = p_.make_value(shape, dtype);
  v->name = name;
  v->block = &p_.main;
  p_.main.arguments.push_back(v);
  p_.changed();
  return handle(v);
}

StateUse& Builder::use_of(const Ref<State>& state) {
  if (StateUse* use = p_.find_state(*state)) return *use;
  Ref<Value> v = p_.make_value(state->shape, state->dtype);
  v->name = state->name;
  v->block = &p_.main;
  v->requires_grad = state->trainable;
  p_.states.push_back({state, v, {}});
  p_.changed();
  return p_.states.back();
}

StateUse& Builder::state_of(const Tensor& t) {
  if (State* s = program::state_of(t)) return use_of(Ref<State>::share(s));
  Ref<State>& state = bound_[t.impl()];
  if (!state) {
    state = make_ref<State>();
    if (!t.impl()->name)
      t.impl()->name = std::make_unique<std::string>("state_" + std::to_string(p_.states.size()) +
                                                     (t.impl()->persistable ? "" : "_plain"));
    state->name = *t.impl()->name;
    state->shape = t.shape();
    state->dtype = t.dtype();
    state->trainable = t.requires_grad();
    state->persistable = t.impl()->persistable || t.requires_grad();
    state->tensor = t;
  }
  return use_of(state);
}

Ref<Value> Builder::constant_of(const Tensor& t) {
  auto [it, fresh] = constants_.try_emplace(t.impl(), p_.constants.size());
  if (fresh) {
    Ref<Value> v = p_.make_value(t.shape(), t.dtype(), t.layout());
    v->block = &p_.main;
    p_.constants.push_back({v, t, t.impl()->python == nullptr});
  }
  return p_.constants[it->second].value;
}

bool Builder::is_data(const Tensor& t) const {
  if (t.symbolic() || t.impl()->persistable || t.requires_grad() || bound_.count(t.impl()))
    return false;
  auto constant = constants_.find(t.impl());
  return data_.count(t.impl()) ||
         (constant != constants_.end() && p_.constants[constant->second].fixed);
}

namespace {

[[noreturn]] void fail_numbers(const Tensor& t) {
  ARGOSY_THROW(not_implemented)
      << "The numbers of " << t << (t.impl()->name ? " '" + *t.impl()->name + "'" : "")
      << " are asked for in a captured function that writes to it before, or in a loop: they are "
         "known only when the Program runs. Do this: read them before the write, or compute with "
         "the tensor itself.";
}

}  // namespace

bool Builder::has_written(const Tensor& t) {
  Ref<Value> first;
  if (auto state = bound_.find(t.impl()); state != bound_.end())
    first = use_of(state->second).initial;
  else if (auto constant = constants_.find(t.impl()); constant != constants_.end())
    first = p_.constants[constant->second].value;
  else if (Value* v = value_of(t))
    first = Ref<Value>::share(v);
  return first && entry(first, true);
}

void Builder::note_numbers(const Tensor& t) {
  if (!open_.empty()) read_in_blocks_.insert(t.impl());
  if (has_written(t)) fail_numbers(t);
  if (data_.count(t.impl())) return;
  for (const Tensor& known : numbers_read_)
    if (known.is(t)) return;
  numbers_read_.push_back(t);
}

// It is about to be written: in the next round of a loop it has other numbers than were read.
void Builder::check_not_read(const Tensor& t) const {
  if (!open_.empty() && read_in_blocks_.count(t.impl())) fail_numbers(t);
}

Tensor Builder::pick(const Tensor& x, const Tensor& index, int64_t axis) {
  Tensor part = ops::take_slices(x, index, axis);
  if (const Value* v = value_of(part)) sharing_.insert(v->producer);
  return part;
}

// `data` is a handle on the constant's value from now on, whose elements another handle keeps.
void Builder::become_value(const Tensor& data) {
  check_not_read(data);
  Ref<Value> value = constant_of(data);
  auto constant = constants_.find(data.impl());
  const size_t at = constant->second;
  constants_.erase(constant);
  p_.constants[at].tensor = data.detach();
  constants_[p_.constants[at].tensor.impl()] = at;
  note_data(p_.constants[at].tensor);
  point_at(data, value);
}

Ref<Value> Builder::current_state(const Ref<State>& state) {
  StateUse& use = use_of(state);
  if (const Contents::Entry* e = entry(use.initial, false)) return localize(e->value);
  return localize(use.last ? use.last : use.initial);
}

Tensor Builder::known(const Tensor& t) {
  Value* v = value_of(t);
  if (!v || v->program.lock().get() != &p_) return {};
  return known_value(settle(Ref<Value>::share(v)), 16);
}

Tensor Builder::known_value(const Ref<Value>& v, int depth) {
  constexpr int64_t kFew = 64;
  if (depth == 0 || v->layout != Layout::strided || !v->shape.known() || v->shape.numel() > kFew)
    return {};
  const Operation* o = v->producer;
  if (!o) {
    if (!open_.empty()) return {};
    for (const Constant& c : p_.constants)
      if (c.fixed && c.value.get() == v.get()) return c.tensor;
    return {};
  }
  if (v->block != &top() || o->op->structural || o->op->effect != op::Effect::pure ||
      o->op->uninitialized || o->attr_operands)
    return {};
  std::vector<Tensor> in;
  for (const Ref<Value>& x : o->operands) {
    in.push_back(x ? known_value(x, depth - 1) : Tensor());
    if (x && !in.back().defined()) return {};
  }
  size_t i = 0;
  while (o->results[i].get() != v.get()) ++i;
  return computed(*o, in, i);
}

Ref<Value> Builder::current(const Tensor& t) {
  if (!t.defined()) return {};
  if (Value* v = value_of(t)) {
    auto owner = v->program.lock();
    if (owner.get() == &p_) return localize(settle(Ref<Value>::share(v)));
    // A parameter or buffer of another Program is the same state here.
    if (owner)
      for (const StateUse& s : owner->states)
        if (s.initial.get() == v || s.last.get() == v) return current_state(s.state);
    ARGOSY_THROW(invalid_argument)
        << "A value " << v->dtype << v->shape << " of one Program is used in another"
        << (owner ? "" : ", which no longer exists")
        << ". Do this: feed it as an input, or make it under the same program_guard.";
  }
  if (State* s = program::state_of(t)) return current_state(Ref<State>::share(s));
  auto constant = constants_.find(t.impl());
  if (constant != constants_.end()) return localize(settle(p_.constants[constant->second].value));
  // Tensors of eager mode: what may change between runs is state.
  if (t.impl()->persistable || t.requires_grad() || bound_.count(t.impl())) {
    state_of(t);
    return current_state(bound_[t.impl()]);
  }
  return localize(constant_of(t));
}

Ref<Value> Builder::localize(const Ref<Value>& v) {
  if (v->block == &top()) return v;
  size_t level = open_.size() + 1;
  for (size_t i = 0; i <= open_.size() && level > open_.size(); ++i)
    if (v->block == &block_at(i)) level = i;
  if (level > open_.size()) {
    // The forward value that a gradient needs: a placeholder that will be read from what was saved.
    for (size_t i = open_.size(); i-- > 0;) {
      Open& o = open_[i];
      if (!o.foreign || v->block != o.foreign) continue;
      if (auto it = o.known.find(v.get()); it != o.known.end()) return localize(it->second);
      for (auto& [from, here] : o.saved)
        if (from == v) return localize(here);
      Ref<Value> here = p_.make_value(v->shape, v->dtype, v->layout);
      here->block = o.block.get();
      o.saved.emplace_back(v, here);
      return localize(here);
    }
    fail_gone(*v);
  }
  Ref<Value> inner = v;
  for (size_t i = level; i < open_.size(); ++i) {
    Open& o = open_[i];
    Ref<Value>& argument = o.capture_of[inner.get()];
    if (!argument) {
      argument = p_.make_value(inner->shape, inner->dtype, inner->layout);
      argument->block = o.block.get();
      argument->stop = inner->stop;
      argument->requires_grad = inner->requires_grad;
      o.captures.emplace_back(inner, argument);
    }
    inner = argument;
  }
  return inner;
}

// --- operations ---

Ref<Value> Builder::make_result(Operation& o, const Shape& shape, DType dtype, Layout layout) {
  Ref<Value> v = p_.make_value(shape, dtype, layout);
  v->block = &top();
  v->producer = &o;
  o.results.push_back(v);
  return v;
}

Operation& Builder::add(std::unique_ptr<Operation> o) {
  o->parent = &top();
  sharing_.erase(o.get());  // said of another one, which is gone
  copying_.erase(o.get());
  o->role = role;
  o->segment = role == Role::forward ? segment : 0;
  if (user_location) o->location = user_location();
  for (const auto& b : o->blocks) b->owner = o.get();
  p_.changed();
  top().operations.push_back(std::move(o));
  return *top().operations.back();
}

Tensors Builder::append(const op::OpDef& op, const op::Inputs& in, const void* attrs) {
  auto o = std::make_unique<Operation>();
  o->op = &op;
  o->attrs = op::AttrBox(*op.attrs, attrs);
  for (const Tensor& t : in.flat()) o->operands.push_back(current(t));
  if (in.ends()) o->ends.assign(in.ends(), in.ends() + op.inputs.size());
  if (op.attrs->may_hold_symbols)
    each_element(*op.attrs, o->attrs.get(), [&](Tensor& t, int64_t*, op::Scalar*) {
      o->operands.push_back(current(t));
      ++o->attr_operands;
      t = element_placeholder();
    });
  // Infer from the values rather than the handles, which may be older.
  InlineVector<Tensor, 8> operands;
  bool grad = false;
  for (const Ref<Value>& v : o->inputs()) {
    operands.push_back(handle(v));
    grad |= v && v->requires_grad && !v->stop;
  }
  op::InferContext c{op, op::Inputs(operands, in.ends()), {}};
  op::infer(c, attrs);
  Tensors out;
  const bool recording_grad = op::thread_state.grad_enabled;
  grad &= recording_grad && (op.gradient || op.compose);
  // Which flat inputs get new values.
  InlineVector<size_t, 4> written;
  auto places = [&](const std::vector<uint32_t>& inputs) {
    for (uint32_t i : inputs)
      for (size_t k = 0; k < in.list(i).size(); ++k) written.push_back(in.place_of(i) + k);
  };
  places(op.writes);
  if (!op.writes.empty()) c.out.resize(0);
  if (!op.updates.empty() && (!op.updates_if || op.updates_if(in, attrs))) places(op.updates);
  Operation& made = *o;
  for (const op::Meta& m : c.out) {
    Ref<Value> v = make_result(made, m.shape, m.dtype, m.layout);
    v->requires_grad = grad && is_differentiable(m.dtype);
    v->stop = v->leaf = !recording_grad;
  }
  const size_t outputs = made.results.size();
  for (size_t k : written) {
    const Ref<Value>& old = made.operands[k];
    Ref<Value> v = make_result(made, old->shape, old->dtype, old->layout);
    v->requires_grad = old->requires_grad;
    v->stop = old->stop;
  }
  add(std::move(o));
  note_form(made);
  for (size_t i = 0; i < outputs; ++i) out.push_back(handle(made.results[i]));
  for (size_t i = 0; i < written.size(); ++i) {
    const Tensor& x = in.flat()[written[i]];
    move_handle(x, made.results[outputs + i]);
    if (!op.writes.empty()) out.push_back(x);
  }
  return out;
}

// --- blocks ---

void Builder::begin_block() {
  open_.emplace_back();
  open_.back().block = std::make_unique<Block>();
}

Tensor Builder::argument(const Tensor& like) {
  ARGOSY_INVARIANT(!open_.empty());
  Ref<Value> v = p_.make_value(like.shape(), like.dtype(), like.layout());
  v->block = open_.back().block.get();
  v->requires_grad = is_differentiable(v->dtype);
  v->block->arguments.push_back(v);
  if (Value* first = value_of(like)) begun_as_[v.get()] = Ref<Value>::share(first);
  return handle(v);
}

void Builder::abandon_block() {
  if (open_.size() == 1) read_in_blocks_.clear();
  for (size_t i = open_.back().moved.size(); i-- > 0;)
    point_at(open_.back().moved[i].handle, open_.back().moved[i].before);
  open_.pop_back();
}

Draft Builder::end_block(std::span<const Tensor> yields) {
  for (const Tensor& t : yields) {
    Ref<Value> v = current(t);
    open_.back().block->yields.push_back(v);
  }
  for (Draft::Moved& m : open_.back().moved)
    if (m.after) m.after = localize(settle(m.after));
  Draft d;
  for (const Value* key : open_.back().contents.order) {
    const Contents::Entry& e = open_.back().contents.at.at(key);
    if (e.place->block == &top()) continue;
    if (!is_view(e.place->producer))
      d.written.emplace_back(e.place, e.value);
    else if (keeps_history() && e.value->requires_grad && !e.value->stop && e.value->producer &&
             e.value->producer->op != e.place->producer->op)
      d.views.emplace_back(e.place, e.value);
  }
  for (auto& [place, value] : d.views)
    value = now(place);  // it may have been written otherwise since
  d.moved = std::move(open_.back().moved);
  for (size_t i = d.moved.size(); i-- > 0;) point_at(d.moved[i].handle, d.moved[i].before);
  d.saved = std::move(open_.back().saved);
  close(d);
  return d;
}

// Goes on with a block that was recorded.
void Builder::reopen(Draft& d) {
  begin_block();
  Open& o = open_.back();
  o.block = std::move(d.block);
  o.captures = std::move(d.captures);
  for (auto& [outer, argument] : o.captures) o.capture_of[outer.get()] = argument;
  o.contents = std::move(d.contents);
}

void Builder::close(Draft& d) {
  if (open_.size() == 1) read_in_blocks_.clear();
  Open& o = open_.back();
  d.block = std::move(o.block);
  d.captures = std::move(o.captures);
  d.contents = std::move(o.contents);
  open_.pop_back();
}

Ref<Value> Builder::capture(Draft& d, const Ref<Value>& outer) {
  for (auto& [from, argument] : d.captures)
    if (from == outer) return argument;
  Ref<Value> v = p_.make_value(outer->shape, outer->dtype, outer->layout);
  v->block = d.block.get();
  v->requires_grad = outer->requires_grad;
  d.captures.emplace_back(outer, v);
  return v;
}

Tensors Builder::append_if(const Tensor& pred, Draft then_block, Draft else_block) {
  Draft* drafts[] = {&then_block, &else_block};
  const size_t yields = then_block.block->yields.size();
  ARGOSY_CHECK(yields == else_block.block->yields.size(), invalid_argument)
      << "[cond] both branches must return the same number of values: true_fn returned " << yields
      << ", false_fn " << else_block.block->yields.size() << '.';
  Ref<Value> condition = current(pred);
  ARGOSY_CHECK(is_condition(*condition), type)
      << "[cond] pred must be a bool tensor of one element, got " << pred
      << ". Do this: compare first, as in x.sum() > 0.";
  // What either branch wrote, both yield.
  std::vector<Draft::Moved> moved, pointed;
  std::vector<Ref<Value>> places;
  for (Draft* d : drafts) {
    for (Draft::Moved& m : d->moved) {
      auto& into = m.after ? moved : pointed;
      bool known = false;
      for (Draft::Moved& k : into) known |= k.handle.is(m.handle);
      if (!known) into.push_back(m);
    }
    for (auto& [place, value] : d->written)
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  }
  for (Draft* d : drafts) {
    for (const Draft::Moved& m : moved) {
      Ref<Value> v;
      for (const Draft::Moved& own : d->moved)
        if (own.handle.is(m.handle)) v = own.after;
      d->block->yields.push_back(v ? v : capture(*d, localize(settle(m.before))));
    }
    for (const Ref<Value>& place : places) {
      Ref<Value> v;
      for (auto& [written, value] : d->written)
        if (written == place) v = value;
      d->block->yields.push_back(v ? v : capture(*d, localize(now(place))));
    }
  }
  const std::vector<Ref<Value>> views = views_of_branches(then_block, else_block);
  auto o = std::make_unique<Operation>();
  o->op = &op::get(op::names::kIf);
  o->attrs = op::AttrBox(*o->op->attrs, o->op->attrs->defaults);
  o->operands.push_back(condition);
  for (size_t i = 0; i < then_block.captures.size(); ++i)
    capture(else_block, Ref<Value>(then_block.captures[i].first));
  for (size_t i = 0; i < else_block.captures.size(); ++i)
    capture(then_block, Ref<Value>(else_block.captures[i].first));
  for (auto& [outer, argument] : then_block.captures) {
    o->operands.push_back(outer);
    then_block.block->arguments.push_back(argument);
    else_block.block->arguments.push_back(capture(else_block, outer));
  }
  const auto& a = then_block.block->yields;
  const auto& b = else_block.block->yields;
  for (size_t i = 0; i < a.size(); ++i) {
    ARGOSY_CHECK(a[i] && b[i], invalid_argument)
        << "[cond] both branches must return the same things: value " << i
        << " is a tensor in one and None in the other.";
    ARGOSY_CHECK(same_form(*a[i], *b[i]), type)
        << "[cond] both branches must return tensors of the same dtype and number of dimensions: "
           "value "
        << i << " is " << a[i]->dtype << a[i]->shape << " in true_fn and " << b[i]->dtype
        << b[i]->shape << " in false_fn. Do this: cast or reshape one of them.";
    Ref<Value> v =
        make_result(*o, join_shapes(a[i]->shape, b[i]->shape), a[i]->dtype, a[i]->layout);
    v->requires_grad = a[i]->requires_grad || b[i]->requires_grad;
    v->stop = a[i]->stop && b[i]->stop;
  }
  o->blocks.push_back(std::move(then_block.block));
  o->blocks.push_back(std::move(else_block.block));
  Operation& made = add(std::move(o));
  Tensors out;
  for (size_t i = 0; i < yields; ++i) out.push_back(handle(made.results[i]));
  size_t next = yields;
  for (const Draft::Moved& m : moved) move_handle(m.handle, made.results[next++]);
  for (const Ref<Value>& place : places) write_outer(place, made.results[next++]);
  for (const Ref<Value>& place : views) {
    const Ref<Value> value = made.results[next++];
    note(place, value, now(place_of(place->producer->operands[0])));
  }
  point_moved(pointed);
  return out;
}

Tensors Builder::append_while(std::span<const Tensor> init, Draft cond, Draft body) {
  const auto name_of_written = [&] {
    const std::string name = cond.written.empty() ? "" : cond.written[0].first->name;
    return name.empty() ? std::string("a value") : name;
  };
  ARGOSY_CHECK(cond.moved.empty() && cond.written.empty(), invalid_argument)
      << "[while_loop] cond must not write to tensors of outside, got a write of "
      << name_of_written() << ". Do this: move it into body.";
  ARGOSY_CHECK(cond.block->yields.size() == 1 && is_condition(*cond.block->yields[0]), type)
      << "[while_loop] cond must return a bool tensor of one element. Do this: compare first, as "
         "in "
         "x.sum() > 0.";
  const size_t carried = init.size();
  ARGOSY_CHECK(body.block->yields.size() == carried, invalid_argument)
      << "[while_loop] body must return as many values as loop_vars: expected " << carried
      << ", got " << body.block->yields.size() << '.';
  auto o = std::make_unique<Operation>();
  o->op = &op::get(op::names::kWhile);
  o->attrs = op::AttrBox(*o->op->attrs, o->op->attrs->defaults);
  for (const Tensor& t : init) o->operands.push_back(current(t));
  // What the body wrote of outside is carried too.
  auto carry = [&](const Ref<Value>& before, const Ref<Value>& after) {
    o->operands.push_back(before);
    for (Draft* d : {&cond, &body}) {
      d->block->arguments.push_back(capture(*d, before));
      std::erase_if(d->captures, [&](auto& c) { return c.first == before; });
    }
    body.block->yields.push_back(after);
  };
  for (const Draft::Moved& m : body.moved)
    if (m.after) carry(localize(settle(m.before)), m.after);
  for (auto& [place, value] : body.written) carry(localize(now(place)), value);
  const std::vector<Ref<Value>> views = carry_views(cond, body, carry);
  const size_t all = o->operands.size();
  for (size_t i = 0; i < body.captures.size(); ++i)
    capture(cond, Ref<Value>(body.captures[i].first));
  for (size_t i = 0; i < cond.captures.size(); ++i)
    capture(body, Ref<Value>(cond.captures[i].first));
  for (auto& [outer, argument] : body.captures) {
    o->operands.push_back(outer);
    body.block->arguments.push_back(argument);
    cond.block->arguments.push_back(capture(cond, outer));
  }
  for (size_t i = 0; i < all; ++i) {
    const Ref<Value>&from = o->operands[i], &to = body.block->yields[i];
    ARGOSY_CHECK(to && same_form(*from, *to), type)
        << "[while_loop] what body returns must have the dtype and number of dimensions of the "
           "loop variable: variable "
        << i << " starts as " << from->dtype << from->shape << ", body returns "
        << (to ? name_of(to->dtype) : "None") << (to ? to->shape : Shape())
        << ". Do this: cast or reshape it.";
  }
  bool grad = false;
  for (const Ref<Value>& v : o->operands) grad |= v->requires_grad && !v->stop;
  grad &= op::thread_state.grad_enabled;
  for (size_t i = 0; i < all; ++i) {
    const Ref<Value>& argument = body.block->arguments[i];
    Ref<Value> v = make_result(*o, argument->shape, argument->dtype, argument->layout);
    v->requires_grad =
        grad && (o->operands[i]->requires_grad || body.block->yields[i]->requires_grad);
  }
  o->blocks.push_back(std::move(cond.block));
  o->blocks.push_back(std::move(body.block));
  infer_operation(*o);
  Operation& made = add(std::move(o));
  Tensors out;
  for (size_t i = 0; i < carried; ++i) out.push_back(handle(made.results[i]));
  size_t next = carried;
  for (const Draft::Moved& m : body.moved)
    if (m.after) move_handle(m.handle, made.results[next++]);
  for (auto& [place, value] : body.written) write_outer(place, made.results[next++]);
  for (const Ref<Value>& place : views) {
    const Ref<Value> value = made.results[next++];
    if (place) note(place, value, now(place_of(place->producer->operands[0])));
  }
  point_moved(body.moved);
  return out;
}

// --- doors for dispatch ---

Recording::Recording(std::shared_ptr<Program> program, bool as_eager)
    : program_(std::move(program)), before_(op::thread_state.recorder) {
  op::thread_state.recorder = program_.get();
  if (program_)
    eager_before_ =
        std::exchange(program_->builder().as_eager,
                      as_eager || (before_ == program_.get() && program_->builder().as_eager));
}

Recording::~Recording() {
  if (program_) program_->builder().as_eager = eager_before_;
  if (program_ && before_ != program_.get()) program_->builder().forget_data();
  op::thread_state.recorder = before_;
}

namespace {

bool has_symbols(const op::AttrType& type, const void* attrs) {
  bool any = false;
  each_element(type, const_cast<void*>(attrs), [&](Tensor&, int64_t*, op::Scalar*) { any = true; });
  return any;
}

std::shared_ptr<Program> program_of(const Tensor& t) {
  Value* v = value_of(t);
  return v ? v->program.lock() : nullptr;
}

Tensors record(const op::OpDef& op, const op::Inputs& in, const void* attrs) {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  // With a kernel it stays one operation, and is opened by whoever asks for its gradient.
  if (op.compose && !op.gradient && op.kernels[0].empty()) {
    op::InferContext checks{op, in, {}};
    if (op.infer) op::infer(checks, attrs);
    return op.compose(in, attrs);
  }
  if (recorder) return recorder->builder().append(op, in, attrs);
  std::shared_ptr<Program> owner;
  for (const Tensor& t : in.flat())
    if (!owner) owner = program_of(t);
  each_element(*op.attrs, const_cast<void*>(attrs), [&](Tensor& t, int64_t*, op::Scalar*) {
    if (!owner) owner = program_of(t);
  });
  ARGOSY_CHECK(owner, runtime)
      << '[' << op.name
      << "] uses a symbolic tensor, but no Program is being built. Do this: call it under "
         "program_guard(..) or inside the captured function.";
  return owner->builder().append(op, in, attrs);
}

void rebind(const Tensor& x, const Tensor& value) {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  std::shared_ptr<Program> owner = recorder ? recorder->shared_from_this() : program_of(value);
  if (!owner) owner = program_of(x);
  ARGOSY_CHECK(owner, runtime) << "No Program is being built in which a tensor could be written.";
  owner->builder().rebind(x, value);
}

bool refuses_write(const Tensor& x) {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  return recorder && recorder->builder().as_eager && recorder->builder().refuses_write(x);
}

[[maybe_unused]] const bool installed = [] {
  op::refuses_recorded_write = refuses_write;
  op::hooks.record_program = record;
  op::hooks.rebind = rebind;
  op::hooks.attrs_have_symbols = has_symbols;
  return true;
}();

}  // namespace

bool captures() {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  return recorder && recorder->builder().as_eager;
}

void note_numbers(const Tensor& t) {
  if (!t.symbolic() && captures())
    static_cast<Program*>(op::thread_state.recorder)->builder().note_numbers(t);
}

Tensor value_in_program(const Tensor& t) {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  return t.symbolic() || !recorder ? t : handle(recorder->builder().current(t));
}

Tensor noted_or_written(const Tensor& t) {
  if (t.symbolic() || !captures()) return t;
  Builder& b = static_cast<Program*>(op::thread_state.recorder)->builder();
  if (b.has_written(t)) return handle(b.current(t));
  b.note_numbers(t);
  return t;
}

bool varies(const Tensor& t) {
  return captures() && static_cast<Program*>(op::thread_state.recorder)->builder().varies(t);
}

Tensor pick(const Tensor& x, const Tensor& index, int64_t axis) {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  std::shared_ptr<Program> owner = recorder ? recorder->shared_from_this() : program_of(x);
  if (!owner) owner = program_of(index);
  return owner ? owner->builder().pick(x, index, axis) : ops::take_slices(x, index, axis);
}

Tensor known(const Tensor& t) {
  const std::shared_ptr<Program> owner = program_of(t);
  return owner ? owner->builder().known(t) : Tensor();
}

Tensor computed(const Operation& o, std::span<const Tensor> in, size_t i) {
  op::GradMode off(false);
  Recording here(nullptr);
  try {
    const op::Inputs inputs(in, o.ends.empty() ? nullptr : o.ends.data());
    return op::dispatch(*o.op, inputs, o.attrs.get())[i];
  } catch (const Error&) {
    return {};
  }
}

Tensor detached(const Tensor& t) {
  op::GradMode off(false);
  return ops::unsqueeze(t, op::IntArray{});
}

void set_stop_gradient(const Tensor& t, bool stop) {
  t.set_stop_gradient(stop);
  Value* v = value_of(t);
  if (!v) return;
  v->stop = stop && v->producer;  // an input: only what the user asks for counts
  v->requires_grad = !stop;
}

}  // namespace argosy::program
