"""The parts of a transformer."""

from __future__ import annotations

from argosy._support import unsupported
from argosy.nn import Layer
from argosy.nn.initializer import Constant

from .. import functional as F
from ..functional._check import ONE_PROCESS


def _positive(layer, **sizes):
    for name, value in sizes.items():
        if value <= 0:
            raise AssertionError(
                f"[{layer}] {name} must be 1 or more, got {value}. Do this: correct it."
            )


class FusedMultiHeadAttention(Layer):
    """Self-attention with residual and layer normalization.

    See :func:`argosy.incubate.nn.functional.fused_multi_head_attention` for what it computes.

    Args:
        embed_dim (int): features of input and output, divisible by ``num_heads``.
        num_heads (int): number of heads.
        dropout_rate (float): probability for the result while training.
        attn_dropout_rate (float): probability for attention weights while training.
        kdim, vdim (int, optional): only None or ``embed_dim``.
        normalize_before (bool): normalize the input, otherwise the result.
        need_weights (bool): only False.
        qkv_weight_attr, qkv_bias_attr (ParamAttr | bool, optional): attributes of ``qkv_weight`` and
            ``qkv_bias``; the others likewise.
        linear_weight_attr, linear_bias_attr (ParamAttr | bool, optional): of the result's projection.
        pre_ln_scale_attr, pre_ln_bias_attr (ParamAttr, optional): of the normalization of the input.
        ln_scale_attr, ln_bias_attr (ParamAttr, optional): of the normalization of the result.
        epsilon (float): added to variances.
        nranks, ring_id (int): only 1 and -1: layers are not divided between processes.
        transpose_qkv_wb (bool): ``qkv_weight`` is [embed_dim, 3 embed_dim].

    Shape: (query [B, S, embed_dim], key=None, value=None, attn_mask=None, cache=None) to one like query,
        with a cache to (it, new cache). key and value are None or the query itself.

    Raises:
        AssertionError: a size does not fit, or ``need_weights``.
        NotImplementedError: ``kdim`` or ``vdim`` differs, ``nranks`` or ``ring_id`` is given, or (at the
            call) key or value is another tensor.

    Examples:
        >>> layer = argosy.incubate.nn.FusedMultiHeadAttention(8, 2)
        >>> layer(argosy.ones([2, 3, 8])).shape
        paddle.Size([2, 3, 8])
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout_rate=0.5,
        attn_dropout_rate=0.5,
        kdim=None,
        vdim=None,
        normalize_before=False,
        need_weights=False,
        qkv_weight_attr=None,
        qkv_bias_attr=None,
        linear_weight_attr=None,
        linear_bias_attr=None,
        pre_ln_scale_attr=None,
        pre_ln_bias_attr=None,
        ln_scale_attr=None,
        ln_bias_attr=None,
        epsilon=1e-5,
        nranks=1,
        ring_id=-1,
        transpose_qkv_wb=False,
        name=None,
    ):
        super().__init__()
        _positive("FusedMultiHeadAttention", embed_dim=embed_dim, num_heads=num_heads)
        if need_weights:
            raise AssertionError(
                "[FusedMultiHeadAttention] need_weights must be False. Do this: use"
                " nn.MultiHeadAttention to get the weights."
            )
        unsupported(
            "FusedMultiHeadAttention", ONE_PROCESS, nranks=(nranks, 1), ring_id=(ring_id, -1)
        )
        for name_of, size in (("kdim", kdim), ("vdim", vdim)):
            if size not in (None, embed_dim):
                raise NotImplementedError(
                    f"[FusedMultiHeadAttention] {name_of}: expected None or embed_dim {embed_dim}, got"
                    f" {size}: it attends to the query itself. Do this: use nn.MultiHeadAttention."
                )
        self.kdim, self.vdim = kdim, vdim
        head_dim = embed_dim // num_heads
        if head_dim * num_heads != embed_dim:
            raise AssertionError(
                f"[FusedMultiHeadAttention] embed_dim {embed_dim} must be divisible by num_heads"
                f" {num_heads}. Do this: correct one of them."
            )
        self.normalize_before, self.embed_dim, self.num_heads = (
            normalize_before,
            embed_dim,
            num_heads,
        )
        self.head_dim, self.transpose_qkv_wb, self.name = head_dim, transpose_qkv_wb, name
        self.dropout_rate, self.attn_dropout_rate, self._epsilon = (
            dropout_rate,
            attn_dropout_rate,
            epsilon,
        )
        weight = [3, num_heads, head_dim, embed_dim]
        bias = [3, num_heads, head_dim]
        if transpose_qkv_wb:
            weight, bias = [embed_dim, 3 * embed_dim], [3 * embed_dim]
        width, one = [embed_dim], Constant(1.0)
        self.qkv_weight = self.create_parameter(shape=weight, attr=qkv_weight_attr)
        self.qkv_bias = self.create_parameter(shape=bias, attr=qkv_bias_attr, is_bias=True)
        self.linear_weight = self.create_parameter(
            shape=[embed_dim, embed_dim], attr=linear_weight_attr
        )
        self.linear_bias = self.create_parameter(shape=width, attr=linear_bias_attr, is_bias=True)
        self.pre_ln_scale = self.pre_ln_bias = self.ln_scale = self.ln_bias = None
        if normalize_before:
            self.pre_ln_scale = self.create_parameter(
                shape=width, attr=pre_ln_scale_attr, default_initializer=one
            )
            self.pre_ln_bias = self.create_parameter(
                shape=width, attr=pre_ln_bias_attr, is_bias=True
            )
        else:
            self.ln_scale = self.create_parameter(
                shape=width, attr=ln_scale_attr, default_initializer=one
            )
            self.ln_bias = self.create_parameter(shape=width, attr=ln_bias_attr, is_bias=True)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        """query [B, S, embed_dim]; key and value are the query. attn_mask is added to the scores.

        Raises:
            NotImplementedError: key or value is another tensor.
        """
        for name, given in (("key", key), ("value", value)):
            if given is not None and given is not query:
                raise NotImplementedError(
                    f"[FusedMultiHeadAttention] {name}: expected None or the query itself, got another"
                    f" tensor of shape {list(given.shape)}. Do this: use nn.MultiHeadAttention."
                )
        return F.fused_multi_head_attention(
            query,
            self.qkv_weight,
            self.linear_weight,
            pre_layer_norm=self.normalize_before,
            pre_ln_scale=self.pre_ln_scale,
            pre_ln_bias=self.pre_ln_bias,
            ln_scale=self.ln_scale,
            ln_bias=self.ln_bias,
            pre_ln_epsilon=self._epsilon,
            qkv_bias=self.qkv_bias,
            linear_bias=self.linear_bias,
            cache_kv=cache,
            attn_mask=attn_mask,
            dropout_rate=self.dropout_rate,
            attn_dropout_rate=self.attn_dropout_rate,
            ln_epsilon=self._epsilon,
            training=self.training,
            num_heads=self.num_heads,
            transpose_qkv_wb=self.transpose_qkv_wb,
        )

    def extra_repr(self):
        name = f", name={self.name}" if self.name else ""
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads}, "
            f"dropout_rate={self.dropout_rate}, attn_dropout_rate={self.attn_dropout_rate}, "
            f"epsilon={self._epsilon}, kdim={self.kdim}, vdim={self.vdim}, "
            f"normalize_before={self.normalize_before}, need_weights=False, "
            f"dtype={self._dtype}{name}"
        )


class FusedFeedForward(Layer):
    """Two linear layers with residual and layer normalization.

    See :func:`argosy.incubate.nn.functional.fused_feedforward` for what it computes.

    Args:
        d_model, dim_feedforward (int): outer and inner features.
        dropout_rate (float): probability for the result while training.
        epsilon (float): added to variances.
        activation (str): name of a function in ``nn.functional``.
        act_dropout_rate (float, optional): probability after the activation; None is ``dropout_rate``.
        normalize_before (bool): normalize the input, otherwise the result.
        linear1_weight_attr, linear1_bias_attr (ParamAttr | bool, optional): attributes of the first
            layer's parameters.
        linear2_weight_attr, linear2_bias_attr (ParamAttr | bool, optional): of the second layer's.
        ln1_scale_attr, ln1_bias_attr (ParamAttr, optional): of the normalization of the input.
        ln2_scale_attr, ln2_bias_attr (ParamAttr, optional): of the normalization of the result.
        nranks, ring_id (int): only 1 and -1: layers are not divided between processes.

    Shape: [B, S, d_model]; the result has the same.

    Raises:
        AssertionError: a size is not positive.
        NotImplementedError: ``nranks`` or ``ring_id`` is given.

    Examples:
        >>> argosy.incubate.nn.FusedFeedForward(4, 8)(argosy.ones([2, 3, 4])).shape
        paddle.Size([2, 3, 4])
    """

    def __init__(
        self,
        d_model,
        dim_feedforward,
        dropout_rate=0.1,
        epsilon=1e-05,
        activation="relu",
        act_dropout_rate=None,
        normalize_before=False,
        linear1_weight_attr=None,
        linear1_bias_attr=None,
        linear2_weight_attr=None,
        linear2_bias_attr=None,
        ln1_scale_attr=None,
        ln1_bias_attr=None,
        ln2_scale_attr=None,
        ln2_bias_attr=None,
        nranks=1,
        ring_id=-1,
        name=None,
    ):
        super().__init__()
        _positive("FusedFeedForward", d_model=d_model, dim_feedforward=dim_feedforward)
        unsupported("FusedFeedForward", ONE_PROCESS, nranks=(nranks, 1), ring_id=(ring_id, -1))
        self._d_model, self._dim_feedforward = d_model, dim_feedforward
        self._dropout_rate = dropout_rate
        self._act_dropout_rate = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self._act_method, self._normalize_before = activation, normalize_before
        self._epsilon, self.name = epsilon, name
        one = Constant(1.0)
        self._linear1_weight = self.create_parameter(
            shape=[d_model, dim_feedforward], attr=linear1_weight_attr
        )
        self._linear1_bias = self.create_parameter(
            shape=[dim_feedforward], attr=linear1_bias_attr, is_bias=True
        )
        self._linear2_weight = self.create_parameter(
            shape=[dim_feedforward, d_model], attr=linear2_weight_attr
        )
        self._linear2_bias = self.create_parameter(
            shape=[d_model], attr=linear2_bias_attr, is_bias=True
        )
        self._ln1_scale = self._ln1_bias = self._ln2_scale = self._ln2_bias = None
        if normalize_before:
            self._ln1_scale = self.create_parameter(
                shape=[d_model], attr=ln1_scale_attr, default_initializer=one
            )
            self._ln1_bias = self.create_parameter(
                shape=[d_model], attr=ln1_bias_attr, is_bias=True
            )
        else:
            self._ln2_scale = self.create_parameter(
                shape=[d_model], attr=ln2_scale_attr, default_initializer=one
            )
            self._ln2_bias = self.create_parameter(
                shape=[d_model], attr=ln2_bias_attr, is_bias=True
            )

    def forward(self, src, cache=None):
        if cache is not None:
            unsupported(
                "FusedFeedForward", "leave it out; only attention has a cache", cache=(cache, None)
            )
        return F.fused_feedforward(
            src,
            self._linear1_weight,
            self._linear2_weight,
            self._linear1_bias,
            self._linear2_bias,
            self._ln1_scale,
            self._ln1_bias,
            self._ln2_scale,
            self._ln2_bias,
            dropout1_rate=self._act_dropout_rate,
            dropout2_rate=self._dropout_rate,
            activation=self._act_method,
            ln1_epsilon=self._epsilon,
            ln2_epsilon=self._epsilon,
            pre_layer_norm=self._normalize_before,
            training=self.training,
        )

    def extra_repr(self):
        name = f", name={self.name}" if self.name else ""
        return (
            f"d_model={self._d_model}, dim_feedforward={self._dim_feedforward}, "
            f"dropout_rate={self._dropout_rate}, epsilon={self._epsilon}, "
            f"activation={self._act_method}, act_dropout_rate={self._act_dropout_rate}, "
            f"normalize_before={self._normalize_before}, dtype={self._dtype}{name}"
        )


class FusedTransformerEncoderLayer(Layer):
    """:class:`FusedMultiHeadAttention`, then :class:`FusedFeedForward`.

    Args:
        d_model (int): features of input and output, divisible by ``nhead``.
        nhead (int): number of heads.
        dim_feedforward (int): inner features of the feed-forward network.
        dropout_rate (float): probability for both results while training.
        activation (str): name of a function in ``nn.functional``.
        attn_dropout_rate (float, optional): probability for attention weights; None is ``dropout_rate``.
        act_dropout_rate (float, optional): probability after the activation; None is ``dropout_rate``.
        normalize_before (bool): normalize the inputs of both parts, otherwise their results.
        weight_attr, bias_attr: attributes; a list of two means attention and feed-forward.

    Shape: (src [B, S, d_model], src_mask=None, cache=None) to one like src, with a cache to (it, new
        cache).

    Examples:
        >>> layer = argosy.incubate.nn.FusedTransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> layer(argosy.ones([2, 3, 8])).shape
        paddle.Size([2, 3, 8])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout_rate=0.1,
        activation="relu",
        attn_dropout_rate=None,
        act_dropout_rate=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        attention = dropout_rate if attn_dropout_rate is None else attn_dropout_rate
        inner = dropout_rate if act_dropout_rate is None else act_dropout_rate
        self.normalize_before = normalize_before
        weights = weight_attr if isinstance(weight_attr, (list, tuple)) else [weight_attr] * 2
        biases = bias_attr if isinstance(bias_attr, (list, tuple)) else [bias_attr] * 2
        self.fused_attn = FusedMultiHeadAttention(
            d_model, nhead, dropout_rate=dropout_rate, attn_dropout_rate=attention,
            normalize_before=normalize_before, qkv_weight_attr=weights[0], qkv_bias_attr=biases[0],
            linear_weight_attr=weights[0], linear_bias_attr=biases[0],
        )  # fmt: skip
        self.ffn = FusedFeedForward(
            d_model, dim_feedforward, dropout_rate=dropout_rate, activation=activation,
            act_dropout_rate=inner, normalize_before=normalize_before,
            linear1_weight_attr=weights[1], linear1_bias_attr=biases[1],
            linear2_weight_attr=weights[1], linear2_bias_attr=biases[1],
        )  # fmt: skip

    def forward(self, src, src_mask=None, cache=None):
        """src [B, S, d_model]; src_mask is added to the scores of the attention."""
        out = self.fused_attn(src, attn_mask=src_mask, cache=cache)
        if cache is None:
            return self.ffn(out)
        out, cache = out
        return self.ffn(out), cache
