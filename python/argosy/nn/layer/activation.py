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
    """Continuously differentiable ELU: ``max(0, x) + min(0, alpha (exp(x / alpha) - 1))``.

    Args:
        alpha (float): scale of the negative part; not 0.

    Shape: any; the result has the same.

    Paper: Barron, arXiv:1704.07483.

    Examples:
        >>> argosy.nn.CELU(alpha=1.0)(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.6321, 0.0, 2.0]
    """

    @keeps
    def __init__(self, alpha=1.0, name=None): ...


class ELU(_Activation, function=F.elu):
    """``x`` where positive, else ``alpha (exp(x) - 1)``.

    Args:
        alpha (float): limit of the negative part.

    Shape: any; the result has the same.

    Paper: Clevert et al., arXiv:1511.07289.

    Examples:
        >>> argosy.nn.ELU(alpha=0.5)(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.3161, 0.0, 2.0]
    """

    @keeps
    def __init__(self, alpha=1.0, name=None): ...


class GELU(_Activation, function=F.gelu):
    """``x * Phi(x)``, Phi being the distribution function of the standard normal.

    Args:
        approximate (bool | str): True or 'tanh' for the form with tanh, False or 'none' for the exact
            one.

    Shape: any; the result has the same.

    Paper: Hendrycks and Gimpel, arXiv:1606.08415.

    Examples:
        >>> argosy.nn.GELU()(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.1587, 0.0, 1.9545]
    """

    @keeps
    def __init__(self, approximate=False, name=None): ...


class GLU(_InputActivation, function=F.glu):
    """``a * sigmoid(b)``, a and b being the halves of the input along one axis.

    Args:
        axis (int): axis that is halved, of even size; ``dim`` is its other name.

    Shape: [.., 2 n, ..] to [.., n, ..].

    Paper: Dauphin et al., arXiv:1612.08083.

    Examples:
        >>> argosy.nn.GLU()(argosy.to_tensor([1.0, 2.0, 0.0, 100.0])).tolist()
        [0.5, 2.0]
    """

    dim = other_name("_axis")

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=-1, name=None): ...


class Hardshrink(_InputActivation, function=F.hardshrink):
    """``x`` where ``abs(x) > threshold``, else 0.

    Args:
        threshold (float): half the width of what becomes 0; ``lambd`` is its other name.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Hardshrink()(argosy.to_tensor([-1.0, 0.3, 2.0])).tolist()
        [-1.0, 0.0, 2.0]
    """

    lambd = other_name("_threshold")

    @alias(lambd="threshold")
    @keeps
    def __init__(self, threshold=0.5, name=None): ...


class Hardsigmoid(_Activation, function=F.hardsigmoid):
    """``clip(x / 6 + 1 / 2, 0, 1)``, straight lines near the sigmoid.

    Shape: any; the result has the same.

    Paper: Courbariaux et al., arXiv:1602.02830.

    Examples:
        >>> argosy.nn.Hardsigmoid()(argosy.to_tensor([-4.0, 0.0, 1.5])).tolist()
        [0.0, 0.5, 0.75]
    """

    name = other_name("_name")


class Hardswish(_Activation, function=F.hardswish):
    """``x * clip(x + 3, 0, 6) / 6``.

    Shape: any; the result has the same.

    Paper: Howard et al., arXiv:1905.02244.

    Examples:
        >>> argosy.nn.Hardswish()(argosy.to_tensor([-4.0, 1.0, 5.0])).tolist()
        [-0.0, 0.6667, 5.0]
    """


class Hardtanh(_Activation, function=F.hardtanh):
    """``clip(x, min, max)``.

    Args:
        min, max (float): bounds of the result.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Hardtanh()(argosy.to_tensor([-4.0, 0.5, 5.0])).tolist()
        [-1.0, 0.5, 1.0]
    """

    @keeps
    def __init__(self, min=-1.0, max=1.0, name=None): ...


class LeakyReLU(_Activation, function=F.leaky_relu):
    """``x`` where positive, else ``negative_slope * x``.

    Args:
        negative_slope (float): slope of the negative side.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.LeakyReLU(0.1)(argosy.to_tensor([-4.0, 0.0, 5.0])).tolist()
        [-0.4, 0.0, 5.0]
    """

    @keeps
    def __init__(self, negative_slope=0.01, name=None): ...


class LogSigmoid(_InputActivation, function=F.log_sigmoid):
    """``log(1 / (1 + exp(-x)))``, computed without overflow.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.LogSigmoid()(argosy.to_tensor([-100.0, 0.0, 100.0])).tolist()
        [-100.0, -0.6931, -0.0]
    """


class LogSoftmax(_Activation, function=F.log_softmax):
    """Logarithm of the softmax along one axis.

    Args:
        axis (int): axis that is normalized; ``dim`` is its other name.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.LogSoftmax()(argosy.to_tensor([1.0, 2.0, 3.0])).tolist()
        [-2.4076, -1.4076, -0.4076]
    """

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=-1, name=None): ...


class Maxout(_Activation, function=F.maxout):
    """Maximum over each run of ``groups`` neighbouring channels.

    Args:
        groups (int): how many channels give one; divides their number.
        axis (int): axis of the channels.

    Shape: [N, C, H, W] to [N, C / groups, H, W].

    Paper: Goodfellow et al., arXiv:1302.4389.

    Examples:
        >>> x = argosy.arange(4, dtype="float32").reshape([1, 4, 1, 1])
        >>> argosy.nn.Maxout(groups=2)(x).flatten().tolist()
        [1.0, 3.0]
    """

    @keeps
    def __init__(self, groups, axis=1, name=None): ...


class Mish(_Activation, function=F.mish):
    """``x * tanh(log(1 + exp(x)))``.

    Shape: any; the result has the same.

    Paper: Misra, arXiv:1908.08681.

    Examples:
        >>> argosy.nn.Mish()(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.3034, 0.0, 1.944]
    """


class ReLU(_Activation, function=F.relu):
    """``max(x, 0)``.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.ReLU()(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [0.0, 0.0, 2.0]
    """


class ReLU6(_Activation, function=F.relu6):
    """``min(max(x, 0), 6)``.

    Shape: any; the result has the same.

    Paper: Howard et al., arXiv:1704.04861.

    Examples:
        >>> argosy.nn.ReLU6()(argosy.to_tensor([-1.0, 2.0, 8.0])).tolist()
        [0.0, 2.0, 6.0]
    """


class SELU(_Activation, function=F.selu):
    """``scale * (x where positive, else alpha (exp(x) - 1))``.

    Args:
        scale, alpha (float): the defaults keep mean 0 and variance 1 from layer to layer.

    Shape: any; the result has the same.

    Paper: Klambauer et al., arXiv:1706.02515.

    Examples:
        >>> argosy.nn.SELU()(argosy.to_tensor([-1.0, 0.0, 1.0])).tolist()
        [-1.1113, 0.0, 1.0507]
    """

    @keeps
    def __init__(
        self,
        scale=1.0507009873554804934193349852946,
        alpha=1.6732632423543772848170429916717,
        name=None,
    ): ...


class Sigmoid(_Activation, function=F.sigmoid):
    """``1 / (1 + exp(-x))``.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Sigmoid()(argosy.to_tensor([-1.0, 0.0, 1.0])).tolist()
        [0.2689, 0.5, 0.7311]
    """

    name = other_name("_name")


class Softmax(_InputActivation, function=F.softmax):
    """``exp(x)`` divided by its sum along one axis.

    Args:
        axis (int): axis whose elements sum to 1; ``dim`` is its other name.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Softmax()(argosy.to_tensor([1.0, 2.0, 3.0])).tolist()
        [0.09, 0.2447, 0.6652]
    """

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=-1, name=None): ...


class Softplus(_Activation, function=F.softplus):
    """``log(1 + exp(beta x)) / beta``, and ``x`` itself where ``beta x > threshold``.

    Args:
        beta (float): sharpness of the bend.
        threshold (float): from here on the result is ``x``.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Softplus()(argosy.to_tensor([-1.0, 0.0, 30.0])).tolist()
        [0.3133, 0.6931, 30.0]
    """

    @keeps
    def __init__(self, beta=1, threshold=20, name=None): ...


class Softshrink(_InputActivation, function=F.softshrink):
    """``x`` moved towards 0 by ``threshold``, 0 where it is nearer.

    Args:
        threshold (float): how far, 0 or more; ``lambd`` is its other name.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Softshrink()(argosy.to_tensor([-1.0, 0.3, 2.0])).tolist()
        [-0.5, 0.0, 1.5]
    """

    lambd = other_name("_threshold")

    @alias(lambd="threshold")
    @keeps
    def __init__(self, threshold=0.5, name=None): ...


class Softsign(_Activation, function=F.softsign):
    """``x / (1 + abs(x))``.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Softsign()(argosy.to_tensor([-1.0, 0.0, 3.0])).tolist()
        [-0.5, 0.0, 0.75]
    """


class Swish(_Activation, function=F.swish):
    """``x * sigmoid(x)``, as :class:`Silu`.

    Shape: any; the result has the same.

    Paper: Ramachandran et al., arXiv:1710.05941.

    Examples:
        >>> argosy.nn.Swish()(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.2689, 0.0, 1.7616]
    """


class Tanh(_Activation, function=F.tanh):
    """Hyperbolic tangent.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Tanh()(argosy.to_tensor([-1.0, 0.0, 1.0])).tolist()
        [-0.7616, 0.0, 0.7616]
    """


class Tanhshrink(_Activation, function=F.tanhshrink):
    """``x - tanh(x)``.

    Shape: any; the result has the same.

    Examples:
        >>> argosy.nn.Tanhshrink()(argosy.to_tensor([-1.0, 0.0, 1.0])).tolist()
        [-0.2384, 0.0, 0.2384]
    """


class ThresholdedReLU(_Activation, function=F.thresholded_relu):
    """``x`` where ``x > threshold``, else ``value``.

    Args:
        threshold (float): what has to be exceeded.
        value (float): what stands elsewhere.

    Shape: any; the result has the same.

    Paper: Konda et al., arXiv:1402.3337.

    Examples:
        >>> argosy.nn.ThresholdedReLU()(argosy.to_tensor([-1.0, 1.0, 2.0])).tolist()
        [0.0, 0.0, 2.0]
    """

    @keeps
    def __init__(self, threshold=1.0, value=0.0, name=None): ...


class Silu(_InputActivation, function=F.silu):
    """``x * sigmoid(x)``.

    Args:
        inplace (bool): write the result into the input.

    Shape: any; the result has the same.

    Paper: Elfwing et al., arXiv:1702.03118.

    Examples:
        >>> argosy.nn.Silu()(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.2689, 0.0, 1.7616]
    """

    @keeps
    def __init__(self, inplace=False, name=None): ...


class PReLU(_Activation):
    """``x`` where positive, else ``weight * x`` with a learned weight.

    Args:
        num_parameters (int): 1 for one weight, or the number of channels.
        init (float): first value of the weights.
        weight_attr (ParamAttr, optional): attributes of the parameter ``_weight`` [num_parameters].
        data_format (str): where the channels are, 'NCHW' or 'NHWC' or those of other ranks.

    Shape: any, with the channels on axis 1 (or last); the result has the same.

    Paper: He et al., arXiv:1502.01852.

    Examples:
        >>> argosy.nn.PReLU(init=0.5)(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.5, 0.0, 2.0]
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
    """Leaky ReLU whose slopes are drawn from [lower, upper) while training, their mean in ``eval()``.

    Args:
        lower, upper (float): bounds of the slopes, 0 <= lower <= upper <= 1.

    Shape: any; the result has the same.

    Paper: Xu et al., arXiv:1505.00853.

    Examples:
        >>> slopes = argosy.nn.RReLU(0.1, 0.3)
        >>> slopes.eval()
        RReLU(lower=0.1, upper=0.3, training=False, dtype=float32)
        >>> slopes(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.2, 0.0, 2.0]
    """

    _kept_as = {"training": "training"}
    _repr_shows = ("lower", "upper", "training", "dtype", "name")

    @keeps
    def __init__(self, lower=1.0 / 8.0, upper=1.0 / 3.0, name=None): ...

    def forward(self, x):
        return F.rrelu(x, self._lower, self._upper, self.training)


class Softmax2D(_Activation):
    """Softmax over the channels at each position.

    Shape: [N, C, H, W] or [C, H, W]; the result has the same.

    Raises:
        AssertionError: the input has neither 3 nor 4 dimensions (at the call).

    Examples:
        >>> argosy.nn.Softmax2D()(argosy.zeros([1, 4, 1, 2])).flatten().tolist()
        [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25]
    """

    def forward(self, x):
        if len(x.shape) not in (3, 4):
            raise AssertionError(
                f"[Softmax2D] x: expected 3 or 4 dimensions, got {len(x.shape)}. Do this: "
                "reshape it, or use Softmax."
            )
        return F.softmax(x, axis=-3)
