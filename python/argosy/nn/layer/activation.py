"""Activation layers."""

from __future__ import annotations

import argosy

from .. import functional as F
from ..functional._args import alias
from ..initializer import Constant
from ._repr import join
from .layers import Layer


class CELU(Layer):
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))``, arXiv:1704.07483."""

    def __init__(self, alpha=1.0, name=None):
        super().__init__()
        self._alpha = alpha
        self._name = name

    def forward(self, x):
        return F.celu(x, self._alpha)

    def extra_repr(self):
        return join(f"alpha={self._alpha}", self._name)


class ELU(Layer):
    """``x`` where positive, else ``alpha (exp(x) - 1)``, arXiv:1511.07289."""

    def __init__(self, alpha=1.0, name=None):
        super().__init__()
        self._alpha = alpha
        self._name = name

    def forward(self, x):
        return F.elu(x, self._alpha)

    def extra_repr(self):
        return join(f"alpha={self._alpha}", self._name)


class GELU(Layer):
    """``x * Phi(x)``, Phi the normal distribution function (``approximate``: by tanh).

    See arXiv:1606.08415.
    """

    def __init__(self, approximate=False, name=None):
        super().__init__()
        self._approximate = approximate
        self._name = name

    def forward(self, x):
        return F.gelu(x, self._approximate)

    def extra_repr(self):
        return join(f"approximate={self._approximate}", self._name)


class GLU(Layer):
    """``a * sigmoid(b)``, a and b being the halves of x along ``axis``, arXiv:1612.08083."""

    @alias(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__()
        self._axis = axis
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.glu(x, self._axis)

    def extra_repr(self):
        return join(f"axis={self._axis}", self._name)

    @property
    def dim(self):
        return self._axis

    @dim.setter
    def dim(self, value):
        self._axis = value


class Hardshrink(Layer):
    """``x`` where ``abs(x) > threshold``, else 0."""

    @alias(lambd="threshold")
    def __init__(self, threshold=0.5, name=None):
        super().__init__()
        self._threshold = threshold
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.hardshrink(x, self._threshold)

    def extra_repr(self):
        return join(f"threshold={self._threshold}", self._name)

    @property
    def lambd(self):
        return self._threshold

    @lambd.setter
    def lambd(self, value):
        self._threshold = value


class Hardsigmoid(Layer):
    """``clip(x / 6 + 1 / 2, 0, 1)``."""

    def __init__(self, name=None):
        super().__init__()
        self.name = name

    def forward(self, x):
        return F.hardsigmoid(x)

    def extra_repr(self):
        return join("", self.name)


class Hardswish(Layer):
    """``x * clip(x + 3, 0, 6) / 6``, arXiv:1905.02244."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.hardswish(x)

    def extra_repr(self):
        return join("", self._name)


class Hardtanh(Layer):
    """``clip(x, min, max)``."""

    def __init__(self, min=-1.0, max=1.0, name=None):
        super().__init__()
        self._min = min
        self._max = max
        self._name = name

    def forward(self, x):
        return F.hardtanh(x, self._min, self._max)

    def extra_repr(self):
        return join(f"min={self._min}, max={self._max}", self._name)


class LeakyReLU(Layer):
    """``x`` where positive, else ``negative_slope * x``."""

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__()
        self._negative_slope = negative_slope
        self._name = name

    def forward(self, x):
        return F.leaky_relu(x, self._negative_slope)

    def extra_repr(self):
        return join(f"negative_slope={self._negative_slope}", self._name)


class LogSigmoid(Layer):
    """``log(sigmoid(x))``, computed without overflow."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.log_sigmoid(x)

    def extra_repr(self):
        return join("", self._name)


class LogSoftmax(Layer):
    """Logarithm of the softmax along ``axis``."""

    @alias(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__()
        self._axis = axis
        self._name = name

    def forward(self, x):
        return F.log_softmax(x, self._axis)

    def extra_repr(self):
        return join(f"axis={self._axis}", self._name)


class Maxout(Layer):
    """Maximum over each run of ``groups`` channels, arXiv:1302.4389."""

    def __init__(self, groups, axis=1, name=None):
        super().__init__()
        self._groups = groups
        self._axis = axis
        self._name = name

    def forward(self, x):
        return F.maxout(x, self._groups, self._axis)

    def extra_repr(self):
        return join(f"groups={self._groups}, axis={self._axis}", self._name)


class Mish(Layer):
    """``x * tanh(softplus(x))``, arXiv:1908.08681."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.mish(x)

    def extra_repr(self):
        return join("", self._name)


class ReLU(Layer):
    """``max(x, 0)``."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.relu(x)

    def extra_repr(self):
        return join("", self._name)


class ReLU6(Layer):
    """``min(max(x, 0), 6)``."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.relu6(x)

    def extra_repr(self):
        return join("", self._name)


class SELU(Layer):
    """``scale * ELU(x, alpha)``, self-normalizing, arXiv:1706.02515."""

    def __init__(
        self,
        scale=1.0507009873554804934193349852946,
        alpha=1.6732632423543772848170429916717,
        name=None,
    ):
        super().__init__()
        self._scale = scale
        self._alpha = alpha
        self._name = name

    def forward(self, x):
        return F.selu(x, self._scale, self._alpha)

    def extra_repr(self):
        return join(f"scale={self._scale}, alpha={self._alpha}", self._name)


class Sigmoid(Layer):
    """``1 / (1 + exp(-x))``."""

    def __init__(self, name=None):
        super().__init__()
        self.name = name

    def forward(self, x):
        return F.sigmoid(x)

    def extra_repr(self):
        return join("", self.name)


class Softmax(Layer):
    """``exp(x)`` divided by its sum along ``axis``."""

    @alias(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__()
        self._axis = axis
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.softmax(x, self._axis)

    def extra_repr(self):
        return join(f"axis={self._axis}", self._name)


class Softplus(Layer):
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x > threshold``."""

    def __init__(self, beta=1, threshold=20, name=None):
        super().__init__()
        self._beta = beta
        self._threshold = threshold
        self._name = name

    def forward(self, x):
        return F.softplus(x, self._beta, self._threshold)

    def extra_repr(self):
        return join(f"beta={self._beta}, threshold={self._threshold}", self._name)


class Softshrink(Layer):
    """``x`` moved towards 0 by ``threshold``, 0 within it."""

    @alias(lambd="threshold")
    def __init__(self, threshold=0.5, name=None):
        super().__init__()
        self._threshold = threshold
        self._name = name

    @alias(input="x")
    def forward(self, x):
        return F.softshrink(x, self._threshold)

    def extra_repr(self):
        return join(f"threshold={self._threshold}", self._name)

    @property
    def lambd(self):
        return self._threshold

    @lambd.setter
    def lambd(self, value):
        self._threshold = value


class Softsign(Layer):
    """``x / (1 + abs(x))``."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.softsign(x)

    def extra_repr(self):
        return join("", self._name)


class Swish(Layer):
    """``x * sigmoid(x)``, arXiv:1710.05941."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.swish(x)

    def extra_repr(self):
        return join("", self._name)


class Tanh(Layer):
    """Hyperbolic tangent."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.tanh(x)

    def extra_repr(self):
        return join("", self._name)


class Tanhshrink(Layer):
    """``x - tanh(x)``."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        return F.tanhshrink(x)

    def extra_repr(self):
        return join("", self._name)


class ThresholdedReLU(Layer):
    """``x`` where ``x > threshold``, else ``value``."""

    def __init__(self, threshold=1.0, value=0.0, name=None):
        super().__init__()
        self._threshold = threshold
        self._value = value
        self._name = name

    def forward(self, x):
        return F.thresholded_relu(x, self._threshold, self._value)

    def extra_repr(self):
        return join(f"threshold={self._threshold}, value={self._value}", self._name)


class Silu(Layer):
    """``x * sigmoid(x)``, arXiv:1702.03118; ``inplace`` writes into x."""

    def __init__(self, inplace=False, name=None):
        super().__init__()
        self._name = name
        self._inplace = inplace

    @alias(input="x")
    def forward(self, x):
        return F.silu(x, self._inplace)

    def extra_repr(self):
        return join(f"inplace={self._inplace}", self._name)


class PReLU(Layer):
    """``x`` where positive, else ``weight * x`` with a learned weight, arXiv:1502.01852.

    Args:
        num_parameters: 1 for one weight, or the number of channels.
        init: initial weight.
        weight_attr: attributes of the parameter ``_weight``.
        data_format: where the channels are.
    """

    def __init__(
        self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None
    ):
        super().__init__()
        self._num_parameters = num_parameters
        self._init = init
        self._weight_attr = weight_attr
        self._name = name
        self._data_format = data_format
        self._weight = self.create_parameter(
            attr=weight_attr,
            shape=[num_parameters],
            dtype=argosy.get_default_dtype(),
            is_bias=False,
            default_initializer=Constant(float(init)),
        )

    def forward(self, x):
        return F.prelu(x, self._weight, data_format=self._data_format)

    def extra_repr(self):
        return join(
            f"num_parameters={self._num_parameters}, data_format={self._data_format}, "
            f"init={self._init}, dtype={self._dtype}",
            self._name,
        )


class RReLU(Layer):
    """Leaky ReLU with slopes drawn from [lower, upper) while training, arXiv:1505.00853."""

    def __init__(self, lower=1.0 / 8.0, upper=1.0 / 3.0, name=None):
        super().__init__()
        self._lower = lower
        self._upper = upper
        self._name = name

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self):
        return join(
            f"lower={self._lower}, upper={self._upper}, training={self.training}, "
            f"dtype={self._dtype}",
            self._name,
        )


class Softmax2D(Layer):
    """Softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def forward(self, x):
        if len(x.shape) not in (3, 4):
            raise AssertionError(
                f"Softmax2D requires a 3D or 4D tensor as input. Received: {len(x.shape)}D."
            )
        return F.softmax(x, axis=-3)

    def extra_repr(self):
        return join("", self._name)
