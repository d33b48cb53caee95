"""GoogLeNet, the first Inception network (arXiv 1409.4842)."""

import math

from argosy import nn
from argosy.tensor import concat

from ._build import builds, refuse_pretrained, uniform_attr

__all__ = ["GoogLeNet", "googlenet"]

# (name, input, 1x1, 3x3 reduce, 3x3, 5x5 reduce, 5x5, pool projection) of each inception module.
_MODULES = [
    ("3a", 192, 64, 96, 128, 16, 32, 32),
    ("3b", 256, 128, 128, 192, 32, 96, 64),
    ("4a", 480, 192, 96, 208, 16, 48, 64),
    ("4b", 512, 160, 112, 224, 24, 64, 64),
    ("4c", 512, 128, 128, 256, 24, 64, 64),
    ("4d", 512, 112, 144, 288, 32, 64, 64),
    ("4e", 528, 256, 160, 320, 32, 128, 128),
    ("5a", 832, 256, 160, 320, 32, 128, 128),
    ("5b", 832, 384, 192, 384, 48, 128, 128),
]


def _uniform(channels, kernel):
    return uniform_attr(math.sqrt(3.0 / (kernel * kernel * channels)))


class ConvLayer(nn.Layer):
    """A convolution without bias that keeps the image size at stride 1."""

    def __init__(self, in_channels, out_channels, kernel, stride=1):
        super().__init__()
        self._conv = nn.Conv2D(
            in_channels,
            out_channels,
            kernel,
            stride=stride,
            padding=(kernel - 1) // 2,
            bias_attr=False,
        )

    def forward(self, inputs):
        return self._conv(inputs)


class Inception(nn.Layer):
    """Four branches (1x1, 3x3, 5x5, pooling) side by side, then ReLU."""

    def __init__(self, in_channels, f1, f3r, f3, f5r, f5, projection):
        super().__init__()
        self._conv1 = ConvLayer(in_channels, f1, 1)
        self._conv3r = ConvLayer(in_channels, f3r, 1)
        self._conv3 = ConvLayer(f3r, f3, 3)
        self._conv5r = ConvLayer(in_channels, f5r, 1)
        self._conv5 = ConvLayer(f5r, f5, 5)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=1, padding=1)
        self._convprj = ConvLayer(in_channels, projection, 1)

    def forward(self, inputs):
        branches = [
            self._conv1(inputs),
            self._conv3(self._conv3r(inputs)),
            self._conv5(self._conv5r(inputs)),
            self._convprj(self._pool(inputs)),
        ]
        return nn.functional.relu(concat(branches, axis=1))


class GoogLeNet(nn.Layer):
    """The first Inception network, with two auxiliary classifiers.

    Args:
        num_classes (int): outputs; <= 0 leaves the classifiers out and gives features.
        with_pool (bool): pool the features before each classifier.

    Shape: [N, 3, 224, 224] to three of [N, num_classes]: main, first and second auxiliary.

    Paper: Szegedy et al., arXiv:1409.4842.

    Examples:
        >>> model = argosy.vision.models.GoogLeNet(num_classes=10)
        >>> [out.shape for out in model(argosy.ones([1, 3, 224, 224]))]
        [paddle.Size([1, 10]), paddle.Size([1, 10]), paddle.Size([1, 10])]
    """

    def __init__(self, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._conv = ConvLayer(3, 64, 7, 2)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=2)
        self._conv_1 = ConvLayer(64, 64, 1)
        self._conv_2 = ConvLayer(64, 192, 3)
        for name, *channels in _MODULES:
            setattr(self, f"_ince{name}", Inception(*channels))
        if with_pool:
            self._pool_5 = nn.AdaptiveAvgPool2D(1)
            self._pool_o1 = nn.AvgPool2D(kernel_size=5, stride=3)
            self._pool_o2 = nn.AvgPool2D(kernel_size=5, stride=3)
        if num_classes > 0:
            self._drop = nn.Dropout(p=0.4, mode="downscale_in_infer")
            self._fc_out = nn.Linear(1024, num_classes, weight_attr=_uniform(1024, 1))
            self._conv_o1 = ConvLayer(512, 128, 1)
            self._fc_o1 = nn.Linear(1152, 1024, weight_attr=_uniform(2048, 1))
            self._drop_o1 = nn.Dropout(p=0.7, mode="downscale_in_infer")
            self._out1 = nn.Linear(1024, num_classes, weight_attr=_uniform(1024, 1))
            self._conv_o2 = ConvLayer(528, 128, 1)
            self._fc_o2 = nn.Linear(1152, 1024, weight_attr=_uniform(2048, 1))
            self._drop_o2 = nn.Dropout(p=0.7, mode="downscale_in_infer")
            self._out2 = nn.Linear(1024, num_classes, weight_attr=_uniform(1024, 1))

    def forward(self, inputs):
        x = self._pool(self._conv(inputs))
        x = self._pool(self._conv_2(self._conv_1(x)))
        x = self._pool(self._ince3b(self._ince3a(x)))
        out1 = self._ince4a(x)
        out2 = self._ince4d(self._ince4c(self._ince4b(out1)))
        x = self._pool(self._ince4e(out2))
        out = self._ince5b(self._ince5a(x))
        if self.with_pool:
            out, out1, out2 = self._pool_5(out), self._pool_o1(out1), self._pool_o2(out2)
        if self.num_classes > 0:
            relu = nn.functional.relu
            out = self._fc_out(self._drop(out).squeeze(axis=[2, 3]))
            out1 = relu(self._fc_o1(self._conv_o1(out1).flatten(1)))
            out1 = self._out1(self._drop_o1(out1))
            out2 = self._fc_o2(self._conv_o2(out2).flatten(1))
            out2 = self._out2(self._drop_o2(out2))
        return out, out1, out2


@builds("GoogLeNet", "GoogLeNet for 224x224 images.", 11_535_736)
def googlenet(pretrained=False, **kwargs):
    refuse_pretrained(pretrained, "googlenet")
    return GoogLeNet(**kwargs)
