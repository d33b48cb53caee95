#pragma once

#include "python.h"

namespace argosy::python {

// onnx_bind.cc: reading and writing ONNX files.
void add_onnx(PyObject* module);

}  // namespace argosy::python
