"""Linear, embedding, dropout, padding, resizing and similar layers."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._support import also_named, no_effect
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
    """Returns its input.

    Args:
        args, kwargs: are not read, and warned of once.

    Shape: any; the result is the input itself.

    Examples:
        >>> x = argosy.ones([2])
        >>> argosy.nn.Identity()(x) is x
        True
    """

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
        in_features, out_features (int): sizes of the last axis of input and result.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [in_features, out_features]; Xavier
            uniform.
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [out_features]; zeros. False leaves
            it out.

    Shape: [.., in_features] to [.., out_features].

    Examples:
        >>> ones = argosy.nn.initializer.Constant(1.0)
        >>> layer = argosy.nn.Linear(2, 3, weight_attr=ones)
        >>> layer(argosy.to_tensor([[1.0, 2.0]])).tolist()
        [[3.0, 3.0, 3.0]]
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
        in1_features, in2_features, out_features (int): sizes of the last axis of x1, x2 and the result.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [out, in1, in2].
        bias_attr (ParamAttr | bool, optional): attributes of ``bias`` [1, out]; False leaves it out.

    Shape: [N, in1_features] and [N, in2_features] to [N, out_features].

    Examples:
        >>> argosy.nn.Bilinear(2, 3, 4)(argosy.ones([5, 2]), argosy.ones([5, 3])).shape
        paddle.Size([5, 4])
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
        num_embeddings (int): number of rows.
        embedding_dim (int): length of a row.
        padding_idx (int, optional): this row is zero and gets no gradient; negative counts from the end.
        max_norm (float, optional): rows that are read and whose norm is larger are scaled to it.
        norm_type (float): order of that norm.
        scale_grad_by_freq (bool): divide a row's gradient by how often it occurs in the input.
        sparse (bool): the gradient of ``weight`` holds only the rows that occur.
        device: where the table lives; None takes the current device.
        dtype: of the table; None takes the default dtype.
        weight_attr (ParamAttr, optional): attributes of ``weight`` [num_embeddings, embedding_dim];
            Xavier
            uniform.

    Shape: integers of any shape to [*shape, embedding_dim].

    Raises:
        ValueError: a size is not positive, or ``padding_idx`` out of range.
        AssertionError: ``_weight``, a table that exists, has another shape.

    Examples:
        >>> table = argosy.nn.Embedding(10, 4, padding_idx=0)
        >>> rows = table(argosy.to_tensor([[0, 3]]))
        >>> rows.shape, rows[0, 0].tolist()
        (paddle.Size([1, 2, 4]), [0.0, 0.0, 0.0, 0.0])
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

    @also_named(input="x")
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
    """Axes ``start_axis`` to ``stop_axis`` become one.

    Args:
        start_axis, stop_axis (int): first and last of them; negative counts from the end.

    Shape: [N, C, H, W] to [N, C H W] by default.

    Examples:
        >>> argosy.nn.Flatten()(argosy.ones([2, 3, 4])).shape
        paddle.Size([2, 12])
    """

    _repr_shows = ()

    @keeps
    def __init__(self, start_axis=1, stop_axis=-1): ...

    def forward(self, input):
        return tensor.flatten(input, self.start_axis, self.stop_axis)


class Unflatten(ForwardingLayer):
    """One axis becomes several.

    Args:
        axis (int): which.
        shape (list[int] | Tensor): sizes of the new axes; one may be -1.

    Shape: [.., n, ..] to [.., *shape, ..], the product of shape being n.

    Examples:
        >>> argosy.nn.Unflatten(1, [2, -1])(argosy.ones([5, 6])).shape
        paddle.Size([5, 2, 3])
    """

    @keeps
    def __init__(self, axis, shape, name=None): ...

    def forward(self, input):
        return tensor.unflatten(input, self.axis, self.shape)


class CosineSimilarity(ForwardingLayer):
    """Cosine of the angle between two inputs along one axis.

    Args:
        axis (int): axis of the vectors; ``dim`` is its other name.
        eps (float): the product of the norms is at least this.

    Shape: two of [.., n, ..], or that broadcast, to [.., ..].

    Examples:
        >>> x, y = argosy.to_tensor([[1.0, 0.0]]), argosy.to_tensor([[1.0, 1.0]])
        >>> argosy.nn.CosineSimilarity()(x, y).tolist()
        [0.7071]
    """

    _kept_prefix = "_"
    dim = other_name("_axis")

    @alias(dim="axis")
    @keeps
    def __init__(self, axis=1, eps=1e-8): ...

    def forward(self, x1, x2):
        return F.cosine_similarity(x1, x2, self._axis, self._eps)


# -- dropout -------------------------------------------------------------------------------------


class Dropout(ForwardingLayer):
    """Sets elements to zero at random while training.

    Args:
        p (float): probability that an element becomes zero.
        inplace (bool): write into the input.
        axis (int | list[int], optional): axes along which the choice varies; None: every element for
            itself.
        mode (str): 'upscale_in_train' divides what is kept by 1 - p in training; 'downscale_in_infer'
            multiplies by 1 - p when not training.

    Shape: any; the result has the same.

    Raises:
        ValueError: ``p``, ``mode`` or ``axis`` is out of range (at the call).

    Paper: Srivastava et al., JMLR 15 (2014).

    Examples:
        >>> drop = argosy.nn.Dropout(p=0.5)
        >>> set(drop(argosy.ones([100])).tolist()) == {0.0, 2.0}
        True
        >>> drop = drop.eval()
        >>> drop(argosy.ones([2])).tolist()
        [1.0, 1.0]
    """

    _repr_shows = ("p", "axis", "mode", "name", "inplace")

    @keeps
    def __init__(self, p=0.5, inplace=False, axis=None, mode="upscale_in_train", name=None): ...

    def forward(self, input):
        return F.dropout(input, self.p, self.axis, self.training, self.inplace, self.mode)


class _DropoutNd(Ranked, ForwardingLayer):
    _text = """Drops whole channels while training; what is kept is divided by 1 - p.

    Args:
        p (float): probability that a channel of a sample becomes zero.
        data_format (str): {formats}.

    Shape: {x} or {last}; the result has the same.

    Raises:
        ValueError: the input has another number of dimensions, or p or data_format is wrong (at the call).

    Paper: Tompson et al., arXiv:1411.4280.

    Examples:
        >>> drop = argosy.nn.{name}(p=0.5)
        >>> out = drop(argosy.ones([1, 4, {two}]))
        >>> set(out.flatten().tolist()) <= {{0.0, 2.0}}
        True
    """

    @keeps
    def __init__(self, p=0.5, data_format="NCHW", name=None): ...

    def forward(self, input):
        return self._forwards_to(input, self.p, self.training, self.data_format)


class Dropout2D(_DropoutNd, dims=2, function=F.dropout2d): ...


class Dropout3D(_DropoutNd, dims=3, function=F.dropout3d): ...


class _AlphaDropout(ForwardingLayer):
    @keeps
    def __init__(self, p=0.5, name=None): ...

    def forward(self, input):
        return self._forwards_to(input, self.p, self.training)


class AlphaDropout(_AlphaDropout, function=F.alpha_dropout):
    """Dropout that keeps mean and variance of self-normalizing networks (:class:`SELU`).

    Args:
        p (float): probability that an element is dropped: replaced by the activation's negative limit.

    Shape: any; the result has the same.

    Raises:
        ValueError: ``p`` is outside of [0, 1] (at the call).

    Paper: Klambauer et al., arXiv:1706.02515.

    Examples:
        >>> argosy.nn.AlphaDropout(p=0.5)(argosy.ones([4, 4])).shape
        paddle.Size([4, 4])
        >>> argosy.nn.AlphaDropout(p=0.5).eval()(argosy.ones([2])).tolist()
        [1.0, 1.0]
    """


class FeatureAlphaDropout(_AlphaDropout, function=F.feature_alpha_dropout):
    """:class:`AlphaDropout` of whole channels.

    Args:
        p (float): probability that a channel of a sample is dropped.

    Shape: [N, C, ..]; the result has the same.

    Raises:
        ValueError: ``p`` is outside of [0, 1] (at the call).

    Examples:
        >>> out = argosy.nn.FeatureAlphaDropout(p=0.5)(argosy.ones([1, 8, 4]))
        >>> bool((out == out[:, :, :1]).all())
        True
    """


# -- resizing ------------------------------------------------------------------------------------


class Upsample(ForwardingLayer):
    """Resizes the spatial axes.

    Args:
        size (list[int] | Tensor, optional): new sizes of the spatial axes; or
        scale_factor (float | list[float], optional): one number, or one per axis.
        mode (str): 'nearest' (4-D, 5-D), 'linear' (3-D), 'bilinear', 'bicubic' (4-D), 'trilinear' (5-D)
            or
            'area' (means; needs ``size``).
        align_corners (bool): corner pixels of input and result coincide.
        align_mode (int): without ``align_corners``: 0 for half-pixel centres, 1 for src = scale * dst.
        data_format (str, optional): 'NCW', 'NWC', 'NCHW', 'NHWC', 'NCDHW' or 'NDHWC'; None: channels
            first.
        recompute_scale_factor (bool, optional): take the scale from the rounded sizes.

    Shape: [N, C, *sizes] to [N, C, *new sizes].

    Raises:
        ValueError: mode, size, scale and the number of dimensions do not fit each other (at the call).

    Examples:
        >>> argosy.nn.Upsample(scale_factor=2)(argosy.ones([1, 3, 4, 4])).shape
        paddle.Size([1, 3, 8, 8])
    """

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
    def __init__(self, size=None, scale_factor=None, data_format="NCHW", name=None):
        if isinstance(size, int):
            self.size = [size, size]

    @also_named(input="x")
    def forward(self, x):
        return F.interpolate(
            x, self.size, self.scale_factor, data_format=self.data_format, **self._options
        )

    def extra_repr(self):
        if self.scale_factor is not None:
            text = f"scale_factor={self.scale_factor}"
        else:
            text = f"size={self.size}"
        return join(f"{text}, data_format={self.data_format}", self.name)


class UpsamplingNearest2D(_Upsampling2D):
    """Resizes [N, C, H, W] by repeating the nearest pixel.

    Args:
        size (int | list[int], optional): H and W of the result; or
        scale_factor (float | list[float], optional): one number, or one per axis.
        data_format (str): 'NCHW' or 'NHWC'.

    Shape: [N, C, H, W] to [N, C, H', W'].

    Raises:
        ValueError: neither or both of size and scale_factor (at the call).

    Examples:
        >>> up = argosy.nn.UpsamplingNearest2D(scale_factor=2)
        >>> up(argosy.to_tensor([[[[1.0, 2.0]]]])).tolist()
        [[[[1.0, 1.0, 2.0, 2.0], [1.0, 1.0, 2.0, 2.0]]]]
    """

    _options = {"mode": "nearest", "align_corners": False, "align_mode": 0}


class UpsamplingBilinear2D(_Upsampling2D):
    """Resizes [N, C, H, W] by linear interpolation with corners aligned.

    Args:
        size (int | list[int], optional): H and W of the result; or
        scale_factor (float | list[float], optional): one number, or one per axis.
        data_format (str): 'NCHW' or 'NHWC'.

    Shape: [N, C, H, W] to [N, C, H', W'].

    Raises:
        ValueError: neither or both of size and scale_factor (at the call).

    Examples:
        >>> up = argosy.nn.UpsamplingBilinear2D(size=[1, 3])
        >>> up(argosy.to_tensor([[[[1.0, 2.0]]]])).tolist()
        [[[[1.0, 1.5, 2.0]]]]
    """

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
    """Columns of all sliding windows (im2col).

    Args:
        kernel_sizes, dilations, strides: int or two ints.
        paddings: int, [h, w] or [top, left, bottom, right].

    Shape: [N, C, H, W] to [N, C KH KW, number of windows].

    Raises:
        AssertionError: the input has not 4 dimensions (at the call).
        ValueError: the sizes do not fit (at the call).

    Examples:
        >>> argosy.nn.Unfold(2)(argosy.ones([1, 3, 4, 4])).shape
        paddle.Size([1, 12, 9])
    """

    @keeps
    def __init__(self, kernel_sizes, dilations=1, paddings=0, strides=1, name=None): ...

    def forward(self, input):
        return F.unfold(input, self.kernel_sizes, self.strides, self.paddings, self.dilations)


class Fold(_Windows):
    """Sums windows back into images: the transpose of :class:`Unfold` (col2im).

    Every argument is also found by its singular (``output_size``, ``kernel_size``, ..).

    Args:
        output_sizes: H and W of the images, int or two ints.
        kernel_sizes, dilations, strides: int or two ints.
        paddings: int, [h, w] or [top, left, bottom, right].

    Shape: [N, C KH KW, number of windows] to [N, C, H, W].

    Raises:
        AssertionError: the input has not 3 dimensions (at the call).
        ValueError: the sizes do not fit (at the call).

    Examples:
        >>> argosy.nn.Fold(output_sizes=[3, 3], kernel_sizes=2)(argosy.ones([1, 4, 4])).tolist()
        [[[[1.0, 2.0, 1.0], [2.0, 4.0, 2.0], [1.0, 2.0, 1.0]]]]
    """

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
