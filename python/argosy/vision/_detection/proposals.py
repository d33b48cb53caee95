"""Proposals of regions."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._support import sizes_of


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
        images = sizes_of(rois_num)[0]
        owner = tensor.repeat_interleave(tensor.arange(images), rois_num.astype("int32"))
    parts, places, counts = [], [], []
    for number in range(min_level, max_level + 1):
        own = tensor.nonzero(level == number).reshape([-1])
        parts.append(tensor.gather(fpn_rois, own))
        places.append(own)
        if owner is not None:
            zeros, ones = tensor.zeros([images], "int32"), tensor.ones_like(own, "int32")
            counts.append(tensor.index_add(zeros, tensor.gather(owner, own), 0, ones))
    restore = tensor.argsort(tensor.concat(places)).astype("int32").unsqueeze(1)
    return parts, restore, (counts if owner is not None else None)


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
    kind = scores.dtype
    boxes, found, counts = _core.ops.generate_proposals(
        scores, bbox_deltas.astype(kind), img_size.astype(kind),
        anchors.astype(kind).reshape([-1, 4]), variances.astype(kind).reshape([-1, 4]),
        int(pre_nms_top_n), int(post_nms_top_n), float(nms_thresh), float(min_size), float(eta),
        bool(pixel_offset),
    )  # fmt: skip
    return boxes, found, (counts if return_rois_num else None)
