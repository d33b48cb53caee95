#include "argosy/runtime/lower.h"

#include <algorithm>
#include <typeinfo>

#include "argosy/op/copy.h"
#include "argosy/op/dispatch.h"
#include "argosy/op/host_work.h"
#include "argosy/passes/rewrite.h"
#include "argosy/program/attributes.h"
#include "argosy/program/parts.h"
#include "argosy/runtime/places.h"

namespace argosy::runtime {

using program::Block;
using program::Operation;
using program::Program;
using program::Value;

Tensor prototype(const Value& v, Place place) {
  Tensor t = Tensor::describe(v.shape, v.dtype, place);
  t.impl()->layout = v.layout;
  return t;
}

bool is_opened(const op::OpDef& op, const op::Inputs& in, const void* attrs, Place place) {
  return op.compose && !op::find_kernel(op, in, attrs, place.kind);
}

void rethrow_at(const Operation& o, std::span<const Tensor> operands) {
  try {
    throw;
  } catch (const Error& e) {
    if (typeid(e) != typeid(Error)) throw;  // whoever catches one looks for its kind
    const std::string text = e.what();
    constexpr std::string_view mark = "\n  In the Program: ";
    if (text.find(mark) != std::string::npos) throw;  // of an inner block
    Message m;
    m << text << mark << o.op->name << '(';
    bool first = true;
    for (const Tensor& t : operands) {
      if (!first) m << ", ";
      first = false;
      m << t;
    }
    m << ')';
    if (!o.location.empty()) m << " at " << o.location;
    throw Error(e.kind(), m.str());
  }
}

// --- dead operations ---

bool has_effect(const Operation& o) {
  bool effect = o.op->effect == op::Effect::random || o.op->effect == op::Effect::io ||
                o.op->effect == op::Effect::communicates;
  for (const auto& b : o.blocks)
    for (const auto& inner : b->operations) effect = effect || has_effect(*inner);
  return effect;
}

bool communicates(const Block& b) {
  return std::ranges::any_of(b.operations, [](const auto& o) {
    return o->op->effect == op::Effect::communicates ||
           std::ranges::any_of(o->blocks, [](const auto& inner) { return communicates(*inner); });
  });
}

namespace {

void prune_block(Block& block, std::vector<bool>& live) {
  for (const Ref<Value>& v : block.yields)
    if (v) live[v->id] = true;
  for (size_t i = block.operations.size(); i-- > 0;) {
    Operation& o = *block.operations[i];
    bool needed = has_effect(o);
    for (const Ref<Value>& v : o.results) needed = needed || live[v->id];
    if (!needed) {
      block.operations.erase(block.operations.begin() + static_cast<ptrdiff_t>(i));
      continue;
    }
    for (const Ref<Value>& v : o.operands)
      if (v) live[v->id] = true;
    for (const auto& b : o.blocks) prune_block(*b, live);
  }
}

}  // namespace

void prune(Program& p, std::span<const Ref<Value>> keep) {
  std::vector<bool> live(p.value_count());
  for (const Ref<Value>& v : keep) live[v->id] = true;
  for (const program::StateUse& s : p.states)
    if (s.last) live[s.last->id] = true;
  prune_block(p.main, live);
}

// --- sizes ---

namespace {

constexpr int64_t kSmall = 64;

// The sizes in it do not fit together: it and what is inside are left to dispatch, which checks.
void forget_sizes(Operation& o, std::vector<const Operation*>& doubtful) {
  doubtful.push_back(&o);
  auto forget = [](const Ref<Value>& v) {
    if (v) v->shape = Shape::filled(v->shape.rank(), kUnknown);
  };
  for (const Ref<Value>& v : o.results) forget(v);
  for (const auto& inner : o.blocks) {
    for (const Ref<Value>& v : inner->arguments) forget(v);
    for (const auto& n : inner->operations) forget_sizes(*n, doubtful);
  }
}

class Specializer {
 public:
  Specializer(Program& p, Place place) : p_(p), place_(place), known_(p.value_count()) {}

  void run() {
    const op::MakesOnHost on_host;
    for (const program::Constant& c : p_.constants)
      if (c.fixed && is_small(c.tensor.shape(), c.tensor.dtype(), c.tensor.layout()))
        known_[c.value->id] =
            c.tensor.place().kind == DeviceKind::null ? c.tensor : op::to_host(c.tensor);
    block(p_.main);
  }

 private:
  static bool is_small(const Shape& shape, DType dtype, Layout layout) {
    return layout == Layout::strided && shape.known() && shape.numel() <= kSmall &&
           (is_integral(dtype) || dtype == DType::bool_ || shape.numel() == 1);
  }

  Tensor known(const Ref<Value>& v) const {
    return v && v->id < known_.size() ? known_[v->id] : Tensor();
  }

  void block(Block& b) {
    auto operations = std::move(b.operations);
    b.operations.clear();
    for (auto& o : operations) {
      try {
        operation(b, std::move(o));
      } catch (const Error&) {
        std::vector<Tensor> operands;
        if (!o) throw;
        for (const Ref<Value>& v : o->operands) operands.push_back(program::handle(v));
        rethrow_at(*o, operands);
      }
    }
  }

  void operation(Block& b, std::unique_ptr<Operation>&& o) {
    settle_attributes(*o);
    try {
      program::infer_operation(*o);
    } catch (const Error&) {
      if (!b.owner) throw;
      forget_sizes(*o, doubtful);
      b.operations.push_back(std::move(o));  // may never run; if it does, the run will say so
      return;
    }
    if (o->op->structural) {
      const bool loop = o->is_while();
      for (const auto& inner : o->blocks)
        for (size_t i = 0; i < inner->arguments.size(); ++i) {
          const size_t operand = loop ? i : i + 1;
          if (!loop || i >= o->results.size())
            known_[inner->arguments[i]->id] = known(o->operands[operand]);
        }
      for (const auto& inner : o->blocks) block(*inner);
      program::infer_operation(*o);
    } else if (open(b, *o)) {
      return;
    } else {
      evaluate(*o);
    }
    b.operations.push_back(std::move(o));
  }

  void settle_attributes(Operation& o) {
    if (!o.attr_operands) return;
    std::vector<Tensor> elements;
    for (const Ref<Value>& v : o.attr_values()) {
      elements.push_back(known(v));
      if (!elements.back().defined()) return;
    }
    o.attrs = program::attributes(o, elements);
    o.operands.resize(o.operands.size() - o.attr_operands);
    o.attr_operands = 0;
  }

  // Small pure results of known operands: what sizes are computed from.
  void evaluate(const Operation& o) {
    if (o.op->effect != op::Effect::pure || o.attr_operands || moves(o) ||
        place_.kind != DeviceKind::cpu)
      return;
    for (const Ref<Value>& v : o.results)
      if (!is_small(v->shape, v->dtype, v->layout)) return;
    std::vector<Tensor> in;
    for (size_t i = 0; i < o.inputs().size(); ++i) {
      const Ref<Value>& v = o.operands[i];
      if (!v) {
        in.emplace_back();
        continue;
      }
      if (v->layout == Layout::strided && v->shape.known() && passes::reads_only_shape(o, i)) {
        in.push_back(prototype(*v, place_));
        continue;
      }
      in.push_back(known(v));
      if (!in.back().defined()) return;
    }
    Tensors out;
    try {
      out = op::dispatch(*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()),
                         o.attrs.get());
    } catch (const Error&) {
      return;  // the run will say so
    }
    for (size_t i = 0; i < out.size() && i < o.results.size(); ++i) {
      if (o.results[i]->id >= known_.size()) known_.resize(o.results[i]->id + 1);
      known_[o.results[i]->id] = out[i];
    }
  }

  // Puts the parts of an operation without a kernel in its place.
  bool open(Block& b, Operation& o) {
    if (!o.op->compose || o.attr_operands || !o.op->writes.empty() || !o.updated_inputs().empty())
      return false;
    std::vector<Tensor> protos;
    for (const Ref<Value>& v : o.inputs()) {
      if (v && (!v->shape.known() || v->layout != Layout::strided)) return false;
      protos.push_back(v ? prototype(*v, place_) : Tensor());
    }
    const uint32_t* ends = o.ends.empty() ? nullptr : o.ends.data();
    if (!is_opened(*o.op, op::Inputs(protos, ends), o.attrs.get(), place_)) return false;

    program::Draft draft = record_parts(o, ends);
    auto parts = program::take_parts(p_, b, o, o.inputs(), draft);
    if (known_.size() < p_.value_count()) known_.resize(p_.value_count());
    for (auto& part : parts) operation(b, std::move(part));
    return true;
  }

  // The composition as a block: arguments are the operands that are there, yields the results (null
  // where it makes none), each made by an operation of its own.
  program::Draft record_parts(const Operation& o, const uint32_t* ends) {
    program::Builder& builder = p_.builder();
    program::OpenBlock block(builder);
    std::vector<Tensor> in;
    for (const Ref<Value>& v : o.inputs())
      in.push_back(v ? builder.argument(program::handle(v)) : Tensor());
    const program::RoleScope as_before(builder, o.role, builder.segment);
    program::Recording recording(p_.shared_from_this());
    op::GradMode off(false);
    Tensors out = o.op->compose(op::Inputs(in, ends), o.attrs.get());
    return program::end_parts(builder, block, std::move(out), o.results.size());
  }

  Program& p_;
  Place place_;

 public:
  std::vector<const Operation*> doubtful;

 private:
  std::vector<Tensor> known_;  // values, by id, that are known before a run
};

}  // namespace

std::vector<const Operation*> specialize(Program& p, Place place) {
  program::Recording none(nullptr);
  op::GradMode off(false);
  Specializer specializer(p, place);
  specializer.run();
  return std::move(specializer.doubtful);
}

}  // namespace argosy::runtime
