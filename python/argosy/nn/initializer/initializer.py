"""Base class of initializers, fan computation and the global initializer."""

from __future__ import annotations

import functools
import math
import numbers
import operator

from argosy import _core
from argosy._dtypes import SIXTEEN_BIT
from argosy._programs import mode
from argosy._support import check_choice, need_type, no_effect
from argosy.autograd import no_grad
from argosy.base.parameter import set_data

_global_weight = None
_global_bias = None


class Initializer:
    """Fills a parameter: ``initializer(param)`` writes values into it in place.

    A subclass defines ``forward(param, block=None)``; those of this package define ``_values``.
    """

    _initializes = True  # what ParamAttr, which does not know this class, recognizes it by

    def __call__(self, param, block=None):
        with no_grad():
            return self.forward(param, block)

    def forward(self, param, block=None):
        """Fill a parameter, in place.

        Args:
            param: the parameter.
            block: has no effect.

        Examples:
            >>> x = argosy.create_parameter([2], "float32")
            >>> argosy.nn.initializer.Constant(2.0).forward(x)
            >>> x.tolist()
            [2.0, 2.0]
        """
        no_effect("Initializer", "values go to the parameter itself", block=(block, None))
        set_data(param, self._values(list(param.shape), param.dtype))

    def _values(self, shape, dtype):
        """A new tensor with the initial values."""
        raise NotImplementedError(
            f"[{type(self).__name__}] no values: expected the initializer to define forward. "
            "Do this: define forward(self, param, block=None) that fills param in place."
        )

    def _compute_fans(self, shape):
        """(fan in, fan out) of a weight: [in, out] or [out, in, kernel...]."""
        if len(shape) == 0:
            return 1, 1
        if len(shape) == 1:
            return shape[0], shape[0]
        if len(shape) == 2:
            return shape[0], shape[1]
        receptive = functools.reduce(operator.mul, shape[2:], 1)
        return shape[1] * receptive, shape[0] * receptive


def _drawn(draw, dtype):
    """``draw(dtype)`` with 16-bit types drawn in float32 and cast, so that values agree."""
    if _core.dtype(dtype) in SIXTEEN_BIT:
        return draw("float32").astype(dtype)
    return draw(dtype)


def seed_of(initializer):
    """The seed that its values are drawn from: its own, or random_seed of the Program that gives
    parameters their first values; 0 draws from the generator of :func:`argosy.seed`.

    So parameters of one shape and kind of initializer start equal in a Program with a seed.
    """
    if initializer._seed:
        return initializer._seed
    main, startup = mode.existing_programs()
    program = startup if mode.static_mode() else main
    return program.random_seed if program is not None else 0


def draw_uniform(shape, low, high, seed, dtype):
    return _drawn(lambda kind: _core.ops.uniform(shape, low, high, seed, kind), dtype)


def draw_gaussian(shape, mean, std, seed, dtype):
    return _drawn(lambda kind: _core.ops.gaussian(shape, mean, std, seed, kind), dtype)


def calculate_gain(nonlinearity, param=None):
    """Gain by which an initializer scales weights that a nonlinearity follows.

    Args:
        nonlinearity (str): sigmoid, linear, conv1d..3d, conv1d_transpose..3d_transpose,
            conv_transpose1d..3d, tanh, relu, leaky_relu or selu.
        param (float, optional): negative slope of leaky_relu (0.01 if None).

    Returns:
        float: 1 for the linear ones and sigmoid, 5/3 for tanh, sqrt(2) for relu, sqrt(2 / (1 + slope^2))
        for leaky_relu, 3/4 for selu.

    Raises:
        ValueError: the nonlinearity is not in the list.

    Examples:
        >>> argosy.nn.initializer.calculate_gain("leaky_relu", 1.0)
        1.0
    """
    if nonlinearity == "leaky_relu":
        param = 0.01 if param is None else param
        need_type("calculate_gain", "param", param, numbers.Real, "pass the negative slope")
        slope = float(param)
        return math.sqrt(2.0 / (1 + slope * slope))
    gains = {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4, "sigmoid": 1, "linear": 1}
    for n in "123":
        gains[f"conv{n}d"] = gains[f"conv{n}d_transpose"] = gains[f"conv_transpose{n}d"] = 1
    check_choice("calculate_gain", "nonlinearity", nonlinearity, [*gains, "leaky_relu"])
    return gains[nonlinearity]


def set_global_initializer(weight_init, bias_init=None):
    """Let parameters without an initializer of their own start from these.

    Args:
        weight_init (Initializer): of weights; None goes back to the layers' own defaults.
        bias_init (Initializer, optional): of biases; None goes back to the layers' own defaults.

    Raises:
        TypeError: one is neither an initializer nor None.

    Examples:
        >>> init = argosy.nn.initializer
        >>> init.set_global_initializer(init.Constant(1.0), init.Constant(2.0))
        >>> layer = argosy.nn.Linear(1, 1)
        >>> layer.weight.item(), layer.bias.item()
        (1.0, 2.0)
        >>> init.set_global_initializer(None)
    """
    global _global_weight, _global_bias
    for value, name in ((weight_init, "weight_init"), (bias_init, "bias_init")):
        if value is not None and not isinstance(value, Initializer):
            raise TypeError(
                f"[set_global_initializer] The type of '{name}' is wrong: expected an Initializer "
                f"or None, got {type(value)}. Do this: pass e.g. nn.initializer.Constant(0.0)."
            )
    _global_weight, _global_bias = weight_init, bias_init


def _global_initializer(is_bias):
    return _global_bias if is_bias else _global_weight
