"""Boxes of YOLO, and what they are trained to be."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import sizes_of
from argosy.nn import functional as F


@beside
def yolo_box(
    x,
    img_size,
    anchors,
    class_num,
    conf_thresh,
    downsample_ratio,
    clip_bbox=True,
    name=None,
    scale_x_y=1.0,
    iou_aware=False,
    iou_aware_factor=0.5,
):
    """Boxes and scores of the output of YOLOv3.

    Args:
        x: [N, A * (5 + class_num), H, W] (with iou_aware, A maps more in front), A anchors.
        img_size: [N, 2] int32 height and width of the images.
        anchors (list): A widths and heights in turn, in pixels of the network's input.
        class_num (int): number of classes.
        conf_thresh (float): boxes with a lower confidence become 0.
        downsample_ratio (int): pixels of the network's input for each cell.
        clip_bbox (bool): keep the boxes inside the image.
        scale_x_y (float): stretches the centres in their cells around the middle.
        iou_aware (bool): x also has overlaps that are predicted.
        iou_aware_factor (float): confidence is conf^(1 - factor) * iou^factor with iou_aware.

    Returns:
        [N, A H W, 4] boxes x1, y1, x2, y2 and [N, A H W, class_num] scores.

    Raises:
        ValueError: the channels of x do not fit.

    Paper: Redmon and Farhadi, arXiv:1804.02767; scale_x_y: Bochkovskiy et al., arXiv:2004.10934.

    Examples:
        >>> x, size = argosy.zeros([1, 6, 1, 1]), argosy.to_tensor([[32, 32]], dtype="int32")
        >>> boxes, scores = argosy.vision.ops.yolo_box(x, size, [16, 16], 1, 0.1, 32)
        >>> boxes.tolist(), scores.tolist()
        ([[[8.0, 8.0, 24.0, 24.0]]], [[[0.25]]])
    """
    if x.ndim != 4:
        raise ValueError(
            f"(InvalidArgument) [yolo_box] x must be [N, channels, H, W], got {list(x.shape)}. Do this:"
            " reshape it."
        )
    batch, _, height, width = sizes_of(x)
    count = len(anchors) // 2
    overlap = None
    if iou_aware:
        overlap = F.sigmoid(x[:, :count])
        x = x[:, count:]
    if x.shape[1] not in (-1, count * (5 + class_num)):
        raise ValueError(
            f"[yolo_box] x must have {count} * (5 + {class_num}) channels, got {x.shape[1]}. Do"
            " this: check anchors and class_num."
        )
    x = x.reshape([batch, count, 5 + class_num, height, width])
    sizes = tensor.to_tensor(anchors, dtype=x.dtype).reshape([1, count, 2, 1, 1])
    shift = -0.5 * (scale_x_y - 1.0)
    across = tensor.arange(width, dtype=x.dtype)
    down = tensor.arange(height, dtype=x.dtype).unsqueeze(1)
    image = img_size.astype(x.dtype)
    image_h, image_w = (image[:, i].reshape([batch, 1, 1, 1]) for i in (0, 1))
    cx = (across + F.sigmoid(x[:, :, 0]) * scale_x_y + shift) * image_w / width
    cy = (down + F.sigmoid(x[:, :, 1]) * scale_x_y + shift) * image_h / height
    w = tensor.exp(x[:, :, 2]) * sizes[:, :, 0] * image_w / (downsample_ratio * width)
    h = tensor.exp(x[:, :, 3]) * sizes[:, :, 1] * image_h / (downsample_ratio * height)
    confidence = F.sigmoid(x[:, :, 4])
    if overlap is not None:
        confidence = confidence ** (1.0 - iou_aware_factor) * overlap**iou_aware_factor
    x1, y1, x2, y2 = cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2
    if clip_bbox:
        zero = tensor.zeros([], dtype=x.dtype)
        x1, y1 = tensor.maximum(x1, zero), tensor.maximum(y1, zero)
        x2, y2 = tensor.minimum(x2, image_w - 1), tensor.minimum(y2, image_h - 1)
    sure = (confidence >= conf_thresh).astype(x.dtype).unsqueeze(-1)
    boxes = tensor.stack([x1, y1, x2, y2], -1) * sure
    scores = F.sigmoid(x[:, :, 5:]).transpose([0, 1, 3, 4, 2]) * confidence.unsqueeze(-1) * sure
    return boxes.reshape([batch, -1, 4]), scores.reshape([batch, -1, class_num])


def yolo_loss(
    x,
    gt_box,
    gt_label,
    anchors,
    anchor_mask,
    class_num,
    ignore_thresh,
    downsample_ratio,
    gt_score=None,
    use_label_smooth=True,
    name=None,
    scale_x_y=1.0,
):
    """The loss of the output of YOLOv3, for each image.

    A box trains the output in the cell of its centre that belongs to the anchor whose shape is most
    like its own: place by cross entropy, size by absolute differences (small boxes count for more),
    confidence and classes by cross entropy. All other outputs are trained to have no confidence,
    unless they overlap a box well. Of boxes with the same output all add to the loss, but the
    gradient is the last one's, as Paddle has it.

    Args:
        x: [N, A * (5 + class_num), H, H], A anchors in anchor_mask.
        gt_box: [N, B, 4] centre, width and height in parts of the image; empty boxes are skipped.
        gt_label: [N, B] int32 classes.
        anchors (list): all anchors, widths and heights in turn, in pixels of the network's input.
        anchor_mask (list): which of them this output has.
        class_num (int): number of classes.
        ignore_thresh (float): outputs that overlap a box by more are not trained to have no confidence.
        downsample_ratio (int): pixels of the network's input for each cell.
        gt_score: [N, B] what each box counts; 1 if None.
        use_label_smooth (bool): the chance of a class is at least min(1 / class_num, 1 / 40).
        scale_x_y (float): stretches the centres in their cells, as in yolo_box.

    Returns:
        Tensor [N].

    Paper: Redmon and Farhadi, arXiv:1804.02767.

    Examples:
        >>> x, box = argosy.zeros([1, 7, 2, 2]), argosy.to_tensor([[[0.3, 0.3, 0.5, 0.5]]])
        >>> label = argosy.zeros([1, 1], dtype="int32")
        >>> argosy.vision.ops.yolo_loss(x, box, label, [32, 32], [0], 2, 0.7, 32).shape
        paddle.Size([1])
    """
    if gt_score is None:
        gt_score = tensor.ones_like(gt_box[:, :, 0])
    boxes, scores = gt_box.astype(x.dtype), gt_score.astype(x.dtype)
    options = list(anchors), list(anchor_mask), class_num, ignore_thresh
    smooth = use_label_smooth
    found = _core.ops.yolo_targets(
        x, boxes, gt_label.astype("int64"), scores, *options, downsample_ratio, smooth, scale_x_y
    )
    sure, sure_weight, places, trains, box, box_weight, chances, chance_weight = found

    def entropy(output, target, weight):
        return F.binary_cross_entropy_with_logits(output, target, weight, reduction="none")

    own = tensor.take(x, places)
    own = tensor.where(trains, own, own.detach())
    losses = (
        entropy(x[:, 4 :: 5 + class_num], sure, sure_weight),
        entropy(own[:, :, :2], box[:, :, :2], box_weight[:, :, :2]),
        tensor.abs(own[:, :, 2:4] - box[:, :, 2:]) * box_weight[:, :, 2:],
        entropy(own[:, :, 5:], chances, chance_weight),
    )
    return tensor.add_n([loss.flatten(1).sum(1) for loss in losses])
