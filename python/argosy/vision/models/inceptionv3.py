"""Inception v3 (arXiv 1512.00567)."""

from argosy import nn
from argosy.tensor import concat

from ..ops import ConvNormActivation
from ._build import builds, refuse_pretrained, uniform_attr

__all__ = ["InceptionV3", "inception_v3"]


def _conv(in_channels, out_channels, kernel, stride=1, padding=0):
    return ConvNormActivation(in_channels, out_channels, kernel, stride=stride, padding=padding)


class InceptionStem(nn.Layer):
    """Five convolutions and two poolings: [N, 3, 299, 299] -> [N, 192, 35, 35]."""

    def __init__(self):
        super().__init__()
        self.conv_1a_3x3 = _conv(3, 32, 3, stride=2)
        self.conv_2a_3x3 = _conv(32, 32, 3)
        self.conv_2b_3x3 = _conv(32, 64, 3, padding=1)
        self.max_pool = nn.MaxPool2D(kernel_size=3, stride=2, padding=0)
        self.conv_3b_1x1 = _conv(64, 80, 1)
        self.conv_4a_3x3 = _conv(80, 192, 3)

    def forward(self, x):
        x = self.max_pool(self.conv_2b_3x3(self.conv_2a_3x3(self.conv_1a_3x3(x))))
        return self.max_pool(self.conv_4a_3x3(self.conv_3b_1x1(x)))


class InceptionA(nn.Layer):
    """Branches 1x1, 5x5, double 3x3 and pooling at 35x35."""

    def __init__(self, in_channels, pool_features):
        super().__init__()
        self.branch1x1 = _conv(in_channels, 64, 1)
        self.branch5x5_1 = _conv(in_channels, 48, 1)
        self.branch5x5_2 = _conv(48, 64, 5, padding=2)
        self.branch3x3dbl_1 = _conv(in_channels, 64, 1)
        self.branch3x3dbl_2 = _conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _conv(96, 96, 3, padding=1)
        self.branch_pool = nn.AvgPool2D(kernel_size=3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(in_channels, pool_features, 1)

    def forward(self, x):
        branches = [
            self.branch1x1(x),
            self.branch5x5_2(self.branch5x5_1(x)),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return concat(branches, axis=1)


class InceptionB(nn.Layer):
    """Halves 35x35 to 17x17: branches 3x3, double 3x3 and pooling."""

    def __init__(self, in_channels):
        super().__init__()
        self.branch3x3 = _conv(in_channels, 384, 3, stride=2)
        self.branch3x3dbl_1 = _conv(in_channels, 64, 1)
        self.branch3x3dbl_2 = _conv(64, 96, 3, padding=1)
        self.branch3x3dbl_3 = _conv(96, 96, 3, stride=2)
        self.branch_pool = nn.MaxPool2D(kernel_size=3, stride=2)

    def forward(self, x):
        branches = [
            self.branch3x3(x),
            self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x))),
            self.branch_pool(x),
        ]
        return concat(branches, axis=1)


class InceptionC(nn.Layer):
    """Branches 1x1, factored 7x7, double factored 7x7 and pooling at 17x17."""

    def __init__(self, in_channels, channels_7x7):
        super().__init__()
        c7 = channels_7x7
        self.branch1x1 = _conv(in_channels, 192, 1)
        self.branch7x7_1 = _conv(in_channels, c7, 1)
        self.branch7x7_2 = _conv(c7, c7, (1, 7), padding=(0, 3))
        self.branch7x7_3 = _conv(c7, 192, (7, 1), padding=(3, 0))
        self.branch7x7dbl_1 = _conv(in_channels, c7, 1)
        self.branch7x7dbl_2 = _conv(c7, c7, (7, 1), padding=(3, 0))
        self.branch7x7dbl_3 = _conv(c7, c7, (1, 7), padding=(0, 3))
        self.branch7x7dbl_4 = _conv(c7, c7, (7, 1), padding=(3, 0))
        self.branch7x7dbl_5 = _conv(c7, 192, (1, 7), padding=(0, 3))
        self.branch_pool = nn.AvgPool2D(kernel_size=3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(in_channels, 192, 1)

    def forward(self, x):
        double = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        branches = [
            self.branch1x1(x),
            self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x))),
            self.branch7x7dbl_5(self.branch7x7dbl_4(double)),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return concat(branches, axis=1)


class InceptionD(nn.Layer):
    """Halves 17x17 to 8x8: branches 3x3, factored 7x7 with 3x3, and pooling."""

    def __init__(self, in_channels):
        super().__init__()
        self.branch3x3_1 = _conv(in_channels, 192, 1)
        self.branch3x3_2 = _conv(192, 320, 3, stride=2)
        self.branch7x7x3_1 = _conv(in_channels, 192, 1)
        self.branch7x7x3_2 = _conv(192, 192, (1, 7), padding=(0, 3))
        self.branch7x7x3_3 = _conv(192, 192, (7, 1), padding=(3, 0))
        self.branch7x7x3_4 = _conv(192, 192, 3, stride=2)
        self.branch_pool = nn.MaxPool2D(kernel_size=3, stride=2)

    def forward(self, x):
        factored = self.branch7x7x3_3(self.branch7x7x3_2(self.branch7x7x3_1(x)))
        branches = [
            self.branch3x3_2(self.branch3x3_1(x)),
            self.branch7x7x3_4(factored),
            self.branch_pool(x),
        ]
        return concat(branches, axis=1)


class InceptionE(nn.Layer):
    """Branches 1x1, split 3x3, double split 3x3 and pooling at 8x8."""

    def __init__(self, in_channels):
        super().__init__()
        self.branch1x1 = _conv(in_channels, 320, 1)
        self.branch3x3_1 = _conv(in_channels, 384, 1)
        self.branch3x3_2a = _conv(384, 384, (1, 3), padding=(0, 1))
        self.branch3x3_2b = _conv(384, 384, (3, 1), padding=(1, 0))
        self.branch3x3dbl_1 = _conv(in_channels, 448, 1)
        self.branch3x3dbl_2 = _conv(448, 384, 3, padding=1)
        self.branch3x3dbl_3a = _conv(384, 384, (1, 3), padding=(0, 1))
        self.branch3x3dbl_3b = _conv(384, 384, (3, 1), padding=(1, 0))
        self.branch_pool = nn.AvgPool2D(kernel_size=3, stride=1, padding=1, exclusive=False)
        self.branch_pool_conv = _conv(in_channels, 192, 1)

    def forward(self, x):
        single = self.branch3x3_1(x)
        double = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        branches = [
            self.branch1x1(x),
            self.branch3x3_2a(single),
            self.branch3x3_2b(single),
            self.branch3x3dbl_3a(double),
            self.branch3x3dbl_3b(double),
            self.branch_pool_conv(self.branch_pool(x)),
        ]
        return concat(branches, axis=1)


class InceptionV3(nn.Layer):
    """Inception v3, without an auxiliary classifier.

    Args:
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, 299, 299] to [N, num_classes].

    Paper: Szegedy et al., arXiv:1512.00567.

    Examples:
        >>> model = argosy.vision.models.InceptionV3(num_classes=10).eval()
        >>> model(argosy.ones([1, 3, 299, 299])).shape
        paddle.Size([1, 10])
    """

    def __init__(self, num_classes=1000, with_pool=True):
        super().__init__()
        self.num_classes = num_classes
        self.with_pool = with_pool
        self.inception_stem = InceptionStem()
        blocks = [InceptionA(*args) for args in ((192, 32), (256, 64), (288, 64))]
        blocks.append(InceptionB(288))
        blocks += [InceptionC(768, channels) for channels in (128, 160, 160, 192)]
        blocks.append(InceptionD(768))
        blocks += [InceptionE(channels) for channels in (1280, 2048)]
        self.inception_block_list = nn.LayerList(blocks)
        if with_pool:
            self.avg_pool = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.dropout = nn.Dropout(p=0.2, mode="downscale_in_infer")
            self.fc = nn.Linear(2048, num_classes, weight_attr=uniform_attr(2048**-0.5))

    def forward(self, x):
        x = self.inception_stem(x)
        for block in self.inception_block_list:
            x = block(x)
        if self.with_pool:
            x = self.avg_pool(x)
        if self.num_classes > 0:
            x = self.fc(self.dropout(x.reshape([-1, 2048])))
        return x


@builds("InceptionV3", "Inception v3 for 299x299 images.", 23_834_568)
def inception_v3(pretrained=False, **kwargs):
    refuse_pretrained(pretrained, "inception_v3")
    return InceptionV3(**kwargs)
