#pragma once

#include "argosy/tensor/shape.h"
#include "python.h"

namespace argosy::python {

// What Tensor.shape gives: argosy.Size, a list of ints.
PyObject* size_of(const Shape& shape);
// Makes the type, and a name of the module. Once, before size_of.
void add_size_type(PyObject* module);

}  // namespace argosy::python
