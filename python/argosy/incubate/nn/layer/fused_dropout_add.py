"""Dropout, alone and with what follows it."""

from __future__ import annotations

from argosy.nn import Dropout, Layer
from argosy.nn.initializer import Constant
from argosy.nn.layer._forwarding import ForwardingLayer, keeps

from .. import functional as F


class FusedDropout(Dropout):
    """``nn.Dropout``, under the name that programs with fused layers use.

    Args:
        p (float): probability that an element of x becomes zero while training.
        axis (int | list, optional): axes along which elements are dropped apart; None: all.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.

    Shape: any; the result has the same.

    Raises:
        ValueError: p is not in 0 .. 1, or there is no such mode.

    Examples:
        >>> argosy.incubate.nn.FusedDropout(0.5).eval()(argosy.ones([2])).tolist()
        [1.0, 1.0]
    """

    def __init__(self, p=0.5, axis=None, mode="upscale_in_train", name=None):
        super().__init__(p, axis=axis, mode=mode, name=name)


class FusedDropoutAdd(ForwardingLayer):
    """``dropout(x) + y``.

    Args:
        p (float): probability that an element of x becomes zero while training.
        mode (str): 'upscale_in_train' or 'downscale_in_infer', see ``nn.functional.dropout``.

    Shape: x and y alike; the result has the same.

    Examples:
        >>> add = argosy.incubate.nn.FusedDropoutAdd().eval()
        >>> add(argosy.ones([2]), argosy.ones([2])).tolist()
        [2.0, 2.0]
    """

    @keeps
    def __init__(self, p=0.5, mode="upscale_in_train", name=None): ...

    def forward(self, x, y):
        return F.fused_dropout_add(x, y, self.p, self.training, self.mode)


class FusedBiasDropoutResidualLayerNorm(Layer):
    """``layer_norm(residual + dropout(x + bias))`` over the last dimension.

    Args:
        embed_dim (int): size of the last dimension.
        dropout_rate (float): probability while training.
        weight_attr (ParamAttr, optional): attributes of ``ln_scale`` [embed_dim], ones.
        bias_attr (ParamAttr | bool, optional): attributes of ``linear_bias`` and ``ln_bias`` [embed_dim],
            zeros.
        epsilon (float): added to the variance.

    Shape: x and residual [.., embed_dim]; the result has the same.

    Raises:
        AssertionError: ``embed_dim`` is not positive.

    Examples:
        >>> layer = argosy.incubate.nn.FusedBiasDropoutResidualLayerNorm(2).eval()
        >>> layer(argosy.to_tensor([[1.0, 3.0]]), argosy.zeros([1, 2])).tolist()
        [[-1.0, 1.0]]
    """

    def __init__(
        self,
        embed_dim,
        dropout_rate=0.5,
        weight_attr=None,
        bias_attr=None,
        epsilon=1e-5,
        name=None,
    ):
        super().__init__()
        if embed_dim <= 0:
            raise AssertionError(
                f"[FusedBiasDropoutResidualLayerNorm] embed_dim must be 1 or more, got {embed_dim}."
                " Do this: pass the size of the last dimension."
            )
        self.embed_dim, self.dropout_rate, self._epsilon = embed_dim, dropout_rate, epsilon
        self.name = name
        self.linear_bias = self.create_parameter(shape=[embed_dim], attr=bias_attr, is_bias=True)
        self.ln_scale = self.create_parameter(
            shape=[embed_dim], attr=weight_attr, default_initializer=Constant(1.0)
        )
        self.ln_bias = self.create_parameter(shape=[embed_dim], attr=bias_attr, is_bias=True)

    def forward(self, x, residual):
        return F.fused_bias_dropout_residual_layer_norm(
            x, residual, self.linear_bias, self.ln_scale, self.ln_bias, self.dropout_rate,
            self._epsilon, self.training,
        )  # fmt: skip

    def extra_repr(self):
        name = f", name={self.name}" if self.name else ""
        return f"embed_dim={self.embed_dim}, seq_len={self.dropout_rate}, epsilon={self._epsilon}{name}"
