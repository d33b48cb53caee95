"""SqueezeNet 1.0 and 1.1 (arXiv 1602.07360)."""

from argosy import nn
from argosy.tensor import concat

from ._build import builds, refuse_pretrained

__all__ = ["SqueezeNet", "squeezenet1_0", "squeezenet1_1"]

# (input, squeezed channels, expanded channels per path) of the eight fire modules, in both versions.
_FIRES = [
    (None, 16, 64),
    (128, 16, 64),
    (128, 32, 128),
    (256, 32, 128),
    (256, 48, 192),
    (384, 48, 192),
    (384, 64, 256),
    (512, 64, 256),
]
# First convolution (channels, kernel, padding) and the fire modules that come after a pooling.
_VERSIONS = {"1.0": (96, 7, 0, (0, 3, 7)), "1.1": (64, 3, 1, (0, 2, 4))}


class MakeFireConv(nn.Layer):
    """Convolution and ReLU."""

    def __init__(self, in_channels, out_channels, kernel, padding=0):
        super().__init__()
        self._conv = nn.Conv2D(in_channels, out_channels, kernel, padding=padding)

    def forward(self, x):
        return nn.functional.relu(self._conv(x))


class MakeFire(nn.Layer):
    """Squeeze channels by a 1x1, expand them by a 1x1 and a 3x3 side by side."""

    def __init__(self, in_channels, squeezed, expanded1x1, expanded3x3):
        super().__init__()
        self._conv = MakeFireConv(in_channels, squeezed, 1)
        self._conv_path1 = MakeFireConv(squeezed, expanded1x1, 1)
        self._conv_path2 = MakeFireConv(squeezed, expanded3x3, 3, padding=1)

    def forward(self, inputs):
        x = self._conv(inputs)
        return concat([self._conv_path1(x), self._conv_path2(x)], axis=1)


class SqueezeNet(nn.Layer):
    """Modules that squeeze channels and expand them again.

    Args:
        version (str): "1.0" or "1.1".
        num_classes (int): outputs of the last convolution; <= 0 leaves it out.
        with_pool (bool): average over the image at the end.

    Shape: [N, 3, H, W] to [N, num_classes].

    Raises:
        ValueError: ``version`` is another one.

    Paper: Iandola et al., arXiv:1602.07360.

    Examples:
        >>> model = argosy.vision.models.SqueezeNet("1.1", num_classes=10)
        >>> model(argosy.ones([2, 3, 64, 64])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, version, num_classes=1000, with_pool=True):
        super().__init__()
        if version not in _VERSIONS:
            raise ValueError(
                f"[SqueezeNet] unknown version: expected '1.0' or '1.1', got {version!r}."
                " Do this: use one of them."
            )
        self.version = version
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels, kernel, padding, self._pool_before = _VERSIONS[version]
        self._conv = nn.Conv2D(3, channels, kernel, stride=2, padding=padding)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=2, padding=0)
        for i, (in_channels, squeezed, expanded) in enumerate(_FIRES, 1):
            fire = MakeFire(in_channels or channels, squeezed, expanded, expanded)
            setattr(self, f"_conv{i}", fire)
        self._drop = nn.Dropout(p=0.5, mode="downscale_in_infer")
        self._conv9 = nn.Conv2D(512, max(num_classes, 0), 1)
        self._avg_pool = nn.AdaptiveAvgPool2D(1)

    def forward(self, inputs):
        relu = nn.functional.relu
        x = relu(self._conv(inputs))
        for i in range(len(_FIRES)):
            if i in self._pool_before:
                x = self._pool(x)
            x = getattr(self, f"_conv{i + 1}")(x)
        if self.num_classes > 0:
            x = self._conv9(self._drop(x))
        if self.with_pool:
            x = self._avg_pool(relu(x)).squeeze(axis=[2, 3])
        return x


@builds("SqueezeNet", "SqueezeNet 1.0.", 1_248_424)
def squeezenet1_0(pretrained=False, **kwargs):
    refuse_pretrained(pretrained, "squeezenet1_0")
    return SqueezeNet("1.0", **kwargs)


@builds("SqueezeNet", "SqueezeNet 1.1.", 1_235_496)
def squeezenet1_1(pretrained=False, **kwargs):
    refuse_pretrained(pretrained, "squeezenet1_1")
    return SqueezeNet("1.1", **kwargs)
