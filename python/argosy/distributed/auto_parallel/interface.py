"""Annotations of models for Engine: on a grid of one process."""

from __future__ import annotations

import numpy as np

from argosy._support import no_effect

from ..fleet.utils.recomputation import recompute as _recompute
from . import api
from .placement import Replicate, Shard
from .process_mesh import ProcessMesh, get_mesh, set_mesh

__all__ = []


def shard_tensor(x, process_mesh=None, shard_spec=None):
    """x, placed on a grid of processes.

    Args:
        x (Tensor): stays itself.
        process_mesh (ProcessMesh, optional): the grid, of one process; None is that of ``set_mesh``.
        shard_spec (list, optional): for each axis of x the name of the grid's axis that divides it, or None.

    Returns:
        Tensor: x.

    Raises:
        AssertionError: there is no grid, or ``shard_spec`` is no list.
        ValueError: an axis of the grid is unknown.
        NotImplementedError: the grid has several processes.

    Examples:
        >>> mesh = argosy.distributed.ProcessMesh([0], dim_names=["x"])
        >>> x = argosy.distributed.auto_parallel.shard_tensor(argosy.ones([2, 3]), mesh, [None, "x"])
        >>> x.placements
        [Shard(dim=1)]
    """
    mesh = get_mesh() if process_mesh is None else process_mesh
    if not isinstance(mesh, ProcessMesh):
        raise AssertionError(
            f"[shard_tensor] process_mesh: expected a ProcessMesh, got {type(mesh).__name__}. Do this: pass"
            " one, or call set_mesh before."
        )
    spec = [] if shard_spec is None else shard_spec
    if not isinstance(spec, list):
        raise AssertionError(
            f"[shard_tensor] shard_spec: expected a list, got {type(spec).__name__}. Do this: pass names of"
            " the grid's axes or None."
        )
    placements = [Replicate()] * mesh.ndim
    for axis, name in enumerate(spec):
        if name is None:
            continue
        if name not in mesh.dim_names:
            raise ValueError(
                f"[shard_tensor] shard_spec: expected one of {mesh.dim_names} or None at {axis}, got"
                f" {name!r}. Do this: use a name of the grid's axes."
            )
        placements[mesh.dim_names.index(name)] = Shard(axis)
    return api._placed(x, mesh, api._check_place("shard_tensor", mesh, placements))


def shard_op(op, process_mesh=None, in_shard_specs=None, out_shard_specs=None, chunk_id=None):
    """A function whose operands and results are placed on a grid of processes.

    Args:
        op (callable): the function.
        process_mesh (ProcessMesh, optional): the grid, of one process; None is that of ``set_mesh``.
        in_shard_specs, out_shard_specs (list, optional): a ``shard_spec`` for each operand and result, or None.
        chunk_id (int, optional): has no effect: there are no stages.

    Returns:
        function: op, which places what it is given and what it returns.

    Examples:
        >>> mesh = argosy.distributed.ProcessMesh([0], dim_names=["x"])
        >>> add = argosy.distributed.auto_parallel.shard_op(argosy.add, mesh, [["x"], ["x"]], [["x"]])
        >>> add(argosy.ones([2]), argosy.ones([2])).placements
        [Shard(dim=0)]
    """
    no_effect("shard_op", "there are no stages", chunk_id=(chunk_id, None))

    def place(tensors, specs):
        for tensor, spec in zip(tensors, specs or ()):
            if spec is not None:
                shard_tensor(tensor, process_mesh, spec)

    def placed(*args, **kwargs):
        place(args, in_shard_specs)
        out = op(*args, **kwargs)
        place(out if isinstance(out, (list, tuple)) else [out], out_shard_specs)
        return out

    return placed


def recompute(op):
    """A function whose intermediate results are computed again in backward.

    Args:
        op (callable): a layer or function.

    Returns:
        function: the same, recomputed.

    Examples:
        >>> layer = argosy.nn.Linear(2, 2)
        >>> argosy.distributed.auto_parallel.recompute(layer)(argosy.ones([1, 2])).shape
        paddle.Size([1, 2])
    """

    def recomputed(*args, **kwargs):
        return _recompute(op, *args, **kwargs)

    return recomputed


def create_mesh(mesh_dims):
    """Makes the grid of all processes the one of ``get_mesh``.

    Args:
        mesh_dims (list): (name, size) of each axis; one process: sizes of 1.

    Returns:
        ProcessMesh.

    Examples:
        >>> argosy.distributed.auto_parallel.create_mesh([("dp", 1), ("mp", 1)]).dim_names
        ['dp', 'mp']
    """
    names, sizes = zip(*mesh_dims)
    ranks = np.arange(int(np.prod(sizes))).reshape(sizes)
    mesh = ProcessMesh(ranks, list(names))
    set_mesh(mesh)
    return mesh
