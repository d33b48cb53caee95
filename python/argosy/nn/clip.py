"""Gradient clipping by optimizers."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._support import no_effect
from argosy.autograd import no_grad

__all__ = []

ops = _core.ops


class ClipGradBase:
    """Base of the clippings: called with a list of (parameter, gradient) pairs."""

    def _dygraph_clip(self, params_grads):
        raise NotImplementedError

    def __call__(self, params_grads):
        with no_grad():
            return self._dygraph_clip(params_grads)

    def _clip_each(self, params_grads, function):
        result = []
        for param, grad in params_grads:
            if grad is not None and getattr(param, "need_clip", True):
                grad = function(grad)
                result.append((param, grad))
            elif grad is not None:
                result.append((param, grad))
        return result


def _clipped(grad, low, high):
    if grad._layout == "row_sparse":
        return ops.clip_by_value(grad, low, high)
    return tensor.clip(grad, low, high)


class ClipGradByValue(ClipGradBase):
    """Every element of a gradient is kept within [min, max].

    Args:
        max (float): largest value.
        min (float, optional): smallest value; None is ``-max``.

    Raises:
        AssertionError: ``min`` is None and ``max`` not positive.

    Examples:
        >>> x = argosy.create_parameter([2], "float32")
        >>> (x * argosy.to_tensor([3.0, -0.2])).sum().backward()
        >>> argosy.nn.ClipGradByValue(1.0)([(x, x.grad)])[0][1].tolist()
        [1.0, -0.2]
    """

    def __init__(self, max, min=None):
        if min is None:
            if not max > 0.0:
                raise AssertionError(
                    f"[ClipGradByValue] max: expected a number > 0 when min is left out, got {max}. "
                    "Do this: pass min, too."
                )
            min = -max
        self.max = float(max)
        self.min = float(min)

    def __str__(self):
        return f"Clip Gradient By Value, min = {self.min:f}, max={self.max:f}"

    def _dygraph_clip(self, params_grads):
        return self._clip_each(params_grads, lambda grad: _clipped(grad, self.min, self.max))


class ClipGradByNorm(ClipGradBase):
    """A gradient whose 2-norm exceeds ``clip_norm`` is scaled to it.

    Args:
        clip_norm (float): largest norm of each gradient.

    Examples:
        >>> x = argosy.create_parameter([2], "float32")
        >>> (x * argosy.to_tensor([3.0, 4.0])).sum().backward()
        >>> argosy.nn.ClipGradByNorm(1.0)([(x, x.grad)])[0][1].tolist()
        [0.6, 0.8]
    """

    def __init__(self, clip_norm):
        self.clip_norm = float(clip_norm)

    def __str__(self):
        return f"Gradient Clip By Norm, clip_norm={self.clip_norm:f}"

    def _dygraph_clip(self, params_grads):
        return self._clip_each(params_grads, lambda grad: ops.clip_by_norm(grad, self.clip_norm))


class ClipGradByGlobalNorm(ClipGradBase):
    """All gradients are scaled together when their common 2-norm exceeds ``clip_norm``.

    The factor is ``clip_norm / max(norm, clip_norm)``, the norm being taken over all gradients of
    parameters with ``need_clip``. Dense gradients are scaled in place: after a step, ``.grad`` is what
    was applied.

    Args:
        clip_norm (float): largest common norm.
        group_name: has no effect: all gradients that it is given are one group.
        auto_skip_clip (bool): is kept as an attribute; the gradients are multiplied by 1 when nothing is
            to be clipped.

    Raises:
        AssertionError: ``auto_skip_clip`` is no bool.

    Examples:
        >>> clip = argosy.nn.ClipGradByGlobalNorm(1.0)
        >>> layer = argosy.nn.Linear(2, 1)
        >>> sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters(), grad_clip=clip)
        >>> layer(argosy.to_tensor([[2.0, 2.0]])).sum().backward()
        >>> sgd.step()
        >>> layer.weight.grad.flatten().tolist(), layer.bias.grad.tolist()
        ([0.6667, 0.6667], [0.3333])
    """

    def __init__(self, clip_norm, group_name="default_group", auto_skip_clip=False):
        if not isinstance(auto_skip_clip, bool):
            raise AssertionError(
                "[ClipGradByGlobalNorm] auto_skip_clip: expected a bool, got "
                f"{auto_skip_clip!r}. Do this: pass True or False."
            )
        self.clip_norm = float(clip_norm)
        no_effect(
            "ClipGradByGlobalNorm", "all gradients that it is given are one group",
            group_name=(group_name, "default_group"),
        )  # fmt: skip
        self.group_name = group_name
        self.auto_skip_clip = auto_skip_clip

    def __str__(self):
        return f"Gradient Clip By GlobalNorm, global_norm={self.clip_norm:f}"

    def _dygraph_clip(self, params_grads):
        chosen = [
            index
            for index, (param, grad) in enumerate(params_grads)
            if grad is not None and getattr(param, "need_clip", True)
        ]
        if not chosen:
            return params_grads
        grads = ops.clip_by_global_norm([params_grads[i][1] for i in chosen], self.clip_norm)
        result = list(params_grads)
        for index, clipped in zip(chosen, grads):
            param, grad = params_grads[index]
            if grad._symbolic or not grad.is_dense():
                result[index] = (param, clipped)
            else:
                grad._set_data(clipped)  # as in Paddle, .grad is what was applied
        return [pair for pair in result if pair[1] is not None]


GradientClipByValue = ClipGradByValue
GradientClipByNorm = ClipGradByNorm
GradientClipByGlobalNorm = ClipGradByGlobalNorm


def clip_by_norm(x, max_norm, name=None):
    """A tensor, scaled down where its 2-norm exceeds ``max_norm``.

    Args:
        x (Tensor): Floating point, of any shape.
        max_norm (float): The largest norm, positive.

    Returns:
        Tensor: ``x * max_norm / max(norm(x), max_norm)``.

    Raises:
        ValueError: ``max_norm`` is not positive.

    Examples:
        >>> argosy.nn.clip.clip_by_norm(argosy.to_tensor([3.0, 4.0]), 1.0).tolist()
        [0.6, 0.8]
    """
    if not max_norm > 0:
        raise ValueError(
            f"[clip_by_norm] max_norm: expected a positive number, got {max_norm}. Do this: pass one."
        )
    norm = x.square().sum().sqrt()
    return x * (max_norm / norm.clip(min=max_norm))
