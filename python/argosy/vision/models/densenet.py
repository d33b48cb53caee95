"""DenseNet of 121 to 264 layers (arXiv 1608.06993)."""

import math

from argosy import nn
from argosy.tensor import concat

from ._build import builds, refuse_pretrained, uniform_attr

__all__ = ["DenseNet", "densenet121", "densenet161", "densenet169", "densenet201", "densenet264"]

# Stem channels, growth per layer and layers per block.
_DEPTHS = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
    264: (64, 32, (6, 12, 64, 48)),
}


class BNACConvLayer(nn.Layer):
    """Batch normalization, ReLU and a convolution, in this order."""

    def __init__(self, in_channels, out_channels, kernel, padding=0):
        super().__init__()
        self._batch_norm = nn.BatchNorm(in_channels, act="relu")
        self._conv = nn.Conv2D(in_channels, out_channels, kernel, padding=padding, bias_attr=False)

    def forward(self, input):
        return self._conv(self._batch_norm(input))


class ConvBNLayer(nn.Layer):
    """The stem: a 7x7 convolution of stride 2, batch normalization and ReLU."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self._conv = nn.Conv2D(in_channels, out_channels, 7, stride=2, padding=3, bias_attr=False)
        self._batch_norm = nn.BatchNorm(out_channels, act="relu")

    def forward(self, input):
        return self._batch_norm(self._conv(input))


class DenseLayer(nn.Layer):
    """Adds `growth_rate` channels, computed through a 1x1 bottleneck, to the input's channels."""

    def __init__(self, in_channels, growth_rate, bn_size, dropout):
        super().__init__()
        self.dropout = dropout
        self.bn_ac_func1 = BNACConvLayer(in_channels, bn_size * growth_rate, 1)
        self.bn_ac_func2 = BNACConvLayer(bn_size * growth_rate, growth_rate, 3, padding=1)
        if dropout:
            self.dropout_func = nn.Dropout(p=dropout, mode="downscale_in_infer")

    def forward(self, input):
        x = self.bn_ac_func2(self.bn_ac_func1(input))
        if self.dropout:
            x = self.dropout_func(x)
        return concat([input, x], axis=1)


class DenseBlock(nn.Layer):
    """`count` dense layers in a row, named prefix_1, prefix_2 and so on."""

    def __init__(self, in_channels, count, growth_rate, bn_size, dropout, prefix):
        super().__init__()
        self.dropout = dropout
        self.dense_layer_func = [
            self.add_sublayer(
                f"{prefix}_{i + 1}",
                DenseLayer(in_channels + i * growth_rate, growth_rate, bn_size, dropout),
            )
            for i in range(count)
        ]

    def forward(self, input):
        for layer in self.dense_layer_func:
            input = layer(input)
        return input


class TransitionLayer(nn.Layer):
    """A 1x1 convolution to fewer channels and a 2x2 mean pooling."""

    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.conv_ac_func = BNACConvLayer(in_channels, out_channels, 1)
        self.pool2d_avg = nn.AvgPool2D(kernel_size=2, stride=2, padding=0)

    def forward(self, input):
        return self.pool2d_avg(self.conv_ac_func(input))


class DenseNet(nn.Layer):
    """Blocks in which each layer sees the results of all before it.

    Args:
        layers (int): 121, 161, 169, 201 or 264.
        bn_size (int): width of a bottleneck in units of the growth rate.
        dropout (float): probability of dropping a new feature.
        num_classes (int): outputs of the last layer; <= 0 leaves it out.
        with_pool (bool): average over the image before the last layer.

    Shape: [N, 3, H, W] to [N, num_classes].

    Raises:
        ValueError: ``layers`` is another number.

    Paper: Huang et al., arXiv:1608.06993.

    Examples:
        >>> model = argosy.vision.models.DenseNet(121, num_classes=10).eval()
        >>> model(argosy.ones([1, 3, 32, 32])).shape
        paddle.Size([1, 10])
    """

    def __init__(self, layers=121, bn_size=4, dropout=0.0, num_classes=1000, with_pool=True):
        super().__init__()
        if layers not in _DEPTHS:
            raise ValueError(
                f"[DenseNet] unknown depth: expected layers in {sorted(_DEPTHS)}, got {layers!r}."
                " Do this: use one of them."
            )
        self.num_classes = num_classes
        self.with_pool = with_pool
        channels, growth_rate, counts = _DEPTHS[layers]
        self.conv1_func = ConvBNLayer(3, channels)
        self.pool2d_max = nn.MaxPool2D(kernel_size=3, stride=2, padding=1)
        self.block_config = counts
        self.dense_block_func_list = []
        self.transition_func_list = []
        for i, count in enumerate(counts):
            block = DenseBlock(channels, count, growth_rate, bn_size, dropout, f"conv{i + 2}")
            self.dense_block_func_list.append(self.add_sublayer(f"db_conv_{i + 2}", block))
            channels += count * growth_rate
            if i + 1 < len(counts):
                transition = TransitionLayer(channels, channels // 2)
                self.transition_func_list.append(
                    self.add_sublayer(f"tr_conv{i + 2}_blk", transition)
                )
                channels //= 2
        self.batch_norm = nn.BatchNorm(channels, act="relu")
        if with_pool:
            self.pool2d_avg = nn.AdaptiveAvgPool2D(1)
        if num_classes > 0:
            self.out = nn.Linear(
                channels, num_classes, weight_attr=uniform_attr(1.0 / math.sqrt(channels))
            )

    def forward(self, input):
        x = self.pool2d_max(self.conv1_func(input))
        for i, block in enumerate(self.dense_block_func_list):
            x = block(x)
            if i < len(self.transition_func_list):
                x = self.transition_func_list[i](x)
        x = self.batch_norm(x)
        if self.with_pool:
            x = self.pool2d_avg(x)
        return self.out(x.flatten(1)) if self.num_classes > 0 else x


def _densenet(depth, pretrained, kwargs):
    refuse_pretrained(pretrained, f"densenet{depth}")
    return DenseNet(layers=depth, **kwargs)


@builds("DenseNet", "DenseNet of 121 layers.", 7_978_856)
def densenet121(pretrained=False, **kwargs):
    return _densenet(121, pretrained, kwargs)


@builds("DenseNet", "DenseNet of 161 layers.", 28_681_000)
def densenet161(pretrained=False, **kwargs):
    return _densenet(161, pretrained, kwargs)


@builds("DenseNet", "DenseNet of 169 layers.", 14_149_480)
def densenet169(pretrained=False, **kwargs):
    return _densenet(169, pretrained, kwargs)


@builds("DenseNet", "DenseNet of 201 layers.", 20_013_928)
def densenet201(pretrained=False, **kwargs):
    return _densenet(201, pretrained, kwargs)


@builds("DenseNet", "DenseNet of 264 layers.", 33_337_704)
def densenet264(pretrained=False, **kwargs):
    return _densenet(264, pretrained, kwargs)
