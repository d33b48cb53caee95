"""The feed-forward part of a transformer."""

from __future__ import annotations

from argosy._support import unsupported
from argosy.nn import functional as F

from ._check import ONE_PROCESS


def fused_feedforward(
    x,
    linear1_weight,
    linear2_weight,
    linear1_bias=None,
    linear2_bias=None,
    ln1_scale=None,
    ln1_bias=None,
    ln2_scale=None,
    ln2_bias=None,
    dropout1_rate=0.5,
    dropout2_rate=0.5,
    activation="relu",
    ln1_epsilon=1e-5,
    ln2_epsilon=1e-5,
    pre_layer_norm=False,
    training=True,
    mode="upscale_in_train",
    ring_id=-1,
    add_residual=True,
    name=None,
):
    """``x + dropout2(linear2(dropout1(activation(linear1(x)))))``, normalized.

    With pre_layer_norm the argument of linear1 is normalized (ln1), otherwise the result (ln2).

    Args:
        x (Tensor): [B, S, D].
        linear1_weight: [D, hidden].
        linear2_weight: [hidden, D].
        linear1_bias, linear2_bias: [hidden], [D] or None.
        ln1_scale, ln1_bias, ln2_scale, ln2_bias: [D] or None.
        dropout1_rate, dropout2_rate (float): probabilities.
        activation (str): name of a function in ``nn.functional``.
        ln1_epsilon, ln2_epsilon (float): added to variances.
        pre_layer_norm (bool): see above.
        training (bool): whether to drop.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.
        ring_id (int): only -1: layers are not divided between processes.
        add_residual (bool): add x.

    Returns:
        Tensor [B, S, D].

    Raises:
        NotImplementedError: ``ring_id`` is given.

    Examples:
        >>> x, up, down = argosy.ones([2, 3, 4]), argosy.ones([4, 8]), argosy.ones([8, 4])
        >>> argosy.incubate.nn.functional.fused_feedforward(x, up, down).shape
        paddle.Size([2, 3, 4])
    """
    unsupported("fused_feedforward", ONE_PROCESS, ring_id=(ring_id, -1))
    width = x.shape[-1]
    inner = F.layer_norm(x, width, ln1_scale, ln1_bias, ln1_epsilon) if pre_layer_norm else x
    inner = getattr(F, activation)(F.linear(inner, linear1_weight, linear1_bias))
    inner = F.dropout(inner, dropout1_rate, training=training, mode=mode)
    inner = F.linear(inner, linear2_weight, linear2_bias)
    inner = F.dropout(inner, dropout2_rate, training=training, mode=mode)
    result = x + inner if add_residual else inner
    if pre_layer_norm:
        return result
    return F.layer_norm(result, width, ln2_scale, ln2_bias, ln2_epsilon)
