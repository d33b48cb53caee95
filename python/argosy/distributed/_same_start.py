"""Letting the processes of a group begin with the same parameters."""

from __future__ import annotations

import zlib

from argosy import _core
from argosy import tensor as tensors
from argosy.autograd import no_grad

from ._buckets import in_buckets
from .communication import _calls

__all__ = []

_AT_ONCE = 128 << 20  # bytes of a broadcast


def copy_from_first(items, group):
    """Lets tensors be those of the group's first process, after comparing their number, shapes and
    dtypes with those of all."""
    forms = [(list(t.shape), str(t.dtype)) for t in items]
    with no_grad():
        mine = tensors.to_tensor([zlib.crc32(repr(forms).encode())], dtype="int64")
        all_forms = [tensors.zeros_like(mine) for _ in range(group.nranks)]
        _calls.call(group, "all_gather", [mine], all_forms)
        others = [r for r, form in zip(group.ranks, all_forms) if int(form) != int(all_forms[0])]
        if others:
            raise _core.RanksDisagreeError(
                "[DataParallel] the layers of the processes differ in the number, shapes or dtypes of their"
                f" parameters and buffers: process {group.ranks[0]} has another layer than"
                f" {', '.join(map(str, others))}; this one has {len(items)} tensors, the first of shape"
                f" {forms[0][0]}. Do this: make the same layer in all of them."
            )
        for bucket in in_buckets(items, [_AT_ONCE]):
            _calls.call(group, "broadcast", bucket, root=0)
