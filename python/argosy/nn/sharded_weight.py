"""Parts of parameters, and where in the whole they lie."""

from __future__ import annotations

__all__ = []


class ShardedWeight:
    """A part of a parameter that processes have divided, and where in the whole it lies.

    Args:
        key (str): the parameter's name.
        local_tensor (Tensor): the part.
        local_shape (tuple[int]): its shape.
        global_shape (tuple[int]): that of the whole.
        global_offset (tuple[int]): where the part begins, for each dimension.
        is_flattened (bool): whether the part is a range of the flattened tensor.
        flattened_range (slice, optional): which range.

    Example:
        >>> part = argosy.distributed.ShardedWeight("w", argosy.ones([2, 3]), (2, 3), (4, 3), (2, 0))
        >>> part.key, part.global_shape, part.global_offset
        ('w', (4, 3), (2, 0))
    """

    def __init__(
        self,
        key,
        local_tensor,
        local_shape,
        global_shape,
        global_offset,
        is_flattened=False,
        flattened_range=None,
    ):
        self.key = key
        self.local_tensor = local_tensor
        self.local_shape = tuple(local_shape)
        self.global_shape = tuple(global_shape)
        self.global_offset = tuple(global_offset)
        self.is_flattened = is_flattened
        self.flattened_range = flattened_range

    def __str__(self):
        shown = f"{type(self.local_tensor).__name__}(shape={self.local_tensor.shape})"
        rows = dict(vars(self), local_tensor=shown)
        del rows["is_flattened"]
        return "ShardedWeight(\n" + ",\n".join(f"  {k}={v}" for k, v in rows.items()) + "\n)"


def whole_weight(key, tensor):
    """A ShardedWeight of a tensor that this process has whole."""
    shape = tuple(tensor.shape)
    return ShardedWeight(key, tensor, shape, shape, (0,) * len(shape))
