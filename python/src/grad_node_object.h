#pragma once

#include "argosy/autograd/node.h"
#include "python.h"

namespace argosy::python {

// A node of the tape as `grad_fn` gives it; None for no node.
PyObject* grad_node_of(Ref<autograd::Node> node);
// Makes the type. Once, before grad_node_of.
void add_grad_node_type();

}  // namespace argosy::python
