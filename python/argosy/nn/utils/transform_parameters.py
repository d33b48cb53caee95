"""Parameters as one vector and back."""

from __future__ import annotations

from argosy import tensor
from argosy.autograd import no_grad

__all__ = []


def parameters_to_vector(parameters, name=None):
    """All elements of the parameters, one after the other.

    Args:
        parameters: iterable of tensors of one dtype.

    Returns:
        Tensor [number of elements].

    Examples:
        >>> argosy.nn.utils.parameters_to_vector(argosy.nn.Linear(2, 3).parameters()).shape
        paddle.Size([9])
    """
    return tensor.concat([tensor.reshape(p, [-1]) for p in parameters], axis=0)


def vector_to_parameters(vec, parameters, name=None):
    """Write the elements of a vector into the parameters, in place.

    Args:
        vec: Tensor [number of elements or more].
        parameters: iterable of tensors.

    Raises:
        ValueError: ``vec`` has fewer elements than the parameters.

    Examples:
        >>> layer = argosy.nn.Linear(2, 1)
        >>> argosy.nn.utils.vector_to_parameters(argosy.ones([3]), layer.parameters())
        >>> layer.weight.flatten().tolist(), layer.bias.tolist()
        ([1.0, 1.0], [1.0])
    """
    parameters = list(parameters)
    sizes = [p.size for p in parameters]
    if vec.size < sum(sizes):
        raise ValueError(
            f"[vector_to_parameters] vec is too short: expected {sum(sizes)} elements, one "
            f"for each of the parameters', got {vec.size}. Do this: pass what "
            "parameters_to_vector gave."
        )
    start = 0
    with no_grad():
        for parameter, size in zip(parameters, sizes):
            part = tensor.reshape(vec[start : start + size], list(parameter.shape))
            parameter.set_value(part)
            start += size
