"""Pooling layers."""

from __future__ import annotations

from argosy._support import also_named

from .. import functional as F
from ..functional._args import alias
from ._forwarding import ForwardingLayer, Ranked, keeps
from ._repr import other_name

__all__ = [
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AdaptiveAvgPool3D",
    "AdaptiveMaxPool1D",
    "AdaptiveMaxPool2D",
    "AdaptiveMaxPool3D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "FractionalMaxPool2D",
    "FractionalMaxPool3D",
    "LPPool1D",
    "LPPool2D",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MaxUnPool1D",
    "MaxUnPool2D",
    "MaxUnPool3D",
]


class _Pool(Ranked, ForwardingLayer):
    @also_named(input="x")
    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class _WindowPool(_Pool):
    """Pooling over windows; ``kernel_size`` and ``ksize`` are one."""

    kernel_size = other_name("ksize")
    _kept_as = {"kernel_size": "ksize", "divisor_override": "divisor"}
    _repr_shows = ("kernel_size", "stride", "padding")


class MaxPool1D(_WindowPool, function=F.max_pool1d):
    """Maximum over windows of the last axis; padded positions never win.

    Args:
        kernel_size (int): length of a window.
        stride (int, optional): distance of windows; None takes ``kernel_size``.
        padding: of the ends: int, [int], [before, after], a pair for each axis, 'SAME' or 'VALID'.
        return_mask (bool): also return the position of each maximum along L (int32).
        ceil_mode (bool): count a last window that overlaps the end only partly.

    Shape: [N, C, L] to [N, C, L']; with ``return_mask`` a pair of them.

    Examples:
        >>> pool = argosy.nn.MaxPool1D(2)
        >>> pool(argosy.to_tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
        [[[3.0, 2.0]]]
    """

    @keeps
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        name=None,
    ):
        self.data_format = "NCL"

    def forward(self, input):
        return self._forwards_to(input, *self._kept())


class _MaxPool(_WindowPool):
    _text = """Maximum over {dims}-dimensional windows; padded positions never win.

    Args:
        kernel_size: sizes of a window, {ints}.
        stride: distances of windows; None takes ``kernel_size``.
        padding: of the borders: {ints}, a list ({sides}), a pair for each axis of the input,
            'SAME' or 'VALID'.
        return_mask (bool): also return where each maximum stands, as flat indices within the spatial
            axes (int32); channels first only.
        ceil_mode (bool): count last windows that overlap the border only partly.
        data_format (str): {formats}.

    Shape: {x} to {out}; with ``return_mask`` a pair of them.

    Examples:
        >>> pool = argosy.nn.{name}(kernel_size=2, stride=2)
        >>> pool(argosy.ones([1, 3, {four}])).shape
        paddle.Size([1, 3, {two}])
    """

    @keeps
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        data_format="NCHW",
        name=None,
    ): ...


class MaxPool2D(_MaxPool, dims=2, function=F.max_pool2d): ...


class MaxPool3D(_MaxPool, dims=3, function=F.max_pool3d): ...


class AvgPool1D(_WindowPool, function=F.avg_pool1d):
    """Mean over windows of the last axis.

    Args:
        kernel_size (int): length of a window.
        stride (int, optional): distance of windows; None takes ``kernel_size``.
        padding: of the ends: int, [int], [before, after], a pair for each axis, 'SAME' or 'VALID'.
        exclusive (bool): padded positions do not count in the mean.
        ceil_mode (bool): count a last window that overlaps the end only partly.

    Shape: [N, C, L] to [N, C, L'].

    Examples:
        >>> pool = argosy.nn.AvgPool1D(2)
        >>> pool(argosy.to_tensor([[[1.0, 3.0, 2.0, 0.0]]])).tolist()
        [[[2.0, 1.0]]]
    """

    @keeps
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        exclusive=True,
        ceil_mode=False,
        name=None,
    ):
        self.divisor, self.data_format = None, "NCL"


class _AvgPool(_WindowPool):
    _text = """Mean over {dims}-dimensional windows.

    Args:
        kernel_size: sizes of a window, {ints}.
        stride: distances of windows; None takes ``kernel_size``.
        padding: of the borders: {ints}, a list ({sides}), a pair for each axis of the input,
            'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        exclusive (bool): padded positions do not count in the mean.
        divisor_override (int | float, optional): divide the sums by this number instead of the count.
        data_format (str): {formats}.

    Shape: {x} to {out}.

    Examples:
        >>> pool = argosy.nn.{name}(2)
        >>> pool(argosy.ones([1, 3, {four}])).shape
        paddle.Size([1, 3, {two}])
    """

    @keeps
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCHW",
        name=None,
    ): ...


class AvgPool2D(_AvgPool, dims=2, function=F.avg_pool2d): ...


class AvgPool3D(_AvgPool, dims=3, function=F.avg_pool3d): ...


class _LPPool(_WindowPool):
    _text = """p-norm ``(sum x^p)^(1/p)`` of {dims}-dimensional windows.

    Args:
        norm_type (int | float): p; infinity gives the maximum; not 0.
        kernel_size: sizes of a window, {ints}.
        stride: distances of windows; None takes ``kernel_size``.
        padding: of the borders: {ints}, a list ({sides}), a pair for each axis of the input,
            'SAME' or 'VALID'.
        ceil_mode (bool): count last windows that overlap the border only partly.
        data_format (str): {formats}.

    Shape: {x} to {out}.

    Examples:
        >>> pool = argosy.nn.{name}(1, kernel_size=2)
        >>> pool(argosy.ones([1, 1, {four}])).flatten()[0].item() == 2**{dims}
        True
    """

    _repr_shows = ("norm_type", *_WindowPool._repr_shows)

    @keeps
    def __init__(
        self,
        norm_type,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        data_format="NCHW",
        name=None,
    ):
        self.norm_type = float(norm_type)
        if stride is None and self._dims == 2:
            self.stride = kernel_size


class LPPool1D(_LPPool, dims=1, function=F.lp_pool1d): ...


class LPPool2D(_LPPool, dims=2, function=F.lp_pool2d): ...


class _AdaptivePool(_Pool):
    _kept_prefix = "_"
    _repr_shows = ("output_size",)
    output_size = other_name("_output_size")


class AdaptiveAvgPool1D(_AdaptivePool, function=F.adaptive_avg_pool1d):
    """Mean over windows that divide the last axis into ``output_size`` parts.

    Window i of L elements with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        output_size (int): length of the result.

    Shape: [N, C, L] to [N, C, output_size].

    Examples:
        >>> pool = argosy.nn.AdaptiveAvgPool1D(2)
        >>> pool(argosy.to_tensor([[[1.0, 3.0, 2.0]]])).tolist()
        [[[2.0, 2.5]]]
    """

    name = other_name("_name")

    @keeps
    def __init__(self, output_size, name=None): ...

    @alias(x="input")
    def forward(self, input):
        return self._forwards_to(input, *self._kept())


class _AdaptiveAvgPool(_AdaptivePool):
    _text = """Mean over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        output_size: sizes of the result, {ints}; None in place of one keeps that axis.
        data_format (str): {formats}.

    Shape: {x} to [N, C, *output_size].

    Examples:
        >>> pool = argosy.nn.{name}(2)
        >>> pool(argosy.ones([1, 3, {four}])).shape
        paddle.Size([1, 3, {two}])
    """

    @keeps
    def __init__(self, output_size, data_format="NCHW", name=None): ...

    @alias(input="x")
    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class AdaptiveAvgPool2D(_AdaptiveAvgPool, dims=2, function=F.adaptive_avg_pool2d): ...


class AdaptiveAvgPool3D(_AdaptiveAvgPool, dims=3, function=F.adaptive_avg_pool3d): ...


class _AdaptiveMaxPool(_AdaptivePool):
    _text = """Maximum over windows that divide the spatial axes into ``output_size`` parts.

    Window i of an axis of length L with S parts runs from floor(i L / S) to ceil((i + 1) L / S).

    Args:
        output_size: sizes of the result, {ints}; None in place of one keeps that axis.
        return_mask (bool): also return where each maximum stands, as flat indices within the spatial
            axes (int32); ``return_indices`` is its other name.

    Shape: {x} to [N, C, *output_size]; with ``return_mask`` a pair of them.

    Examples:
        >>> pool = argosy.nn.{name}(2, return_mask=True)
        >>> out, mask = pool(argosy.ones([1, 3, {four}]))
        >>> out.shape, mask.shape
        (paddle.Size([1, 3, {two}]), paddle.Size([1, 3, {two}]))
    """

    _repr_shows = ("output_size", "return_mask")
    return_indices = other_name("_return_mask")

    @alias(return_indices="return_mask")
    @keeps
    def __init__(self, output_size, return_mask=False, name=None): ...

    @alias(input="x")
    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class AdaptiveMaxPool1D(_AdaptiveMaxPool, dims=1, function=F.adaptive_max_pool1d):
    name = other_name("_name")
    return_mask = other_name("_return_mask")

    @alias(x="input")
    def forward(self, input):
        return self._forwards_to(input, *self._kept())


class AdaptiveMaxPool2D(_AdaptiveMaxPool, dims=2, function=F.adaptive_max_pool2d): ...


class AdaptiveMaxPool3D(_AdaptiveMaxPool, dims=3, function=F.adaptive_max_pool3d): ...


class _MaxUnPool(_WindowPool):
    _text = """Puts values back where ``MaxPool{dims}D(return_mask=True)`` took them; zero elsewhere.

    Args:
        kernel_size: sizes of the windows of the pooling, {ints}.
        stride: their distances; None takes ``kernel_size``.
        padding: borders of the pooling, {ints}.
        data_format (str): 'NCL', 'NCHW' or 'NCDHW': channels first.
        output_size (list[int], optional): spatial sizes (or shape) of the result; None is
            (size - 1) stride - 2 padding + kernel_size for each axis.

    Shape: values and indices {out} to {x}; a call may name ``output_size`` too.

    Examples:
        >>> x = argosy.arange(4**{dims}, dtype="float32").reshape([1, 1, {four}])
        >>> values, indices = argosy.nn.MaxPool{dims}D(2, return_mask=True)(x)
        >>> argosy.nn.{name}(2)(values, indices).shape
        paddle.Size([1, 1, {four}])
    """

    _repr_shows = ("output_size",)

    @keeps
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        data_format="NCHW",
        output_size=None,
        name=None,
    ): ...

    @also_named(input="x")
    def forward(self, x, indices, output_size=None):
        *window, size = self._kept()
        return self._forwards_to(x, indices, *window, size if output_size is None else output_size)


class MaxUnPool1D(_MaxUnPool, dims=1, function=F.max_unpool1d): ...


class MaxUnPool2D(_MaxUnPool, dims=2, function=F.max_unpool2d): ...


class MaxUnPool3D(_MaxUnPool, dims=3, function=F.max_unpool3d): ...


class _FractionalMaxPool(_Pool):
    _text = """Maximum over windows whose bounds are pseudo-random fractions of the input.

    Args:
        output_size: sizes of the result, {ints}; None in place of one keeps that axis.
        kernel_size: sizes of windows that overlap, {ints}; None for disjoint windows.
        random_u (float, optional): number in (0, 1) that fixes the windows; None draws one per call.
        return_mask (bool): also return flat indices of the maxima (int32).

    Shape: {x} to [N, C, *output_size]; with ``return_mask`` a pair of them.

    Paper: Graham, "Fractional Max-Pooling", arXiv:1412.6071.

    Examples:
        >>> pool = argosy.nn.{name}(output_size=2, random_u=0.3)
        >>> pool(argosy.ones([1, 3, {four}])).shape
        paddle.Size([1, 3, {two}])
    """

    _kept_prefix = "_"
    _repr_shows = ("output_size", "return_mask")

    @keeps
    def __init__(
        self, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
    ): ...


class FractionalMaxPool2D(_FractionalMaxPool, dims=2, function=F.fractional_max_pool2d): ...


class FractionalMaxPool3D(_FractionalMaxPool, dims=3, function=F.fractional_max_pool3d): ...
