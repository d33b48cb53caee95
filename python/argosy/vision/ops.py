"""Building blocks and detection operators of vision models."""

from .. import nn
from ._detection.boxes import box_coder, prior_box
from ._detection.deform import DeformConv2D, deform_conv2d
from ._detection.files import decode_jpeg, read_file
from ._detection.proposals import distribute_fpn_proposals, generate_proposals
from ._detection.regions import PSRoIPool, RoIAlign, RoIPool, psroi_pool, roi_align, roi_pool
from ._detection.suppression import matrix_nms, nms
from ._detection.yolo import yolo_box, yolo_loss

__all__ = [
    "ConvNormActivation",
    "DeformConv2D",
    "PSRoIPool",
    "RoIAlign",
    "RoIPool",
    "box_coder",
    "decode_jpeg",
    "deform_conv2d",
    "distribute_fpn_proposals",
    "generate_proposals",
    "matrix_nms",
    "nms",
    "prior_box",
    "psroi_pool",
    "read_file",
    "roi_align",
    "roi_pool",
    "yolo_box",
    "yolo_loss",
]


class ConvNormActivation(nn.Sequential):
    """Convolution, then normalization and activation where they are given.

    Args:
        in_channels (int): channels of the input image.
        out_channels (int): channels of the result.
        kernel_size (int | list | tuple): size of the kernel.
        stride (int | list | tuple): stride of the convolution.
        padding (int | str | tuple | list, optional): None keeps the image size at stride 1.
        groups (int): groups of the convolution.
        norm_layer (type, optional): normalization made with ``out_channels``.
        activation_layer (type, optional): activation made without arguments.
        dilation (int): dilation of the kernel.
        bias (bool, optional): whether the convolution has a bias; None means only without ``norm_layer``.

    Shape: [N, in_channels, H, W] to [N, out_channels, H', W'].

    Examples:
        >>> block = argosy.vision.ops.ConvNormActivation(3, 8, stride=2)
        >>> block(argosy.ones([1, 3, 4, 4])).shape
        paddle.Size([1, 8, 2, 2])
    """

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size=3,
        stride=1,
        padding=None,
        groups=1,
        norm_layer=nn.BatchNorm2D,
        activation_layer=nn.ReLU,
        dilation=1,
        bias=None,
    ):
        if padding is None:
            padding = (kernel_size - 1) // 2 * dilation
        if bias is None:
            bias = norm_layer is None
        layers = [
            nn.Conv2D(
                in_channels,
                out_channels,
                kernel_size,
                stride,
                padding,
                dilation=dilation,
                groups=groups,
                bias_attr=None if bias else False,
            )
        ]
        if norm_layer is not None:
            layers.append(norm_layer(out_channels))
        if activation_layer is not None:
            layers.append(activation_layer())
        super().__init__(*layers)
