"""ShuffleNet v2 of several widths (arXiv 1807.11164)."""

from argosy import nn
from argosy._support import sizes_of
from argosy.tensor import concat

from ..ops import ConvNormActivation
from ._build import builds, refuse_pretrained

__all__ = [
    "ShuffleNetV2",
    "shufflenet_v2_swish",
    "shufflenet_v2_x0_25",
    "shufflenet_v2_x0_33",
    "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0",
    "shufflenet_v2_x1_5",
    "shufflenet_v2_x2_0",
]

# Channels of the stem, the three stages and the last convolution, by scale.
_WIDTHS = {
    0.25: (24, 24, 48, 96, 512),
    0.33: (24, 32, 64, 128, 512),
    0.5: (24, 48, 96, 192, 1024),
    1.0: (24, 116, 232, 464, 1024),
    1.5: (24, 176, 352, 704, 1024),
    2.0: (24, 224, 488, 976, 2048),
}
_REPEATS = (4, 8, 4)
_ACTIVATIONS = {"relu": nn.ReLU, "swish": nn.Swish, None: None}


def channel_shuffle(x, groups):
    """Interleave the channels of `groups` equal parts of x [N, C, H, W]."""
    n, c, h, w = sizes_of(x)
    parts = x.reshape([n, groups, c // groups, h, w])
    return parts.transpose([0, 2, 1, 3, 4]).flatten(1, 2)


def _depthwise(channels, stride):
    return ConvNormActivation(
        channels, channels, 3, stride=stride, padding=1, groups=channels, activation_layer=None
    )


class InvertedResidual(nn.Layer):
    """Transforms one half of the channels, keeps the other half, shuffles both."""

    def __init__(self, channels, activation_layer):
        super().__init__()
        half = channels // 2
        self._conv_pw = ConvNormActivation(
            half, half, 1, padding=0, activation_layer=activation_layer
        )
        self._conv_dw = _depthwise(half, 1)
        self._conv_linear = ConvNormActivation(
            half, half, 1, padding=0, activation_layer=activation_layer
        )

    def forward(self, inputs):
        half = sizes_of(inputs)[1] // 2
        x1, x2 = inputs[:, :half], inputs[:, half:]
        x2 = self._conv_linear(self._conv_dw(self._conv_pw(x2)))
        return channel_shuffle(concat([x1, x2], axis=1), 2)


class InvertedResidualDS(nn.Layer):
    """Halves the image: both branches see all channels and their results are shuffled."""

    def __init__(self, in_channels, out_channels, stride, activation_layer):
        super().__init__()
        half = out_channels // 2
        self._conv_dw_1 = _depthwise(in_channels, stride)
        self._conv_linear_1 = ConvNormActivation(
            in_channels, half, 1, padding=0, activation_layer=activation_layer
        )
        self._conv_pw_2 = ConvNormActivation(
            in_channels, half, 1, padding=0, activation_layer=activation_layer
        )
        self._conv_dw_2 = _depthwise(half, stride)
        self._conv_linear_2 = ConvNormActivation(
            half, half, 1, padding=0, activation_layer=activation_layer
        )

    def forward(self, inputs):
        x1 = self._conv_linear_1(self._conv_dw_1(inputs))
        x2 = self._conv_linear_2(self._conv_dw_2(self._conv_pw_2(inputs)))
        return channel_shuffle(concat([x1, x2], axis=1), 2)


class ShuffleNetV2(nn.Layer):
    """Halves of the channels that are transformed in turn and shuffled.

    Args:
        scale (float): 0.25, 0.33, 0.5, 1.0, 1.5 or 2.0.
        act (str, optional): "relu", "swish" or None.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Raises:
        NotImplementedError: ``scale`` is another number.
        RuntimeError: ``act`` is unknown.

    Paper: Ma et al., arXiv:1807.11164.

    Examples:
        >>> model = argosy.vision.models.ShuffleNetV2(scale=0.25, num_classes=10)
        >>> model(argosy.ones([2, 3, 64, 64])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, scale=1.0, act="relu", num_classes=1000, with_pool=True):
        super().__init__()
        if scale not in _WIDTHS:
            raise NotImplementedError(
                f"[ShuffleNetV2] unknown scale: expected one of {sorted(_WIDTHS)}, got {scale!r}."
                " Do this: use one of them."
            )
        if act not in _ACTIVATIONS:
            raise RuntimeError(
                f"[ShuffleNetV2] unknown act: expected 'relu', 'swish' or None, got {act!r}."
                " Do this: use one of them."
            )
        activation = _ACTIVATIONS[act]
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        stem, *stages, last = _WIDTHS[scale]
        self._conv1 = ConvNormActivation(
            3, stem, 3, stride=2, padding=1, activation_layer=activation
        )
        self._max_pool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        self._block_list = []
        channels = stem
        for stage, (repeats, width) in enumerate(zip(_REPEATS, stages), 2):
            for i in range(repeats):
                if i == 0:
                    block = InvertedResidualDS(channels, width, 2, activation)
                else:
                    block = InvertedResidual(width, activation)
                self._block_list.append(self.add_sublayer(f"{stage}_{i + 1}", block))
            channels = width
        self._last_conv = ConvNormActivation(
            channels, last, 1, padding=0, activation_layer=activation
        )
        if with_pool:
            self._pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self._out_c = last
            self._fc = nn.Linear(last, num_classes)

    def forward(self, inputs):
        x = self._max_pool(self._conv1(inputs))
        for block in self._block_list:
            x = block(x)
        x = self._last_conv(x)
        if self.with_pool:
            x = self._pool2d_avg(x)
        return self._fc(x.flatten(1)) if self.num_classes > 0 else x


def _shufflenet(name, pretrained, kwargs, **fixed):
    refuse_pretrained(pretrained, name)
    return ShuffleNetV2(**fixed, **kwargs)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 0.25.", 603_688)
def shufflenet_v2_x0_25(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_x0_25", pretrained, kwargs, scale=0.25)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 0.33.", 647_272)
def shufflenet_v2_x0_33(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_x0_33", pretrained, kwargs, scale=0.33)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 0.5.", 1_366_792)
def shufflenet_v2_x0_5(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_x0_5", pretrained, kwargs, scale=0.5)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 1.0.", 2_278_604)
def shufflenet_v2_x1_0(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_x1_0", pretrained, kwargs, scale=1.0)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 1.5.", 3_503_624)
def shufflenet_v2_x1_5(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_x1_5", pretrained, kwargs, scale=1.5)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 2.0.", 7_366_536)
def shufflenet_v2_x2_0(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_x2_0", pretrained, kwargs, scale=2.0)


@builds("ShuffleNetV2", "ShuffleNet v2 of scale 1.0 with swish.", 2_278_604)
def shufflenet_v2_swish(pretrained=False, **kwargs):
    return _shufflenet("shufflenet_v2_swish", pretrained, kwargs, scale=1.0, act="swish")
