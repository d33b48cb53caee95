"""Weight normalization."""

from __future__ import annotations

from argosy import _core
from argosy.autograd import no_grad
from argosy.nn.layer._helper import set_first_value

__all__ = []


class WeightNorm:
    """Hook that computes a weight from its direction and its length before each call."""

    def __init__(self, name, dim):
        self.name = name
        self.dim = -1 if dim is None else dim

    def compute_weight(self, layer):
        g = getattr(layer, self.name + "_g")
        v = getattr(layer, self.name + "_v")
        return _core.ops.weight_norm(v, g, self.dim)

    def __call__(self, layer, _inputs):
        setattr(layer, self.name, self.compute_weight(layer))

    @staticmethod
    def apply(layer, name, dim):
        for hook in layer._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"[weight_norm] the parameter '{name}' is normalized already. Do this: call "
                    "remove_weight_norm first."
                )
        weight = layer._parameters[name]
        rank = len(weight.shape)
        if dim is not None and not -rank <= dim < rank:
            raise AssertionError(
                f"[weight_norm] dim: expected None or an axis in [-{rank}, {rank}), got {dim}. "
                "Do this: correct it."
            )
        if dim is not None and dim != -1:
            dim = (dim + rank) % rank
        hook = WeightNorm(name, dim)
        del layer._parameters[name]
        with no_grad():
            length = _core.ops.norm_except_dim(weight, hook.dim)
            v = layer.create_parameter(list(weight.shape), dtype=weight.dtype)
            set_first_value(v, lambda: _core.ops.assign(weight))
            g = layer.create_parameter(list(length.shape), dtype=weight.dtype)
            set_first_value(g, lambda: _core.ops.norm_except_dim(weight, hook.dim))
        layer.add_parameter(name + "_v", v)
        layer.add_parameter(name + "_g", g)
        setattr(layer, name, hook.compute_weight(layer))
        layer.register_forward_pre_hook(hook)
        return hook

    def remove(self, layer):
        with no_grad():
            value = self.compute_weight(layer)
            weight = layer.create_parameter(list(value.shape), dtype=value.dtype)
            weight.set_value(value)
        delattr(layer, self.name)
        del layer._parameters[self.name + "_g"]
        del layer._parameters[self.name + "_v"]
        layer.add_parameter(self.name, weight)


def weight_norm(layer, name="weight", dim=0):
    """Learn a parameter as direction ``<name>_v`` and length ``<name>_g``.

    Args:
        layer: the layer; it is changed.
        name (str): the parameter.
        dim (int, optional): the axis that keeps its own lengths; None (or -1): one length for the whole
            weight.

    Returns:
        The layer.

    Raises:
        RuntimeError: the parameter is normalized already.
        AssertionError: ``dim`` is no axis of it.

    Paper: Salimans and Kingma, arXiv:1602.07868.

    Examples:
        >>> layer = argosy.nn.utils.weight_norm(argosy.nn.Linear(2, 3), dim=1)
        >>> layer.weight_v.shape, layer.weight_g.shape
        (paddle.Size([2, 3]), paddle.Size([3]))
        >>> sorted(dict(argosy.nn.utils.remove_weight_norm(layer).named_parameters()))
        ['bias', 'weight']
    """
    WeightNorm.apply(layer, name, dim)
    return layer


def remove_weight_norm(layer, name="weight"):
    """Undo :func:`weight_norm`: the parameter is one again, with its current value.

    Args:
        layer: the layer; it is changed.
        name (str): the parameter.

    Returns:
        The layer.

    Raises:
        ValueError: the parameter is not normalized.

    Examples:
        >>> layer = argosy.nn.utils.weight_norm(argosy.nn.Linear(2, 3))
        >>> list(dict(argosy.nn.utils.remove_weight_norm(layer).named_parameters()))
        ['bias', 'weight']
    """
    for key, hook in list(layer._forward_pre_hooks.items()):
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(layer)
            del layer._forward_pre_hooks[key]
            return layer
    raise ValueError(
        f"[remove_weight_norm] the parameter '{name}' of {type(layer).__name__} is not "
        "normalized. Do this: check its name."
    )
