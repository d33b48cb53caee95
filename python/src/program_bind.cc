#include "argosy/program/program.h"

#include <cstring>

#include "python.h"

#include <frameobject.h>

namespace argosy::python {
namespace {

using program::Program;
using Handle = std::shared_ptr<Program>;
constexpr const char* kCapsule = "argosy.program";

Handle& program_of(PyObject* capsule) {
  void* p = PyCapsule_GetPointer(capsule, kCapsule);
  if (!p) throw PythonError{};
  return *static_cast<Handle*>(p);
}

void destroy(PyObject* capsule) {
  delete static_cast<Handle*>(PyCapsule_GetPointer(capsule, kCapsule));
}

thread_local std::vector<std::unique_ptr<program::Recording>> recordings;

PyObject* f_new(PyObject*, PyObject*) {
  return PyCapsule_New(new Handle(std::make_shared<Program>()), kCapsule, destroy);
}
PyObject* f_input(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object(
      [&] { return wrap(program_of(args[0])->input(to_shape(args[1]), to_dtype(args[2]))); });
}
PyObject* f_begin(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    recordings.push_back(std::make_unique<program::Recording>(program_of(o)));
    Py_RETURN_NONE;
  });
}
PyObject* f_end(PyObject*, PyObject*) {
  if (!recordings.empty()) recordings.pop_back();
  Py_RETURN_NONE;
}
PyObject* f_gradients(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    auto targets = to_tensor_list("gradients", args[1]);
    auto wrt = to_tensor_list("gradients", args[2]);
    return wrap_list(program_of(args[0])->gradients(targets, wrt));
  });
}
PyObject* f_run(PyObject*, PyObject* const* args, Py_ssize_t) {
  return guarded_object([&] {
    auto feeds = to_tensor_list("run", args[1]);
    auto fetches = to_tensor_list("run", args[2]);
    Tensors out;
    {
      WithoutGil no_gil;
      out = program_of(args[0])->run(feeds, fetches);
    }
    return wrap_list(out);
  });
}
PyObject* f_verify(PyObject*, PyObject* o) {
  return guarded_object([&]() -> PyObject* {
    program_of(o)->verify();
    Py_RETURN_NONE;
  });
}
PyObject* f_print(PyObject*, PyObject* o) {
  return guarded_object([&] { return PyUnicode_FromString(program_of(o)->print().c_str()); });
}

// First line outside this package on the Python stack.
std::string location() {
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::string found;
  while (frame && found.empty()) {
    Py code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const char* file = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    if (file && !std::strstr(file, "/argosy/"))
      found = std::string(file) + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return found;
}

#define FAST(name, function)                                                                    \
  {                                                                                             \
    name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, \
        nullptr                                                                                 \
  }
PyMethodDef functions[] = {{"program_new", f_new, METH_NOARGS, nullptr},
                           FAST("program_input", f_input),
                           {"program_begin", f_begin, METH_O, nullptr},
                           {"program_end", f_end, METH_NOARGS, nullptr},
                           FAST("program_gradients", f_gradients),
                           FAST("program_run", f_run),
                           {"program_verify", f_verify, METH_O, nullptr},
                           {"program_print", f_print, METH_O, nullptr},
                           {}};

}  // namespace

void add_program(PyObject* module) {
  add_functions(module, functions);
  program::user_location = location;
}

}  // namespace argosy::python
