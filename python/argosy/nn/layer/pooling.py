"""Pooling layers."""

from __future__ import annotations

from .. import functional as F
from ..functional._args import alias
from .layers import Layer


class MaxPool1D(Layer):
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
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.name = name

    def forward(self, input):
        return F.max_pool1d(
            input, self.kernel_size, self.stride, self.padding, self.return_mask, self.ceil_mode
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxPool2D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.max_pool2d(
            x,
            self.ksize,
            self.stride,
            self.padding,
            self.return_mask,
            self.ceil_mode,
            self.data_format,
        )

    def extra_repr(self):
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class MaxPool3D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.return_mask = return_mask
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.max_pool3d(
            x,
            self.ksize,
            self.stride,
            self.padding,
            self.return_mask,
            self.ceil_mode,
            self.data_format,
        )

    def extra_repr(self):
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class AvgPool1D(Layer):
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
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.exclusive = exclusive
        self.name = name

    def forward(self, x):
        return F.avg_pool1d(
            x, self.kernel_size, self.stride, self.padding, self.exclusive, self.ceil_mode
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.exclusive = exclusive
        self.divisor = divisor_override
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.avg_pool2d(
            x,
            self.ksize,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.exclusive,
            self.divisor,
            self.data_format,
        )

    def extra_repr(self):
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class AvgPool3D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.exclusive = exclusive
        self.divisor = divisor_override
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.avg_pool3d(
            x,
            self.ksize,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.exclusive,
            self.divisor,
            self.data_format,
        )

    def extra_repr(self):
        return f"kernel_size={self.ksize}, stride={self.stride}, padding={self.padding}"


class LPPool1D(Layer):
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
        super().__init__()
        self.norm_type = float(norm_type)
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.lp_pool1d(
            x, self.norm_type, self.kernel_size, self.stride, self.padding, self.ceil_mode,
            self.data_format,
        )  # fmt: skip

    def extra_repr(self):
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class LPPool2D(Layer):
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
        super().__init__()
        self.norm_type = float(norm_type)
        self.ksize = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.lp_pool2d(
            x, self.norm_type, self.ksize, self.stride, self.padding, self.ceil_mode,
            self.data_format,
        )  # fmt: skip

    def extra_repr(self):
        return (
            f"norm_type={self.norm_type}, kernel_size={self.ksize}, stride={self.stride}, "
            f"padding={self.padding}"
        )


class AdaptiveAvgPool1D(Layer):
    """Means over windows that divide [N, C, L] evenly into ``output_size`` parts."""

    def __init__(self, output_size, name=None):
        super().__init__()
        self.output_size = output_size
        self.name = name

    @alias(x="input")
    def forward(self, input):
        return F.adaptive_avg_pool1d(input, self.output_size)

    def extra_repr(self):
        return f"output_size={self.output_size}"


class AdaptiveAvgPool2D(Layer):
    """Means over windows that divide [N, C, H, W] evenly into ``output_size`` parts."""

    def __init__(self, output_size, data_format="NCHW", name=None):
        super().__init__()
        self._output_size = output_size
        self._data_format = data_format
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_avg_pool2d(x, self._output_size, self._data_format)

    @property
    def output_size(self):
        """What the layer was made with."""
        return self._output_size

    @output_size.setter
    def output_size(self, value):
        self._output_size = value

    def extra_repr(self):
        return f"output_size={self._output_size}"


class AdaptiveAvgPool3D(Layer):
    """Means over windows that divide [N, C, D, H, W] evenly into ``output_size`` parts."""

    def __init__(self, output_size, data_format="NCDHW", name=None):
        super().__init__()
        self._output_size = output_size
        self._data_format = data_format
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_avg_pool3d(x, self._output_size, self._data_format)

    @property
    def output_size(self):
        """What the layer was made with."""
        return self._output_size

    @output_size.setter
    def output_size(self, value):
        self._output_size = value

    def extra_repr(self):
        return f"output_size={self._output_size}"


class AdaptiveMaxPool1D(Layer):
    """Maxima over windows that divide [N, C, L] evenly into ``output_size`` parts."""

    @alias(return_indices="return_mask")
    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__()
        self.output_size = output_size
        self.return_mask = return_mask
        self.name = name

    @alias(x="input")
    def forward(self, input):
        return F.adaptive_max_pool1d(input, self.output_size, self.return_mask)

    @property
    def return_indices(self):
        """Other name of ``return_mask``."""
        return self.return_mask

    @return_indices.setter
    def return_indices(self, value):
        self.return_mask = value

    def extra_repr(self):
        return f"output_size={self.output_size}, return_mask={self.return_mask}"


class AdaptiveMaxPool2D(Layer):
    """Maxima over windows that divide [N, C, H, W] evenly into ``output_size`` parts."""

    @alias(return_indices="return_mask")
    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__()
        self._output_size = output_size
        self._return_mask = return_mask
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_max_pool2d(x, self._output_size, self._return_mask)

    @property
    def return_indices(self):
        """Other name of ``return_mask``."""
        return self._return_mask

    @return_indices.setter
    def return_indices(self, value):
        self._return_mask = value

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class AdaptiveMaxPool3D(Layer):
    """Maxima over windows that divide [N, C, D, H, W] evenly into ``output_size`` parts."""

    @alias(return_indices="return_mask")
    def __init__(self, output_size, return_mask=False, name=None):
        super().__init__()
        self._output_size = output_size
        self._return_mask = return_mask
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.adaptive_max_pool3d(x, self._output_size, self._return_mask)

    @property
    def return_indices(self):
        """Other name of ``return_mask``."""
        return self._return_mask

    @return_indices.setter
    def return_indices(self, value):
        self._return_mask = value

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class MaxUnPool1D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x, indices, output_size=None):
        size = self.output_size if output_size is None else output_size
        return F.max_unpool1d(
            x, indices, self.ksize, self.stride, self.padding, self.data_format, size
        )

    def extra_repr(self):
        return f"output_size={self.output_size}"


class MaxUnPool2D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x, indices, output_size=None):
        size = self.output_size if output_size is None else output_size
        return F.max_unpool2d(
            x, indices, self.ksize, self.stride, self.padding, self.data_format, size
        )

    def extra_repr(self):
        return f"output_size={self.output_size}"


class MaxUnPool3D(Layer):
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
        super().__init__()
        self.ksize = kernel_size
        self.stride = stride
        self.padding = padding
        self.data_format = data_format
        self.output_size = output_size
        self.name = name

    def forward(self, x, indices, output_size=None):
        size = self.output_size if output_size is None else output_size
        return F.max_unpool3d(
            x, indices, self.ksize, self.stride, self.padding, self.data_format, size
        )

    def extra_repr(self):
        return f"output_size={self.output_size}"


class FractionalMaxPool2D(Layer):
    """Maxima over pseudo-random windows of [N, C, H, W]; see ``F.fractional_max_pool2d``."""

    def __init__(self, output_size, kernel_size=None, random_u=None, return_mask=False, name=None):
        super().__init__()
        self._output_size = output_size
        self._kernel_size = kernel_size
        self._random_u = random_u
        self._return_mask = return_mask
        self._name = name

    def forward(self, x):
        return F.fractional_max_pool2d(
            x, self._output_size, self._kernel_size, self._random_u, self._return_mask
        )

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"


class FractionalMaxPool3D(Layer):
    """Maxima over pseudo-random windows of [N, C, D, H, W]; see ``F.fractional_max_pool3d``."""

    def __init__(self, output_size, kernel_size=None, random_u=None, return_mask=False, name=None):
        super().__init__()
        self._output_size = output_size
        self._kernel_size = kernel_size
        self._random_u = random_u
        self._return_mask = return_mask
        self._name = name

    def forward(self, x):
        return F.fractional_max_pool3d(
            x, self._output_size, self._kernel_size, self._random_u, self._return_mask
        )

    def extra_repr(self):
        return f"output_size={self._output_size}, return_mask={self._return_mask}"
