"""Multi-head attention with PyTorch's signature."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import sizes_of
from argosy.nn import functional as F
from argosy.nn import initializer
from argosy.nn.layer.layers import Layer

from . import functional

__all__ = ["MultiheadAttention"]


@beside
def _additive(mask, dtype):
    """A mask as numbers that are added to scores; in a bool mask True keeps a position away."""
    if mask is None or mask.dtype != _core.bool:
        return mask if mask is None else mask.astype(dtype)
    keep = tensor.zeros([], dtype)
    return tensor.where(mask, tensor.full([], float("-inf"), dtype), keep)


class MultiheadAttention(Layer):
    """Attention of several heads, Vaswani et al., arXiv:1706.03762.

    Args:
        embed_dim, num_heads (int): Size of a position, and in how many heads it is divided.
        dropout (float): Probability of dropping a weight in training.
        bias (bool): The projections have a bias.
        add_bias_kv (bool): One learnt position is appended to the keys and values.
        add_zero_attn (bool): One position of zeros is appended to them.
        kdim, vdim (int, optional): Sizes of keys and values where they differ from embed_dim.
        batch_first (bool): Inputs are [batch, length, size] instead of [length, batch, size].
        device (Place | str, optional): Where the parameters are.
        dtype (dtype | str, optional): Of the parameters; default: the default dtype.

    Shape:
        query [length, batch, embed_dim], key [n, batch, kdim] and value [n, batch, vdim] give a pair: results
        [length, batch, embed_dim] and weights [batch, length, n]; with batch_first the batch stands in front.

    Raises:
        ValueError: embed_dim is no positive multiple of num_heads.

    Example:
        >>> layer = argosy.compat.nn.MultiheadAttention(8, 2)
        >>> x = argosy.ones([5, 3, 8])
        >>> y, weights = layer(x, x, x)
        >>> y.shape, weights.shape
        (paddle.Size([5, 3, 8]), paddle.Size([3, 5, 5]))
    """

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        bias=True,
        add_bias_kv=False,
        add_zero_attn=False,
        kdim=None,
        vdim=None,
        batch_first=False,
        device=None,
        dtype=None,
    ):
        from . import Linear

        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads:
            raise ValueError(
                "[compat.nn.MultiheadAttention] embed_dim must be a positive multiple of num_heads,"
                f" got {embed_dim} and {num_heads}. Do this: change one of them."
            )
        self.embed_dim, self.num_heads = embed_dim, num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.head_dim = embed_dim // num_heads
        self.dropout, self.batch_first, self.add_zero_attn = dropout, batch_first, add_zero_attn
        dtype = dtype or _core.get_default_dtype()
        even, zero = initializer.XavierUniform(), initializer.Constant(0.0)

        def parameter(shape, start):
            return self.create_parameter(shape, dtype=dtype, default_initializer=start)

        self._same = self.kdim == embed_dim and self.vdim == embed_dim
        self.in_proj_bias = None
        if self._same:
            self.in_proj_weight = parameter([3 * embed_dim, embed_dim], even)
            if bias:
                self.in_proj_bias = parameter([3 * embed_dim], zero)
        else:
            self.q_proj_weight = parameter([embed_dim, embed_dim], even)
            self.k_proj_weight = parameter([embed_dim, self.kdim], even)
            self.v_proj_weight = parameter([embed_dim, self.vdim], even)
            for name in ("q_proj_bias", "k_proj_bias", "v_proj_bias"):
                setattr(self, name, parameter([embed_dim], zero) if bias else None)
        self.bias_k = self.bias_v = None
        if add_bias_kv:
            self.bias_k = parameter([1, 1, embed_dim], initializer.XavierNormal())
            self.bias_v = parameter([1, 1, embed_dim], initializer.XavierNormal())
        self.out_proj = Linear(embed_dim, embed_dim, bias, dtype=dtype)
        if bias:
            zero(self.out_proj.bias)
        if device is not None:
            self.to(device=device)

    def _projected(self, inputs):
        if not self._same:
            return [
                functional.linear(
                    x, getattr(self, f"{n}_proj_weight"), getattr(self, f"{n}_proj_bias")
                )
                for n, x in zip("qkv", inputs)
            ]
        weights = tensor.split(self.in_proj_weight, 3, 0)
        biases = [None] * 3
        if self.in_proj_bias is not None:
            biases = tensor.split(self.in_proj_bias, 3, 0)
        return [functional.linear(*part) for part in zip(inputs, weights, biases)]

    @beside
    def _extended(self, keys, values, masks):
        """Keys, values [batch, length, size] and masks with the appended positions."""
        batch = sizes_of(keys)[0]
        more = []
        if self.bias_k is not None:
            more.append(
                [tensor.expand(b, [batch, 1, self.embed_dim]) for b in (self.bias_k, self.bias_v)]
            )
        if self.add_zero_attn:
            more.append([tensor.zeros([batch, 1, self.embed_dim], keys.dtype)] * 2)
        for key, value in more:
            keys, values = tensor.concat([keys, key], 1), tensor.concat([values, value], 1)
            masks = [
                m
                if m is None
                else tensor.concat([m, tensor.zeros([*sizes_of(m)[:-1], 1], m.dtype)], -1)
                for m in masks
            ]
        return keys, values, masks

    @beside
    def forward(
        self,
        query,
        key,
        value,
        key_padding_mask=None,
        need_weights=True,
        attn_mask=None,
        average_attn_weights=True,
        is_causal=False,
    ):
        """The attended values and the weights.

        Args:
            query, key, value (Tensor): See the class; without a batch also [length, size].
            key_padding_mask (Tensor, optional): [batch, key length]; True, or -inf, keeps away.
            need_weights (bool): Return the weights too, else None.
            attn_mask (Tensor, optional): [length, key length] or [batch * heads, length, key
                length]; True keeps away, numbers are added to the scores.
            average_attn_weights (bool): The mean of the weights over the heads.
            is_causal (bool): Position i attends only to positions up to i.

        Returns:
            tuple: like query; [batch, (heads,) length, key length] or None.
        """
        alone = query.ndim == 2
        parts = [query, key, value]
        if alone:
            parts = [x.unsqueeze(0) for x in parts]
            if key_padding_mask is not None:
                key_padding_mask = key_padding_mask.unsqueeze(0)
        elif not self.batch_first:
            parts = [x.transpose([1, 0, 2]) for x in parts]
        q, k, v = self._projected(parts)
        batch, length = sizes_of(q)[:2]
        if is_causal and attn_mask is None:
            ones = tensor.ones([length, sizes_of(k)[1]], "int32")
            attn_mask = tensor.triu(ones, 1).astype("bool")
        masks = [_additive(attn_mask, q.dtype), _additive(key_padding_mask, q.dtype)]
        k, v, (between, padding) = self._extended(k, v, masks)
        total = None
        if between is not None:
            shape = [1, 1] if between.ndim == 2 else [batch, self.num_heads]
            total = between.reshape([*shape, *sizes_of(between)[-2:]])
        if padding is not None:
            padding = padding.unsqueeze([1, 2])
            total = padding if total is None else total + padding
        q, k, v = (
            x.reshape([batch, -1, self.num_heads, self.head_dim]).transpose([0, 2, 1, 3])
            for x in (q, k, v)
        )
        dropout = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = tensor.matmul(q * self.head_dim**-0.5, k, transpose_y=True)
            weights = functional.softmax(scores if total is None else scores + total, -1)
            weights = F.dropout(weights, dropout)
            found = tensor.matmul(weights, v)
        else:
            found = functional.scaled_dot_product_attention(q, k, v, total, dropout)
        found = found.transpose([0, 2, 1, 3]).reshape([batch, length, self.embed_dim])
        found = self.out_proj(found)
        if alone:
            found = found.squeeze(0)
        elif not self.batch_first:
            found = found.transpose([1, 0, 2])
        if weights is not None:
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights.squeeze(0) if alone else weights
        return found, weights
