"""How a tensor is placed along an axis of a grid of processes."""

from __future__ import annotations

import enum
from dataclasses import dataclass

__all__ = []


class ReduceType(enum.Enum):
    """What makes the whole of partial values."""

    kRedSum = 0
    kRedMax = 1
    kRedMin = 2
    kRedProd = 3
    kRedAvg = 4
    kRedAny = 5
    kRedAll = 6


class Placement:
    """Shard, Replicate or Partial."""

    def is_shard(self, dim=None):
        """Whether it is Shard.

        Args:
            dim (int, optional): Of this axis.

        Returns:
            bool: That.

        Example:
            >>> argosy.distributed.Shard(1).is_shard(1)
            True
        """
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicated(self):
        """Whether it is Replicate.

        Returns:
            bool: That.

        Example:
            >>> argosy.distributed.Replicate().is_replicated()
            True
        """
        return isinstance(self, Replicate)

    def is_partial(self):
        """Whether it is Partial.

        Returns:
            bool: That.

        Example:
            >>> argosy.distributed.Partial().is_partial()
            True
        """
        return isinstance(self, Partial)


@dataclass(frozen=True)
class Shard(Placement):
    """Each process has a part of an axis of the tensor.

    Args:
        dim (int): The axis.
        split_factor (int): In how many stretches the axis is cut, of each of which all have a part.

    Example:
        >>> argosy.distributed.Shard(0)
        Shard(dim=0)
    """

    dim: int
    split_factor: int = 1

    def __post_init__(self):
        if not isinstance(self.dim, int) or isinstance(self.dim, bool):
            raise TypeError(f"[Shard] dim: expected an int, got {type(self.dim).__name__}.")

    def get_dim(self):
        """The axis.

        Returns:
            int: It.

        Example:
            >>> argosy.distributed.Shard(1).get_dim()
            1
        """
        return self.dim

    def get_split_factor(self):
        """In how many stretches the axis is cut.

        Returns:
            int: That.

        Example:
            >>> argosy.distributed.Shard(1).get_split_factor()
            1
        """
        return self.split_factor

    def set_split_factor(self, factor):
        """Sets in how many stretches the axis is cut.

        Args:
            factor (int): That.

        Example:
            >>> placement = argosy.distributed.Shard(1)
            >>> placement.set_split_factor(2)
            >>> placement
            Shard(dim=1, split_factor=2)
        """
        object.__setattr__(self, "split_factor", factor)

    def get_co_shard_order(self):
        """The place among the placements that divide the same axis.

        Returns:
            int: 0, the only one.

        Example:
            >>> argosy.distributed.Shard(1).get_co_shard_order()
            0
        """
        return 0

    def __repr__(self):
        more = f", split_factor={self.split_factor}" if self.split_factor != 1 else ""
        return f"Shard(dim={self.dim}{more})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each process has the whole tensor.

    Example:
        >>> argosy.distributed.Replicate()
        Replicate()
    """


@dataclass(frozen=True)
class Partial(Placement):
    """Each process has a tensor of the whole's shape; together they make the whole.

    Args:
        kind (ReduceType): By which operation.

    Example:
        >>> argosy.distributed.Partial()
        Partial(reduce_type=SUM)
    """

    kind: ReduceType = ReduceType.kRedSum

    def reduce_type(self):
        """By which operation they make the whole.

        Returns:
            ReduceType: It.

        Example:
            >>> argosy.distributed.Partial().reduce_type().name
            'kRedSum'
        """
        return self.kind

    def __repr__(self):
        return f"Partial(reduce_type={self.kind.name.removeprefix('kRed').upper()})"
