"""Linear, embedding, dropout, padding, resizing and similar layers."""

from __future__ import annotations

from argosy import _core, tensor
from argosy.autograd import no_grad
from argosy.base.parameter import EagerParamBase

from .. import functional as F
from ..functional._args import alias
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
    """Returns its input; arguments are accepted and ignored."""

    def __init__(self, *args, **kwargs):
        super().__init__()

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


class Bilinear(Layer):
    """``out[n, o] = x1[n] weight[o] x2[n] + bias[o]``.

    Args:
        in1_features, in2_features, out_features: sizes of x1, x2 and the result.
        weight_attr: attributes of ``weight`` [out, in1, in2].
        bias_attr: attributes of ``bias`` [1, out]; False leaves it out.
    """

    def __init__(
        self,
        in1_features,
        in2_features,
        out_features,
        weight_attr=None,
        bias_attr=None,
        name=None,
    ):
        super().__init__()
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._name = name
        self._in1_features = in1_features
        self._in2_features = in2_features
        self._out_features = out_features
        self.weight = self.create_parameter(
            attr=weight_attr, shape=[out_features, in1_features, in2_features], is_bias=False
        )
        self.bias = self.create_parameter(attr=bias_attr, shape=[1, out_features], is_bias=True)

    def forward(self, x1, x2):
        return F.bilinear(x1, x2, self.weight, self.bias)

    def extra_repr(self):
        return join(
            f"in1_features={self._in1_features}, in2_features={self._in2_features}, "
            f"out_features={self._out_features}, dtype={self._dtype}",
            self._name,
        )


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


class Flatten(Layer):
    """Axes ``start_axis`` to ``stop_axis`` become one."""

    def __init__(self, start_axis=1, stop_axis=-1):
        super().__init__()
        self.start_axis = start_axis
        self.stop_axis = stop_axis

    def forward(self, input):
        return tensor.flatten(input, start_axis=self.start_axis, stop_axis=self.stop_axis)


class Unflatten(Layer):
    """Axis ``axis`` becomes axes of sizes ``shape`` (one of them may be -1)."""

    def __init__(self, axis, shape, name=None):
        super().__init__()
        self.axis = axis
        self.shape = shape
        self.name = name

    def forward(self, input):
        return tensor.unflatten(input, self.axis, self.shape)

    def extra_repr(self):
        return join(f"axis={self.axis}, shape={self.shape}", self.name)


class CosineSimilarity(Layer):
    """Cosine of the angle between x1 and x2 along ``axis``; norms are at least ``eps``."""

    dim = other_name("_axis")

    @alias(dim="axis")
    def __init__(self, axis=1, eps=1e-8):
        super().__init__()
        self._axis = axis
        self._eps = eps

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, axis=self._axis, eps=self._eps)

    def extra_repr(self):
        return f"axis={self._axis}, eps={self._eps}"


# -- dropout -------------------------------------------------------------------------------------


class Dropout(Layer):
    """Sets elements to zero with probability ``p`` while training; see ``F.dropout``.

    Args:
        p: probability.
        inplace: write into the input.
        axis: axes along which the choice varies; None: every element for itself.
        mode: 'upscale_in_train' or 'downscale_in_infer'.
    """

    def __init__(self, p=0.5, inplace=False, axis=None, mode="upscale_in_train", name=None):
        super().__init__()
        self.p = p
        self.inplace = inplace
        self.axis = axis
        self.mode = mode
        self.name = name

    def forward(self, input):
        return F.dropout(
            input,
            p=self.p,
            axis=self.axis,
            training=self.training,
            inplace=self.inplace,
            mode=self.mode,
        )

    def extra_repr(self):
        text = join(f"p={self.p}, axis={self.axis}, mode={self.mode}", self.name)
        return f"{text}, inplace={self.inplace}"


class Dropout2D(Layer):
    """Drops whole channels of [N, C, H, W] (or 'NHWC') with probability ``p`` while training."""

    def __init__(self, p=0.5, data_format="NCHW", name=None):
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input):
        return F.dropout2d(input, self.p, self.training, self.data_format)

    def extra_repr(self):
        return join(f"p={self.p}, data_format={self.data_format}", self.name)


class Dropout3D(Layer):
    """Drops whole channels of [N, C, D, H, W] (or 'NDHWC') with probability ``p``."""

    def __init__(self, p=0.5, data_format="NCDHW", name=None):
        super().__init__()
        self.p = p
        self.data_format = data_format
        self.name = name

    def forward(self, input):
        return F.dropout3d(input, self.p, self.training, self.data_format)

    def extra_repr(self):
        return join(f"p={self.p}, data_format={self.data_format}", self.name)


class AlphaDropout(Layer):
    """Dropout that keeps mean and variance of self-normalizing networks, arXiv:1706.02515."""

    def __init__(self, p=0.5, name=None):
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input):
        return F.alpha_dropout(input, p=self.p, training=self.training)

    def extra_repr(self):
        return join(f"p={self.p}", self.name)


class FeatureAlphaDropout(Layer):
    """:class:`AlphaDropout` of whole channels."""

    def __init__(self, p=0.5, name=None):
        super().__init__()
        self.p = p
        self.name = name

    def forward(self, input):
        return F.feature_alpha_dropout(input, p=self.p, training=self.training)

    def extra_repr(self):
        return join(f"p={self.p}", self.name)


# -- resizing ------------------------------------------------------------------------------------


class Upsample(Layer):
    """Resizes the spatial axes; arguments as for ``F.interpolate``."""

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
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.mode = mode.lower()
        self.align_corners = align_corners
        self.align_mode = align_mode
        self.data_format = data_format
        self.recompute_scale_factor = recompute_scale_factor
        self.name = name

    def forward(self, x):
        return F.interpolate(
            x,
            size=self.size,
            scale_factor=self.scale_factor,
            mode=self.mode,
            align_corners=self.align_corners,
            align_mode=self.align_mode,
            data_format=self.data_format,
            recompute_scale_factor=self.recompute_scale_factor,
        )

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


class _Upsampling2D(Layer):
    _options = {}

    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        super().__init__()
        self.size = size
        self.scale_factor = scale_factor
        self.data_format = data_format
        self.name = name

    def forward(self, x):
        return F.interpolate(
            x,
            size=self.size,
            scale_factor=self.scale_factor,
            data_format=self.data_format,
            **self._options,
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


class Unfold(Layer):
    """Columns of all sliding windows of [N, C, H, W]; arguments as for ``F.unfold``."""

    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super().__init__()
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input):
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)

    def extra_repr(self):
        return join(
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, "
            f"padding={self.paddings}, stride={self.strides}",
            self.name,
        )


class Fold(Layer):
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
    def __init__(self, output_sizes, kernel_sizes, dilations=1, paddings=0, strides=1, name=None):
        super().__init__()
        self.output_sizes = output_sizes
        self.kernel_sizes = kernel_sizes
        self.dilations = dilations
        self.paddings = paddings
        self.strides = strides
        self.name = name

    def forward(self, input):
        return F.fold(
            input,
            self.output_sizes,
            self.kernel_sizes,
            self.strides,
            self.paddings,
            self.dilations,
        )

    def extra_repr(self):
        return join(
            f"kernel_size={self.kernel_sizes}, dilation={self.dilations}, "
            f"padding={self.paddings}, stride={self.strides}",
            self.name,
        )
