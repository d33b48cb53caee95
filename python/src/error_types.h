#pragma once

#include <string_view>

#include "python.h"

namespace argosy::python {

// The Python exception of a kind of error: a built-in one, or else the name of one that
// argosy._core makes.
struct ErrorType {
  PyObject* builtin;
  const char* core;
};

inline ErrorType error_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return {PyExc_ValueError, nullptr};
    case ErrorKind::type:
      return {nullptr, "OperandError"};
    case ErrorKind::index:
      return {nullptr, "OutOfRangeError"};
    case ErrorKind::not_implemented:
      return {PyExc_NotImplementedError, nullptr};
    case ErrorKind::memory:
      return {PyExc_MemoryError, nullptr};
    case ErrorKind::runtime:
      return {PyExc_RuntimeError, nullptr};
    case ErrorKind::io:
      return {PyExc_OSError, nullptr};
    case ErrorKind::timeout:
      return {PyExc_TimeoutError, nullptr};
    case ErrorKind::internal:
      return {nullptr, "InternalError"};
    case ErrorKind::device:
      return {nullptr, "DeviceError"};
  }
  return {PyExc_RuntimeError, nullptr};
}

// Texts may quote bytes of a damaged file, which need not be UTF-8.
inline void raise_text(PyObject* type, std::string_view text) {
  Py message(
      PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace"));
  if (message) PyErr_SetObject(type, message.get());
}

}  // namespace argosy::python
