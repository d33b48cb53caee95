#pragma once

#include "python.h"

namespace argosy::python {

void add_comm(PyObject* module);  // comm_bind.cc

}  // namespace argosy::python
