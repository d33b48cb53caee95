#include "argosy/passes/rewrite.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/names.h"

#include <algorithm>
#include <deque>

#include "argosy/program/attributes.h"

namespace argosy::passes {

// Where the walk is in one block.
struct Rewriter::Place {
  Block* block;
  std::deque<std::unique_ptr<Operation>> rest;  // not visited yet
  std::unique_ptr<Operation> now;
};

std::optional<size_t> input_of(const Operation& o, size_t operand) {
  if (o.op->structural || operand >= o.inputs().size()) return {};
  if (o.ends.empty()) return operand;
  return std::upper_bound(o.ends.begin(), o.ends.end(), operand) - o.ends.begin();
}

bool reads_no_memory(const Operation& o, size_t operand) {
  const Value* v = operand < o.operands.size() ? o.operands[operand].get() : nullptr;
  return v && v->producer && v->layout == Layout::strided && v->shape.known() &&
         reads_only_shape(o, operand);
}

bool same_type(const Value& a, const Value& b) {
  return a.dtype == b.dtype && a.layout == b.layout && a.shape == b.shape && a.shape.known();
}

Rewriter::Rewriter(Program& p) : p_(p), uses_(program::count_uses(p)) {
  const size_t n = p.value_count();
  leaves_.resize(n);
  constant_at_.resize(n, -1);
  for (const auto& o : p.outputs) mark_leaving(o.value);
  for (const auto& s : p.states)
    if (s.last) mark_leaving(s.last);
  mark_leaving(p.main);
  ordered_.resize(n);
  mark_ordered(p.main);
  for (size_t i = 0; i < p.constants.size(); ++i)
    if (p.constants[i].fixed) constant_at_[p.constants[i].value->id] = static_cast<int32_t>(i);
}

Rewriter::~Rewriter() {
  // After an error inside a visit: nothing is lost.
  while (!places_.empty()) leave();
  if (dropped_)
    std::erase_if(p_.constants, [](const program::Constant& c) { return !c.tensor.defined(); });
}

// v leaves, and what it is a view of.
void Rewriter::mark_leaving(const Ref<Value>& v) {
  for (const Value* now = v.get(); now;) {
    if (leaves_.size() <= now->id) leaves_.resize(now->id + 1);
    leaves_[now->id] = true;
    const Operation* o = now->producer;
    now = o && is_view(*o) ? resolve(o->operands[0]).get() : nullptr;
  }
}

// Back through the blocks whose results leave.
void Rewriter::mark_leaving(const Block& block) {
  for (size_t i = block.operations.size(); i-- > 0;) {
    const Operation& o = *block.operations[i];
    if (!o.op->structural) continue;
    const bool is_if = o.is_if();
    for (const auto& b : o.blocks) {
      if (is_if || b == o.blocks[1])
        for (size_t k = 0; k < o.results.size(); ++k)
          if (leaves(o.results[k])) mark_leaving(b->yields[k]);
      mark_leaving(*b);
      for (size_t k = 0; k < b->arguments.size(); ++k)
        if (leaves(b->arguments[k])) mark_leaving(o.operands[k + is_if]);
    }
    // A loop without a round gives what it got.
    if (!is_if)
      for (size_t k = 0; k < o.results.size(); ++k)
        if (leaves(o.results[k])) mark_leaving(o.operands[k]);
  }
}

// Is it, or is it a view of, what no operation of its block made: state, constants, feeds,
// arguments?
bool Rewriter::borrowed(const Ref<Value>& v) const {
  Ref<Value> now = v;
  while (now->producer && is_view(*now->producer)) now = resolve(now->producer->operands[0]);
  return !now->producer;
}

namespace {

// Does an op give the same bits for any strides of its operands? Kernels that do not say that they
// take any get contiguous ones.
bool any_order(const op::OpDef& op) {
  if (op.elementwise) return true;
  if (op.structural) return false;
  const auto& kernels = op.kernels[static_cast<int>(DeviceKind::cpu)];
  return std::all_of(kernels.begin(), kernels.end(),
                     [](const op::KernelDef& k) { return !k.strided || k.any_order; });
}

}  // namespace

// Back through the views of a block.
void Rewriter::mark_ordered(const Block& block) {
  for (const Ref<Value>& v : block.yields) ordered_[v->id] = true;
  for (size_t i = block.operations.size(); i-- > 0;) {
    const Operation& o = *block.operations[i];
    bool ordered = false;
    if (is_view(o))
      for (const Ref<Value>& v : o.results) ordered |= ordered_[v->id];
    else
      ordered = !any_order(*o.op);
    if (ordered)
      for (size_t k = 0; k < o.operands.size(); ++k)
        if (o.operands[k] && !reads_only_shape(o, k)) ordered_[o.operands[k]->id] = true;
    for (const auto& b : o.blocks) mark_ordered(*b);
  }
}

namespace {

bool reads_array(const Operation& o) {
  return std::any_of(o.operands.begin(), o.operands.end(),
                     [](const Ref<Value>& v) { return v && v->layout == Layout::tensor_array; });
}

}  // namespace

// Is it a view that need not be contiguous, or what may be one: feeds and arguments?
bool Rewriter::may_be_strided(const Ref<Value>& v) const {
  Ref<Value> now = v;
  while (now->producer && is_view(*now->producer)) {
    if (!now->producer->op->same_order) return true;
    now = resolve(now->producer->operands[0]);
  }
  if (now->producer)  // a yield or an element of an array may be a view
    return now->producer->op->structural || reads_array(*now->producer);
  if (!now->block) return false;
  const auto& arguments = now->block->arguments;
  return std::find(arguments.begin(), arguments.end(), now) != arguments.end();
}

// --- the walk ---

void Rewriter::enter(Block& block) {
  auto place = std::make_unique<Place>();
  place->block = &block;
  for (auto& o : block.operations) place->rest.push_back(std::move(o));
  block.operations.clear();
  places_.push_back(std::move(place));
}

Operation* Rewriter::next() {
  Place& place = *places_.back();
  if (place.now) place.block->operations.push_back(std::move(place.now));
  if (place.rest.empty()) return nullptr;
  place.now = std::move(place.rest.front());
  place.rest.pop_front();
  for (Ref<Value>& v : place.now->operands) v = resolve(v);
  return place.now.get();
}

bool Rewriter::erased() const {
  return !places_.back()->now;
}

void Rewriter::leave() {
  Place& place = *places_.back();
  if (place.now) place.block->operations.push_back(std::move(place.now));
  for (auto& o : place.rest) place.block->operations.push_back(std::move(o));
  for (Ref<Value>& v : place.block->yields) v = resolve(v);
  places_.pop_back();
}

void Rewriter::finish() {
  for (auto& s : p_.states) s.last = resolve(s.last);
  for (auto& o : p_.outputs) o.value = resolve(o.value);
  if (changed_) p_.changed();
}

Ref<Value> Rewriter::resolve(const Ref<Value>& v) const {
  Ref<Value> now = v;
  while (now && now->id < replaced_.size() && replaced_[now->id]) now = replaced_[now->id];
  return now;
}

// --- values ---

void Rewriter::use(const Ref<Value>& v, int count) {
  if (!v) return;
  if (v->id >= uses_.size()) uses_.resize(v->id + 1);
  uses_[v->id] += static_cast<uint32_t>(count);
}

namespace {

// What an argument of a block stands for, if that is the same whenever the block runs.
Ref<Value> passed(const Value& v) {
  if (v.producer || !v.block || !v.block->owner) return {};
  const Operation& owner = *v.block->owner;
  const auto& arguments = v.block->arguments;
  auto at = std::find_if(arguments.begin(), arguments.end(),
                         [&](const Ref<Value>& a) { return a.get() == &v; });
  if (at == arguments.end()) return {};
  const auto i = static_cast<size_t>(at - arguments.begin());
  if (owner.is_if()) return owner.operands[i + 1];
  return i < owner.results.size() ? Ref<Value>() : owner.operands[i];
}

}  // namespace

Tensor Rewriter::constant_of(const Ref<Value>& v) const {
  for (Ref<Value> now = v; now; now = resolve(passed(*now)))
    if (now->id < constant_at_.size() && constant_at_[now->id] >= 0)
      return p_.constants[static_cast<size_t>(constant_at_[now->id])].tensor;
  return {};
}

namespace {

// Is every element of its first result one of its first operand? Of views of nothing, not all are:
// some ops then make something.
bool shows_first(const Operation& o) {
  if (o.op->same_order) return true;
  const Value* x = is_view(o) ? o.operands[0].get() : nullptr;
  return x && x->dtype == o.results[0]->dtype && x->shape.known() && x->shape.numel() > 0;
}

// Is every element of a known tensor the same, bit for bit?
bool is_uniform(const Tensor& t) {
  if (t.numel() == 0 || t.layout() != Layout::strided) return false;
  bool one = true;  // element, seen many times
  for (int d = 0; d < t.rank(); ++d) one &= t.dim(d) == 1 || t.strides()[d] == 0;
  if (one) return true;
  if (!t.is_contiguous()) return false;
  const size_t size = item_size(t.dtype());
  const char* data = static_cast<const char*>(t.raw());
  return !std::memcmp(data, data + size, t.nbytes() - size);
}

}  // namespace

std::optional<op::Scalar> Rewriter::uniform(const Ref<Value>& v) const {
  for (Ref<Value> now = v; now; now = resolve(passed(*now))) {
    if (now->producer) {
      const Operation& o = *now->producer;
      if (shows_first(o)) return uniform(resolve(o.operands[0]));
      if (!o.op->fills || o.attr_operands) return {};
      const auto number = o.op->fills(o.attrs.get());
      return number && number->kind != op::Scalar::Kind::complex ? number : std::nullopt;
    }
    Tensor t = constant_of(now);
    if (!t.defined()) continue;
    if (is_complex(t.dtype()) || t.numel() > 4096 || !is_uniform(op::to_host(t))) return {};
    return program::number_in(t.view({}, {}));
  }
  return {};
}

// --- rewriting ---

bool Rewriter::replace(const Ref<Value>& from_value, Ref<Value> to) {
  const Ref<Value> from = from_value;  // may be an element of what changes
  to = resolve(to);
  if (from == to || from->dtype != to->dtype || from->layout != to->layout ||
      from->shape.rank() != to->shape.rank())
    return false;
  ARGOSY_INVARIANT(from->block == to->block);
  // What is fetched or becomes state must not share memory with another of these, nor with a state,
  // a constant or what was fed.
  if (leaves(from) && (borrowed(to) || leaves(to))) return false;
  const bool ordered = from->id < ordered_.size() && ordered_[from->id];
  if (ordered && may_be_strided(to) && !may_be_strided(from)) return false;
  // Sizes that either knows, both know now.
  for (int d = 0; d < to->shape.rank(); ++d)
    if (to->shape[d] == kUnknown) to->shape[d] = from->shape[d];
  if (to->name.empty() && to->producer) to->name = from->name;
  if (leaves(from)) mark_leaving(to);
  if (ordered) {
    if (ordered_.size() <= to->id) ordered_.resize(to->id + 1);
    ordered_[to->id] = true;
  }
  stand_in(from, to);
  return true;
}

void Rewriter::stand_in(const Ref<Value>& from, const Ref<Value>& to) {
  if (replaced_.size() < p_.value_count()) replaced_.resize(p_.value_count());
  replaced_[from->id] = to;
  use(to, static_cast<int>(uses(from)));
  use(from, -static_cast<int>(uses(from)));
  changed_ = true;
}

void Rewriter::set_operand(Operation& o, size_t i, const Ref<Value>& v) {
  use(v, 1);
  use(o.operands[i], -1);
  o.operands[i] = v;
  changed_ = true;
}

void Rewriter::set_operands(Operation& o, std::vector<Ref<Value>> operands,
                            uint32_t attr_operands) {
  for (const Ref<Value>& v : operands) use(v, 1);
  for (const Ref<Value>& v : o.operands) use(v, -1);
  o.operands = std::move(operands);
  o.attr_operands = attr_operands;
  changed_ = true;
}

void Rewriter::drop(const Ref<Value>& v) {
  if (v->id >= constant_at_.size() || constant_at_[v->id] < 0 || uses(v) || leaves(v)) return;
  p_.constants[static_cast<size_t>(constant_at_[v->id])].tensor = Tensor();
  constant_at_[v->id] = -1;
  dropped_ = true;
}

void Rewriter::erase() {
  Place& place = *places_.back();
  for (const Ref<Value>& v : place.now->operands) use(v, -1);
  for (const Ref<Value>& v : place.now->results) {
    v->producer = nullptr;
    v->block = nullptr;
  }
  place.now = nullptr;
  changed_ = true;
}

Operation& Rewriter::insert(std::string_view op_name, std::vector<Ref<Value>> operands,
                            op::AttrBox attrs, std::vector<uint32_t> ends) {
  Place& place = *places_.back();
  auto o = std::make_unique<Operation>();
  o->op = &op::get(op_name);
  o->attrs = std::move(attrs);
  o->operands = std::move(operands);
  o->ends = std::move(ends);
  o->parent = place.block;
  o->role = place.now->role;
  o->location = place.now->location;
  for (Ref<Value>& v : o->operands) {
    v = resolve(v);
    use(v, 1);
  }
  ARGOSY_INVARIANT(o->op->updates.empty() && o->op->writes.empty());
  for (size_t i = 0; i < o->op->outputs.size(); ++i) {
    Ref<Value> v = p_.make_value({}, DType::float32);
    v->block = place.block;
    v->producer = o.get();
    o->results.push_back(v);
  }
  program::infer_operation(*o);
  for (const Ref<Value>& v : o->results)
    for (const Ref<Value>& x : o->operands) v->requires_grad |= x && x->requires_grad;
  place.block->operations.push_back(std::move(o));
  changed_ = true;
  return *place.block->operations.back();
}

Operation& Rewriter::insert(std::string_view op_name, std::vector<Ref<Value>> operands) {
  return insert(op_name, std::move(operands), default_attrs(op::get(op_name)));
}

Operation& Rewriter::insert_copy(const Operation& of, std::vector<Ref<Value>> operands) {
  ARGOSY_INVARIANT(!of.op->structural);
  Place& place = *places_.back();
  auto o = of.copy_without_values();
  o->operands = std::move(operands);
  o->parent = place.block;
  o->role = place.now->role;
  o->segment = 0;
  for (Ref<Value>& v : o->operands) {
    v = resolve(v);
    use(v, 1);
  }
  for (const Ref<Value>& old : of.results) {
    Ref<Value> v = p_.make_value(old->shape, old->dtype, old->layout);
    v->block = place.block;
    v->producer = o.get();
    v->requires_grad = old->requires_grad;
    v->stop = old->stop;
    o->results.push_back(v);
  }
  place.block->operations.push_back(std::move(o));
  changed_ = true;
  return *place.block->operations.back();
}

bool Rewriter::replace_with(const Ref<Value>& from, std::string_view op_name,
                            std::vector<Ref<Value>> operands, op::AttrBox attrs) {
  return replace(from, insert(op_name, std::move(operands), std::move(attrs)).results[0]);
}

Ref<Value> Rewriter::constant(const Tensor& t) {
  Ref<Value> v = p_.make_value(t.shape(), t.dtype(), t.layout());
  v->block = &p_.main;
  constant_at_.resize(v->id + 1, -1);
  constant_at_[v->id] = static_cast<int32_t>(p_.constants.size());
  p_.constants.push_back({v, t, true});
  changed_ = true;
  return import(*places_.back()->block, v);
}

// A constant of the main block as an argument of a block inside.
Ref<Value> Rewriter::import(Block& block, const Ref<Value>& constant) {
  if (!block.owner) return constant;
  Operation& owner = *block.owner;
  const Ref<Value> outer = import(*owner.parent, constant);
  Ref<Value> mine;
  owner.operands.push_back(outer);
  use(outer, 1);
  for (const auto& b : owner.blocks) {
    Ref<Value> v = p_.make_value(constant->shape, constant->dtype, constant->layout);
    v->block = b.get();
    b->arguments.push_back(v);
    if (b.get() == &block) mine = v;
  }
  return mine;
}

void Rewriter::inline_block(Block& inner, std::span<const Ref<Value>> arguments) {
  Place& place = *places_.back();
  Block& outer = *place.block;
  Operation& now = *place.now;
  // A result that leaves and has no memory of its own gets some, after the block's operations.
  std::vector<std::unique_ptr<Operation>> copies;
  std::vector<Ref<Value>> given;
  for (size_t i = 0; i < now.results.size(); ++i) {
    const Ref<Value>& from = now.results[i];
    Ref<Value> to = inner.yields[i];
    const bool twice = std::find(given.begin(), given.end(), to) != given.end();
    given.push_back(to);
    use(to, -1);
    if (leaves(from) && (twice || borrowed(to))) {
      insert(op::names::kAssign, {to});
      copies.push_back(std::move(outer.operations.back()));
      outer.operations.pop_back();
      to = copies.back()->results[0];
    }
    stand_in(from, to);
    if (leaves(from)) mark_leaving(to);
    if (to->name.empty()) to->name = from->name;
  }
  inner.yields.clear();
  for (size_t i = 0; i < arguments.size(); ++i) {
    stand_in(inner.arguments[i], resolve(arguments[i]));
    inner.arguments[i]->block = nullptr;
  }
  inner.arguments.clear();
  for (size_t i = copies.size(); i-- > 0;) place.rest.push_front(std::move(copies[i]));
  for (size_t i = inner.operations.size(); i-- > 0;) {
    std::unique_ptr<Operation>& o = inner.operations[i];
    o->parent = &outer;
    for (const Ref<Value>& v : o->results) v->block = &outer;
    place.rest.push_front(std::move(o));
  }
  inner.operations.clear();
  erase();
}

}  // namespace argosy::passes
