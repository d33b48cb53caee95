"""Load an op from a library of one's own and call it."""

import pathlib

import argosy
from argosy.utils.cpp_extension import load_op_library

library = pathlib.Path(__file__).parent / "build" / "libsquared_difference.so"
ops = load_op_library(library)

x = argosy.to_tensor([1.0, 2.0, 5.0], stop_gradient=False)
y = argosy.to_tensor([1.0, 1.0, 1.0])
out = ops.squared_difference(x, y, 0.5)
print(out)
assert out.tolist() == [0.0, 0.5, 8.0]

out.sum().backward()
assert x.grad.tolist() == [0.0, 1.0, 4.0]
