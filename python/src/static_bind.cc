#include "argosy/op/dispatch.h"
#include "argosy/ops/control/py_call.h"
#include "argosy/program/builder.h"
#include "argosy/program/subset.h"
#include "callables.h"
#include "functions.h"
#include "program.h"

// What the static API asks of Programs beyond building and running them, and Python functions that
// Programs call.
namespace argosy::python {

using program::Operation;
using program::Program;
using program::Value;

namespace {

std::vector<Ref<Value>> values_of(Program& p, PyObject* o) {
  std::vector<Ref<Value>> list;
  for (const Tensor& t : to_tensor_list("program", o)) list.push_back(p.builder().current(t));
  return list;
}

PyObject* f_for_test(Args a) {
  return wrap_program(program::clone_for_test(*program_of(a[0])));
}

// (program, feeds, targets, writes) -> (program, places of inputs that are missing)
PyObject* f_extract(Args a) {
  Program& p = *program_of(a[0]);
  const auto feeds = values_of(p, a[1]), targets = values_of(p, a[2]);
  std::vector<size_t> missing;
  Py made(check(wrap_program(program::extract(p, feeds, targets, truth(a[3]), &missing))));
  Py places(check(PyList_New(0)));
  for (const size_t place : missing) {
    Py number(check(PyLong_FromSize_t(place)));
    if (PyList_Append(places.get(), number.get())) throw PythonError{};
  }
  return check(PyTuple_Pack(2, made.get(), places.get()));
}

// (Program, number of dimensions of each input): as if declared with only so many.
PyObject* f_with_ranks(Args a) {
  std::vector<int> ranks;
  for (Py_ssize_t i = 0; i < PyList_Size(a[1]); ++i)
    ranks.push_back(static_cast<int>(to_int(PyList_GetItem(a[1], i))));
  return wrap_program(program::with_ranks(*program_of(a[0]), ranks));
}

// Of a handle: (kind, id, role, place), kind being "state", "input", "result", "argument" (of a
// nested block), "constant" or "tensor"; place: of the operation in the main block, or -1. The
// handle of what a state holds at the beginning of a run is of kind "state".
PyObject* f_about(Args a) {
  const Tensor t = tensor_of(a[0]);
  if (program::state_of(t)) return check(Py_BuildValue("(siii)", "state", -1, -1, -1));
  Value* v = program::value_of(t);
  if (!v) return check(Py_BuildValue("(siii)", "tensor", -1, -1, -1));
  auto p = v->program.lock();
  const char* kind = "constant";
  int role = -1, place = -1;
  if (v->producer) {
    kind = "result";
    role = static_cast<int>(v->producer->role);
    const auto& operations = v->producer->parent->operations;
    if (p && v->producer->parent == &p->main)
      for (size_t i = 0; i < operations.size(); ++i)
        if (operations[i].get() == v->producer) place = static_cast<int>(i);
  } else if (p && v->block != &p->main) {
    kind = "argument";
  } else if (p) {
    for (const auto& input : p->main.arguments)
      if (input.get() == v) kind = "input";
    for (const auto& s : p->states)
      if (s.initial.get() == v) kind = "state";
  }
  return check(Py_BuildValue("(siii)", kind, static_cast<int>(v->id), role, place));
}

// What the operation that made a value reads; empty if no operation of the main block did.
PyObject* f_operands(Args a) {
  Py list(check(PyList_New(0)));
  const Value* v = program::value_of(tensor_of(a[0]));
  if (!v || !v->producer) return list.release();
  const auto p = v->program.lock();
  if (!p || v->producer->parent != &p->main) return list.release();
  for (const Ref<Value>& x : v->producer->inputs()) {
    if (!x) continue;
    Py item(check(wrap(program::handle(x))));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

// Names of the inputs of a run, in order.
PyObject* f_inputs(Args a) {
  Py list(check(PyList_New(0)));
  for (const Ref<Value>& v : program_of(a[0])->main.arguments) {
    Py item(check(wrap(program::handle(v))));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

// [(name, trainable, persistable, state, value before a run, value after it or None)]
PyObject* f_states(Args a) {
  Py list(check(PyList_New(0)));
  for (const program::StateUse& s : program_of(a[0])->states) {
    Py item(check(
        Py_BuildValue("(sOONNN)", s.state->name.c_str(), s.state->trainable ? Py_True : Py_False,
                      s.state->persistable ? Py_True : Py_False, wrap(program::handle(s.state)),
                      wrap(program::handle(s.initial)), wrap(program::handle(s.last)))));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

// The oldest value of this name in the main block, or None.
PyObject* f_first(Args a) {
  const Program& p = *program_of(a[0]);
  const char* name = PyUnicode_AsUTF8(a[1]);
  if (!name) throw PythonError{};
  for (const Ref<Value>& v : p.main.arguments)
    if (v->name == name) return wrap(program::handle(v));
  for (const program::StateUse& s : p.states)
    if (s.state->name == name) return wrap(program::handle(s.initial));
  for (const auto& o : p.main.operations)
    for (const Ref<Value>& v : o->results)
      if (v->name == name) return wrap(program::handle(v));
  Py_RETURN_NONE;
}

PyObject* f_value_count(Args a) {
  return PyLong_FromUnsignedLong(program_of(a[0])->value_count());
}

// Takes a state out of a Program that does not use it.
PyObject* f_forget_state(Args a) {
  Program& p = *program_of(a[0]);
  const char* name = PyUnicode_AsUTF8(a[1]);
  if (!name) throw PythonError{};
  std::erase_if(p.states, [&](const program::StateUse& s) { return s.state->name == name; });
  p.changed();
  Py_RETURN_NONE;
}

// --- Python functions in Programs ---

PyObject* f_register(Args a) {
  return PyLong_FromLongLong(keep_callable(a[0]));
}

Tensors call(int64_t number, std::span<const Tensor> in) {
  program::Recording off(nullptr);
  return call_kept("py_func", number, in);
}

PyMethodDef functions[] = {FUNCTION("program_for_test", f_for_test, 1),
                           FUNCTION("program_extract", f_extract, 4),
                           FUNCTION("program_with_ranks", f_with_ranks, 2),
                           FUNCTION("program_about", f_about, 1),
                           FUNCTION("program_operands", f_operands, 1),
                           FUNCTION("program_inputs", f_inputs, 1),
                           FUNCTION("program_states", f_states, 1),
                           FUNCTION("program_first", f_first, 2),
                           FUNCTION("program_value_count", f_value_count, 1),
                           FUNCTION("program_forget_state", f_forget_state, 2),
                           FUNCTION("py_register", f_register, 1),
                           {}};

}  // namespace

void add_static(PyObject* module) {
  add_functions(module, functions);
  ops::call_python = call;
}

}  // namespace argosy::python
