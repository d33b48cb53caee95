#include <string>
#include <vector>

#include "argosy/passes/liveness.h"
#include "argosy/passes/pass.h"
#include "argosy/program/builder.h"
#include "functions.h"
#include "program.h"

// The passes over Programs, for argosy.passes.
namespace argosy::python {
namespace {

using passes::PassReport;

PyObject* text(const std::string& s) {
  return PyUnicode_FromStringAndSize(s.data(), static_cast<Py_ssize_t>(s.size()));
}

PyObject* list_of(const std::vector<std::string>& names) {
  Py list(check(PyList_New(0)));
  for (const std::string& name : names) {
    Py item(check(text(name)));
    if (PyList_Append(list.get(), item.get())) throw PythonError{};
  }
  return list.release();
}

PyObject* f_list(PyObject*, PyObject*) {
  return guarded_object([] {
    static constexpr const char* kRounding[] = {"kept", "changed", "meaning"};
    Py list(check(PyList_New(0)));
    for (const passes::Pass* p : passes::all()) {
      Py d(check(PyDict_New()));
      put(d.get(), "name", PyUnicode_FromString(p->name));
      put(d.get(), "rounding", PyUnicode_FromString(kRounding[static_cast<int>(p->rounding)]));
      put(d.get(), "doc", PyUnicode_FromString(p->doc));
      put(d.get(), "file", PyUnicode_FromString(p->file));
      if (PyList_Append(list.get(), d.get())) throw PythonError{};
    }
    return list.release();
  });
}

PyObject* f_pipelines(PyObject*, PyObject*) {
  return guarded_object([] {
    Py d(check(PyDict_New()));
    for (const std::string& name : passes::pipelines())
      put(d.get(), name.c_str(), list_of(passes::pipeline(name)));
    return d.release();
  });
}

// (program, names, options): options are inference, verify, texts, scope and, as text, those of
// single passes.
PyObject* f_run(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&] {
    ARGOSY_CHECK(count == 3, type) << "[passes_run] expected 3 arguments, got " << count;
    passes::PassContext context;
    Py names(check(PySequence_Fast(args[1], "expected a list of names")));
    std::vector<std::string> list;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(names.get()); ++i)
      list.push_back(text_of(PySequence_Fast_GET_ITEM(names.get(), i)));
    PyObject *key, *value;
    for (Py_ssize_t at = 0; PyDict_Next(args[2], &at, &key, &value);) {
      const std::string name = text_of(key);
      if (name == "inference")
        context.inference = truth(value);
      else if (name == "verify")
        context.verify = truth(value);
      else if (name == "texts")
        context.texts = truth(value);
      else if (name == "scope")
        context.scope = value == Py_None ? nullptr : scope_of(value).get();
      else
        context.options.emplace_back(name, text_of(value));
    }
    std::vector<PassReport> reports;
    passes::run_pipeline(*program_of(args[0]), list, context, &reports);
    Py out(check(PyList_New(0)));
    for (const PassReport& r : reports) {
      Py d(check(PyDict_New()));
      put(d.get(), "name", PyUnicode_FromString(r.pass->name));
      put(d.get(), "changed", PyBool_FromLong(r.changed));
      put(d.get(), "seconds", PyFloat_FromDouble(r.seconds));
      put(d.get(), "operations_before", PyLong_FromSize_t(r.operations_before));
      put(d.get(), "operations_after", PyLong_FromSize_t(r.operations_after));
      put(d.get(), "before", text(r.before));
      put(d.get(), "after", text(r.after));
      if (PyList_Append(out.get(), d.get())) throw PythonError{};
    }
    return out.release();
  });
}

// What is recorded from now on is a segment, to be computed again for the gradient; returns what
// was recorded before. See the pass recompute.
PyObject* f_begin_segment(PyObject*, PyObject* program) {
  return guarded_object([&] {
    program::Builder& b = program_of(program)->builder();
    const uint32_t before = b.segment;
    b.segment = ++b.segments;
    return PyLong_FromUnsignedLong(before);
  });
}
PyObject* f_end_segment(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&]() -> PyObject* {
    ARGOSY_CHECK(count == 2, type) << "[program_end_segment] expected 2 arguments, got " << count;
    program_of(args[0])->builder().segment = static_cast<uint32_t>(to_int(args[1]));
    Py_RETURN_NONE;
  });
}

// (program, values): segments that end where these are made.
PyObject* f_mark_segments(PyObject*, PyObject* const* args, Py_ssize_t count) {
  return guarded_object([&]() -> PyObject* {
    ARGOSY_CHECK(count == 2, type) << "[program_mark_segments] expected 2 arguments, got " << count;
    std::vector<Ref<program::Value>> ends;
    for (const Tensor& t : to_tensor_list("program_mark_segments", args[1]))
      ends.push_back(Ref<program::Value>::share(program::value_of(t)));
    passes::mark_segments(*program_of(args[0]), ends);
    Py_RETURN_NONE;
  });
}

PyObject* f_peak(PyObject*, PyObject* program) {
  return guarded_object(
      [&] { return PyLong_FromSize_t(passes::Liveness(*program_of(program)).peak); });
}

template <class F>
PyCFunction c_function(F f) {
  return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));
}

PyMethodDef functions[] = {
    {"program_begin_segment", f_begin_segment, METH_O, nullptr},
    {"program_end_segment", c_function(f_end_segment), METH_FASTCALL, nullptr},
    {"program_mark_segments", c_function(f_mark_segments), METH_FASTCALL, nullptr},
    {"passes_peak", f_peak, METH_O, nullptr},
    {"passes_list", f_list, METH_NOARGS, nullptr},
    {"passes_pipelines", f_pipelines, METH_NOARGS, nullptr},
    {"passes_run", c_function(f_run), METH_FASTCALL, nullptr},
    {}};

}  // namespace

void add_passes(PyObject* module) {
  add_functions(module, functions);
}

}  // namespace argosy::python
