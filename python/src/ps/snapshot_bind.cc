#include "argosy/ps/service/snapshot_text.h"
#include "bindings.h"

namespace argosy::python {
namespace {

// snapshot_describe(directory) -> JSON
PyObject* f_describe(Args a) {
  const std::string directory = text_of(a[0]);
  std::string text;
  {
    WithoutGil without;
    text = ps::describe_snapshot(directory);
  }
  return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

// snapshot_print(directory, table, limit, write): write(text) for some lines at a time.
PyObject* f_print(Args a) {
  const auto limit = PyLong_AsUnsignedLongLong(a[2]);
  if (PyErr_Occurred()) throw PythonError{};
  PyObject* write = a[3];
  ps::print_snapshot(text_of(a[0]), text_of(a[1]), limit, [&](std::string_view lines) {
    Py text(
        check(PyUnicode_FromStringAndSize(lines.data(), static_cast<Py_ssize_t>(lines.size()))));
    Py(check(PyObject_CallOneArg(write, text.get())));
  });
  Py_RETURN_NONE;
}

PyMethodDef functions[] = {FUNCTION("snapshot_describe", f_describe, 1),
                           FUNCTION("snapshot_print", f_print, 4),
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

void add_snapshots(PyObject* module) {
  if (PyModule_AddFunctions(module, functions)) throw PythonError{};
}

}  // namespace argosy::python
