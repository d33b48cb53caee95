"""Layers as functions: each call in static mode makes its parameters and applies the layer."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._core import Tensor
from argosy._dtypes import COMPLEX, INTEGER
from argosy._programs import mode
from argosy._support import dtype_name, listed, need_tensor
from argosy.base import unique_name
from argosy.nn import functional as F
from argosy.nn.layer._helper import activated, make_parameter

__all__ = ["embedding", "fc", "sparse_embedding"]

_TABLES = ("CommonSparseTable", "SSDSparseTable", "MemorySparseTable")
_ENTRIES = ("ProbabilityEntry", "CountFilterEntry", "ShowClickEntry")


def _activated(x, act):
    return activated("static.nn", x, act)


def _need_variable(layer, name, x, ranks=None, integers=False):
    """Raises TypeError unless x is a tensor of floats (or integers), ValueError unless it has one of so many
    dimensions."""
    need_tensor(layer, name, x)
    if (x.dtype in INTEGER) != integers or x.dtype in COMPLEX or x.dtype == _core.bool:
        kind = "integers" if integers else "floating point numbers"
        raise _core.OperandError(
            f"(InvalidType) [{layer}] {name}: expected {kind}, got {dtype_name(x.dtype)}. Do this: cast"
            " it with astype(..)."
        )
    if ranks is not None and len(x.shape) not in ranks:
        raise ValueError(
            f"(InvalidArgument) [{layer}] {name}: expected {' or '.join(map(str, ranks))} dimensions, got"
            f" {list(x.shape)}. Do this: reshape it."
        )


def _whole(layer, name, size):
    """`size` as an int; TypeError if it is none."""
    if isinstance(size, Tensor) or not hasattr(size, "__index__"):
        raise TypeError(
            f"(InvalidType) [{layer}] {name}: expected an int, got {type(size).__name__}. Do this: pass a"
            " number."
        )
    return size.__index__()


def _prefix(layer, name):
    return unique_name.generate(layer) if name is None else name


def _known_size(sizes, layer, x):
    size = 1
    for s in sizes:
        if s < 0:
            raise ValueError(
                f"[{layer}] the sizes that make up the weight must be known: got {list(x.shape)}."
                " Do this: give them in static.data."
            )
        size *= s
    return size


def fc(x, size, num_flatten_dims=1, weight_attr=None, bias_attr=None, activation=None, name=None):
    """activation(x W + b), with new parameters W [n, size] and b [size].

    Args:
        x (Variable | list): Its dimensions from num_flatten_dims on are one of n elements; of a
            list, each has a weight of its own and the products are added.
        size (int): Number of outputs.
        num_flatten_dims (int): How many dimensions stay; negative counts from the end.
        weight_attr (ParamAttr, optional): Of W.
        bias_attr (ParamAttr | bool, optional): Of b; False for none.
        activation (str, optional): Such as 'relu'.
        name (str, optional): Prefix of the parameters' names.

    Returns:
        Variable: The first num_flatten_dims sizes of x, then size.

    Raises:
        ValueError: num_flatten_dims is out of range.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 4], "float32")
        >>> list(argosy.static.nn.fc(x, 3, activation="relu").shape)
        [-1, 3]
    """
    xs = listed(x)
    size, num_flatten_dims = (
        _whole("fc", "size", size),
        _whole("fc", "num_flatten_dims", num_flatten_dims),
    )
    prefix = _prefix("fc", name)
    attrs = weight_attr if isinstance(weight_attr, (list, tuple)) else [weight_attr] * len(xs)
    total = None
    for value, attr in zip(xs, attrs):
        _need_variable("fc", "x", value)
        kept = num_flatten_dims if num_flatten_dims >= 0 else len(value.shape) + num_flatten_dims
        if not 0 < kept < len(value.shape):
            raise ValueError(
                f"(InvalidArgument) [fc] num_flatten_dims: expected 1 to {len(value.shape) - 1}, got"
                f" {num_flatten_dims}."
                " Do this: correct it."
            )
        n = _known_size(value.shape[kept:], "fc", value)
        weight = make_parameter(prefix, [n, size], attr, value.dtype, False, None)
        if len(value.shape) - kept > 1:
            value = tensor.flatten(value, kept)
        product = tensor.matmul(value, weight)
        total = product if total is None else total + product
    bias = make_parameter(prefix, [size], bias_attr, total.dtype, True, None)
    if bias is not None:
        total = total + bias
    return _activated(total, activation)


def embedding(input, size, is_sparse=False, is_distributed=False, padding_idx=None,
              param_attr=None, dtype="float32"):  # fmt: skip
    """Rows of a new parameter [size[0], size[1]] that integers choose.

    Args:
        input (Variable): int32 or int64.
        size (list): Number of rows and of columns.
        is_sparse (bool): The gradient has only the rows that were chosen, and optimizers visit only
            these (Adam with lazy_mode=True, SGD, Adagrad).
        is_distributed (bool): With fleet.distributed_optimizer, rows live in a table of 64-bit keys,
            of this process or on servers, and size[0] says nothing: any integer has a row.
        padding_idx (int, optional): The row that stays zero; negative counts from the end.
        param_attr (ParamAttr, optional): Of the parameter.
        dtype (str): Of the parameter.

    Returns:
        Variable: Of input's shape with size[1] behind.

    Example:
        >>> argosy.enable_static()
        >>> ids = argosy.static.data("ids", [None, 5], "int64")
        >>> list(argosy.static.nn.embedding(ids, [100, 8]).shape)
        [-1, 5, 8]
    """
    _need_variable("embedding", "input", input, integers=True)
    weight = make_parameter(unique_name.generate("embedding"), size, param_attr, dtype, False, None)
    if is_distributed:
        mode.default_main_program()._remote.setdefault(weight.name, {})
    return F.embedding(
        input, weight, padding_idx=padding_idx, sparse=bool(is_sparse or is_distributed)
    )


def sparse_embedding(input, size, padding_idx=None, is_test=False, entry=None,
                     table_class="MemorySparseTable", param_attr=None, dtype="float32",
                     slot=None):  # fmt: skip
    """Rows of a table of 64-bit keys, [.., size[1]] for ids [.., 1] (ids without a last size of 1:
    one more dimension, as :func:`embedding`).

    With fleet.distributed_optimizer the rows live in a table, on the servers of a job or, when the
    program runs alone, of this process; size[0] says nothing then, any integer has a row. Otherwise it
    is an embedding whose gradient has only the rows that were chosen.

    Args:
        input (Variable): int64, the bits of unsigned 64-bit keys.
        size (list): Number of rows and of columns.
        padding_idx (int, optional): The id whose row is zeros; negative counts from size[0].
        is_test (bool): Look up only: rows are neither made nor trained.
        entry (CountFilterEntry | ProbabilityEntry | ShowClickEntry, optional): Which keys get a row.
        table_class (str): 'MemorySparseTable', 'SSDSparseTable' or 'CommonSparseTable'.
        param_attr (ParamAttr, optional): Its name is that of the table: look-ups of one name share
            rows.
        dtype (str): 'float32'.
        slot (int, optional): What click rows keep as the slot of their key.

    Raises:
        ValueError: another table_class or entry.

    Returns:
        Variable: [.., size[1]], of dtype.

    Example:
        >>> argosy.enable_static()
        >>> ids = argosy.static.data("ids", [None, 1], "int64")
        >>> list(argosy.static.nn.sparse_embedding(ids, [100, 8]).shape)
        [-1, 8]
    """
    if table_class not in _TABLES:
        raise ValueError(
            f"table_class must be in [{', '.join(_TABLES)}], got {table_class!r} "
            "([sparse_embedding])."
        )
    if entry is not None and type(entry).__name__ not in _ENTRIES:
        raise ValueError(
            f"entry must be instance in [{', '.join(_ENTRIES)}], got {type(entry).__name__} "
            "([sparse_embedding])."
        )
    prefix = unique_name.generate("embedding")
    weight = make_parameter(prefix, size, param_attr, dtype, False, None)
    said = mode.default_main_program()._remote.setdefault(weight.name, {})
    said.setdefault("slots", []).append(int(slot or 0))
    said["table_class"] = table_class
    if entry is not None:
        said["entry"] = entry
    if len(input.shape) > 1 and input.shape[-1] == 1:
        input = tensor.squeeze(input, -1)
    if padding_idx is not None and padding_idx < 0:
        padding_idx += size[0]
    rows = F.embedding(input, weight, padding_idx=padding_idx, sparse=True)
    return rows.detach() if is_test else rows
