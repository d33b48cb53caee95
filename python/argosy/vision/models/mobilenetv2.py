"""MobileNet v2 (arXiv 1801.04381)."""

from ... import nn
from ..ops import ConvNormActivation
from ._build import SCALE, builds, make_divisible, refuse_pretrained

__all__ = ["InvertedResidual", "MobileNetV2", "mobilenet_v2"]

# (expansion, output channels, repeats, first stride) of each stage.
_STAGES = [
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
]


class InvertedResidual(nn.Layer):
    """Expands by a 1x1, filters by a depthwise 3x3, projects by a linear 1x1; shortcut if shapes allow.

    Args:
        inp, oup (int): channels of input and result.
        stride (int): 1 or 2.
        expand_ratio (float): hidden channels over input channels.
        norm_layer (type): normalization.

    Shape: [N, inp, H, W] to [N, oup, H / stride, W / stride].

    Examples:
        >>> block = argosy.vision.models.mobilenetv2.InvertedResidual(8, 8, 1, expand_ratio=6)
        >>> block(argosy.ones([2, 8, 4, 4])).shape
        paddle.Size([2, 8, 4, 4])
    """

    def __init__(self, inp, oup, stride, expand_ratio, norm_layer=nn.BatchNorm2D):
        super().__init__()
        self.stride = stride
        self.use_res_connect = stride == 1 and inp == oup
        hidden = int(round(inp * expand_ratio))
        layers = []
        if expand_ratio != 1:
            layers.append(
                ConvNormActivation(inp, hidden, 1, norm_layer=norm_layer, activation_layer=nn.ReLU6)
            )
        layers += [
            ConvNormActivation(
                hidden,
                hidden,
                stride=stride,
                groups=hidden,
                norm_layer=norm_layer,
                activation_layer=nn.ReLU6,
            ),
            nn.Conv2D(hidden, oup, 1, bias_attr=False),
            norm_layer(oup),
        ]
        self.conv = nn.Sequential(*layers)

    def forward(self, x):
        out = self.conv(x)
        return x + out if self.use_res_connect else out


class MobileNetV2(nn.Layer):
    """Inverted residuals with linear bottlenecks.

    Args:
        scale (float): multiplies the number of channels everywhere.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Paper: Sandler et al., arXiv:1801.04381.

    Examples:
        >>> model = argosy.vision.models.MobileNetV2(scale=0.25, num_classes=10)
        >>> model(argosy.ones([2, 3, 64, 64])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels = make_divisible(32 * scale)
        self.last_channel = make_divisible(1280 * max(1.0, scale))
        layers = [ConvNormActivation(3, channels, stride=2, activation_layer=nn.ReLU6)]
        for expansion, width, repeats, first_stride in _STAGES:
            out_channels = make_divisible(width * scale)
            for i in range(repeats):
                stride = first_stride if i == 0 else 1
                layers.append(InvertedResidual(channels, out_channels, stride, expansion))
                channels = out_channels
        layers.append(ConvNormActivation(channels, self.last_channel, 1, activation_layer=nn.ReLU6))
        self.features = nn.Sequential(*layers)
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Dropout(0.2), nn.Linear(self.last_channel, num_classes)
            )

    def forward(self, x):
        x = self.features(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


@builds("MobileNetV2", "MobileNet v2.", 3_504_872, scale=SCALE)
def mobilenet_v2(pretrained=False, scale=1.0, **kwargs):
    refuse_pretrained(pretrained, "mobilenet_v2")
    return MobileNetV2(scale=scale, **kwargs)
