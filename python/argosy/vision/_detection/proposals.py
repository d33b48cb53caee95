"""Proposals of regions."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._beside import beside
from argosy._support import sizes_of


@beside
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
    """Regions by the level of a feature pyramid that fits their size.

    A region of area ``refer_scale ** 2`` goes to refer_level, one of four times that area to the
    next level.

    Args:
        fpn_rois: [R, 4].
        min_level, max_level (int): the levels.
        refer_level, refer_scale (int): see above.
        pixel_offset (bool): sizes are larger by 1, as coordinates are whole pixels.
        rois_num: [N] int32, how many each image has, or None.

    Returns:
        the regions of each level, [R, 1] int32 where each region is in their concatenation, and the
        numbers of regions of each image for each level (None without rois_num).

    Raises:
        AssertionError: ``min_level`` is above ``max_level``.

    Paper: Lin et al., arXiv:1612.03144.

    Examples:
        >>> regions = argosy.to_tensor([[0.0, 0.0, 448.0, 448.0], [0.0, 0.0, 224.0, 224.0]])
        >>> levels, restore, _ = argosy.vision.ops.distribute_fpn_proposals(regions, 4, 5, 4, 224)
        >>> [level.shape[0] for level in levels], restore.flatten().tolist()
        ([1, 1], [1, 0])
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
    """Proposals of the region proposal network of Faster R-CNN.

    Args:
        scores: [N, A, H, W].
        bbox_deltas: [N, 4 A, H, W], codes that refer to the anchors.
        img_size: [N, 2] height and width.
        anchors, variances: [H, W, A, 4].
        pre_nms_top_n, post_nms_top_n (int): at most so many boxes before and after the suppression.
        nms_thresh (float): of the suppression.
        min_size (float): smaller boxes are dropped (at least 1 pixel).
        eta (float): below 1, the threshold shrinks by it at each chosen box while it is above 0.5.
        pixel_offset (bool): coordinates are whole pixels.
        return_rois_num (bool): what else is returned.

    Returns:
        [results, 4] boxes, [results, 1] scores, and with return_rois_num the number of each image
        (otherwise None).

    Paper: Ren et al., "Faster R-CNN", arXiv:1506.01497.

    Examples:
        >>> anchors = argosy.to_tensor([[[[1.0, 1.0, 5.0, 5.0]]]])
        >>> boxes, scores, _ = argosy.vision.ops.generate_proposals(
        ...     argosy.ones([1, 1, 1, 1]), argosy.zeros([1, 4, 1, 1]), argosy.to_tensor([[8.0, 8.0]]),
        ...     anchors, argosy.ones_like(anchors),
        ... )
        >>> boxes.tolist(), scores.tolist()
        ([[1.0, 1.0, 5.0, 5.0]], [[1.0]])
    """
    kind = scores.dtype
    boxes, found, counts = _core.ops.generate_proposals(
        scores, bbox_deltas.astype(kind), img_size.astype(kind),
        anchors.astype(kind).reshape([-1, 4]), variances.astype(kind).reshape([-1, 4]),
        int(pre_nms_top_n), int(post_nms_top_n), float(nms_thresh), float(min_size), float(eta),
        bool(pixel_offset),
    )  # fmt: skip
    return boxes, found, (counts if return_rois_num else None)
