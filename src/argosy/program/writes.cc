#include "argosy/program/writes.h"

#include <algorithm>

#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/indexing/indexing.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/program/attributes.h"
#include "argosy/program/builder.h"

// What writing in place means in a Program, whose values are made once. A handle stands for the
// value that is in a place now. Each open block has contents of its own over those of the blocks
// around it; at its end what it has put into places of outside is what the owning operation yields.
namespace argosy::program {

// x becomes a handle on v, as far as it does not stand for state.
void point_at(const Tensor& x, const Ref<Value>& v) {
  TensorImpl* to = x.impl();
  to->storage = nullptr;
  to->offset = 0;
  to->shape = v->shape;
  to->numel = v->shape.numel();
  to->strides = to->numel >= 0 ? v->shape.contiguous_strides() : Shape();
  to->dtype = v->dtype;
  to->layout = v->layout;
  to->contiguous = true;
  to->symbol = Ref<RefCounted>::share(v.get());
}

bool Builder::is_view(const Operation* o) const {
  return may_view(o) && !copying_.count(o);
}

bool Builder::may_view(const Operation* o) const {
  if (!o) return false;
  return ((o->op->view || o->op->views) && !o->op->apart) || sharing_.count(o);
}

// --- where eager mode copies ---

// A tensor over memory that cannot be read, which lies as eager mode would have the value:
// contiguous, unless it is a view. An unknown size is some number that most sizes divide.
Tensor Builder::form_of(const Ref<Value>& v) const {
  constexpr int64_t kSome = 240;
  const Ref<Value> place = place_of(v);
  if (auto it = forms_.find(place.get()); it != forms_.end()) return it->second.second;
  Shape shape = v->shape;
  for (int d = 0; d < shape.rank(); ++d)
    if (shape[d] == kUnknown) shape[d] = kSome;
  const Tensor* outside = nullptr;
  for (const Constant& c : p_.constants)
    if (c.value == place) outside = &c.tensor;
  for (const StateUse& s : p_.states)
    if (s.initial == place && s.state->tensor.defined()) outside = &s.state->tensor;
  const bool strided = outside && outside->has_data() && outside->layout() == Layout::strided &&
                       outside->shape() == shape;
  void* nothing = reinterpret_cast<void*>(uintptr_t{1} << 40);
  return Tensor::wrap(nothing, shape, strided ? outside->strides() : shape.contiguous_strides(),
                      v->dtype, {DeviceKind::null, 0}, nullptr, [](void*) {});
}

// A view op gives a copy where strides do not allow a view (a transposed matrix as a row).
void Builder::note_form(const Operation& o) {
  if (!notes_forms_ || !o.op->view || o.op->apart || o.attr_operands || o.operands.empty() ||
      !o.operands[0] || o.operands[0]->layout != Layout::strided)
    return;
  int unknown = 0;
  for (const int64_t size : o.operands[0]->shape) unknown += size == kUnknown;
  if (unknown > 5) return;  // the numbers that stand for them would multiply to too much
  try {
    const Tensor form = o.op->view(form_of(o.operands[0]), o.attrs.get());
    if (!form.defined())
      copying_.insert(&o);
    else if (!form.impl()->contiguous)
      forms_[o.results[0].get()] = {o.results[0], form};
  } catch (const Error&) {  // not for the number that stands for an unknown size
  }
}

// --- what is in a place ---

Ref<Value> Builder::origin(Ref<Value> v) const {
  for (size_t level = open_.size(); level-- > 0;) {
    if (v->block != open_[level].block.get()) continue;
    const auto& captures = open_[level].captures;
    auto it = std::find_if(captures.begin(), captures.end(),
                           [&](const auto& entry) { return entry.second == v; });
    if (it == captures.end()) break;
    v = it->first;
  }
  return v;
}

Ref<Value> Builder::place_of(const Ref<Value>& v) const {
  Ref<Value> o = origin(v);
  auto it = places_.find(o.get());
  return it == places_.end() ? o : it->second.second;
}

const Contents::Entry* Builder::entry(const Ref<Value>& place, bool with_main) const {
  for (size_t level = open_.size() + 1; level-- > 0;) {
    if (level == 0 && !with_main) break;
    const Contents& contents = level ? open_[level - 1].contents : contents_;
    auto it = contents.at.find(place.get());
    if (it != contents.at.end()) return &it->second;
  }
  return nullptr;
}

Ref<Value> Builder::now(const Ref<Value>& place) {
  const Contents::Entry* e = entry(place, true);
  Ref<Value> value = e ? e->value : place;
  if (!is_view(place->producer)) return value;
  const Ref<Value>& taken_of = place->producer->operands[0];
  const Ref<Value> of = origin(e && e->of ? e->of : taken_of);
  const Ref<Value> base = now(place_of(taken_of));
  if (origin(base) == of) return value;
  // What it is a view of was written since.
  Ref<Value> fresh = view_again(place, base);
  if (has_history(value) && has_history(place)) fresh = with_history_of(value, fresh);
  note(place, fresh, base);
  return fresh;
}

// Whether eager mode would keep it, whatever is written to what it is a view of.
bool Builder::has_history(const Ref<Value>& v) const {
  return keeps_history() && v->requires_grad && !v->stop && !v->leaf;
}

Ref<Value> Builder::with_history_of(const Ref<Value>& x, const Ref<Value>& values) {
  AsTheyWere exact(*this);
  op::GradMode on(true);
  return Ref<Value>::share(value_of(ops::with_values(handle(x), handle(values))));
}

Ref<Value> Builder::settle(const Ref<Value>& v) {
  if (!follow_ || !wrote_) return v;
  return now(place_of(v));
}

Ref<Value> Builder::view_again(const Ref<Value>& place, const Ref<Value>& base) {
  const Operation& o = *place->producer;
  AsTheyWere exact(*this);
  InlineVector<Tensor, 4> in, elements;
  for (const Ref<Value>& operand : o.inputs()) in.push_back(handle(operand));
  for (const Ref<Value>& element : o.attr_values()) elements.push_back(handle(element));
  in[0] = handle(base);
  op::AttrBox attrs = attributes(o, elements);
  const size_t at =
      static_cast<size_t>(std::find(o.results.begin(), o.results.end(), place) - o.results.begin());
  // Whether gradients flow through it was said when it was taken, wherever it is read again.
  op::GradMode as_taken(!place->stop && !place->leaf);
  Tensors again =
      append(*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), attrs.get());
  Ref<Value> fresh = Ref<Value>::share(value_of(again[at]));
  if (place->leaf) {
    fresh->leaf = true;
    fresh->stop = place->stop;
    fresh->requires_grad = place->requires_grad;
  }
  return fresh;
}

// --- writes ---

void Builder::note(const Ref<Value>& place, const Ref<Value>& value, const Ref<Value>& of) {
  wrote_ = true;
  Contents& contents = open_.empty() ? contents_ : open_.back().contents;
  auto [it, fresh] = contents.at.try_emplace(place.get());
  if (fresh) contents.order.push_back(place.get());
  it->second = {place, value, of};
  // What was set to a view of something, or lies elsewhere already, stays there.
  if (value != place && (of || !is_view(value->producer)))
    places_.try_emplace(value.get(), value, place);
}

// What `place`, a view of `base`, was taken of, once the view reads `to`. The gradient rule of the
// view puts its elements back where they came from, and that of ones says which these are.
Ref<Value> Builder::written_base(const Ref<Value>& place, const Ref<Value>& base,
                                 const Ref<Value>& to) {
  // What is computed here lies where the base does.
  const WithoutForms as_base(*this);
  const Operation& view = *place->producer;
  const bool follows = !keeps_history() || (base->requires_grad && !base->stop);
  op::GradMode eager(op::thread_state.grad_enabled && follows);
  ARGOSY_CHECK(view.op->gradient, not_implemented)
      << "[" << view.op->name
      << "] a write through this view cannot be recorded. Do this: write to "
      << "the tensor itself, as in x[..] = value.";
  AsTheyWere exact(*this);
  std::vector<Tensor> in, out, elements;
  for (const Ref<Value>& v : view.inputs()) in.push_back(handle(v));
  for (const Ref<Value>& v : view.results) out.push_back(handle(v));
  for (const Ref<Value>& v : view.attr_values()) elements.push_back(handle(v));
  in[0] = handle(base);
  op::AttrBox attrs = attributes(view, elements);
  InlineVector<bool, 8> needs;
  for (size_t i = 0; i < in.size(); ++i) needs.push_back(i == 0);
  auto put_back = [&](const Tensor& elements_of_view) {
    std::vector<Tensor> dys(out.size());
    for (size_t i = 0; i < out.size(); ++i)
      if (view.results[i] == place) dys[i] = elements_of_view;
    op::GradCall call(*view.op, op::Inputs(in, view.ends.empty() ? nullptr : view.ends.data()), out,
                      dys, needs.data());
    return std::move(view.op->gradient(call, attrs.get())[0]);
  };
  Tensor whole = put_back(handle(to));
  if (place->shape.numel() < 0 || place->shape.numel() != base->shape.numel()) {
    Tensor covered = put_back(ops::ones_like(handle(place)));
    whole = ops::where(ops::cast(covered, DType::bool_), whole, handle(base));
  }
  // Eager mode changes the values of what a view was taken of, whose history stays; so does a view
  // that autograd does not follow.
  const bool learns = base->requires_grad && !base->stop;
  if (learns && (place->stop || keeps_history())) {
    op::GradMode on(true);
    whole = ops::with_values(handle(base), whole);
  }
  return Ref<Value>::share(value_of(whole));
}

void Builder::write(const Ref<Value>& place, const Ref<Value>& to) {
  if (!is_view(place->producer)) return write_outer(place, to);
  const Ref<Value> base = place_of(place->producer->operands[0]);
  Ref<Value> whole = written_base(place, now(base), to);
  if (whole->name.empty() && base->producer) whole->name = base->name;
  write(base, whole);
  note(place, to, whole);
}

// Into a place that is no view: state, a tensor that the Program reads, or a value.
void Builder::write_outer(const Ref<Value>& place, const Ref<Value>& to) {
  if (!place->producer) {
    for (Constant& c : p_.constants)
      if (c.value == place && !is_data(c.tensor)) {
        check_not_read(c.tensor);
        written_state(Tensor(c.tensor));  // written, so it is state and no constant
        break;
      }
    for (StateUse& s : p_.states)
      if (s.initial == place) {
        if (s.state->tensor.defined()) check_not_read(s.state->tensor);
        if (!open_.empty()) continue;
        s.last = to;
        if (to->name.empty()) to->name = s.state->name;
      }
  }
  note(place, to);
  p_.changed();
}

void Builder::rebind(const Tensor& x, const Tensor& value) {
  Ref<Value> to = current(value);
  move_handle(x, keeps_history() ? with_history(x, to) : to);
}

// What autograd does not see leaves a tensor its history, and its place on the tape.
Ref<Value> Builder::with_history(const Tensor& x, const Ref<Value>& to) {
  if (to->requires_grad && !to->stop) return to;
  const Ref<Value> before = current(x);
  if (!before->requires_grad || before->stop || before->dtype != to->dtype ||
      before->shape.rank() != to->shape.rank() || before->layout != Layout::strided)
    return to;
  op::GradMode on(true);
  AsTheyWere exact(*this);
  return Ref<Value>::share(value_of(ops::with_values(handle(before), handle(to))));
}

// The state of a tensor of eager mode that is written.
Ref<State> Builder::written_state(const Tensor& x) {
  auto it = constants_.find(x.impl());
  if (it != constants_.end()) {
    const size_t at = it->second;
    Ref<Value> value = p_.constants[at].value;
    p_.constants.erase(p_.constants.begin() + static_cast<ptrdiff_t>(at));
    constants_.erase(it);
    for (auto& known : constants_)
      if (known.second > at) --known.second;
    state_of(x).initial = value;
  }
  state_of(x);
  return bound_[x.impl()];
}

void Builder::move_handle(const Tensor& x, const Ref<Value>& to) {
  if (is_data(x)) become_value(x);
  Ref<State> state;
  if (State* s = program::state_of(x)) {
    state = Ref<State>::share(s);
  } else if (Value* v = value_of(x)) {
    // A handle of the initial value of a state is a handle of the state.
    for (const StateUse& s : p_.states)
      if (s.initial.get() == v) state = s.state;
    if (!state) return move_value(x, Ref<Value>::share(v), to);
  } else {
    state = written_state(x);
  }
  ARGOSY_CHECK(to->shape.rank() == state->shape.rank() && to->dtype == state->dtype,
               invalid_argument)
      << "State '" << state->name << "' of a Program keeps its form: it is " << state->dtype
      << state->shape << ", what is written is " << to->dtype << to->shape << '.';
  if (state->tensor.defined()) check_not_read(state->tensor);
  StateUse& use = use_of(state);
  if (open_.empty()) {
    use.last = to;
    if (to->name.empty()) to->name = state->name;
  }
  note(use.initial, to);
  p_.changed();
}

void Builder::move_value(const Tensor& x, const Ref<Value>& before, const Ref<Value>& to) {
  if (to->name.empty()) to->name = before->name;
  // An in-place view (reshape_) or cast moves the handle only.
  bool form = before->dtype != to->dtype || before->shape.rank() != to->shape.rank() ||
              before->layout != Layout::strided;
  if (may_view(to->producer) && place_of(to->producer->operands[0]) == place_of(before))
    form = true;
  if (before != to && !form) write(place_of(before), to);
  if (!open_.empty()) {
    auto& moved = open_.back().moved;
    auto known = std::find_if(moved.begin(), moved.end(),
                              [&](const Draft::Moved& m) { return m.handle.is(x); });
    if (known == moved.end()) {
      if (before->block != &top()) moved.push_back({x, before, form ? to : Ref<Value>()});
    } else if (form) {
      known->after = to;
    }
  }
  point_at(x, to);
  if (to->requires_grad && !to->stop) x.impl()->stop_gradient = false;
}

// --- writes of blocks ---

// Handles of places that a block has written stand for what the owning operation made of them.
void Builder::point_moved(const std::vector<Draft::Moved>& moved) {
  for (const Draft::Moved& m : moved) {
    const Ref<Value> place = place_of(m.before);
    if (m.after || is_view(place->producer)) continue;
    const Ref<Value> value = now(place);
    if (value == m.before || value->block != &top()) continue;
    if (!open_.empty() && m.before->block != &top()) {
      auto& outer = open_.back().moved;
      if (std::none_of(outer.begin(), outer.end(),
                       [&](const Draft::Moved& k) { return k.handle.is(m.handle); }))
        outer.push_back({m.handle, m.before, {}});
    }
    if (value->name.empty()) value->name = m.before->name;
    point_at(m.handle, value);
    if (value->requires_grad && !value->stop) m.handle.impl()->stop_gradient = false;
  }
}

// Views of outside that a branch has written, which have a history that what they were taken of has
// not: both branches yield them behind all else, as they are in its end.
std::vector<Ref<Value>> Builder::views_of_branches(Draft& then_block, Draft& else_block) {
  std::vector<Ref<Value>> places;
  Draft* drafts[] = {&then_block, &else_block};
  const auto entry_in = [](const auto& list, const Ref<Value>& place) {
    return std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.first == place; });
  };
  for (const Draft* d : drafts)
    for (const auto& [place, value] : d->views)
      if (std::find(places.begin(), places.end(), place) == places.end()) places.push_back(place);
  for (Draft* d : drafts)
    for (const Ref<Value>& place : places) {
      const auto own = entry_in(d->views, place);
      if (own != d->views.end()) {
        d->block->yields.push_back(own->second);
        continue;
      }
      const Ref<Value> before = localize(now(place));
      Reopened block(*this, *d);
      open_.back().block->yields.push_back(localize(now(place_of(before))));
    }
  return places;
}

// What a loop reads of views that were taken outside, of what its body writes: each round has it as
// the round before has left it. So it is with views that it writes and that have a history that
// what they were taken of has not. Gives for each that is carried its place if it has such a
// history, or null.
std::vector<Ref<Value>> Builder::carry_views(
    Draft& cond, Draft& body,
    const std::function<void(const Ref<Value>&, const Ref<Value>&)>& carry) {
  std::vector<Ref<Value>> places;
  if (body.written.empty() || !follow_) return places;
  std::vector<Ref<Value>> read;
  for (const Draft* d : {&body, &cond})
    for (const auto& [outer, argument] : d->captures)
      if (is_view(place_of(outer)->producer) &&
          std::find(read.begin(), read.end(), outer) == read.end())
        read.push_back(outer);
  for (const auto& [place, value] : body.views) {
    const Ref<Value> before = localize(now(place));
    if (std::find(read.begin(), read.end(), before) == read.end()) read.push_back(before);
  }
  std::vector<std::pair<Ref<Value>, Ref<Value>>> views;
  if (read.empty()) return places;
  {
    Reopened block(*this, body);
    for (const Ref<Value>& outer : read) {
      Ref<Value> value = now(place_of(outer));
      if (value->block == &top()) views.emplace_back(outer, value);
    }
  }
  for (const auto& [outer, value] : views) {
    carry(outer, value);
    const Ref<Value> place = place_of(outer);
    const bool own = std::any_of(body.views.begin(), body.views.end(),
                                 [&](const auto& view) { return view.first == place; });
    places.push_back(own ? place : nullptr);
  }
  return places;
}

// --- leaves ---

// Whether eager mode would have no history of it, though it needs a gradient.
bool Builder::is_leaf(const Ref<Value>& v) {
  if (!v->requires_grad || v->stop) return false;
  const Operation* o = v->producer;
  if (!o) {
    if (auto it = begun_as_.find(v.get()); it != begun_as_.end())
      return is_leaf(origin(it->second));
    for (const StateUse& s : p_.states)
      if (s.initial == v && s.state->tensor.defined()) return refuses_write(s.state->tensor);
    const auto& inputs = p_.main.arguments;
    auto it = std::find(inputs.begin(), inputs.end(), v);
    if (it == inputs.end()) return false;
    const size_t number = static_cast<size_t>(it - inputs.begin());
    if (std::find(written_inputs_.begin(), written_inputs_.end(), number) == written_inputs_.end())
      written_inputs_.push_back(number);
    return false;
  }
  if (o->op->name == op::names::kWithValues) return is_leaf(origin(o->operands[0]));
  if (v->leaf || (!o->op->structural && !o->op->gradient && !o->op->compose)) return true;
  return std::none_of(o->operands.begin(), o->operands.end(), [](const Ref<Value>& operand) {
    return operand && operand->requires_grad && !operand->stop;
  });
}

bool Builder::refuses_write(const Tensor& t) {
  if (Value* v = value_of(t)) return is_leaf(origin(Ref<Value>::share(v)));
  return !t.symbolic() && t.requires_grad() && !t.impl()->grad_fn;
}

}  // namespace argosy::program
