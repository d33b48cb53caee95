#include "argosy/program/edit.h"

#include <set>

#include "edit.h"
#include "functions.h"
#include "program.h"

// Functions of argosy._core that change Programs by hand. An operation is named by one of its
// results.
namespace argosy::python {
namespace {

using program::Operation;
using program::Value;

Ref<Value> value_in(PyObject* o) {
  Value* v = is_tensor(o) ? program::value_of(tensor_of(o)) : nullptr;
  ARGOSY_CHECK(v, type) << "expected a value of a Program, got " << Py_TYPE(o)->tp_name
                        << ". Do this: pass what an operation or static.data gave.";
  return Ref<Value>::share(v);
}

Operation& operation_of(PyObject* o) {
  Ref<Value> v = value_in(o);
  ARGOSY_CHECK(v->producer, invalid_argument)
      << "'" << v->name << "' is made by no operation: it is an input, state, or was taken out.";
  return *v->producer;
}

size_t number_of(PyObject* o) {
  const Py_ssize_t i = PyNumber_AsSsize_t(o, PyExc_IndexError);
  if (i == -1 && PyErr_Occurred()) throw PythonError{};
  ARGOSY_CHECK(i >= 0, index) << "expected a number from 0 on, got " << i << '.';
  return static_cast<size_t>(i);
}

PyObject* f_redirect_uses(Args a) {
  program::redirect_uses(*program_of(a[0]), value_in(a[1]), value_in(a[2]));
  Py_RETURN_NONE;
}
PyObject* f_set_operand(Args a) {
  program::set_operand(*program_of(a[0]), operation_of(a[1]), number_of(a[2]), value_in(a[3]));
  Py_RETURN_NONE;
}
PyObject* f_remove_operation(Args a) {
  program::remove_operation(*program_of(a[0]), operation_of(a[1]));
  Py_RETURN_NONE;
}
PyObject* f_move_operation(Args a) {
  program::move_operation(*program_of(a[0]), operation_of(a[1]), number_of(a[2]));
  Py_RETURN_NONE;
}

std::set<std::string> names_of(PyObject* o) {
  Py list(check(PySequence_List(o)));
  std::set<std::string> names;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list.get()); ++i)
    names.insert(text_of(PyList_GET_ITEM(list.get(), i)));
  return names;
}

// program, begin, end, names of ops that alone are opened (none: all), names that are not
PyObject* f_decompose(Args a) {
  const std::set<std::string> only = names_of(a[3]), except = names_of(a[4]);
  program::decompose(*program_of(a[0]), number_of(a[1]), number_of(a[2]), [&](const op::OpDef& op) {
    return (only.empty() || only.count(op.name)) && !except.count(op.name);
  });
  Py_RETURN_NONE;
}

// The same number for all tensors that stand for one value, while it lives.
PyObject* f_value_key(Args a) {
  return PyLong_FromVoidPtr(value_in(a[0]).get());
}

PyMethodDef functions[] = {FUNCTION("program_redirect_uses", f_redirect_uses, 3),
                           FUNCTION("program_set_operand", f_set_operand, 4),
                           FUNCTION("program_remove_operation", f_remove_operation, 2),
                           FUNCTION("program_move_operation", f_move_operation, 3),
                           FUNCTION("program_decompose", f_decompose, 5),
                           FUNCTION("program_value_key", f_value_key, 1),
                           {}};

}  // namespace

void add_edit(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python
