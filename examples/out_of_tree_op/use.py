"""Load an op from a library of one's own and call it."""

import ctypes
import pathlib

# Before argosy: it takes stock of the ops while it is imported.
ctypes.CDLL(str(pathlib.Path(__file__).parent / "build" / "libsquared_difference.so"))

import argosy  # noqa: E402
from argosy._core import ops  # noqa: E402

x = argosy.to_tensor([1.0, 2.0, 5.0], stop_gradient=False)
y = argosy.to_tensor([1.0, 1.0, 1.0])
out = ops.squared_difference(x, y, 0.5)
print(out)
assert out.tolist() == [0.0, 0.5, 8.0]

out.sum().backward()
assert x.grad.tolist() == [0.0, 1.0, 4.0]
