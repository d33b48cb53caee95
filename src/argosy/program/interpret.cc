#include <mutex>

#include "argosy/op/dispatch.h"
#include "argosy/program/attributes.h"
#include "argosy/program/program.h"
#include "argosy/program/state.h"

namespace argosy::program {
namespace {

// The values of a run by id. Blocks share it: a round of a loop overwrites the one before.
using Values = std::vector<Tensor>;

Tensor copy_of(const Tensor& t) {
  if (t.layout() != Layout::strided) {
    Tensor c = t.detach();
    return c;
  }
  Tensor c = Tensor::empty(t.shape(), t.dtype(), t.place());
  op::copy_into(c, t);
  return c;
}

void run_block(const Block& block, Values& values);

bool is_true(const Tensor& t) {
  return number_in(t).integer() != 0;
}

void run_while(const Operation& o, Values& values) {
  const Block &cond = *o.blocks[0], &body = *o.blocks[1];
  std::vector<Tensor> now;
  for (const Ref<Value>& v : o.operands) now.push_back(values[v->id]);
  for (;;) {
    for (size_t i = 0; i < now.size(); ++i) values[cond.arguments[i]->id] = now[i];
    run_block(cond, values);
    if (!is_true(values[cond.yields[0]->id])) break;
    for (size_t i = 0; i < now.size(); ++i) values[body.arguments[i]->id] = now[i];
    run_block(body, values);
    for (size_t i = 0; i < body.yields.size(); ++i) now[i] = values[body.yields[i]->id];
  }
  for (size_t i = 0; i < o.results.size(); ++i) values[o.results[i]->id] = now[i];
}

void run_if(const Operation& o, Values& values) {
  const Block& block = *o.blocks[is_true(values[o.operands[0]->id]) ? 0 : 1];
  for (size_t i = 0; i < block.arguments.size(); ++i)
    values[block.arguments[i]->id] = values[o.operands[i + 1]->id];
  run_block(block, values);
  for (size_t i = 0; i < o.results.size(); ++i)
    values[o.results[i]->id] = values[block.yields[i]->id];
}

void run_operation(const Operation& o, Values& values) {
  if (o.op->structural) return o.is_if() ? run_if(o, values) : run_while(o, values);
  std::vector<Tensor> in, elements;
  for (const Ref<Value>& v : o.inputs()) in.push_back(v ? values[v->id] : Tensor());
  for (const Ref<Value>& v : o.attr_values()) elements.push_back(values[v->id]);
  const uint32_t* ends = o.ends.empty() ? nullptr : o.ends.data();
  // What the kernel writes must be nobody else's. What it waits for is not: others write it still.
  const auto under_way = [&](size_t k) {
    const Operation* made_by = o.operands[k] ? o.operands[k]->producer : nullptr;
    return made_by && o.op->effect == op::Effect::communicates &&
           made_by->op->effect == op::Effect::communicates;
  };
  for (uint32_t i : o.op->writes)
    for (size_t k = op::Inputs(in, ends).place_of(i), n = op::Inputs(in, ends).list(i).size(); n--;
         ++k)
      if (!under_way(k)) in[k] = copy_of(in[k]);
  const std::vector<size_t> updated = o.updated_inputs();
  for (size_t k : updated) in[k] = copy_of(in[k]);
  op::AttrBox attrs;
  if (o.attr_operands) attrs = attributes(o, elements);
  Tensors out =
      op::dispatch(*o.op, op::Inputs(in, ends), o.attr_operands ? attrs.get() : o.attrs.get());
  for (size_t i = 0; i < out.size(); ++i) values[o.results[i]->id] = out[i];
  for (size_t i = 0; i < updated.size(); ++i)
    values[o.results[out.size() + i]->id] = in[updated[i]];
}

void run_block(const Block& block, Values& values) {
  for (const auto& o : block.operations) run_operation(*o, values);
}

}  // namespace

Tensors Program::run(std::span<const Tensor> feeds, std::span<const Ref<Value>> fetches,
                     Scope* scope, bool differentiable) const {
  ARGOSY_CHECK(feeds.size() == main.arguments.size(), invalid_argument)
      << "The Program has " << main.arguments.size() << " inputs, " << feeds.size() << " were fed.";
  op::GradMode mode(differentiable);
  Values values(next_id_);
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Value& v = *main.arguments[i];
    bool fits = v.shape.rank() == feeds[i].rank() && v.dtype == feeds[i].dtype();
    for (int d = 0; fits && d < v.shape.rank(); ++d)
      fits = v.shape[d] == kUnknown || v.shape[d] == feeds[i].dim(d);
    ARGOSY_CHECK(fits, invalid_argument)
        << "Input " << i << " '" << v.name << "' of the Program: expected " << v.dtype << v.shape
        << ", got " << feeds[i] << '.';
    values[v.id] = feeds[i];
  }
  for (const Constant& c : constants) values[c.value->id] = c.tensor;
  std::vector<uint32_t> uses = count_uses(*this);
  for (const Ref<Value>& v : fetches) ++uses[v->id];
  // A startup program only writes.
  for (const StateUse& s : states)
    if (uses[s.initial->id]) values[s.initial->id] = read_state(*s.state, scope);
  run_block(main, values);
  // What is still in the memory of state is read before that is written.
  auto settled = [&](const Ref<Value>& v) {
    const Tensor& t = values[v->id];
    for (const StateUse& s : states) {
      const Tensor& state = values[s.initial->id];
      if (!differentiable && s.last && state.defined() && t.defined() && t.has_data() &&
          t.impl()->storage == state.impl()->storage)
        return copy_of(t);
    }
    return t;
  };
  Tensors result;
  for (const Ref<Value>& v : fetches) result.push_back(settled(v));
  std::vector<Tensor> written;
  for (const StateUse& s : states) written.push_back(s.last ? settled(s.last) : Tensor());
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].last && !differentiable) write_state(*states[i].state, scope, written[i]);
  return result;
}

namespace {
// Runs on several threads may share a Scope: guards what one of them puts into a Variable while
// others read it.
std::mutex replacing;
}  // namespace

Tensor peek_state(const State& state, Scope* scope) {
  if (state.tensor.defined()) return state.tensor;
  Variable* v = scope ? scope->find(state.name) : nullptr;
  if (!v) return {};
  std::lock_guard lock(replacing);
  return v->tensor;
}

Tensor read_state(const State& state, Scope* scope) {
  Tensor t = peek_state(state, scope);
  ARGOSY_CHECK(t.defined(), runtime)
      << "'" << state.name << "' (" << state.dtype << state.shape
      << ") has no value in this scope. Do this: run the startup program first, or load a "
         "checkpoint.";
  return t;
}

void replace_state(const State& state, Scope& scope, Tensor value) {
  Variable* v = scope.find(state.name);
  if (!v) v = &scope.var(state.name);
  std::lock_guard lock(replacing);
  std::swap(v->tensor, value);
}

void write_state(const State& state, Scope* scope, const Tensor& value) {
  Tensor to = state.tensor;
  if (!to.defined()) {
    ARGOSY_CHECK(scope, runtime) << "State '" << state.name << "' needs a scope.";
    Variable& v = scope->var(state.name);
    to = peek_state(state, scope);
    if (!to.defined() || to.shape() != value.shape() || to.dtype() != value.dtype()) {
      Tensor made = value.layout() == Layout::strided ? copy_of(value) : value;
      made.impl()->persistable = state.persistable;
      std::lock_guard lock(replacing);
      std::swap(v.tensor, made);
      return;
    }
  }
  if (to.raw() != value.raw()) {
    to.prepare_write();
    op::copy_into(to, value);
  }
  to.wrote("a Program");
}

}  // namespace argosy::program
