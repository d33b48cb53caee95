"""How operations on tensors are computed that Paddle gives other names, operands or attributes than functions
here: choosing, sorting, reshaping, linear algebra, transforms."""

from __future__ import annotations

from argosy import fft, linalg, signal, tensor
from argosy._core import ops
from argosy.nn import functional as F  # noqa: N812

from .makers import call
from .more_makers import _one, _optional, _value

__all__ = ["TENSORS"]


def _dtype_if_told(given):
    """The dtype that results have, or None for that of the operand."""
    dtype = given.attribute("dtype", -1)
    return None if dtype == -1 else dtype


def _arctan2(given):
    first, second = ("X1", "X2") if given.operands.get("X1") else ("X", "Y")
    return tensor.atan2(given.one(first), given.one(second))


def _swish(given):
    x, beta = given.one("X"), given.attribute("beta", 1.0)
    return F.silu(x) if beta == 1.0 else x * F.sigmoid(x * beta)


def _relu6(given):
    given.without(threshold=6.0)
    return F.relu6(given.one("X"))


def _logsumexp(given):
    whole, axis = given.attribute("reduce_all", False), given.attribute("axis", [0])
    keep = given.attribute("keepdim", False)
    return tensor.logsumexp(given.one("X"), None if whole else axis, keep)


def _logcumsumexp(given):
    given.without(exclusive=False)
    x, axis = given.one("X"), given.attribute("axis", -1)
    if given.attribute("flatten", False):
        x, axis = tensor.flatten(x), 0
    if not given.attribute("reverse", False):
        return tensor.logcumsumexp(x, axis)
    return tensor.flip(tensor.logcumsumexp(tensor.flip(x, axis), axis), axis)


def _frobenius_norm(given):
    whole = given.attribute("reduce_all", False)
    axis, keep = given.attribute("dim", [-1]), given.attribute("keep_dim", False)
    x = given.one("X")
    return tensor.sqrt(tensor.sum(x * x, None if whole else axis, keepdim=keep))


def _extremes(function):
    def make(given):
        dtype = given.attribute("dtype", "int64")
        values, places = function(given.one("x"), given.attribute("axis", -1), dtype)
        return {"out": values, "indices": places}

    return make


def _first_k(given):
    values, places = tensor.topk(given.one("X"), _value(given, "k", "K"))
    return {"Out": values, "Indices": places}


def _mode(given):
    values, places = tensor.mode(
        given.one("X"), given.attribute("axis", -1), given.attribute("keepdim", False)
    )
    return {"Out": values, "Indices": places}


def _unique(given):
    x, axis = given.one("X"), given.attribute("axis", [])
    asked = [given.attribute(f"return_{part}", False) for part in ("index", "inverse", "counts")]
    in_order = given.attribute("is_sorted", False)
    dtype = given.attribute("dtype", "int64")
    values, first, inverse, counts = tensor.unique(
        x, True, True, True, axis[0] if axis else None, dtype
    )
    if not in_order:  # in the order of their first places
        order = tensor.argsort(first)
        rank = tensor.argsort(order)
        values, first, counts = (tensor.gather(part, order) for part in (values, first, counts))
        inverse = tensor.gather(rank.astype(dtype), inverse)
        asked[1] = True
    parts = {
        "Indices": (asked[0], first),
        "Index": (asked[1], inverse),
        "Counts": (asked[2], counts),
    }
    return {"Out": values, **{name: part for name, (wanted, part) in parts.items() if wanted}}


def _unique_consecutive(given):
    axis = given.attribute("axis", [])
    asked = {"Index": "return_inverse", "Counts": "return_counts"}
    wanted = [given.attribute(name, False) for name in asked.values()]
    dtype = given.attribute("dtype", "int64")
    values, *rest = tensor.unique_consecutive(
        given.one("X"), True, True, axis[0] if axis else None, dtype
    )
    return {"Out": values, **{n: part for n, part, want in zip(asked, rest, wanted) if want}}


def _gather(given):
    given.attribute("overwrite")  # of Paddle's gradient kernel: rows that come twice are added
    axis = _value(given, "axis", "Axis")
    return tensor.gather(given.one("X"), given.one("Index"), 0 if axis is None else axis)


def _put_along(given):
    reduction = given.attribute("Reduce", "assign")
    return {
        "Result": tensor.put_along_axis(
            given.one("Input"), given.one("Index"), given.one("Value"), given.attribute("Axis", 0),
            {"multiply": "mul"}.get(reduction, reduction),
            include_self=given.attribute("Include_self", True), broadcast=False,
        )
    }  # fmt: skip


def _index_add(given):
    return tensor.index_add(
        given.one("X"), given.one("Index"), given.attribute("axis", 0), given.one("AddValue")
    )


def _reshape(given):
    """To the sizes of an attribute, or to those that a tensor or several have."""
    whole, sizes = _optional(given, "Shape"), given.operands.get("ShapeTensor")
    shape = given.attribute("shape", [])
    if whole is not None:
        return tensor.reshape(given.one("X"), whole)
    return tensor.reshape(given.one("X"), given.all("ShapeTensor") if sizes else shape)


def _joined(given):
    axis = _value(given, "axis", "AxisTensor")
    return tensor.concat(given.all("X"), 0 if axis is None else axis)


def _with_new_dimensions(given):
    axes, several = _value(given, "axes", "AxesTensor"), given.operands.get("AxesTensorList")
    return tensor.unsqueeze(given.one("X"), given.all("AxesTensorList") if several else axes)


def _flatten(given):
    """Into a matrix: the dimensions before one, and the rest."""
    x, axis = given.one("X"), given.attribute("axis", 1)
    if axis == 0:
        return tensor.reshape(x, [1, -1])
    x = tensor.flatten(x, 0, axis - 1) if axis > 1 else x
    return tensor.flatten(x, 1) if len(x.shape) > 1 else tensor.unsqueeze(x, 1)


def _expand_as(given):
    like, shape = _optional(given, "Y"), given.attribute("target_shape", [])
    return (
        tensor.expand(given.one("X"), shape)
        if like is None
        else tensor.expand_as(given.one("X"), like)
    )


def _crop(given):
    shape = given.attribute("shape") or None
    whole = _optional(given, "Shape"), _optional(given, "Y")
    like = whole[0] if whole[0] is not None else whole[1] and whole[1].shape
    offsets = _optional(given, "Offsets")
    offsets = offsets if offsets is not None else given.attribute("offsets") or None
    return tensor.crop(given.one("X"), shape if like is None else like, offsets)


def _pad(given):
    return F.pad(given.one("X"), given.needed("paddings"), value=given.attribute("pad_value", 0.0))


def _values(given):
    dtype, shape = given.attribute("dtype", "float32"), given.needed("shape")
    names = ("values", "fp32_values", "fp64_values", "int32_values", "int64_values", "bool_values",
             "int8_values")  # fmt: skip
    found = [values for values in map(given.attribute, names) if values]
    return tensor.reshape(tensor.to_tensor(found[0] if found else [], dtype), shape)


def _full_like(given):
    return tensor.full_like(given.one("X"), given.attribute("value", 0.0), _dtype_if_told(given))


def _fill_diagonal(given):
    copy = tensor.assign(given.one("X"))
    return copy.fill_diagonal_(
        given.attribute("value", 0.0), given.attribute("offset", 0), given.attribute("wrap", False)
    )


def _fill_diagonal_tensor(given):
    places = [
        given.attribute(name, value) for name, value in (("offset", 0), ("dim1", 0), ("dim2", 1))
    ]
    return given.one("X").fill_diagonal_tensor(given.one("Y"), *places)


def _sequence_mask(given):
    longest = _value(given, "maxlen", "MaxLenTensor")
    longest = None if isinstance(longest, int) and longest < 0 else longest
    return {"Y": F.sequence_mask(given.one("X"), longest, given.attribute("out_dtype", "int64"))}


def _slogdet(given):
    return tensor.stack(list(linalg.slogdet(given.one("Input"))))


def _rank(given):
    tol, usual = _optional(given, "TolTensor"), given.attribute("use_default_tol", True)
    told = given.attribute("tol", 0.0)
    tol = tol if tol is not None else None if usual else told
    return linalg.matrix_rank(given.one("X"), tol, given.attribute("hermitian", False))


def _eigh(given):
    given.attribute("is_test")
    values, vectors = linalg.eigh(given.one("X"), given.attribute("UPLO", "L"))
    return {"Eigenvalues": values, "Eigenvectors": vectors}


def _lu(given):
    out, pivots, infos = linalg.lu(given.one("X"), given.attribute("pivots", True), get_infos=True)
    return {"Out": out, "Pivots": pivots, "Infos": infos}


def _lstsq(given):
    names = "Solution", "Residuals", "Rank", "SingularValues"
    how = given.attribute("rcond"), given.attribute("driver")
    return dict(zip(names, linalg.lstsq(given.one("X"), given.one("Y"), *how)))


def _partial(join):
    """Of columns of matrices."""

    def make(given):
        first, length = given.attribute("start_index", 0), given.attribute("length", -1)
        parts = given.all("X")
        first = first + parts[0].shape[1] if first < 0 else first
        last = parts[0].shape[1] if length < 0 else first + length
        return join([part[:, first:last] for part in parts])

    return make


def _normalized(given, forward):
    """The name that fft has for which direction divides: Paddle's kernels name it with `by_n` and so on."""
    said = given.attribute("normalization", "backward")
    return {"none": "backward" if forward else "forward", "by_sqrt_n": "ortho",
            "by_n": "forward" if forward else "backward"}.get(said, said)  # fmt: skip


def _fft_of_complex(given):
    forward = given.attribute("forward", True)
    function = fft.fftn if forward else fft.ifftn
    return function(given.one("X"), axes=given.needed("axes"), norm=_normalized(given, forward))


def _fft_of_real(given):
    forward, half = given.attribute("forward", True), given.attribute("onesided", True)
    x, axes, norm = given.one("X"), given.needed("axes"), _normalized(given, forward)
    if not half:
        return (fft.fftn if forward else fft.ifftn)(x, axes=axes, norm=norm)
    return (fft.rfftn if forward else fft.ihfftn)(x, axes=axes, norm=norm)


def _fft_to_real(given):
    forward, last = given.attribute("forward", True), given.attribute("last_dim_size", 0)
    x, axes = given.one("X"), given.needed("axes")
    sizes = [x.shape[axis] for axis in axes[:-1]] + [last] if last else None
    function = fft.hfftn if forward else fft.irfftn
    return function(x, s=sizes, axes=axes, norm=_normalized(given, forward))


def _exponential(given):
    rate = given.attribute("lambda", 1.0)
    return tensor.assign(given.one("X")).exponential_(rate)


def _truncated(given):
    bounds = [given.attribute(name, value) for name, value in (("a", -2.0), ("b", 2.0))]
    mean, std = given.attribute("mean", 0.0), given.attribute("std", 1.0)
    dtype, seed = given.attribute("dtype", "float32"), given.attribute("seed", 0)
    return ops.truncated_gaussian_random(given.needed("shape"), mean, std, seed, *bounds, dtype)


def _reduced(name):
    def make(given):
        axis, whole = given.attribute("dim", [0]), given.attribute("reduce_all", False)
        keep = given.attribute("keep_dim", False)
        return getattr(tensor, name)(
            given.one("X"), None if whole or axis == [] else axis, keepdim=keep
        )

    return make


TENSORS = {
    "atan2": _arctan2, "swish": _swish, "relu6": _relu6, "logsumexp": _logsumexp,
    "logcumsumexp": _logcumsumexp, "frobenius_norm": _frobenius_norm,
    "reduce_amax": _reduced("amax"), "reduce_amin": _reduced("amin"),
    "cummax": _extremes(tensor.cummax), "cummin": _extremes(tensor.cummin), "top_k": _first_k,
    "mode": _mode, "unique": _unique, "unique_consecutive": _unique_consecutive,
    "isfinite_v2": _one(tensor.isfinite), "isnan_v2": _one(tensor.isnan), "isinf_v2": _one(tensor.isinf),
    "where_index": _one(tensor.nonzero, "Condition"), "gather": _gather, "put_along_axis": _put_along,
    "concat": _joined, "unsqueeze2": _with_new_dimensions, "index_add": _index_add, "reshape": _reshape, "reshape2": _reshape, "flatten": _flatten,
    "flatten2": _flatten, "expand_as_v2": _expand_as, "expand": _one(tensor.tile, expand_times="repeat_times"),
    "crop": _crop, "crop_tensor": _crop, "pad": _pad, "size": _one(tensor.numel, "Input"),
    "shape": lambda given: tensor.cast(tensor.shape(given.one("Input")), "int32"),
    "assign_value": _values, "fill_any_like": _full_like, "fill_diagonal": _fill_diagonal,
    "fill_diagonal_tensor": _fill_diagonal_tensor, "sequence_mask": _sequence_mask,
    "multiplex": lambda given: tensor.multiplex(given.all("X"), given.one("Ids")),
    "complex": _one(tensor.complex, "X", "Y"), "slogdeterminant": _slogdet, "matrix_rank": _rank,
    "eigvalsh": _eigh, "lu": _lu, "lstsq": _lstsq,
    "partial_sum": _partial(tensor.add_n), "partial_concat": _partial(lambda parts: tensor.concat(parts, 1)),
    "fft_c2c": _fft_of_complex, "fft_r2c": _fft_of_real, "fft_c2r": _fft_to_real,
    "frame": call(signal.frame), "overlap_add": call(signal.overlap_add), "exponential": _exponential,
    "truncated_gaussian_random": _truncated,
}  # fmt: skip
