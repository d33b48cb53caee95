"""ResNet (arXiv 1512.03385), wide ResNet (1605.07146) and ResNeXt (1611.05431)."""

from argosy._support import no_effect

from ... import nn
from ._build import builds, refuse_pretrained

__all__ = [
    "BasicBlock",
    "BottleneckBlock",
    "ResNet",
    "resnet18",
    "resnet34",
    "resnet50",
    "resnet101",
    "resnet152",
    "resnext50_32x4d",
    "resnext50_64x4d",
    "resnext101_32x4d",
    "resnext101_64x4d",
    "resnext152_32x4d",
    "resnext152_64x4d",
    "wide_resnet50_2",
    "wide_resnet101_2",
]

_BLOCKS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
}


class BasicBlock(nn.Layer):
    """Two 3x3 convolutions and a shortcut; used by ResNet-18 and 34.

    Args:
        inplanes, planes (int): channels of input and result.
        stride (int): of the first convolution.
        downsample (Layer, optional): applied to the shortcut.
        groups, base_width (int): have no effect here.
        dilation (int): only 1.
        norm_layer (type, optional): normalization; None is BatchNorm2D.

    Shape: [N, inplanes, H, W] to [N, planes, H / stride, W / stride].

    Raises:
        NotImplementedError: ``dilation`` exceeds 1.

    Examples:
        >>> block = argosy.vision.models.resnet.BasicBlock(8, 8)
        >>> block(argosy.ones([2, 8, 4, 4])).shape
        paddle.Size([2, 8, 4, 4])
    """

    expansion = 1

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample=None,
        groups=1,
        base_width=64,
        dilation=1,
        norm_layer=None,
    ):
        super().__init__()
        no_effect(
            "BasicBlock", "only BottleneckBlock has groups", groups=(groups, 1),
            base_width=(base_width, 64),
        )  # fmt: skip
        if dilation > 1:
            raise NotImplementedError(
                f"[BasicBlock] dilation is not supported: expected 1, got {dilation}. "
                "Do this: use BottleneckBlock (ResNet-50 and deeper) for dilated stages."
            )
        norm_layer = norm_layer or nn.BatchNorm2D
        self.conv1 = nn.Conv2D(inplanes, planes, 3, padding=1, stride=stride, bias_attr=False)
        self.bn1 = norm_layer(planes)
        self.relu = nn.ReLU()
        self.conv2 = nn.Conv2D(planes, planes, 3, padding=1, bias_attr=False)
        self.bn2 = norm_layer(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(out + shortcut)


class BottleneckBlock(nn.Layer):
    """1x1, 3x3 and 1x1 convolutions and a shortcut; used by ResNet-50 and deeper.

    Args:
        inplanes (int): channels of the input.
        planes (int): a quarter of the result's channels.
        stride (int): of the 3x3 convolution.
        downsample (Layer, optional): applied to the shortcut.
        groups, base_width (int): groups of the 3x3 convolution, and the width of each where planes is 64.
        dilation (int): of the 3x3 convolution.
        norm_layer (type, optional): normalization; None is BatchNorm2D.

    Shape: [N, inplanes, H, W] to [N, 4 planes, H / stride, W / stride].

    Examples:
        >>> block = argosy.vision.models.resnet.BottleneckBlock(8, 2)
        >>> block(argosy.ones([2, 8, 4, 4])).shape
        paddle.Size([2, 8, 4, 4])
    """

    expansion = 4

    def __init__(
        self,
        inplanes,
        planes,
        stride=1,
        downsample=None,
        groups=1,
        base_width=64,
        dilation=1,
        norm_layer=None,
    ):
        super().__init__()
        norm_layer = norm_layer or nn.BatchNorm2D
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = nn.Conv2D(inplanes, width, 1, bias_attr=False)
        self.bn1 = norm_layer(width)
        self.conv2 = nn.Conv2D(
            width,
            width,
            3,
            padding=dilation,
            stride=stride,
            groups=groups,
            dilation=dilation,
            bias_attr=False,
        )
        self.bn2 = norm_layer(width)
        self.conv3 = nn.Conv2D(width, planes * self.expansion, 1, bias_attr=False)
        self.bn3 = norm_layer(planes * self.expansion)
        self.relu = nn.ReLU()
        self.downsample = downsample
        self.stride = stride

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(out + shortcut)


class ResNet(nn.Layer):
    """Residual network; with ``groups`` a ResNeXt, with ``width`` a wide one.

    Args:
        block (type): BasicBlock or BottleneckBlock.
        depth (int): 18, 34, 50, 101 or 152.
        width (int): base width of a group in the 3x3 convolution.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.
        groups (int): groups of the 3x3 convolution.

    Shape: [N, 3, H, W] to [N, num_classes].

    Raises:
        KeyError: ``depth`` is another number.

    Paper: He et al., arXiv:1512.03385; Zagoruyko and Komodakis, arXiv:1605.07146; Xie et al.,
        arXiv:1611.05431.

    Examples:
        >>> from argosy.vision.models.resnet import BasicBlock, ResNet
        >>> ResNet(BasicBlock, 18, num_classes=10)(argosy.ones([2, 3, 32, 32])).shape
        paddle.Size([2, 10])
    """

    def __init__(self, block, depth=50, width=64, num_classes=1000, with_pool=True, groups=1):
        super().__init__()
        if depth not in _BLOCKS:
            raise KeyError(
                f"[ResNet] unknown depth: expected one of {sorted(_BLOCKS)}, got {depth!r}."
            )
        counts = _BLOCKS[depth]
        self.groups = groups
        self.base_width = width
        self.num_classes = num_classes
        self.with_pool = with_pool
        self._norm_layer = nn.BatchNorm2D
        self.inplanes = 64
        self.dilation = 1
        self.conv1 = nn.Conv2D(3, 64, kernel_size=7, stride=2, padding=3, bias_attr=False)
        self.bn1 = self._norm_layer(64)
        self.relu = nn.ReLU()
        self.maxpool = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, 64, counts[0])
        self.layer2 = self._make_layer(block, 128, counts[1], stride=2)
        self.layer3 = self._make_layer(block, 256, counts[2], stride=2)
        self.layer4 = self._make_layer(block, 512, counts[3], stride=2)
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((1, 1))
        if num_classes > 0:
            self.fc = nn.Linear(512 * block.expansion, num_classes)

    def _make_layer(self, block, planes, count, stride=1):
        out_channels = planes * block.expansion
        downsample = None
        if stride != 1 or self.inplanes != out_channels:
            downsample = nn.Sequential(
                nn.Conv2D(self.inplanes, out_channels, 1, stride=stride, bias_attr=False),
                self._norm_layer(out_channels),
            )
        rest = {
            "groups": self.groups,
            "base_width": self.base_width,
            "norm_layer": self._norm_layer,
        }
        layers = [block(self.inplanes, planes, stride, downsample, **rest)]
        self.inplanes = out_channels
        layers += [block(self.inplanes, planes, **rest) for _ in range(1, count)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        if self.with_pool:
            x = self.avgpool(x)
        return self.fc(x.flatten(1)) if self.num_classes > 0 else x


def _resnet(name, block, depth, pretrained, kwargs, **fixed):
    refuse_pretrained(pretrained, name)
    return ResNet(block, depth, **{**kwargs, **fixed})


@builds("ResNet", "ResNet of 18 layers.", 11_689_512)
def resnet18(pretrained=False, **kwargs):
    return _resnet("resnet18", BasicBlock, 18, pretrained, kwargs)


@builds("ResNet", "ResNet of 34 layers.", 21_797_672)
def resnet34(pretrained=False, **kwargs):
    return _resnet("resnet34", BasicBlock, 34, pretrained, kwargs)


@builds("ResNet", "ResNet of 50 layers.", 25_557_032)
def resnet50(pretrained=False, **kwargs):
    return _resnet("resnet50", BottleneckBlock, 50, pretrained, kwargs)


@builds("ResNet", "ResNet of 101 layers.", 44_549_160)
def resnet101(pretrained=False, **kwargs):
    return _resnet("resnet101", BottleneckBlock, 101, pretrained, kwargs)


@builds("ResNet", "ResNet of 152 layers.", 60_192_808)
def resnet152(pretrained=False, **kwargs):
    return _resnet("resnet152", BottleneckBlock, 152, pretrained, kwargs)


@builds("ResNet", "ResNeXt of 50 layers, 32 groups of width 4.", 25_028_904)
def resnext50_32x4d(pretrained=False, **kwargs):
    return _resnet("resnext50_32x4d", BottleneckBlock, 50, pretrained, kwargs, groups=32, width=4)


@builds("ResNet", "ResNeXt of 50 layers, 64 groups of width 4.", 45_192_488)
def resnext50_64x4d(pretrained=False, **kwargs):
    return _resnet("resnext50_64x4d", BottleneckBlock, 50, pretrained, kwargs, groups=64, width=4)


@builds("ResNet", "ResNeXt of 101 layers, 32 groups of width 4.", 44_177_704)
def resnext101_32x4d(pretrained=False, **kwargs):
    return _resnet("resnext101_32x4d", BottleneckBlock, 101, pretrained, kwargs, groups=32, width=4)


@builds("ResNet", "ResNeXt of 101 layers, 64 groups of width 4.", 83_455_272)
def resnext101_64x4d(pretrained=False, **kwargs):
    return _resnet("resnext101_64x4d", BottleneckBlock, 101, pretrained, kwargs, groups=64, width=4)


@builds("ResNet", "ResNeXt of 152 layers, 32 groups of width 4.", 59_951_400)
def resnext152_32x4d(pretrained=False, **kwargs):
    return _resnet("resnext152_32x4d", BottleneckBlock, 152, pretrained, kwargs, groups=32, width=4)


@builds("ResNet", "ResNeXt of 152 layers, 64 groups of width 4.", 114_971_944)
def resnext152_64x4d(pretrained=False, **kwargs):
    return _resnet("resnext152_64x4d", BottleneckBlock, 152, pretrained, kwargs, groups=64, width=4)


@builds("ResNet", "Wide ResNet of 50 layers, twice the inner width.", 68_883_240)
def wide_resnet50_2(pretrained=False, **kwargs):
    return _resnet("wide_resnet50_2", BottleneckBlock, 50, pretrained, kwargs, width=128)


@builds("ResNet", "Wide ResNet of 101 layers, twice the inner width.", 126_886_696)
def wide_resnet101_2(pretrained=False, **kwargs):
    return _resnet("wide_resnet101_2", BottleneckBlock, 101, pretrained, kwargs, width=128)
