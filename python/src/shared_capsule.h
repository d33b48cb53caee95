#pragma once

#include <memory>
#include <utility>

#include "python.h"

// C++ objects that Python holds as capsules, by a shared_ptr.
namespace argosy::python {

// Throws PythonError for what is no capsule of that name.
template <class T>
std::shared_ptr<T>& unwrap(PyObject* o, const char* name) {
  void* p = PyCapsule_GetPointer(o, name);
  if (!p) throw PythonError{};
  return *static_cast<std::shared_ptr<T>*>(p);
}

// A new reference; None for an empty pointer.
template <class T>
PyObject* wrap_shared(std::shared_ptr<T> object, const char* name) {
  if (!object) Py_RETURN_NONE;
  return check(PyCapsule_New(new std::shared_ptr<T>(std::move(object)), name, [](PyObject* o) {
    auto* p = static_cast<std::shared_ptr<T>*>(PyCapsule_GetPointer(o, PyCapsule_GetName(o)));
    WithoutGil no_gil;  // threads may have to end
    delete p;
  }));
}

inline double to_double(PyObject* o) {
  const double v = PyFloat_AsDouble(o);
  if (PyErr_Occurred()) throw PythonError{};
  return v;
}

}  // namespace argosy::python
