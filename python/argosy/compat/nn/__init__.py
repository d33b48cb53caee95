"""Layers with PyTorch's signatures."""

from __future__ import annotations

import math

from argosy import _core
from argosy.nn import functional as F
from argosy.nn.initializer import Uniform
from argosy.nn.layer.layers import Layer

from .._keywords import refuse
from . import functional
from .attention import MultiheadAttention

__all__ = [
    "AvgPool1D",
    "AvgPool1d",
    "AvgPool2D",
    "AvgPool2d",
    "AvgPool3D",
    "AvgPool3d",
    "Linear",
    "MultiheadAttention",
    "Softmax",
    "Unfold",
]


class Linear(Layer):
    """input weight^T + bias.

    Args:
        in_features (int): Size of the inputs.
        out_features (int): Size of the results.
        bias (bool): Whether there is a bias.
        device (Place | str, optional): Where the parameters are.
        dtype (dtype | str, optional): Of the parameters; default: the default dtype.

    Shape:
        [.., in_features] gives [.., out_features]. weight is [out_features, in_features]; it and the bias
        start uniform in +-1/sqrt(in_features).

    Example:
        >>> layer = argosy.compat.nn.Linear(2, 3)
        >>> layer.reset_parameters()
        >>> layer(argosy.ones([4, 2])).shape, layer.weight.shape
        (paddle.Size([4, 3]), paddle.Size([3, 2]))
    """

    @refuse("nn.Linear", "nn.Linear", "weight_attr", "bias_attr", "name")
    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None):
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        dtype = dtype or _core.get_default_dtype()
        self.weight = self.create_parameter([out_features, in_features], dtype=dtype)
        self.bias = (
            self.create_parameter([out_features], dtype=dtype, is_bias=True) if bias else None
        )
        if device is not None:
            self.to(device=device)
        self.reset_parameters()

    def reset_parameters(self):
        """Draws the parameters anew."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0.0
        for parameter in (self.weight, self.bias):
            if parameter is not None:
                Uniform(-bound, bound)(parameter)

    def forward(self, input):  # noqa: A002
        """functional.linear of input."""
        return functional.linear(input, self.weight, self.bias)

    def extra_repr(self):
        """What repr shows."""
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class Softmax(Layer):
    """exp(input) over its sum along a dimension.

    Args:
        dim (int, optional): Which; default: 0 for rank 0, 1 and 3, else 1.

    Shape:
        As the input's.

    Example:
        >>> argosy.compat.nn.Softmax(dim=0)(argosy.zeros([4])).tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    @refuse("nn.Softmax", "nn.Softmax", "axis", "name")
    def __init__(self, dim=None):
        super().__init__()
        self.dim = dim

    def forward(self, input):  # noqa: A002
        """e^input over its sum along dim."""
        return functional.softmax(input, self.dim)

    def extra_repr(self):
        """What repr shows."""
        return f"dim={self.dim}"


class Unfold(Layer):
    """The windows of an image as columns.

    Args:
        kernel_size (int | list[int]): Sizes of a window.
        dilation (int | list[int]): Distance of its elements.
        padding (int | list[int]): Zeros around the image.
        stride (int | list[int]): Distance of the windows.

    Shape:
        [batch, channels, height, width] gives [batch, channels * window, windows].

    Example:
        >>> argosy.compat.nn.Unfold(2)(argosy.ones([1, 3, 4, 4])).shape
        paddle.Size([1, 12, 9])
    """

    @refuse("nn.Unfold", "nn.Unfold", "kernel_sizes", "strides", "paddings", "dilations", "name")
    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input):  # noqa: A002
        """The windows of input as columns."""
        return functional.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        """What repr shows."""
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class _AvgPool(Layer):
    """Averages of windows; padding counts unless count_include_pad=False."""

    _rank = 0
    _refused = ("exclusive", "data_format", "name")

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        super().__init__()
        stride = kernel_size if stride is None else stride
        self.kernel_size, self.stride, self.padding = map(
            self._each, (kernel_size, stride, padding)
        )
        self.ceil_mode = ceil_mode
        self.count_include_pad, self.divisor_override = count_include_pad, divisor_override

    def _each(self, sizes):
        return tuple(sizes) if isinstance(sizes, (list, tuple)) else (sizes,) * self._rank

    def forward(self, input):  # noqa: A002
        """The averages of input [batch, channels, ..]."""
        options = {"exclusive": not self.count_include_pad, "ceil_mode": self.ceil_mode}
        if self.divisor_override is not None:
            options["divisor_override"] = self.divisor_override
        pool = getattr(F, f"avg_pool{self._rank}d")
        return pool(input, self.kernel_size, self.stride, self.padding, **options)

    def extra_repr(self):
        """What repr shows."""
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1D(_AvgPool):
    """Averages of windows.

    Args:
        kernel_size (int): Size of a window.
        stride (int, optional): Distance of the windows; default: kernel_size.
        padding (int): Zeros at both ends.
        ceil_mode (bool): Whether a window may reach over the end.
        count_include_pad (bool): Whether these zeros count.

    Shape:
        [batch, channels, length] gives [batch, channels, windows].

    Example:
        >>> argosy.compat.nn.AvgPool1D(2)(argosy.ones([1, 3, 8])).shape
        paddle.Size([1, 3, 4])
    """

    _rank = 1

    @refuse("nn.AvgPool1D", "nn.AvgPool1D", *_AvgPool._refused)
    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AvgPool2D(_AvgPool):
    """Averages of windows.

    Args:
        kernel_size (int | list[int]): Sizes of a window.
        stride (int | list[int], optional): Distance of the windows; default: kernel_size.
        padding (int | list[int]): Zeros around the image.
        ceil_mode (bool): Whether a window may reach over the end.
        count_include_pad (bool): Whether these zeros count.
        divisor_override (int, optional): What sums are divided by, instead of the number of elements.

    Shape:
        [batch, channels, height, width] gives [batch, channels, h, w].

    Example:
        >>> argosy.compat.nn.AvgPool2D(2)(argosy.ones([1, 3, 8, 8])).shape
        paddle.Size([1, 3, 4, 4])
    """

    _rank = 2
    __init__ = refuse("nn.AvgPool2D", "nn.AvgPool2D", *_AvgPool._refused)(_AvgPool.__init__)


class AvgPool3D(_AvgPool):
    """Averages of windows.

    Args:
        kernel_size (int | list[int]): Sizes of a window.
        stride (int | list[int], optional): Distance of the windows; default: kernel_size.
        padding (int | list[int]): Zeros around the volume.
        ceil_mode (bool): Whether a window may reach over the end.
        count_include_pad (bool): Whether these zeros count.
        divisor_override (int, optional): What sums are divided by, instead of the number of elements.

    Shape:
        [batch, channels, depth, height, width] gives [batch, channels, d, h, w].

    Example:
        >>> argosy.compat.nn.AvgPool3D(2)(argosy.ones([1, 3, 8, 8, 8])).shape
        paddle.Size([1, 3, 4, 4, 4])
    """

    _rank = 3
    __init__ = refuse("nn.AvgPool3D", "nn.AvgPool3D", *_AvgPool._refused)(_AvgPool.__init__)


AvgPool1d, AvgPool2d, AvgPool3d = AvgPool1D, AvgPool2D, AvgPool3D
