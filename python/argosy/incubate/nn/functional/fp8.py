"""Numbers of 8 bits with a scale for each block of 128: quantized, multiplied, and turned back. Products
are computed in float32 and rounded once."""

from __future__ import annotations

from argosy import tensor
from argosy._beside import beside
from argosy._support import ArgumentError, check_choice, unsupported
from argosy.nn import functional as F

__all__ = []

_BLOCK = 128
_MOST = 448.0  # of float8_e4m3fn


@beside
def _scales(largest, epsilon, power_of_two):
    """What numbers up to ``largest`` are multiplied by, to fill the range of float8_e4m3fn."""
    least = tensor.full([], epsilon, "float32")
    largest = tensor.maximum(largest, least)
    zero = largest == 0
    scale = _MOST / tensor.where(zero, tensor.full([], _MOST, "float32"), largest)
    limit = 2.0**127 if power_of_two else 255 * 2.0**120  # of bfloat16
    scale = tensor.where(tensor.isinf(scale), tensor.full([], limit, "float32"), scale)
    if not power_of_two:
        return scale
    exponent = tensor.frexp(scale)[1].astype("int32") - 1
    return tensor.ldexp(tensor.ones_like(scale), exponent)


def _blocks(x, rows):
    """x [m, n] as [m / rows, rows, n / 128, 128], filled up with zeros."""
    m, n = x.shape
    below, right = -m % rows, -n % _BLOCK
    if below or right:
        x = F.pad(x, [0, below, 0, right])
    return x.reshape([(m + below) // rows, rows, (n + right) // _BLOCK, _BLOCK])


def _quantize(x, rows=1, epsilon=0.0, power_of_two=False):
    """(x [m, n] in float8_e4m3fn, factors [m / rows, n / 128] that turn it back)."""
    m, n = x.shape
    blocks = _blocks(x.astype("float32"), rows)
    scale = _scales(blocks.abs().amax([1, 3], keepdim=True), epsilon, power_of_two)
    scaled = (blocks * scale).reshape([blocks.shape[0] * rows, -1])[:m, :n]
    return scaled.astype("float8_e4m3fn"), 1.0 / scale.squeeze([1, 3])


@beside
def _packed(factors):
    """Exponents of powers of two [m, b], four in an int32: [m, b / 4]."""
    codes = tensor.frexp(factors)[1].astype("int64") + 126
    short = -codes.shape[1] % 4
    if short:
        codes = tensor.concat([codes, tensor.zeros([codes.shape[0], short], "int64")], 1)
    codes = codes.reshape([codes.shape[0], -1, 4])
    whole = (codes * tensor.to_tensor([1, 1 << 8, 1 << 16, 1 << 24])).sum(-1)
    return (whole - (whole >= 1 << 31).astype("int64") * (1 << 32)).astype("int32")


@beside
def _unpacked(codes, blocks):
    """Undoes _packed, of whose columns the first ``blocks`` count."""
    whole = codes.astype("int64")
    parts = [(whole // (1 << (8 * i))) % 256 for i in range(4)]
    exponent = tensor.stack(parts, -1).reshape([codes.shape[0], -1])[:, :blocks] - 127
    return tensor.ldexp(tensor.ones(exponent.shape, "float32"), exponent.astype("int32"))


def _spread(factors, size):
    """Each factor of the last dimension 128 times, ``size`` in all."""
    return tensor.repeat_interleave(factors, _BLOCK, -1)[..., :size]


def _need_matrix(name, x):
    if len(x.shape) != 2:
        raise ArgumentError(
            f"[{name}] x: expected a matrix, got {list(x.shape)}. Do this: reshape it to [-1,"
            f" {x.shape[-1] if len(x.shape) else 1}]."
        )


def fp8_quant_blockwise(
    x,
    epsilon=0.0,
    input_transpose=False,
    output_scale_transpose=True,
    return_transpose_only=False,
    using_pow2_scale=True,
    using_ue8m0_scale=False,
    quant_method="1x128",
    output_type="e4m3",
    name=None,
):
    """x in float8_e4m3fn, with a factor for each block that turns it back.

    Args:
        x (Tensor): [m, n], floating.
        epsilon (float): least absolute value that a block is scaled by.
        input_transpose (bool): whether the transpose of x is quantized, too.
        output_scale_transpose (bool): whether factors are transposed.
        return_transpose_only (bool): with input_transpose, whether only the transpose is returned.
        using_pow2_scale (bool): whether factors are powers of two.
        using_ue8m0_scale (bool): whether factors are exponents of two, four neighbours of a row in an int32;
            with using_pow2_scale only.
        quant_method (str): '1x128' or '128x128', what a block is.
        output_type (str): only 'e4m3'.

    Returns:
        tuple: [m, n] float8_e4m3fn; factors float32, [m, n / 128] with blocks of 1x128, [m / 128, n / 128]
        with 128x128, rounded up, transposed by default; and with input_transpose both for the transpose.

    Raises:
        ValueError: another quant_method or output_type, or x is no matrix.
        NotImplementedError: using_ue8m0_scale without using_pow2_scale.

    Examples:
        >>> x = argosy.full([2, 128], 3.5)
        >>> quantized, factors = argosy.incubate.nn.functional.fp8_quant_blockwise(x)
        >>> quantized.dtype, factors.tolist(), float(quantized[0, 0].astype("float32"))
        (paddle.float8_e4m3fn, [[0.0078125, 0.0078125]], 448.0)
    """
    op = "fp8_quant_blockwise"
    check_choice(op, "quant_method", quant_method, ("1x128", "128x128"))
    check_choice(op, "output_type", output_type, ("e4m3",))
    _need_matrix(op, x)
    if using_ue8m0_scale:
        unsupported(
            op, "leave it out; exponents are of powers of two", using_pow2_scale=(using_pow2_scale, True)
        )  # fmt: skip
    rows = 1 if quant_method == "1x128" else _BLOCK

    def quantized(one):
        values, factors = _quantize(one, rows, epsilon, using_pow2_scale)
        factors = _packed(factors) if using_ue8m0_scale else factors
        return values, factors.transpose([1, 0]) if output_scale_transpose else factors

    turned = quantized(x.transpose([1, 0])) if input_transpose else ()
    return turned if turned and return_transpose_only else (*quantized(x), *turned)


def fused_act_dequant(x, x_scale):
    """Undoes fp8_quant_blockwise with blocks of 1x128.

    Args:
        x (Tensor): [m, n] float8_e4m3fn.
        x_scale (Tensor): [m, n / 128] float32, or [m, n / 512] int32 with four exponents each, rounded up.

    Returns:
        Tensor: [m, n] bfloat16.

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> x, factors = F.fp8_quant_blockwise(argosy.full([1, 2], 3.5), output_scale_transpose=False)
        >>> F.fused_act_dequant(x, factors).tolist()
        [[3.5, 3.5]]
    """
    _need_matrix("fused_act_dequant", x)
    size = x.shape[1]
    if x_scale.dtype.name.lower() == "int32":
        x_scale = _unpacked(x_scale, -(-size // _BLOCK))
    return (x.astype("float32") * _spread(x_scale, size)).astype("bfloat16")


def fp8_gemm_blockwise(
    a,
    a_decode_scale,
    b,
    b_decode_scale,
    out_dtype,
    out=None,
    bias=None,
    accumulate=False,
    use_split_accumulator=True,
    is_a_1d_scaled=True,
    is_b_1d_scaled=True,
):
    """The product of a and the transpose of b, which fp8_quant_blockwise has quantized.

    Args:
        a (Tensor): [m, k] float8_e4m3fn.
        a_decode_scale (Tensor): its factors, [k / 128, m], or [m / 128, k / 128] if they are of 128x128.
        b (Tensor): [n, k] float8_e4m3fn.
        b_decode_scale (Tensor): its factors, [k / 128, n], or [n / 128, k / 128] if they are of 128x128.
        out_dtype (dtype | str): of the result.
        out (Tensor, optional): [m, n], is written.
        bias (Tensor, optional): only None.
        accumulate (bool): whether the product is added to out.
        use_split_accumulator (bool): no difference here: sums are in float32.
        is_a_1d_scaled, is_b_1d_scaled (bool): whether blocks are of 1x128, else of 128x128.

    Returns:
        Tensor: [m, n], out if there is one.

    Raises:
        ValueError: shapes that do not fit, or ``accumulate`` without ``out``.
        NotImplementedError: a bias.

    Examples:
        >>> F = argosy.incubate.nn.functional
        >>> a, factors = F.fp8_quant_blockwise(argosy.ones([2, 128]))
        >>> F.fp8_gemm_blockwise(a, factors, a, factors, "float32").tolist()
        [[128.0, 128.0], [128.0, 128.0]]
    """
    op = "fp8_gemm_blockwise"
    unsupported(op, "add it to the result", bias=(bias, None))
    check_choice(op, "use_split_accumulator", use_split_accumulator, (True, False))
    (m, k), (n, other) = a.shape, b.shape
    if (
        k != other
        or (out is not None and list(out.shape) != [m, n])
        or (accumulate and out is None)
    ):
        raise ArgumentError(
            f"[{op}] a, b and out: expected [m, k], [n, k] and [m, n], got {[m, k]}, {[n, other]} and"
            f" {None if out is None else list(out.shape)}. Do this: transpose b, and pass an out to add to."
        )

    def whole(x, factors, by_row):
        rows, size = x.shape
        if by_row:
            factors = factors.transpose([1, 0])
        else:
            factors = tensor.repeat_interleave(factors, _BLOCK, 0)
        return x.astype("float32") * _spread(factors[:rows], size)

    product = tensor.matmul(
        whole(a, a_decode_scale, is_a_1d_scaled), whole(b, b_decode_scale, is_b_1d_scaled),
        transpose_y=True,
    )  # fmt: skip
    if accumulate:
        product = product + out.astype("float32")
    product = product.astype(out_dtype if out is None else out.dtype)
    return product if out is None else tensor.assign(product, out)


def fused_stack_transpose_quant(x, transpose=True):
    """Matrices one below the other, each transposed, in float8_e4m3fn with a factor for each 128x128.

    Args:
        x (list[Tensor]): all [m, k], floating.
        transpose (bool): whether they are transposed.

    Returns:
        (Tensor, Tensor): [len(x) * k, m] float8_e4m3fn and [len(x) * k / 128, m / 128] float32; m and k
        the other way round without transpose.

    Examples:
        >>> x = [argosy.ones([256, 128]), argosy.zeros([256, 128])]
        >>> out, factors = argosy.incubate.nn.functional.fused_stack_transpose_quant(x)
        >>> out.shape, factors.shape
        (paddle.Size([256, 256]), paddle.Size([2, 2]))
    """
    return _quantize(
        tensor.concat([one.transpose([1, 0]) if transpose else one for one in x]), _BLOCK
    )


def _split(x, tokens_per_expert, power_of_two):
    if sum(tokens_per_expert) != x.shape[0]:
        raise ArgumentError(
            f"[fused_transpose_split_quant] tokens_per_expert: expected numbers with the sum {x.shape[0]},"
            f" the rows of x, got {tokens_per_expert}. Do this: count the rows of each expert."
        )
    outs, scales, begin = [], [], 0
    for count in tokens_per_expert:
        part = x[begin : begin + count].transpose([1, 0])
        out, factors = _quantize(part, 1, 0.0, power_of_two)
        outs.append(out)
        scales.append(factors.transpose([1, 0]))
        begin += count
    return outs, scales


def fused_transpose_split_quant(x, input_scales, tokens_per_expert, pow_2_scales=False):
    """The rows of each expert, transposed, in float8_e4m3fn with a factor for each 128 of them.

    Args:
        x (Tensor): [m, k], floating, or float8_e4m3fn.
        input_scales (Tensor | None): [m, k / 128], factors of an x of 8 bits.
        tokens_per_expert (list[int]): how many rows each expert has; their sum is m.
        pow_2_scales (bool): whether factors are powers of two.

    Returns:
        (list[Tensor], list[Tensor]): for each expert [k, rows] float8_e4m3fn and [rows / 128, k] float32.

    Raises:
        ValueError: the numbers of rows do not add up to m.

    Examples:
        >>> x = argosy.ones([256, 3])
        >>> F = argosy.incubate.nn.functional
        >>> outs, factors = F.fused_transpose_split_quant(x, None, [128, 128])
        >>> outs[0].shape, factors[0].shape
        (paddle.Size([3, 128]), paddle.Size([1, 3]))
    """
    if x.shape[0] == 0 or x.shape[1] == 0:
        return [], []
    if input_scales is not None:
        x = x.astype("float32") * _spread(input_scales, x.shape[1])
    return _split(x, [int(count) for count in tokens_per_expert], pow_2_scales)


def fused_transpose_wlch_split_quant(x, tokens_per_expert, pow_2_scales=False):
    """:func:`fused_transpose_split_quant` of rows that came from several processes.

    Args:
        x (Tensor): [w, l, c, h]: w processes sent c rows for each of l experts.
        tokens_per_expert (list[int]): how many rows each expert has, which are those of all processes.
        pow_2_scales (bool): whether factors are powers of two.

    Returns:
        (list[Tensor], list[Tensor]): as there.

    Raises:
        ValueError: the numbers of rows do not add up to w * l * c.

    Examples:
        >>> outs, factors = argosy.incubate.nn.functional.fused_transpose_wlch_split_quant(
        ...     argosy.ones([2, 2, 64, 3]), [128, 128])
        >>> outs[0].shape, factors[0].shape
        (paddle.Size([3, 128]), paddle.Size([1, 3]))
    """
    rows = x.transpose([1, 0, 2, 3]).reshape([-1, x.shape[3]])
    return _split(rows, [int(count) for count in tokens_per_expert], pow_2_scales)


def fused_weighted_swiglu_act_quant(x, prob=None, using_pow2_scaling=False, name=None):
    """swiglu of x, times a weight for each row, in float8_e4m3fn with a factor for each 128.

    Args:
        x (Tensor): [.., 2 * n], floating.
        prob (Tensor, optional): [..], weights.
        using_pow2_scaling (bool): whether factors are powers of two.

    Returns:
        (Tensor, Tensor): [rows, n] float8_e4m3fn, and [rows, n / 128 rounded up] float32, which turns
        it back.

    Examples:
        >>> x = argosy.ones([2, 3, 8])
        >>> out, factors = argosy.incubate.nn.functional.fused_weighted_swiglu_act_quant(x)
        >>> out.shape, factors.shape
        (paddle.Size([6, 4]), paddle.Size([6, 1]))
    """
    value = F.swiglu(x.astype("float32").reshape([-1, x.shape[-1]]))
    if prob is not None:
        value = value * prob.astype("float32").reshape([-1, 1])
    return _quantize(value, 1, 0.0, using_pow2_scaling)


def fused_swiglu_weighted_bwd(o1, do2_s, unzipped_probs, name=None):
    """Gradients of swiglu(o1) * unzipped_probs, and this value.

    Args:
        o1 (Tensor): [.., 2 * n], floating.
        do2_s (Tensor): [.., n], the gradient of the result.
        unzipped_probs (Tensor): [..] or [.., 1], weights of rows.

    Returns:
        (Tensor, Tensor, Tensor): the gradient of o1, that of unzipped_probs, and the value, of the dtypes
        of o1, unzipped_probs and o1.

    Examples:
        >>> o1, grad, weight = argosy.zeros([1, 4]), argosy.ones([1, 2]), argosy.ones([1, 1])
        >>> F = argosy.incubate.nn.functional
        >>> [part.tolist() for part in F.fused_swiglu_weighted_bwd(o1, grad, weight)]
        [[[0.0, 0.0, 0.0, 0.0]], [[0.0]], [[0.0, 0.0]]]
    """
    gate, up = tensor.chunk(o1.astype("float32"), 2, -1)
    grad = do2_s.astype("float32")
    weight = unzipped_probs.astype("float32").reshape([*o1.shape[:-1], 1])
    sigmoid = F.sigmoid(gate)
    silu = gate * sigmoid
    scaled = grad * weight
    do1 = tensor.concat([scaled * up * (sigmoid + silu * (1 - sigmoid)), scaled * silu], -1)
    weight_grad = (grad * silu * up).sum(-1).reshape(unzipped_probs.shape)
    return (
        do1.astype(o1.dtype), weight_grad.astype(unzipped_probs.dtype),
        (silu * up * weight).astype(o1.dtype),
    )  # fmt: skip
