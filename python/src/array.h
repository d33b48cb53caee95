#pragma once

#include "argosy/base/parallel.h"
#include "python.h"

namespace argosy::python {

// Copies the elements of a C-contiguous buffer of that dtype to memory(its shape). False, and
// nothing was done, for other objects.
bool copy_buffer_of(PyObject* o, DType dtype, FunctionRef<void*(const Shape&)> memory);

}  // namespace argosy::python
