"""Normalization layers."""

from __future__ import annotations

import functools
import numbers
import operator

from argosy import _core
from argosy._dtypes import SIXTEEN_BIT
from argosy._job import get_world_size
from argosy._support import alias, check_choice
from argosy.base.param_attr import ParamAttr

from .. import functional as F
from ..functional._args import CHANNEL_LAST
from ..initializer import Constant, Normal
from ._forwarding import ForwardingLayer, Ranked, keeps
from ._repr import join
from .layers import Layer

__all__ = [
    "BatchNorm",
    "BatchNorm1D",
    "BatchNorm2D",
    "BatchNorm3D",
    "GroupNorm",
    "InstanceNorm1D",
    "InstanceNorm2D",
    "InstanceNorm3D",
    "LayerNorm",
    "LocalResponseNorm",
    "SpectralNorm",
    "SyncBatchNorm",
]


def _stats_dtype(dtype=None):
    """Weights and statistics are float32 where the default dtype has 16 bits."""
    dtype = _core.get_default_dtype() if dtype is None else dtype
    return "float32" if _core.dtype(dtype) in SIXTEEN_BIT else dtype


def _fixed(layer, name, size, value, dtype, average=True):
    """A parameter that is state: not trained, and saved with the layer."""
    attr = ParamAttr(
        name=name, initializer=Constant(value), trainable=False, do_model_average=average
    )
    parameter = layer.create_parameter(attr=attr, shape=[size], dtype=dtype)
    parameter.stop_gradient = True
    return parameter


def _affine(layer, size, weight_attr, bias_attr, dtype=None, device=None):
    """``weight`` of ones and ``bias`` of zeros; None for each whose attribute is False."""
    layer.weight = None
    if weight_attr is not False:
        layer.weight = layer.create_parameter(
            attr=weight_attr,
            shape=[size],
            dtype=dtype,
            default_initializer=Constant(1.0),
            device=device,
        )
    layer.bias = None
    if bias_attr is not False:
        layer.bias = layer.create_parameter(
            attr=bias_attr, shape=[size], dtype=dtype, is_bias=True, device=device
        )


class _BatchNormBase(Layer):
    """What BatchNorm1D to 3D and SyncBatchNorm share."""

    _keeps_float32_for = ("float16", "bfloat16")

    def __init__(
        self,
        num_features,
        momentum=0.9,
        epsilon=1e-05,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        use_global_stats=None,
        name=None,
    ):
        super().__init__()
        self._num_features = num_features
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._use_global_stats = use_global_stats
        self._dtype = _stats_dtype()
        _affine(self, num_features, weight_attr, bias_attr, self._dtype)
        mean, variance = (f"{name}_mean", f"{name}_variance") if name is not None else (None, None)
        self._mean = _fixed(self, mean, num_features, 0.0, self._dtype)
        self._variance = _fixed(self, variance, num_features, 1.0, self._dtype)
        self._data_format = data_format
        self._in_place = False
        self._momentum = momentum
        self._epsilon = epsilon
        self._fuse_with_relu = False
        self._name = name

    def _check_input_dim(self, input):
        raise NotImplementedError(
            f"[{type(self).__name__}] has no check of x's dimensions. Do this: use BatchNorm1D,"
            " BatchNorm2D or BatchNorm3D, or define _check_input_dim(x)."
        )

    def _check_data_format(self, input):
        raise NotImplementedError(
            f"[{type(self).__name__}] has no check of data_format. Do this: use BatchNorm1D,"
            " BatchNorm2D or BatchNorm3D, or define _check_data_format(data_format)."
        )

    def forward(self, input):
        self._check_data_format(self._data_format)
        self._check_input_dim(input)
        return F.batch_norm(
            input,
            self._mean,
            self._variance,
            weight=self.weight,
            bias=self.bias,
            training=self.training,
            momentum=self._momentum,
            epsilon=self._epsilon,
            data_format=self._data_format,
            use_global_stats=self._use_global_stats,
        )

    def extra_repr(self):
        text = (
            f"num_features={self._num_features}, momentum={self._momentum}, epsilon={self._epsilon}"
        )
        if self._data_format != "NCHW":
            text += f", data_format={self._data_format}"
        return join(text, self._name)


class _BatchNormNd(Ranked, _BatchNormBase):
    """BatchNorm1D to 3D. ``_formats`` names the formats, ``_ranks`` the numbers of x's dimensions."""

    _text = """Normalizes each channel over the batch and all positions, then scales and shifts it.

    Training uses mean and variance of the batch and updates the buffers ``_mean`` and ``_variance``
    [num_features], running = momentum * running + (1 - momentum) * batch; ``eval()`` uses those.

    Args:
        num_features (int): number of channels.
        momentum (float): share of the running statistics that an update keeps.
        epsilon (float): added to the variance.
        weight_attr, bias_attr (ParamAttr | bool, optional): attributes of ``weight`` (ones) and ``bias``
            (zeros) [num_features]; False leaves the parameter out.
        data_format (str): {formats}.
        use_global_stats (bool, optional): True always takes the running statistics, False always the
            batch's; None as said above.

    Shape: {x}; the result has the same.

    Raises:
        ValueError: the input has another number of dimensions, or data_format is unknown (at the call).

    Paper: Ioffe and Szegedy, arXiv:1502.03167.

    Examples:
        >>> norm = argosy.nn.{name}(3)
        >>> out = norm(argosy.rand([2, 3, {four}]))
        >>> bool(argosy.allclose(out.mean(), argosy.zeros([]), atol=1e-5))
        True
    """

    _formats = ()
    _ranks = ()
    _others = ""

    def _check_data_format(self, input):
        if input not in (*self._formats, "NCHW", "NHWC"):
            raise ValueError(
                f"[{type(self).__name__}] data_format: expected one of {', '.join(self._formats)}, "
                f"got {input!r}. Do this: use one of them."
            )

    def _check_input_dim(self, input):
        if len(input.shape) not in self._ranks:
            raise ValueError(
                f"[{type(self).__name__}] x: expected {' or '.join(map(str, self._ranks))} "
                f"dimensions, got {len(input.shape)}. Do this: reshape it, or use {self._others}."
            )


class BatchNorm1D(_BatchNormNd, dims=1):
    _words = {"x": "[N, C] or [N, C, L]", "formats": "'NC', 'NCL' or 'NLC'"}
    _formats = ("NC", "NCL", "NLC")
    _ranks = (2, 3)
    _others = "BatchNorm2D or 3D"


class BatchNorm2D(_BatchNormNd, dims=2):
    _formats = ("NCHW", "NHWC")
    _ranks = (4,)
    _others = "BatchNorm1D or 3D"


class BatchNorm3D(_BatchNormNd, dims=3):
    _formats = ("NCDHW", "NDHWC")
    _ranks = (5,)
    _others = "BatchNorm1D or 2D"


# function(layer, x): x normalized over the batches of all processes; argosy.distributed.parallel, of a
# higher room, sets it.
normalize_over_processes = None


def over_processes(layer, x):
    """What a SyncBatchNorm gives in training in one of several processes; None: what BatchNorm does."""
    if not layer.training or layer._use_global_stats or get_world_size() == 1:
        return None
    if normalize_over_processes is None:
        raise RuntimeError(
            f"[SyncBatchNorm] this process is one of {get_world_size()} (PADDLE_TRAINERS_NUM), and they are"
            " not connected yet. Do this: call paddle.distributed.init_parallel_env() before."
        )
    return normalize_over_processes(layer, x)


class SyncBatchNorm(_BatchNormBase):
    """Batch normalization over the batches of all processes, which may be of different sizes.

    In a single process, and in ``eval()``, it is the same as batch normalization. All processes of a job
    take part in each call, and in its backward: that gives each the gradient of its own x and its share
    of those of ``weight`` and ``bias``, which DataParallel averages.

    Args:
        num_features (int): number of channels.
        momentum (float): share of the running statistics that an update keeps.
        epsilon (float): added to the variance.
        weight_attr, bias_attr (ParamAttr | bool, optional): attributes of ``weight`` (ones) and ``bias``
            (zeros) [num_features]; False leaves the parameter out.
        data_format (str): 'NC', 'NCL', 'NCHW', 'NCDHW', or with the channels last.

    Shape: [N, C, ..] of 2 to 5 dimensions; the result has the same.

    Raises:
        ValueError: fewer than 2 dimensions, or data_format is unknown (at the call).

    Examples:
        >>> argosy.nn.SyncBatchNorm(3)(argosy.rand([2, 3, 4, 4])).shape
        paddle.Size([2, 3, 4, 4])
    """

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

    def _check_data_format(self, input):
        check_choice("SyncBatchNorm", "data_format", input, CHANNEL_LAST)

    def _check_input_dim(self, input):
        if len(input.shape) < 2:
            raise ValueError(
                f"[SyncBatchNorm] x: expected 2 dimensions or more, got {len(input.shape)}. Do "
                "this: reshape it."
            )

    def forward(self, x):
        self._check_data_format(self._data_format)
        self._check_input_dim(x)
        joined = over_processes(self, x)
        return super().forward(x) if joined is None else joined

    @classmethod
    def convert_sync_batchnorm(cls, layer):
        """Replaces every BatchNorm1D to 3D in a layer by a SyncBatchNorm with its parameters.

        Args:
            layer: the layer; sublayers are replaced in place.

        Returns:
            The layer, or what stands for it if it is a batch normalization itself.

        Examples:
            >>> net = argosy.nn.Sequential(argosy.nn.BatchNorm2D(3))
            >>> type(argosy.nn.SyncBatchNorm.convert_sync_batchnorm(net)[0]).__name__
            'SyncBatchNorm'
        """
        result = layer
        if isinstance(layer, _BatchNormBase) and not isinstance(layer, SyncBatchNorm):
            result = SyncBatchNorm(
                layer._num_features,
                layer._momentum,
                layer._epsilon,
                layer._weight_attr,
                layer._bias_attr,
                layer._data_format,
                layer._name,
            )
            if layer.weight is not None:
                result.weight = layer.weight
            if layer.bias is not None:
                result.bias = layer.bias
            result._mean = layer._mean
            result._variance = layer._variance
            result.training = layer.training
        for name, sublayer in layer.named_children():
            result.add_sublayer(name, cls.convert_sync_batchnorm(sublayer))
        return result


class BatchNorm(Layer):
    """Batch normalization with an activation, as fluid programs use it.

    Args:
        num_channels (int): number of channels.
        act (str, optional): name of an activation that follows.
        is_test (bool): start in evaluation mode.
        momentum (float): share of the running statistics that an update keeps.
        epsilon (float): added to the variance.
        param_attr, bias_attr (ParamAttr | bool, optional): attributes of ``weight`` and ``bias``; False
            freezes it at 1 and 0.
        dtype: dtype of the parameters, float32 in place of 16-bit ones.
        data_layout (str): 'NCHW' or 'NHWC', or those of other ranks.
        in_place (bool): is kept as an attribute; the result is a new tensor.
        moving_mean_name, moving_variance_name (str, optional): names of the running statistics.
        do_model_average_for_mean_and_var (bool): whether ModelAverage averages them.
        use_global_stats (bool): use the running statistics even while training.
        trainable_statistics (bool): use the batch's statistics even while evaluating.

    Shape: [N, C, ..]; the result has the same.

    Examples:
        >>> norm = argosy.nn.BatchNorm(3, act="relu")
        >>> norm(argosy.rand([2, 3, 4, 4])).min().item()
        0.0
    """

    _keeps_float32_for = ("float16", "bfloat16")

    def __init__(
        self,
        num_channels,
        act=None,
        is_test=False,
        momentum=0.9,
        epsilon=1e-05,
        param_attr=None,
        bias_attr=None,
        dtype="float32",
        data_layout="NCHW",
        in_place=False,
        moving_mean_name=None,
        moving_variance_name=None,
        do_model_average_for_mean_and_var=True,
        use_global_stats=False,
        trainable_statistics=False,
    ):
        super().__init__()
        self._param_attr = param_attr
        self._bias_attr = bias_attr
        self._act = act
        self._in_place = in_place
        if bias_attr is False:
            self._bias_attr = ParamAttr(initializer=Constant(0.0), trainable=False)
        if param_attr is False:
            self._param_attr = ParamAttr(initializer=Constant(1.0), trainable=False)
        self._dtype = _stats_dtype(dtype)
        self.weight = self.create_parameter(
            attr=self._param_attr,
            shape=[num_channels],
            dtype=self._dtype,
            default_initializer=Constant(1.0),
        )
        self.bias = self.create_parameter(
            attr=self._bias_attr, shape=[num_channels], dtype=self._dtype, is_bias=True
        )
        average = do_model_average_for_mean_and_var
        self._mean = _fixed(self, moving_mean_name, num_channels, 0.0, self._dtype, average)
        self._variance = _fixed(self, moving_variance_name, num_channels, 1.0, self._dtype, average)
        if is_test:
            self.eval()
        self._data_layout = data_layout
        self._momentum = momentum
        self._epsilon = epsilon
        self._is_test = is_test
        self._fuse_with_relu = False
        self._use_global_stats = use_global_stats
        self._trainable_statistics = trainable_statistics

    def forward(self, input):
        batch = self._trainable_statistics or (self.training and not self._use_global_stats)
        out = F.batch_norm(
            input,
            self._mean,
            self._variance,
            self.weight,
            self.bias,
            momentum=self._momentum,
            epsilon=self._epsilon,
            data_format=self._data_layout,
            use_global_stats=not batch,
        )
        return self._helper.append_activation(out, self._act)


class LayerNorm(Layer):
    """Normalizes over the last axes to mean 0 and variance 1, then scales and shifts.

    Args:
        normalized_shape (int | list[int]): sizes of the axes that are normalized together.
        epsilon (float): added to the variance.
        elementwise_affine (bool): False leaves weight and bias out.
        bias (bool): False leaves the bias out.
        device: where the parameters live; None takes the current device.
        dtype: of the parameters; None takes the default dtype.
        weight_attr, bias_attr (ParamAttr | bool, optional): attributes of ``weight`` (ones) and ``bias``
            (zeros), vectors with as many elements as ``normalized_shape``; False leaves one out.

    Shape: [.., *normalized_shape]; the result has the same.

    Raises:
        ValueError: the input does not end with ``normalized_shape`` (at the call).

    Paper: Ba, Kiros and Hinton, arXiv:1607.06450.

    Examples:
        >>> argosy.nn.LayerNorm(2)(argosy.to_tensor([[1.0, 3.0]])).tolist()
        [[-1.0, 1.0]]
    """

    _keeps_float32_for = ("float16",)

    @alias(eps="epsilon")
    def __init__(
        self,
        normalized_shape,
        epsilon=1e-05,
        *,
        elementwise_affine=True,
        bias=True,
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        name=None,
    ):
        super().__init__()
        if isinstance(normalized_shape, numbers.Integral):  # NumPy's are, too
            normalized_shape = [int(normalized_shape)]
        self._normalized_shape = list(normalized_shape)
        self._epsilon = epsilon
        self._device = device
        self._weight_attr = weight_attr if elementwise_affine else False
        self._bias_attr = bias_attr if elementwise_affine and bias else False
        self._dtype = _core.get_default_dtype() if dtype is None else dtype
        size = functools.reduce(operator.mul, self._normalized_shape, 1)
        _affine(self, size, self._weight_attr, self._bias_attr, dtype, device)

    def forward(self, input):
        return F.layer_norm(input, self._normalized_shape, self.weight, self.bias, self._epsilon)

    def extra_repr(self):
        return f"normalized_shape={self._normalized_shape}, epsilon={self._epsilon}"


class GroupNorm(Layer):
    """Normalizes groups of channels of each sample, then scales and shifts each channel.

    Args:
        num_groups (int): the channels fall into this many groups, each normalized for itself.
        num_channels (int): number of channels, divisible by ``num_groups``.
        epsilon (float): added to the variance.
        affine (bool): False leaves weight and bias out.
        device: where the parameters live; None takes the current device.
        dtype: of the parameters; None takes the default dtype.
        weight_attr, bias_attr (ParamAttr | bool, optional): attributes of ``weight`` (ones) and ``bias``
            (zeros) [num_channels]; False leaves one out.
        data_format (str): where the channels are, 'NCHW', 'NHWC' or those of other ranks.

    Shape: [N, C, ..]; the result has the same.

    Raises:
        ValueError: data_format is unknown.

    Paper: Wu and He, arXiv:1803.08494.

    Examples:
        >>> norm = argosy.nn.GroupNorm(num_groups=2, num_channels=4)
        >>> norm(argosy.rand([2, 4, 3, 3])).shape
        paddle.Size([2, 4, 3, 3])
    """

    @alias(eps="epsilon")
    def __init__(
        self,
        num_groups,
        num_channels,
        epsilon=1e-05,
        *,
        affine=True,
        device=None,
        dtype=None,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        self._epsilon = epsilon
        self._num_channels = num_channels
        self._num_groups = num_groups
        self._device = device
        check_choice("GroupNorm", "data_format", data_format, CHANNEL_LAST)
        self._data_format = data_format
        self._weight_attr = weight_attr if affine else False
        self._bias_attr = bias_attr if affine else False
        _affine(self, num_channels, self._weight_attr, self._bias_attr, dtype, device)

    def forward(self, input):
        return F.group_norm(
            input, self._num_groups, self._epsilon, self.weight, self.bias, self._data_format
        )

    def extra_repr(self):
        return (
            f"num_groups={self._num_groups}, num_channels={self._num_channels}, "
            f"epsilon={self._epsilon}"
        )


class _InstanceNormBase(Ranked, Layer):
    """What InstanceNorm1D to 3D share."""

    _text = """Normalizes each channel of each sample over its positions, then scales and shifts it.

    Args:
        num_features (int): number of channels.
        epsilon (float): added to the variance.
        momentum (float): has no effect: there are no running statistics.
        weight_attr, bias_attr (ParamAttr | bool, optional): attributes of ``scale`` (ones) and ``bias``
            (zeros) [num_features]; False for both leaves them out.
        data_format (str): {formats}.

    Shape: {x}; the result has the same.

    Raises:
        AssertionError: only one of ``weight_attr`` and ``bias_attr`` is False.
        ValueError: the input has another number of dimensions (at the call).

    Paper: Ulyanov et al., arXiv:1607.08022.

    Examples:
        >>> norm = argosy.nn.{name}(3)
        >>> out = norm(argosy.rand([2, 3, {four}]))
        >>> bool(argosy.allclose(out.mean(), argosy.zeros([]), atol=1e-5))
        True
    """

    _keeps_float32_for = ("float16",)

    _ranks = (4,)
    _expected = "4D"

    def __init__(
        self,
        num_features,
        epsilon=1e-5,
        momentum=0.9,
        weight_attr=None,
        bias_attr=None,
        data_format="NCHW",
        name=None,
    ):
        super().__init__()
        if (weight_attr is False) != (bias_attr is False):
            raise AssertionError(
                f"[{type(self).__name__}] weight_attr and bias_attr can be False only together, "
                f"got {weight_attr!r} and {bias_attr!r}. Do this: pass False for both or for "
                "none."
            )
        self._momentum = momentum
        self._epsilon = epsilon
        self._weight_attr = weight_attr
        self._bias_attr = bias_attr
        self._num_features = num_features
        self._data_format = data_format
        if weight_attr is False:
            self.scale = None
            self.bias = None
        else:
            self.scale = self.create_parameter(
                attr=weight_attr, shape=[num_features], default_initializer=Constant(1.0)
            )
            self.bias = self.create_parameter(
                attr=bias_attr, shape=[num_features], is_bias=True,
                default_initializer=Constant(0.0),
            )  # fmt: skip

    def _check_input_dim(self, input):
        if len(input.shape) not in self._ranks:
            raise ValueError(
                f"[{type(self).__name__}] x: expected {self._expected}, got {len(input.shape)} "
                "dimensions. Do this: reshape it, or use the layer for its rank."
            )

    def forward(self, input):
        self._check_input_dim(input)
        return F.instance_norm(
            input,
            weight=self.scale,
            bias=self.bias,
            momentum=self._momentum,
            eps=self._epsilon,
            data_format=self._data_format,
        )

    def extra_repr(self):
        return f"num_features={self._num_features}, epsilon={self._epsilon}"


class InstanceNorm1D(_InstanceNormBase, dims=1):
    _words = {"x": "[N, C] or [N, C, L]", "formats": "'NC', 'NCL' or 'NLC'"}
    _ranks = (2, 3)
    _expected = "2D or 3D"


class InstanceNorm2D(_InstanceNormBase, dims=2): ...


class InstanceNorm3D(_InstanceNormBase, dims=3):
    _ranks = (5,)
    _expected = "5D"


class LocalResponseNorm(ForwardingLayer):
    """Divides by ``(k + alpha * mean of squares over size neighbouring channels) ^ beta``.

    Args:
        size (int): number of neighbouring channels.
        alpha, beta, k (float): see above.
        data_format (str): 'NCL', 'NCHW', 'NCDHW', or with the channels last.

    Shape: 3-D to 5-D; the result has the same.

    Raises:
        ValueError: fewer than 3 dimensions, or data_format is unknown (at the call).

    Paper: Krizhevsky et al., "ImageNet Classification with Deep CNNs", 2012.

    Examples:
        >>> argosy.nn.LocalResponseNorm(size=3)(argosy.ones([1, 4, 2, 2])).shape
        paddle.Size([1, 4, 2, 2])
    """

    _repr_unless_default = ("data_format",)

    @keeps
    def __init__(self, size, alpha=0.0001, beta=0.75, k=1.0, data_format="NCHW", name=None): ...

    def forward(self, input):
        return F.local_response_norm(input, *self._kept())


class SpectralNorm(Layer):
    """Divides a weight by its largest singular value, found by power iteration.

    Args:
        weight_shape (list[int]): shape of the weights that the layer will be called with.
        dim (int): axis that becomes the rows of the matrix; the others are its columns.
        power_iters (int): iterations for each call.
        eps (float): added to norms that are divided by.
        dtype: dtype of the two vectors ``weight_u`` and ``weight_v``.

    Shape: ``weight_shape``; the result has the same.

    Raises:
        AssertionError: a size is not positive, or ``dim`` is no axis.

    Paper: Miyato et al., arXiv:1802.05957.

    Examples:
        >>> norm = argosy.nn.SpectralNorm([2, 2], power_iters=20)
        >>> norm(argosy.to_tensor([[4.0, 0.0], [0.0, 2.0]])).tolist()
        [[1.0, 0.0], [0.0, 0.5]]
    """

    def __init__(self, weight_shape, dim=0, power_iters=1, eps=1e-12, dtype="float32"):
        super().__init__()
        self._power_iters = power_iters
        self._eps = eps
        self._dim = dim
        self._dtype = dtype
        self._weight_shape = list(weight_shape)
        if min(self._weight_shape, default=0) <= 0:
            raise AssertionError(
                f"[SpectralNorm] weight_shape: expected sizes > 0, got {self._weight_shape}. Do "
                "this: correct it."
            )
        if not 0 <= dim < len(self._weight_shape):
            raise AssertionError(
                f"[SpectralNorm] dim: expected an axis in 0 .. {len(self._weight_shape) - 1}, "
                f"got {dim}. Do this: correct it."
            )
        rows = self._weight_shape[dim]
        columns = functools.reduce(operator.mul, self._weight_shape, 1) // rows
        for name, size in (("weight_u", rows), ("weight_v", columns)):
            vector = self.create_parameter(
                attr=ParamAttr(), shape=[size], dtype=dtype, default_initializer=Normal(0.0, 1.0)
            )
            vector.stop_gradient = True
            setattr(self, name, vector)

    def forward(self, x):
        return _core.ops.spectral_norm(
            x, self.weight_u, self.weight_v, self._dim, self._power_iters, self._eps
        )
