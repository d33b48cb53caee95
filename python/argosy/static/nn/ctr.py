"""Layers of click models."""

from __future__ import annotations

from argosy import _core
from argosy._support import no_effect
from argosy.base import unique_name
from argosy.base.param_attr import ParamAttr
from argosy.nn.initializer import Constant
from argosy.nn.layer._helper import make_parameter

from .common import _activated

__all__ = ["continuous_value_model", "data_norm"]


def continuous_value_model(input, cvm, use_cvm=True):
    """Turns the counts of an embedding of a click feature into values, or drops them.

    Args:
        input (Variable): float, [N, D]: show and click of the feature, then its embedding.
        cvm (Variable): float, [N, 2]: show and click of the sample. The gradient of the two counts is
            this, what a table adds to them, and no derivative.
        use_cvm (bool): The counts become log(show + 1) and log(click + 1) - log(show + 1); if not,
            they are dropped.

    Returns:
        Variable: [N, D], or [N, D - 2].

    Raises:
        ValueError: input is not [N, D] with D > 2, or cvm not [N, 2].

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 5], "float32")
        >>> cvm = argosy.static.data("cvm", [-1, 2], "float32")
        >>> list(argosy.static.nn.continuous_value_model(x, cvm, use_cvm=False).shape)
        [-1, 3]
    """
    return _core.ops.continuous_value_model(input, cvm, bool(use_cvm))


def data_norm(input, act=None, epsilon=1e-05, param_attr=None, data_layout="NCHW", in_place=False,
              name=None, moving_mean_name=None, moving_variance_name=None,
              do_model_average_for_mean_and_var=True, slot_dim=-1, sync_stats=False,
              summary_decay_rate=0.9999999, enable_scale_and_shift=False):  # fmt: skip
    """Normalizes each column by the mean and the deviation of all data seen so far.

    The layer keeps three sums of [C]: the number of samples, their sum and their squared distance
    from the mean. y = (x - sum / size) * sqrt(size / square_sum). A step of an optimizer adds the
    batch's numbers to them, which are their gradients: state = state * summary_decay_rate + gradient,
    whatever the optimizer's own rule, and without clipping or decay. Threads that share one scope add
    to the same sums; so do workers of a parameter server, whose table forgets by 0.999999 a push.

    Args:
        input (Variable): float, [N, C].
        act (str, optional): Such as 'relu'.
        epsilon (float): For each sample in the squared distance.
        param_attr (dict, optional): First values: batch_size (1e4), batch_sum (0), batch_square (1e4),
            scale_w (1), bias (0).
        name (str, optional): Prefix of the states' names.
        slot_dim (int): Above 0: columns are slots of so many, the first of each a count of shows.
            Slots without shows become zeros and do not count; a batch adds its average as one sample.
        summary_decay_rate (float): See above.
        enable_scale_and_shift (bool): Then y * scale_w + bias, both trained.
        data_layout, in_place, moving_mean_name, moving_variance_name: Have no effect on results.
        do_model_average_for_mean_and_var, sync_stats: Likewise.

    Returns:
        Variable: Of the shape of input.

    Raises:
        ValueError: input is not [N, C], or slot_dim does not divide C.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [-1, 4], "float32")
        >>> list(argosy.static.nn.data_norm(x).shape)
        [-1, 4]
    """
    no_effect(
        "data_norm", "the input is [N, C], and its state is called after the layer",
        data_layout=(data_layout, "NCHW"), in_place=(in_place, False),
        moving_mean_name=(moving_mean_name, None), moving_variance_name=(moving_variance_name, None),
        do_model_average_for_mean_and_var=(do_model_average_for_mean_and_var, True),
        sync_stats=(sync_stats, False),
    )  # fmt: skip
    if len(input.shape) != 2 or input.shape[1] < 0:
        raise ValueError(
            f"[data_norm] input: expected [N, C] with a known C, got {list(input.shape)}. Do this:"
            " reshape it, and give static.data the size."
        )
    given = dict(param_attr) if isinstance(param_attr, dict) else {}
    prefix = unique_name.generate("data_norm") if name is None else name

    def make(suffix, value):
        attr = ParamAttr(name=f"{prefix}.{suffix}", initializer=Constant(float(value)))
        return make_parameter(prefix, [input.shape[1]], attr, input.dtype, False, None)

    scale = bias = None
    if enable_scale_and_shift:
        scale = make("scale_w", given.get("scale_w", 1.0))
        bias = make("bias", given.get("bias", 0.0))
    states = [
        make("batch_size", given.get("batch_size", 1e4)),
        make("batch_sum", given.get("batch_sum", 0.0)),
        make("batch_square_sum", given.get("batch_square", 1e4)),
    ]
    for state in states:
        state.summary_decay_rate = float(summary_decay_rate)
    out = _core.ops.data_norm(input, *states, scale, bias, float(epsilon), int(slot_dim))
    return _activated(out, act)
