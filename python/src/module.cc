#include "argosy/base/cpu.h"
#include "argosy/base/log.h"
#include "autocast_bind.h"
#include "comm.h"
#include "data.h"
#include "edit.h"
#include "entries.h"
#include "onnx.h"
#include "paddle.h"
#include "python.h"

namespace argosy::python {

void add_functions(PyObject* module, PyMethodDef* methods) {
  if (PyModule_AddFunctions(module, methods)) throw PythonError{};
}

}  // namespace argosy::python

static PyModuleDef definition = {PyModuleDef_HEAD_INIT,
                                 "argosy._core",
                                 "Argosy's C++ core. Not public: use argosy.",
                                 -1,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr,
                                 nullptr};

PyMODINIT_FUNC PyInit__core() {
  using namespace argosy::python;
  return guarded_object([]() -> PyObject* {
    Py module(check(PyModule_Create(&definition)));
    add_errors(module.get());
    argosy::cpu::require_baseline();
    argosy::log::enabled(argosy::log::Level::error);  // a level that there is not is said at once
    add_dtype_type(module.get());
    add_tensor_type(module.get());
    add_array_functions(module.get());
    add_dlpack(module.get());
    add_ops(module.get());
    add_autograd(module.get());
    add_autocast(module.get());
    add_registry(module.get());
    add_library(module.get());
    add_system(module.get());
    add_device(module.get());
    add_program(module.get());
    add_edit(module.get());
    add_passes(module.get());
    add_serialize(module.get());
    add_runtime(module.get());
    add_infer(module.get());
    add_jit(module.get());
    add_profile(module.get());
    add_debug(module.get());
    add_static(module.get());
    add_data(module.get());
    add_trainer(module.get());
    add_comm(module.get());
    add_onnx(module.get());
    add_paddle(module.get());
    return module.release();
  });
}
