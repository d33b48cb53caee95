"""MobileNet v1 (arXiv 1704.04861)."""

from ... import nn
from ..ops import ConvNormActivation
from ._build import SCALE, builds, refuse_pretrained

__all__ = ["MobileNetV1", "mobilenet_v1"]

# (attribute name, input channels, output channels, stride) of each separable convolution.
_LAYERS = [
    ("conv2_1", 32, 64, 1),
    ("conv2_2", 64, 128, 2),
    ("conv3_1", 128, 128, 1),
    ("conv3_2", 128, 256, 2),
    ("conv4_1", 256, 256, 1),
    ("conv4_2", 256, 512, 2),
    ("conv5_1", 512, 512, 1),
    ("conv5_2", 512, 512, 1),
    ("conv5_3", 512, 512, 1),
    ("conv5_4", 512, 512, 1),
    ("conv5_5", 512, 512, 1),
    ("conv5_6", 512, 1024, 2),
    ("conv6", 1024, 1024, 1),
]


class DepthwiseSeparable(nn.Layer):
    """A 3x3 convolution per channel, then a 1x1 convolution across channels."""

    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        self._depthwise_conv = ConvNormActivation(
            in_channels, in_channels, 3, stride=stride, padding=1, groups=in_channels
        )
        self._pointwise_conv = ConvNormActivation(in_channels, out_channels, 1, padding=0)

    def forward(self, x):
        return self._pointwise_conv(self._depthwise_conv(x))


class MobileNetV1(nn.Layer):
    """Depthwise separable convolutions.

    Args:
        scale (float): multiplies the number of channels everywhere.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Paper: Howard et al., arXiv:1704.04861.

    Examples:
        >>> model = argosy.vision.models.MobileNetV1(scale=0.25, num_classes=10)
        >>> model(argosy.ones([2, 3, 64, 64])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, scale=1.0, num_classes=1000, with_pool=True):
        super().__init__()
        self.scale = scale
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.dwsl = []
        self.conv1 = ConvNormActivation(3, int(32 * scale), 3, stride=2, padding=1)
        for name, in_channels, out_channels, stride in _LAYERS:
            layer = DepthwiseSeparable(int(in_channels * scale), int(out_channels * scale), stride)
            self.dwsl.append(self.add_sublayer(name, layer))
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.fc = nn.Linear(int(1024 * scale), num_classes)

    def forward(self, x):
        x = self.conv1(x)
        for layer in self.dwsl:
            x = layer(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


@builds("MobileNetV1", "MobileNet v1.", 4_231_976, scale=SCALE)
def mobilenet_v1(pretrained=False, scale=1.0, **kwargs):
    refuse_pretrained(pretrained, "mobilenet_v1")
    return MobileNetV1(scale=scale, **kwargs)
