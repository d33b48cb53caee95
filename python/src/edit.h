#pragma once

#include "python.h"

namespace argosy::python {

void add_edit(PyObject* module);  // edit_bind.cc

}  // namespace argosy::python
