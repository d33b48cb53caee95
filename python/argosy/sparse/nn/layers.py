"""Layers of sparse tensors."""

from __future__ import annotations

import math

from argosy import nn
from argosy._support import check_choice, no_effect
from argosy.nn.layer._forwarding import ForwardingLayer, Ranked, keeps
from argosy.nn.layer.norm import _BatchNormBase, over_processes
from argosy.sparse.nn import functional
from argosy.sparse.unary import check


class ReLU(ForwardingLayer, function=functional.relu):
    """max(x, 0) of the stored values.

    Shape:
        Sparse, with the input's places.

    Example:
        >>> x = argosy.to_tensor([[-1.0, 2.0]]).to_sparse_coo(2)
        >>> argosy.sparse.nn.ReLU()(x).values().tolist()
        [0.0, 2.0]
    """

    _kept_prefix = "_"
    _repr_shows = ("name",)

    @keeps
    def __init__(self, name=None): ...

    def forward(self, x):
        return self._forwards_to(x, *self._kept())


class ReLU6(ReLU, function=functional.relu6):
    """min(max(x, 0), 6) of the stored values.

    Shape:
        Sparse, with the input's places.

    Example:
        >>> x = argosy.to_tensor([[-1.0, 9.0]]).to_sparse_coo(2)
        >>> argosy.sparse.nn.ReLU6()(x).values().tolist()
        [0.0, 6.0]
    """


class LeakyReLU(ReLU, function=functional.leaky_relu):
    """x, or negative_slope * x below 0, of the stored values.

    Args:
        negative_slope (float): The factor below 0.

    Shape:
        Sparse, with the input's places.

    Example:
        >>> x = argosy.to_tensor([[-1.0, 2.0]]).to_sparse_coo(2)
        >>> argosy.sparse.nn.LeakyReLU(0.5)(x).values().tolist()
        [-0.5, 2.0]
    """

    @keeps
    def __init__(self, negative_slope=0.01, name=None): ...


class Softmax(ReLU, function=functional.softmax):
    """Softmax of the stored values of each row.

    Args:
        axis (int): Only the last, -1.

    Shape:
        Sparse, with the input's places.

    Example:
        >>> x = argosy.to_tensor([[1.0, 0.0, 1.0]]).to_sparse_csr()
        >>> argosy.sparse.nn.Softmax()(x).values().tolist()
        [0.5, 0.5]
    """

    @keeps
    def __init__(self, axis=-1, name=None): ...


class BatchNorm(nn.BatchNorm1D):
    """Batch normalization of the stored values, whose last dimension is the channels.

    Args:
        num_features (int): Channels.
        momentum (float): How much of the running statistics each step keeps.
        epsilon (float): Added to the variance.
        weight_attr (ParamAttr | bool, optional): Of the scale; False for none.
        bias_attr (ParamAttr | bool, optional): Of the bias; False for none.
        data_format (str): 'NDHWC' or 'NHWC'.
        use_global_stats (bool, optional): Whether to use the running statistics in training, too.

    Shape:
        Sparse [N, .., C], with the input's places.

    Raises:
        ValueError: another data_format.

    Paper: Batch Normalization (https://arxiv.org/abs/1502.03167).

    Example:
        >>> x = argosy.rand([1, 2, 2, 2, 3]).to_sparse_coo(4)
        >>> argosy.sparse.nn.BatchNorm(3)(x).shape
        paddle.Size([1, 2, 2, 2, 3])
    """

    _FORMATS = ("NDHWC", "NHWC")

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
        use_global_stats=None,
        name=None,
    ):
        check_choice(type(self).__name__, "data_format", data_format, self._FORMATS)
        super().__init__(
            num_features, momentum, epsilon, weight_attr, bias_attr, "NLC", use_global_stats, name
        )
        self._sparse_format = data_format

    def forward(self, input):  # noqa: A002
        check("BatchNorm", input)
        return input._like(super().forward(input.values()))

    def extra_repr(self):
        return (
            f"num_features={self._num_features}, momentum={self._momentum},"
            f" epsilon={self._epsilon}, data_format={self._sparse_format}"
        )


class SyncBatchNorm(BatchNorm):
    """Batch normalization over all processes of a job; in one process the same as BatchNorm.

    Args:
        num_features (int): Channels.
        momentum (float): How much of the running statistics each step keeps.
        epsilon (float): Added to the variance.
        weight_attr (ParamAttr | bool, optional): Of the scale; False for none.
        bias_attr (ParamAttr | bool, optional): Of the bias; False for none.
        data_format (str): As of the dense layer. Stored values have the channels last whatever it says.

    Shape:
        Sparse [N, .., C], with the input's places.

    Example:
        >>> layer = argosy.sparse.nn.SyncBatchNorm(3)
        >>> layer(argosy.rand([1, 2, 2, 2, 3]).to_sparse_coo(4)).shape
        paddle.Size([1, 2, 2, 2, 3])
    """

    _FORMATS = ("NCHW", "NHWC", "NCDHW", "NDHWC", "NCL", "NLC", "NC")

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__(
            num_features, momentum, epsilon, weight_attr, bias_attr, data_format, None, name
        )

    def forward(self, input):  # noqa: A002
        check("SyncBatchNorm", input)
        joined = over_processes(self, input.values())
        return super().forward(input) if joined is None else input._like(joined)

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """Makes each BatchNorm in a layer a SyncBatchNorm, which has its parameters. Dense ones become dense ones.

        Args:
            layer (Layer): It is changed.

        Returns:
            Layer: The same, or what stands for it if it is a dense batch normalization itself.

        Example:
            >>> layer = argosy.nn.Sequential(argosy.sparse.nn.BatchNorm(3))
            >>> layer = argosy.sparse.nn.SyncBatchNorm.convert_sync_batchnorm(layer)
            >>> type(layer[0]).__name__
            'SyncBatchNorm'
        """
        if type(layer) is BatchNorm:
            layer.__class__ = cls
        for name, child in layer.named_children():
            layer.add_sublayer(name, cls.convert_sync_batchnorm(child))
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, BatchNorm):
            return nn.SyncBatchNorm.convert_sync_batchnorm(layer)
        return layer


class _Conv(Ranked, nn.Layer):
    _rank_formats = {2: "NHWC", 3: "NDHWC"}
    _function = None

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
    ):
        super().__init__()
        if padding_mode != "zeros" or groups != 1:
            raise ValueError(
                f"[{type(self).__name__}] expected padding_mode='zeros' and groups=1, got"
                f" {padding_mode!r} and {groups}. Do this: leave them out."
            )
        name, n = type(self).__name__, self._dims
        self._in_channels, self._out_channels = in_channels, out_channels
        self._kernel_size = functional._numbers(name, kernel_size, n)
        self._stride = functional._numbers(name, stride, n)
        self._dilation = functional._numbers(name, dilation, n)
        self._padding, self._groups, self._data_format = padding, groups, data_format
        fan_in = in_channels * math.prod(self._kernel_size)
        self.weight = self.create_parameter(
            [*self._kernel_size, in_channels, out_channels],
            attr=weight_attr,
            default_initializer=nn.initializer.Normal(0.0, (2.0 / fan_in) ** 0.5),
        )
        self.bias = self.create_parameter([out_channels], attr=bias_attr, is_bias=True)

    def forward(self, x):
        return type(self)._function(
            x,
            self.weight,
            self.bias,
            self._stride,
            self._padding,
            self._dilation,
            self._groups,
            self._data_format,
        )

    def extra_repr(self):
        text = f"{self._in_channels}, {self._out_channels}, kernel_size={self._kernel_size}"
        if self._stride != [1] * self._dims:
            text += f", stride={self._stride}"
        if self._padding != 0:
            text += f", padding={self._padding}"
        if self._dilation != [1] * self._dims:
            text += f", dilation={self._dilation}"
        return f"{text}, data_format={self._data_format}"


class Conv3D(_Conv, dims=3):
    """Convolution of sparse volumes: sparse.nn.functional.conv3d.

    Args:
        in_channels (int): Channels of the input.
        out_channels (int): Channels of the result.
        kernel_size (int | list[int]): Sizes of the filters.
        stride (int | list[int]): Steps of the filters.
        padding (int | list[int]): Zeros around the input.
        dilation (int | list[int]): Distance of the filters' elements.
        groups (int): Only 1.
        padding_mode (str): Only 'zeros'.
        weight_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias; False for none.
        data_format (str): 'NDHWC'.

    Shape:
        Sparse [N, D, H, W, C] gives sparse [N, d, h, w, out_channels].

    Raises:
        ValueError: groups or padding_mode is another one.

    Example:
        >>> x = argosy.rand([1, 4, 4, 4, 3]).to_sparse_coo(4)
        >>> argosy.sparse.nn.Conv3D(3, 8, 3, padding=1)(x).shape
        paddle.Size([1, 4, 4, 4, 8])
    """

    _function = staticmethod(functional.conv3d)


class Conv2D(_Conv, dims=2):
    """Convolution of sparse images: sparse.nn.functional.conv2d.

    Args:
        in_channels (int): Channels of the input.
        out_channels (int): Channels of the result.
        kernel_size (int | list[int]): Sizes of the filters.
        stride (int | list[int]): Steps of the filters.
        padding (int | list[int]): Zeros around the input.
        dilation (int | list[int]): Distance of the filters' elements.
        groups (int): Only 1.
        padding_mode (str): Only 'zeros'.
        weight_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias; False for none.
        data_format (str): 'NHWC'.

    Shape:
        Sparse [N, H, W, C] gives sparse [N, h, w, out_channels].

    Raises:
        ValueError: groups or padding_mode is another one.

    Example:
        >>> x = argosy.rand([1, 4, 4, 3]).to_sparse_coo(3)
        >>> argosy.sparse.nn.Conv2D(3, 8, 3, padding=1, data_format="NHWC")(x).shape
        paddle.Size([1, 4, 4, 8])
    """

    _function = staticmethod(functional.conv2d)


class _SubmConv(_Conv):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        padding_mode="zeros",
        key=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NDHWC",
        backend=None,
    ):
        no_effect("SubmConv", "places are found anew in each call", key=(key, None))
        no_effect(
            "SubmConv", "there is one kernel for each device and dtype", backend=(backend, None)
        )
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups,
                         padding_mode, weight_attr, bias_attr, data_format)  # fmt: skip


class SubmConv3D(_SubmConv, dims=3):
    """Submanifold convolution of sparse volumes, which gives values at the places of the input only:
    sparse.nn.functional.subm_conv3d.

    Args:
        in_channels (int): Channels of the input.
        out_channels (int): Channels of the result.
        kernel_size (int | list[int]): Sizes of the filters.
        stride (int | list[int]): Steps of the filters.
        padding (int | list[int]): Zeros around the input.
        dilation (int | list[int]): Distance of the filters' elements.
        groups (int): Only 1.
        padding_mode (str): Only 'zeros'.
        key (str, optional): Has no effect, which a warning says.
        backend (str, optional): Likewise.
        weight_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias; False for none.
        data_format (str): 'NDHWC'.

    Shape:
        Sparse [N, D, H, W, C] gives sparse [N, D, H, W, out_channels].

    Raises:
        ValueError: groups or padding_mode is another one.

    Paper: Submanifold Sparse Convolutional Networks (https://arxiv.org/abs/1706.01307).

    Example:
        >>> x = argosy.rand([1, 4, 4, 4, 3]).to_sparse_coo(4)
        >>> argosy.sparse.nn.SubmConv3D(3, 8, 3, padding=1)(x).shape
        paddle.Size([1, 4, 4, 4, 8])
    """

    _function = staticmethod(functional.subm_conv3d)


class SubmConv2D(_SubmConv, dims=2):
    """Submanifold convolution of sparse images, which gives values at the places of the input only:
    sparse.nn.functional.subm_conv2d.

    Args:
        in_channels (int): Channels of the input.
        out_channels (int): Channels of the result.
        kernel_size (int | list[int]): Sizes of the filters.
        stride (int | list[int]): Steps of the filters.
        padding (int | list[int]): Zeros around the input.
        dilation (int | list[int]): Distance of the filters' elements.
        groups (int): Only 1.
        padding_mode (str): Only 'zeros'.
        key (str, optional): Has no effect, which a warning says.
        backend (str, optional): Likewise.
        weight_attr (ParamAttr, optional): Of the filters.
        bias_attr (ParamAttr | bool, optional): Of the bias; False for none.
        data_format (str): 'NHWC'.

    Shape:
        Sparse [N, H, W, C] gives sparse [N, H, W, out_channels].

    Raises:
        ValueError: groups or padding_mode is another one.

    Paper: Submanifold Sparse Convolutional Networks (https://arxiv.org/abs/1706.01307).

    Example:
        >>> x = argosy.rand([1, 4, 4, 3]).to_sparse_coo(3)
        >>> argosy.sparse.nn.SubmConv2D(3, 8, 3, padding=1, data_format="NHWC")(x).shape
        paddle.Size([1, 4, 4, 8])
    """

    _function = staticmethod(functional.subm_conv2d)


class MaxPool3D(ForwardingLayer):
    """The largest stored value of each window: sparse.nn.functional.max_pool3d.

    Args:
        kernel_size (int | list[int]): Sizes of a window.
        stride (int | list[int], optional): Distance of the windows; default: kernel_size.
        padding (int | list[int]): Added around the input.
        return_mask (bool): Only False.
        ceil_mode (bool): Whether a window may reach over the end.
        data_format (str): 'NDHWC'.

    Shape:
        Sparse [N, D, H, W, C] gives sparse [N, d, h, w, C].

    Raises:
        ValueError: return_mask is true.

    Example:
        >>> x = argosy.rand([1, 4, 4, 4, 3]).to_sparse_coo(4)
        >>> argosy.sparse.nn.MaxPool3D(2)(x).shape
        paddle.Size([1, 2, 2, 2, 3])
    """

    _kept_as = {"kernel_size": "ksize"}
    _repr_shows = ("kernel_size", "stride", "padding")

    @keeps
    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        return_mask=False,
        ceil_mode=False,
        data_format="NDHWC",
        name=None,
    ):
        if return_mask:
            raise ValueError(
                "[MaxPool3D] return_mask=True is not supported for sparse tensors. Do this: leave it"
                " False."
            )

    def forward(self, x):
        return functional.max_pool3d(
            x, self.ksize, self.stride, self.padding, self.ceil_mode, self.data_format
        )
