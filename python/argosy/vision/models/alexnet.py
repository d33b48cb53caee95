"""AlexNet (Krizhevsky, 2014: one weird trick for parallelizing convolutional networks)."""

import math

from ... import nn
from ._build import builds, refuse_pretrained, uniform_attr

__all__ = ["AlexNet", "alexnet"]


def _conv(in_channels, out_channels, kernel, stride=1, padding=0):
    attr = uniform_attr(1.0 / math.sqrt(in_channels * kernel * kernel))
    return nn.Conv2D(
        in_channels, out_channels, kernel, stride, padding, weight_attr=attr, bias_attr=attr
    )


def _linear(in_features, out_features):
    # All three linear layers take the range of the first one's 256 * 6 * 6 inputs.
    attr = uniform_attr(1.0 / math.sqrt(256 * 6 * 6))
    return nn.Linear(in_features, out_features, weight_attr=attr, bias_attr=attr)


class ConvPoolLayer(nn.Layer):
    """Convolution, ReLU and a 3x3 max pooling of stride 2."""

    def __init__(self, in_channels, out_channels, kernel, stride, padding):
        super().__init__()
        self.relu = nn.ReLU()
        self._conv = _conv(in_channels, out_channels, kernel, stride, padding)
        self._pool = nn.MaxPool2D(kernel_size=3, stride=2, padding=0)

    def forward(self, inputs):
        return self._pool(self.relu(self._conv(inputs)))


class AlexNet(nn.Layer):
    """Five convolutions and three linear layers.

    Args:
        num_classes (int): outputs; <= 0 leaves the classifier out.

    Shape: [N, 3, 224, 224] to [N, num_classes], or to [N, 256, 6, 6] features.

    Paper: Krizhevsky, arXiv:1404.5997.

    Examples:
        >>> model = argosy.vision.models.AlexNet(num_classes=0)
        >>> model(argosy.ones([1, 3, 224, 224])).shape
        paddle.Size([1, 256, 6, 6])
    """

    def __init__(self, num_classes=1000):
        super().__init__()
        self.num_classes = num_classes
        self._conv1 = ConvPoolLayer(3, 64, 11, 4, 2)
        self._conv2 = ConvPoolLayer(64, 192, 5, 1, 2)
        self._conv3 = _conv(192, 384, 3, padding=1)
        self._conv4 = _conv(384, 256, 3, padding=1)
        self._conv5 = ConvPoolLayer(256, 256, 3, 1, 1)
        if num_classes > 0:
            self._drop1 = nn.Dropout(p=0.5, mode="downscale_in_infer")
            self._fc6 = _linear(256 * 6 * 6, 4096)
            self._drop2 = nn.Dropout(p=0.5, mode="downscale_in_infer")
            self._fc7 = _linear(4096, 4096)
            self._fc8 = _linear(4096, num_classes)

    def forward(self, inputs):
        relu = nn.functional.relu
        x = self._conv2(self._conv1(inputs))
        x = relu(self._conv4(relu(self._conv3(x))))
        x = self._conv5(x)
        if self.num_classes > 0:
            x = self._drop1(x.flatten(1))
            x = self._drop2(relu(self._fc6(x)))
            x = self._fc8(relu(self._fc7(x)))
        return x


@builds("AlexNet", "AlexNet for 224x224 images.", 61_100_840)
def alexnet(pretrained=False, **kwargs):
    refuse_pretrained(pretrained, "alexnet")
    return AlexNet(**kwargs)
