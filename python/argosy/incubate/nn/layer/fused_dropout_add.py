"""Dropout with what follows it."""

from __future__ import annotations

from argosy.nn import Layer
from argosy.nn.initializer import Constant
from argosy.nn.layer._forwarding import ForwardingLayer, keeps

from .. import functional as F


class FusedDropoutAdd(ForwardingLayer):
    """``dropout(x) + y``."""

    @keeps
    def __init__(self, p=0.5, mode="upscale_in_train", name=None): ...

    def forward(self, x, y):
        return F.fused_dropout_add(x, y, self.p, self.training, self.mode)


class FusedBiasDropoutResidualLayerNorm(Layer):
    """``layer_norm(residual + dropout(x + bias))`` over the last dimension, of embed_dim entries."""

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
