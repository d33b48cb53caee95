"""Where a process stands among those of a job, along several axes at once."""

from __future__ import annotations

import collections
import itertools
import math

from argosy import distributed
from argosy._support import ArgumentError, check_choice, no_effect
from argosy.distributed import ParallelMode

__all__ = ["CommunicateTopology", "HybridCommunicateGroup"]

_NAMES = ("data", "pipe", "sharding", "sep", "context", "model")


class CommunicateTopology:
    """Processes as points of a grid; the last axis varies fastest with the rank.

    Args:
        hybrid_group_names (list[str]): Names of the axes.
        dims (list[int]): How long each is.

    Raises:
        ValueError: There are not as many numbers as names.

    Example:
        >>> from argosy.distributed.fleet import CommunicateTopology
        >>> grid = CommunicateTopology(["data", "model"], [2, 2])
        >>> grid.get_coord(2), grid.get_rank(data=0, model=1)
        (Coordinate(data=1, model=0), 1)
        >>> grid.get_comm_list("data"), grid.get_axis_list("model", 0)
        ([[0, 2], [1, 3]], [0, 2])
        >>> grid.get_fused_ranks(["data", "model"]), grid.get_rank_from_stage(3, data=0)
        ([[0, 1, 2, 3]], 1)
        >>> grid.get_hybrid_group_names(), grid.get_dim("data"), grid.get_dim_size("data"), grid.world_size()
        (['data', 'model'], 2, 2, 4)
    """

    def __init__(self, hybrid_group_names=_NAMES, dims=(1,) * len(_NAMES)):
        if len(hybrid_group_names) != len(dims):
            raise ValueError(
                f"[CommunicateTopology] dims: expected a number for each of {len(hybrid_group_names)} axes,"
                f" got {len(dims)}."
            )
        self._names = list(hybrid_group_names)
        self._dims = list(dims)
        self.coordinate = collections.namedtuple("Coordinate", self._names)
        points = itertools.product(*(range(d) for d in self._dims))
        self._coords = [self.coordinate(*point) for point in points]
        self._ranks = {coord: rank for rank, coord in enumerate(self._coords)}

    def get_hybrid_group_names(self):
        """Names of the axes.

        Returns:
            list[str]: They.
        """
        return self._names

    def get_dim(self, axis_name):
        """How long an axis is.

        Args:
            axis_name (str): Its name.

        Returns:
            int: That.
        """
        return self._dims[self._names.index(axis_name)]

    get_dim_size = get_dim

    def world_size(self):
        """How many processes there are.

        Returns:
            int: That.
        """
        return math.prod(self._dims)

    def get_rank(self, **args):
        """The rank of a process.

        Args:
            **args (int): Its place along each axis, by name.

        Returns:
            int: It.
        """
        return self._ranks[self.coordinate(**args)]

    def get_coord(self, rank):
        """Where a process stands.

        Args:
            rank (int): Its rank.

        Returns:
            namedtuple: Its place along each axis.

        Raises:
            ValueError: There is no such process.
        """
        if rank not in range(len(self._coords)):
            raise ValueError(
                f"[CommunicateTopology.get_coord] rank: expected one below {len(self._coords)}, got {rank}."
            )
        return self._coords[rank]

    def get_axis_list(self, axis_name, index):
        """The ranks of all processes at one place of an axis.

        Args:
            axis_name (str): The axis.
            index (int): The place.

        Returns:
            list[int]: They.
        """
        axis = self._names.index(axis_name)
        return [rank for rank, coord in enumerate(self._coords) if coord[axis] == index]

    def get_comm_list(self, axis_name):
        """The ranks that differ along one axis alone.

        Args:
            axis_name (str): The axis.

        Returns:
            list[list[int]]: Those of each group.
        """
        return self.get_fused_ranks([axis_name])

    def get_fused_ranks(self, fused_axis):
        """The ranks that differ along some axes alone.

        Args:
            fused_axis (list[str]): The axes.

        Returns:
            list[list[int]]: Those of each group.
        """
        groups = {}
        for rank, coord in enumerate(self._coords):
            fixed = tuple(c for c, name in zip(coord, self._names) if name not in fused_axis)
            groups.setdefault(fixed, []).append(rank)
        return list(groups.values())

    def get_rank_from_stage(self, global_rank, **kwargs):
        """The rank of who stands where another process does, but for some axes.

        Args:
            global_rank (int): The other process.
            **kwargs (int): Places along those axes, by name.

        Returns:
            int: It.
        """
        return self._ranks[self.get_coord(global_rank)._replace(**kwargs)]


class HybridCommunicateGroup:
    """The groups of this process along each axis of a topology. In this version layers are not divided, so
    all axes but "data" have one place.

    Args:
        topology (CommunicateTopology): Of all processes.
        hybrid_configs (optional): Not used by this version: None.

    Raises:
        NotImplementedError: Another axis than "data" is longer than 1.
        ValueError: There are not as many processes as the topology says.

    Example:
        >>> from argosy.distributed import fleet
        >>> _ = fleet.init(is_collective=True)
        >>> group = fleet.get_hybrid_communicate_group()
        >>> group.get_data_parallel_world_size(), group.get_model_parallel_rank()
        (1, 0)
        >>> group.get_data_parallel_rank(), group.get_data_parallel_group_src_rank(), group.get_stage_id()
        (0, 0, 0)
        >>> group.get_data_parallel_group().ranks, group.get_check_parallel_group().ranks
        ([0], [0])
        >>> group.get_parallel_mode(), group.get_global_rank(), group.get_rank_from_stage(0)
        (0, 0, 0)
        >>> group.topology().world_size(), group.get_p2p_groups()
        (1, None)
        >>> group.get_dp_sep_parallel_group().ranks, group.get_pp_mp_parallel_group().ranks
        ([0], [0])
        >>> group.get_moe_sharding_parallel_world_size(), group.create_fuse_group(["data", "sep"])[0]
        (0, [0])
    """

    def __init__(self, topology, hybrid_configs=None):
        if hybrid_configs is not None:
            raise NotImplementedError(
                "[HybridCommunicateGroup] hybrid_configs is not supported: expected None. Do this: leave it"
                " out."
            )
        for name in topology.get_hybrid_group_names():
            if name != "data" and topology.get_dim(name) > 1:
                raise NotImplementedError(
                    f"[HybridCommunicateGroup] layers are not divided between processes: expected 1 place"
                    f" along the axis {name!r}, got {topology.get_dim(name)}. Do this: use the axis 'data'."
                )
        size = distributed.get_world_size()
        if topology.world_size() != size:
            raise ValueError(
                f"[HybridCommunicateGroup] topology: expected one of {size} processes, got one of"
                f" {topology.world_size()}."
            )
        self._topology = topology
        self.nranks = size
        self.global_rank = distributed.get_rank()
        self._data = distributed.new_group(list(range(size)))
        self._alone = self._group_of_one(size)

    @staticmethod
    def _group_of_one(size):
        """That of this process alone: all processes make all of them."""
        groups = [distributed.new_group([rank]) for rank in range(size)]
        return groups[distributed.get_rank()]

    def topology(self):
        """The topology.

        Returns:
            CommunicateTopology: It.
        """
        return self._topology

    def get_parallel_mode(self):
        """How the job trains.

        Returns:
            int: ParallelMode.DATA_PARALLEL.
        """
        return ParallelMode.DATA_PARALLEL

    def get_global_rank(self):
        """The rank of this process among all.

        Returns:
            int: It.
        """
        return self.global_rank

    def get_data_parallel_rank(self):
        """The place of this process along "data".

        Returns:
            int: It.
        """
        return self.global_rank

    def get_data_parallel_world_size(self):
        """How many processes have other samples.

        Returns:
            int: That.
        """
        return self.nranks

    def get_data_parallel_group(self):
        """The group of all who have other samples.

        Returns:
            Group: It.
        """
        return self._data

    def get_data_parallel_group_src_rank(self):
        """The rank of the first of that group.

        Returns:
            int: 0.
        """
        return 0

    def get_check_parallel_group(self, sharding=False):
        """The group in which all see whether a gradient is finite: this process, as gradients are averaged.

        Args:
            sharding (bool): Makes no difference.

        Returns:
            Group: It.
        """
        check_choice("get_check_parallel_group", "sharding", sharding, (True, False))
        return self._alone

    def get_rank_from_stage(self, stage_id, **kwargs):
        """The rank of the process at a stage of the pipeline, of which there is one.

        Args:
            stage_id (int): 0.
            **kwargs (int): Places along other axes, by name.

        Returns:
            int: It.
        """
        return self._topology.get_rank_from_stage(self.global_rank, pipe=stage_id, **kwargs)

    def get_stage_id(self):
        """The stage of the pipeline that this process computes.

        Returns:
            int: 0.
        """
        return 0

    def get_dp_sep_parallel_group(self):
        """The group of all who have other samples or other parts of sequences.

        Returns:
            Group: That of "data".
        """
        return self._data

    def get_pp_mp_parallel_group(self):
        """The group of those that compute parts of one model.

        Returns:
            Group: Of this process.
        """
        return self._alone

    def get_moe_sharding_parallel_world_size(self):
        """Between how many processes the state of experts is divided.

        Returns:
            int: 0, as there are none.
        """
        return 0

    def create_fuse_group(self, fused_strategy_list, nccl_config=None):
        """The group along several axes. All processes call it.

        Args:
            fused_strategy_list (list[str]): Names of the axes, such as ["data", "sharding"].
            nccl_config (optional): No effect.

        Returns:
            tuple: The ranks of this process's group, and the group.

        Raises:
            AssertionError: The list is empty.
        """
        no_effect(
            "create_fuse_group", "tensors do not go by NCCL", nccl_config=(nccl_config, None)
        )  # fmt: skip
        if not fused_strategy_list:
            raise ArgumentError(
                "[create_fuse_group] fused_strategy_list: expected names of axes, got none. Do this: name"
                " some of the topology."
            )
        mine = None
        for ranks in sorted(self._topology.get_fused_ranks(fused_strategy_list)):
            group = distributed.new_group(ranks)
            mine = (ranks, group) if self.global_rank in ranks else mine
        return mine

    def get_p2p_groups(self):
        """Groups of neighbours in the pipeline: None."""
        return None


def _along(axis, what):
    """Getters of an axis with one place."""

    def rank(self):
        return 0

    def world_size(self):
        return 1

    def group(self):
        return self._alone

    def group_src_rank(self):
        return self.global_rank

    docs = {
        rank: (f"The place of this process along the axis of {what}.", "int: 0."),
        world_size: (f"How long the axis of {what} is.", "int: 1."),
        group: (f"The group along the axis of {what}.", "Group: This process alone."),
        group_src_rank: (
            f"The rank of the first of the group along the axis of {what}.",
            "int: Its own.",
        ),
    }
    for getter, (text, result) in docs.items():
        name = f"get_{axis}_parallel_{getter.__name__}"
        getter.__name__ = name
        getter.__doc__ = f"""{text}

        Returns:
            {result}

        Example:
            >>> _ = argosy.distributed.fleet.init(is_collective=True)
            >>> groups = argosy.distributed.fleet.get_hybrid_communicate_group()
            >>> _ = groups.{name}()
        """
        setattr(HybridCommunicateGroup, name, getter)


for _axis, _what in (
    ("model", "divided layers"),
    ("pipe", "the pipeline"),
    ("sharding", "divided optimizer state"),
    ("sep", "divided sequences"),
    ("context", "divided contexts"),
):
    _along(_axis, _what)
del _axis, _what
