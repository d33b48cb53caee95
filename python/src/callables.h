#pragma once

#include "python.h"

// Python functions that operations of Programs name by number: py_func, Print, gradients of
// PyLayer.
namespace argosy::python {

// Keeps a function for the length of the process, which a Program that names it may live for.
int64_t keep_callable(PyObject* function);

// function([Tensor or None, ..]) -> Tensor, None or a list of these. Takes the GIL. `op` is for the
// error where the number is of another process.
Tensors call_kept(const char* op, int64_t number, std::span<const Tensor> in);

}  // namespace argosy::python
