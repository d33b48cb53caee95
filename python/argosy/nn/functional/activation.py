"""Activations. Most are generated from the op definitions; those with odd arguments are here."""

from __future__ import annotations

from argosy import _core

from ._args import alias

ops = _core.ops


@alias(input="x")
def silu(x, inplace=False, name=None):
    """``x * sigmoid(x)``; with ``inplace`` written into ``x``.

    Elfwing, Uchibe and Doya, arXiv:1702.03118.
    """
    return ops.silu_(x) if inplace else ops.silu(x)


@alias(input="x")
def gelu(x, approximate=False, name=None):
    """``x`` times the normal distribution function of ``x``.

    Hendrycks and Gimpel, arXiv:1606.08415.

    Args:
        x: float tensor.
        approximate: True or 'tanh' for the form with tanh, False or 'none' for the exact one.
    """
    if isinstance(approximate, str):
        if approximate not in ("tanh", "none"):
            raise ValueError(
                f"(InvalidArgument) [gelu] approximate: expected a bool, 'tanh' or 'none', got {approximate!r}. "
                "Do this: use one of them."
            )
        approximate = approximate == "tanh"
    return ops.gelu(x, bool(approximate))


def rrelu(x, lower=1.0 / 8.0, upper=1.0 / 3.0, training=True, name=None):
    """Leaky ReLU with a random slope per element while training, the mean slope otherwise.

    Xu et al., arXiv:1505.00853.

    Args:
        lower, upper: bounds of the uniform slope, floats with 0 <= lower <= upper <= 1.

    Raises:
        TypeError: a bound is no float.
        ValueError: the bounds are out of order or out of range.
    """
    if not isinstance(lower, float) or not isinstance(upper, float):
        raise TypeError(
            f"[rrelu] lower and upper: expected floats, got {lower!r} and {upper!r}. Do "
            "this: write them with a decimal point."
        )
    if not 0 <= lower <= 1:
        raise ValueError(f"[rrelu] lower: expected a number in [0, 1], got {lower}. Do this: correct it.")  # fmt: skip
    if upper < lower:
        raise ValueError(
            f"[rrelu] upper must not be below lower: got lower={lower}, upper={upper}. Do "
            "this: exchange them."
        )
    if upper > 1:
        raise ValueError(
            f"[rrelu] upper: expected a number in [lower, 1], got {upper}. Do this: correct it."
        )
    return ops.rrelu(x, lower, upper, bool(training))


def gumbel_softmax(x, temperature=1.0, hard=False, axis=-1, name=None):
    """Softmax of ``(x + Gumbel noise) / temperature``: a differentiable sample of a category.

    Jang, Gu and Poole, arXiv:1611.01144.

    Args:
        x: logits.
        temperature: positive; the smaller, the closer to one-hot.
        hard: return the one-hot sample, with the gradient of the soft one.
    """
    return ops.gumbel_softmax(x, temperature, hard, axis)
