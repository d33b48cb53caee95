"""From a list of samples to a batch."""

import numbers
from collections.abc import Mapping, Sequence

from argosy import tensor
from argosy._core import Tensor

__all__ = []


def _tensor_type():
    return Tensor


def default_collate_fn(batch):
    """Stacks a list of samples field by field.

    Numbers and arrays become one array with a new first axis, tensors one tensor; strings and bytes
    stay a list; dicts and sequences are collated by key and by position (into dicts and lists).
    """
    import numpy

    sample = batch[0]
    if isinstance(sample, numpy.ndarray):
        shapes = {s.shape for s in batch if isinstance(s, numpy.ndarray)}
        if len(shapes) > 1:
            raise ValueError(
                "[default_collate_fn] samples of one batch must have equal shapes, got "
                f"{sorted(shapes)[:4]}. Do this: pad them in the data set, or pass a collate_fn "
                "that does."
            )
        return numpy.stack(batch, axis=0)
    if isinstance(sample, _tensor_type()):
        return tensor.stack(batch, axis=0)
    if isinstance(sample, (numbers.Number, numpy.number, numpy.bool_)):
        return numpy.array(batch)
    if isinstance(sample, (str, bytes)):
        return batch
    if isinstance(sample, Mapping):
        return {key: default_collate_fn([d[key] for d in batch]) for key in sample}
    if isinstance(sample, Sequence):
        count = len(sample)
        if any(len(s) != count for s in batch):
            raise RuntimeError(
                "[default_collate_fn] samples of one batch must have equally many fields, got "
                f"{sorted({len(s) for s in batch})}."
                " Do this: return as many fields for each sample, or pass collate_fn."
            )
        return [default_collate_fn(list(field)) for field in zip(*batch)]
    raise TypeError(
        "[default_collate_fn] samples may contain tensors, NumPy arrays, numbers, strings, dicts and "
        f"sequences, got {type(sample).__name__}. Do this: convert it in the data set, or pass a "
        "collate_fn."
    )


def default_convert_fn(batch):
    """What a loader without batches (``batch_size=None``) does to a sample: nothing but to make
    sequences inside it lists."""
    import numpy

    if isinstance(batch, (numpy.ndarray, str, bytes, _tensor_type())):
        return batch
    if isinstance(batch, Mapping):
        return {key: default_convert_fn(value) for key, value in batch.items()}
    if isinstance(batch, Sequence):
        return [default_convert_fn(value) for value in batch]
    return batch
