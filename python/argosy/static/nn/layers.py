"""Convolutions, normalizations and other layers as functions of static mode."""

from __future__ import annotations

import itertools
import math

from argosy import _core, tensor
from argosy._dtypes import widened
from argosy._support import NO_CUDNN, WrongTypeError, check_choice, no_effect, sizes_of
from argosy.base.param_attr import ParamAttr
from argosy.nn import functional as F
from argosy.nn.functional._args import CHANNEL_LAST, int_list
from argosy.nn.initializer import Constant, Normal
from argosy.nn.layer._helper import make_parameter

from .common import _activated, _known_size, _need_variable, _prefix, _whole

__all__ = [
    "batch_norm", "bilinear_tensor_product", "conv2d", "conv2d_transpose", "conv3d",
    "conv3d_transpose", "deform_conv2d", "group_norm", "instance_norm", "layer_norm", "nce", "prelu", "row_conv",
    "spectral_norm",
]  # fmt: skip


def _channels(layer, x, data_format, ranks=(2, 3, 4, 5)):
    _need_variable(layer, "input", x, ranks)
    if not isinstance(data_format, str):
        raise WrongTypeError(
            f"[{layer}] data_format: expected text, got {type(data_format).__name__}. Do this: leave it out."
        )
    check_choice(layer, "data_format", data_format, CHANNEL_LAST)
    return _known_size([x.shape[-1 if CHANNEL_LAST[data_format] else 1]], layer, x)


def _convolution(layer, function, dims, input, num_filters, filter_size, stride, padding, dilation,
                 groups, param_attr, bias_attr, act, name, data_format):  # fmt: skip
    channels = _channels(layer, input, data_format, (dims + 2,))
    num_filters = _whole(layer, "num_filters", num_filters)
    groups = 1 if groups is None else _whole(layer, "groups", groups)
    if groups <= 0 or channels % groups:
        raise ValueError(
            f"[{layer}] groups must divide the channels of input: got {groups} groups and"
            f" {channels} channels of {list(input.shape)}."
            " Do this: change one of them."
        )
    if param_attr is False:
        raise ValueError(
            f"[{layer}] param_attr must not be False: there is no {layer} without one."
            " Do this: leave it out."
        )
    prefix = _prefix(layer, name)
    kernel = int_list(filter_size, dims, "filter_size")
    std = math.sqrt(2.0 / (math.prod(kernel) * channels))
    weight = make_parameter(
        prefix, [num_filters, channels // groups, *kernel], param_attr, input.dtype, False,
        Normal(0.0, std),
    )  # fmt: skip
    bias = make_parameter(prefix, [num_filters], bias_attr, input.dtype, True, None)
    y = function(
        input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups,
        data_format=data_format,
    )  # fmt: skip
    return _activated(y, act)


def conv2d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
           param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None,
           data_format="NCHW"):  # fmt: skip
    """act(convolution of input with new filters + new bias).

    Args:
        input (Variable): [N, C, H, W] or [N, H, W, C].
        num_filters (int): Number of channels of the result.
        filter_size, stride, padding, dilation (int | list): Of height and width; padding also 'SAME'
            or 'VALID'.
        groups (int, optional): Channels are in so many groups that do not see each other.
        param_attr, bias_attr (ParamAttr, optional): Of filters [num_filters, C / groups, h, w] and
            bias [num_filters]; bias_attr False for none.
        act (str, optional): Such as 'relu'.
        data_format (str): 'NCHW' or 'NHWC'.
        use_cudnn (bool): Has no effect; False gives a warning.

    Returns:
        Variable: [N, num_filters, h, w] or [N, h, w, num_filters].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3, 8, 8], "float32")
        >>> list(argosy.static.nn.conv2d(x, 4, 3, padding=1, act="relu").shape)
        [-1, 4, 8, 8]
    """
    no_effect("conv2d", NO_CUDNN, use_cudnn=(use_cudnn, True))
    return _convolution(
        "conv2d", F.conv2d, 2, input, num_filters, filter_size, stride, padding, dilation, groups,
        param_attr, bias_attr, act, name, data_format,
    )  # fmt: skip


def conv3d(input, num_filters, filter_size, stride=1, padding=0, dilation=1, groups=None,
           param_attr=None, bias_attr=None, use_cudnn=True, act=None, name=None,
           data_format="NCDHW"):  # fmt: skip
    """act(convolution of input with new filters + new bias) over depth, height and width.

    Args:
        input (Variable): [N, C, D, H, W] or [N, D, H, W, C].
        num_filters (int): Number of channels of the result.
        filter_size (int | list): Of the three axes.
        stride (int | list): Steps of the filters.
        padding (int | list | str): Zeros around the input; also 'SAME' or 'VALID'.
        dilation (int | list): Distance of the filters' elements.
        groups (int, optional): Channels are in so many groups that do not see each other.
        param_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias [num_filters]; False for none.
        use_cudnn (bool): Has no effect; False gives a warning.
        act (str, optional): An activation such as 'relu'.
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Variable: [N, num_filters, d, h, w] or [N, d, h, w, num_filters].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3, 4, 8, 8], "float32")
        >>> list(argosy.static.nn.conv3d(x, 4, 3, padding=1).shape)
        [-1, 4, 4, 8, 8]
    """
    no_effect("conv3d", NO_CUDNN, use_cudnn=(use_cudnn, True))
    return _convolution(
        "conv3d", F.conv3d, 3, input, num_filters, filter_size, stride, padding, dilation, groups,
        param_attr, bias_attr, act, name, data_format,
    )  # fmt: skip


def _transposed(layer, function, dims, input, num_filters, output_size, filter_size, padding,
                stride, dilation, groups, param_attr, bias_attr, act, name,
                data_format):  # fmt: skip
    channels = _channels(layer, input, data_format, (dims + 2,))
    num_filters = _whole(layer, "num_filters", num_filters)
    groups = 1 if groups is None else _whole(layer, "groups", groups)
    strides = int_list(stride, dims, "stride")
    dilations = int_list(dilation, dims, "dilation")
    if filter_size is None:
        if output_size is None:
            raise ValueError(
                f"[{layer}] expected output_size or filter_size, got neither."
                " Do this: pass one of them."
            )
        sizes = int_list(output_size, dims, "output_size")
        pads = int_list(padding, dims, "padding")
        last = CHANNEL_LAST[data_format]
        given = input.shape[1:-1] if last else input.shape[2:]
        filter_size = [
            (out - (size - 1) * s + 2 * p - 1) // d + 1
            for out, size, s, p, d in zip(sizes, given, strides, pads, dilations)
        ]
    prefix = _prefix(layer, name)
    kernel = int_list(filter_size, dims, "filter_size")
    weight = make_parameter(
        prefix, [channels, num_filters // groups, *kernel], param_attr, input.dtype, False, None
    )
    bias = make_parameter(prefix, [num_filters], bias_attr, input.dtype, True, None)
    y = function(
        input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups,
        output_size=output_size, data_format=data_format,
    )  # fmt: skip
    return _activated(y, act)


def conv2d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1,
                     dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True,
                     act=None, name=None, data_format="NCHW"):  # fmt: skip
    """act(transposed convolution of input with new filters [C, num_filters / groups, h, w] + new bias).

    Args:
        input (Variable): [N, C, H, W] or [N, H, W, C].
        num_filters (int): Number of channels of the result.
        output_size (int | list, optional): Sizes of the result; follows from filter_size if left out.
        filter_size (int | list, optional): Of height and width; follows from output_size if left out.
        padding (int | list | str): What is cut off the result; also 'SAME' or 'VALID'.
        stride (int | list): Steps of the filters in the result.
        dilation (int | list): Distance of the filters' elements.
        groups (int, optional): Channels are in so many groups that do not see each other.
        param_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias [num_filters]; False for none.
        use_cudnn (bool): Has no effect; False gives a warning.
        act (str, optional): An activation such as 'relu'.
        data_format (str): 'NCHW' or 'NHWC'.

    Returns:
        Variable: [N, num_filters, h, w] or [N, h, w, num_filters].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3, 8, 8], "float32")
        >>> list(argosy.static.nn.conv2d_transpose(x, 4, filter_size=2, stride=2).shape)
        [-1, 4, 16, 16]
    """
    no_effect("conv2d_transpose", NO_CUDNN, use_cudnn=(use_cudnn, True))
    return _transposed(
        "conv2d_transpose", F.conv2d_transpose, 2, input, num_filters, output_size, filter_size,
        padding, stride, dilation, groups, param_attr, bias_attr, act, name, data_format,
    )  # fmt: skip


def conv3d_transpose(input, num_filters, output_size=None, filter_size=None, padding=0, stride=1,
                     dilation=1, groups=None, param_attr=None, bias_attr=None, use_cudnn=True,
                     act=None, name=None, data_format="NCDHW"):  # fmt: skip
    """act(transposed convolution + new bias) over depth, height and width.

    Args:
        input (Variable): [N, C, D, H, W] or [N, D, H, W, C].
        num_filters (int): Number of channels of the result.
        output_size (int | list, optional): Sizes of the result; follows from filter_size if left out.
        filter_size (int | list, optional): Of the three axes; follows from output_size if left out.
        padding (int | list | str): What is cut off the result; also 'SAME' or 'VALID'.
        stride (int | list): Steps of the filters in the result.
        dilation (int | list): Distance of the filters' elements.
        groups (int, optional): Channels are in so many groups that do not see each other.
        param_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias [num_filters]; False for none.
        use_cudnn (bool): Has no effect; False gives a warning.
        act (str, optional): An activation such as 'relu'.
        data_format (str): 'NCDHW' or 'NDHWC'.

    Returns:
        Variable: [N, num_filters, d, h, w] or [N, d, h, w, num_filters].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3, 4, 8, 8], "float32")
        >>> list(argosy.static.nn.conv3d_transpose(x, 4, filter_size=2, stride=2).shape)
        [-1, 4, 8, 16, 16]
    """
    no_effect("conv3d_transpose", NO_CUDNN, use_cudnn=(use_cudnn, True))
    return _transposed(
        "conv3d_transpose", F.conv3d_transpose, 3, input, num_filters, output_size, filter_size,
        padding, stride, dilation, groups, param_attr, bias_attr, act, name, data_format,
    )  # fmt: skip


def batch_norm(input, act=None, is_test=False, momentum=0.9, epsilon=1e-05, param_attr=None,
               bias_attr=None, data_layout="NCHW", in_place=False, name=None,
               moving_mean_name=None, moving_variance_name=None,
               do_model_average_for_mean_and_var=True, use_global_stats=False):  # fmt: skip
    """act(batch normalization) with new scale, bias and running statistics [C].

    In training the statistics are those of the batch, and each run updates the running ones:
    momentum times themselves plus the rest of the batch's. With is_test, use_global_stats, or in
    Program.clone(for_test=True) the running ones are used.

    Args:
        input (Variable): [N, C], [N, C, L], [N, C, H, W] .. or channels last.
        act (str, optional): An activation such as 'relu'.
        is_test (bool): Whether to use the running statistics.
        momentum (float | Variable): How much of the running statistics each run keeps.
        epsilon (float): Added to the variance.
        param_attr (ParamAttr, optional): Of the scale.
        bias_attr (ParamAttr, optional): Of the bias.
        data_layout (str): 'NCHW' or 'NHWC'.
        in_place (bool): Has no effect; True gives a warning.
        moving_mean_name, moving_variance_name (str, optional): Names of the running statistics.
        do_model_average_for_mean_and_var (bool): Whether model averaging covers them.
        use_global_stats (bool): Whether to use the running statistics in training, too.

    Returns:
        Variable: Of input's shape.

    Paper: Batch Normalization (https://arxiv.org/abs/1502.03167).

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3, 8, 8], "float32")
        >>> list(argosy.static.nn.batch_norm(x, act="relu").shape)
        [-1, 3, 8, 8]
    """
    no_effect("batch_norm", "the memory planner writes in place", in_place=(in_place, False))
    channels = _channels("batch_norm", input, data_layout)
    prefix, dtype = _prefix("batch_norm", name), widened(input.dtype)

    def fixed(label, value):
        attr = ParamAttr(
            name=label, initializer=Constant(value), trainable=False,
            do_model_average=do_model_average_for_mean_and_var,
        )  # fmt: skip
        return make_parameter(prefix, [channels], attr, dtype, False, None)

    weight = make_parameter(prefix, [channels], param_attr, dtype, False, Constant(1.0))
    bias = make_parameter(prefix, [channels], bias_attr, dtype, True, None)
    mean, variance = fixed(moving_mean_name, 0.0), fixed(moving_variance_name, 1.0)
    y = F.batch_norm(
        input, mean, variance, weight, bias, training=not is_test, momentum=momentum,
        epsilon=epsilon, data_format=data_layout, use_global_stats=use_global_stats or None,
    )  # fmt: skip
    return _activated(y, act)


def layer_norm(input, scale=True, shift=True, begin_norm_axis=1, epsilon=1e-05, param_attr=None,
               bias_attr=None, act=None, name=None):  # fmt: skip
    """act(layer normalization) over the last axes.

    Args:
        input (Variable): Of any rank.
        scale (bool): Whether there is a new scale.
        shift (bool): Whether there is a new bias.
        begin_norm_axis (int): The first of the axes.
        epsilon (float): Added to the variance.
        param_attr (ParamAttr, optional): Of the scale, a vector of as many elements as the axes have.
        bias_attr (ParamAttr, optional): Of the bias, the same.
        act (str, optional): An activation such as 'relu'.

    Returns:
        Variable: Of input's shape.

    Paper: Layer Normalization (https://arxiv.org/abs/1607.06450).

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 4], "float32")
        >>> list(argosy.static.nn.layer_norm(x).shape)
        [-1, 4]
    """
    _need_variable("layer_norm", "input", input)
    begin_norm_axis = _whole("layer_norm", "begin_norm_axis", begin_norm_axis)
    prefix = _prefix("layer_norm", name)
    sizes = list(input.shape[begin_norm_axis:])
    count = _known_size(sizes, "layer_norm", input)
    dtype = widened(input.dtype)
    weight = bias = None
    if scale:
        weight = make_parameter(prefix, [count], param_attr, dtype, False, Constant(1.0))
    if shift:
        bias = make_parameter(prefix, [count], bias_attr, dtype, True, None)
    return _activated(F.layer_norm(input, sizes, weight, bias, epsilon), act)


def _given(attr):
    return attr is not None and attr is not False


def group_norm(input, groups, epsilon=1e-05, param_attr=None, bias_attr=None, act=None,
               data_layout="NCHW", name=None):  # fmt: skip
    """act(normalization over groups of channels).

    Args:
        input (Variable): [N, C, ..] or [N, .., C].
        groups (int): How many; divides C.
        epsilon (float): Added to the variance.
        param_attr (ParamAttr, optional): Of a scale [C], which there is if it is given.
        bias_attr (ParamAttr, optional): Of a bias [C], which there is if it is given.
        act (str, optional): An activation such as 'relu'.
        data_layout (str): 'NCHW' or 'NHWC'.

    Returns:
        Variable: Of input's shape.

    Paper: Group Normalization (https://arxiv.org/abs/1803.08494).

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 4, 8, 8], "float32")
        >>> list(argosy.static.nn.group_norm(x, groups=2).shape)
        [-1, 4, 8, 8]
    """
    channels = _channels("group_norm", input, data_layout)
    prefix, dtype = _prefix("group_norm", name), widened(input.dtype)
    weight = bias = None
    if _given(param_attr):
        weight = make_parameter(prefix, [channels], param_attr, dtype, False, Constant(1.0))
    if _given(bias_attr):
        bias = make_parameter(prefix, [channels], bias_attr, dtype, True, None)
    y = F.group_norm(input, groups, epsilon, weight, bias, data_layout)
    return _activated(y, act)


def instance_norm(input, epsilon=1e-05, param_attr=None, bias_attr=None, name=None):
    """Normalization of each channel of each sample.

    Args:
        input (Variable): [N, C, ..].
        epsilon (float): Added to the variance.
        param_attr (ParamAttr | bool, optional): Of a new scale [C]; False, with bias_attr, for none.
        bias_attr (ParamAttr | bool, optional): Of a new bias [C].

    Returns:
        Variable: Of input's shape.

    Raises:
        AssertionError: One of the two attributes is False and the other is not.

    Paper: Instance Normalization (https://arxiv.org/abs/1607.08022).

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 4, 8, 8], "float32")
        >>> list(argosy.static.nn.instance_norm(x).shape)
        [-1, 4, 8, 8]
    """
    if (param_attr is False) != (bias_attr is False):
        raise AssertionError(
            "param_attr and bias_attr must be set to False at the same time in instance_norm"
        )
    _need_variable("instance_norm", "input", input, (2, 3, 4, 5))
    prefix, dtype = _prefix("instance_norm", name), widened(input.dtype)
    weight = bias = None
    if _given(param_attr) and _given(bias_attr):
        channels = _channels("instance_norm", input, "NCHW")
        weight = make_parameter(prefix, [channels], param_attr, dtype, False, Constant(1.0))
        bias = make_parameter(prefix, [channels], bias_attr, dtype, True, None)
    return F.instance_norm(input, weight=weight, bias=bias, eps=epsilon)


def spectral_norm(weight, dim=0, power_iters=1, eps=1e-12, name=None):
    """weight divided by its largest singular value; two new vectors hold the state of the power iteration.

    Args:
        weight (Variable): With known sizes.
        dim (int): Which dimension the rows of the matrix are; the others are its columns.
        power_iters (int): Iterations in each run.
        eps (float): Keeps the division finite.

    Returns:
        Variable: Of weight's shape.

    Raises:
        TypeError: weight is no variable of a Program, or dim no integer.
        ValueError: weight has none or more than 5 dimensions, not dimension dim, or power_iters is negative.

    Paper: Spectral Normalization for GANs (https://arxiv.org/abs/1802.05957).

    Example:
        >>> argosy.enable_static()
        >>> weight = argosy.create_parameter([4, 3], "float32")
        >>> list(argosy.static.nn.spectral_norm(weight).shape)
        [4, 3]
    """
    _need_variable("spectral_norm", "weight", weight, (1, 2, 3, 4, 5))
    dim = _whole("spectral_norm", "dim", dim)
    if not -len(weight.shape) <= dim < len(weight.shape) or power_iters < 0:
        raise ValueError(
            f"(InvalidArgument) [spectral_norm] expected a dim of {list(weight.shape)} and power_iters of 0 or"
            f" more, got {dim} and {power_iters}. Do this: correct them."
        )
    prefix = _prefix("spectral_norm", name)
    rows = weight.shape[dim]
    columns = _known_size(weight.shape, "spectral_norm", weight) // rows
    vectors = []
    for size in (rows, columns):
        v = make_parameter(prefix, [size], ParamAttr(), weight.dtype, False, Normal(0.0, 1.0))
        v.stop_gradient = True
        vectors.append(v)
    return _core.ops.spectral_norm(weight, *vectors, dim, power_iters, eps)


def prelu(x, mode, param_attr=None, data_format="NCHW", name=None):
    """x where it is positive, a new weight times x elsewhere.

    Args:
        mode (str): The weight is one number ('all'), one for each channel ('channel') or one for
            each element of a sample ('element').
        x (Variable): [N, C, ..] or [N, .., C].
        param_attr (ParamAttr, optional): Of the weight.
        data_format (str): 'NCHW' or 'NHWC'.

    Raises:
        ValueError: another mode, or data_format.

    Returns:
        Variable: Of x's shape.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 4, 8, 8], "float32")
        >>> list(argosy.static.nn.prelu(x, "channel").shape)
        [-1, 4, 8, 8]
    """
    _need_variable("prelu", "x", x)
    check_choice("prelu", "mode", mode, ("all", "channel", "element"))
    rank = len(x.shape)
    last = isinstance(data_format, str) and CHANNEL_LAST.get(data_format, False)
    shape = [1]
    if mode == "channel":
        channels = _channels("prelu", x, data_format)
        shape = [1] * rank
        shape[-1 if last else 1] = channels
    elif mode == "element":
        shape = [1, *x.shape[1:]]
        _known_size(shape, "prelu", x)
    weight = make_parameter(
        _prefix("prelu", name), shape, param_attr, x.dtype, False, Constant(0.25)
    )
    return tensor.where(x > 0, x, x * weight)


def bilinear_tensor_product(x, y, size, act=None, name=None, param_attr=None,
                            bias_attr=None):  # fmt: skip
    """act(x W[i] y^T + b[i] for each i < size), with new W [size, m, n] and b [1, size].

    Args:
        x (Variable): [N, m].
        y (Variable): [N, n].
        size (int): Columns of the result.
        act (str, optional): An activation such as 'relu'.
        param_attr (ParamAttr, optional): Of W.
        bias_attr (ParamAttr | bool, optional): Of b; False for none.

    Returns:
        Variable: [N, size].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 3], "float32")
        >>> y = argosy.static.data("y", [None, 4], "float32")
        >>> list(argosy.static.nn.bilinear_tensor_product(x, y, 5).shape)
        [-1, 5]
    """
    for label, value in (("x", x), ("y", y)):
        _need_variable("bilinear_tensor_product", label, value, (2,))
    size = _whole("bilinear_tensor_product", "size", size)
    prefix = _prefix("bilinear_tensor_product", name)
    m = _known_size(x.shape[1:], "bilinear_tensor_product", x)
    n = _known_size(y.shape[1:], "bilinear_tensor_product", y)
    weight = make_parameter(prefix, [size, m, n], param_attr, x.dtype, False, None)
    bias = make_parameter(prefix, [1, size], bias_attr, x.dtype, True, None)
    return _activated(F.bilinear(x, y, weight, bias), act)


def row_conv(input, future_context_size, param_attr=None, act=None):
    """act(out[t] = sum of weight[k] * input[t + k], k <= future_context_size), with a new weight; steps past the
    end count as zero.

    Args:
        input (Variable): [N, T, D].
        future_context_size (int): How many steps ahead are seen.
        param_attr (ParamAttr, optional): Of the weight [future_context_size + 1, D].
        act (str, optional): An activation such as 'relu'.

    Returns:
        Variable: [N, T, D].

    Raises:
        TypeError: input is no variable of a Program, or future_context_size no integer.
        ValueError: input does not have 3 dimensions.

    Paper: Deep Speech 2 (https://arxiv.org/abs/1512.02595).

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [None, 8, 4], "float32")
        >>> list(argosy.static.nn.row_conv(x, 2).shape)
        [-1, 8, 4]
    """
    _need_variable("row_conv", "input", input, (3,))
    future_context_size = _whole("row_conv", "future_context_size", future_context_size)
    if future_context_size < 0:
        raise ValueError(
            f"[row_conv] future_context_size: expected 0 or more, got {future_context_size}. Do this: pass"
            " how many later rows each row sees."
        )
    features = _known_size([input.shape[-1]], "row_conv", input)
    steps = future_context_size + 1
    weight = make_parameter(
        _prefix("row_conv", None), [steps, features], param_attr, input.dtype, False, None
    )
    padded = F.pad(input, [0, future_context_size], data_format="NLC")
    filters = tensor.unsqueeze(tensor.transpose(weight, [1, 0]), 1)
    y = F.conv1d(padded, filters, groups=features, data_format="NLC")
    return _activated(y, act)


def deform_conv2d(x, offset, mask, num_filters, filter_size, stride=1, padding=0, dilation=1,
                  groups=1, deformable_groups=1, im2col_step=1, weight_attr=None, bias_attr=None,
                  name=None):  # fmt: skip
    """Deformable convolution with new filters [num_filters, C / groups, h, w] and a new bias.

    Args:
        x (Variable): [N, C, H, W].
        offset (Variable): Where each element of the filters looks: [N, 2 deformable_groups h w, H', W'].
        mask (Variable | None): The weight of each of them, [N, deformable_groups h w, H', W'].
        num_filters (int): Number of channels of the result.
        filter_size (int | list): Of height and width.
        stride (int | list): Steps of the filters.
        padding (int | list): Zeros around x.
        dilation (int | list): Distance of the filters' elements.
        groups (int): Channels are in so many groups that do not see each other.
        deformable_groups (int): Channels are in so many groups with offsets of their own.
        im2col_step (int): Has no effect; another one than 1 gives a warning.
        weight_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias [num_filters]; False for none.

    Returns:
        Variable: [N, num_filters, H', W'].

    Papers: Deformable Convolutional Networks (https://arxiv.org/abs/1703.06211), with mask Deformable ConvNets
    v2 (https://arxiv.org/abs/1811.11168).

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [1, 3, 8, 8], "float32")
        >>> offset = argosy.static.data("offset", [1, 18, 6, 6], "float32")
        >>> list(argosy.static.nn.deform_conv2d(x, offset, None, 4, 3).shape)
        [1, 4, 6, 6]
    """
    from argosy.vision.ops import deform_conv2d as convolve

    no_effect("deform_conv2d", "it is for GPUs", im2col_step=(im2col_step, 1))
    channels = _channels("deform_conv2d", x, "NCHW", (4,))
    _need_variable("deform_conv2d", "offset", offset, (4,))
    if mask is not None:
        _need_variable("deform_conv2d", "mask", mask, (4,))
    num_filters = _whole("deform_conv2d", "num_filters", num_filters)
    prefix = _prefix("deformable_conv", name)
    kernel = int_list(filter_size, 2, "filter_size")
    std = math.sqrt(2.0 / (math.prod(kernel) * channels))
    weight = make_parameter(
        prefix, [num_filters, channels // groups, *kernel], weight_attr, x.dtype, False,
        Normal(0.0, std),
    )  # fmt: skip
    bias = make_parameter(prefix, [num_filters], bias_attr, x.dtype, True, None)
    return convolve(
        x, offset, weight, bias, stride, padding, dilation, deformable_groups, groups, mask
    )


_SAMPLERS = ("uniform", "log_uniform", "custom_dist")


def nce(input, label, num_total_classes, sample_weight=None, param_attr=None, bias_attr=None,
        num_neg_samples=None, name=None, sampler="uniform", custom_dist=None, seed=0,
        is_sparse=False):  # fmt: skip
    """Noise contrastive estimation, Gutmann and Hyvaerinen (AISTATS 2010): tells the labels from
    classes drawn at random, with new weight [num_total_classes, D] and bias [num_total_classes, 1].

    Args:
        input (Variable): [N, D].
        label (Variable): int64 [N, labels].
        sample_weight (Variable, optional): Factor on the loss of each sample, [N] or [N, 1].
        num_neg_samples (int, optional): How many classes are drawn for each sample, 10.
        sampler (str): 'uniform', 'log_uniform' or 'custom_dist', with the probabilities in
            custom_dist (list).
        seed (int): 0 draws other classes each time, another number the same ones.
        is_sparse (bool): Gradients of weight and bias have only the rows that were used.
        num_total_classes (int): How many classes there are.
        param_attr, bias_attr (ParamAttr, optional): Of weight and bias; bias_attr False for none.
        custom_dist (list[float], optional): A probability for each class.

    Returns:
        Variable: [N, 1], the mean over labels and drawn classes.

    Raises:
        ValueError: sampler is another one, or custom_dist has another length.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 4], "float32")
        >>> label = argosy.static.data("label", [2, 1], "int64")
        >>> list(argosy.static.nn.nce(x, label, num_total_classes=10, num_neg_samples=3).shape)
        [2, 1]
    """
    check_choice("nce", "sampler", sampler, _SAMPLERS)
    _need_variable("nce", "input", input)
    _need_variable("nce", "label", label, integers=True)
    prefix = _prefix("nce", name)
    count = 10 if num_neg_samples is None else int(num_neg_samples)
    total = int(num_total_classes)
    features = _known_size([input.shape[-1]], "nce", input)
    weight = make_parameter(prefix, [total, features], param_attr, input.dtype, False, None)
    bias = make_parameter(prefix, [total, 1], bias_attr, input.dtype, True, None)
    dtype = input.dtype
    if sampler == "uniform":
        chances = [1.0 / total] * total
    elif sampler == "log_uniform":
        span = math.log(total + 1)
        chances = [math.log((i + 2) / (i + 1)) / span for i in range(total)]
    else:
        if custom_dist is None or len(custom_dist) != total:
            raise ValueError(
                f"[nce] custom_dist: expected {total} probabilities."
                " Do this: pass one for each class."
            )
        chances = [float(p) for p in custom_dist]
    probabilities = tensor.to_tensor(chances, dtype)
    # The class whose share of [0, 1) a uniform number falls into; the shares end at 1 exactly.
    shares = itertools.accumulate(p / sum(chances) for p in chances)
    ends = tensor.to_tensor([*itertools.islice(shares, total - 1), 1.0], "float32")
    numbers = tensor.uniform([*sizes_of(input)[:1], count], "float32", 0.0, 1.0, int(seed))
    drawn = tensor.searchsorted(ends, numbers, right=True)

    def parts(classes, rows):
        """(model, noise): how much each claims a class, per sample."""
        scores = tensor.sum(rows * F.embedding(classes, weight, sparse=is_sparse), -1)
        if bias is not None:
            scores = scores + tensor.squeeze(F.embedding(classes, bias, sparse=is_sparse), -1)
        chances = tensor.gather(probabilities, tensor.reshape(classes, [-1]))
        return F.sigmoid(scores), tensor.reshape(chances, tensor.shape(classes)) * count

    rows = tensor.unsqueeze(input, 1)
    label = label.astype("int64")
    model, noise = parts(label, rows)
    right = tensor.log((model + noise) / model)
    model, noise = parts(drawn, rows)
    wrong = tensor.log((model + noise) / noise)
    cost = tensor.sum(right, 1, keepdim=True) + tensor.sum(wrong, 1, keepdim=True)
    if sample_weight is not None:
        cost = cost * tensor.reshape(sample_weight, [-1, 1]).astype(cost.dtype)
    return cost / (count + 1)
