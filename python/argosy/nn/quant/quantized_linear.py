"""Products with weights of 8 or 4 bits.

A quantized weight is the transposed one: int8 [n, k] for x [k, n], each row (or, with groups, each
stretch of a row) divided by its scale. With 4 bits two rows share bytes: byte [j, i] of [n/2, k] has
row 2j in its lower four bits and row 2j + 1 in its upper ones, in two's complement.
"""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._core import ops
from argosy._support import check_choice, dtype_name, no_effect, unsupported

_FLOATS = ("float16", "bfloat16", "float32", "float64")
# Largest code of each algorithm.
_STEPS = {"weight_only_int8": 127, "weight_only_int4": 7, "llm.int8": 127}
_GROUP_SIZES = (-1, 64, 128)
_OF_DEVICE = "weights have one layout on all devices"


def _check_group(function, group_size):
    check_choice(function, "group_size", group_size, _GROUP_SIZES, AssertionError)


def _check_matrix(function, name, x, dtypes):
    if len(x.shape) != 2 or dtype_name(x.dtype) not in dtypes:
        raise ValueError(
            f"(InvalidArgument) [{function}] {name}: expected a matrix of {' or '.join(dtypes)}, got"
            f" shape {list(x.shape)} of {dtype_name(x.dtype)}. Do this: reshape or cast it."
        )


def _packed(codes):
    """Codes of 4 bits, int32 [n, k], as int8 [n/2, k]."""
    low, high = codes[0::2], codes[1::2]
    return (tensor.remainder(low, tensor.full_like(low, 16)) + high * 16).astype("int8")


def _unpacked(weight):
    """What ``_packed`` was given."""
    both = weight.astype("int32")
    high = tensor.floor_divide(both, tensor.full_like(both, 16))
    low = both - high * 16
    low = low - (low > 7).astype("int32") * 16
    return tensor.reshape(tensor.stack([low, high], axis=1), [-1, weight.shape[1]])


def _for_each_row(scale, rows, group_size):
    """Scales [n], or [groups, n], as what broadcasts to [rows, n]."""
    if len(scale.shape) == 1:
        return scale
    return tensor.repeat_interleave(scale, group_size, axis=0)[:rows]


@beside
def weight_quantize(x, algo="weight_only_int8", arch=None, group_size=-1):
    """A weight as integers of 8 or 4 bits and their scales.

    Args:
        x: weight [k, n], float.
        algo (str): 'weight_only_int8' or 'weight_only_int4', for ``weight_only_linear``, or 'llm.int8', for
            ``llm_int8_linear``.
        arch (int, optional): has no effect: weights have one layout on all devices.
        group_size (int): 64 or 128: one scale for so many elements of a column; -1: one for each column.

    Returns:
        (weight, scale): int8 [n, k] ([n/2, k] with 4 bits, two codes a byte), and the scales [n], with groups
        [groups, n], of x's dtype; for 'llm.int8' of float32.

    Raises:
        AssertionError: ``group_size`` is another.
        ValueError: x is no matrix of floats, ``algo`` is unknown, or n is odd with 4 bits.
        NotImplementedError: ``algo`` is 'w4a8' or 'w4afp8'.

    Examples:
        >>> weight, scale = argosy.nn.quant.weight_quantize(argosy.to_tensor([[1.27, 0.1], [0.5, -0.2]]))
        >>> weight.tolist()
        [[127, 50], [64, -127]]
    """
    _check_group("weight_quantize", group_size)
    for algorithm in ("w4a8", "w4afp8"):
        if algo == algorithm:
            unsupported(
                "weight_quantize", "use 'weight_only_int4'", algo=(algo, "weight_only_int8")
            )
    check_choice("weight_quantize", "algo", algo, tuple(_STEPS))
    _check_matrix("weight_quantize", "x", x, _FLOATS)
    no_effect("weight_quantize", _OF_DEVICE, arch=(arch, None))
    four_bits = algo == "weight_only_int4"
    if four_bits and x.shape[1] % 2:
        raise ValueError(
            f"(InvalidArgument) [weight_quantize] x: expected an even number of columns with 4 bits, got"
            f" shape {list(x.shape)}. Do this: add a column of zeros, or use 'weight_only_int8'."
        )
    steps = _STEPS[algo]
    wide = x.astype("float32")
    rows = x.shape[0]
    size = tensor.abs(wide)
    if group_size == -1:
        largest = tensor.max(size, axis=0)
    else:
        missing = -rows % group_size
        if missing:
            size = tensor.concat([size, tensor.zeros([missing, x.shape[1]], size.dtype)])
        largest = tensor.max(tensor.reshape(size, [-1, group_size, x.shape[1]]), axis=1)
    scale = largest / steps
    # A column of zeros is zeros by any scale.
    divisor = tensor.where(scale == 0, tensor.ones_like(scale), scale)
    codes = tensor.round(wide / _for_each_row(divisor, rows, group_size))
    codes = tensor.transpose(tensor.clip(codes, -steps, steps), [1, 0])
    scale = scale if algo == "llm.int8" else scale.astype(x.dtype)
    return (_packed(codes.astype("int32")) if four_bits else codes.astype("int8")), scale


def weight_dequantize(x, scale, algo="weight_only_int8", out_dtype="float16", group_size=-1):
    """The weight that ``weight_quantize`` was given, as far as its integers still tell.

    Args:
        x: int8 [n, k], or [n/2, k] with 4 bits.
        scale: [n] or [groups, n].
        algo (str): as for ``weight_quantize``.
        group_size (int): likewise.
        out_dtype (str): has no effect: the result has the dtype of the scales.

    Returns:
        Tensor [k, n] of the dtype of ``scale``.

    Raises:
        AssertionError: ``group_size`` is another.
        ValueError: x is no matrix of int8, or ``algo`` is unknown.

    Examples:
        >>> weight, scale = argosy.nn.quant.weight_quantize(argosy.to_tensor([[1.27, 0.1], [0.5, -0.2]]))
        >>> argosy.nn.quant.weight_dequantize(weight, scale).tolist()
        [[1.27, 0.101], [0.5, -0.2]]
    """
    _check_group("weight_dequantize", group_size)
    check_choice("weight_dequantize", "algo", algo, tuple(_STEPS))
    _check_matrix("weight_dequantize", "x", x, ("int8",))
    no_effect(
        "weight_dequantize",
        "the result has the dtype of the scales",
        out_dtype=(out_dtype, "float16"),
    )
    codes = _unpacked(x) if algo == "weight_only_int4" else x
    codes = tensor.transpose(codes, [1, 0])
    wide = codes.astype("float32") * _for_each_row(
        scale.astype("float32"), codes.shape[0], group_size
    )
    return wide.astype(scale.dtype)


def _check_scale(function, weight_scale):
    if weight_scale is None:
        raise ValueError(
            f"(InvalidArgument) [{function}] weight_scale: expected the scales that weight_quantize"
            " returned, got None. Do this: pass them."
        )


def weight_only_linear(
    x, weight, bias=None, weight_scale=None, weight_dtype="int8", arch=None, group_size=-1
):
    """``x weight + bias`` with a weight of 8 or 4 bits.

    Args:
        x: [.., k], float.
        weight: int8 [n, k], or [n/2, k] with 4 bits: what ``weight_quantize`` returned.
        bias (Tensor, optional): [n].
        weight_scale: [n], or [groups, n]: the scales.
        weight_dtype (str): 'int8' or 'int4'.
        arch (int, optional): has no effect: weights have one layout on all devices.
        group_size (int): as for ``weight_quantize``.

    Returns:
        Tensor [.., n] of x's dtype.

    Raises:
        AssertionError: ``group_size`` is another.
        ValueError: no scales are given, ``weight_dtype`` is another, or sizes do not fit.

    Examples:
        >>> quant = argosy.nn.quant
        >>> weight, scale = quant.weight_quantize(argosy.to_tensor([[1.27, 0.1], [0.5, -0.2]]))
        >>> quant.weight_only_linear(argosy.to_tensor([[1.0, 2.0]]), weight, weight_scale=scale).tolist()
        [[2.27, -0.299]]
    """
    _check_group("weight_only_linear", group_size)
    check_choice("weight_only_linear", "weight_dtype", weight_dtype, ("int8", "int4"))
    _check_scale("weight_only_linear", weight_scale)
    no_effect("weight_only_linear", _OF_DEVICE, arch=(arch, None))
    if dtype_name(weight_scale.dtype) != "float32":
        weight_scale = weight_scale.astype("float32")
    bits = int(weight_dtype[3:])
    return ops.weight_only_linear(x, weight, weight_scale, bias, bits, group_size)


def llm_int8_linear(x, weight, bias=None, weight_scale=None, threshold=6.0):
    """``x weight + bias`` in integers of 8 bits, but for the columns of x that have large numbers.

    Columns of x with a number whose size is above ``threshold`` are multiplied as they are; each row of
    the others is rounded to integers of 8 bits.

    Args:
        x: [.., k], float.
        weight: int8 [n, k], as ``weight_quantize(.., 'llm.int8')`` returned it.
        bias (Tensor, optional): [n].
        weight_scale: [n], the scales.
        threshold (float): see above.

    Returns:
        Tensor [.., n] of x's dtype.

    Raises:
        ValueError: no scales are given, or ``weight`` is no matrix of int8.

    Paper: Dettmers et al., arXiv 2208.07339.

    Examples:
        >>> quant = argosy.nn.quant
        >>> weight, scale = quant.weight_quantize(argosy.to_tensor([[1.27, 0.1], [0.5, -0.2]]), "llm.int8")
        >>> quant.llm_int8_linear(argosy.to_tensor([[1.0, 2.0]]), weight, weight_scale=scale).tolist()
        [[2.28, -0.298]]
    """
    _check_scale("llm_int8_linear", weight_scale)
    _check_matrix("llm_int8_linear", "weight", weight, ("int8",))
    wide = x.astype("float32")
    large = tensor.abs(wide) > threshold
    if len(x.shape) > 1:
        large = tensor.any(large, axis=list(range(len(x.shape) - 1)))
    zeros = tensor.zeros_like(wide)
    small = tensor.where(large, zeros, wide)
    step = tensor.max(tensor.abs(small), axis=-1, keepdim=True) / 127
    codes = tensor.round(small / tensor.where(step == 0, tensor.ones_like(step), step))
    columns = tensor.transpose(weight, [1, 0]).astype("float32")
    # Sums of products of 8 bits are exact in float32 up to 1040 of them, then as exact as its others.
    product = tensor.matmul(codes, columns) * step
    product = product + tensor.matmul(tensor.where(large, wide, zeros), columns)
    product = product * weight_scale.astype("float32")
    if bias is not None:
        product = product + bias.astype("float32")
    return product.astype(x.dtype)


def apply_per_channel_scale(x, scales):
    """x with each of its columns multiplied by a number.

    Args:
        x: [.., k], float.
        scales: [k], of x's dtype.

    Returns:
        Tensor like x.

    Examples:
        >>> scales = argosy.to_tensor([10.0, 1.0])
        >>> argosy.nn.quant.quantized_linear.apply_per_channel_scale(argosy.ones([1, 2]), scales).tolist()
        [[10.0, 1.0]]
    """
    return tensor.multiply(x, scales)
