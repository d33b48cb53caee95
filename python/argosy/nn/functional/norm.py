"""Normalization."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._support import check_choice, need_tensor, no_effect

from ._args import CHANNEL_LAST, alias, is_channel_last

ops = _core.ops


@alias(input="x", dim="axis", eps="epsilon")
def normalize(x, p=2, axis=1, epsilon=1e-12, out=None, name=None):
    """Divide ``x`` by its p-norm along ``axis``, the norm being at least ``epsilon``.

    Args:
        x: float tensor; a 1-D one is normalized along its only axis.
        p (float): order of the norm.
        axis (int): axis of the vectors.
        epsilon (float): smallest norm that is divided by.
        out (Tensor, optional): receives the result.

    Returns:
        Tensor like x; ``out`` if it is given.

    Examples:
        >>> argosy.nn.functional.normalize(argosy.to_tensor([[3.0, 4.0]])).tolist()
        [[0.6, 0.8]]
    """
    result = ops.normalize(x, float(p), axis, epsilon)
    if out is not None:
        tensor.assign(result, out)
        return out
    return result


_BATCH_FORMATS = ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")


def batch_norm(
    x,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.9,
    epsilon=1e-05,
    data_format="NCHW",
    use_global_stats=None,
    name=None,
):
    """Normalize each channel over the batch and all positions, then scale and shift it.

    Args:
        x: [N, C, ...], or [N, ..., C] for 'NLC', 'NHWC', 'NDHWC'.
        running_mean, running_var: [C]; with batch statistics they are updated in place,
            running = momentum * running + (1 - momentum) * batch (variance not corrected).
        weight, bias: [C] or None.
        training (bool): whether to use batch statistics, unless ``use_global_stats`` says otherwise.
        momentum (float): see ``running_mean``.
        epsilon (float): added to the variance.
        data_format (str): 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC' or 'NDHWC'.
        use_global_stats (bool, optional): True uses the running ones, False those of the batch, None: not
            ``training``.

    Returns:
        Tensor like x.

    Raises:
        AssertionError: x has fewer than 2 dimensions.
        ValueError: channels do not fit, or data_format is unknown.

    Paper: Ioffe and Szegedy, arXiv:1502.03167.

    Examples:
        >>> x = argosy.to_tensor([[1.0], [3.0]])
        >>> mean, variance = argosy.zeros([1]), argosy.ones([1])
        >>> argosy.nn.functional.batch_norm(x, mean, variance, training=True).tolist()
        [[-1.0], [1.0]]
        >>> mean.item()
        0.2
    """
    if len(x.shape) < 2:
        raise AssertionError(
            f"[batch_norm] x: expected 2 dimensions or more, got shape {list(x.shape)}. Do "
            "this: reshape it."
        )
    check_choice("batch_norm", "data_format", data_format, _BATCH_FORMATS)
    if use_global_stats is None:
        use_global_stats = not training
    return ops.batch_norm(
        x, running_mean, running_var, weight, bias, not use_global_stats, momentum, epsilon,
        CHANNEL_LAST[data_format],
    )  # fmt: skip


def _begin_axis(x, normalized_shape):
    if type(normalized_shape) is int:
        normalized_shape = [normalized_shape]
    elif isinstance(normalized_shape, (list, tuple)):
        normalized_shape = list(normalized_shape)
    elif hasattr(normalized_shape, "__index__"):
        normalized_shape = [normalized_shape.__index__()]
    else:
        raise ValueError(
            "[layer_norm] normalized_shape: expected an int or a list of ints, got "
            f"{type(normalized_shape).__name__}. Do this: pass one of them."
        )
    need_tensor("layer_norm", "x", x)
    shape = x.shape
    begin = len(shape) - len(normalized_shape)
    fits = all(n in (-1, want) for n, want in zip(shape[begin:], normalized_shape))
    if begin < 0 or not fits:
        raise ValueError(
            "[layer_norm] x must end with normalized_shape: expected [.., "
            f"{str(normalized_shape)[1:]}, got shape {list(shape)}. Do this: correct one of "
            "them."
        )
    return begin


@alias(input="x", eps="epsilon")
def layer_norm(x, normalized_shape, weight=None, bias=None, epsilon=1e-05, name=None):
    """Normalize over the last axes to mean 0 and variance 1, then scale and shift.

    Args:
        x: float tensor [..., *normalized_shape].
        normalized_shape: int or list: sizes of the axes that are normalized together.
        weight, bias: with as many elements as ``normalized_shape``, or None.
        epsilon (float): added to the variance.

    Returns:
        Tensor like x.

    Raises:
        ValueError: the shapes do not fit.

    Paper: Ba, Kiros and Hinton, arXiv:1607.06450.

    Examples:
        >>> argosy.nn.functional.layer_norm(argosy.to_tensor([[1.0, 3.0]]), 2).tolist()
        [[-1.0, 1.0]]
    """
    return ops.layer_norm(x, weight, bias, _begin_axis(x, normalized_shape), epsilon)


def rms_norm(input, normalized_shape, weight=None, eps=1e-05, name=None):
    """Divide by the root mean square over the last axes, then scale: x / sqrt(mean(x^2) + eps).

    Args:
        input: float tensor [..., *normalized_shape].
        normalized_shape: int or list: sizes of the axes that are normalized together.
        weight: with as many elements as ``normalized_shape``, or None.
        eps (float): added to the mean square.

    Returns:
        Tensor like input.

    Raises:
        ValueError: the shapes do not fit.

    Paper: Zhang and Sennrich, arXiv:1910.07467.

    Examples:
        >>> argosy.nn.functional.rms_norm(argosy.to_tensor([[3.0, 4.0]]), 2).tolist()
        [[0.8485, 1.1314]]
    """
    return ops.rms_norm(input, weight, None, _begin_axis(input, normalized_shape), eps)


@alias(input="x", eps="epsilon")
def group_norm(x, num_groups, epsilon=1e-05, weight=None, bias=None, data_format="NCHW", name=None):
    """Normalize over groups of channels and all positions, then scale and shift each channel.

    Args:
        x: [N, C, ...], or [N, ..., C] for channel-last formats; C divisible by ``num_groups``.
        num_groups (int): number of groups.
        epsilon (float): added to the variance.
        weight, bias: [C] or None.
        data_format (str): 'NCL', 'NCHW', 'NCDHW', or with the channels last.

    Returns:
        Tensor like x.

    Raises:
        ValueError: channels do not fit, or data_format is unknown.

    Paper: Wu and He, arXiv:1803.08494.

    Examples:
        >>> x = argosy.to_tensor([[[1.0], [3.0], [5.0], [9.0]]])
        >>> argosy.nn.functional.group_norm(x, 2, data_format="NCL").flatten().tolist()
        [-1.0, 1.0, -1.0, 1.0]
    """
    check_choice("group_norm", "data_format", data_format, CHANNEL_LAST)
    return ops.group_norm(x, weight, bias, num_groups, epsilon, CHANNEL_LAST[data_format])


def instance_norm(
    x,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.9,
    eps=1e-05,
    data_format="NCHW",
    name=None,
):
    """Normalize each channel of each sample over its positions, then scale and shift it.

    The statistics are always those of the input, also with use_input_stats=False; running ones are
    neither read nor written.

    Args:
        x: [N, C, ...], or with the channels last.
        running_mean, running_var, use_input_stats, momentum: have no effect; the first three are warned
            of.
        weight, bias: [C] or None.
        eps (float): added to the variance.
        data_format (str): 'NC', 'NCL', 'NCHW', 'NCDHW', 'NLC', 'NHWC' or 'NDHWC'.

    Returns:
        Tensor like x.

    Raises:
        ValueError: channels do not fit, or data_format is unknown.

    Paper: Ulyanov et al., arXiv:1607.08022.

    Examples:
        >>> x = argosy.to_tensor([[[1.0, 3.0], [5.0, 9.0]]])
        >>> argosy.nn.functional.instance_norm(x, data_format="NCL").tolist()
        [[[-1.0, 1.0], [-1.0, 1.0]]]
    """
    channel_last = is_channel_last(
        data_format, ("NC", "NCL", "NCHW", "NCDHW", "NLC", "NHWC", "NDHWC")
    )
    if not use_input_stats or running_mean is not None or running_var is not None:
        no_effect(
            "instance_norm", "the statistics are always those of the input (batch_norm has running ones)",
            use_input_stats=(use_input_stats, True), running_mean=(running_mean, None),
            running_var=(running_var, None), momentum=(momentum, 0.9),
        )  # fmt: skip
    return ops.instance_norm(x, weight, bias, eps, channel_last)


def local_response_norm(x, size, alpha=1e-4, beta=0.75, k=1.0, data_format="NCHW", name=None):
    """Divide by ``(k + alpha * mean of squares over `size` neighbouring channels) ^ beta``.

    Args:
        x: 3-D to 5-D float tensor.
        size (int): number of neighbouring channels.
        alpha, beta, k (float): see above.
        data_format (str): 'NCL', 'NCHW', 'NCDHW', or with the channels last.

    Returns:
        Tensor like x.

    Raises:
        ValueError: fewer than 3 dimensions, or an unknown data_format.

    Paper: Krizhevsky et al., "ImageNet Classification with Deep CNNs", 2012.

    Examples:
        >>> x = argosy.ones([1, 2, 2])
        >>> argosy.nn.functional.local_response_norm(x, 1, alpha=3.0, beta=0.5, data_format="NCL").tolist()
        [[[0.5, 0.5], [0.5, 0.5]]]
    """
    check_choice(
        "local_response_norm",
        "data_format",
        data_format,
        ("NCL", "NLC", "NCHW", "NHWC", "NCDHW", "NDHWC"),
    )
    if len(x.shape) < 3:
        raise ValueError(
            f"[local_response_norm] x: expected 3 dimensions or more, got {len(x.shape)}. "
            "Do this: reshape it."
        )
    return ops.local_response_norm(x, size, alpha, beta, k, CHANNEL_LAST[data_format])
