"""How tensors print."""

from argosy._capturing import exact_numbers, refuse
from argosy._dtypes import BITS_IN_NUMPY
from argosy._support import dtype_name

_options = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, sci_mode=None, linewidth=None):
    """Sets how tensors print; what is left out stays as it is.

    Args:
        precision (int, optional): Digits after the point.
        threshold (int, optional): Elements before only the edges are shown.
        edgeitems (int, optional): Elements shown at each edge.
        sci_mode (bool, optional): Whether to write numbers with exponents.
        linewidth (int, optional): Characters of a line.

    Example:
        >>> argosy.set_printoptions(precision=2)
        >>> argosy.to_tensor([3.14159])
        Tensor(shape=[1], dtype=float32, place=Place(cpu), stop_gradient=True,
               [3.14])
    """
    given = dict(
        precision=precision,
        threshold=threshold,
        edgeitems=edgeitems,
        sci_mode=sci_mode,
        linewidth=linewidth,
    )
    _options.update({key: value for key, value in given.items() if value is not None})


def _body(tensor, indent):
    array = tensor.astype("float32").numpy() if _as_float(tensor) else tensor.numpy()
    shown = _edges(
        array
    )  # what lies between them does not widen columns, even where it is printed [= Paddle]
    items = [_item(value) for value in shown.reshape(-1).tolist()]
    width = max(map(len, items), default=0)
    signed = array.dtype.kind in "ifc" and any(map(_negative, shown.reshape(-1).tolist()))
    return _nested(array, width, signed, indent, array.size > _options["threshold"])


def _edges(array):
    """The edges of each long dimension of the array."""
    import numpy as np

    edge = _options["edgeitems"]
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _negative(value):
    """Whether it is below 0; complex numbers are ordered as pairs."""
    if isinstance(value, complex):
        return (value.real, value.imag) < (0, 0)
    return value < 0


def _item(value):
    digits = _options["precision"]
    if isinstance(value, complex):
        form = "e" if _options["sci_mode"] else "f"
        return f"({value.real:.{digits}{form}}{value.imag:+.{digits}{form}}j)"
    if not isinstance(value, float):
        return str(value)
    if _options["sci_mode"]:
        return f"{value:.{digits}e}"
    # Whole numbers, infinities among them, end with a point.
    whole = value.is_integer() or value in (float("inf"), -float("inf"))
    return f"{value:.0f}." if whole else f"{value:.{digits}f}"


def _padded(value, width, signed):
    text = _item(value)
    if len(text) >= width:
        return text
    if signed and not _negative(value):
        text = " " + text
    return text.ljust(width)


def _nested(array, width, signed, indent, long):
    if array.ndim == 0:
        return _item(array.item())
    cut = long and array.shape[0] > 2 * _options["edgeitems"]
    edge = _options["edgeitems"]
    parts = [*array[:edge], ..., *array[-edge:]] if cut else list(array)
    if array.ndim == 1:
        texts = ["..." if p is ... else _padded(p.item(), width, signed) for p in parts]
        return "[" + _wrapped(texts, width, indent) + "]"
    texts = ["..." if p is ... else _nested(p, width, signed, indent + 1, long) for p in parts]
    return "[" + ("," + "\n" * (array.ndim - 1) + " " * (indent + 1)).join(texts) + "]"


def _wrapped(texts, width, indent):
    a_line = max(1, (_options["linewidth"] - indent) // max(1, width + 2))
    lines = [", ".join(texts[i : i + a_line]) for i in range(0, len(texts), a_line)]
    return (",\n" + " " * (indent + 1)).join(lines)


def _as_float(tensor):
    return tensor.dtype in BITS_IN_NUMPY


def tensor_repr(self):
    head = f"Tensor(shape={list(self.shape)}, dtype={dtype_name(self.dtype)}"
    if self._symbolic and exact_numbers():
        refuse(
            TypeError(
                f"The text of {head}) is asked for in a captured function; only a run knows its elements. Do this: use"
                " paddle.static.Print, or format what the function returns."
            )
        )
    if self._symbolic:
        return head + f", stop_gradient={self.stop_gradient}, symbolic)"
    if self._layout == "row_sparse":
        rows, values = self._parts
        return head + f", layout=row_sparse,\n       rows={rows!r},\n       values={values!r})"
    head += f", place={self.place!r}, stop_gradient={self.stop_gradient},\n       "
    try:
        return head + _body(self, 7) + ")"
    except (ValueError, TypeError) as error:
        return head + f"<no data: {error}>)"
