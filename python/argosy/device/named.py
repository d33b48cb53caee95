"""A device under its name, which is what calling argosy.device gives."""

from argosy.device.place import Place, to_place


class Device(str):
    """A device as a string, such as 'cpu' or 'gpu:0', with its kind and number; with it, new tensors are
    put there.

    Args:
        type (str | int | Place): Its kind, with or without a number, a GPU's number, or a place.
        index (int, optional): Its number, if type says none; default 0.

    Attributes:
        type (str): Its kind.
        index (int | None): Its number; None for 'cpu'.

    Raises:
        TypeError: type is neither a name, a number nor a place.
        ValueError: There is no such kind of device, or its number is given twice.

    Example:
        >>> device = argosy.device("gpu", 1)
        >>> device, device.type, device.index
        ('gpu:1', 'gpu', 1)
        >>> with argosy.device("cpu"):
        ...     argosy.ones([2]).device
        'cpu'
    """

    def __new__(cls, type=None, index=None):  # noqa: A002
        if isinstance(type, Place):
            kind, number = type._kind, str(type._index)
            number = "" if kind == "cpu" else number
        elif isinstance(type, str):
            kind, _, number = type.partition(":")
        elif isinstance(type, int) and not isinstance(type, bool):
            kind, number = "cuda", str(type)
        else:
            raise TypeError(
                f"[device] type: expected a name, a number or a place, got {type!r}. Do this: pass 'cpu'."
            )
        if number and index is not None:
            raise ValueError(
                f"[device] the number is given twice, in {type!r} and as {index}. Do this: pass one."
            )
        to_place(kind + (":" + number if number else ""))  # says what is no device
        if kind == "cpu":
            made, index = str.__new__(cls, kind), int(number) if number else None
        else:
            index = int(number) if number else index or 0
            made = str.__new__(cls, f"{kind}:{index}")
        made.type, made.index, made._guards = kind, index, []
        return made

    def __enter__(self):
        from argosy.device import device_guard

        self._guards.append(device_guard(str(self)))
        self._guards[-1].__enter__()
        return self

    def __exit__(self, *exc):
        return self._guards.pop().__exit__(*exc)

    def __reduce__(self):
        return Device, (str(self),)
