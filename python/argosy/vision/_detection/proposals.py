"""Proposals of regions."""

from __future__ import annotations

from argosy import tensor
from argosy.autograd import no_grad

from .suppression import _kept


def distribute_fpn_proposals(
    fpn_rois,
    min_level,
    max_level,
    refer_level,
    refer_scale,
    pixel_offset=False,
    rois_num=None,
    name=None,
):
    """Regions by the level of a feature pyramid that fits their size, arXiv:1612.03144.

    A region of area ``refer_scale ** 2`` goes to refer_level, one of four times that area to the
    next level.

    Args:
        fpn_rois: [R, 4]; rois_num: [N] int32, how many each image has, or None.
        pixel_offset: sizes are larger by 1, as coordinates are whole pixels.

    Returns:
        the regions of each level, [R, 1] int32 where each region is in their concatenation, and the
        numbers of regions of each image for each level (None without rois_num).
    """
    if min_level > max_level:
        raise AssertionError(
            f"[distribute_fpn_proposals] min_level {min_level} must not be above max_level"
            f" {max_level}. Do this: correct them."
        )
    extra = 1.0 if pixel_offset else 0.0
    sizes = (fpn_rois[:, 2:] - fpn_rois[:, :2] + extra).clip(0.0)
    scale = tensor.sqrt(sizes[:, 0] * sizes[:, 1])
    level = tensor.floor(tensor.log2(scale / refer_scale + 1e-8) + refer_level)
    level = level.clip(min_level, max_level).astype("int64")
    owner = None
    if rois_num is not None:
        images = rois_num.shape[0]
        owner = tensor.repeat_interleave(tensor.arange(images), rois_num.astype("int32"))
    parts, places, counts = [], [], []
    for number in range(min_level, max_level + 1):
        own = tensor.nonzero(level == number).reshape([-1])
        parts.append(tensor.gather(fpn_rois, own))
        places.append(own)
        if owner is not None:
            count = tensor.bincount(tensor.gather(owner, own), minlength=images)
            counts.append(count.astype("int32"))
    restore = tensor.argsort(tensor.concat(places)).astype("int32").unsqueeze(1)
    return parts, restore, (counts if owner is not None else None)


def _one_image(scores, deltas, size, anchors, variances, options):
    before, after, threshold, least, extra, eta = options
    order = tensor.argsort(scores, descending=True, stable=True)
    order = order if before <= 0 else order[:before]
    scores = tensor.gather(scores, order)
    anchors, deltas = tensor.gather(anchors, order), tensor.gather(deltas, order)
    deltas = deltas * tensor.gather(variances, order)
    w, h = (anchors[:, i + 2] - anchors[:, i] + extra for i in (0, 1))
    cx, cy = anchors[:, 0] + w / 2, anchors[:, 1] + h / 2
    most = 4.135166556742356  # log(1000 / 16): wider boxes are errors of the network
    cx, cy = deltas[:, 0] * w + cx, deltas[:, 1] * h + cy
    w = tensor.exp(deltas[:, 2].clip(max=most)) * w
    h = tensor.exp(deltas[:, 3].clip(max=most)) * h
    limit_h, limit_w = size[0] - extra, size[1] - extra
    zero = tensor.zeros([], dtype=scores.dtype)
    bounds = [
        (cx - w / 2, limit_w),
        (cy - h / 2, limit_h),
        (cx + w / 2 - extra, limit_w),
        (cy + h / 2 - extra, limit_h),
    ]
    boxes = tensor.stack(
        [tensor.maximum(tensor.minimum(side, limit), zero) for side, limit in bounds], 1
    )
    least = max(least, 1.0)
    wide = boxes[:, 2:] - boxes[:, :2] + extra
    good = (wide >= least).all(1)
    if extra:
        centre = boxes[:, :2] + wide / 2
        good = good.logical_and(centre[:, 0] <= size[1]).logical_and(centre[:, 1] <= size[0])
    own = tensor.nonzero(good).reshape([-1])
    boxes, scores = tensor.gather(boxes, own), tensor.gather(scores, own)
    if threshold > 0:
        kept = _kept(boxes, threshold, extra, eta)
        kept = kept if after <= 0 else kept[:after]
        boxes, scores = tensor.gather(boxes, kept), tensor.gather(scores, kept)
    return boxes, scores.unsqueeze(1)


def generate_proposals(
    scores,
    bbox_deltas,
    img_size,
    anchors,
    variances,
    pre_nms_top_n=6000,
    post_nms_top_n=1000,
    nms_thresh=0.5,
    min_size=0.1,
    eta=1.0,
    pixel_offset=False,
    return_rois_num=False,
    name=None,
):
    """Proposals of the region proposal network of Faster R-CNN, arXiv:1506.01497.

    Args:
        scores: [N, A, H, W]; bbox_deltas: [N, 4 A, H, W], codes that refer to the anchors.
        img_size: [N, 2] height and width.
        anchors, variances: [H, W, A, 4].
        pre_nms_top_n, post_nms_top_n: at most so many boxes before and after the suppression.
        nms_thresh: of the suppression; min_size: smaller boxes are dropped (at least 1 pixel).
        eta: below 1, the threshold shrinks by it at each chosen box while it is above 0.5.
        pixel_offset: coordinates are whole pixels.

    Returns:
        [results, 4] boxes, [results, 1] scores, and with return_rois_num the number of each image
        (otherwise None).
    """
    extra = 1.0 if pixel_offset else 0.0
    options = (pre_nms_top_n, post_nms_top_n, nms_thresh, min_size, extra, eta)
    anchors, variances = anchors.reshape([-1, 4]), variances.reshape([-1, 4])
    boxes, found = [], []
    with no_grad():
        for n in range(scores.shape[0]):
            height, width = scores.shape[2:]
            score = scores[n].transpose([1, 2, 0]).reshape([-1])
            delta = bbox_deltas[n].reshape([-1, 4, height, width]).transpose([2, 3, 0, 1])
            one = _one_image(
                score, delta.reshape([-1, 4]), img_size[n], anchors, variances, options
            )
            boxes.append(one[0])
            found.append(one[1])
    counts = tensor.to_tensor([part.shape[0] for part in boxes], dtype="int32")
    return tensor.concat(boxes), tensor.concat(found), (counts if return_rois_num else None)
