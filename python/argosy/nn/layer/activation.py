"""Activation layers."""

from __future__ import annotations

from argosy import _core

from .. import functional as F
from ..functional._args import alias
from ..initializer import Constant
from ._repr import join, other_name
from .layers import Layer

__all__ = [
    "CELU",
    "ELU",
    "GELU",
    "GLU",
    "Hardshrink",
    "Hardsigmoid",
    "Hardswish",
    "Hardtanh",
    "LeakyReLU",
    "LogSigmoid",
    "LogSoftmax",
    "Maxout",
    "Mish",
    "PReLU",
    "RReLU",
    "ReLU",
    "ReLU6",
    "SELU",
    "Sigmoid",
    "Silu",
    "Softmax",
    "Softmax2D",
    "Softplus",
    "Softshrink",
    "Softsign",
    "Swish",
    "Tanh",
    "Tanhshrink",
    "ThresholdedReLU",
]


class _Activation(Layer):
    """A layer whose constructor's arguments are attributes; ``_shown`` names those it prints."""

    _shown = ()

    def __init__(self, name=None):
        super().__init__()
        self._name = name

    def extra_repr(self):
        return join(
            ", ".join(f"{name}={getattr(self, '_' + name)}" for name in self._shown), self._name
        )


class CELU(_Activation):
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))``, arXiv:1704.07483."""

    _shown = ("alpha",)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name)
        self._alpha = alpha

    def forward(self, x):
        return F.celu(x, self._alpha)


class ELU(_Activation):
    """``x`` where positive, else ``alpha (exp(x) - 1)``, arXiv:1511.07289."""

    _shown = ("alpha",)

    def __init__(self, alpha=1.0, name=None):
        super().__init__(name)
        self._alpha = alpha

    def forward(self, x):
        return F.elu(x, self._alpha)


class GELU(_Activation):
    """``x * Phi(x)``, Phi the normal distribution function (``approximate``: by tanh).

    See arXiv:1606.08415.
    """

    _shown = ("approximate",)

    def __init__(self, approximate=False, name=None):
        super().__init__(name)
        self._approximate = approximate

    def forward(self, x):
        return F.gelu(x, self._approximate)


class GLU(_Activation):
    """``a * sigmoid(b)``, a and b being the halves of x along ``axis``, arXiv:1612.08083."""

    _shown = ("axis",)
    dim = other_name("_axis")

    @alias(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    @alias(input="x")
    def forward(self, x):
        return F.glu(x, self._axis)


class Hardshrink(_Activation):
    """``x`` where ``abs(x) > threshold``, else 0."""

    _shown = ("threshold",)
    lambd = other_name("_threshold")

    @alias(lambd="threshold")
    def __init__(self, threshold=0.5, name=None):
        super().__init__(name)
        self._threshold = threshold

    @alias(input="x")
    def forward(self, x):
        return F.hardshrink(x, self._threshold)


class Hardsigmoid(_Activation):
    """``clip(x / 6 + 1 / 2, 0, 1)``."""

    name = other_name("_name")

    def forward(self, x):
        return F.hardsigmoid(x)


class Hardswish(_Activation):
    """``x * clip(x + 3, 0, 6) / 6``, arXiv:1905.02244."""

    def forward(self, x):
        return F.hardswish(x)


class Hardtanh(_Activation):
    """``clip(x, min, max)``."""

    _shown = ("min", "max")

    def __init__(self, min=-1.0, max=1.0, name=None):
        super().__init__(name)
        self._min = min
        self._max = max

    def forward(self, x):
        return F.hardtanh(x, self._min, self._max)


class LeakyReLU(_Activation):
    """``x`` where positive, else ``negative_slope * x``."""

    _shown = ("negative_slope",)

    def __init__(self, negative_slope=0.01, name=None):
        super().__init__(name)
        self._negative_slope = negative_slope

    def forward(self, x):
        return F.leaky_relu(x, self._negative_slope)


class LogSigmoid(_Activation):
    """``log(sigmoid(x))``, computed without overflow."""

    @alias(input="x")
    def forward(self, x):
        return F.log_sigmoid(x)


class LogSoftmax(_Activation):
    """Logarithm of the softmax along ``axis``."""

    _shown = ("axis",)

    @alias(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    def forward(self, x):
        return F.log_softmax(x, self._axis)


class Maxout(_Activation):
    """Maximum over each run of ``groups`` channels, arXiv:1302.4389."""

    _shown = ("groups", "axis")

    def __init__(self, groups, axis=1, name=None):
        super().__init__(name)
        self._groups = groups
        self._axis = axis

    def forward(self, x):
        return F.maxout(x, self._groups, self._axis)


class Mish(_Activation):
    """``x * tanh(softplus(x))``, arXiv:1908.08681."""

    def forward(self, x):
        return F.mish(x)


class ReLU(_Activation):
    """``max(x, 0)``."""

    def forward(self, x):
        return F.relu(x)


class ReLU6(_Activation):
    """``min(max(x, 0), 6)``."""

    def forward(self, x):
        return F.relu6(x)


class SELU(_Activation):
    """``scale * ELU(x, alpha)``, self-normalizing, arXiv:1706.02515."""

    _shown = ("scale", "alpha")

    def __init__(
        self,
        scale=1.0507009873554804934193349852946,
        alpha=1.6732632423543772848170429916717,
        name=None,
    ):
        super().__init__(name)
        self._scale = scale
        self._alpha = alpha

    def forward(self, x):
        return F.selu(x, self._scale, self._alpha)


class Sigmoid(_Activation):
    """``1 / (1 + exp(-x))``."""

    name = other_name("_name")

    def forward(self, x):
        return F.sigmoid(x)


class Softmax(_Activation):
    """``exp(x)`` divided by its sum along ``axis``."""

    _shown = ("axis",)

    @alias(dim="axis")
    def __init__(self, axis=-1, name=None):
        super().__init__(name)
        self._axis = axis

    @alias(input="x")
    def forward(self, x):
        return F.softmax(x, self._axis)


class Softplus(_Activation):
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x > threshold``."""

    _shown = ("beta", "threshold")

    def __init__(self, beta=1, threshold=20, name=None):
        super().__init__(name)
        self._beta = beta
        self._threshold = threshold

    def forward(self, x):
        return F.softplus(x, self._beta, self._threshold)


class Softshrink(_Activation):
    """``x`` moved towards 0 by ``threshold``, 0 within it."""

    _shown = ("threshold",)
    lambd = other_name("_threshold")

    @alias(lambd="threshold")
    def __init__(self, threshold=0.5, name=None):
        super().__init__(name)
        self._threshold = threshold

    @alias(input="x")
    def forward(self, x):
        return F.softshrink(x, self._threshold)


class Softsign(_Activation):
    """``x / (1 + abs(x))``."""

    def forward(self, x):
        return F.softsign(x)


class Swish(_Activation):
    """``x * sigmoid(x)``, arXiv:1710.05941."""

    def forward(self, x):
        return F.swish(x)


class Tanh(_Activation):
    """Hyperbolic tangent."""

    def forward(self, x):
        return F.tanh(x)


class Tanhshrink(_Activation):
    """``x - tanh(x)``."""

    def forward(self, x):
        return F.tanhshrink(x)


class ThresholdedReLU(_Activation):
    """``x`` where ``x > threshold``, else ``value``."""

    _shown = ("threshold", "value")

    def __init__(self, threshold=1.0, value=0.0, name=None):
        super().__init__(name)
        self._threshold = threshold
        self._value = value

    def forward(self, x):
        return F.thresholded_relu(x, self._threshold, self._value)


class Silu(_Activation):
    """``x * sigmoid(x)``, arXiv:1702.03118; ``inplace`` writes into x."""

    _shown = ("inplace",)

    def __init__(self, inplace=False, name=None):
        super().__init__(name)
        self._inplace = inplace

    @alias(input="x")
    def forward(self, x):
        return F.silu(x, self._inplace)


class PReLU(_Activation):
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
        super().__init__(name)
        self._num_parameters = num_parameters
        self._init = init
        self._weight_attr = weight_attr
        self._data_format = data_format
        self._weight = self.create_parameter(
            attr=weight_attr,
            shape=[num_parameters],
            dtype=_core.get_default_dtype(),
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


class RReLU(_Activation):
    """Leaky ReLU with slopes drawn from [lower, upper) while training, arXiv:1505.00853."""

    def __init__(self, lower=1.0 / 8.0, upper=1.0 / 3.0, name=None):
        super().__init__(name)
        self._lower = lower
        self._upper = upper

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)

    def extra_repr(self):
        return join(
            f"lower={self._lower}, upper={self._upper}, training={self.training}, "
            f"dtype={self._dtype}",
            self._name,
        )


class Softmax2D(_Activation):
    """Softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def forward(self, x):
        if len(x.shape) not in (3, 4):
            raise AssertionError(
                f"[Softmax2D] x: expected 3 or 4 dimensions, got {len(x.shape)}. Do this: "
                "reshape it, or use Softmax."
            )
        return F.softmax(x, axis=-3)
