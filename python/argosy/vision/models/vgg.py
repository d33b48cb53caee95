"""VGG networks of 11 to 19 layers, with and without batch normalization (arXiv 1409.1556)."""

from ... import nn
from ._build import builds, refuse_pretrained

__all__ = ["VGG", "vgg11", "vgg13", "vgg16", "vgg19"]

# Convolutions per stage; stage i has min(64 * 2**i, 512) channels and ends with a pooling.
_STAGES = {
    11: (1, 1, 2, 2, 2),
    13: (2, 2, 2, 2, 2),
    16: (2, 2, 3, 3, 3),
    19: (2, 2, 4, 4, 4),
}


class VGG(nn.Layer):
    """A classifier on a layer that gives 512 channels.

    Args:
        features (Layer): convolutional part, [N, 3, H, W] to [N, 512, h, w].
        num_classes (int): outputs of the classifier; <= 0 leaves it out.
        with_pool (bool): pool the features to 7x7 before the classifier.

    Shape: [N, 3, H, W] to [N, num_classes].

    Paper: Simonyan and Zisserman, arXiv:1409.1556.

    Examples:
        >>> features = argosy.nn.Conv2D(3, 512, kernel_size=4, stride=4)
        >>> model = argosy.vision.models.VGG(features, num_classes=0)
        >>> model(argosy.ones([1, 3, 32, 32])).shape
        paddle.Size([1, 512, 7, 7])
    """

    def __init__(self, features, num_classes=1000, with_pool=True):
        super().__init__()
        self.features = features
        self.num_classes = num_classes
        self.with_pool = with_pool
        if with_pool:
            self.avgpool = nn.AdaptiveAvgPool2D((7, 7))
        if num_classes > 0:
            self.classifier = nn.Sequential(
                nn.Linear(512 * 7 * 7, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, 4096),
                nn.ReLU(),
                nn.Dropout(),
                nn.Linear(4096, num_classes),
            )

    def forward(self, x):
        x = self.features(x)
        if self.with_pool:
            x = self.avgpool(x)
        return self.classifier(x.flatten(1)) if self.num_classes > 0 else x


def _features(depth, batch_norm):
    layers, in_channels = [], 3
    for stage, count in enumerate(_STAGES[depth]):
        out_channels = min(64 << stage, 512)
        for _ in range(count):
            layers.append(nn.Conv2D(in_channels, out_channels, 3, padding=1))
            if batch_norm:
                layers.append(nn.BatchNorm2D(out_channels))
            layers.append(nn.ReLU())
            in_channels = out_channels
        layers.append(nn.MaxPool2D(kernel_size=2, stride=2))
    return nn.Sequential(*layers)


def _vgg(depth, pretrained, batch_norm, kwargs):
    refuse_pretrained(pretrained, f"vgg{depth}")
    return VGG(_features(depth, batch_norm), **kwargs)


_BATCH = " (bool): normalize after each convolution."


@builds("VGG", "VGG of 11 layers.", 132_863_336, batch_norm=_BATCH)
def vgg11(pretrained=False, batch_norm=False, **kwargs):
    return _vgg(11, pretrained, batch_norm, kwargs)


@builds("VGG", "VGG of 13 layers.", 133_047_848, batch_norm=_BATCH)
def vgg13(pretrained=False, batch_norm=False, **kwargs):
    return _vgg(13, pretrained, batch_norm, kwargs)


@builds("VGG", "VGG of 16 layers.", 138_357_544, batch_norm=_BATCH)
def vgg16(pretrained=False, batch_norm=False, **kwargs):
    return _vgg(16, pretrained, batch_norm, kwargs)


@builds("VGG", "VGG of 19 layers.", 143_667_240, batch_norm=_BATCH)
def vgg19(pretrained=False, batch_norm=False, **kwargs):
    return _vgg(19, pretrained, batch_norm, kwargs)
