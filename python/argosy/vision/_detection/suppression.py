"""Choosing among boxes that overlap."""

from __future__ import annotations

import argosy
from argosy import _core


def _kept(boxes, threshold, extra=0.0):
    return _core.ops.suppress_boxes(boxes, float(threshold), extra)


def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Indices of boxes [R, 4] that overlap no better one by more than iou_threshold.

    Args:
        scores: [R]; the result is in falling order of them. Without scores, boxes are taken to be
            in that order already.
        category_idxs: [R] category of each box; boxes of different categories do not compete.
        categories: list of all categories (needed with category_idxs).
        top_k: at most so many results.
    """
    if scores is None:
        kept = _kept(boxes, iou_threshold)
        return kept if top_k is None else kept[:top_k]
    if top_k is not None and top_k > scores.shape[0]:
        raise AssertionError(
            f"[nms] top_k must be at most the number of boxes {scores.shape[0]}, got {top_k}. Do"
            " this: lower it."
        )
    order = argosy.argsort(scores, descending=True, stable=True)
    if category_idxs is None:
        kept = argosy.gather(order, _kept(argosy.gather(boxes, order), iou_threshold))
        return kept if top_k is None else kept[:top_k]
    if categories is None:
        raise ValueError(
            "[nms] category_idxs needs categories, got None. Do this: pass the list of categories."
        )
    found = []
    sorted_categories = argosy.gather(category_idxs, order)
    for category in categories:
        own = argosy.masked_select(order, sorted_categories == category)
        if own.shape[0]:
            found.append(argosy.gather(own, _kept(argosy.gather(boxes, own), iou_threshold)))
    if not found:
        return argosy.zeros([0], dtype="int64")
    kept = argosy.concat(found)
    best = argosy.argsort(argosy.gather(scores, kept), descending=True, stable=True)
    kept = argosy.gather(kept, best)
    return kept if top_k is None else kept[:top_k]


def _overlaps(boxes, extra):
    """Intersection over union of all pairs of boxes [n, 4]."""
    low = argosy.maximum(boxes[:, :2].unsqueeze(1), boxes[:, :2].unsqueeze(0))
    high = argosy.minimum(boxes[:, 2:].unsqueeze(1), boxes[:, 2:].unsqueeze(0))
    common = (high - low + extra).clip(0.0)
    common = common[..., 0] * common[..., 1]
    sizes = boxes[:, 2:] - boxes[:, :2] + extra
    area = sizes[:, 0] * sizes[:, 1]
    return common / (area.unsqueeze(1) + area.unsqueeze(0) - common)


def _decayed(boxes, scores, use_gaussian, sigma, extra):
    """Scores, in falling order, lowered by what overlaps them."""
    count = scores.shape[0]
    overlap = argosy.triu(_overlaps(boxes, extra), 1)  # [better, worse]
    # What is itself overlapped counts for less.
    compensate = overlap.max(0).unsqueeze(1) if count > 1 else argosy.zeros([1, 1])
    if use_gaussian:
        decay = argosy.exp((compensate**2 - overlap**2) * sigma)
    else:
        decay = (1 - overlap) / (1 - compensate)
    above = argosy.triu(argosy.ones([count, count], dtype="bool"), 1)
    decay = argosy.where(above, decay, argosy.ones([], dtype=decay.dtype))
    return scores * decay.min(0)


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
    """Suppression by lowering scores, arXiv:2003.10152.

    Args:
        bboxes: [N, M, 4]; scores: [N, classes, M].
        score_threshold: lower scores are dropped before, post_threshold: after the lowering.
        nms_top_k, keep_top_k: at most so many boxes of a class before, and of an image after; -1
            for all.
        use_gaussian: lower by exp(-sigma overlap^2), otherwise by 1 - overlap.
        background_label: class that is left out; -1 for none.
        normalized: False if coordinates are whole pixels.

    Returns:
        [results, 6] class, score, x1, y1, x2, y2; the number of results of each image (None without
        return_rois_num); their places in bboxes as [N M, 4] (None without return_index).
    """
    extra = 0.0 if normalized else 1.0
    rows, places, counts = [], [], []
    for n in range(bboxes.shape[0]):
        found, at = [], []
        for label in range(scores.shape[1]):
            if label == background_label:
                continue
            own = argosy.nonzero(scores[n, label] > score_threshold).reshape([-1])
            if not own.shape[0]:
                continue
            score = argosy.gather(scores[n, label], own)
            order = argosy.argsort(score, descending=True, stable=True)
            order = order if nms_top_k < 0 else order[:nms_top_k]
            own, score = argosy.gather(own, order), argosy.gather(score, order)
            boxes = argosy.gather(bboxes[n], own)
            score = _decayed(boxes, score, use_gaussian, gaussian_sigma, extra)
            good = argosy.nonzero(score > post_threshold).reshape([-1])
            if not good.shape[0]:
                continue
            score = argosy.gather(score, good).unsqueeze(1)
            kind = argosy.full_like(score, float(label))
            found.append(argosy.concat([kind, score, argosy.gather(boxes, good)], 1))
            at.append(argosy.gather(own, good) + n * bboxes.shape[1])
        if found:
            found, at = argosy.concat(found), argosy.concat(at)
            order = argosy.argsort(found[:, 1], descending=True, stable=True)
            order = order if keep_top_k < 0 else order[:keep_top_k]
            rows.append(argosy.gather(found, order))
            places.append(argosy.gather(at, order))
        counts.append(rows[-1].shape[0] if len(found) else 0)
    out = argosy.concat(rows) if rows else argosy.zeros([0, 6], dtype=bboxes.dtype)
    index = argosy.concat(places) if places else argosy.zeros([0], dtype="int64")
    return (
        out,
        argosy.to_tensor(counts, dtype="int32") if return_rois_num else None,
        index.astype("int32").unsqueeze(1) if return_index else None,
    )
