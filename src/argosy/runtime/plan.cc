#include "argosy/runtime/plan.h"

#include <algorithm>
#include <chrono>
#include <set>

#include "argosy/base/device.h"
#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/launch.h"
#include "argosy/passes/pass.h"
#include "argosy/passes/rewrite.h"
#include "argosy/program/builder.h"
#include "argosy/program/state.h"
#include "argosy/runtime/chains.h"
#include "argosy/runtime/frame.h"
#include "argosy/runtime/lower.h"
#include "argosy/runtime/place_memory.h"
#include "argosy/runtime/places.h"
#include "argosy/runtime/schedule.h"

namespace argosy::runtime {

using program::Block;
using program::Operation;
using program::Program;
using program::StateUse;
using program::Value;

Plan::Plan() = default;
Plan::~Plan() = default;

namespace {

constexpr uint32_t kEnd = UINT32_MAX - 1;  // used until the end of the block
constexpr uint32_t kNever = UINT32_MAX;

// The same form over memory that cannot be read.
Tensor null_view(const Tensor& t) {
  const Place null{DeviceKind::null, 0};
  void* nothing = reinterpret_cast<void*>(uintptr_t{1} << 40);
  return Tensor::wrap(nothing, t.shape(), t.strides(), t.dtype(), null, nullptr, [](void*) {});
}

}  // namespace

Tensor constant_at(const Tensor& t, Place place) {
  const Tensor dense = op::contiguous(t);
  return place.kind == DeviceKind::null ? dense : op::to_place(dense, place);
}

// Values that share memory: a slot with all values written into it one after the other, and the
// views of these.
struct Group {
  uint32_t slot = kNone;
  std::vector<uint32_t> values;  // ids
  bool writable = false;
  bool escaped = false;             // some array keeps a handle of it
  uint32_t first = 0, last = 0;     // steps; last may be kEnd
  const StateUse* state = nullptr;  // whose memory it is
};

class Planner {
 public:
  Planner(Plan& plan, Program& p, const Request& request, program::Scope* scope)
      : plan_(plan),
        p_(p),
        request_(request),
        places_(p, plan.place, scope),
        slot_(p.value_count(), kNone),
        group_(p.value_count(), kNone),
        last_use_(p.value_count(), kNever),
        fresh_(p.value_count()),
        chain_(p.value_count()) {
    const bool exchanged = communicates(p.main);
    for (const Place place : places_.all()) plan_.arenas.push_back({place, 0, exchanged});
  }

  void find_numbers();
  void run(std::span<const Ref<Value>> fetches);
  std::set<const Operation*> doubtful;  // left to dispatch

 private:
  struct BlockState {
    std::vector<uint32_t> groups;
    BlockMemory memory;
  };

  bool loop_body(const Block& b) const {
    return b.owner && b.owner->is_while() && b.owner->blocks[1].get() == &b;
  }
  void find_uses(const Block& b);
  void find_chains();
  void block(const Block& b, uint32_t index);
  void operation(const Operation& o, uint32_t at, BlockState& state);
  bool may_stay_unread(const Operation& o, Place place) const;
  Tensors choose(const Operation& o, Step& step, std::vector<Tensor>& protos) const;
  void view_results(const Operation& o, Step& step, const Tensors& views);
  static std::vector<std::pair<size_t, size_t>> written_by(const Operation& o);
  void write_operand(const Operation& o, uint32_t at, Step& step, size_t k,
                     const Ref<Value>& result, BlockState& state);
  std::optional<size_t> taken_over(const Operation& o, uint32_t at, const Step& step, bool last);
  void new_result(const Operation& o, uint32_t at, Step& step, size_t i,
                  std::span<const Tensor> protos, BlockState& state);
  void copy_into_order(const Operation& o, uint32_t at, Step& step, BlockState& state);
  void structural(const Operation& o, uint32_t at, Step& step, BlockState& state);
  void finish_block(const Block& b, uint32_t index, BlockState& state);

  uint32_t home_of(const Value& v) const;
  uint32_t make_slot(const Value& v, MemorySlot::Kind kind);
  uint32_t make_group(const Ref<Value>& v, MemorySlot::Kind kind, uint32_t at, BlockState* state);
  void join(const Ref<Value>& v, uint32_t group, uint32_t slot);
  bool may_overwrite(const Operation& o, size_t k, const Value& result, uint32_t at,
                     bool elementwise);
  Group& group_of(const Value& v) { return groups_[group_[v.id]]; }
  Tensor proto(const Ref<Value>& v) const;
  bool lays_last(const Operation& o, const Step& step, std::span<const Tensor> in) const;
  static bool dense(const Ref<Value>& v) {
    return !v || (v->layout == Layout::strided && v->shape.known());
  }
  // Python functions, say, which get tensors that they may keep.
  static bool calls_out(const Operation& o) { return o.op->effect == op::Effect::io; }
  static const uint32_t* ends_of(const Operation& o) {
    return o.ends.empty() ? nullptr : o.ends.data();
  }
  // Holds handles of what was put into it. (Row-sparse values have memory of their own.)
  static bool is_array(const Ref<Value>& v) { return v && v->layout == Layout::tensor_array; }

  Plan& plan_;
  Program& p_;
  const Request& request_;
  const Places places_;
  // By id.
  std::vector<uint32_t> slot_, group_, last_use_;
  std::vector<bool> fresh_;             // must not live in the arena
  std::vector<const StateUse*> chain_;  // may be written into this state's memory
  std::vector<Group> groups_;
  std::vector<BlockMemory> memory_;  // of each block
  uint32_t block_begin_ = 0;         // first step of the block being planned
  std::vector<uint32_t> last_;       // of slots, as find_chains wants it
};

// --- slots and groups ---

// Sums of these over a plan do not overflow.
size_t bytes_of(const Value& v) {
  constexpr size_t kAddresses = size_t{1} << 47;
  const auto n = static_cast<size_t>(v.shape.numel());
  ARGOSY_CHECK(n <= kAddresses / item_size(v.dtype), memory)
      << "A tensor of shape " << v.shape
      << " takes more bytes than a machine has addresses. Do this: check how the shape was "
         "computed.";
  return n * item_size(v.dtype);
}

uint32_t Planner::home_of(const Value& v) const {
  const auto home = std::ranges::find(plan_.arenas, places_.of(v), &Arena::place);
  return static_cast<uint32_t>(home - plan_.arenas.begin());
}

uint32_t Planner::make_slot(const Value& v, MemorySlot::Kind kind) {
  MemorySlot s;
  s.kind = kind;
  s.known = v.layout == Layout::strided && v.shape.known();
  s.dtype = v.dtype;
  s.layout = v.layout;
  s.shape = v.shape;
  s.id = v.id;
  s.home = home_of(v);
  if (s.known) {
    s.strides = v.shape.contiguous_strides();
    s.nbytes = bytes_of(v);
  } else if (kind == MemorySlot::Kind::arena) {
    s.kind = MemorySlot::Kind::fresh;
  }
  plan_.slots.push_back(s);
  return static_cast<uint32_t>(plan_.slots.size() - 1);
}

uint32_t Planner::make_group(const Ref<Value>& v, MemorySlot::Kind kind, uint32_t at,
                             BlockState* state) {
  const auto index = static_cast<uint32_t>(groups_.size());
  groups_.emplace_back();
  Group& g = groups_.back();
  g.slot = make_slot(*v, kind);
  g.first = g.last = at;
  g.writable = kind != MemorySlot::Kind::bound;
  if (state) state->groups.push_back(index);
  join(v, index, g.slot);
  return index;
}

void Planner::join(const Ref<Value>& v, uint32_t group, uint32_t slot) {
  Group& g = groups_[group];
  g.values.push_back(v->id);
  group_[v->id] = group;
  slot_[v->id] = slot;
  if (last_use_[v->id] != kNever) g.last = std::max(g.last, last_use_[v->id]);
  if (fresh_[v->id] && slot == g.slot && plan_.slots[slot].kind == MemorySlot::Kind::arena)
    plan_.slots[slot].kind = MemorySlot::Kind::fresh;
}

Tensor Planner::proto(const Ref<Value>& v) const {
  if (!v) return {};
  Tensor t = prototype(*v, places_.of(*v));
  const MemorySlot& s = plan_.slots[slot_[v->id]];
  if (s.kind != MemorySlot::Kind::view && !s.laid_last) return t;
  return t.view(s.shape, s.strides, 0);
}

// --- uses ---

void Planner::find_uses(const Block& b) {
  std::vector<std::pair<uint32_t, uint32_t>> shape_uses;
  for (uint32_t i = 0; i < b.operations.size(); ++i) {
    const Operation& o = *b.operations[i];
    bool keeps = false;  // results hold handles of operands
    for (const Ref<Value>& v : o.results) keeps = keeps || is_array(v);
    for (const auto& inner : o.blocks)
      program::each_operation(*inner, [&](const Operation& n) {
        for (const Ref<Value>& v : n.results) keeps = keeps || is_array(v);
      });
    for (size_t k = 0; k < o.operands.size(); ++k) {
      const Ref<Value>& v = o.operands[k];
      if (!v) continue;
      if (passes::reads_no_memory(o, k)) {
        shape_uses.emplace_back(v->id, i);
        continue;
      }
      last_use_[v->id] = i;
      if (keeps && !is_array(v)) fresh_[v->id] = true;
    }
    for (const auto& inner : o.blocks) find_uses(*inner);
  }
  for (const auto& [id, i] : shape_uses)
    if (fresh_[id]) last_use_[id] = last_use_[id] == kNever ? i : std::max(last_use_[id], i);
  for (const Ref<Value>& v : b.yields) {
    if (!v) continue;
    last_use_[v->id] = kEnd;
    fresh_[v->id] = true;
  }
}

// Which results may be written into state's own memory: those on the way from `initial` to `last`
// through operations that write their operand. If the run fails, state has the last of these
// written, so nothing but them may ever be there; only `last` itself may come from another
// operation.
void Planner::find_chains() {
  for (const StateUse& s : p_.states) {
    if (!s.last || s.last == s.initial) continue;
    std::vector<const Value*> chain;
    const Value* v = s.last.get();
    while (v && v != s.initial.get()) {
      chain.push_back(v);
      const Operation* o = v->producer;
      const Value* from = nullptr;
      if (!o || o->op->structural || v->block != &p_.main) break;
      size_t result = 0;
      while (o->results[result].get() != v) ++result;
      const size_t outputs = o->outputs();
      if (!o->op->writes.empty() && result < outputs) {
        size_t next = 0;
        const op::Inputs places({}, o->ends.empty() ? nullptr : o->ends.data());
        for (uint32_t i : o->op->writes) {
          const size_t begin = places.place_of(i), end = o->ends.empty() ? begin + 1 : o->ends[i];
          for (size_t k = begin; k < end; ++k)
            if (next++ == result) from = o->operands[k].get();
        }
      } else if (result >= outputs) {
        from = o->operands[o->updated_inputs()[result - outputs]].get();
      } else if (v == s.last.get() && (o->op->elementwise || o->op->overwrites)) {
        for (const Ref<Value>& x : o->operands)
          if (x == s.initial) from = x.get();
        if (!from && !o->operands.empty()) from = o->operands[0].get();
      }
      v = from;
    }
    if (v == s.initial.get())
      for (const Value* c : chain) chain_[c->id] = &s;
  }
}

// May operation o, step `at`, put `result` where operand k is? Not if anybody reads the old value,
// also through a view, later or in the same operation.
bool Planner::may_overwrite(const Operation& o, size_t k, const Value& result, uint32_t at,
                            bool elementwise) {
  const Value& x = *o.operands[k];
  Group& g = group_of(x);
  if (slot_[x.id] != g.slot || g.escaped) return false;
  if (!g.writable && !(g.state && chain_[result.id] == g.state)) return false;
  if (x.layout != result.layout || x.dtype != result.dtype) return false;
  if (places_.several() && places_.of(x) != places_.of(result)) return false;
  if (x.layout == Layout::strided && x.shape != result.shape) return false;
  if (x.layout == Layout::strided && !x.shape.known()) return false;
  for (uint32_t v : g.values)
    if (last_use_[v] != kNever && last_use_[v] > at) return false;
  for (size_t j = 0; j < o.operands.size(); ++j) {
    if (j == k || !o.operands[j] || group_[o.operands[j]->id] != group_[x.id]) continue;
    if (!elementwise || o.operands[j].get() != &x) return false;
  }
  return true;
}

// --- operations ---

// Shall its first result, an image, have channels last in memory?
bool Planner::lays_last(const Operation& o, const Step& step, std::span<const Tensor> in) const {
  if (step.kind != Step::Kind::kernel || !step.kernel || step.place.kind == DeviceKind::cpu)
    return false;
  const Value& v = *o.results[0];
  if (!v.shape.known() || v.shape.rank() != 4) return false;
  return op::launcher(step.place.kind)
      .lays_last(*step.kernel, *o.op, op::Inputs(in, ends_of(o)), o.attrs.get(),
                 prototype(v, step.place));
}

// May a kernel read the numbers among its attributes that are values, where they lie?
bool Planner::may_stay_unread(const Operation& o, Place place) const {
  if (place.kind == DeviceKind::cpu || place.kind == DeviceKind::null) return false;
  std::vector<Tensor> numbers;
  for (const Ref<Value>& v : o.attr_values()) {
    if (!v->shape.known() || places_.of(*v) != place) return false;
    numbers.push_back(proto(v));
  }
  return program::unread_attributes(o, numbers).get() != nullptr;
}

// How an operation runs: fills kind, kernel and place. Returns the results of Kind::view; `protos`
// gets the operands' forms where kernels were asked.
Tensors Planner::choose(const Operation& o, Step& step, std::vector<Tensor>& protos) const {
  step.kind = Step::Kind::dispatch;
  const std::optional<Place> place = places_.runs_on(o);
  step.place = place.value_or(plan_.place);
  const bool all_dense =
      std::ranges::all_of(o.operands, dense) && std::ranges::all_of(o.results, dense);
  if (!all_dense || calls_out(o) || !place || doubtful.count(&o)) return {};
  if (o.attr_operands && !may_stay_unread(o, *place)) return {};
  for (const Ref<Value>& v : o.inputs()) protos.push_back(proto(v));
  const op::Inputs in(protos, ends_of(o));
  const op::KernelDef* kernel = op::find_kernel(*o.op, in, step.attrs, place->kind);
  if (!kernel && o.op->compose) return {};
  if (o.attr_operands && !(kernel && kernel->reads_numbers)) return {};
  Tensors views;
  if (o.op->view || o.op->views) {
    // On the null place, where a function that copies after all does no harm.
    const Tensor source = null_view(protos[0]);
    views = op::views_of(*o.op, source, step.attrs);
    protos[0] = source;
    for (const Tensor& v : views)
      if (v.impl()->storage != source.impl()->storage) return {};
  }
  if (!views.empty() && views.size() == o.results.size()) {
    step.kind = Step::Kind::view;
    return views;
  }
  if (kernel || place->kind == DeviceKind::null) {
    step.kind = Step::Kind::kernel;
    step.kernel = place->kind == DeviceKind::null ? nullptr : kernel;
  }
  return {};
}

void Planner::view_results(const Operation& o, Step& step, const Tensors& views) {
  const uint32_t from = slot_[o.operands[0]->id];
  for (size_t i = 0; i < o.results.size(); ++i) {
    const uint32_t made = make_slot(*o.results[i], MemorySlot::Kind::view);
    MemorySlot& s = plan_.slots[made];
    const MemorySlot& source = plan_.slots[from];
    const bool chained = source.kind == MemorySlot::Kind::view;
    s.base = chained ? source.base : from;
    s.offset = views[i].impl()->offset + (chained ? source.offset : 0);
    s.strides = views[i].strides();
    join(o.results[i], group_[o.operands[0]->id], made);
    step.out.push_back(made);
  }
}

// The operands that an operation writes, and the results that these become.
std::vector<std::pair<size_t, size_t>> Planner::written_by(const Operation& o) {
  std::vector<std::pair<size_t, size_t>> written;
  size_t result = 0;
  const op::Inputs places({}, ends_of(o));
  for (uint32_t i : o.op->writes) {
    const size_t begin = places.place_of(i), end = o.ends.empty() ? begin + 1 : o.ends[i];
    for (size_t k = begin; k < end; ++k) written.emplace_back(k, result++);
  }
  const std::vector<size_t> updated = o.updated_inputs();
  for (size_t i = 0; i < updated.size(); ++i) written.emplace_back(updated[i], o.outputs() + i);
  return written;
}

// Writes operand k where it is, or a copy of it.
void Planner::write_operand(const Operation& o, uint32_t at, Step& step, size_t k,
                            const Ref<Value>& result, BlockState& state) {
  const uint32_t from = slot_[o.operands[k]->id];
  if (!plan_.slots[from].laid_last && may_overwrite(o, k, *result, at, false)) {
    join(result, group_[o.operands[k]->id], from);
    ++plan_.report_.in_place;
    return;
  }
  make_group(result, MemorySlot::Kind::arena, at, &state);
  step.copies.push_back({from, slot_[result->id]});
  step.in[k] = slot_[result->id];
  ++plan_.report_.copies;
}

// The operand whose memory result 0 takes over, or none.
std::optional<size_t> Planner::taken_over(const Operation& o, uint32_t at, const Step& step,
                                          bool last) {
  if (step.kind != Step::Kind::kernel) return std::nullopt;
  if (!o.op->overwrites && !(o.op->elementwise && o.outputs() == 1)) return std::nullopt;
  const size_t candidates =
      o.op->elementwise ? o.operands.size() : std::min<size_t>(o.operands.size(), 1);
  for (size_t k = 0; k < candidates; ++k)
    if (o.operands[k] && plan_.slots[slot_[o.operands[k]->id]].laid_last == last &&
        may_overwrite(o, k, *o.results[0], at, o.op->elementwise))
      return k;
  return std::nullopt;
}

// Memory for result i of an operation that writes none of its operands.
void Planner::new_result(const Operation& o, uint32_t at, Step& step, size_t i,
                         std::span<const Tensor> protos, BlockState& state) {
  const Ref<Value>& result = o.results[i];
  const bool last = i == 0 && lays_last(o, step, protos);
  const std::optional<size_t> from = i == 0 ? taken_over(o, at, step, last) : std::nullopt;
  if (from) {
    join(result, group_[o.operands[*from]->id], slot_[o.operands[*from]->id]);
    ++plan_.report_.in_place;
  } else if (step.kind == Step::Kind::dispatch && step.may_view && o.operands[0] &&
             !is_array(o.operands[0])) {
    // It may turn out to be a view when it runs.
    const uint32_t made = make_slot(*result, MemorySlot::Kind::fresh);
    plan_.slots[made].base = slot_[o.operands[0]->id];
    join(result, group_[o.operands[0]->id], made);
  } else {
    Group& g = groups_[make_group(result, MemorySlot::Kind::arena, at, &state)];
    // An element of an array is also in the array.
    const bool element = std::ranges::any_of(o.operands, is_array) && !is_array(result);
    if (element || calls_out(o)) g.writable = false;
    MemorySlot& made = plan_.slots[g.slot];
    if (step.kind == Step::Kind::dispatch && made.kind == MemorySlot::Kind::arena)
      made.kind = MemorySlot::Kind::fresh;
    // What leaves the plan, and what nested blocks get, is contiguous.
    if (last && made.kind == MemorySlot::Kind::arena) {
      const Shape& n = made.shape;
      made.strides = {n[1] * n[2] * n[3], 1, n[1] * n[3], n[1]};
      made.laid_last = true;
    }
  }
  step.out.push_back(slot_[result->id]);
}

// Kernels that want dense operands get copies of views that are not.
void Planner::copy_into_order(const Operation& o, uint32_t at, Step& step, BlockState& state) {
  if (!step.kernel || step.kernel->strided) return;
  for (size_t k = 0; k < step.in.size(); ++k) {
    const uint32_t from = step.in[k];
    if (from == kNone || passes::reads_no_memory(o, k)) continue;
    if (proto(o.operands[k]).is_contiguous()) continue;
    Value dense_form;
    dense_form.shape = plan_.slots[from].shape;
    dense_form.dtype = plan_.slots[from].dtype;
    dense_form.id = plan_.slots[from].id;
    const uint32_t made = make_slot(dense_form, MemorySlot::Kind::arena);
    state.memory.add(plan_, made, at, at);
    step.copies.push_back({from, made});
    step.in[k] = made;
  }
}

void Planner::operation(const Operation& o, uint32_t at, BlockState& state) {
  Step step;
  step.operation = &o;
  step.attrs = o.attrs.get();
  for (const Ref<Value>& v : o.operands) step.in.push_back(v ? slot_[v->id] : kNone);
  if (o.op->structural) {
    structural(o, at, step, state);
    plan_.steps[block_begin_ + at] = std::move(step);
    return;
  }
  const bool into_array = std::ranges::any_of(o.results, is_array);
  step.keeps_inputs = into_array || calls_out(o);
  step.may_view = static_cast<bool>(o.op->view) || o.op->views;
  if (into_array)
    for (const Ref<Value>& v : o.operands)
      if (v && !is_array(v)) group_of(*v).escaped = true;

  std::vector<Tensor> protos;
  const Tensors views = choose(o, step, protos);
  if (step.kind == Step::Kind::view) {
    view_results(o, step, views);
  } else {
    const std::vector<std::pair<size_t, size_t>> written = written_by(o);
    for (auto [k, r] : written)
      if (o.operands[k]) write_operand(o, at, step, k, o.results[r], state);
    if (o.op->writes.empty())
      for (size_t i = 0; i < o.outputs(); ++i) new_result(o, at, step, i, protos, state);
    else
      for (auto [k, r] : written) step.out.push_back(step.in[k]);
    copy_into_order(o, at, step, state);
  }
  plan_.steps[block_begin_ + at] = std::move(step);
}

void Planner::structural(const Operation& o, uint32_t at, Step& step, BlockState& state) {
  const bool loop = o.is_while();
  step.kind = loop ? Step::Kind::loop : Step::Kind::branch;
  // Arrays keep handles of what is put into them, and what is read from one is also in it.
  bool arrays = false;
  for (const Ref<Value>& v : o.operands) arrays = arrays || is_array(v);
  for (const auto& inner : o.blocks)
    program::each_operation(*inner, [&](const Operation& n) {
      for (const Ref<Value>& v : n.operands) arrays = arrays || is_array(v);
      for (const Ref<Value>& v : n.results) arrays = arrays || is_array(v);
    });
  for (const Ref<Value>& v : o.operands)
    if (arrays && !is_array(v)) group_of(*v).escaped = true;
  for (const Ref<Value>& v : o.results) {
    const uint32_t g = make_group(v, MemorySlot::Kind::fresh, at, &state);
    if (arrays && !is_array(v)) groups_[g].writable = false;
    step.out.push_back(slot_[v->id]);
  }
  const uint32_t begin = block_begin_;
  // A body first: a condition reads its arguments.
  for (int i : {1, 0}) {
    const Block& inner = *o.blocks[static_cast<size_t>(i)];
    const auto index = static_cast<uint32_t>(plan_.blocks.size());
    plan_.blocks.emplace_back();
    step.blocks[i] = index;
    if (loop && i == 0)
      for (size_t k = 0; k < inner.arguments.size(); ++k) {
        const Ref<Value>& body = o.blocks[1]->arguments[k];
        slot_[inner.arguments[k]->id] = slot_[body->id];
        groups_.emplace_back();
        groups_.back().slot = slot_[body->id];
        groups_.back().values.push_back(inner.arguments[k]->id);
        group_[inner.arguments[k]->id] = static_cast<uint32_t>(groups_.size() - 1);
      }
    block(inner, index);
    state.memory.add_block(plan_, index, at);
  }
  block_begin_ = begin;
}

// --- blocks ---

void Planner::block(const Block& b, uint32_t index) {
  const auto begin = static_cast<uint32_t>(plan_.steps.size());
  const auto count = static_cast<uint32_t>(b.operations.size());
  plan_.steps.resize(begin + count);
  plan_.blocks[index].begin = begin;
  plan_.blocks[index].end = begin + count;
  BlockState state;
  for (size_t i = 0; i < b.arguments.size(); ++i) {
    const Ref<Value>& v = b.arguments[i];
    if (slot_[v->id] == kNone) {
      const uint32_t g = make_group(v, MemorySlot::Kind::bound, 0, &state);
      if (loop_body(b) && i < b.yields.size()) groups_[g].writable = true;
    }
    plan_.blocks[index].arguments.push_back(slot_[v->id]);
  }
  for (uint32_t i = 0; i < count; ++i) {
    block_begin_ = begin;
    operation(*b.operations[i], i, state);
  }
  finish_block(b, index, state);
  if (memory_.size() <= index) memory_.resize(index + 1);
  memory_[index] = std::move(state.memory);
}

void Planner::finish_block(const Block& b, uint32_t index, BlockState& state) {
  BlockPlan& plan = plan_.blocks[index];
  const uint32_t count = plan.end - plan.begin;
  for (const Ref<Value>& v : b.yields) plan.yields.push_back(v ? slot_[v->id] : kNone);

  if (loop_body(b)) {
    for (size_t i = 0; i < b.yields.size(); ++i) {
      const Group& argument = group_of(*b.arguments[i]);
      bool owns = argument.escaped;
      for (uint32_t v : argument.values)
        owns = owns || (v != b.arguments[i]->id && slot_[v] == argument.slot);
      const uint32_t group = group_[b.yields[i]->id];
      const Group& yielded = groups_[group];
      bool exclusive = slot_[b.yields[i]->id] == yielded.slot && yielded.writable &&
                       !yielded.escaped &&
                       plan_.slots[yielded.slot].kind == MemorySlot::Kind::fresh;
      for (size_t k = 0; k < b.yields.size(); ++k)
        exclusive = exclusive && (k == i || group_[b.yields[k]->id] != group);
      plan.owns_argument.push_back(owns);
      plan.copies_yield.push_back(owns && !exclusive && plan.yields[i] != plan.arguments[i]);
    }
    // What the next round writes in place must not be what it carries elsewhere, too.
    for (size_t i = 0; i < b.yields.size(); ++i)
      for (size_t k = 0; k < b.yields.size() && plan.yields[i] != plan.arguments[i]; ++k)
        if (plan.owns_argument[k] && group_[b.arguments[k]->id] == group_[b.yields[i]->id])
          plan.copies_yield[i] = true;
  }

  last_.resize(plan_.slots.size(), kNone);
  for (uint32_t i : state.groups) {
    const Group& g = groups_[i];
    const MemorySlot& s = plan_.slots[g.slot];
    const bool ends = s.kind == MemorySlot::Kind::arena && !g.escaped && g.last < count;
    last_[g.slot] = ends ? plan.begin + g.last : kNone;
    std::vector<uint32_t> all;
    for (uint32_t v : g.values) all.push_back(slot_[v]);
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    if (s.kind == MemorySlot::Kind::arena) {
      state.memory.add(plan_, g.slot, g.first, std::min(g.last, count));
      continue;
    }
    for (uint32_t slot : all) plan.transients.push_back(slot);
    if (s.kind != MemorySlot::Kind::fresh) continue;
    Step& maker = plan_.steps[plan.begin + g.first];
    bool copied_to = false;
    for (const Copy& c : maker.copies) copied_to = copied_to || c.to == g.slot;
    if (s.known && (maker.kind == Step::Kind::kernel || copied_to)) {
      maker.allocates.push_back(g.slot);
      plan_.report_.fresh += s.nbytes;
    } else if (!s.known) {
      ++plan_.report_.unplanned;
    }
    if (g.last == kEnd) continue;
    Step& reader = plan_.steps[plan.begin + g.last];
    reader.frees.insert(reader.frees.end(), all.begin(), all.end());
  }

  for (uint32_t i = plan.begin; i < plan.end; ++i) {
    Step& s = plan_.steps[i];
    s.plain = s.kind == Step::Kind::kernel && s.kernel && s.copies.empty() && s.allocates.empty() &&
              s.frees.empty() && s.place.kind == DeviceKind::cpu;
    size_t bytes = 0;
    for (uint32_t slot : s.out)
      if (slot != kNone) bytes += plan_.slots[slot].nbytes;
    if (s.kind == Step::Kind::view) {
      const MemorySlot& base = plan_.slots[plan_.slots[s.out[0]].base];
      s.still = base.kind == MemorySlot::Kind::arena;
    }
    s.effect = has_effect(*s.operation);
    s.heavy = bytes > (1 << 18) || s.kind == Step::Kind::dispatch;
    plan_.report_.kernels += s.kind == Step::Kind::kernel;
    plan_.report_.views += s.kind == Step::Kind::view;
    plan_.report_.dispatched += s.kind == Step::Kind::dispatch;
  }
}

// Which feeds only attributes read, on the host.
void Planner::find_numbers() {
  std::vector<bool> otherwise(plan_.slots.size());
  const auto note = [&](uint32_t slot) {
    if (slot != kNone) otherwise[slot] = true;
  };
  for (const Step& s : plan_.steps) {
    const bool there = s.kind == Step::Kind::kernel;  // numbers are read where they lie
    const size_t operands = s.in.size() - (there ? 0 : s.operation->attr_operands);
    std::ranges::for_each(std::span(s.in).first(operands), note);
    std::ranges::for_each(s.out, note);
    for (const Copy& c : s.copies) note(c.from);
  }
  for (const MemorySlot& s : plan_.slots) note(s.base);
  for (const BlockPlan& b : plan_.blocks)
    for (const auto& list : {b.arguments, b.yields}) std::ranges::for_each(list, note);
  std::ranges::for_each(plan_.fetches, note);
  for (const StatePlan& s : plan_.states) note(s.last);
  for (const uint32_t slot : plan_.feeds)
    plan_.numbers.push_back(slot != kNone && !otherwise[slot] &&
                            plan_.slots[slot].shape.rank() == 0);
}

void Planner::run(std::span<const Ref<Value>> fetches) {
  find_uses(p_.main);
  for (const Ref<Value>& v : fetches) {
    last_use_[v->id] = kEnd;
    fresh_[v->id] = true;
  }
  for (const StateUse& s : p_.states)
    if (s.last) last_use_[s.last->id] = kEnd;
  find_chains();
  plan_.blocks.emplace_back();
  auto outside = [&](const Ref<Value>& v) {
    if (last_use_[v->id] == kNever) return kNone;
    const uint32_t g = make_group(v, MemorySlot::Kind::bound, 0, nullptr);
    return groups_[g].slot;
  };
  for (const Ref<Value>& v : p_.main.arguments) plan_.feeds.push_back(outside(v));
  for (const program::Constant& c : p_.constants) {
    const uint32_t slot = outside(c.value);
    if (slot == kNone) continue;
    const Place place = places_.of(*c.value);
    plan_.constants.emplace_back(slot, constant_at(c.tensor, place));
    if (!c.fixed) plan_.loose.push_back({slot, c.tensor, place});
  }
  // Runs on whatever streams find them there.
  for (const Arena& a : plan_.arenas)
    if (!plan_.constants.empty()) device::synchronize(device::current(a.place));
  for (const StateUse& s : p_.states) {
    StatePlan state{s.state, outside(s.initial), kNone, false, places_.of(*s.initial)};
    if (state.initial != kNone) group_of(*s.initial).state = &s;
    plan_.states.push_back(state);
  }
  // Arguments have their slots.
  auto arguments = std::move(p_.main.arguments);
  p_.main.arguments.clear();
  block(p_.main, 0);
  p_.main.arguments = std::move(arguments);
  for (size_t i = 0; i < p_.states.size(); ++i) {
    const StateUse& s = p_.states[i];
    if (!s.last || s.last == s.initial) continue;
    plan_.states[i].last = slot_[s.last->id];
    plan_.states[i].writes_back = plan_.states[i].last != plan_.states[i].initial;
  }
  for (const Ref<Value>& v : fetches) plan_.fetches.push_back(slot_[v->id]);
  find_numbers();
  for (Step& s : plan_.steps) s.cost = estimate_cost(plan_, s);
  plan_.report_.steps = plan_.steps.size();
  last_.resize(plan_.slots.size(), kNone);
  runtime::find_chains(plan_, last_);
  const PlacedMemory placed = place_with_chains(plan_, memory_, request_.parallel);
  plan_.report_.arena = placed.bytes;
  plan_.report_.lower_bound = placed.lower_bound;
  plan_.report_.parallel = placed.parallel;
}

std::shared_ptr<const Plan> Plan::compile(const Program& program, const Request& request,
                                          program::Scope* scope) {
  const auto start = std::chrono::steady_clock::now();
  program::Recording none(nullptr);
  op::GradMode off(false);
  auto plan = std::shared_ptr<Plan>(new Plan());
  plan->place = request.place;
  std::vector<Ref<Value>> copies;
  plan->program_ = program.clone(&copies);
  Program& p = *plan->program_;
  std::vector<Ref<Value>> fetches;
  for (const Ref<Value>& v : request.fetches) {
    ARGOSY_CHECK(v && v->id < copies.size() && copies[v->id], invalid_argument)
        << "A value that is fetched is not one of this Program.";
    fetches.push_back(copies[v->id]);
  }
  for (size_t i = 0; i < p.main.arguments.size(); ++i)
    if (request.fed[i]) p.main.arguments[i]->shape = request.feeds[i].shape;
  for (const StateUse& s : p.states) {
    const Tensor t = program::peek_state(*s.state, scope);
    if (!t.defined()) continue;
    s.initial->shape = t.shape();
    s.initial->dtype = t.dtype();
    s.initial->layout = t.layout();
  }
  for (const program::Constant& c : p.constants) {
    if (c.fixed) continue;
    c.value->shape = c.tensor.shape();
    c.value->dtype = c.tensor.dtype();
    c.value->layout = c.tensor.layout();
  }
  prune(p, fetches);
  const auto doubtful = specialize(p, plan->place);
  // Passes keep what is an output; with all sizes known they can do most.
  p.outputs.clear();
  for (const Ref<Value>& v : fetches) p.outputs.push_back({"", v});
  if (request.passes.empty())
    passes::optimize(p, false, scope, plan->place);
  else
    passes::optimize_with(p, request.passes, scope, plan->place);
  for (size_t i = 0; i < fetches.size(); ++i) fetches[i] = p.outputs[i].value;
  prune(p, fetches);
  bring_together(p, plan->place);
  Planner planner(*plan, p, request, scope);
  planner.doubtful.insert(doubtful.begin(), doubtful.end());
  planner.run(fetches);
  plan->report_.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return plan;
}

std::unique_ptr<Frame> Plan::take_frame() const {
  {
    std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto frame = std::move(idle_.back());
      idle_.pop_back();
      return frame;
    }
  }
  return std::make_unique<Frame>(*this);
}

void Plan::give_frame(std::unique_ptr<Frame> frame) const {
  std::lock_guard lock(mutex_);
  idle_.push_back(std::move(frame));
}

}  // namespace argosy::runtime
