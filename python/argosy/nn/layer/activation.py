"""Activation layers."""

from __future__ import annotations

import operator

from argosy import _core

from .. import functional as F
from ..functional._args import alias
from ..initializer import Constant
from ._forwarding import ForwardingLayer, keeps
from ._repr import other_name

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


class _Activation(ForwardingLayer):
    """``function(x, *arguments)``; an argument ``alpha`` is the attribute ``_alpha``."""

    _kept_prefix = "_"

    @keeps
    def __init__(self, name=None): ...

    def __init_subclass__(cls, function=None, **options):
        super().__init_subclass__(function=function, **options)
        if function is not None:
            cls.forward = cls._forward_to(function)

    @classmethod
    def _forward_to(cls, function):
        """forward of this class: a general one would take as long as a small tensor's function."""
        names = cls._kept_names
        kept = operator.attrgetter(*names) if names else None
        if not names:

            def forward(self, x):
                return function(x)

        elif len(names) == 1:

            def forward(self, x):
                return function(x, kept(self))

        else:

            def forward(self, x):
                return function(x, *kept(self))

        forward.__module__ = cls.__module__
        forward.__qualname__ = f"{cls.__qualname__}.forward"
        return forward


class _InputActivation(_Activation):
    """Its tensor is also called ``input``."""

    @classmethod
    def _forward_to(cls, function):
        return alias(input="x")(super()._forward_to(function))


class CELU(_Activation, function=F.celu):
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))``, arXiv:1704.07483."""

    @keeps
    def __init__(self, alpha=1.0, name=None): ...


class ELU(_Activation, function=F.elu):
    """``x`` where positive, else ``alpha (exp(x) - 1)``, arXiv:1511.07289."""

    @keeps
    def __init__(self, alpha=1.0, name=None): ...


class GELU(_Activation, function=F.gelu):
    """``x * Phi(x)``, Phi the normal distribution function (``approximate``: by tanh).

    See arXiv:1606.08415.
    """

    @keeps
    def __init__(self, approximate=False, name=None): ...


class GLU(_InputActivation, function=F.glu):
    """``a * sigmoid(b)``, a and b being the halves of x along ``axis``, arXiv:1612.08083."""

    dim = other_name("_axis")

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=-1, name=None): ...


class Hardshrink(_InputActivation, function=F.hardshrink):
    """``x`` where ``abs(x) > threshold``, else 0."""

    lambd = other_name("_threshold")

    @alias(lambd="threshold")
    @keeps
    def __init__(self, threshold=0.5, name=None): ...


class Hardsigmoid(_Activation, function=F.hardsigmoid):
    """``clip(x / 6 + 1 / 2, 0, 1)``."""

    name = other_name("_name")


class Hardswish(_Activation, function=F.hardswish):
    """``x * clip(x + 3, 0, 6) / 6``, arXiv:1905.02244."""


class Hardtanh(_Activation, function=F.hardtanh):
    """``clip(x, min, max)``."""

    @keeps
    def __init__(self, min=-1.0, max=1.0, name=None): ...


class LeakyReLU(_Activation, function=F.leaky_relu):
    """``x`` where positive, else ``negative_slope * x``."""

    @keeps
    def __init__(self, negative_slope=0.01, name=None): ...


class LogSigmoid(_InputActivation, function=F.log_sigmoid):
    """``log(sigmoid(x))``, computed without overflow."""


class LogSoftmax(_Activation, function=F.log_softmax):
    """Logarithm of the softmax along ``axis``."""

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=-1, name=None): ...


class Maxout(_Activation, function=F.maxout):
    """Maximum over each run of ``groups`` channels, arXiv:1302.4389."""

    @keeps
    def __init__(self, groups, axis=1, name=None): ...


class Mish(_Activation, function=F.mish):
    """``x * tanh(softplus(x))``, arXiv:1908.08681."""


class ReLU(_Activation, function=F.relu):
    """``max(x, 0)``."""


class ReLU6(_Activation, function=F.relu6):
    """``min(max(x, 0), 6)``."""


class SELU(_Activation, function=F.selu):
    """``scale * ELU(x, alpha)``, self-normalizing, arXiv:1706.02515."""

    @keeps
    def __init__(
        self,
        scale=1.0507009873554804934193349852946,
        alpha=1.6732632423543772848170429916717,
        name=None,
    ): ...


class Sigmoid(_Activation, function=F.sigmoid):
    """``1 / (1 + exp(-x))``."""

    name = other_name("_name")


class Softmax(_InputActivation, function=F.softmax):
    """``exp(x)`` divided by its sum along ``axis``."""

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=-1, name=None): ...


class Softplus(_Activation, function=F.softplus):
    """``log(1 + exp(beta x)) / beta``; ``x`` where ``beta x > threshold``."""

    @keeps
    def __init__(self, beta=1, threshold=20, name=None): ...


class Softshrink(_InputActivation, function=F.softshrink):
    """``x`` moved towards 0 by ``threshold``, 0 within it."""

    lambd = other_name("_threshold")

    @alias(lambd="threshold")
    @keeps
    def __init__(self, threshold=0.5, name=None): ...


class Softsign(_Activation, function=F.softsign):
    """``x / (1 + abs(x))``."""


class Swish(_Activation, function=F.swish):
    """``x * sigmoid(x)``, arXiv:1710.05941."""


class Tanh(_Activation, function=F.tanh):
    """Hyperbolic tangent."""


class Tanhshrink(_Activation, function=F.tanhshrink):
    """``x - tanh(x)``."""


class ThresholdedReLU(_Activation, function=F.thresholded_relu):
    """``x`` where ``x > threshold``, else ``value``."""

    @keeps
    def __init__(self, threshold=1.0, value=0.0, name=None): ...


class Silu(_InputActivation, function=F.silu):
    """``x * sigmoid(x)``, arXiv:1702.03118; ``inplace`` writes into x."""

    @keeps
    def __init__(self, inplace=False, name=None): ...


class PReLU(_Activation):
    """``x`` where positive, else ``weight * x`` with a learned weight, arXiv:1502.01852.

    Args:
        num_parameters: 1 for one weight, or the number of channels.
        init: initial weight.
        weight_attr: attributes of the parameter ``_weight``.
        data_format: where the channels are.
    """

    _repr_shows = ("num_parameters", "data_format", "init", "dtype", "name")

    @keeps
    def __init__(
        self, num_parameters=1, init=0.25, weight_attr=None, data_format="NCHW", name=None
    ):
        self._weight = self.create_parameter(
            attr=weight_attr,
            shape=[num_parameters],
            dtype=_core.get_default_dtype(),
            is_bias=False,
            default_initializer=Constant(float(init)),
        )

    def forward(self, x):
        return F.prelu(x, self._weight, data_format=self._data_format)


class RReLU(_Activation):
    """Leaky ReLU with slopes drawn from [lower, upper) while training, arXiv:1505.00853."""

    _kept_as = {"training": "training"}
    _repr_shows = ("lower", "upper", "training", "dtype", "name")

    @keeps
    def __init__(self, lower=1.0 / 8.0, upper=1.0 / 3.0, name=None): ...

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)


class Softmax2D(_Activation):
    """Softmax over the channels of [N, C, H, W] or [C, H, W]."""

    def forward(self, x):
        if len(x.shape) not in (3, 4):
            raise AssertionError(
                f"[Softmax2D] x: expected 3 or 4 dimensions, got {len(x.shape)}. Do this: "
                "reshape it, or use Softmax."
            )
        return F.softmax(x, axis=-3)
