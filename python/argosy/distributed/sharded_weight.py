"""State of several processes as parts of whole tensors."""

from __future__ import annotations

from argosy.nn.sharded_weight import ShardedWeight, whole_weight

from ._groups import get_group

__all__ = ["ShardedStateDict", "ShardedWeight", "build_sharded_state_dict", "shard_weight"]

ShardedStateDict = dict[str, ShardedWeight]


def shard_weight(key, weight, axis, group):
    """The part of a parameter that a process of a group has, where all have as much of one axis.

    Args:
        key (str): the parameter's name.
        weight (Tensor): this process's part.
        axis (int): the axis that is divided, from 0 on.
        group (Group): the processes, parts in order of their ranks.

    Returns:
        ShardedWeight: the part.

    Raises:
        ValueError: the tensor has no such axis.

    Example:
        >>> import argosy.distributed as dist
        >>> dist.shard_weight("w", argosy.ones([2, 3]), 1, dist.new_group([0])).global_shape
        (2, 3)
    """
    local = list(weight.shape)
    if not 0 <= axis < len(local):
        raise ValueError(
            f"[shard_weight] axis: expected one of {len(local)} axes of the tensor, from 0 on, got {axis}."
            " Do this: name the axis that is divided."
        )
    whole, offset = list(local), [0] * len(local)
    whole[axis] *= group.nranks
    offset[axis] = local[axis] * group.rank
    return ShardedWeight(key, weight, local, whole, offset)


def build_sharded_state_dict(state_dict, shard_rules=None, prefix=""):
    """A state dict whose tensors say where in the whole they lie.

    Args:
        state_dict (dict[str, Tensor]): this process's tensors.
        shard_rules (dict[str, int], optional): by name the axis that all processes have divided; other
            tensors are whole.
        prefix (str): what names are given before them.

    Returns:
        dict[str, ShardedWeight]: by name, the prefix included.

    Example:
        >>> import argosy.distributed as dist
        >>> state = dist.build_sharded_state_dict({"w": argosy.ones([2])}, prefix="layer.")
        >>> list(state), state["layer.w"].global_offset
        (['layer.w'], (0,))
    """
    rules = shard_rules or {}
    return {
        prefix + key: shard_weight(prefix + key, tensor, rules[key], get_group())
        if key in rules
        else whole_weight(prefix + key, tensor)
        for key, tensor in state_dict.items()
    }
