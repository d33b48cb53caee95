"""Functions and methods of Tensor."""

from argosy._generated import tensor as _generated
from argosy._generated.tensor import *  # noqa: F403

__all__ = list(_generated.__all__)
