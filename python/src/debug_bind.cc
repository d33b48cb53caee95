#include "argosy/op/nan_finder.h"
#include "argosy/op/shape_check.h"
#include "argosy/op/watched.h"
#include "functions.h"
#include "python.h"
#include "user_line.h"

namespace argosy::python {
namespace {

// Takes the lines that FLAGS_check_nan_inf_level asks for; null: sys.stdout. Guarded by the GIL.
PyObject* reporter = nullptr;

void report(const std::string& line) {
  WithGil gil;
  const std::string where = user_line();
  std::string text = where.empty() ? line : line + " (" + where + ")";
  if (reporter) {
    Py done(PyObject_CallFunction(reporter, "s", text.c_str()));
    if (!done) PyErr_WriteUnraisable(reporter);
    return;
  }
  PyObject* out = PySys_GetObject("stdout");  // borrowed
  if (!out || out == Py_None) return;
  Py done(PyObject_CallMethod(out, "write", "s", (text + "\n").c_str()));
  if (!done) PyErr_WriteUnraisable(out);
}

PyObject* f_set_reporter(PyObject*, PyObject* o) {
  PyObject* old = reporter;
  reporter = o == Py_None ? nullptr : (Py_INCREF(o), o);
  Py_XDECREF(old);
  Py_RETURN_NONE;
}

std::vector<std::string> to_names(PyObject* o) {
  std::vector<std::string> names;
  Py items(check(PySequence_Fast(o, "expected a list of op names")));
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    const char* name = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items.get(), i));
    if (!name) throw PythonError{};
    names.emplace_back(name);
  }
  return names;
}

PyObject* f_set_checked_ops(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&]() -> PyObject* {
    op::set_checked_ops(to_names(args[0]), to_names(args[1]));
    Py_RETURN_NONE;
  });
}

// (tensor, op, label, level) -> (nans, infs, zeros, max, min, mean)
PyObject* f_check_numbers(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    ARGOSY_CHECK(is_tensor(args[0]), type)
        << "[check_numerics] expected a Tensor, got " << Py_TYPE(args[0])->tp_name << '.';
    const char* op = PyUnicode_AsUTF8(args[1]);
    const char* label = op ? PyUnicode_AsUTF8(args[2]) : nullptr;
    if (!label) throw PythonError{};
    op::Numbers r = op::check_numbers(tensor_of(args[0]), op, label, to_int(args[3]));
    return Py_BuildValue("(LLLddd)", static_cast<long long>(r.nans), static_cast<long long>(r.infs),
                         static_cast<long long>(r.zeros), r.max, r.min, r.mean);
  });
}

PyObject* f_start_dtype_counts(PyObject*, PyObject*) {
  op::start_dtype_counts();
  Py_RETURN_NONE;
}

// A list of (op, float16, bfloat16, float32, others).
PyObject* f_start_shape_check(PyObject*, PyObject*) {
  op::start_shape_check();
  Py_RETURN_NONE;
}

// -> list of "op.input"
PyObject* f_stop_shape_check(PyObject*, PyObject*) {
  return guarded_object([&] {
    Py list(check(PyList_New(0)));
    for (const std::string& seen : op::stop_shape_check()) {
      Py item(
          check(PyUnicode_FromStringAndSize(seen.data(), static_cast<Py_ssize_t>(seen.size()))));
      if (PyList_Append(list.get(), item.get())) throw PythonError{};
    }
    return list.release();
  });
}

PyObject* f_stop_dtype_counts(PyObject*, PyObject*) {
  return guarded_object([] {
    Py list(check(PyList_New(0)));
    for (const op::DTypeCount& c : op::stop_dtype_counts()) {
      Py item(
          check(Py_BuildValue("(sLLLL)", c.op.c_str(), static_cast<long long>(c.float16),
                              static_cast<long long>(c.bfloat16), static_cast<long long>(c.float32),
                              static_cast<long long>(c.others))));
      if (PyList_Append(list.get(), item.get())) throw PythonError{};
    }
    return list.release();
  });
}

PyMethodDef functions[] = {{"set_numbers_reporter", f_set_reporter, METH_O, nullptr},
                           FAST("set_checked_ops", f_set_checked_ops),
                           FAST("check_numbers", f_check_numbers),
                           {"start_dtype_counts", f_start_dtype_counts, METH_NOARGS, nullptr},
                           {"stop_dtype_counts", f_stop_dtype_counts, METH_NOARGS, nullptr},
                           {"start_shape_check", f_start_shape_check, METH_NOARGS, nullptr},
                           {"stop_shape_check", f_stop_shape_check, METH_NOARGS, nullptr},
                           {}};

}  // namespace

void add_debug(PyObject* module) {
  add_functions(module, functions);
  op::set_report(report);
}

}  // namespace argosy::python
