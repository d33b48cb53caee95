"""Pooling layers."""

from __future__ import annotations

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
    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class _WindowPool(_Pool):
    """Pooling over windows; ``kernel_size`` and ``ksize`` are one."""

    kernel_size = other_name("ksize")
    _kept_as = {"kernel_size": "ksize", "divisor_override": "divisor"}
    _repr_shows = ("kernel_size", "stride", "padding")


class MaxPool1D(_WindowPool, function=F.max_pool1d):
    """Maximum over windows of [N, C, L]; arguments as for ``F.max_pool1d``."""

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


class MaxPool2D(_MaxPool, dims=2, function=F.max_pool2d):
    """Maximum over windows of [N, C, H, W]; arguments as for ``F.max_pool2d``."""


class MaxPool3D(_MaxPool, dims=3, function=F.max_pool3d):
    """Maximum over windows of [N, C, D, H, W]; arguments as for ``F.max_pool3d``."""


class AvgPool1D(_WindowPool, function=F.avg_pool1d):
    """Mean over windows of [N, C, L]; arguments as for ``F.avg_pool1d``."""

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


class AvgPool2D(_AvgPool, dims=2, function=F.avg_pool2d):
    """Mean over windows of [N, C, H, W]; arguments as for ``F.avg_pool2d``."""


class AvgPool3D(_AvgPool, dims=3, function=F.avg_pool3d):
    """Mean over windows of [N, C, D, H, W]; arguments as for ``F.avg_pool3d``."""


class _LPPool(_WindowPool):
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


class LPPool1D(_LPPool, dims=1, function=F.lp_pool1d):
    """``(sum x^p)^(1/p)`` over windows of [N, C, L], p = ``norm_type``; see ``F.lp_pool1d``."""


class LPPool2D(_LPPool, dims=2, function=F.lp_pool2d):
    """``(sum x^p)^(1/p)`` over windows of [N, C, H, W], p = ``norm_type``; see ``F.lp_pool2d``."""


class _AdaptivePool(_Pool):
    _kept_prefix = "_"
    _repr_shows = ("output_size",)
    output_size = other_name("_output_size")


class AdaptiveAvgPool1D(_AdaptivePool, function=F.adaptive_avg_pool1d):
    """Means over windows that divide [N, C, L] evenly into ``output_size`` parts."""

    name = other_name("_name")

    @keeps
    def __init__(self, output_size, name=None): ...

    @alias(x="input")
    def forward(self, input):
        return self._forwards_to(input, *self._kept())


class _AdaptiveAvgPool(_AdaptivePool):
    @keeps
    def __init__(self, output_size, data_format="NCHW", name=None): ...

    @alias(input="x")
    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class AdaptiveAvgPool2D(_AdaptiveAvgPool, dims=2, function=F.adaptive_avg_pool2d):
    """Means over windows that divide [N, C, H, W] evenly into ``output_size`` parts."""


class AdaptiveAvgPool3D(_AdaptiveAvgPool, dims=3, function=F.adaptive_avg_pool3d):
    """Means over windows that divide [N, C, D, H, W] evenly into ``output_size`` parts."""


class _AdaptiveMaxPool(_AdaptivePool):
    _repr_shows = ("output_size", "return_mask")
    return_indices = other_name("_return_mask")

    @alias(return_indices="return_mask")
    @keeps
    def __init__(self, output_size, return_mask=False, name=None): ...

    @alias(input="x")
    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class AdaptiveMaxPool1D(_AdaptiveMaxPool, function=F.adaptive_max_pool1d):
    """Maxima over windows that divide [N, C, L] evenly into ``output_size`` parts."""

    name = other_name("_name")
    return_mask = other_name("_return_mask")

    @alias(x="input")
    def forward(self, input):
        return self._forwards_to(input, *self._kept())


class AdaptiveMaxPool2D(_AdaptiveMaxPool, function=F.adaptive_max_pool2d):
    """Maxima over windows that divide [N, C, H, W] evenly into ``output_size`` parts."""


class AdaptiveMaxPool3D(_AdaptiveMaxPool, function=F.adaptive_max_pool3d):
    """Maxima over windows that divide [N, C, D, H, W] evenly into ``output_size`` parts."""


class _MaxUnPool(_WindowPool):
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

    def forward(self, x, indices, output_size=None):
        *window, size = self._kept()
        return self._forwards_to(x, indices, *window, size if output_size is None else output_size)


class MaxUnPool1D(_MaxUnPool, dims=1, function=F.max_unpool1d):
    """Puts values back where ``MaxPool1D(return_mask=True)`` took them; zero elsewhere."""


class MaxUnPool2D(_MaxUnPool, dims=2, function=F.max_unpool2d):
    """Puts values back where ``MaxPool2D(return_mask=True)`` took them; zero elsewhere."""


class MaxUnPool3D(_MaxUnPool, dims=3, function=F.max_unpool3d):
    """Puts values back where ``MaxPool3D(return_mask=True)`` took them; zero elsewhere."""


class _FractionalMaxPool(_Pool):
    _kept_prefix = "_"
    _repr_shows = ("output_size", "return_mask")

    @keeps
    def __init__(
        self, output_size, kernel_size=None, random_u=None, return_mask=False, name=None
    ): ...


class FractionalMaxPool2D(_FractionalMaxPool, function=F.fractional_max_pool2d):
    """Maxima over pseudo-random windows of [N, C, H, W]; see ``F.fractional_max_pool2d``."""


class FractionalMaxPool3D(_FractionalMaxPool, function=F.fractional_max_pool3d):
    """Maxima over pseudo-random windows of [N, C, D, H, W]; see ``F.fractional_max_pool3d``."""
