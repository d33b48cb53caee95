"""Pooling of regions of interest."""

from __future__ import annotations

from argosy import _core, nn, tensor
from argosy._beside import beside
from argosy._support import sizes_of


def _pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


@beside
def image_of(boxes_num):
    """For each box, the number of its image."""
    counts = boxes_num.astype("int32").reshape([-1])
    return tensor.repeat_interleave(tensor.arange(sizes_of(counts)[0]), counts)


def _no_gradient(boxes):
    return boxes.detach() if not boxes.stop_gradient else boxes


def roi_align(
    x,
    boxes,
    boxes_num,
    output_size,
    spatial_scale=1.0,
    sampling_ratio=-1,
    aligned=True,
    name=None,
):
    """Mean of bilinear samples in the cells of boxes.

    Args:
        x: [N, C, H, W] images.
        boxes: [R, 4] x1, y1, x2, y2: the boxes of the first image, then those of the second, ..
        boxes_num: [N] int32, how many each image has.
        output_size: cells along the height and the width, or one number for both.
        spatial_scale (float): from the scale of the boxes to that of x.
        sampling_ratio (int): samples of a cell along each axis; -1 for one for each pixel.
        aligned (bool): the centre of a pixel is at a half.

    Returns:
        Tensor [R, C, height, width]. No gradient flows to the boxes.

    Paper: He et al., "Mask R-CNN", arXiv:1703.06870.

    Examples:
        >>> x, boxes = argosy.full([1, 2, 8, 8], 3.0), argosy.to_tensor([[1.0, 1.0, 5.0, 5.0]])
        >>> count = argosy.to_tensor([1], dtype="int32")
        >>> argosy.vision.ops.roi_align(x, boxes, count, 2).flatten().tolist()
        [3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0, 3.0]
    """
    height, width = _pair(output_size)
    return _core.ops.roi_align(
        x, _no_gradient(boxes), image_of(boxes_num), height, width, float(spatial_scale),
        sampling_ratio, aligned,
    )  # fmt: skip


def roi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0, name=None):
    """Maximum of the cells of boxes.

    Args:
        x: [N, C, H, W] images.
        boxes: [R, 4] x1, y1, x2, y2: the boxes of the first image, then those of the second, ..
        boxes_num: [N] int32, how many each image has.
        output_size: cells along the height and the width, or one number for both.
        spatial_scale (float): from the scale of the boxes to that of x.

    Returns:
        Tensor [R, C, height, width]. No gradient flows to the boxes.

    Paper: Girshick, "Fast R-CNN", arXiv:1504.08083.

    Examples:
        >>> x = argosy.arange(16, dtype="float32").reshape([1, 1, 4, 4])
        >>> boxes, count = argosy.to_tensor([[0.0, 0.0, 3.0, 3.0]]), argosy.to_tensor([1], dtype="int32")
        >>> argosy.vision.ops.roi_pool(x, boxes, count, 2).flatten().tolist()
        [5.0, 7.0, 13.0, 15.0]
    """
    height, width = _pair(output_size)
    return _core.ops.roi_pool(
        x, _no_gradient(boxes), image_of(boxes_num), height, width, float(spatial_scale)
    )


def psroi_pool(x, boxes, boxes_num, output_size, spatial_scale=1.0, name=None):
    """Mean of the cells of boxes, each in a channel of its own.

    Args:
        x: [N, C * height * width, H, W] images.
        boxes: [R, 4] x1, y1, x2, y2: the boxes of the first image, then those of the second, ..
        boxes_num: [N] int32, how many each image has.
        output_size: cells along the height and the width, or one number for both.
        spatial_scale (float): from the scale of the boxes to that of x.

    Returns:
        Tensor [R, C, height, width]. No gradient flows to the boxes.

    Paper: Dai et al., "R-FCN", arXiv:1605.06409.

    Examples:
        >>> x, boxes = argosy.ones([1, 8, 4, 4]), argosy.to_tensor([[0.0, 0.0, 4.0, 4.0]])
        >>> count = argosy.to_tensor([1], dtype="int32")
        >>> argosy.vision.ops.psroi_pool(x, boxes, count, 2).shape
        paddle.Size([1, 2, 2, 2])
    """
    height, width = _pair(output_size)
    return _core.ops.psroi_pool(
        x, _no_gradient(boxes), image_of(boxes_num), height, width, float(spatial_scale)
    )


class _Pool(nn.Layer):
    def __init__(self, output_size, spatial_scale=1.0):
        super().__init__()
        self._output_size = output_size
        self._spatial_scale = spatial_scale

    def extra_repr(self):
        return f"output_size={self._output_size}, spatial_scale={self._spatial_scale}"


class RoIAlign(_Pool):
    """Layer of :func:`roi_align`.

    Args:
        output_size: cells along the height and the width, or one number for both.
        spatial_scale (float): from the scale of the boxes to that of the images.

    Shape: (x [N, C, H, W], boxes [R, 4], boxes_num [N], aligned=True) to [R, C, height, width].

    Examples:
        >>> x, boxes = argosy.ones([1, 2, 8, 8]), argosy.to_tensor([[1.0, 1.0, 5.0, 5.0]])
        >>> argosy.vision.ops.RoIAlign(2)(x, boxes, argosy.to_tensor([1], dtype="int32")).shape
        paddle.Size([1, 2, 2, 2])
    """

    def forward(self, x, boxes, boxes_num, aligned=True):
        return roi_align(
            x, boxes, boxes_num, self._output_size, self._spatial_scale, aligned=aligned
        )


class RoIPool(_Pool):
    """Layer of :func:`roi_pool`.

    Args:
        output_size: cells along the height and the width, or one number for both.
        spatial_scale (float): from the scale of the boxes to that of the images.

    Shape: (x [N, C, H, W], boxes [R, 4], boxes_num [N]) to [R, C, height, width].

    Examples:
        >>> x, boxes = argosy.ones([1, 2, 8, 8]), argosy.to_tensor([[1.0, 1.0, 5.0, 5.0]])
        >>> argosy.vision.ops.RoIPool(2)(x, boxes, argosy.to_tensor([1], dtype="int32")).shape
        paddle.Size([1, 2, 2, 2])
    """

    def forward(self, x, boxes, boxes_num):
        return roi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)


class PSRoIPool(_Pool):
    """Layer of :func:`psroi_pool`.

    Args:
        output_size: cells along the height and the width, or one number for both.
        spatial_scale (float): from the scale of the boxes to that of the images.

    Shape: (x [N, C * height * width, H, W], boxes [R, 4], boxes_num [N]) to [R, C, height, width].

    Examples:
        >>> x, boxes = argosy.ones([1, 8, 8, 8]), argosy.to_tensor([[1.0, 1.0, 5.0, 5.0]])
        >>> argosy.vision.ops.PSRoIPool(2)(x, boxes, argosy.to_tensor([1], dtype="int32")).shape
        paddle.Size([1, 2, 2, 2])
    """

    def forward(self, x, boxes, boxes_num):
        return psroi_pool(x, boxes, boxes_num, self._output_size, self._spatial_scale)
