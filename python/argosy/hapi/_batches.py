"""Fields of batches as tensors and arrays."""

from argosy import tensor
from argosy._core import Tensor
from argosy._support import listed_if_any


def as_tensors(values):
    """A list of tensors; what has no array stays what it is."""
    return [
        v if isinstance(v, Tensor) or not hasattr(v, "__array__") else tensor.to_tensor(v)
        for v in listed_if_any(values)
    ]


def as_array(value):
    """The array of a tensor; anything else stays what it is."""
    return value.numpy() if hasattr(value, "numpy") else value
