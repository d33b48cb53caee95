"""Functions and layers that see each process's own part of placed tensors."""

from __future__ import annotations

import functools

from argosy import nn, utils
from argosy import tensor as tensors
from argosy._core import Tensor
from argosy._support import ArgumentError

from .api import _check_place, _placed, reshard

__all__ = []


def _own(tensor):
    """This process's part, which is all of it."""
    return tensors.assign(tensor)


def _fit(what, given, places, remedy):
    if len(given) != len(places):
        raise ArgumentError(
            f"[{what}] expected {len(places)} tensors, as many as placements, got {len(given)}. Do this:"
            f" {remedy}."
        )


class LocalLayer(nn.Layer):
    """A layer whose forward sees each process's own part of placed tensors, and gives such parts.

    Args:
        out_dist_attrs (list[tuple]): for each result (ProcessMesh, placements), how it is placed.
        grad_dist_attrs (list): for each input the same of its gradient, or None for the input's own.

    Raises:
        AssertionError: another number of inputs or results.

    Example:
        >>> import argosy.distributed as dist
        >>> place = dist.ProcessMesh([0]), [dist.Replicate()]
        >>> class Mean(dist.LocalLayer):
        ...     def __init__(self):
        ...         super().__init__([place], [None])
        ...     def forward(self, x):
        ...         return x.mean()
        >>> Mean()(dist.shard_tensor([1.0, 3.0], *place)).placements
        [Replicate()]
    """

    def __init__(self, out_dist_attrs, grad_dist_attrs):
        super().__init__()
        self.out_dist_attrs = out_dist_attrs
        self.grad_dist_attrs = grad_dist_attrs

    def __call__(self, *inputs, **kwargs):
        _fit("LocalLayer", inputs, self.grad_dist_attrs, "say how each input is placed")
        for place in self.grad_dist_attrs:
            if place is not None:
                _check_place("LocalLayer", *place)
        own = [_own(x) if isinstance(x, Tensor) and x.is_dist() else x for x in inputs]
        outputs = super().__call__(*own, **kwargs)
        flat = utils.flatten(outputs)
        _fit("LocalLayer", flat, self.out_dist_attrs, "say how each result is placed")
        placed = [
            _placed(_own(out), mesh, _check_place("LocalLayer", mesh, placements))
            for out, (mesh, placements) in zip(flat, self.out_dist_attrs)
        ]
        return utils.pack_sequence_as(outputs, placed)


def local_map(func, out_placements, in_placements=None, process_mesh=None, reshard_inputs=False):
    """A function of placed tensors that gives ``func`` each process's own part of them.

    Args:
        func (callable): of tensors, gives tensors.
        out_placements (list): for each result its placements, None for what is no tensor.
        in_placements (list, optional): for each argument the placements that it must have, None for any.
        process_mesh (ProcessMesh, optional): the grid; that of the first placed argument by default.
        reshard_inputs (bool): whether arguments that are placed in another way are placed anew.

    Returns:
        callable: takes what func takes.

    Raises:
        ValueError: an argument that is placed in another way, when the function is called.
        AssertionError: another number of arguments or results, or no grid.

    Example:
        >>> import argosy.distributed as dist
        >>> place = dist.ProcessMesh([0]), [dist.Replicate()]
        >>> double = dist.local_map(lambda x: x * 2, [[dist.Replicate()]])
        >>> y = double(dist.shard_tensor([1.0], *place))
        >>> y.tolist(), y.placements
        ([2.0], [Replicate()])
    """

    def own_part(arg, wanted, mesh):
        if wanted is not None and wanted != arg.placements:
            if not reshard_inputs:
                raise ValueError(
                    f"[local_map] in_placements: expected {wanted}, got a tensor placed as {arg.placements}."
                    " Do this: place it so, or set reshard_inputs=True."
                )
            arg = reshard(arg, mesh, wanted)
        return _own(arg)

    @functools.wraps(func)
    def mapped(*args, **kwargs):
        flat = utils.flatten(args)
        wanted = [None] * len(flat) if in_placements is None else in_placements
        _fit("local_map", flat, wanted, "give in_placements for each argument")
        placed = [isinstance(arg, Tensor) and arg.is_dist() for arg in flat]
        mesh = process_mesh
        if mesh is None:
            mesh = next((arg.process_mesh for arg, is_it in zip(flat, placed) if is_it), None)
        own = [
            own_part(arg, wish, mesh) if is_it else arg
            for arg, wish, is_it in zip(flat, wanted, placed)
        ]
        result = func(*utils.pack_sequence_as(args, own), **kwargs)
        out = utils.flatten(result)
        _fit("local_map", out, out_placements, "give out_placements for each result")
        for i, placements in enumerate(out_placements):
            if placements is None:
                continue
            if mesh is None:
                raise ArgumentError(
                    "[local_map] process_mesh: expected a ProcessMesh, as no argument is placed on one, got"
                    " None. Do this: pass it."
                )
            out[i] = _placed(_own(out[i]), mesh, _check_place("local_map", mesh, placements))
        return utils.pack_sequence_as(result, out)

    return mapped
