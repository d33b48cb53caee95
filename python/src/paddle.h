#pragma once

#include "python.h"

namespace argosy::python {

// paddle_bind.cc: reading and writing models of Paddle.
void add_paddle(PyObject* module);

}  // namespace argosy::python
