"""MobileNet v3, small and large (arXiv 1905.02244)."""

from functools import partial

from ... import nn
from ..ops import ConvNormActivation
from ._build import SCALE, builds, make_divisible, refuse_pretrained

__all__ = [
    "InvertedResidual",
    "MobileNetV3",
    "MobileNetV3Large",
    "MobileNetV3Small",
    "SqueezeExcitation",
    "mobilenet_v3_large",
    "mobilenet_v3_small",
]

# (input, kernel, expanded, output channels, squeeze-excitation, hard swish, stride) of each block.
_SMALL = [
    (16, 3, 16, 16, True, False, 2),
    (16, 3, 72, 24, False, False, 2),
    (24, 3, 88, 24, False, False, 1),
    (24, 5, 96, 40, True, True, 2),
    (40, 5, 240, 40, True, True, 1),
    (40, 5, 240, 40, True, True, 1),
    (40, 5, 120, 48, True, True, 1),
    (48, 5, 144, 48, True, True, 1),
    (48, 5, 288, 96, True, True, 2),
    (96, 5, 576, 96, True, True, 1),
    (96, 5, 576, 96, True, True, 1),
]
_LARGE = [
    (16, 3, 16, 16, False, False, 1),
    (16, 3, 64, 24, False, False, 2),
    (24, 3, 72, 24, False, False, 1),
    (24, 5, 72, 40, True, False, 2),
    (40, 5, 120, 40, True, False, 1),
    (40, 5, 120, 40, True, False, 1),
    (40, 3, 240, 80, False, True, 2),
    (80, 3, 200, 80, False, True, 1),
    (80, 3, 184, 80, False, True, 1),
    (80, 3, 184, 80, False, True, 1),
    (80, 3, 480, 112, True, True, 1),
    (112, 3, 672, 112, True, True, 1),
    (112, 5, 672, 160, True, True, 2),
    (160, 5, 960, 160, True, True, 1),
    (160, 5, 960, 160, True, True, 1),
]


class SqueezeExcitation(nn.Layer):
    """Scales channels by a gate computed from their means.

    Args:
        input_channels, squeeze_channels (int): outer and inner channels.
        activation, scale_activation (type): of the inner layer and of the gate.

    Shape: [N, input_channels, H, W]; the result has the same.

    Paper: Hu et al., arXiv:1709.01507.

    Examples:
        >>> gate = argosy.vision.models.mobilenetv3.SqueezeExcitation(8, 2)
        >>> gate(argosy.ones([1, 8, 4, 4])).shape
        paddle.Size([1, 8, 4, 4])
    """

    def __init__(
        self,
        input_channels,
        squeeze_channels,
        activation=nn.ReLU,
        scale_activation=nn.Sigmoid,
    ):
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2D(1)
        self.fc1 = nn.Conv2D(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2D(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input):
        gate = self.activation(self.fc1(self.avgpool(input)))
        return input * self.scale_activation(self.fc2(gate))


class InvertedResidual(nn.Layer):
    """Expands, filters per channel, squeezes and excites if asked, projects; shortcut if shapes allow.

    Args:
        in_channels, expanded_channels, out_channels (int): numbers of channels.
        filter_size (int): kernel of the depthwise convolution.
        stride (int): 1 or 2.
        use_se (bool): squeeze and excite.
        activation_layer, norm_layer (type): activation and normalization.

    Shape: [N, in_channels, H, W] to [N, out_channels, H / stride, W / stride].

    Examples:
        >>> nn = argosy.nn
        >>> block = argosy.vision.models.mobilenetv3.InvertedResidual(
        ...     8, 16, 8, 3, 1, True, nn.Hardswish, nn.BatchNorm2D
        ... )
        >>> block(argosy.ones([2, 8, 4, 4])).shape
        paddle.Size([2, 8, 4, 4])
    """

    def __init__(
        self,
        in_channels,
        expanded_channels,
        out_channels,
        filter_size,
        stride,
        use_se,
        activation_layer,
        norm_layer,
    ):
        super().__init__()
        self.use_res_connect = stride == 1 and in_channels == out_channels
        self.use_se = use_se
        self.expand = in_channels != expanded_channels
        if self.expand:
            self.expand_conv = ConvNormActivation(
                in_channels,
                expanded_channels,
                1,
                norm_layer=norm_layer,
                activation_layer=activation_layer,
            )
        self.bottleneck_conv = ConvNormActivation(
            expanded_channels,
            expanded_channels,
            filter_size,
            stride=stride,
            groups=expanded_channels,
            norm_layer=norm_layer,
            activation_layer=activation_layer,
        )
        if use_se:
            self.mid_se = SqueezeExcitation(
                expanded_channels,
                make_divisible(expanded_channels // 4),
                scale_activation=nn.Hardsigmoid,
            )
        self.linear_conv = ConvNormActivation(
            expanded_channels, out_channels, 1, norm_layer=norm_layer, activation_layer=None
        )

    def forward(self, x):
        out = self.expand_conv(x) if self.expand else x
        out = self.bottleneck_conv(out)
        if self.use_se:
            out = self.mid_se(out)
        out = self.linear_conv(out)
        return x + out if self.use_res_connect else out


class MobileNetV3(nn.Layer):
    """MobileNet v3 from a block table.

    Args:
        config (list): one tuple per block (input channels, kernel size, expanded channels,
            output channels, squeeze-excitation, hard swish, stride), before scaling.
        last_channel (int): width of the classifier's hidden layer.
        scale (float): multiplies the number of channels everywhere.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Paper: Howard et al., arXiv:1905.02244.

    Examples:
        >>> table = [(16, 3, 16, 16, True, False, 2), (16, 3, 72, 24, False, True, 2)]
        >>> model = argosy.vision.models.mobilenetv3.MobileNetV3(table, 64, num_classes=10)
        >>> model(argosy.ones([2, 3, 32, 32])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, config, last_channel, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.config = config
        self.scale = scale
        self.last_channel = last_channel
        self.num_classes = num_classes
        self.with_pool = with_pool
        norm_layer = partial(nn.BatchNorm2D, epsilon=0.001, momentum=0.99)
        self.conv = ConvNormActivation(
            3,
            make_divisible(config[0][0] * scale),
            3,
            stride=2,
            padding=1,
            norm_layer=norm_layer,
            activation_layer=nn.Hardswish,
        )
        self.blocks = nn.Sequential(
            *[
                InvertedResidual(
                    make_divisible(in_channels * scale),
                    make_divisible(expanded * scale),
                    make_divisible(out_channels * scale),
                    kernel,
                    stride,
                    use_se,
                    nn.Hardswish if hard_swish else nn.ReLU,
                    norm_layer,
                )
                for in_channels, kernel, expanded, out_channels, use_se, hard_swish, stride in config
            ]
        )
        before = make_divisible(config[-1][3] * scale)
        self.lastconv_output_channels = before * 6
        self.lastconv = ConvNormActivation(
            before,
            self.lastconv_output_channels,
            1,
            norm_layer=norm_layer,
            activation_layer=nn.Hardswish,
        )
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(self.lastconv_output_channels, last_channel),
                nn.Hardswish(),
                nn.Dropout(p=0.2),
                nn.Linear(last_channel, num_classes),
            )

    def forward(self, x):
        x = self.lastconv(self.blocks(self.conv(x)))
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


class MobileNetV3Small(MobileNetV3):
    """MobileNet v3 of 11 blocks.

    Args:
        scale (float): multiplies the number of channels everywhere.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Paper: Howard et al., arXiv:1905.02244.

    Examples:
        >>> model = argosy.vision.models.MobileNetV3Small(scale=0.5, num_classes=10)
        >>> model(argosy.ones([2, 3, 64, 64])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(_SMALL, make_divisible(1024 * scale), scale, num_classes, with_pool)


class MobileNetV3Large(MobileNetV3):
    """MobileNet v3 of 15 blocks.

    Args:
        scale (float): multiplies the number of channels everywhere.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Paper: Howard et al., arXiv:1905.02244.

    Examples:
        >>> model = argosy.vision.models.MobileNetV3Large(scale=0.5, num_classes=10)
        >>> model(argosy.ones([2, 3, 64, 64])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__(_LARGE, make_divisible(1280 * scale), scale, num_classes, with_pool)


@builds("MobileNetV3Small", "MobileNet v3, small.", 2_542_856, scale=SCALE)
def mobilenet_v3_small(pretrained=False, scale=1.0, **kwargs):
    refuse_pretrained(pretrained, "mobilenet_v3_small")
    return MobileNetV3Small(scale=scale, **kwargs)


@builds("MobileNetV3Large", "MobileNet v3, large.", 5_483_032, scale=SCALE)
def mobilenet_v3_large(pretrained=False, scale=1.0, **kwargs):
    refuse_pretrained(pretrained, "mobilenet_v3_large")
    return MobileNetV3Large(scale=scale, **kwargs)
