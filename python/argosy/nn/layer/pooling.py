"""Pooling layers."""

from __future__ import annotations

from .. import functional as F
from ..functional._args import alias
from ._repr import other_name
from .layers import Layer

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


class _WindowPool(Layer):
    """What pooling over windows keeps; ``kernel_size`` and ``ksize`` are one."""

    kernel_size = other_name("ksize")

    def __init__(self, kernel_size, stride, padding, ceil_mode, data_format, name):
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def extra_repr(self):
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class _MaxPool(_WindowPool):
    def __init__(self, kernel_size, stride, padding, return_mask, ceil_mode, data_format, name):
        super().__init__(kernel_size, stride, padding, ceil_mode, data_format, name)
        self.return_mask = return_mask

    def _pool(self, function, x):
        return function(
            x, self.ksize, self.stride, self.padding, self.return_mask, self.ceil_mode,
            self.data_format,
        )  # fmt: skip


class MaxPool1D(_MaxPool):
    """Maximum over windows of [N, C, L]; arguments as for ``F.max_pool1d``."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, return_mask, ceil_mode, "NCL", name)

    def forward(self, input):
        return F.max_pool1d(
            input, self.ksize, self.stride, self.padding, self.return_mask, self.ceil_mode
        )


class MaxPool2D(_MaxPool):
    """Maximum over windows of [N, C, H, W]; arguments as for ``F.max_pool2d``."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, return_mask, ceil_mode, data_format, name)

    def forward(self, x):
        return self._pool(F.max_pool2d, x)


class MaxPool3D(_MaxPool):
    """Maximum over windows of [N, C, D, H, W]; arguments as for ``F.max_pool3d``."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, return_mask, ceil_mode, data_format, name)

    def forward(self, x):
        return self._pool(F.max_pool3d, x)


class _AvgPool(_WindowPool):
    def __init__(
        self, kernel_size, stride, padding, ceil_mode, exclusive, divisor, data_format, name
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, data_format, name)
        self.exclusive = exclusive
        self.divisor = divisor

    def _pool(self, function, x):
        return function(
            x, self.ksize, self.stride, self.padding, self.ceil_mode, self.exclusive, self.divisor,
            self.data_format,
        )  # fmt: skip


class AvgPool1D(_AvgPool):
    """Mean over windows of [N, C, L]; arguments as for ``F.avg_pool1d``."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        exclusive=True,
        ceil_mode=False,
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, ceil_mode, exclusive, None, "NCL", name)

    def forward(self, x):
        return F.avg_pool1d(
            x, self.ksize, self.stride, self.padding, self.exclusive, self.ceil_mode
        )


class AvgPool2D(_AvgPool):
    """Mean over windows of [N, C, H, W]; arguments as for ``F.avg_pool2d``."""

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
    ):
        super().__init__(
            kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format, name
        )

    def forward(self, x):
        return self._pool(F.avg_pool2d, x)


class AvgPool3D(_AvgPool):
    """Mean over windows of [N, C, D, H, W]; arguments as for ``F.avg_pool3d``."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        exclusive=True,
        divisor_override=None,
        data_format="NCDHW",
        name=None,
    ):
        super().__init__(
            kernel_size, stride, padding, ceil_mode, exclusive, divisor_override, data_format, name
        )

    def forward(self, x):
        return self._pool(F.avg_pool3d, x)


class _LPPool(_WindowPool):
    def __init__(self, norm_type, kernel_size, stride, padding, ceil_mode, data_format, name):
        super().__init__(kernel_size, stride, padding, ceil_mode, data_format, name)
        self.norm_type = float(norm_type)

    def _pool(self, function, x):
        return function(
            x, self.norm_type, self.ksize, self.stride, self.padding, self.ceil_mode,
            self.data_format,
        )  # fmt: skip

    def extra_repr(self):
        return f"norm_type={self.norm_type}, {super().extra_repr()}"


class LPPool1D(_LPPool):
    """``(sum x^p)^(1/p)`` over windows of [N, C, L], p = ``norm_type``; see ``F.lp_pool1d``."""

    def __init__(
        self,
        norm_type,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        data_format="NCL",
        name=None,
    ):
        super().__init__(norm_type, kernel_size, stride, padding, ceil_mode, data_format, name)

    def forward(self, x):
        return self._pool(F.lp_pool1d, x)


class LPPool2D(_LPPool):
    """``(sum x^p)^(1/p)`` over windows of [N, C, H, W], p = ``norm_type``; see ``F.lp_pool2d``."""

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
        stride = kernel_size if stride is None else stride
        super().__init__(norm_type, kernel_size, stride, padding, ceil_mode, data_format, name)

    def forward(self, x):
        return self._pool(F.lp_pool2d, x)


class _AdaptivePool(Layer):
    output_size = other_name("_output_size")

    def __init__(self, output_size, name):
        super().__init__()
        self._output_size = output_size
        self._name = name

    def extra_repr(self):
        return f"output_size={self._output_size}"


class AdaptiveAvgPool1D(_AdaptivePool):
    """Means over windows that divide [N, C, L] evenly into ``output_size`` parts."""

    name = other_name("_name")

    def __init__(self, output_size, name=None):
        super().__init__(output_size, name)

    @alias(x="input")
    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self._output_size)


class AdaptiveAvgPool2D(_AdaptivePool):
    """Means over windows that divide [N, C, H, W] evenly into ``output_size`` parts."""

    def __init__(self, output_size, data_format="NCHW", name=None):
        super().__init__(output_size, name)
        self._data_format = data_format

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_avg_pool2d(x, self._output_size, self._data_format)


class AdaptiveAvgPool3D(_AdaptivePool):
    """Means over windows that divide [N, C, D, H, W] evenly into ``output_size`` parts."""

    def __init__(self, output_size, data_format="NCDHW", name=None):
        super().__init__(output_size, name)
        self._data_format = data_format

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_avg_pool3d(x, self._output_size, self._data_format)


class _AdaptiveMaxPool(_AdaptivePool):
    return_indices = other_name("_return_mask")

    @alias(return_indices="return_mask")
    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__(output_size, name)
        self._return_mask = return_mask

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class AdaptiveMaxPool1D(_AdaptiveMaxPool):
    """Maxima over windows that divide [N, C, L] evenly into ``output_size`` parts."""

    name = other_name("_name")
    return_mask = other_name("_return_mask")

    @alias(x="input")
    def forward(self, input):
        return F.adaptive_max_pool1d(input, self._output_size, self._return_mask)


class AdaptiveMaxPool2D(_AdaptiveMaxPool):
    """Maxima over windows that divide [N, C, H, W] evenly into ``output_size`` parts."""

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_max_pool2d(x, self._output_size, self._return_mask)


class AdaptiveMaxPool3D(_AdaptiveMaxPool):
    """Maxima over windows that divide [N, C, D, H, W] evenly into ``output_size`` parts."""

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_max_pool3d(x, self._output_size, self._return_mask)


class _MaxUnPool(Layer):
    def __init__(self, kernel_size, stride, padding, data_format, output_size, name):
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def _unpool(self, function, x, indices, output_size):
        size = self.output_size if output_size is None else output_size
        return function(x, indices, self.ksize, self.stride, self.padding, self.data_format, size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class MaxUnPool1D(_MaxUnPool):
    """Puts values back where ``MaxPool1D(return_mask=True)`` took them; zero elsewhere."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        data_format="NCL",
        output_size=None,
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)

    def forward(self, x, indices, output_size=None):
        return self._unpool(F.max_unpool1d, x, indices, output_size)


class MaxUnPool2D(_MaxUnPool):
    """Puts values back where ``MaxPool2D(return_mask=True)`` took them; zero elsewhere."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        data_format="NCHW",
        output_size=None,
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)

    def forward(self, x, indices, output_size=None):
        return self._unpool(F.max_unpool2d, x, indices, output_size)


class MaxUnPool3D(_MaxUnPool):
    """Puts values back where ``MaxPool3D(return_mask=True)`` took them; zero elsewhere."""

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        data_format="NCDHW",
        output_size=None,
        name=None,
    ):
        super().__init__(kernel_size, stride, padding, data_format, output_size, name)

    def forward(self, x, indices, output_size=None):
        return self._unpool(F.max_unpool3d, x, indices, output_size)


class _FractionalMaxPool(Layer):
    def __init__(self, output_size, kernel_size=None, random_u=None, return_mask=False, name=None):
        super().__init__()
        self._output_size = output_size
        self._kernel_size = kernel_size
        self._random_u = random_u
        self._return_mask = return_mask
        self._name = name

    def _pool(self, function, x):
        return function(x, self._output_size, self._kernel_size, self._random_u, self._return_mask)

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class FractionalMaxPool2D(_FractionalMaxPool):
    """Maxima over pseudo-random windows of [N, C, H, W]; see ``F.fractional_max_pool2d``."""

    def forward(self, x):
        return self._pool(F.fractional_max_pool2d, x)


class FractionalMaxPool3D(_FractionalMaxPool):
    """Maxima over pseudo-random windows of [N, C, D, H, W]; see ``F.fractional_max_pool3d``."""

    def forward(self, x):
        return self._pool(F.fractional_max_pool3d, x)
