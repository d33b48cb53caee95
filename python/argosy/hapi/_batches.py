"""Fields of batches as lists, tensors and arrays."""

from argosy import tensor
from argosy._core import Tensor


def as_list(value):
    """A list of value, or of its elements; an empty one of None."""
    if value is None:
        return []
    return list(value) if isinstance(value, (list, tuple)) else [value]


def as_tensors(values):
    """A list of tensors; what has no array stays what it is."""
    return [
        v if isinstance(v, Tensor) or not hasattr(v, "__array__") else tensor.to_tensor(v)
        for v in as_list(values)
    ]


def as_array(value):
    """The array of a tensor; anything else stays what it is."""
    return value.numpy() if hasattr(value, "numpy") else value
