"""Linear, embedding, dropout, padding, resizing and similar layers."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._support import no_effect
from argosy.autograd import no_grad
from argosy.base.parameter import EagerParamBase

from .. import functional as F
from ..functional._args import alias
from ._forwarding import ForwardingLayer, Ranked, keeps
from ._repr import join, other_name
from .layers import Layer
from .pad import (  # noqa: F401
    CircularPad1D,
    CircularPad2D,
    CircularPad3D,
    ConstantPad1D,
    ConstantPad2D,
    ConstantPad3D,
    Pad1D,
    Pad2D,
    Pad3D,
    ReflectionPad1D,
    ReflectionPad2D,
    ReflectionPad3D,
    ReplicationPad1D,
    ReplicationPad2D,
    ReplicationPad3D,
    ZeroPad1D,
    ZeroPad2D,
    ZeroPad3D,
)

__all__ = [
    "AlphaDropout",
    "Bilinear",
    "CircularPad1D",
    "CircularPad2D",
    "CircularPad3D",
    "ConstantPad1D",
    "ConstantPad2D",
    "ConstantPad3D",
    "CosineSimilarity",
    "Dropout",
    "Dropout2D",
    "Dropout3D",
    "Embedding",
    "FeatureAlphaDropout",
    "Flatten",
    "Fold",
    "Identity",
    "Linear",
    "Pad1D",
    "Pad2D",
    "Pad3D",
    "ReflectionPad1D",
    "ReflectionPad2D",
    "ReflectionPad3D",
    "ReplicationPad1D",
    "ReplicationPad2D",
    "ReplicationPad3D",
    "Unflatten",
    "Unfold",
    "Upsample",
    "UpsamplingBilinear2D",
    "UpsamplingNearest2D",
    "ZeroPad1D",
    "ZeroPad2D",
    "ZeroPad3D",
]


class Identity(Layer):
    """Returns its input, whatever arguments it was made with."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        if args or kwargs:
            no_effect(
                "Identity", "the input is returned as it is", args=(args, ()), kwargs=(kwargs, {})
            )

    def forward(self, input):
        return input


class Linear(Layer):
    """``x weight + bias`` along the last axis.

    Args:
        in_features, out_features: sizes of the last axis of input and output.
        weight_attr: attributes of ``weight`` [in_features, out_features]; Xavier uniform.
        bias_attr: attributes of ``bias`` [out_features]; zeros. False leaves it out.

    Shape: [..., in_features] to [..., out_features].
    """

    def __init__(self, in_features, out_features, weight_attr=None, bias_attr=None, name=None):
        super().__init__()
        self._dtype = _core.get_default_dtype()
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self.weight = self.create_parameter(
            shape=[in_features, out_features], attr=weight_attr, dtype=self._dtype, is_bias=False
        )
        self.bias = self.create_parameter(
            shape=[out_features], attr=bias_attr, dtype=self._dtype, is_bias=True
        )
        self.name = name

    def forward(self, input):
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self):
        rows, columns = self.weight.shape
        text = f"in_features={rows}, out_features={columns}, dtype={self._dtype}"
        return join(text, self.name)


class Bilinear(ForwardingLayer):
    """``out[n, o] = x1[n] weight[o] x2[n] + bias[o]``.

    Args:
        in1_features, in2_features, out_features: sizes of x1, x2 and the result.
        weight_attr: attributes of ``weight`` [out, in1, in2].
        bias_attr: attributes of ``bias`` [1, out]; False leaves it out.
    """

    _kept_prefix = "_"
    _repr_shows = ("in1_features", "in2_features", "out_features", "dtype", "name")

    @keeps
    def __init__(
        self,
        in1_features,
        in2_features,
        out_features,
        weight_attr=None,
        bias_attr=None,
        name=None,
    ):
        self.weight = self.create_parameter(
            attr=weight_attr, shape=[out_features, in1_features, in2_features], is_bias=False
        )
        self.bias = self.create_parameter(attr=bias_attr, shape=[1, out_features], is_bias=True)

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias)


class Embedding(Layer):
    """A table from which integer inputs take rows.

    Args:
        num_embeddings: number of rows.
        embedding_dim: length of a row.
        padding_idx: this row is zero and gets no gradient; negative counts from the end.
        max_norm: rows that are read and whose ``norm_type`` norm is larger are scaled to it.
        sparse: the gradient of ``weight`` holds only the rows that occur.
        scale_grad_by_freq: divide a row's gradient by how often it occurs in the input.
        weight_attr: attributes of ``weight`` [num_embeddings, embedding_dim]; Xavier uniform.

    Raises:
        ValueError: a size is not positive, or ``padding_idx`` out of range.
    """

    def __init__(
        self,
        num_embeddings,
        embedding_dim,
        padding_idx=None,
        max_norm=None,
        norm_type=2.0,
        *,
        scale_grad_by_freq=False,
        sparse=False,
        _weight=None,
        _freeze=False,
        device=None,
        dtype=None,
        weight_attr=None,
        name=None,
    ):
        super().__init__()
        self._num_embeddings = num_embeddings
        self._embedding_dim = embedding_dim
        self._sparse = sparse
        self._is_distributed = False
        self._max_norm = max_norm
        self._norm_type = norm_type
        self._scale_grad_by_freq = scale_grad_by_freq
        self._device = device
        if num_embeddings <= 0:
            raise ValueError(
                f"[Embedding] num_embeddings: expected 1 or more, got {num_embeddings}. Do "
                "this: correct it."
            )
        if embedding_dim <= 0:
            raise ValueError(
                f"[Embedding] embedding_dim: expected 1 or more, got {embedding_dim}. Do this: "
                "correct it."
            )
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ValueError(
                f"[Embedding] padding_idx: expected a row in [-{num_embeddings}, "
                f"{num_embeddings}), got {padding_idx}. Do this: correct it."
            )
        self._padding_idx = padding_idx
        self._size = [num_embeddings, embedding_dim]
        self._weight_attr = weight_attr
        self._remote_prefetch = False
        self._name = name
        if dtype is not None:
            self._dtype = dtype
        if _weight is not None:
            if list(_weight.shape) != self._size:
                raise AssertionError(
                    f"[Embedding] _weight: expected shape {self._size}, got {list(_weight.shape)}. "
                    "Do this: reshape it."
                )
            self.weight = EagerParamBase.from_tensor(_weight, trainable=not _freeze)
        else:
            self.weight = self.create_parameter(
                attr=weight_attr, shape=self._size, dtype=dtype, is_bias=False, device=device
            )
            if _freeze:
                self.weight.stop_gradient = True
        # (A static Program reads zeros there, whatever the row has.)
        if padding_idx is not None and not self.weight._symbolic:
            with no_grad():
                self.weight[padding_idx] = 0.0

    @property
    def padding_idx(self):
        """The row that is zero, or None."""
        return self._padding_idx

    def forward(self, x):
        return F.embedding(
            x,
            self.weight,
            padding_idx=self._padding_idx,
            max_norm=self._max_norm,
            norm_type=self._norm_type,
            sparse=self._sparse,
            scale_grad_by_freq=self._scale_grad_by_freq,
        )

    def extra_repr(self):
        text = f"{self._num_embeddings}, {self._embedding_dim}"
        if self._padding_idx is not None:
            text += f", padding_idx={self._padding_idx}"
        text += f", sparse={self._sparse}, scale_grad_by_freq={self._scale_grad_by_freq}"
        return join(text, self._name)


class Flatten(ForwardingLayer):
    """Axes ``start_axis`` to ``stop_axis`` become one."""

    _repr_shows = ()

    @keeps
    def __init__(self, start_axis=1, stop_axis=-1): ...

    def forward(self, input):
        return tensor.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(ForwardingLayer):
    """Axis ``axis`` becomes axes of sizes ``shape`` (one of them may be -1)."""

    @keeps
    def __init__(self, axis, shape, name=None): ...

    def forward(self, input):
        return tensor.unflatten(input, self.axis, self.shape)


class CosineSimilarity(ForwardingLayer):
    """Cosine of the angle between x1 and x2 along ``axis``; norms are at least ``eps``."""

    _kept_prefix = "_"
    dim = other_name("_axis")

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=1, eps=1e-8): ...

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self._axis, self._eps)


# -- dropout -------------------------------------------------------------------------------------


class Dropout(ForwardingLayer):
    """Sets elements to zero with probability ``p`` while training; see ``F.dropout``.

    Args:
        p: probability.
        inplace: write into the input.
        axis: axes along which the choice varies; None: every element for itself.
        mode: 'upscale_in_train' or 'downscale_in_infer'.
    """

    _repr_shows = ("p", "axis", "mode", "name", "inplace")

    @keeps
    def __init__(self, p=0.5, inplace=False, axis=None, mode="upscale_in_train", name=None): ...

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.inplace, self.mode)


class _DropoutNd(Ranked, ForwardingLayer):
    @keeps
    def __init__(self, p=0.5, data_format="NCHW", name=None): ...

    def forward(self, input):
        return self._forwards_to(input, self.p, self.training, self.data_format)


class Dropout2D(_DropoutNd, dims=2, function=F.dropout2d):
    """Drops whole channels of [N, C, H, W] (or 'NHWC') with probability ``p`` while training."""


class Dropout3D(_DropoutNd, dims=3, function=F.dropout3d):
    """Drops whole channels of [N, C, D, H, W] (or 'NDHWC') with probability ``p``."""


class _AlphaDropout(ForwardingLayer):
    @keeps
    def __init__(self, p=0.5, name=None): ...

    def forward(self, input):
        return self._forwards_to(input, self.p, self.training)


class AlphaDropout(_AlphaDropout, function=F.alpha_dropout):
    """Dropout that keeps mean and variance of self-normalizing networks, arXiv:1706.02515."""


class FeatureAlphaDropout(_AlphaDropout, function=F.feature_alpha_dropout):
    """:class:`AlphaDropout` of whole channels."""


# -- resizing ------------------------------------------------------------------------------------


class Upsample(ForwardingLayer):
    """Resizes the spatial axes; arguments as for ``F.interpolate``."""

    @keeps
    def __init__(
        self,
        size=None,
        scale_factor=None,
        mode="nearest",
        align_corners=False,
        align_mode=0,
        data_format=None,
        recompute_scale_factor=None,
        name=None,
    ):
        self.mode = mode.lower()

    def forward(self, x):
        return F.interpolate(x, *self._kept())

    def extra_repr(self):
        if self.scale_factor is not None:
            text = f"scale_factor={self.scale_factor}"
        else:
            text = f"size={self.size}"
        return join(
            f"{text}, mode={self.mode}, align_corners={self.align_corners}, "
            f"align_mode={self.align_mode}, data_format={self.data_format}",
            self.name,
        )


class _Upsampling2D(ForwardingLayer):
    _options = {}

    @keeps
    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None): ...

    def forward(self, x):
        return F.interpolate(
            x, self.size, self.scale_factor, data_format=self.data_format, **self._options
        )

    def extra_repr(self):
        if self.scale_factor is not None:
            text = f"scale_factor={self.scale_factor}"
        else:
            size = [self.size, self.size] if isinstance(self.size, int) else self.size
            text = f"size={size}"
        return join(f"{text}, data_format={self.data_format}", self.name)


class UpsamplingNearest2D(_Upsampling2D):
    """Resizes [N, C, H, W] by repeating the nearest pixel."""

    _options = {"mode": "nearest", "align_corners": False, "align_mode": 0}


class UpsamplingBilinear2D(_Upsampling2D):
    """Resizes [N, C, H, W] by linear interpolation with corners aligned."""

    _options = {"mode": "bilinear", "align_corners": True, "align_mode": 0}


class _Windows(ForwardingLayer):
    """Base of the two layers whose arguments are plural and printed in the singular."""

    def extra_repr(self):
        return join(
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, "
            f"padding={self.paddings}, stride={self.strides}",
            self.name,
        )


class Unfold(_Windows):
    """Columns of all sliding windows of [N, C, H, W]; arguments as for ``F.unfold``."""

    @keeps
    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None): ...

    def forward(self, input):
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)


class Fold(_Windows):
    """Sums windows back into images; arguments as for ``F.fold``."""

    output_size = other_name("output_sizes")
    kernel_size = other_name("kernel_sizes")
    dilation = other_name("dilations")
    padding = other_name("paddings")
    stride = other_name("strides")

    @alias(
        output_size="output_sizes",
        kernel_size="kernel_sizes",
        dilation="dilations",
        padding="paddings",
        stride="strides",
    )
    @keeps
    def __init__(
        self, output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None
    ): ...

    def forward(self, input):
        return F.fold(
            input,
            self.output_sizes,
            self.kernel_sizes,
            self.strides,
            self.paddings,
            self.dilations,
        )
