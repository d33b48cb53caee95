"""All layers of a transformer, as one."""

from __future__ import annotations

from argosy import _core
from argosy._support import unsupported
from argosy.nn import Layer
from argosy.nn.initializer import Constant

from .. import functional as F
from ..functional._check import ONE_PROCESS
from .fused_transformer import _positive


class FusedMultiTransformer(Layer):
    """Several layers of self-attention and feed-forward network.

    See :func:`argosy.incubate.nn.functional.fused_multi_transformer` for what it computes.

    Attributes of parameters are one for all layers, or a list with one for each. Biases are only there where
    their attributes are given.

    Args:
        embed_dim (int): features of input and output, divisible by ``num_heads``.
        num_heads (int): number of heads.
        dim_feedforward (int): inner features of the network.
        dropout_rate (float): probability while training.
        activation (str): name of a function in ``nn.functional``, 'swiglu' or 'geglu'.
        normalize_before (bool): normalize what attention and network are given, otherwise the results.
        ln_scale_attrs, ln_bias_attrs: attributes of ``ln_scales`` and ``ln_biases``; the others likewise.
        qkv_weight_attrs, qkv_bias_attrs: of the projection to queries, keys and values.
        linear_weight_attrs, linear_bias_attrs: of the projection of the attention's result.
        ffn_ln_scale_attrs, ffn_ln_bias_attrs: of the network's normalization.
        ffn1_weight_attrs, ffn1_bias_attrs, ffn2_weight_attrs, ffn2_bias_attrs: of the network.
        epsilon (float): added to variances.
        residual_alpha (float): factor of the residuals.
        num_layers (int): how many layers; with a list of ``qkv_weight_attrs`` its length.
        nranks, ring_id (int): only 1 and -1: layers are not divided between processes.
        trans_qkvw (bool): ``qkv_weights`` are [3, heads, D, embed_dim], otherwise [embed_dim, 3, heads, D].
        norm_type (str): 'layernorm' or 'rmsnorm'.
        use_neox_rotary_style (bool): rotary embeddings turn neighbours, otherwise two halves.
        gqa_group_size (int): how many key heads there are; -1: as many as heads.

    Shape: src [B, S, embed_dim]; the result has the same. With caches (it, caches).

    Raises:
        AssertionError: a size does not fit, or the number of layers is not known.
        NotImplementedError: ``nranks`` or ``ring_id`` is given.

    Examples:
        >>> layer = argosy.incubate.nn.FusedMultiTransformer(8, 2, 16, num_layers=2)
        >>> layer(argosy.ones([2, 3, 8])).shape
        paddle.Size([2, 3, 8])
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dim_feedforward,
        dropout_rate=0.0,
        activation="gelu",
        normalize_before=True,
        ln_scale_attrs=None,
        ln_bias_attrs=None,
        qkv_weight_attrs=None,
        qkv_bias_attrs=None,
        linear_weight_attrs=None,
        linear_bias_attrs=None,
        ffn_ln_scale_attrs=None,
        ffn_ln_bias_attrs=None,
        ffn1_weight_attrs=None,
        ffn1_bias_attrs=None,
        ffn2_weight_attrs=None,
        ffn2_bias_attrs=None,
        epsilon=1e-5,
        residual_alpha=1.0,
        num_layers=-1,
        nranks=1,
        trans_qkvw=True,
        ring_id=-1,
        norm_type="layernorm",
        use_neox_rotary_style=False,
        gqa_group_size=-1,
        name=None,
    ):
        super().__init__()
        if isinstance(qkv_weight_attrs, (list, tuple)):
            num_layers = len(qkv_weight_attrs)
        _positive(
            "FusedMultiTransformer", embed_dim=embed_dim, num_heads=num_heads,
            dim_feedforward=dim_feedforward, num_layers=num_layers,
        )  # fmt: skip
        unsupported("FusedMultiTransformer", ONE_PROCESS, nranks=(nranks, 1), ring_id=(ring_id, -1))
        if embed_dim % num_heads:
            raise AssertionError(
                f"[FusedMultiTransformer] embed_dim {embed_dim} must be divisible by num_heads"
                f" {num_heads}. Do this: correct one of them."
            )
        self.embed_dim, self.num_heads, self.head_dim = embed_dim, num_heads, embed_dim // num_heads
        self.normalize_before, self.dropout_rate, self.activation = (
            normalize_before,
            dropout_rate,
            activation,
        )
        self.name, self._num_layers = name, num_layers
        self._options = {
            "pre_layer_norm": normalize_before,
            "epsilon": epsilon,
            "residual_alpha": residual_alpha,
            "dropout_rate": dropout_rate,
            "activation": activation,
            "trans_qkvw": trans_qkvw,
            "norm_type": norm_type,
            "use_neox_rotary_style": use_neox_rotary_style,
            "gqa_group_size": gqa_group_size,
        }
        self._dtype = _core.get_default_dtype()
        norm_dtype = "float32" if norm_type == "layernorm" else self._dtype
        heads = [num_heads + 2 * gqa_group_size] if gqa_group_size > 0 else [3, num_heads]
        heads = [*heads, self.head_dim]
        hidden = dim_feedforward * (2 if activation.endswith("glu") else 1)
        one, width = Constant(1.0), [embed_dim]
        weights = {
            "ln_scales": (ln_scale_attrs, width, norm_dtype, one),
            "qkv_weights": (
                qkv_weight_attrs,
                [*heads, embed_dim] if trans_qkvw else [embed_dim, *heads],
                self._dtype,
                None,
            ),
            "linear_weights": (linear_weight_attrs, [embed_dim, embed_dim], self._dtype, None),
            "ffn_ln_scales": (ffn_ln_scale_attrs, width, norm_dtype, one),
            "ffn1_weights": (ffn1_weight_attrs, [embed_dim, hidden], self._dtype, None),
            "ffn2_weights": (ffn2_weight_attrs, [dim_feedforward, embed_dim], self._dtype, None),
        }
        biases = {
            "ln_biases": (ln_bias_attrs, width, norm_dtype),
            "qkv_biases": (qkv_bias_attrs, heads, self._dtype),
            "linear_biases": (linear_bias_attrs, width, self._dtype),
            "ffn_ln_biases": (ffn_ln_bias_attrs, width, norm_dtype),
            "ffn1_biases": (ffn1_bias_attrs, [hidden], self._dtype),
            "ffn2_biases": (ffn2_bias_attrs, width, self._dtype),
        }
        for kind, (attrs, shape, dtype, start) in weights.items():
            made = [
                self.create_parameter(shape, self._attr(attrs, i), dtype, default_initializer=start)
                for i in range(num_layers)
            ]
            self._keep(kind, made)
        for kind, (attrs, shape, dtype) in biases.items():
            made = [
                self.create_parameter(shape, attr, dtype, is_bias=True) if attr else None
                for attr in (self._attr(attrs, i) for i in range(num_layers))
            ]
            self._keep(kind, None if made[0] is None else made)

    def _attr(self, attrs, i):
        """Attributes of the parameter of layer i."""
        if not isinstance(attrs, (list, tuple)):
            return attrs
        if len(attrs) != self._num_layers:
            raise AssertionError(
                f"[FusedMultiTransformer] attributes: expected one for each of {self._num_layers} layers,"
                f" got {len(attrs)}. Do this: pass as many, or one for all."
            )
        return attrs[i]

    def _keep(self, kind, parameters):
        """Makes a list of parameters an attribute, and each of them a parameter by its own name."""
        setattr(self, kind, parameters)
        for parameter in parameters or ():
            if parameter is not None:
                self._parameters[parameter.name] = parameter

    def forward(
        self,
        src,
        attn_mask=None,
        caches=None,
        pre_caches=None,
        rotary_embs=None,
        rotary_emb_dims=0,
        beam_offset=None,
        seq_lens=None,
        time_step=None,
    ):
        """src [B, S, embed_dim] through all layers.

        Args:
            src (Tensor): the input. The others are those of the function, ``caches`` its ``cache_kvs``.

        Returns:
            Tensor like src; with caches (it, caches).
        """
        if caches is not None and len(caches) != self._num_layers:
            raise AssertionError(
                f"[FusedMultiTransformer] caches: expected one for each of {self._num_layers} layers, got"
                f" {len(caches)}. Do this: pass as many."
            )
        return F.fused_multi_transformer(
            src,
            self.ln_scales,
            self.ln_biases,
            self.qkv_weights,
            self.qkv_biases,
            self.linear_weights,
            self.linear_biases,
            self.ffn_ln_scales,
            self.ffn_ln_biases,
            self.ffn1_weights,
            self.ffn1_biases,
            self.ffn2_weights,
            self.ffn2_biases,
            cache_kvs=caches,
            beam_offset=beam_offset,
            pre_caches=pre_caches,
            rotary_embs=rotary_embs,
            time_step=time_step,
            seq_lens=seq_lens,
            attn_mask=attn_mask,
            rotary_emb_dims=rotary_emb_dims,
            training=self.training,
            **self._options,
        )
