#pragma once

#include "python.h"

namespace argosy::python {

void add_autocast(PyObject* module);

}  // namespace argosy::python
