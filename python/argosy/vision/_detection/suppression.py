"""Choosing among boxes that overlap."""

from __future__ import annotations

from argosy import _core, tensor
from argosy._beside import beside


def _kept(boxes, threshold, extra=0.0, eta=1.0):
    return _core.ops.suppress_boxes(boxes, float(threshold), extra, float(eta))


@beside
def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Indices of boxes that overlap no better one by more than a threshold.

    Args:
        boxes: [R, 4] x1, y1, x2, y2.
        iou_threshold (float): largest intersection over union with a better box.
        scores: [R]; the result is in falling order of them. Without scores, boxes are taken to be
            in that order already.
        category_idxs: [R] category of each box; boxes of different categories do not compete.
        categories: list of all categories (needed with category_idxs).
        top_k (int, optional): at most so many results, where there are categories; without, as in Paddle,
            all.

    Returns:
        int64 Tensor [results].

    Raises:
        AssertionError: ``top_k`` exceeds the number of boxes, or ``categories`` are missing.

    Examples:
        >>> boxes = argosy.to_tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [5.0, 5.0, 6.0, 6.0]])
        >>> argosy.vision.ops.nms(boxes, 0.5, scores=argosy.to_tensor([0.5, 0.9, 0.7])).tolist()
        [1, 2]
    """
    if scores is None:
        return _kept(boxes, iou_threshold)
    order = tensor.argsort(scores, descending=True, stable=True)
    if category_idxs is None:
        return tensor.gather(order, _kept(tensor.gather(boxes, order), iou_threshold))
    if top_k is not None and 0 <= scores.shape[0] < top_k:
        raise AssertionError(
            f"[nms] top_k must be at most the number of boxes {scores.shape[0]}, got {top_k}. Do"
            " this: lower it."
        )
    if categories is None:
        raise AssertionError(
            "[nms] category_idxs needs categories, got None. Do this: pass the list of categories."
        )
    found = []
    sorted_categories = tensor.gather(category_idxs, order)
    for category in categories:
        own = tensor.masked_select(order, sorted_categories == category)
        if own.shape[0]:
            found.append(tensor.gather(own, _kept(tensor.gather(boxes, own), iou_threshold)))
    if not found:
        return tensor.zeros([0], dtype="int64")
    kept = tensor.concat(found)
    best = tensor.argsort(tensor.gather(scores, kept), descending=True, stable=True)
    kept = tensor.gather(kept, best)
    return kept if top_k is None else kept[:top_k]


def matrix_nms(
    bboxes,
    scores,
    score_threshold,
    post_threshold,
    nms_top_k,
    keep_top_k,
    use_gaussian=False,
    gaussian_sigma=2.0,
    background_label=0,
    normalized=True,
    return_index=False,
    return_rois_num=True,
    name=None,
):
    """Suppression by lowering scores.

    Args:
        bboxes: [N, M, 4].
        scores: [N, classes, M].
        score_threshold (float): lower scores are dropped before the lowering.
        post_threshold (float): lower scores are dropped after it.
        nms_top_k, keep_top_k (int): at most so many boxes of a class before, and of an image after; -1
            for all.
        use_gaussian (bool): lower by exp(-sigma overlap^2), otherwise by 1 - overlap.
        gaussian_sigma (float): sigma.
        background_label (int): class that is left out; -1 for none.
        normalized (bool): False if coordinates are whole pixels.
        return_index, return_rois_num (bool): what else is returned.

    Returns:
        [results, 6] class, score, x1, y1, x2, y2; the number of results of each image (None without
        return_rois_num); their places in bboxes as [N M, 4] (None without return_index).

    Paper: Wang et al., "SOLOv2", arXiv:2003.10152.

    Examples:
        >>> boxes = argosy.to_tensor([[[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.0]]])
        >>> scores = argosy.to_tensor([[[0.9, 0.8]]])
        >>> out, counts, _ = argosy.vision.ops.matrix_nms(boxes, scores, 0.1, 0.0, -1, -1, background_label=-1)
        >>> out[0].tolist(), counts.tolist()
        ([0.0, 0.9, 0.0, 0.0, 2.0, 2.0], [1])
    """
    out, index, counts = _core.ops.matrix_nms(
        bboxes, scores, float(score_threshold), float(post_threshold), int(nms_top_k),
        int(keep_top_k), bool(use_gaussian), float(gaussian_sigma), int(background_label),
        bool(normalized),
    )  # fmt: skip
    return out, counts if return_rois_num else None, index if return_index else None


def multiclass_nms(
    bboxes,
    scores,
    rois_num=None,
    background_label=0,
    score_threshold=0.0,
    nms_top_k=-1,
    nms_threshold=0.3,
    keep_top_k=-1,
    nms_eta=1.0,
    normalized=True,
):
    """Suppression class by class.

    Args:
        bboxes: [N, M, 4] with scores [N, classes, M]; or, with rois_num [N], of all images one below
            the other: [M, classes, 4], a box for each class, with scores [M, classes].
        background_label: class that is left out; -1 for none.
        score_threshold: only higher scores count.
        nms_top_k, keep_top_k: at most so many boxes of a class before, and of an image after; -1
            for all.
        nms_threshold: a box that overlaps a better one by more is dropped.
        nms_eta: below 1, the threshold shrinks by it at each kept box while it is above 0.5.
        normalized: False if coordinates are whole pixels.

    Returns:
        [results, 6] class, score, x1, y1, x2, y2, by class; their places in bboxes as [boxes, 4],
        [results, 1] int32; and how many each image has, [N] int32.
    """
    return _core.ops.multiclass_nms(
        bboxes, scores, rois_num, int(background_label), float(score_threshold), int(nms_top_k),
        float(nms_threshold), int(keep_top_k), float(nms_eta), bool(normalized),
    )  # fmt: skip
