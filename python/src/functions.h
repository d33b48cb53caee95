#pragma once

#include <string>

#include "python.h"

// What binding files need to offer functions to Python: a table of them, and small conversions.
namespace argosy::python {

using Args = PyObject* const*;

// A function of exactly N arguments as CPython calls it; exceptions become Python's.
template <PyObject* (*F)(Args), Py_ssize_t N>
PyObject* entry(PyObject*, Args args, Py_ssize_t count) {
  return guarded_object([&] {
    ARGOSY_CHECK(count == N, type) << "expected " << N << " arguments, got " << count;
    return F(args);
  });
}

// Rows of a PyMethodDef table: FUNCTION for `PyObject* f(Args)`, FAST for a function that counts
// its arguments and guards itself.
#define FAST(name, f) \
  { name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f)), METH_FASTCALL, nullptr }
#define FUNCTION(name, f, n) FAST(name, (::argosy::python::entry<f, n>))

inline std::string text_of(PyObject* o) {
  Py_ssize_t size = 0;
  const char* s = PyUnicode_AsUTF8AndSize(o, &size);
  if (!s) throw PythonError{};
  return {s, static_cast<size_t>(size)};
}

inline bool truth(PyObject* o) {
  const int v = PyObject_IsTrue(o);
  if (v < 0) throw PythonError{};
  return v != 0;
}

// dict[key] = value, whose reference is taken over.
inline void put(PyObject* dict, const char* key, PyObject* value) {
  Py owned(check(value));
  if (PyDict_SetItemString(dict, key, owned.get())) throw PythonError{};
}

}  // namespace argosy::python
