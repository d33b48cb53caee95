"""How tensors print."""

_options = {"precision": 8, "threshold": 1000, "edgeitems": 3, "linewidth": 80, "sci_mode": None}


def set_printoptions(precision=None, threshold=None, edgeitems=None, sci_mode=None, linewidth=None):
    """Sets how tensors print: digits, elements before summarizing, elements shown at each edge,
    scientific notation, characters a line."""
    given = dict(
        precision=precision,
        threshold=threshold,
        edgeitems=edgeitems,
        sci_mode=sci_mode,
        linewidth=linewidth,
    )
    _options.update({key: value for key, value in given.items() if value is not None})


def _body(tensor, indent):
    import numpy as np

    array = tensor.astype("float32").numpy() if _as_float(tensor) else tensor.numpy()
    formatter = {}
    if _options["sci_mode"]:
        formatter["float_kind"] = lambda v: f"{v:.{_options['precision']}e}"
    text = np.array2string(
        array,
        precision=_options["precision"],
        threshold=_options["threshold"],
        edgeitems=_options["edgeitems"],
        max_line_width=_options["linewidth"],
        separator=", ",
        formatter=formatter or None,
        floatmode="maxprec_equal" if array.dtype.kind == "f" else "maxprec",
    )
    if array.ndim == 0:
        text = str(array) if not formatter else text
        if array.dtype.kind == "f":
            text = np.array2string(array, precision=_options["precision"])
    return text.replace("\n", "\n" + " " * indent)


def _as_float(tensor):
    return str(tensor.dtype).rpartition(".")[2] in ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def tensor_repr(self):
    head = f"Tensor(shape={list(self.shape)}, dtype={str(self.dtype).rpartition('.')[2]}"
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
