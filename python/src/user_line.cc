#include "user_line.h"

#include <dlfcn.h>

#include "python.h"

#include <frameobject.h>

namespace argosy::python {
namespace {

// The folder of this library, which is the package's, with a slash at the end.
std::string package_folder() {
  Dl_info here;
  if (!dladdr(reinterpret_cast<const void*>(&user_line), &here) || !here.dli_fname) return {};
  const std::string path = here.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

}  // namespace

std::string user_line() {
  static const std::string package = package_folder();
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  std::string found;
  while (frame && found.empty()) {
    Py code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    const char* name = PyUnicode_AsUTF8(reinterpret_cast<PyCodeObject*>(code.get())->co_filename);
    const std::string file = name ? name : "";
    if (!file.empty() && (package.empty() || !file.starts_with(package)))
      found = file + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return found;
}

}  // namespace argosy::python
