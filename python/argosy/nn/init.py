"""Functions that fill a given tensor in place, one for each initializer."""

from __future__ import annotations

from argosy import tensor as _tensor
from argosy._beside import beside
from argosy.autograd import no_grad
from argosy.base.parameter import set_data

from .initializer import (
    Constant,
    Dirac,
    KaimingNormal,
    KaimingUniform,
    Normal,
    Orthogonal,
    TruncatedNormal,
    Uniform,
    XavierNormal,
    XavierUniform,
    calculate_gain,  # noqa: F401
)
from .initializer.initializer import Initializer


def _calculate_fan_in_and_fan_out(var):
    return Initializer()._compute_fans(list(var.shape))


def _fill(initializer, tensor):
    initializer(tensor)
    return tensor


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Fill ``tensor`` as ``KaimingUniform`` does; ``a`` is the slope of leaky_relu."""
    return _fill(KaimingUniform(None, a, nonlinearity, mode), tensor)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu"):
    """Fill ``tensor`` as ``KaimingNormal`` does; ``a`` is the slope of leaky_relu."""
    return _fill(KaimingNormal(None, a, nonlinearity, mode), tensor)


def xavier_uniform_(tensor, gain=1.0, fan_in=None, fan_out=None):
    """Fill ``tensor`` as ``XavierUniform`` does."""
    return _fill(XavierUniform(fan_in, fan_out, gain), tensor)


def xavier_normal_(tensor, gain=1.0, fan_in=None, fan_out=None):
    """Fill ``tensor`` as ``XavierNormal`` does."""
    return _fill(XavierNormal(fan_in, fan_out, gain), tensor)


def uniform_(tensor, a=0.0, b=1.0):
    """Fill ``tensor`` with uniform values in [a, b)."""
    return _fill(Uniform(a, b), tensor)


def normal_(tensor, mean=0.0, std=1.0):
    """Fill ``tensor`` with Gaussian values."""
    return _fill(Normal(mean, std), tensor)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    """Fill ``tensor`` with Gaussian values within [a, b]."""
    return _fill(TruncatedNormal(mean, std, a, b), tensor)


def constant_(tensor, val):
    """Fill ``tensor`` with ``val``."""
    return _fill(Constant(val), tensor)


def ones_(tensor):
    """Fill ``tensor`` with ones."""
    return _fill(Constant(1.0), tensor)


def zeros_(tensor):
    """Fill ``tensor`` with zeros."""
    return _fill(Constant(0.0), tensor)


def dirac_(tensor, groups=1):
    """Fill a convolution weight as ``Dirac`` does."""
    return _fill(Dirac(groups), tensor)


@beside
def eye_(tensor):
    """Fill a matrix with ones on the diagonal and zeros elsewhere.

    Raises:
        AssertionError: ``tensor`` has not 2 dimensions.
    """
    if len(tensor.shape) != 2:
        raise AssertionError(
            f"[eye_] needs a matrix: expected 2 dimensions, got shape {list(tensor.shape)}. "
            "Do this: reshape it."
        )
    with no_grad():
        rows, cols = tensor.shape
        set_data(tensor, _tensor.eye(rows, cols, tensor.dtype))
    return tensor


def orthogonal_(tensor, gain=1):
    """Fill ``tensor`` as ``Orthogonal`` does."""
    return _fill(Orthogonal(gain), tensor)
