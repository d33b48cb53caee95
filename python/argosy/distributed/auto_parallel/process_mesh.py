"""Grids of processes."""

from __future__ import annotations

import numpy as np

from argosy._job import get_rank
from argosy._support import ArgumentError
from argosy.distributed._groups import get_group, new_group

__all__ = []


class ProcessMesh:
    """Processes as points of a grid.

    Args:
        mesh (list | numpy.ndarray): Their ranks.
        dim_names (list[str], optional): Names of the axes; d0, d1, .. by default.
        shape, process_ids (list[int], optional): The grid's shape and the ranks in order, in the place of
            mesh.

    Raises:
        ValueError: mesh is no list of ranks, or neither it nor shape and process_ids are given.
        AssertionError: A rank comes twice, or there are not as many names as axes.

    Example:
        >>> mesh = argosy.distributed.ProcessMesh([[0, 1], [2, 3]], dim_names=["x", "y"])
        >>> mesh.shape, mesh.process_ids, mesh.get_dim_size("y")
        ([2, 2], [0, 1, 2, 3], 2)
        >>> mesh.get_rank_by_dim_and_process_id("y", 3), mesh.get_mesh_with_dim("y", 0).process_ids
        (1, [0, 2])
    """

    def __init__(self, mesh=None, dim_names=None, shape=None, process_ids=None):
        if mesh is None:
            if shape is None or process_ids is None:
                raise ValueError(
                    "[ProcessMesh] mesh: expected a list of ranks, or shape and process_ids, got none."
                )
            mesh = np.array(process_ids).reshape(shape)
        if not isinstance(mesh, (list, tuple, np.ndarray)):
            raise ValueError(
                f"[ProcessMesh] mesh: expected a list or an array of ranks, got {type(mesh).__name__}."
            )
        self._mesh = np.array(mesh)
        if not np.issubdtype(self._mesh.dtype, np.integer) or (self._mesh < 0).any():
            raise ValueError("[ProcessMesh] mesh: expected ranks, which are integers from 0 on.")
        if len(set(self.process_ids)) < self._mesh.size:
            raise AssertionError("[ProcessMesh] mesh: all ranks must be different.")
        self._names = (
            [f"d{i}" for i in range(self._mesh.ndim)] if dim_names is None else list(dim_names)
        )
        if len(self._names) != self._mesh.ndim or len(set(self._names)) < self._mesh.ndim:
            raise AssertionError(
                f"[ProcessMesh] dim_names: expected {self._mesh.ndim} different names, got {self._names}."
            )

    @property
    def mesh(self):
        """The ranks, an array."""
        return self._mesh

    @property
    def shape(self):
        """How long each axis is."""
        return list(self._mesh.shape)

    @property
    def ndim(self):
        """How many axes there are."""
        return self._mesh.ndim

    @property
    def size(self):
        """How many processes there are."""
        return self._mesh.size

    @property
    def process_ids(self):
        """The ranks in order."""
        return self._mesh.flatten().tolist()

    @property
    def dim_names(self):
        """Names of the axes."""
        return self._names

    def get_dim_size(self, dim):
        """How long an axis is.

        Args:
            dim (str | int): Its name or number.

        Returns:
            int: That.
        """
        return self._mesh.shape[self._axis(dim)]

    def get_rank_by_dim_and_process_id(self, dim, process_id):
        """The place of a process along an axis.

        Args:
            dim (str | int): The axis.
            process_id (int): The rank.

        Returns:
            int: It; -1 if it is not in the grid.
        """
        found = np.argwhere(self._mesh == process_id)
        return int(found[0][self._axis(dim)]) if len(found) else -1

    def get_mesh_with_dim(self, dim_name, index=None):
        """The grid with an axis first, or a part of that.

        Args:
            dim_name (str): The axis.
            index (int, optional): The place along it whose part is given.

        Returns:
            ProcessMesh: It.
        """
        axis = self._axis(dim_name)
        turned = np.moveaxis(self._mesh, axis, 0)
        names = [self._names[axis], *(n for i, n in enumerate(self._names) if i != axis)]
        if index is None:
            return ProcessMesh(turned, names)
        return ProcessMesh(turned[index], names[1:])

    @property
    def unique_id(self):
        """A number that equal grids have in common, from 1 on in the order in which programs ask."""
        return _numbers.setdefault(self, len(_numbers) + 1)

    def get_submesh_with_dim(self, dim_name):
        """The part of the grid along an axis in which this process is.

        Args:
            dim_name (str): The axis.

        Returns:
            ProcessMesh: It, with this axis only.

        Raises:
            AssertionError: There is no such axis, or this process is not in the grid.

        Example:
            >>> mesh = argosy.distributed.ProcessMesh([[0, 1], [2, 3]], ["x", "y"])
            >>> mesh.get_submesh_with_dim("y").process_ids
            [0, 1]
        """
        self._check_name("get_submesh_with_dim", dim_name)
        found = np.argwhere(self._mesh == get_rank())
        if not len(found):
            raise ArgumentError(
                f"[ProcessMesh.get_submesh_with_dim] process {get_rank()} is none of {self.process_ids}. Do"
                " this: call it where the process is in the grid."
            )
        at = [int(place) for place in found[0]]
        at[self._axis(dim_name)] = slice(None)
        return ProcessMesh(self._mesh[tuple(at)], [dim_name])

    def get_group(self, dim_name=None):
        """The processes along an axis, this one included, as a group. All processes call it.

        Args:
            dim_name (str, optional): The axis; may be left out if there is one.

        Returns:
            Group: It, each time the same.

        Raises:
            AssertionError: There is no such axis, or none is named of several.
            RuntimeError: The processes are not connected yet.

        Example:
            >>> argosy.distributed.ProcessMesh([0], ["x"]).get_group().ranks
            [0]
        """
        if dim_name is None and self.ndim == 1:
            dim_name = self._names[0]
        self._check_name("get_group", dim_name)
        axis, mine = self._axis(dim_name), None
        for ranks in (
            np.moveaxis(self._mesh, axis, -1).reshape([-1, self._mesh.shape[axis]]).tolist()
        ):
            group = _groups.get(tuple(ranks))
            if group is None or get_group(group.id) is not group:
                group = _groups[tuple(ranks)] = new_group(ranks)
            mine = group if group.is_member() else mine
        return mine

    def _check_name(self, what, dim_name):
        if dim_name not in self._names:
            raise ArgumentError(
                f"[ProcessMesh.{what}] dim_name: expected one of {self._names}, got {dim_name!r}. Do this:"
                " name an axis."
            )

    def _axis(self, dim):
        return dim if isinstance(dim, int) else self._names.index(dim)

    def __eq__(self, other):
        return (
            isinstance(other, ProcessMesh)
            and self._names == other._names
            and np.array_equal(self._mesh, other._mesh)
        )

    def __hash__(self):
        return hash((tuple(self.shape), tuple(self.process_ids), tuple(self._names)))

    def __repr__(self):
        return f"shape {self.shape}, process_ids {self.process_ids}, dim_names {self._names}"


class DistAttr:
    """How a tensor is divided, by the axis of a grid that divides each of its dimensions.

    Args:
        mesh (ProcessMesh): The grid.
        sharding_specs (list[str | None]): For each dimension the axis' name, None for none.

    Raises:
        ValueError: mesh is no ProcessMesh, sharding_specs no list, or the grid has no such axis.
        AssertionError: A name is no str.

    Example:
        >>> import argosy.distributed as dist
        >>> dist.DistAttr(dist.ProcessMesh([[0]], ["x", "y"]), ["y", None]).dims_mapping
        [1, -1]
    """

    def __init__(self, mesh, sharding_specs):
        if not isinstance(mesh, ProcessMesh):
            raise ValueError(
                f"[DistAttr] mesh: expected a ProcessMesh, got {type(mesh).__name__}. Do this: make one."
            )
        if not isinstance(sharding_specs, list):
            raise ValueError(
                f"[DistAttr] sharding_specs: expected a list, got {type(sharding_specs).__name__}. Do this:"
                " give a name or None for each dimension."
            )
        for name in sharding_specs:
            if name is not None and not isinstance(name, str):
                raise ArgumentError(
                    f"[DistAttr] sharding_specs: expected names of axes or None, got {name!r}. Do this: give"
                    " the axis' name."
                )
            if name is not None and name not in mesh.dim_names:
                raise ValueError(
                    f"[DistAttr] sharding_specs: expected names of {mesh.dim_names}, got {name!r}. Do this:"
                    " name an axis of the grid."
                )
        self.process_mesh = mesh
        self._specs = list(sharding_specs)

    @property
    def sharding_specs(self):
        """For each dimension the name of the axis that divides it, or None."""
        return self._specs

    @property
    def dims_mapping(self):
        """For each dimension the number of the axis that divides it, or -1."""
        names = self.process_mesh.dim_names
        return [-1 if name is None else names.index(name) for name in self._specs]

    def __repr__(self):
        return f"DistAttr(mesh={{{self.process_mesh}}}, sharding_specs={self._specs})"


_numbers = {}  # of grids
_groups = {}  # by their members' ranks
_of_process = None


def get_mesh():
    """The grid that set_mesh was given last.

    Returns:
        ProcessMesh: It; None without one.

    Example:
        >>> argosy.distributed.get_mesh()
    """
    return _of_process


def set_mesh(mesh):
    """Keeps a grid for get_mesh.

    Args:
        mesh (ProcessMesh): It.

    Raises:
        TypeError: It is none.

    Example:
        >>> argosy.distributed.set_mesh(argosy.distributed.ProcessMesh([0]))
        >>> argosy.distributed.get_mesh().size
        1
    """
    global _of_process
    if not isinstance(mesh, (ProcessMesh, type(None))):
        raise TypeError(f"[set_mesh] mesh: expected a ProcessMesh, got {type(mesh).__name__}.")
    _of_process = mesh
