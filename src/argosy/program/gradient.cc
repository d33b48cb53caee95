#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "argosy/op/autocast.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"
#include "argosy/ops/control/control.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/ops/math/math.h"
#include "argosy/ops/sparse/sparse.h"
#include "argosy/program/builder.h"

// Reverse-mode differentiation of a Program: the gradient rules of the ops, called on symbolic
// handles, append operations. An `if` becomes an `if` over the gradients of its blocks, a `while` a
// `while` that walks back. What these need of the forward blocks, the forward operation yields in a
// tensor array (for a loop: one such array for each round), so nothing is computed twice and random
// ops are not drawn again.
namespace argosy::program {

namespace names = op::names;

class Differentiator {
 public:
  explicit Differentiator(Builder& b) : b_(b) {}

  // What depends on wrt and may carry a gradient.
  void activate(const Ref<Value>& wrt) { active_.insert(wrt.get()); }
  void block(const Ref<Value>& v) { blocked_.insert(v.get()); }
  bool active(const Ref<Value>& v) const { return v && active_.count(v.get()); }
  bool mark(const Block& block, size_t count, size_t first = 0);

  void add(const Ref<Value>& v, const Tensor& dy);
  Tensor grad(const Ref<Value>& v) {
    auto it = grads_.find(v.get());
    if (it == grads_.end()) return Tensor();
    Sum& s = it->second;
    if (s.parts.size() > 1) s.parts = {ops::add_rows(s.parts)};
    return s.parts[0];
  }
  // Goes back over the operations [first, count) of a block.
  void backward(const Block& block, size_t count, size_t first = 0);

 private:
  // Several parts: row-sparse, but for one of them; added when they are asked for, since a table
  // may be looked up hundreds of times.
  struct Sum {
    std::vector<Tensor> parts;
  };
  using Grads = std::unordered_map<const Value*, Sum>;

  bool mark_value(const Ref<Value>& v);
  bool mark_operation(const Operation& o);
  void backward_if(Operation& o, const std::vector<Tensor>& dys);
  void backward_while(Operation& o, const std::vector<Tensor>& dys);
  void backward_rule(Operation& o, const std::vector<Tensor>& dys);
  void backward_parts(const Operation& o, std::vector<Tensor>& in, const void* attrs,
                      const std::vector<Tensor>& dys);
  Tensor zeros(const Ref<Value>& like);
  Ref<Value> save_in(Block& block, const std::vector<std::pair<Ref<Value>, Ref<Value>>>& saved);
  void load_in(Draft& draft, const Ref<Value>& bundle, size_t at);
  // Arguments of a loop's body that carry a gradient.
  struct LoopArguments {
    std::vector<size_t> moving, fixed;
  };
  Draft back_over_round(const Operation& o, const LoopArguments& arguments,
                        const std::vector<Tensor>& init, Ref<Value>* round);
  void load_round(Draft& draft, const Ref<Value>& all, const Ref<Value>& round);

  Builder& b_;
  std::unordered_set<const Value*> active_, blocked_;
  Grads grads_;
};

// --- which values matter ---

bool Differentiator::mark_value(const Ref<Value>& v) {
  if (v->stop || blocked_.count(v.get()) || !is_differentiable(v->dtype)) return false;
  return active_.insert(v.get()).second;
}

// Whether a gradient of result i of an operation goes on to its operands. An op without a gradient
// ends it, as it does in eager mode, and so does a leaf.
static bool passes(const Operation& o, size_t i) {
  if (o.op->structural) return true;
  if (o.results[i]->leaf) return false;
  if (!o.op->gradient && !o.op->compose) return false;
  const size_t declared = o.op->outputs.size();
  return declared == 0 || o.op->outputs[std::min(i, declared - 1)].differentiable;
}

bool Differentiator::mark_operation(const Operation& o) {
  bool changed = false;
  if (o.op->structural) {
    const bool is_if = o.is_if();
    for (bool again = true; again;) {
      again = false;
      for (const auto& b : o.blocks) {
        for (size_t i = 0; i < b->arguments.size(); ++i)
          if (active(o.operands[is_if ? i + 1 : i])) again |= mark_value(b->arguments[i]);
        again |= mark(*b, b->operations.size());
      }
      if (is_if) continue;
      const auto& body = o.blocks[1];
      for (size_t i = 0; i < body->yields.size(); ++i)
        if (active(body->yields[i])) again |= mark_value(body->arguments[i]);
    }
    for (size_t i = 0; i < o.results.size(); ++i)
      if ((is_if && active(o.blocks[0]->yields[i])) || active(o.blocks[1]->yields[i]) ||
          (!is_if && active(o.blocks[1]->arguments[i])))
        changed |= mark_value(o.results[i]);
    return changed;
  }
  const bool any = std::any_of(o.operands.begin(), o.operands.end(),
                               [&](const Ref<Value>& v) { return active(v); });
  if (!any) return false;
  const size_t outputs = o.outputs();
  for (size_t i = 0; i < outputs; ++i)
    if (passes(o, i)) changed |= mark_value(o.results[i]);
  return changed;
}

bool Differentiator::mark(const Block& block, size_t count, size_t first) {
  bool changed = false;
  for (size_t i = first; i < count; ++i) changed |= mark_operation(*block.operations[i]);
  return changed;
}

// --- going back ---

void Differentiator::add(const Ref<Value>& v, const Tensor& dy) {
  std::vector<Tensor>& parts = grads_[v.get()].parts;
  if (dy.layout() == Layout::row_sparse) {
    parts.push_back(dy);
    return;
  }
  for (Tensor& sum : parts) {
    if (sum.layout() == Layout::row_sparse) continue;
    sum = v->layout == Layout::tensor_array ? ops::array_add(sum, dy) : ops::add(sum, dy);
    return;
  }
  parts.push_back(dy);
}

Tensor Differentiator::zeros(const Ref<Value>& like) {
  return like->layout == Layout::tensor_array ? ops::array_new(like->dtype)
                                              : ops::zeros_like(handle(like));
}

void Differentiator::backward(const Block& block, size_t count, size_t first) {
  std::vector<Operation*> operations;
  for (size_t i = first; i < count; ++i) operations.push_back(block.operations[i].get());
  for (size_t i = operations.size(); i-- > 0;) {
    Operation& o = *operations[i];
    if (std::none_of(o.operands.begin(), o.operands.end(),
                     [&](const Ref<Value>& v) { return active(v); }))
      continue;  // it made a value that the gradient is asked for, or nothing of interest
    std::vector<Tensor> dys;
    bool any = false;
    for (size_t k = 0; k < o.results.size(); ++k) {
      const Ref<Value>& v = o.results[k];
      dys.push_back(active(v) && passes(o, k) ? grad(v) : Tensor());
      any |= dys.back().defined();
    }
    if (!any) continue;
    if (!o.op->structural)
      backward_rule(o, dys);
    else if (o.is_if())
      backward_if(o, dys);
    else
      backward_while(o, dys);
  }
}

void Differentiator::backward_rule(Operation& o, const std::vector<Tensor>& dys) {
  std::vector<Tensor> in, out, elements;
  InlineVector<bool, 8> needs;
  for (const Ref<Value>& v : o.inputs()) {
    in.push_back(handle(v));
    needs.push_back(active(v));
  }
  const size_t outputs = o.outputs();
  for (size_t i = 0; i < outputs; ++i) out.push_back(handle(o.results[i]));
  for (const Ref<Value>& v : o.attr_values()) elements.push_back(handle(v));
  op::AttrBox attrs = attributes(o, elements);
  if (!o.op->gradient) return backward_parts(o, in, attrs.get(), dys);
  op::GradCall call(*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), out,
                    std::span(dys).first(outputs), needs.data());
  Tensors dxs = o.op->gradient(call, attrs.get());
  for (size_t k = 0; k < dxs.size() && k < in.size(); ++k)
    if (needs[k] && dxs[k].defined()) add(o.operands[k], dxs[k]);
}

// An op with a kernel and no rule is opened: its composition, of copies of its operands so that
// these are told apart from what else they are used for, is appended and differentiated.
void Differentiator::backward_parts(const Operation& o, std::vector<Tensor>& in, const void* attrs,
                                    const std::vector<Tensor>& dys) {
  Differentiator parts(b_);
  for (size_t k = 0; k < in.size(); ++k) {
    if (!active(o.operands[k])) continue;
    in[k] = ops::assign(in[k]);
    parts.activate(b_.current(in[k]));
  }
  const Block& block = b_.top();
  const size_t first = block.operations.size();
  const Tensors out =
      o.op->compose(op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), attrs);
  const size_t count = block.operations.size();
  parts.mark(block, count, first);
  for (size_t i = 0; i < out.size(); ++i)
    if (dys[i].defined() && out[i].defined() && parts.active(b_.current(out[i])))
      parts.add(b_.current(out[i]), dys[i]);
  parts.backward(block, count, first);
  for (size_t k = 0; k < in.size(); ++k)
    if (active(o.operands[k]))
      if (Tensor d = parts.grad(b_.current(in[k])); d.defined()) add(o.operands[k], d);
}

// --- what gradients of blocks need ---

namespace {

// Appends (at < 0) or inserts an operation that makes `result`, without inference.
void insert(Block& block, ptrdiff_t at, std::string_view op_name, std::vector<Ref<Value>> operands,
            std::vector<uint32_t> ends, const void* attrs, const Ref<Value>& result, Role role) {
  auto o = std::make_unique<Operation>();
  o->op = &op::get(op_name);
  o->attrs = op::AttrBox(*o->op->attrs, attrs ? attrs : o->op->attrs->defaults);
  o->operands = std::move(operands);
  o->ends = std::move(ends);
  o->parent = &block;
  o->role = role;
  result->block = &block;
  result->producer = o.get();
  o->results.push_back(result);
  auto place = at < 0 ? block.operations.end() : block.operations.begin() + at;
  block.operations.insert(place, std::move(o));
}

// A value of the attribute struct of an op, with fields set by name.
struct AttrValues {
  op::AttrBox box;
  explicit AttrValues(std::string_view op_name)
      : box(*op::get(op_name).attrs, op::get(op_name).attrs->defaults) {}
  template <class T>
  T& at(std::string_view name) {
    for (const op::Field& f : box.type()->fields)
      if (f.name == name && f.kind == op::field_kind_of<T>)
        return *reinterpret_cast<T*>(static_cast<char*>(box.get()) + f.offset);
    ARGOSY_THROW(internal) << "no attribute " << std::string(name);
  }
};

}  // namespace

// Appends to a forward block an array of the saved values.
Ref<Value> Differentiator::save_in(Block& block,
                                   const std::vector<std::pair<Ref<Value>, Ref<Value>>>& saved) {
  Program& p = b_.program();
  Ref<Value> empty = p.make_value({kUnknown}, DType::float32, Layout::tensor_array);
  insert(block, -1, names::kArrayNew, {}, {}, nullptr, empty, Role::forward);
  std::vector<Ref<Value>> operands{empty};
  for (const auto& [from, here] : saved) operands.push_back(from);
  Ref<Value> bundle = p.make_value({kUnknown}, DType::float32, Layout::tensor_array);
  const auto end = static_cast<uint32_t>(operands.size());
  insert(block, -1, names::kArrayExtend, std::move(operands), {1, end}, nullptr, bundle,
         Role::forward);
  return bundle;
}

// Makes, at `at` of a gradient's block, the values that stand for saved ones from the array of
// them.
void Differentiator::load_in(Draft& draft, const Ref<Value>& bundle, size_t at) {
  for (size_t k = 0; k < draft.saved.size(); ++k) {
    const Ref<Value>& here = draft.saved[k].second;
    AttrValues attrs(names::kArrayGet);
    attrs.at<int64_t>("index") = static_cast<int64_t>(k);
    attrs.at<DType>("dtype") = here->dtype;
    attrs.at<bool>("array") = here->layout == Layout::tensor_array;
    auto& shape = attrs.at<std::vector<int64_t>>("shape");
    shape.assign(here->shape.begin(), here->shape.end());
    insert(*draft.block, static_cast<ptrdiff_t>(at + k), names::kArrayGet, {bundle}, {},
           attrs.box.get(), here, Role::backward);
  }
}

// --- if ---

void Differentiator::backward_if(Operation& o, const std::vector<Tensor>& dys) {
  std::vector<size_t> wanted;  // operands
  for (size_t i = 1; i < o.operands.size(); ++i)
    if (active(o.operands[i]) && is_differentiable(o.operands[i]->dtype)) wanted.push_back(i);
  if (wanted.empty()) return;
  Draft drafts[2];
  for (size_t side = 0; side < 2; ++side) {
    const Block& block = *o.blocks[side];
    OpenBlock recorded(b_);
    Builder::Open& open = b_.open_.back();
    open.foreign = &block;
    for (size_t i = 0; i < block.arguments.size(); ++i)
      open.known[block.arguments[i].get()] = o.operands[i + 1];
    Grads outer = std::exchange(grads_, {});
    for (size_t i = 0; i < dys.size(); ++i)
      if (dys[i].defined() && active(block.yields[i])) add(block.yields[i], dys[i]);
    backward(block, block.operations.size());
    std::vector<Tensor> yields;
    for (size_t i : wanted) {
      Tensor d = grad(block.arguments[i - 1]);
      yields.push_back(d.defined() ? ops::rows_to_dense(d) : zeros(o.operands[i]));
    }
    grads_ = std::move(outer);
    drafts[side] = recorded.end(yields);
  }
  if (!drafts[0].saved.empty() || !drafts[1].saved.empty()) {
    Ref<Value> bundle = b_.program().make_value({kUnknown}, DType::float32, Layout::tensor_array);
    bundle->block = o.parent;
    bundle->producer = &o;
    o.results.push_back(bundle);
    for (size_t side = 0; side < 2; ++side) {
      o.blocks[side]->yields.push_back(save_in(*o.blocks[side], drafts[side].saved));
      if (!drafts[side].saved.empty())
        load_in(drafts[side], b_.capture(drafts[side], b_.localize(bundle)), 0);
    }
  }
  Tensors dxs = b_.append_if(handle(o.operands[0]), std::move(drafts[0]), std::move(drafts[1]));
  for (size_t k = 0; k < wanted.size(); ++k) add(o.operands[wanted[k]], dxs[k]);
}

// --- while ---

namespace {

// A forward loop, which its gradient gives more to carry.
class ForwardLoop {
 public:
  ForwardLoop(Program& program, Operation& o)
      : program_(program), o_(o), cond_(*o.blocks[0]), body_(*o.blocks[1]) {}

  // The number of its rounds.
  Ref<Value> count_rounds() {
    Ref<Value> start = number(), step = number(), counter = number(), next = number(),
               rounds = number();
    before(names::kFull, full(0).box.get(), start);
    insert(body_, -1, names::kFull, {}, {}, full(1).box.get(), step, Role::forward);
    insert(body_, -1, names::kAdd, {counter, step}, {}, nullptr, next, Role::forward);
    carry(start, counter, number(), next, rounds);
    return rounds;
  }

  // An array of what `bundle`, an array of the body, was in each round.
  Ref<Value> keep_each(const Ref<Value>& bundle) {
    Ref<Value> empty = array(), stack = array(), pushed = array(), all = array();
    before(names::kArrayNew, nullptr, empty);
    insert(body_, -1, names::kArrayExtend, {stack, bundle}, {1, 2}, nullptr, pushed, Role::forward);
    carry(empty, stack, array(), pushed, all);
    return all;
  }

 private:
  Ref<Value> number() { return program_.make_value({}, DType::int64); }
  Ref<Value> array() {
    return program_.make_value({kUnknown}, DType::float32, Layout::tensor_array);
  }
  static AttrValues full(int64_t value) {
    AttrValues attrs(names::kFull);
    attrs.at<op::IntArray>("shape") = op::IntArray();
    attrs.at<op::Scalar>("fill_value") = op::Scalar(value);
    attrs.at<std::optional<DType>>("dtype") = DType::int64;
    return attrs;
  }
  // An operation right before the loop.
  void before(std::string_view op_name, const void* attrs, const Ref<Value>& result) {
    auto& list = o_.parent->operations;
    auto at = std::find_if(list.begin(), list.end(), [&](const auto& e) { return e.get() == &o_; });
    insert(*o_.parent, at - list.begin(), op_name, {}, {}, attrs, result, Role::forward);
  }
  // Behind what it carries: `init` at first, `argument` in a round, then `next`, `result` at last.
  void carry(const Ref<Value>& init, const Ref<Value>& argument, const Ref<Value>& in_cond,
             const Ref<Value>& next, const Ref<Value>& result) {
    const auto at = static_cast<ptrdiff_t>(o_.results.size());
    o_.operands.insert(o_.operands.begin() + at, init);
    argument->block = &body_;
    in_cond->block = &cond_;
    body_.arguments.insert(body_.arguments.begin() + at, argument);
    cond_.arguments.insert(cond_.arguments.begin() + at, in_cond);
    body_.yields.push_back(next);
    result->block = o_.parent;
    result->producer = &o_;
    o_.results.push_back(result);
  }

  Program& program_;
  Operation& o_;
  Block &cond_, &body_;
};

}  // namespace

// Goes back over a round. What the loop back carries: the number of rounds that are left, the
// gradients of moving arguments, and sums of those of fixed ones.
Draft Differentiator::back_over_round(const Operation& o, const LoopArguments& arguments,
                                      const std::vector<Tensor>& init, Ref<Value>* round) {
  const Block& body = *o.blocks[1];
  const auto& [moving, fixed] = arguments;
  OpenBlock recorded(b_);
  Builder::Open& open = b_.open_.back();
  open.foreign = &body;
  for (size_t i = o.results.size(); i < body.arguments.size(); ++i)
    open.known[body.arguments[i].get()] = o.operands[i];
  std::vector<Tensor> carried;
  for (const Tensor& t : init) carried.push_back(b_.argument(t));
  Tensor left = ops::subtract(carried[0], ops::constant(op::Scalar(int64_t{1}), DType::int64));
  *round = b_.current(left);
  Grads outer = std::exchange(grads_, {});
  for (size_t k = 0; k < moving.size(); ++k)
    if (active(body.yields[moving[k]])) add(body.yields[moving[k]], carried[1 + k]);
  backward(body, body.operations.size() - 2);  // not over the counter
  std::vector<Tensor> yields{left};
  for (size_t i : moving) {
    Tensor d = grad(body.arguments[i]);
    yields.push_back(d.defined() ? ops::rows_to_dense(d) : zeros(body.arguments[i]));
  }
  for (size_t k = 0; k < fixed.size(); ++k) {
    Tensor d = grad(body.arguments[fixed[k]]);
    const Tensor& sum = carried[1 + moving.size() + k];
    const bool array = sum.layout() == Layout::tensor_array;
    const Tensor both[] = {sum, d};
    yields.push_back(
        !d.defined() ? sum
        : array      ? ops::array_add(sum, d)
                     : (d.layout() == Layout::row_sparse ? ops::add_rows(both) : ops::add(sum, d)));
  }
  grads_ = std::move(outer);
  return recorded.end(yields);
}

// Takes what a round saved out of the array of all rounds' arrays.
void Differentiator::load_round(Draft& draft, const Ref<Value>& all, const Ref<Value>& round) {
  size_t at = 0;  // right after the number of the round
  while (draft.block->operations[at].get() != round->producer) ++at;
  Ref<Value> bundle = b_.program().make_value({kUnknown}, DType::float32, Layout::tensor_array);
  AttrValues attrs(names::kArrayRead);
  attrs.at<bool>("array") = true;
  insert(*draft.block, static_cast<ptrdiff_t>(at + 1), names::kArrayRead,
         {b_.capture(draft, b_.localize(all)), round}, {}, attrs.box.get(), bundle, Role::backward);
  load_in(draft, bundle, at + 2);
}

void Differentiator::backward_while(Operation& o, const std::vector<Tensor>& dys) {
  Block& body = *o.blocks[1];
  const size_t carried = o.results.size();
  LoopArguments arguments;
  auto& [moving, fixed] = arguments;
  for (size_t i = 0; i < body.arguments.size(); ++i)
    if (active(body.arguments[i])) (i < carried ? moving : fixed).push_back(i);

  ForwardLoop loop(b_.program(), o);
  std::vector<Tensor> init{handle(b_.localize(loop.count_rounds()))};
  for (size_t i : moving)
    init.push_back(dys[i].defined() ? ops::rows_to_dense(dys[i]) : zeros(o.results[i]));
  // The counter moved the operands behind the carried ones by one.
  for (size_t& i : fixed) init.push_back(zeros(o.operands[++i]));

  OpenBlock recorded(b_);
  std::vector<Tensor> in_cond;
  for (const Tensor& t : init) in_cond.push_back(b_.argument(t));
  const Tensor more[] = {
      ops::greater_than(in_cond[0], ops::constant(op::Scalar(int64_t{0}), DType::int64))};
  Draft condition = recorded.end(more);

  Ref<Value> round;
  Draft back = back_over_round(o, arguments, init, &round);
  if (!back.saved.empty()) load_round(back, loop.keep_each(save_in(body, back.saved)), round);
  Tensors results = b_.append_while(init, std::move(condition), std::move(back));
  // With an array of what was saved, what stays the same moved by one more.
  const size_t shift = o.results.size() - carried - 1;
  for (size_t k = 0; k < moving.size(); ++k)
    if (active(o.operands[moving[k]])) add(o.operands[moving[k]], results[1 + k]);
  for (size_t k = 0; k < fixed.size(); ++k)
    add(o.operands[fixed[k] + shift], results[1 + moving.size() + k]);
}

// --- the door ---

Tensors Builder::gradients(std::span<const Tensor> targets, std::span<const Tensor> target_grads,
                           std::span<const Tensor> wrt, std::span<const Tensor> no_grad) {
  ARGOSY_CHECK(target_grads.empty() || target_grads.size() == targets.size(), invalid_argument)
      << "[gradients] target_gradients must be as many as targets: expected " << targets.size()
      << ", got " << target_grads.size() << '.';
  op::AutocastOff as_called;
  Differentiator d(*this);
  AsTheyWere exact(*this);
  for (const Tensor& t : no_grad) d.block(current(t));
  // What a state was when the run began, and what it is now: whichever the targets depend on.
  std::vector<std::pair<Ref<Value>, Ref<Value>>> places;
  for (const Tensor& t : wrt) {
    Ref<Value> now = current(t), first = now;
    // What autograd did not see written is the same tensor still.
    while (first->producer && first->producer->op->name == op::names::kWithValues &&
           first->block == &top())
      first = first->producer->operands[0];
    if (first == now)
      for (const StateUse& s : p_.states)
        if (s.last == now || s.initial == now) first = s.initial;
    if (now != first && open_.empty()) d.activate(first);
    d.activate(now);
    places.emplace_back(first, now);
  }
  const size_t count = top().operations.size();
  d.mark(top(), count);
  p_.changed();  // also where a rule raises on the way
  const RoleScope backward(*this, Role::backward, segment);
  for (size_t i = 0; i < targets.size(); ++i) {
    Ref<Value> v = current(targets[i]);
    if (!d.active(v)) continue;
    Tensor dy = i < target_grads.size() ? target_grads[i] : Tensor();
    if (dy.defined())
      ARGOSY_CHECK(dy.rank() == v->shape.rank() && dy.dtype() == v->dtype, invalid_argument)
          << "[gradients] target_gradients[" << i << "] must have the form of its target: expected "
          << v->dtype << v->shape << ", got " << dy << '.';
    d.add(v, dy.defined() ? dy : ops::ones_like(handle(v)));
  }
  d.backward(top(), count);
  Tensors result;
  for (const auto& [first, now] : places) {
    Tensor g = d.grad(first);
    result.push_back(g.defined() ? g : d.grad(now));
  }
  return result;
}

}  // namespace argosy::program
