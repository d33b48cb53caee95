"""Activations. Most are generated from the op definitions; those with odd arguments are here."""

from __future__ import annotations

from argosy import _core
from argosy._support import into

from ._args import alias

ops = _core.ops


@alias(input="x")
def silu(x, inplace=False, name=None):
    """``x * sigmoid(x)``.

    Args:
        x: float tensor of any shape.
        inplace (bool): write the result into ``x``.

    Returns:
        Tensor like x.

    Paper: Elfwing, Uchibe and Doya, arXiv:1702.03118.

    Examples:
        >>> argosy.nn.functional.silu(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.2689, 0.0, 1.7616]
    """
    return ops.silu_(x) if inplace else ops.silu(x)


@alias(input="x")
def gelu(x, approximate=False, name=None, *, out=None):
    """``x`` times the distribution function of the standard normal at ``x``.

    Args:
        x: float tensor of any shape.
        approximate (bool | str): True or 'tanh' for the form with tanh, False or 'none' for the exact
            one.
        out (Tensor, optional): takes the result.

    Returns:
        Tensor like x.

    Raises:
        ValueError: ``approximate`` is another string.

    Paper: Hendrycks and Gimpel, arXiv:1606.08415.

    Examples:
        >>> argosy.nn.functional.gelu(argosy.to_tensor([-1.0, 0.0, 2.0])).tolist()
        [-0.1587, 0.0, 1.9545]
    """
    if isinstance(approximate, str):
        if approximate not in ("tanh", "none"):
            raise ValueError(
                f"(InvalidArgument) [gelu] approximate: expected a bool, 'tanh' or 'none', got {approximate!r}. "
                "Do this: use one of them."
            )
        approximate = approximate == "tanh"
    return into(out, ops.gelu(x, bool(approximate)))


def rrelu(x, lower=1.0 / 8.0, upper=1.0 / 3.0, training=True, name=None):
    """Leaky ReLU with a random slope per element while training, the mean slope otherwise.

    Args:
        x: float tensor of any shape.
        lower, upper (float): bounds of the uniform slope, 0 <= lower <= upper <= 1.
        training (bool): whether slopes are drawn.

    Returns:
        Tensor like x.

    Raises:
        TypeError: a bound is no float.
        ValueError: the bounds are out of order or out of range.

    Paper: Xu et al., arXiv:1505.00853.

    Examples:
        >>> x = argosy.to_tensor([-1.0, 2.0])
        >>> argosy.nn.functional.rrelu(x, 0.1, 0.3, training=False).tolist()
        [-0.2, 2.0]
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

    Args:
        x: logits, float tensor.
        temperature (float): positive; the smaller, the closer to one-hot.
        hard (bool): return the one-hot sample, with the gradient of the soft one.
        axis (int): axis of the categories.

    Returns:
        Tensor like x that sums to 1 along ``axis``.

    Paper: Jang, Gu and Poole, arXiv:1611.01144.

    Examples:
        >>> out = argosy.nn.functional.gumbel_softmax(argosy.zeros([3, 4]), hard=True)
        >>> out.sum(axis=-1).tolist(), out.max(axis=-1).tolist()
        ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
    """
    return ops.gumbel_softmax(x, temperature, hard, axis)
