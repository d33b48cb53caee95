"""Parsing of arguments that the functions of this package share."""

from __future__ import annotations

from argosy._support import (
    alias,  # noqa: F401  (the modules here take it from this one)
    check_choice,
)

CHANNEL_LAST = {
    "NCL": False, "NCW": False, "NCHW": False, "NCDHW": False, "NC": False,
    "NLC": True, "NWC": True, "NHWC": True, "NDHWC": True,
}  # fmt: skip


def int_list(value, count, name):
    """``value`` as a list of ``count`` ints; a single int is repeated.

    Raises:
        ValueError: the length or the type of an element is wrong.
    """
    if type(value) is int:
        return [value] * count
    if isinstance(value, bool):
        raise ValueError(
            f"[{name}] expected {count} ints or one int, got {value}. Do this: pass a list of {count} ints."
        )
    if hasattr(value, "__index__") and not getattr(value, "shape", None):
        return [value.__index__()] * count
    try:
        values = list(value)
    except TypeError:
        raise ValueError(
            f"[{name}] expected {count} ints or one int, got {value!r}. Do this: pass a "
            f"list of {count} ints."
        ) from None
    if len(values) != count:
        raise ValueError(
            f"[{name}] expected {count} ints or one int, got {len(values)}: {value}. Do "
            f"this: pass a list of {count} ints."
        )
    for number, item in enumerate(values):
        if type(item) is int:
            continue
        if not hasattr(item, "__index__") or isinstance(item, bool):
            raise ValueError(
                f"[{name}] expected {count} ints, got {value}, where {item!r} is a "
                f"{type(item).__name__}. Do this: pass ints."
            )
        values[number] = item.__index__()
    return values


def is_channel_last(data_format, allowed):
    """Whether ``data_format``, one of ``allowed``, ends with the channels.

    Raises:
        ValueError: it is another one.
    """
    if data_format not in allowed:
        raise ValueError(
            f"[data_format] expected {' or '.join(map(repr, allowed))}, got "
            f"{data_format!r}. Do this: transpose the input, or name its format."
        )
    return CHANNEL_LAST[data_format]


def spatial_padding(padding, count, channel_last):
    """``padding`` in any of its forms as (before, after per spatial axis; algorithm).

    Forms: 'SAME' or 'VALID'; an int for all sides; one int per axis; two ints per axis; or a pair
    for each axis of the tensor, those of batch and channels being zero.

    Raises:
        ValueError: the form is none of these, or a value is negative.
    """
    if type(padding) is int and padding >= 0:
        return [padding] * (2 * count), "EXPLICIT"
    if isinstance(padding, str):
        name = padding.upper()
        if name not in ("SAME", "VALID"):
            raise ValueError(
                f"[padding] expected ints, 'SAME' or 'VALID', got {name!r}. Do this: use one of "
                "them."
            )
        return [0] * (2 * count), name
    if isinstance(padding, (list, tuple)):
        if len(padding) == count + 2 and all(isinstance(p, (list, tuple)) for p in padding):
            spatial = padding[1:-1] if channel_last else padding[2:]
            others = [padding[0], padding[-1] if channel_last else padding[1]]
            if any(any(pair) for pair in others):
                raise ValueError(
                    f"[padding] only spatial axes can be padded, got {padding} with numbers for the "
                    "batch or the channels. Do this: make these zero."
                )
            flat = [value for pair in spatial for value in pair]
        elif len(padding) == count:
            flat = [value for value in padding for _ in range(2)]
        else:
            flat = list(padding)
        if len(flat) != 2 * count:
            raise ValueError(
                f"[padding] expected {count} or {2 * count} ints, or a pair for each axis of "
                f"the input, got {padding}. Do this: use one of these forms."
            )
        flat = int_list(flat, 2 * count, "padding")
    else:
        flat = int_list(padding, 2 * count, "padding")
    if min(flat) < 0:
        raise ValueError(
            f"[padding] expected numbers >= 0, got {padding}. Do this: cut the input by "
            "slicing instead."
        )
    return flat, "EXPLICIT"


def check_reduction(reduction, where):
    """Raise ValueError unless ``reduction`` is 'sum', 'mean' or 'none'."""
    check_choice(where, "reduction", reduction, ("sum", "mean", "none"))
