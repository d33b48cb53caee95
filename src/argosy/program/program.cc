#include "argosy/program/program.h"

#include <algorithm>
#include <unordered_map>

#include "argosy/op/dispatch.h"
#include "argosy/ops/creation/creation.h"
#include "argosy/ops/math/math.h"

namespace argosy::program {

std::string (*user_location)() = nullptr;

namespace {

Value* symbol_of(const Tensor& t) {
  return t.defined() ? static_cast<Value*>(t.impl()->symbol.get()) : nullptr;
}

// Calls fn(Tensor&) for each symbolic tensor that attributes hold.
template <class F>
void each_symbol(const op::AttrType& type, void* attrs, F&& fn) {
  for (const op::Field& f : type.fields) {
    void* field = static_cast<char*>(attrs) + f.offset;
    if (f.kind == op::FieldKind::int_array) {
      auto& array = *static_cast<op::IntArray*>(field);
      for (auto& s : array.symbols) fn(s.value, &array.values[s.position], nullptr);
      continue;
    }
    op::Scalar* scalar = nullptr;
    if (f.kind == op::FieldKind::scalar) scalar = static_cast<op::Scalar*>(field);
    if (f.kind == op::FieldKind::optional_scalar) {
      auto& optional = *static_cast<std::optional<op::Scalar>*>(field);
      if (optional) scalar = &*optional;
    }
    if (scalar && scalar->tensor.defined()) fn(scalar->tensor, nullptr, scalar);
  }
}

// The number in a concrete tensor of one element.
op::Scalar number(const Tensor& t) {
  ARGOSY_CHECK(t.numel() == 1, invalid_argument)
      << "A size or number of a Program must be a tensor of one element, got " << t << '.';
  if (is_integral(t.dtype()) || t.dtype() == DType::bool_) {
    Tensor wide = ops::cast(t, DType::int64);
    return op::Scalar(*wide.data<int64_t>());
  }
  Tensor wide = ops::cast(t, DType::float64);
  return op::Scalar(*wide.data<double>());
}

// Puts the values of a run into attributes that hold symbols.
template <class Lookup>
void resolve(const op::AttrType& type, void* attrs, Lookup&& lookup) {
  each_symbol(type, attrs, [&](Tensor& t, int64_t* size, op::Scalar* scalar) {
    op::Scalar value = number(lookup(*symbol_of(t)));
    if (size)
      *size = value.integer();
    else if (scalar)
      *scalar = value;
  });
  for (const op::Field& f : type.fields)
    if (f.kind == op::FieldKind::int_array)
      reinterpret_cast<op::IntArray*>(static_cast<char*>(attrs) + f.offset)->symbols.clear();
}

bool has_symbols(const op::AttrType& type, const void* attrs) {
  bool any = false;
  each_symbol(type, const_cast<void*>(attrs), [&](Tensor&, int64_t*, op::Scalar*) { any = true; });
  return any;
}

Tensors record(const op::OpDef& op, const op::Inputs& in, const void* attrs) {
  auto* recorder = static_cast<Program*>(op::thread_state.recorder);
  if (recorder && op.compose && !op.gradient) return op.compose(in, attrs);
  std::shared_ptr<Program> owner;
  for (const Tensor& t : in.flat())
    if (Value* v = symbol_of(t); v && !owner) owner = v->program.lock();
  each_symbol(*op.attrs, const_cast<void*>(attrs), [&](Tensor& t, int64_t*, op::Scalar*) {
    if (!owner) owner = symbol_of(t)->program.lock();
  });
  if (!owner && recorder) owner = recorder->shared_from_this();
  ARGOSY_CHECK(owner, runtime) << '[' << op.name
                               << "] uses a value of a Program that no longer exists.";
  return owner->append(op, in, attrs);
}

// x becomes a handle on the new value.
void rebind(const Tensor& x, const Tensor& value) {
  TensorImpl* to = x.impl();
  to->storage = nullptr;
  to->data = nullptr;
  to->shape = value.shape();
  to->strides = value.strides();
  to->numel = value.numel();
  to->dtype = value.dtype();
  to->symbol = value.impl()->symbol;
}

[[maybe_unused]] const bool installed = [] {
  op::hooks.record_program = record;
  op::hooks.rebind = rebind;
  op::hooks.attrs_have_symbols = has_symbols;
  return true;
}();

}  // namespace

Ref<Value> Program::make_value(const Shape& shape, DType dtype) {
  auto v = make_ref<Value>();
  v->id = next_id_++;
  v->shape = shape;
  v->dtype = dtype;
  v->program = weak_from_this();
  return v;
}

Tensor Program::as_tensor(const Ref<Value>& v) {
  if (!v) return {};
  if (v->constant.defined()) return v->constant;
  Tensor t = Tensor::describe(v->shape, v->dtype);
  t.impl()->symbol = Ref<RefCounted>::share(v.get());
  return t;
}

Tensor Program::input(const Shape& shape, DType dtype) {
  inputs_.push_back(make_value(shape, dtype));
  return as_tensor(inputs_.back());
}

Ref<Value> Program::value_of(const Tensor& t) {
  if (!t.defined()) return {};
  if (Value* v = symbol_of(t)) {
    ARGOSY_CHECK(v->program.lock().get() == this, invalid_argument)
        << "A value of one Program is used in another. Do this: feed it as an input.";
    return Ref<Value>::share(v);
  }
  auto v = make_value(t.shape(), t.dtype());
  v->constant = t;
  constants_.push_back(v);
  return v;
}

Tensors Program::append(const op::OpDef& op, const op::Inputs& in, const void* attrs) {
  Operation o{&op, {}, {}, op::AttrBox(*op.attrs, attrs), {}, {}};
  for (const Tensor& t : in.flat()) o.operands.push_back(value_of(t));
  if (in.ends()) o.ends.assign(in.ends(), in.ends() + op.inputs.size());
  if (user_location) o.location = user_location();
  op::InferContext c{op, in, {}};
  op::infer(c, attrs);
  Tensors out;
  for (const op::Meta& m : c.out) {
    o.results.push_back(make_value(m.shape, m.dtype));
    out.push_back(as_tensor(o.results.back()));
  }
  bool grad = false;
  for (const Tensor& t : in.flat()) grad |= t.defined() && t.requires_grad();
  for (const Tensor& t : out) t.set_stop_gradient(!grad);
  operations_.push_back(std::move(o));
  return out;
}

std::vector<Tensor> Program::handles(const Operation& o) const {
  std::vector<Tensor> list;
  for (const Ref<Value>& v : o.operands) list.push_back(as_tensor(v));
  return list;
}

Tensors Program::gradients(std::span<const Tensor> targets, std::span<const Tensor> wrt) {
  std::unordered_map<const Value*, Tensor> grads;
  auto add_to = [&](const Value* v, const Tensor& dy) {
    Tensor& sum = grads[v];
    sum = sum.defined() ? ops::add(sum, dy) : dy;
  };
  // What depends on wrt, so that nothing else is differentiated.
  std::unordered_map<const Value*, bool> active;
  for (const Tensor& t : wrt) active[symbol_of(t)] = true;
  const size_t count = operations_.size();
  for (const Operation& o : operations_) {
    bool any = std::any_of(o.operands.begin(), o.operands.end(),
                           [&](const Ref<Value>& v) { return v && active.count(v.get()); });
    for (size_t i = 0; any && i < o.results.size(); ++i) {
      bool list = o.op->outputs.size() == 1 && o.op->outputs[0].list;
      if (o.op->outputs[list ? 0 : i].differentiable && is_differentiable(o.results[i]->dtype))
        active[o.results[i].get()] = true;
    }
  }
  for (const Tensor& t : targets)
    if (active.count(symbol_of(t))) add_to(symbol_of(t), ops::ones_like(t));
  for (size_t i = count; i-- > 0;) {
    // Rules append operations, which may move operations_: work on copies of the handles.
    std::vector<Tensor> in = handles(operations_[i]), out;
    std::vector<Tensor> dys;
    std::vector<Ref<Value>> operands = operations_[i].operands;
    bool any = false;
    for (const Ref<Value>& v : operations_[i].results) {
      auto it = grads.find(v.get());
      dys.push_back(it == grads.end() ? Tensor() : it->second);
      any |= dys.back().defined();
      out.push_back(as_tensor(v));
    }
    if (!any) continue;
    const op::OpDef& op = *operations_[i].op;
    ARGOSY_CHECK(op.gradient, not_implemented)
        << '[' << op.name << "] has no gradient. Do this: set stop_gradient=True on its inputs.";
    InlineVector<bool, 8> needs;
    for (const Ref<Value>& v : operands) needs.push_back(v && active.count(v.get()));
    std::vector<uint32_t> ends = operations_[i].ends;
    op::AttrBox attrs(*op.attrs, operations_[i].attrs.get());
    op::GradCall call(op, op::Inputs(in, ends.empty() ? nullptr : ends.data()), out, dys,
                      needs.data());
    Tensors dxs = op.gradient(call, attrs.get());
    for (size_t k = 0; k < dxs.size() && k < operands.size(); ++k)
      if (needs[k] && dxs[k].defined()) add_to(operands[k].get(), dxs[k]);
  }
  Tensors result;
  for (const Tensor& t : wrt) {
    auto it = grads.find(symbol_of(t));
    result.push_back(it == grads.end() ? Tensor() : it->second);
  }
  return result;
}

Tensors Program::run(std::span<const Tensor> feeds, std::span<const Tensor> fetches) const {
  ARGOSY_CHECK(feeds.size() == inputs_.size(), invalid_argument)
      << "The Program has " << inputs_.size() << " inputs, " << feeds.size() << " were fed.";
  std::vector<Tensor> values(next_id_);
  for (const Ref<Value>& v : constants_) values[v->id] = v->constant;
  for (size_t i = 0; i < feeds.size(); ++i) {
    const Value& v = *inputs_[i];
    bool fits = v.shape.rank() == feeds[i].rank() && v.dtype == feeds[i].dtype();
    for (int d = 0; fits && d < v.shape.rank(); ++d)
      fits = v.shape[d] == kUnknown || v.shape[d] == feeds[i].dim(d);
    ARGOSY_CHECK(fits, invalid_argument) << "Input " << i << " of the Program: expected " << v.dtype
                                         << v.shape << ", got " << feeds[i] << '.';
    values[v.id] = feeds[i];
  }
  auto lookup = [&](const Value& v) { return values[v.id]; };
  for (const Operation& o : operations_) {
    std::vector<Tensor> in;
    for (const Ref<Value>& v : o.operands) in.push_back(v ? values[v->id] : Tensor());
    op::AttrBox attrs(*o.op->attrs, o.attrs.get());
    resolve(*o.op->attrs, attrs.get(), lookup);
    Tensors out =
        op::dispatch(*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), attrs.get());
    for (size_t i = 0; i < o.results.size(); ++i) values[o.results[i]->id] = out[i];
  }
  Tensors result;
  for (const Tensor& t : fetches) {
    Value* v = symbol_of(t);
    result.push_back(v ? values[v->id] : t);
  }
  return result;
}

void Program::verify() const {
  std::vector<bool> made(next_id_);
  for (const Ref<Value>& v : inputs_) made[v->id] = true;
  for (const Ref<Value>& v : constants_) made[v->id] = true;
  for (const Operation& o : operations_) {
    for (const Ref<Value>& v : o.operands)
      ARGOSY_CHECK(!v || made[v->id], internal)
          << '%' << v->id << " is used by " << o.op->name << " before it is made.";
    std::vector<Tensor> in = handles(o);
    op::InferContext c{*o.op, op::Inputs(in, o.ends.empty() ? nullptr : o.ends.data()), {}};
    op::infer(c, o.attrs.get());
    ARGOSY_CHECK(c.out.size() == o.results.size(), internal)
        << o.op->name << " has " << o.results.size() << " results, inferred " << c.out.size();
    for (size_t i = 0; i < c.out.size(); ++i) {
      ARGOSY_CHECK(c.out[i].dtype == o.results[i]->dtype && c.out[i].shape == o.results[i]->shape,
                   internal)
          << '%' << o.results[i]->id << " of " << o.op->name << " is " << o.results[i]->dtype
          << o.results[i]->shape << ", inferred " << c.out[i].dtype << c.out[i].shape;
      made[o.results[i]->id] = true;
    }
  }
}

std::string Program::print() const {
  Message m;
  m << "program (";
  for (size_t i = 0; i < inputs_.size(); ++i)
    m << (i ? ", " : "") << '%' << inputs_[i]->id << ": " << inputs_[i]->dtype << inputs_[i]->shape;
  m << ") {\n";
  for (const Ref<Value>& v : constants_)
    m << "  %" << v->id << " = constant : " << v->dtype << v->shape << '\n';
  for (const Operation& o : operations_) {
    m << "  ";
    for (size_t i = 0; i < o.results.size(); ++i) m << (i ? ", %" : "%") << o.results[i]->id;
    m << " = " << o.op->name << '(';
    for (size_t i = 0; i < o.operands.size(); ++i) {
      m << (i ? ", " : "");
      if (o.operands[i])
        m << '%' << o.operands[i]->id;
      else
        m << "None";
    }
    m << ") " << op::print(*o.op->attrs, o.attrs.get()) << " :";
    for (const Ref<Value>& v : o.results) m << ' ' << v->dtype << v->shape;
    if (!o.location.empty()) m << "  loc(" << o.location << ')';
    m << '\n';
  }
  return m.str() + "}\n";
}

Recording::Recording(std::shared_ptr<Program> program)
    : program_(std::move(program)), before_(op::thread_state.recorder) {
  op::thread_state.recorder = program_.get();
}

Recording::~Recording() {
  op::thread_state.recorder = before_;
}

}  // namespace argosy::program
