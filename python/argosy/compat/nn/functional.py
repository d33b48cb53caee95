"""Functions of neural networks with PyTorch's signatures."""

from __future__ import annotations

from argosy import tensor
from argosy._support import plain
from argosy.nn import functional as F

from .._keywords import refuse

__all__ = ["linear", "pad", "scaled_dot_product_attention", "softmax", "unfold"]


@refuse("nn.functional.pad", "nn.functional.pad", "x", "name", "data_format", "pad_from_left_axis")
def pad(input, pad, mode="constant", value=0.0):  # noqa: A002
    """Puts elements around a tensor.

    Args:
        input (Tensor): Of any dtype.
        pad (list[int] | tuple[int]): Two numbers for each of the last dimensions, the last first.
        mode (str): ``"constant"``; ``"reflect"``, ``"replicate"`` or ``"circular"``
            continue the last one to three dimensions of a tensor of rank 2 to 5.
        value (float): The constant.

    Returns:
        Tensor: The larger tensor.

    Raises:
        ValueError: The numbers do not fit input, or mode.
        TypeError: The arguments are those of argosy.nn.functional.pad.

    Example:
        >>> argosy.compat.nn.functional.pad(argosy.ones([2]), [1, 2]).tolist()
        [0.0, 1.0, 1.0, 0.0, 0.0]
    """
    pairs = list(plain(pad))
    rank = input.ndim
    if mode == "constant":
        if len(pairs) % 2 or len(pairs) > 2 * rank:
            raise ValueError(
                f"[compat.nn.functional.pad] pad: expected two numbers for each of at most {rank}"
                f" dimensions, got {pairs}. Do this: give (before, after) of the last dimension"
                " first."
            )
        if not pairs:
            return input.clone()
        both = [0] * (2 * rank - len(pairs))
        for d in range(len(pairs) - 2, -1, -2):
            both += pairs[d : d + 2]
        return F.pad(input, both, value=value)
    # [channels, ..] or [batch, channels, ..] with len(pairs) / 2 dimensions to continue.
    spatial = len(pairs) // 2
    if len(pairs) % 2 or spatial not in (1, 2, 3) or rank not in (spatial + 1, spatial + 2):
        raise ValueError(
            f"[compat.nn.functional.pad] mode {mode!r} continues the last 1 to 3 dimensions behind"
            f" those of batch and channels, got pad {pairs} for shape {list(input.shape)}. Do this:"
            " give two numbers for each dimension behind the channels."
        )
    form = ("NCL", "NCHW", "NCDHW")[spatial - 1]
    if rank == spatial + 2:
        return F.pad(input, pairs, mode, data_format=form)
    return F.pad(input.unsqueeze(0), pairs, mode, data_format=form).squeeze(0)


@refuse("nn.functional.softmax", "nn.functional.softmax", "x", "axis", "name")
def softmax(input, dim=None, dtype=None, *, out=None):  # noqa: A002
    """exp(input) over its sum along a dimension.

    Args:
        input (Tensor): Floating.
        dim (int, optional): Which; default: 0 for rank 0, 1 and 3, else 1.
        dtype (dtype | str, optional): What input is cast to before.
        out (Tensor, optional): A tensor that becomes the result.

    Returns:
        Tensor: Of input's shape.

    Raises:
        TypeError: The arguments are those of argosy.nn.functional.softmax.

    Example:
        >>> argosy.compat.nn.functional.softmax(argosy.zeros([4]), dim=0).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """
    return tensor.softmax(input, dim, dtype, out=out)


def linear(input, weight, bias=None):  # noqa: A002
    """input weight^T + bias.

    Args:
        input (Tensor): [.., in].
        weight (Tensor): [out, in].
        bias (Tensor, optional): [out].

    Returns:
        Tensor: [.., out].

    Example:
        >>> argosy.compat.nn.functional.linear(argosy.ones([1, 2]), argosy.ones([3, 2])).tolist()
        [[2.0, 2.0, 2.0]]
    """
    found = tensor.matmul(input, weight, transpose_y=True)
    return found if bias is None else found + bias


def scaled_dot_product_attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    """``softmax(query key^T scale + mask) value``.

    Args:
        query (Tensor): [.., heads, length, head size].
        key (Tensor): [.., heads, key length, head size].
        value (Tensor): [.., heads, key length, value size].
        attn_mask (Tensor, optional): bool (True takes part) or added to the scores; broadcast to
            [.., heads, length, key length].
        dropout_p (float): Probability of dropping a weight.
        is_causal (bool): Whether a position sees none after it.
        scale (float, optional): Default: 1 / sqrt(head size).
        enable_gqa (bool): Key and value may have fewer heads, a divisor of query's number.

    Returns:
        Tensor: [.., heads, length, value size].

    Raises:
        ValueError: The numbers of heads do not fit.

    Paper: Attention Is All You Need (https://arxiv.org/abs/1706.03762).

    Example:
        >>> x = argosy.ones([2, 4, 8])
        >>> argosy.compat.nn.functional.scaled_dot_product_attention(x, x, x).shape
        paddle.Size([2, 4, 8])
    """
    if not enable_gqa and query.shape[-3] != key.shape[-3]:
        raise ValueError(
            "[compat.nn.functional.scaled_dot_product_attention] heads differ:"
            f" query {list(query.shape)}, key {list(key.shape)}. Do this: pass enable_gqa=True."
        )
    lead = query.ndim == 3
    parts = [t.unsqueeze(0) if lead else t for t in (query, key, value)]
    parts = [t.transpose([0, 2, 1, 3]) for t in parts]
    found = F.scaled_dot_product_attention(
        *parts, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    ).transpose([0, 2, 1, 3])
    return found.squeeze(0) if lead else found


@refuse("nn.functional.unfold", "nn.functional.unfold", "x", "kernel_sizes", "strides", "paddings", "dilations", "name")  # fmt: skip
def unfold(input, kernel_size, dilation=1, padding=0, stride=1):  # noqa: A002
    """The windows of an image as columns.

    Args:
        input (Tensor): [batch, channels, height, width].
        kernel_size (int | list[int]): Sizes of a window.
        dilation (int | list[int]): Distance of its elements.
        padding (int | list[int]): Zeros around the image.
        stride (int | list[int]): Distance of the windows.

    Returns:
        Tensor: [batch, channels * window, windows].

    Raises:
        TypeError: The arguments are those of argosy.nn.functional.unfold.

    Example:
        >>> argosy.compat.nn.functional.unfold(argosy.ones([1, 3, 4, 4]), 2).shape
        paddle.Size([1, 12, 9])
    """
    return F.unfold(input, plain(kernel_size), plain(stride), plain(padding), plain(dilation))
