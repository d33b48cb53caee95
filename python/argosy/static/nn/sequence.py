"""Functions over sequences of different lengths, whose rows lie one after the other.

An input of ``static.data(.., lod_level=1)`` is such a batch: rows of all sequences [T, ..], and their
lengths, which a run gets from the DenseTensor that is fed (``base.create_lod_tensor``). What is
computed row by row has the lengths of its first operand.
"""

from __future__ import annotations

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import NO_CUDNN, check_choice, need_tensor, no_effect
from argosy.nn import functional as F
from argosy.nn.layer._helper import make_parameter
from argosy.static.program import program_of

from .common import _activated, _known_size, _prefix

__all__ = [
    "sequence_conv", "sequence_expand", "sequence_first_step", "sequence_last_step",
    "sequence_pool", "sequence_softmax",
]  # fmt: skip


def _find(program, v, seen):
    kind, number, _, place = _core.program_about(v)
    if number in seen:
        return None
    seen.add(number)
    if number in program._lengths:
        return program._lengths[number]
    if kind == "input":
        return _core.program_first(program._handle, v.name + "@LENGTHS")
    for operand in _rows_of(program, v, place):
        found = _find(program, operand, seen)
        if found is not None:
            return found
    return None


def _rows_of(program, v, place):
    """The operands whose rows may be those of v. One operation gets all rows from servers: its last
    results are for its operands, one for each, and the others for none of them."""
    operands = _core.program_operands(v)
    made = program._description()["operations"][place]
    names = [one.name for one in made["results"]]
    if made["type"] != "ps_pull_rows" or v.name not in names:
        return operands
    at = names.index(v.name) - (len(names) - len(operands))
    return operands[at : at + 1] if at >= 0 else []


def lengths_of(program, v):
    """The lengths of a batch of sequences in program; None for what is none."""
    return _find(program, v, set())


def _lengths(v, name, missing=True):
    """int64 [sequences], the lengths of a batch."""
    need_tensor(name, "input", v)
    program = program_of(v)
    found = lengths_of(program, v)
    if found is None and missing:
        raise ValueError(
            f"[{name}] '{v.name}' is no batch of sequences. Do this: declare the input with"
            " static.data(.., lod_level=1), and feed base.create_lod_tensor(data, [lengths], place)."
        )
    return found


def _mark(v, lengths):
    """Says that v is a batch of these lengths; None: of none."""
    program_of(v)._lengths[_core.program_about(v)[1]] = lengths


@beside
def _owner(lengths):
    """The sequence that each row is of."""
    return tensor.repeat_interleave(tensor.arange(tensor.shape(lengths)[0]), lengths)


_POOLS = ("average", "sum", "sqrt", "max", "last", "first")


def sequence_pool(input, pool_type, is_test=False, pad_value=0.0):
    """One row for each sequence.

    Args:
        input (Variable): Batch of sequences [T, ..].
        pool_type (str): 'sum', 'average', 'sqrt' (the sum over the root of the length), 'max', 'first'
            or 'last'.
        is_test (bool): Has no effect on results.
        pad_value (float): The row of a sequence of length 0.

    Raises:
        ValueError: another pool_type, or input is no batch of sequences.

    Returns:
        Variable: [sequences, ..].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 1], "float32", lod_level=1)
        >>> y = argosy.static.nn.sequence_pool(x, "sum")
        >>> rows = argosy.base.create_lod_tensor(np.float32([[1], [2], [4]]), [[2, 1]], argosy.CPUPlace())
        >>> argosy.static.Executor().run(feed={"x": rows}, fetch_list=[y])[0].tolist()
        [[3.0], [4.0]]
    """
    kind = pool_type.lower()
    no_effect("sequence_pool", "it pools alike", is_test=(is_test, False))
    check_choice("sequence_pool", "pool_type", kind, _POOLS)
    lengths = _lengths(input, "sequence_pool")
    out = _core.ops.sequence_pool(input, lengths, None, kind, float(pad_value))
    _mark(out, None)
    return out


def sequence_first_step(input):
    """The first row of each sequence.

    Args:
        input (Variable): Batch of sequences [T, ..].

    Returns:
        Variable: [sequences, ..].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 1], "float32", lod_level=1)
        >>> y = argosy.static.nn.sequence_first_step(x)
        >>> rows = argosy.base.create_lod_tensor(np.float32([[1], [2], [4]]), [[2, 1]], argosy.CPUPlace())
        >>> argosy.static.Executor().run(feed={"x": rows}, fetch_list=[y])[0].tolist()
        [[1.0], [4.0]]
    """
    return sequence_pool(input, "first")


def sequence_last_step(input):
    """The last row of each sequence.

    Args:
        input (Variable): Batch of sequences [T, ..].

    Returns:
        Variable: [sequences, ..].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 1], "float32", lod_level=1)
        >>> y = argosy.static.nn.sequence_last_step(x)
        >>> rows = argosy.base.create_lod_tensor(np.float32([[1], [2], [4]]), [[1, 2]], argosy.CPUPlace())
        >>> argosy.static.Executor().run(feed={"x": rows}, fetch_list=[y])[0].tolist()
        [[1.0], [4.0]]
    """
    return sequence_pool(input, "last")


def sequence_softmax(input, use_cudnn=False, name=None):
    """Softmax within each sequence of numbers.

    Args:
        input (Variable): Batch of sequences [T] or [T, 1].
        use_cudnn (bool): Has no effect; True gives a warning.

    Returns:
        Variable: Of input's shape.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 1], "float32", lod_level=1)
        >>> y = argosy.static.nn.sequence_softmax(x)
        >>> rows = argosy.base.create_lod_tensor(np.float32([[1], [1], [4]]), [[2, 1]], argosy.CPUPlace())
        >>> argosy.static.Executor().run(feed={"x": rows}, fetch_list=[y])[0].tolist()
        [[0.5], [0.5], [1.0]]
    """
    no_effect("sequence_softmax", NO_CUDNN, use_cudnn=(use_cudnn, False))
    lengths = _lengths(input, "sequence_softmax")
    owner = _owner(lengths)
    pool = _core.ops.sequence_pool
    top = tensor.gather(pool(input, lengths, None, "max"), owner).detach()
    power = tensor.exp(input - top)
    out = power / tensor.gather(pool(power, lengths, None, "sum"), owner)
    _mark(out, lengths)
    return out


def sequence_expand(x, y, ref_level=-1, name=None):
    """Row i of x as often as sequence i of y is long: a batch with the lengths of y.

    Args:
        x (Variable): A row for each sequence of y.
        y (Variable): Batch of sequences, for its lengths only.
        ref_level (int): 0 or -1, there is one level.

    Returns:
        Variable: [T of y, ..].

    Raises:
        ValueError: ref_level is another one.
        NotImplementedError: x is a batch of sequences itself.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 1], "float32")
        >>> y = argosy.static.data("y", [-1, 1], "float32", lod_level=1)
        >>> z = argosy.static.nn.sequence_expand(x, y)
        >>> rows = argosy.base.create_lod_tensor(np.float32([[0], [0], [0]]), [[2, 1]], argosy.CPUPlace())
        >>> feed = {"x": np.float32([[5], [6]]), "y": rows}
        >>> argosy.static.Executor().run(feed=feed, fetch_list=[z])[0].tolist()
        [[5.0], [5.0], [6.0]]
    """
    if ref_level not in (0, -1):
        raise ValueError(
            f"[sequence_expand] ref_level: expected 0 or -1, got {ref_level}. Do this: use 0."
        )
    lengths = _lengths(y, "sequence_expand")
    if _lengths(x, "sequence_expand", missing=False) is not None:
        raise NotImplementedError(
            "[sequence_expand] x is a batch of sequences itself: expected one row for each sequence"
            " of y. Do this: pool it first."
        )
    out = tensor.gather(x, _owner(lengths))
    _mark(out, lengths)
    return out


@beside
def sequence_conv(input, num_filters, filter_size=3, filter_stride=1, padding=True,
                  padding_start=None, bias_attr=None, param_attr=None, act=None,
                  name=None):  # fmt: skip
    """act(rows in a window W + b) within each sequence, with new W [filter_size * D, num_filters].

    Args:
        input (Variable): Batch of sequences [T, D].
        num_filters (int): Number of columns of the result.
        filter_size (int): Rows in the window; those outside of the sequence are zeros.
        filter_stride (int): Only 1.
        padding (bool): Has no effect on results.
        padding_start (int, optional): Where the window begins, seen from the row;
            -(filter_size // 2) if None.
        bias_attr, param_attr (ParamAttr, optional): Of b [num_filters] and W.
        act (str, optional): Such as 'relu'.

    Returns:
        Variable: Batch of sequences [T, num_filters].

    Raises:
        ValueError: filter_stride is not 1.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 4], "float32", lod_level=1)
        >>> list(argosy.static.nn.sequence_conv(x, 3).shape)
        [-1, 3]
    """
    no_effect("sequence_conv", "sequences are always padded", padding=(padding, True))
    if filter_stride != 1:
        raise ValueError(
            f"[sequence_conv] filter_stride: expected 1, got {filter_stride}."
            " Do this: leave it out."
        )
    lengths = _lengths(input, "sequence_conv")
    features = _known_size(input.shape[1:], "sequence_conv", input)
    prefix = _prefix("sequence_conv", name)
    weight = make_parameter(
        prefix, [filter_size * features, num_filters], param_attr, input.dtype, False, None
    )
    bias = make_parameter(prefix, [num_filters], bias_attr, input.dtype, True, None)
    first = -(filter_size // 2) if padding_start is None else int(padding_start)
    owner = _owner(lengths)
    end = tensor.gather(tensor.cumsum(lengths), owner)
    begin = end - tensor.gather(lengths, owner)
    rows = tensor.arange(tensor.shape(input)[0])
    parts = []
    for k in range(first, first + filter_size):
        place = rows + k
        inside = tensor.logical_and(place >= begin, place < end)
        part = tensor.gather(input, tensor.where(inside, place, rows))
        parts.append(part * tensor.unsqueeze(inside.astype(input.dtype), 1))
    out = F.linear(tensor.concat(parts, 1), weight, bias)
    out = _activated(out, act)
    _mark(out, lengths)
    return out
