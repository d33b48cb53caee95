#pragma once

#include "argosy/comm/error.h"
#include "python.h"

// Of comm_bind.cc.
namespace argosy::python {

void add_comm(PyObject* module);
// Sets the Python exception of what ended a group, whoever met it: a call or a Program.
void set_communication_error(const comm::CommError& e);

}  // namespace argosy::python
