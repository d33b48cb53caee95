"""Transformer layers, Vaswani et al., arXiv:1706.03762."""

from __future__ import annotations

import copy
from collections import namedtuple

from argosy import _core, tensor
from argosy._beside import beside
from argosy._dtypes import INTEGER
from argosy._support import sizes_of
from argosy.base.param_attr import ParamAttr

from .. import functional as F
from .common import Dropout, Linear
from .container import LayerList
from .layers import Layer
from .norm import LayerNorm

__all__ = [
    "MultiHeadAttention",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _convert_param_attr_to_list(param_attr, n):
    """``param_attr`` as a list of ``n`` attributes, one for each of a layer's parts."""
    if isinstance(param_attr, (list, tuple)):
        if len(param_attr) != n:
            raise AssertionError(
                f"[Transformer] a list of attributes must have {n} entries, got "
                f"{len(param_attr)}. Do this: correct it."
            )
        return [
            attr if isinstance(attr, bool) and not attr else ParamAttr._to_attr(attr)
            for attr in param_attr
        ]
    if isinstance(param_attr, bool):
        return [ParamAttr._to_attr(None) if param_attr else False for _ in range(n)]
    attrs = []
    for number in range(n):
        attr = copy.deepcopy(param_attr) if number else param_attr
        if isinstance(attr, ParamAttr) and attr.name:
            attr = copy.copy(attr)
            attr.name = f"{param_attr.name}_{number}"
        attrs.append(ParamAttr._to_attr(attr))
    return attrs


def _convert_attention_mask(attn_mask, dtype):
    """A mask of bool or int (0: keep away) as a float one that is added to the scores."""
    if attn_mask is None:
        return None
    if attn_mask.dtype in (_core.bool, *INTEGER):
        return (tensor.cast(attn_mask, dtype) - 1.0) * 1e9
    return tensor.cast(attn_mask, dtype)


class MultiHeadAttention(Layer):
    """Attention with several heads between linear projections.

    Args:
        embed_dim (int): features of query and output, divisible by ``num_heads``.
        num_heads (int): number of heads.
        dropout (float): probability of dropping attention weights while training.
        kdim, vdim (int, optional): features of key and value; None is ``embed_dim``.
        need_weights (bool): also return the attention weights.
        weight_attr, bias_attr (ParamAttr | bool, optional): attributes of all four projections.

    Shape: (query [batch, length, embed_dim], key=None, value=None, attn_mask=None, cache=None) to the
        output [batch, length, embed_dim], or a tuple (output[, weights][, cache]). Key and value default
        to the query. ``attn_mask`` is bool or int (0 or False: keep away) or float (added), broadcast to
        [batch, heads, length, key length].

    Raises:
        AssertionError: a size is not positive, or ``embed_dim`` not divisible by ``num_heads``.

    Paper: Vaswani et al., arXiv:1706.03762.

    Examples:
        >>> attention = argosy.nn.MultiHeadAttention(embed_dim=8, num_heads=2)
        >>> x = argosy.ones([3, 5, 8])
        >>> attention(x).shape
        paddle.Size([3, 5, 8])
        >>> k, v = attention.compute_kv(x, x)
        >>> k.shape
        paddle.Size([3, 2, 5, 4])
        >>> cache = attention.gen_cache(x)
        >>> out, cache = attention(x[:, :1], cache=cache)
        >>> out.shape, cache.k.shape
        (paddle.Size([3, 1, 8]), paddle.Size([3, 2, 1, 4]))
    """

    Cache = namedtuple("Cache", ["k", "v"])
    StaticCache = namedtuple("StaticCache", ["k", "v"])

    def __init__(
        self,
        embed_dim,
        num_heads,
        dropout=0.0,
        kdim=None,
        vdim=None,
        need_weights=False,
        weight_attr=None,
        bias_attr=None,
    ):
        super().__init__()
        for name, value in (("embed_dim", embed_dim), ("num_heads", num_heads)):
            if value <= 0:
                raise AssertionError(
                    f"[MultiHeadAttention] {name}: expected 1 or more, got {value}. Do this: "
                    "correct it."
                )
        self.embed_dim = embed_dim
        self.kdim = kdim if kdim is not None else embed_dim
        self.vdim = vdim if vdim is not None else embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.need_weights = need_weights
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError(
                "[MultiHeadAttention] embed_dim must be divisible by num_heads: got "
                f"{embed_dim} and {num_heads}. Do this: change one of them."
            )
        self.q_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr=bias_attr)
        self.k_proj = Linear(self.kdim, embed_dim, weight_attr, bias_attr=bias_attr)
        self.v_proj = Linear(self.vdim, embed_dim, weight_attr, bias_attr=bias_attr)
        self.out_proj = Linear(embed_dim, embed_dim, weight_attr, bias_attr=bias_attr)

    def _split_heads(self, x):
        """[batch, length, embed_dim] as [batch, length, heads, head_dim]."""
        return tensor.reshape(x, [0, 0, self.num_heads, self.head_dim])

    def compute_kv(self, key, value):
        """Projected key and value.

        Args:
            key: [batch, length, kdim].
            value: [batch, length, vdim].

        Returns:
            Two tensors [batch, heads, length, head_dim].
        """
        return tuple(
            tensor.transpose(self._split_heads(projected), [0, 2, 1, 3])
            for projected in (self.k_proj(key), self.v_proj(value))
        )

    @beside
    def gen_cache(self, key, value=None, type=Cache):
        """A cache for decoding step by step.

        Args:
            key: tensor [batch, length, features] that is projected (StaticCache), or that names
                the batch size (Cache, ``value`` None), or a projected key.
            value: tensor to project, or a projected value.
            type: ``MultiHeadAttention.StaticCache`` for keys that do not change,
                ``MultiHeadAttention.Cache`` for ones that grow.

        Returns:
            Named tuple (k, v) of that type.
        """
        if type is MultiHeadAttention.StaticCache:
            return self.StaticCache(*self.compute_kv(key, key if value is None else value))
        if value is None:
            shape = [sizes_of(key)[0], self.num_heads, 0, self.head_dim]
            return self.Cache(tensor.zeros(shape, key.dtype), tensor.zeros(shape, key.dtype))
        return self.Cache(key, value)

    def _prepare_qkv(self, query, key, value, cache=None):
        """Projected query, key and value, each [batch, heads, length, head_dim], and the cache that
        the next call takes unless it is None. Subclasses replace it, for instance to rotate q and
        k."""
        q = tensor.transpose(self._split_heads(self.q_proj(query)), [0, 2, 1, 3])
        if isinstance(cache, self.StaticCache):
            k, v = cache.k, cache.v
        else:
            k, v = self.compute_kv(key, value)
        if isinstance(cache, self.Cache):
            k = tensor.concat([cache.k, k], axis=2)
            v = tensor.concat([cache.v, v], axis=2)
            cache = self.Cache(k, v)
        return (q, k, v) if cache is None else (q, k, v, cache)

    def forward(self, query, key=None, value=None, attn_mask=None, cache=None):
        key = query if key is None else key
        value = query if value is None else value
        if cache is None and _prepares_as_written(type(self)):
            # What _prepare_qkv does, without transposing there and back.
            q = self._split_heads(self.q_proj(query))
            k = self._split_heads(self.k_proj(key))
            v = self._split_heads(self.v_proj(value))
        else:
            q, k, v, *caches = self._prepare_qkv(query, key, value, cache)
            cache = caches[0] if caches else None
            q, k, v = (tensor.transpose(t, [0, 2, 1, 3]) for t in (q, k, v))
        result = _core.ops.scaled_dot_product_attention(
            q, k, v, _convert_attention_mask(attn_mask, q.dtype),
            float(self.dropout) if self.training else 0.0, False, 0.0, self.need_weights,
        )  # fmt: skip
        out, weights = result if self.need_weights else (result, None)
        out = self.out_proj(tensor.reshape(out, [0, 0, self.embed_dim]))
        outputs = [out]
        if self.need_weights:
            outputs.append(weights)
        if cache is not None:
            outputs.append(cache)
        return out if len(outputs) == 1 else tuple(outputs)


_OWN_PREPARE_QKV = MultiHeadAttention._prepare_qkv
_OWN_COMPUTE_KV = MultiHeadAttention.compute_kv


def _prepares_as_written(cls):
    """Whether a class of attention has the methods above, not a program's own ones."""
    return cls._prepare_qkv is _OWN_PREPARE_QKV and cls.compute_kv is _OWN_COMPUTE_KV


def _check_sizes(**sizes):
    for name, value in sizes.items():
        if value <= 0:
            raise AssertionError(
                f"[Transformer] {name}: expected 1 or more, got {value}. Do this: correct it."
            )


def _make_parts(layer, arguments, attentions):
    """Give an encoder or decoder layer its parts: attentions and a feed-forward network, with a
    normalization and a dropout for each of them.

    arguments: the locals of the layer's __init__; kept in ``_config``, to make others like it.
    """
    config = {key: arguments[key] for key in arguments if key not in ("self", "__class__")}
    layer._config = config
    d_model, nhead, hidden = (config[key] for key in ("d_model", "nhead", "dim_feedforward"))
    _check_sizes(d_model=d_model, nhead=nhead, dim_feedforward=hidden)
    dropout, attn_dropout, act_dropout = (
        config["dropout"] if config[key] is None else config[key]
        for key in ("dropout", "attn_dropout", "act_dropout")
    )
    layer.normalize_before = config["normalize_before"]
    count = len(attentions) + 1
    weights = _convert_param_attr_to_list(config["weight_attr"], count)
    biases = _convert_param_attr_to_list(config["bias_attr"], count)
    for name, weight, bias in zip(attentions, weights, biases):
        attention = MultiHeadAttention(
            d_model, nhead, dropout=attn_dropout, weight_attr=weight, bias_attr=bias
        )
        setattr(layer, name, attention)
    layer.linear1 = Linear(d_model, hidden, weights[-1], bias_attr=biases[-1])
    layer.dropout = Dropout(act_dropout, mode="upscale_in_train")
    layer.linear2 = Linear(hidden, d_model, weights[-1], bias_attr=biases[-1])
    for number in range(1, count + 1):
        setattr(layer, f"norm{number}", LayerNorm(d_model, config["layer_norm_eps"]))
    for number in range(1, count + 1):
        setattr(layer, f"dropout{number}", Dropout(dropout, mode="upscale_in_train"))
    layer.activation = getattr(F, config["activation"])


class TransformerEncoderLayer(Layer):
    """Self-attention and a feed-forward network, each with residual and layer normalization.

    Args:
        d_model (int): features of input and output, divisible by ``nhead``.
        nhead (int): number of heads.
        dim_feedforward (int): hidden features of the feed-forward network.
        dropout (float): probability after each part.
        activation (str): name of a function in ``nn.functional``.
        attn_dropout (float, optional): probability for attention weights; None is ``dropout``.
        act_dropout (float, optional): probability after the activation; None is ``dropout``.
        normalize_before (bool): normalize the input of each part instead of its output.
        weight_attr, bias_attr: attributes; a list of two means attention and feed-forward.
        layer_norm_eps (float): epsilon of the normalizations.

    Shape: (src [batch, length, d_model], src_mask=None, cache=None) to one like src, with a cache to
        (that,
        new cache). A mask is bool or int (0: keep away) or float (added), broadcast to [batch, nhead,
        length, length].

    Raises:
        AssertionError: a size is not positive, or ``d_model`` not divisible by ``nhead``.

    Paper: Vaswani et al., arXiv:1706.03762.

    Examples:
        >>> layer = argosy.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> x = argosy.ones([3, 5, 8])
        >>> layer(x).shape
        paddle.Size([3, 5, 8])
        >>> out, cache = layer(x[:, :1], cache=layer.gen_cache(x))
        >>> cache.k.shape
        paddle.Size([3, 2, 1, 4])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        layer_norm_eps=1e-5,
    ):
        config = locals()
        super().__init__()
        _make_parts(self, config, ["self_attn"])

    def forward(self, src, src_mask=None, cache=None):
        src_mask = _convert_attention_mask(src_mask, src.dtype)
        residual = src
        if self.normalize_before:
            src = self.norm1(src)
        if cache is None:
            src = self.self_attn(src, src, src, src_mask)
        else:
            src, cache = self.self_attn(src, src, src, src_mask, cache)
        src = residual + self.dropout1(src)
        if not self.normalize_before:
            src = self.norm1(src)
        residual = src
        if self.normalize_before:
            src = self.norm2(src)
        src = self.linear2(self.dropout(self.activation(self.linear1(src))))
        src = residual + self.dropout2(src)
        if not self.normalize_before:
            src = self.norm2(src)
        return src if cache is None else (src, cache)

    def gen_cache(self, src):
        """An empty cache for decoding step by step.

        Args:
            src: names batch size and dtype.

        Returns:
            ``MultiHeadAttention.Cache``.
        """
        return self.self_attn.gen_cache(src, type=self.self_attn.Cache)


class TransformerEncoder(Layer):
    """A stack of encoder layers.

    Args:
        encoder_layer: the first layer; the others are made with the same arguments.
        num_layers (int): number of layers.
        norm: layer applied to the result, or None.

    Shape: as for :class:`TransformerEncoderLayer`; a cache is the list of the layers' caches.

    Examples:
        >>> layer = argosy.nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)
        >>> encoder = argosy.nn.TransformerEncoder(layer, num_layers=2)
        >>> x = argosy.ones([3, 5, 8])
        >>> encoder(x).shape, len(encoder.gen_cache(x))
        (paddle.Size([3, 5, 8]), 2)
    """

    def __init__(self, encoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = LayerList(
            [
                encoder_layer if i == 0 else type(encoder_layer)(**encoder_layer._config)
                for i in range(num_layers)
            ]
        )
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, src, src_mask=None, cache=None):
        src_mask = _convert_attention_mask(src_mask, src.dtype)
        output, caches = src, []
        for number, layer in enumerate(self.layers):
            if cache is None:
                output = layer(output, src_mask=src_mask)
            else:
                output, layer_cache = layer(output, src_mask=src_mask, cache=cache[number])
                caches.append(layer_cache)
        if self.norm is not None:
            output = self.norm(output)
        return output if cache is None else (output, caches)

    def gen_cache(self, src):
        """Empty caches of all layers.

        Args:
            src: names batch size and dtype.

        Returns:
            list of ``MultiHeadAttention.Cache``.
        """
        return [layer.gen_cache(src) for layer in self.layers]


class TransformerDecoderLayer(Layer):
    """Self-attention, attention to a memory and a feed-forward network.

    Args:
        d_model (int): features of input and output, divisible by ``nhead``.
        nhead (int): number of heads.
        dim_feedforward (int): hidden features of the feed-forward network.
        dropout (float): probability after each part.
        activation (str): name of a function in ``nn.functional``.
        attn_dropout (float, optional): probability for attention weights; None is ``dropout``.
        act_dropout (float, optional): probability after the activation; None is ``dropout``.
        normalize_before (bool): normalize the input of each part instead of its output.
        weight_attr, bias_attr: attributes; a list of three means self-attention, cross attention and
            feed-forward.
        layer_norm_eps (float): epsilon of the normalizations.

    Shape: (tgt [batch, length, d_model], memory [batch, memory length, d_model], tgt_mask=None,
        memory_mask=None, cache=None) to one like tgt, with a cache to (that, new cache).

    Raises:
        AssertionError: a size is not positive, or ``d_model`` not divisible by ``nhead``.

    Paper: Vaswani et al., arXiv:1706.03762.

    Examples:
        >>> layer = argosy.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
        >>> tgt, memory = argosy.ones([3, 5, 8]), argosy.ones([3, 7, 8])
        >>> layer(tgt, memory).shape
        paddle.Size([3, 5, 8])
        >>> out, cache = layer(tgt[:, :1], memory, cache=layer.gen_cache(memory))
        >>> out.shape, cache[0].k.shape, cache[1].k.shape
        (paddle.Size([3, 1, 8]), paddle.Size([3, 2, 1, 4]), paddle.Size([3, 2, 7, 4]))
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        layer_norm_eps=1e-5,
    ):
        config = locals()
        super().__init__()
        _make_parts(self, config, ["self_attn", "cross_attn"])

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        tgt_mask = _convert_attention_mask(tgt_mask, tgt.dtype)
        memory_mask = _convert_attention_mask(memory_mask, memory.dtype)
        residual = tgt
        if self.normalize_before:
            tgt = self.norm1(tgt)
        if cache is None:
            tgt = self.self_attn(tgt, tgt, tgt, tgt_mask, None)
        else:
            tgt, incremental = self.self_attn(tgt, tgt, tgt, tgt_mask, cache[0])
        tgt = residual + self.dropout1(tgt)
        if not self.normalize_before:
            tgt = self.norm1(tgt)
        residual = tgt
        if self.normalize_before:
            tgt = self.norm2(tgt)
        if cache is None:
            tgt = self.cross_attn(tgt, memory, memory, memory_mask, None)
        else:
            tgt, static = self.cross_attn(tgt, memory, memory, memory_mask, cache[1])
        tgt = residual + self.dropout2(tgt)
        if not self.normalize_before:
            tgt = self.norm2(tgt)
        residual = tgt
        if self.normalize_before:
            tgt = self.norm3(tgt)
        tgt = self.linear2(self.dropout(self.activation(self.linear1(tgt))))
        tgt = residual + self.dropout3(tgt)
        if not self.normalize_before:
            tgt = self.norm3(tgt)
        return tgt if cache is None else (tgt, (incremental, static))

    def gen_cache(self, memory):
        """A cache for decoding step by step.

        Args:
            memory: [batch, memory length, d_model].

        Returns:
            (empty cache of self-attention, projected memory of cross attention).
        """
        incremental = self.self_attn.gen_cache(memory, type=self.self_attn.Cache)
        static = self.cross_attn.gen_cache(memory, memory, type=self.cross_attn.StaticCache)
        return incremental, static


class TransformerDecoder(Layer):
    """A stack of decoder layers.

    Args:
        decoder_layer: the first layer; the others are made with the same arguments.
        num_layers (int): number of layers.
        norm: layer applied to the result, or None.

    Shape: as for :class:`TransformerDecoderLayer`; a cache is the list of the layers' caches.

    Examples:
        >>> layer = argosy.nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
        >>> decoder = argosy.nn.TransformerDecoder(layer, num_layers=2)
        >>> tgt, memory = argosy.ones([3, 5, 8]), argosy.ones([3, 7, 8])
        >>> decoder(tgt, memory).shape, len(decoder.gen_cache(memory))
        (paddle.Size([3, 5, 8]), 2)
    """

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = LayerList(
            [
                decoder_layer if i == 0 else type(decoder_layer)(**decoder_layer._config)
                for i in range(num_layers)
            ]
        )
        self.num_layers = num_layers
        self.norm = norm

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, cache=None):
        tgt_mask = _convert_attention_mask(tgt_mask, tgt.dtype)
        memory_mask = _convert_attention_mask(memory_mask, memory.dtype)
        output, caches = tgt, []
        for number, layer in enumerate(self.layers):
            if cache is None:
                output = layer(output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask)
            else:
                output, layer_cache = layer(
                    output, memory, tgt_mask=tgt_mask, memory_mask=memory_mask,
                    cache=cache[number],
                )  # fmt: skip
                caches.append(layer_cache)
        if self.norm is not None:
            output = self.norm(output)
        return output if cache is None else (output, caches)

    def gen_cache(self, memory, do_zip=False):
        """Caches of all layers.

        Args:
            memory: [batch, memory length, d_model].
            do_zip (bool): group them by kind instead of by layer.

        Returns:
            list of (cache of self-attention, projected memory); with ``do_zip`` two tuples of them.
        """
        caches = [layer.gen_cache(memory) for layer in self.layers]
        return list(zip(*caches)) if do_zip else caches


class Transformer(Layer):
    """Encoder and decoder.

    Args:
        d_model (int): features of input and output, divisible by ``nhead``.
        nhead (int): number of heads.
        num_encoder_layers, num_decoder_layers (int): numbers of layers.
        dim_feedforward (int): hidden features of the feed-forward network.
        dropout (float): probability after each part.
        activation (str): name of a function in ``nn.functional``.
        attn_dropout (float, optional): probability for attention weights; None is ``dropout``.
        act_dropout (float, optional): probability after the activation; None is ``dropout``.
        normalize_before (bool): normalize the input of each part instead of its output.
        weight_attr, bias_attr: attributes; a list of two means attention and feed-forward, of
            three self-attention, cross attention and feed-forward.
        custom_encoder, custom_decoder: layers to use instead.

    Shape: (src [batch, length, d_model], tgt [batch, target length, d_model], src_mask=None,
        tgt_mask=None, memory_mask=None) to one like tgt.

    Raises:
        AssertionError: a size is not positive, or a list of attributes has more than three entries.

    Paper: Vaswani et al., arXiv:1706.03762.

    Examples:
        >>> model = argosy.nn.Transformer(8, 2, 1, 1, dim_feedforward=16)
        >>> src, tgt = argosy.ones([3, 7, 8]), argosy.ones([3, 5, 8])
        >>> model(src, tgt, tgt_mask=model.generate_square_subsequent_mask(5)).shape
        paddle.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation="relu",
        attn_dropout=None,
        act_dropout=None,
        normalize_before=False,
        weight_attr=None,
        bias_attr=None,
        custom_encoder=None,
        custom_decoder=None,
    ):
        super().__init__()
        _check_sizes(d_model=d_model, nhead=nhead, dim_feedforward=dim_feedforward)
        encoder_weight, decoder_weight = _split_attrs(weight_attr, "weight_attr")
        encoder_bias, decoder_bias = _split_attrs(bias_attr, "bias_attr")
        options = (
            d_model, nhead, dim_feedforward, dropout, activation, attn_dropout, act_dropout,
            normalize_before,
        )  # fmt: skip
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*options, encoder_weight, encoder_bias)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, LayerNorm(d_model))
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*options, decoder_weight, decoder_bias)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, LayerNorm(d_model))
        self.d_model = d_model
        self.nhead = nhead

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None):
        memory = self.encoder(src, src_mask=_convert_attention_mask(src_mask, src.dtype))
        return self.decoder(
            tgt,
            memory,
            tgt_mask=_convert_attention_mask(tgt_mask, tgt.dtype),
            memory_mask=_convert_attention_mask(memory_mask, memory.dtype),
        )

    def generate_square_subsequent_mask(self, length):
        """A mask that keeps positions away from later ones.

        Args:
            length (int): number of positions.

        Returns:
            float Tensor [length, length], -inf above the diagonal and 0 elsewhere.
        """
        return tensor.triu(tensor.full([length, length], float("-inf")), 1)


def _split_attrs(attr, name):
    """Attributes for the encoder's and for the decoder's layers."""
    if not isinstance(attr, (list, tuple)):
        return attr, attr
    attr = list(attr)
    if len(attr) == 1:
        return attr * 2, attr * 3
    if len(attr) == 2:
        return attr, [attr[0], attr[0], attr[-1]]
    if len(attr) == 3:
        return [attr[0], attr[-1]], attr
    raise AssertionError(
        f"[Transformer] {name}: expected a list of 1, 2 or 3 attributes, got "
        f"{len(attr)}. Do this: correct it."
    )
