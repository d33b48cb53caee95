"""Batch normalization over the batches of all processes."""

from __future__ import annotations

from argosy import _core
from argosy import tensor as tensors
from argosy._framework import in_dynamic_mode
from argosy.autograd import PyLayer, no_grad
from argosy.nn.functional import batch_norm
from argosy.nn.layer import norm

from ._groups import default_group
from .communication import _calls
from .communication.collectives import _OPERATIONS, ReduceOp

__all__ = []


class _Axes:
    """The axes over which statistics of x go, and the shape in which a number for each channel broadcasts
    over x."""

    def __init__(self, x, channel_last):
        channel = x.ndim - 1 if channel_last else 1
        self.summed = [i for i in range(x.ndim) if i != channel]
        self.spread = [-1 if i == channel else 1 for i in range(x.ndim)]
        self.channels = x.shape[channel]
        self.count = x.size // max(self.channels, 1)


def _joined_statistics(x, axes, group):
    """Mean and variance [C] over the values of all processes, and how many values a channel has there.

    Each process tells its count, mean and sum of squared distances; joining those loses no digits where
    the mean is large (Chan, Golub and LeVeque, 1979)."""
    if axes.count:
        mean = x.mean(axes.summed)
        distances = x.var(axes.summed, unbiased=False) * axes.count
    else:
        mean = distances = tensors.zeros([axes.channels], x.dtype)
    mine = tensors.stack([tensors.full_like(mean, axes.count), mean, distances])
    told = [tensors.empty_like(mine) for _ in range(group.nranks)]
    _calls.call(group, "all_gather", [mine], told)
    counts, means, distances = tensors.unbind(tensors.stack(told, axis=1))  # each [processes, C]
    total = max(sum(int(count) for count in counts[:, 0]), 1)
    mean = (counts * means).sum(0) / total
    variance = (distances + counts * (means - mean) ** 2).sum(0) / total
    return mean, variance, total


class _Normalize(PyLayer):
    """x normalized by statistics that are those of all processes' x."""

    @staticmethod
    def forward(ctx, x, weight, bias, mean, variance, total, group, layer):
        ctx.save_for_backward(x, weight, mean, variance)
        ctx.rest = total, group, layer._epsilon, norm.CHANNEL_LAST[layer._data_format]
        ctx.bias_dtype = None if bias is None else bias.dtype
        return batch_norm(
            x, mean, variance, weight, bias,
            epsilon=layer._epsilon, data_format=layer._data_format,
        )  # fmt: skip

    @staticmethod
    def backward(ctx, dy):
        if _core.is_grad_enabled():
            raise NotImplementedError(
                "[SyncBatchNorm] has no second derivatives in several processes. Do this: leave"
                " create_graph=True out, or use BatchNorm there."
            )
        x, weight, mean, variance = ctx.saved_tensor()
        total, group, epsilon, channel_last = ctx.rest
        axes = _Axes(x, channel_last)
        rstd = tensors.rsqrt(variance + epsilon)
        y = (x.astype(mean.dtype) - mean.reshape(axes.spread)) * rstd.reshape(axes.spread)
        g = dy.astype(mean.dtype)
        # Of this process: DataParallel averages gradients of parameters.
        dbias, dweight = g.sum(axes.summed), (g * y).sum(axes.summed)
        sums = tensors.stack([dbias, dweight])
        _calls.call(group, "all_reduce", [sums], op=_OPERATIONS[ReduceOp.SUM])
        along, across = (part.reshape(axes.spread) for part in tensors.unbind(sums / total))
        factor = rstd if weight is None else rstd * weight
        dx = (g - along - y * across) * factor.reshape(axes.spread)
        grads = [dx.astype(x.dtype)]
        if weight is not None:
            grads.append(dweight.astype(weight.dtype))
        if ctx.bias_dtype is not None:
            grads.append(dbias.astype(ctx.bias_dtype))
        return (*grads, None, None)


def _forward(layer, x):
    """Training of a SyncBatchNorm in one of several processes. None where all of them together have one
    value for each channel: then it is what BatchNorm does."""
    if not in_dynamic_mode():
        raise NotImplementedError(
            "[SyncBatchNorm] statistics of several processes are joined in eager mode only, and a Program"
            " is being recorded. Do this: train without jit.to_static, or use BatchNorm."
        )
    group = default_group("SyncBatchNorm")
    with no_grad():
        wide = x.astype("float32") if x.dtype in (_core.float16, _core.bfloat16) else x
        axes = _Axes(x, norm.CHANNEL_LAST[layer._data_format])
        mean, variance, total = _joined_statistics(wide, axes, group)
        if total == 1:
            return None
        for running, batch in ((layer._mean, mean), (layer._variance, variance)):
            mixed = running * layer._momentum + batch.astype(running.dtype) * (1 - layer._momentum)
            tensors.assign(mixed, running)
    return _Normalize.apply(x, layer.weight, layer.bias, mean, variance, total, group, layer)


norm.normalize_over_processes = _forward
