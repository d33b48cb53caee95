#pragma once

#include <string>
#include <string_view>

#include "python.h"

namespace argosy::python {

// The Python exception of a kind of error, a built-in one or else the name of one that argosy._core
// makes, and the category that the message begins with: Paddle's word for such a mistake.
struct ErrorType {
  PyObject* builtin;
  const char* core;
  const char* category;
};

// A Python exception on its way through C++ frames. The GIL may be released in between. One type
// for all modules: that of a signal is thrown by argosy._core in waits that argosy._net has begun.
struct ARGOSY_API CarriedError {
  PyObject *type, *value, *traceback;
};

inline ErrorType error_type(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::invalid_argument:
      return {PyExc_ValueError, nullptr, "InvalidArgument"};
    case ErrorKind::type:
      return {nullptr, "OperandError", "InvalidArgument"};
    case ErrorKind::operand:
      return {nullptr, "NotTensorError", "InvalidArgument"};
    case ErrorKind::attribute:
      return {nullptr, "OperandError", "InvalidType"};
    case ErrorKind::index:
      return {nullptr, "OutOfRangeError", "OutOfRange"};
    // A dimension, or a place that no element has where Paddle checks it as an argument.
    case ErrorKind::axis:
      return {nullptr, "OutOfRangeError", "InvalidArgument"};
    case ErrorKind::not_found:
      return {nullptr, "WrongNameError", "NotFound"};
    case ErrorKind::already_exists:
      return {nullptr, "WrongNameError", "AlreadyExists"};
    case ErrorKind::permission:
      return {PyExc_RuntimeError, nullptr, "PermissionDenied"};
    case ErrorKind::not_implemented:
      return {PyExc_NotImplementedError, nullptr, "Unimplemented"};
    case ErrorKind::memory:
      return {PyExc_MemoryError, nullptr, "ResourceExhausted"};
    case ErrorKind::runtime:
      return {PyExc_RuntimeError, nullptr, "PreconditionNotMet"};
    case ErrorKind::io:
      return {PyExc_OSError, nullptr, "External"};
    case ErrorKind::timeout:
      return {PyExc_TimeoutError, nullptr, "ExecutionTimeout"};
    case ErrorKind::internal:
      return {nullptr, "InternalError", "Fatal"};
    case ErrorKind::device:
      return {nullptr, "DeviceError", "PreconditionNotMet"};
  }
  return {PyExc_RuntimeError, nullptr, "Fatal"};
}

// "(category) text". Texts may quote bytes of a damaged file, which need not be UTF-8.
inline void raise_text(PyObject* type, std::string_view category, std::string_view text) {
  const std::string whole = '(' + std::string(category) + ") " + std::string(text);
  Py message(PyUnicode_DecodeUTF8(whole.data(), static_cast<Py_ssize_t>(whole.size()),
                                  "backslashreplace"));
  if (message) PyErr_SetObject(type, message.get());
}

}  // namespace argosy::python
