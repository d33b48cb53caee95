#include <cstring>
#include <new>

#include "bindings.h"
#include "error_types.h"

namespace argosy::python {
namespace {

// The exceptions are those of argosy._core: found by name, since this is another library.
PyObject* python_type(const ErrorType& known) {
  if (known.builtin) return known.builtin;
  Py core(PyImport_ImportModule("argosy._core"));
  PyObject* type = core ? PyObject_GetAttrString(core.get(), known.core) : nullptr;
  PyErr_Clear();
  return type ? type : PyExc_RuntimeError;  // kept for the life of the process
}

}  // namespace

void set_error() {
  try {
    throw;
  } catch (const PythonError&) {
  } catch (const Error& e) {
    const ErrorType type = error_type(e.kind());
    raise_text(python_type(type), type.category, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& e) {
    raise_text(python_type(error_type(ErrorKind::internal)), "Fatal", e.what());
  }
}

Buffer::Buffer(PyObject* object, char format, bool writable) {
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  if (PyObject_GetBuffer(object, &view_, flags)) throw PythonError{};
  const char* got = view_.format ? view_.format : "B";
  // 'L' and 'Q' are both 64 bits here, as are 'l' and 'q'.
  const auto same = [](char a, char b) {
    return a == b || (std::strchr("LQ", a) && std::strchr("LQ", b)) ||
           (std::strchr("lq", a) && std::strchr("lq", b));
  };
  if (!same(got[0], format)) {
    const std::string name = got;
    PyBuffer_Release(&view_);
    ARGOSY_THROW(type) << "[parameter_server] array: expected items of format '" << format
                       << "', got '" << name << "'. Do this: convert it with astype.";
  }
}

}  // namespace argosy::python

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "argosy._ps",
                                 "Argosy's parameter server. Not public: use argosy.distributed.",
                                 -1,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit__ps() {
  using namespace argosy::python;
  return guarded_object([]() -> PyObject* {
    Py module(check(PyModule_Create(&definition)));
    add_modes(module.get());
    add_tables(module.get());
    add_snapshots(module.get());
    add_client(module.get());
    add_server(module.get());
    return module.release();
  });
}
