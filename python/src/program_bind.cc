#include "argosy/op/dispatch.h"
#include "argosy/ops/manip/manip.h"
#include "argosy/program/builder.h"
#include "functions.h"
#include "program.h"
#include "user_line.h"

// Functions of argosy._core over Programs and Scopes, which Python holds as capsules; the classes
// are in argosy/static and argosy/jit.
namespace argosy::python {

using program::Builder;
using program::Draft;
using program::Operation;
using program::Program;

using program::Scope;
using program::Value;

template <class T>
struct Capsule;
template <>
struct Capsule<std::shared_ptr<Program>> {
  static constexpr const char* name = "argosy.program";
};
template <>
struct Capsule<std::shared_ptr<Scope>> {
  static constexpr const char* name = "argosy.scope";
};
template <>
struct Capsule<Draft> {
  static constexpr const char* name = "argosy.draft";
};

template <class T>
PyObject* capsule(T value) {
  return check(PyCapsule_New(new T(std::move(value)), Capsule<T>::name, [](PyObject* o) {
    delete static_cast<T*>(PyCapsule_GetPointer(o, Capsule<T>::name));
  }));
}

template <class T>
T& held(PyObject* o) {
  void* p = PyCapsule_GetPointer(o, Capsule<T>::name);
  if (!p) throw PythonError{};
  return *static_cast<T*>(p);
}

std::shared_ptr<Program>& program_of(PyObject* o) {
  return held<std::shared_ptr<Program>>(o);
}
std::shared_ptr<Scope>& scope_of(PyObject* o) {
  return held<std::shared_ptr<Scope>>(o);
}

PyObject* wrap_program(std::shared_ptr<Program> p) {
  return capsule(std::move(p));
}
PyObject* wrap_scope(std::shared_ptr<Scope> s) {
  return capsule(std::move(s));
}

namespace {

std::vector<Ref<Value>> values_of(Program& p, PyObject* o) {
  std::vector<Ref<Value>> list;
  for (const Tensor& t : to_tensor_list("fetch", o)) list.push_back(p.builder().current(t));
  return list;
}

// --- building ---

thread_local std::vector<std::unique_ptr<program::Recording>> recordings;

PyObject* f_new(Args) {
  return capsule(Program::make());
}
PyObject* f_input(Args a) {
  return wrap(program_of(a[0])->builder().input(text_of(a[1]), to_shape(a[2]), to_dtype(a[3])));
}
// (name, shape, dtype, trainable, persistable): a handle on state that any Program may use.
PyObject* f_state(Args a) {
  auto s = make_ref<program::State>();
  s->name = text_of(a[0]);
  s->shape = to_shape(a[1]);
  s->dtype = to_dtype(a[2]);
  s->trainable = truth(a[3]);
  s->persistable = truth(a[4]);
  return wrap(program::handle(s));
}
PyObject* f_begin(Args a) {
  recordings.push_back(
      std::make_unique<program::Recording>(a[0] == Py_None ? nullptr : program_of(a[0])));
  Py_RETURN_NONE;
}
// As program_begin, of a function that is to mean what it means as eager calls.
PyObject* f_capture(Args a) {
  recordings.push_back(std::make_unique<program::Recording>(program_of(a[0]), true));
  Py_RETURN_NONE;
}
// Numbers of the inputs that need a gradient and were written in place.
PyObject* f_written_inputs(Args a) {
  Py numbers(check(PyList_New(0)));
  for (size_t i : program_of(a[0])->builder().written_inputs()) {
    Py number(check(PyLong_FromSize_t(i)));
    if (PyList_Append(numbers.get(), number.get()) < 0) return nullptr;
  }
  return numbers.release();
}
PyObject* f_end(Args) {
  if (!recordings.empty()) recordings.pop_back();
  Py_RETURN_NONE;
}
// The Program this thread records into, or None.
PyObject* f_recording(Args) {
  auto* p = static_cast<Program*>(op::thread_state.recorder);
  if (!p) Py_RETURN_NONE;
  return capsule(p->shared_from_this());
}
PyObject* f_set_role(Args a) {
  program_of(a[0])->builder().role = static_cast<program::Role>(to_int(a[1]));
  Py_RETURN_NONE;
}
// x stands for value from now on.
PyObject* f_rebind(Args a) {
  op::hooks.rebind(tensor_of(a[0]), tensor_of(a[1]));
  Py_RETURN_NONE;
}

PyObject* f_block_begin(Args a) {
  program_of(a[0])->builder().begin_block();
  Py_RETURN_NONE;
}
// A value with sizes that only a run knows: those that are -1 in the list.
PyObject* f_forget_sizes(Args a) {
  const Tensor& x = tensor_of(a[0]);
  Py list(check(PySequence_Fast(a[1], "")));
  std::vector<int64_t> sizes;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(list.get()); ++i)
    sizes.push_back(PyLong_AsLongLong(PySequence_Fast_GET_ITEM(list.get(), i)));
  if (PyErr_Occurred()) return nullptr;
  return wrap(ops::forget_sizes(x, sizes));
}
PyObject* f_block_argument(Args a) {
  Builder& b = program_of(a[0])->builder();
  return wrap(b.argument(program::handle(b.current(tensor_of(a[1])))));
}
PyObject* f_block_end(Args a) {
  auto yields = to_tensor_list("yield", a[1]);
  return capsule(program_of(a[0])->builder().end_block(yields));
}
PyObject* f_block_abandon(Args a) {
  program_of(a[0])->builder().abandon_block();
  Py_RETURN_NONE;
}
// Takes back yields of a draft, by place.
PyObject* f_draft_drop(Args a) {
  auto& yields = held<Draft>(a[0]).block->yields;
  Shape places = to_shape(a[1]);
  for (int i = places.rank(); i-- > 0;) yields.erase(yields.begin() + places[i]);
  Py_RETURN_NONE;
}
PyObject* f_if(Args a) {
  Builder& b = program_of(a[0])->builder();
  return wrap_list(
      b.append_if(tensor_of(a[1]), std::move(held<Draft>(a[2])), std::move(held<Draft>(a[3]))));
}
PyObject* f_while(Args a) {
  Builder& b = program_of(a[0])->builder();
  auto init = to_tensor_list("while_loop", a[1]);
  return wrap_list(
      b.append_while(init, std::move(held<Draft>(a[2])), std::move(held<Draft>(a[3]))));
}
// (program, targets, target_gradients or [], wrt, no_grad)
PyObject* f_gradients(Args a) {
  auto targets = to_tensor_list("gradients", a[1]);
  auto dys = to_tensor_list("gradients", a[2]);
  auto wrt = to_tensor_list("gradients", a[3]);
  auto stop = to_tensor_list("gradients", a[4]);
  return wrap_list(program_of(a[0])->builder().gradients(targets, dys, wrt, stop));
}

// --- the whole ---

PyObject* f_clone(Args a) {
  return capsule(program_of(a[0])->clone());
}
// The handle of a Program (a clone) for the value that has the id of t's.
PyObject* f_counterpart(Args a) {
  Program& p = *program_of(a[0]);
  Value* v = program::value_of(tensor_of(a[1]));
  if (!v) return wrap(tensor_of(a[1]));
  Ref<Value> found;
  auto look = [&](const Ref<Value>& c) {
    if (c && c->id == v->id) found = c;
  };
  for (const auto& c : p.main.arguments) look(c);
  for (const auto& s : p.states) look(s.initial);
  for (const auto& c : p.constants) look(c.value);
  for (const auto& o : p.main.operations)
    for (const auto& c : o->results) look(c);
  return wrap(program::handle(found));
}
PyObject* f_find(Args a) {
  Program& p = *program_of(a[0]);
  std::string name = text_of(a[1]);
  for (const auto& s : p.states)
    if (s.state->name == name) return wrap(program::handle(s.state));
  return wrap(program::handle(p.find(name)));
}
PyObject* f_run(Args a) {
  Program& p = *program_of(a[0]);
  auto feeds = to_tensor_list("run", a[1]);
  auto fetches = values_of(p, a[2]);
  Scope* scope = a[3] == Py_None ? nullptr : scope_of(a[3]).get();
  Tensors out;
  {
    WithoutGil no_gil;
    program::Recording off(nullptr);
    out = p.run(feeds, fetches, scope);
  }
  return wrap_list(out);
}
PyObject* f_verify(Args a) {
  program_of(a[0])->verify();
  Py_RETURN_NONE;
}
PyObject* f_print(Args a) {
  const std::string text = program_of(a[0])->print();
  return PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "replace");
}
PyObject* f_version(Args a) {
  return PyLong_FromUnsignedLongLong(program_of(a[0])->version());
}
// Tells Programs apart while they live.
PyObject* f_id(Args a) {
  return PyLong_FromVoidPtr(program_of(a[0]).get());
}
// f_id of the Program whose value t is, or None.
PyObject* f_id_of_value(Args a) {
  Value* v = program::value_of(tensor_of(a[0]));
  auto p = v ? v->program.lock() : nullptr;
  if (!p) Py_RETURN_NONE;
  return PyLong_FromVoidPtr(p.get());
}
PyObject* f_add_output(Args a) {
  Program& p = *program_of(a[0]);
  p.outputs.push_back({text_of(a[1]), p.builder().current(tensor_of(a[2]))});
  p.changed();
  Py_RETURN_NONE;
}

// --- looking inside ---

PyObject* list_of(std::span<const Ref<Value>> values) {
  Py list(check(PyList_New(0)));
  for (const Ref<Value>& v : values) {
    Py item(check(wrap(program::handle(v))));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

PyObject* describe_block(const program::Block& block);

PyObject* describe_operation(const Operation& o) {
  Py d(check(PyDict_New())), in(check(PyDict_New())), out(check(PyDict_New())),
      attrs(check(PyDict_New())), blocks(check(PyList_New(0)));
  const auto inputs = o.inputs();
  size_t at = 0;
  for (size_t i = 0; i < o.op->inputs.size(); ++i) {
    const bool last = i + 1 == o.op->inputs.size();
    size_t end = o.ends.empty() ? (o.op->structural && last ? inputs.size() : i + 1) : o.ends[i];
    put(in.get(), o.op->inputs[i].name.c_str(), list_of(inputs.subspan(at, end - at)));
    at = end;
  }
  if (o.attr_operands) put(in.get(), "attrs", list_of(o.attr_values()));
  std::span<const Ref<Value>> results = o.results;
  for (size_t i = 0; i < o.op->outputs.size(); ++i) {
    const bool list = o.op->outputs[i].list;
    const size_t n = list ? o.outputs() - i : 1;
    if (i + n <= results.size())
      put(out.get(), o.op->outputs[i].name.c_str(), list_of(results.subspan(i, n)));
  }
  for (const op::Field& f : o.op->attrs->fields)
    put(attrs.get(), f.name, PyUnicode_FromString(op::print_field(f, o.attrs.get()).c_str()));
  for (const auto& b : o.blocks) {
    Py block(check(describe_block(*b)));
    if (PyList_Append(blocks.get(), block.get())) throw PythonError{};
  }
  put(d.get(), "type", PyUnicode_FromString(o.op->name.c_str()));
  put(d.get(), "inputs", in.release());
  put(d.get(), "outputs", out.release());
  put(d.get(), "results", list_of(o.results));
  put(d.get(), "attrs", attrs.release());
  put(d.get(), "blocks", blocks.release());
  put(d.get(), "role", PyLong_FromLong(static_cast<int>(o.role)));
  put(d.get(), "location", PyUnicode_FromString(o.location.c_str()));
  return d.release();
}

PyObject* describe_block(const program::Block& block) {
  Py d(check(PyDict_New())), operations(check(PyList_New(0)));
  for (const auto& o : block.operations) {
    Py item(check(describe_operation(*o)));
    if (PyList_Append(operations.get(), item.get())) throw PythonError{};
  }
  put(d.get(), "operations", operations.release());
  put(d.get(), "arguments", list_of(block.arguments));
  put(d.get(), "yields", list_of(block.yields));
  return d.release();
}

// {"operations": [...], "arguments": [...], "states": [{"state", "initial", "last"}], "constants":
// [(value, tensor)], "outputs": [(name, value)]}
PyObject* f_describe(Args a) {
  Program& p = *program_of(a[0]);
  Py d(check(describe_block(p.main)));
  Py states(check(PyList_New(0))), constants(check(PyList_New(0))), outputs(check(PyList_New(0)));
  for (const auto& s : p.states) {
    Py entry(check(PyDict_New()));
    put(entry.get(), "state", wrap(program::handle(s.state)));
    put(entry.get(), "name", PyUnicode_FromString(s.state->name.c_str()));
    put(entry.get(), "trainable", PyBool_FromLong(s.state->trainable));
    put(entry.get(), "persistable", PyBool_FromLong(s.state->persistable));
    put(entry.get(), "initial", wrap(program::handle(s.initial)));
    put(entry.get(), "last", wrap(program::handle(s.last)));
    if (PyList_Append(states.get(), entry.get())) throw PythonError{};
  }
  for (const auto& c : p.constants) {
    Py pair(check(Py_BuildValue("(NN)", wrap(program::handle(c.value)), wrap(c.tensor))));
    if (PyList_Append(constants.get(), pair.get())) throw PythonError{};
  }
  for (const auto& o : p.outputs) {
    Py pair(check(Py_BuildValue("(sN)", o.name.c_str(), wrap(program::handle(o.value)))));
    if (PyList_Append(outputs.get(), pair.get())) throw PythonError{};
  }
  put(d.get(), "states", states.release());
  put(d.get(), "constants", constants.release());
  put(d.get(), "outputs", outputs.release());
  return d.release();
}

// --- scopes ---

PyObject* f_scope_new(Args a) {
  return capsule(std::make_shared<Scope>(a[0] == Py_None ? nullptr : scope_of(a[0])));
}
PyObject* f_scope_get(Args a) {
  program::Variable* v = scope_of(a[0])->find(text_of(a[1]));
  return wrap(v ? v->tensor : Tensor());
}
PyObject* f_scope_has(Args a) {
  return PyBool_FromLong(scope_of(a[0])->find(text_of(a[1])) != nullptr);
}
// (scope, name, tensor or None): makes the variable where there is none.
PyObject* f_scope_set(Args a) {
  ARGOSY_CHECK(a[2] == Py_None || !tensor_of(a[2]).symbolic(), type)
      << "[Scope] '" << text_of(a[1]) << "' cannot hold a variable of a Program.";
  program::Variable& v = scope_of(a[0])->var(text_of(a[1]));
  v.tensor = a[2] == Py_None ? Tensor() : tensor_of(a[2]);
  Py_RETURN_NONE;
}
PyObject* f_scope_erase(Args a) {
  return PyBool_FromLong(scope_of(a[0])->erase(text_of(a[1])));
}
PyObject* f_scope_names(Args a) {
  Py list(check(PyList_New(0)));
  for (const std::string& name : scope_of(a[0])->names()) {
    Py item(check(PyUnicode_FromString(name.c_str())));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

std::string location() {
  return PyGILState_Check() ? user_line() : std::string();
}

PyMethodDef functions[] = {FUNCTION("program_new", f_new, 0),
                           FUNCTION("program_input", f_input, 4),
                           FUNCTION("program_state", f_state, 5),
                           FUNCTION("program_begin", f_begin, 1),
                           FUNCTION("program_capture", f_capture, 1),
                           FUNCTION("program_written_inputs", f_written_inputs, 1),
                           FUNCTION("program_end", f_end, 0),
                           FUNCTION("program_recording", f_recording, 0),
                           FUNCTION("program_set_role", f_set_role, 2),
                           FUNCTION("program_rebind", f_rebind, 2),
                           FUNCTION("program_block_begin", f_block_begin, 1),
                           FUNCTION("program_block_argument", f_block_argument, 2),
                           FUNCTION("program_forget_sizes", f_forget_sizes, 2),
                           FUNCTION("program_block_end", f_block_end, 2),
                           FUNCTION("program_block_abandon", f_block_abandon, 1),
                           FUNCTION("program_draft_drop", f_draft_drop, 2),
                           FUNCTION("program_if", f_if, 4),
                           FUNCTION("program_while", f_while, 4),
                           FUNCTION("program_gradients", f_gradients, 5),
                           FUNCTION("program_clone", f_clone, 1),
                           FUNCTION("program_counterpart", f_counterpart, 2),
                           FUNCTION("program_find", f_find, 2),
                           FUNCTION("program_run", f_run, 4),
                           FUNCTION("program_verify", f_verify, 1),
                           FUNCTION("program_print", f_print, 1),
                           FUNCTION("program_version", f_version, 1),
                           FUNCTION("program_id", f_id, 1),
                           FUNCTION("program_id_of_value", f_id_of_value, 1),
                           FUNCTION("program_add_output", f_add_output, 3),
                           FUNCTION("program_describe", f_describe, 1),
                           FUNCTION("scope_new", f_scope_new, 1),
                           FUNCTION("scope_get", f_scope_get, 2),
                           FUNCTION("scope_has", f_scope_has, 2),
                           FUNCTION("scope_set", f_scope_set, 3),
                           FUNCTION("scope_erase", f_scope_erase, 2),
                           FUNCTION("scope_names", f_scope_names, 1),
                           {}};

}  // namespace

void add_program(PyObject* module) {
  add_functions(module, functions);
  program::user_location = location;
}

}  // namespace argosy::python
