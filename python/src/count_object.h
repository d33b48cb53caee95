#pragma once

#include "argosy/tensor/shape.h"
#include "python.h"

namespace argosy::python {

// What Tensor.size gives: an int that, called, gives the sizes, or that of one axis. Other
// frameworks have a method of this name. It holds the sizes, not the tensor.
PyObject* count_of(int64_t numel, const Shape& shape);
// Makes the type. Once, before count_of.
void add_count_type();

}  // namespace argosy::python
