#include <new>
#include <string>

#include "argosy/op/dispatch.h"
#include "comm.h"
#include "error_types.h"

namespace argosy::python {
namespace {

PyObject* internal_error = nullptr;
PyObject* device_error = nullptr;
// Paddle raises ValueError for some axes out of range and IndexError for others; programs catch
// both.
PyObject* out_of_range_error = nullptr;
// A wrong operand is a TypeError, a ValueError or a RuntimeError in Paddle, depending on which of
// its checks finds it first.
PyObject* operand_error = nullptr;
// Paddle asserts where Python and NumPy raise ValueError or TypeError.
PyObject* conversion_error = nullptr;
// Names are looked up in C++ (RuntimeError) or in Python (ValueError) there.
PyObject* wrong_name_error = nullptr;
// What is no tensor has no dtype and no shape either, which is where Paddle notices.
PyObject* not_tensor_error = nullptr;

// While a Program is built, Paddle asserts what ops check of shapes and numbers when they run.
PyObject* build_error = nullptr;

PyObject* core_module = nullptr;  // borrowed: it has set_error, so it is there

PyObject* python_type(const ErrorType& type) {
  if (type.builtin) return type.builtin;
  PyObject* found = PyObject_GetAttrString(core_module, type.core);
  Py_XDECREF(found);  // the module keeps it
  return found ? found : PyExc_RuntimeError;
}

// While a Program is built, Paddle calls a wrong operand a wrong type.
const char* category_of(ErrorKind kind) {
  if ((kind == ErrorKind::type || kind == ErrorKind::operand) && op::thread_state.recorder)
    return "InvalidType";
  return error_type(kind).category;
}

PyObject* type_of(ErrorKind kind) {
  if (kind == ErrorKind::invalid_argument && op::thread_state.recorder) return build_error;
  return python_type(error_type(kind));
}

}  // namespace

void throw_python_error() {
  CarriedError e;
  PyErr_Fetch(&e.type, &e.value, &e.traceback);
  throw e;
}

void throw_conversion_error(const Message& text) {
  raise_text(conversion_error, "InvalidArgument", text.str());
  throw PythonError();
}

void throw_plain_error(const Error& e) {
  const ErrorType type = error_type(e.kind());
  raise_text(python_type(type), type.category, e.what());
  throw PythonError();
}

void set_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const CarriedError& e) {
    PyErr_Restore(e.type, e.value, e.traceback);
  } catch (const comm::CommError& e) {
    set_communication_error(e);
  } catch (const Error& e) {
    raise_text(type_of(e.kind()), category_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(PyExc_MemoryError,
                    "(ResourceExhausted) The system has no memory left. Do this: free tensors or "
                    "use smaller ones.");
  } catch (const std::exception& e) {
    raise_text(internal_error, "Fatal", e.what());
  }
}

void add_errors(PyObject* module) {
  core_module = module;
  internal_error = PyErr_NewExceptionWithDoc("argosy.InternalError",
                                             "A defect of Argosy itself: please report it.",
                                             PyExc_RuntimeError, nullptr);
  device_error = PyErr_NewExceptionWithDoc("argosy.DeviceError", "A device is missing or failed.",
                                           PyExc_RuntimeError, nullptr);
  Py bases(check(PyTuple_Pack(2, PyExc_IndexError, PyExc_ValueError)));
  out_of_range_error = PyErr_NewExceptionWithDoc(
      "argosy.OutOfRangeError", "An index or axis out of range: an IndexError and a ValueError.",
      bases.get(), nullptr);
  Py operand_bases(check(PyTuple_Pack(3, PyExc_TypeError, PyExc_ValueError, PyExc_RuntimeError)));
  operand_error = PyErr_NewExceptionWithDoc(
      "argosy.OperandError",
      "An operand of a wrong type or dtype: a TypeError, a ValueError and a RuntimeError.",
      operand_bases.get(), nullptr);
  Py not_tensor_bases(check(PyTuple_Pack(2, operand_error, PyExc_AttributeError)));
  not_tensor_error = PyErr_NewExceptionWithDoc(
      "argosy.NotTensorError",
      "Something else where a tensor belongs: an OperandError and an AttributeError.",
      not_tensor_bases.get(), nullptr);
  Py name_bases(check(PyTuple_Pack(2, PyExc_RuntimeError, PyExc_ValueError)));
  wrong_name_error = PyErr_NewExceptionWithDoc(
      "argosy.WrongNameError",
      "A name that nothing has, or that something else has: a RuntimeError and a ValueError.",
      name_bases.get(), nullptr);
  Py conversion_bases(
      check(PyTuple_Pack(3, PyExc_ValueError, PyExc_TypeError, PyExc_AssertionError)));
  conversion_error = PyErr_NewExceptionWithDoc(
      "argosy.ConversionError",
      "A tensor whose shape does not fit what it is to become: a ValueError, a TypeError and an"
      " AssertionError.",
      conversion_bases.get(), nullptr);
  Py build_bases(check(PyTuple_Pack(2, PyExc_ValueError, PyExc_AssertionError)));
  build_error = PyErr_NewExceptionWithDoc(
      "argosy.BuildError",
      "A wrong argument of an op that a Program is to have: a ValueError and an AssertionError.",
      build_bases.get(), nullptr);
  PyModule_AddObjectRef(module, "BuildError", build_error);
  PyModule_AddObjectRef(module, "OutOfRangeError", out_of_range_error);
  PyModule_AddObjectRef(module, "OperandError", operand_error);
  PyModule_AddObjectRef(module, "NotTensorError", not_tensor_error);
  PyModule_AddObjectRef(module, "WrongNameError", wrong_name_error);
  PyModule_AddObjectRef(module, "ConversionError", conversion_error);
  PyModule_AddObjectRef(module, "InternalError", internal_error);
  PyModule_AddObjectRef(module, "DeviceError", device_error);
}

}  // namespace argosy::python
