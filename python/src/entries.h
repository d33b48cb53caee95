#pragma once

#include "python.h"

// Functions of argosy._core.ops for ops that come after the module was made.
namespace argosy::python {

void add_entries(std::span<const op::OpDef* const> defs);
void add_library(PyObject* module);  // library_bind.cc

}  // namespace argosy::python
