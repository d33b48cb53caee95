"""Grids of processes."""

from __future__ import annotations

import numpy as np

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
