#include "callables.h"

#include <unistd.h>

#include <map>

namespace argosy::python {
namespace {

// Guarded by the GIL.
std::map<int64_t, PyObject*>& callables() {
  static auto* map = new std::map<int64_t, PyObject*>();  // NOLINT: outlives static destructors
  return *map;
}

}  // namespace

int64_t keep_callable(PyObject* function) {
  // Numbers of one process mean nothing in another, where a saved Program may come.
  static int64_t next = (static_cast<int64_t>(getpid()) << 24) + 1;
  callables()[next] = Py_NewRef(function);
  return next++;
}

Tensors call_kept(const char* op, int64_t number, std::span<const Tensor> in) {
  WithGil gil;
  try {
    auto found = callables().find(number);
    ARGOSY_CHECK(found != callables().end(), runtime)
        << '[' << op << "] this Program calls a Python function of the process that built it. Do "
        << "this: build the Program again in this process; functions are not saved.";
    Py list(check(wrap_list(in)));
    Py result(check(PyObject_CallOneArg(found->second, list.get())));
    Tensors out;
    for (Tensor& t : to_tensor_list(op, result.get())) out.push_back(std::move(t));
    return out;
  } catch (const PythonError&) {
    throw_python_error();
  }
}

}  // namespace argosy::python
