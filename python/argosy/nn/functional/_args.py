"""Parsing of arguments that the functions of this package share."""

from __future__ import annotations

import functools

CHANNEL_LAST = {
    "NCL": False, "NCW": False, "NCHW": False, "NCDHW": False, "NC": False,
    "NLC": True, "NWC": True, "NHWC": True, "NDHWC": True,
}  # fmt: skip


def alias(**names):
    """Decorator: the function also takes keyword ``other=`` for its argument, alias(other="x")."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if kwargs:
                for other, name in names.items():
                    if other in kwargs:
                        if name in kwargs:
                            raise ValueError(
                                f"Cannot specify both '{name}' and its alias '{other}'"
                            )
                        kwargs[name] = kwargs.pop(other)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def int_list(value, count, name):
    """``value`` as a list of ``count`` ints; a single int is repeated.

    Raises:
        ValueError: the length or the type of an element is wrong.
    """
    if type(value) is int:
        return [value] * count
    if hasattr(value, "__index__") and not getattr(value, "shape", None):
        return [value.__index__()] * count
    try:
        values = list(value)
    except TypeError:
        raise ValueError(f"The {name}'s type must be list or tuple. Received: {value}") from None
    if len(values) != count:
        raise ValueError(f"The {name}'s length must be {count}. Received: {value}")
    for number, item in enumerate(values):
        if type(item) is int:
            continue
        if not hasattr(item, "__index__"):
            raise ValueError(
                f"The {name}'s type must be a list or tuple of {count} ints. Received: {value} "
                f"including element {item} of type {type(item)}"
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
            f"Attr(data_format) should be {' or '.join(map(repr, allowed))}. "
            f"Received Attr(data_format): {data_format}."
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
            raise ValueError(f"Unknown padding: '{name}'. It can only be 'SAME' or 'VALID'.")
        return [0] * (2 * count), name
    if isinstance(padding, (list, tuple)):
        if len(padding) == count + 2 and all(isinstance(p, (list, tuple)) for p in padding):
            spatial = padding[1:-1] if channel_last else padding[2:]
            others = [padding[0], padding[-1] if channel_last else padding[1]]
            if any(any(pair) for pair in others):
                raise ValueError(
                    f"Non-zero padding({padding}) in the batch or channel dimensions is not "
                    "supported."
                )
            flat = [value for pair in spatial for value in pair]
        elif len(padding) == count:
            flat = [value for value in padding for _ in range(2)]
        else:
            flat = list(padding)
        if len(flat) != 2 * count:
            raise ValueError(
                f"Invalid padding: {padding}. Expected {count} or {2 * count} ints, or a pair for "
                "each axis of the input."
            )
        flat = int_list(flat, 2 * count, "padding")
    else:
        flat = int_list(padding, 2 * count, "padding")
    if min(flat) < 0:
        raise ValueError(
            f"Invalid padding, all value should be larger than or equal to 0, got: {padding}"
        )
    return flat, "EXPLICIT"


def check_reduction(reduction, where):
    """Raise ValueError unless ``reduction`` is 'sum', 'mean' or 'none'."""
    if reduction not in ("sum", "mean", "none"):
        raise ValueError(
            f"The value of 'reduction' in {where} should be 'sum', 'mean' or 'none', got "
            f"{reduction}, which is not allowed."
        )
