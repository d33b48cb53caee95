"""Recomputation of sequences of layers."""

from __future__ import annotations

from argosy import nn
from argosy._support import alone_in, unsupported
from argosy.distributed.fleet.utils import recompute

__all__ = ["recompute_hybrid", "recompute_sequential"]


class _Chain(nn.Layer):
    """Functions one after the other; those that are layers are sublayers, so their parameters are known."""

    def __init__(self, functions):
        super().__init__()
        self._functions = list(functions)
        for number, function in enumerate(self._functions):
            if isinstance(function, nn.Layer):
                self.add_sublayer(str(number), function)

    def forward(self, *args, **kwargs):
        """The result of the last."""
        out = self._functions[0](*args, **kwargs)
        for function in self._functions[1:]:
            out = function(out)
        return out


def recompute_sequential(ctx, functions, *args, **kwargs):
    """functions, one after the other, whose intermediate results are computed again in backward.

    Args:
        ctx (dict): 'segments' (1): how many parts they are cut into; what lies between parts is kept, and so is
            all of the last part. 'preserve_rng_state' (True): draw the same random numbers again.
        functions (Sequential | list): what is computed; each is given the result of the one before.
        *args, **kwargs: arguments of the first.

    Returns:
        The result of the last.

    Raises:
        ValueError: there are fewer functions than segments, or no segments.

    Examples:
        >>> model = argosy.nn.Sequential(argosy.nn.Linear(4, 4), argosy.nn.Linear(4, 2))
        >>> recompute_sequential = argosy.incubate.distributed.fleet.recompute_sequential
        >>> recompute_sequential({"segments": 2}, model, argosy.ones([3, 4])).shape
        paddle.Size([3, 2])
    """
    segments = ctx.get("segments", 1)
    functions = list(functions.children() if isinstance(functions, nn.Sequential) else functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(
            f"[recompute_sequential] segments: expected 1 to {len(functions)}, the number of functions,"
            f" got {segments}. Do this: correct ctx['segments']."
        )
    size = len(functions) // segments
    preserve = ctx.get("preserve_rng_state", True)
    begin = 0
    for begin in range(size, size * segments, size):
        part = _Chain(functions[begin - size : begin])
        args = (recompute(part, *args, preserve_rng_state=preserve, **kwargs),)
        kwargs = {}
    return _Chain(functions[begin:])(*args, **kwargs)


def recompute_hybrid(ctx, function, *args, **kwargs):
    """function(*args, **kwargs), whose intermediate results are computed again in backward.

    Args:
        ctx (dict): 'mp_group': a group of this process alone; 'offload' and 'partition': only False.
        function (callable): a layer or function.
        *args, **kwargs: its arguments.

    Returns:
        What function returns.

    Raises:
        AssertionError: there is no ``ctx['mp_group']``.
        NotImplementedError: the group has several members, or something is to be offloaded or divided.

    Examples:
        >>> group = argosy.distributed.get_group()
        >>> recompute_hybrid = argosy.incubate.distributed.fleet.recompute_hybrid
        >>> recompute_hybrid({"mp_group": group}, argosy.nn.Linear(4, 2), argosy.ones([3, 4])).shape
        paddle.Size([3, 2])
    """
    group = ctx.get("mp_group")
    if group is None:
        raise AssertionError(
            "[recompute_hybrid] ctx: expected an 'mp_group', got none. Do this: pass a group, or use"
            " distributed.fleet.utils.recompute."
        )
    alone_in("recompute_hybrid", group)
    unsupported(
        "recompute_hybrid", "leave it out; what is kept stays where it is, whole",
        offload=(ctx.get("offload", False), False), partition=(ctx.get("partition", False), False),
    )  # fmt: skip
    return recompute(function, *args, **kwargs)
