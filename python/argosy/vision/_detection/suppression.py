"""Choosing among boxes that overlap."""

from __future__ import annotations

from argosy import _core, tensor


def _kept(boxes, threshold, extra=0.0, eta=1.0):
    return _core.ops.suppress_boxes(boxes, float(threshold), extra, float(eta))


def nms(boxes, iou_threshold=0.3, scores=None, category_idxs=None, categories=None, top_k=None):
    """Indices of boxes [R, 4] that overlap no better one by more than iou_threshold.

    Args:
        scores: [R]; the result is in falling order of them. Without scores, boxes are taken to be
            in that order already.
        category_idxs: [R] category of each box; boxes of different categories do not compete.
        categories: list of all categories (needed with category_idxs).
        top_k: at most so many results, where there are categories; without, as in Paddle, all.
    """
    if scores is None:
        return _kept(boxes, iou_threshold)
    order = tensor.argsort(scores, descending=True, stable=True)
    if category_idxs is None:
        return tensor.gather(order, _kept(tensor.gather(boxes, order), iou_threshold))
    if top_k is not None and top_k > scores.shape[0]:
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


def _overlaps(boxes, extra):
    """Intersection over union of all pairs of boxes [n, 4]."""
    low = tensor.maximum(boxes[:, :2].unsqueeze(1), boxes[:, :2].unsqueeze(0))
    high = tensor.minimum(boxes[:, 2:].unsqueeze(1), boxes[:, 2:].unsqueeze(0))
    common = (high - low + extra).clip(0.0)
    common = common[..., 0] * common[..., 1]
    sizes = boxes[:, 2:] - boxes[:, :2] + extra
    area = sizes[:, 0] * sizes[:, 1]
    return common / (area.unsqueeze(1) + area.unsqueeze(0) - common)


def _decayed(boxes, scores, use_gaussian, sigma, extra):
    """Scores, in falling order, lowered by what overlaps them."""
    count = scores.shape[0]
    overlap = tensor.triu(_overlaps(boxes, extra), 1)  # [better, worse]
    # What is itself overlapped counts for less.
    compensate = overlap.max(0).unsqueeze(1) if count > 1 else tensor.zeros([1, 1])
    if use_gaussian:
        decay = tensor.exp((compensate**2 - overlap**2) * sigma)
    else:
        decay = (1 - overlap) / (1 - compensate)
    above = tensor.triu(tensor.ones([count, count], dtype="bool"), 1)
    decay = tensor.where(above, decay, tensor.ones([], dtype=decay.dtype))
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
            own = tensor.nonzero(scores[n, label] > score_threshold).reshape([-1])
            if not own.shape[0]:
                continue
            score = tensor.gather(scores[n, label], own)
            order = tensor.argsort(score, descending=True, stable=True)
            order = order if nms_top_k < 0 else order[:nms_top_k]
            own, score = tensor.gather(own, order), tensor.gather(score, order)
            boxes = tensor.gather(bboxes[n], own)
            score = _decayed(boxes, score, use_gaussian, gaussian_sigma, extra)
            good = tensor.nonzero(score > post_threshold).reshape([-1])
            if not good.shape[0]:
                continue
            score = tensor.gather(score, good).unsqueeze(1)
            kind = tensor.full_like(score, float(label))
            found.append(tensor.concat([kind, score, tensor.gather(boxes, good)], 1))
            at.append(tensor.gather(own, good) + n * bboxes.shape[1])
        if found:
            found, at = tensor.concat(found), tensor.concat(at)
            order = tensor.argsort(found[:, 1], descending=True, stable=True)
            order = order if keep_top_k < 0 else order[:keep_top_k]
            rows.append(tensor.gather(found, order))
            places.append(tensor.gather(at, order))
        counts.append(rows[-1].shape[0] if len(found) else 0)
    out = tensor.concat(rows) if rows else tensor.zeros([0, 6], dtype=bboxes.dtype)
    index = tensor.concat(places) if places else tensor.zeros([0], dtype="int64")
    return (
        out,
        tensor.to_tensor(counts, dtype="int32") if return_rois_num else None,
        index.astype("int32").unsqueeze(1) if return_index else None,
    )


def _best_of_class(boxes, scores, options):
    """Indices of the boxes [M, 4] with scores [M] that are kept, best first."""
    threshold, most, overlap, extra, eta = options
    own = tensor.nonzero(scores > threshold).reshape([-1])
    order = tensor.argsort(tensor.gather(scores, own), descending=True, stable=True)
    own = tensor.gather(own, order if most < 0 else order[:most])
    return tensor.gather(own, _kept(tensor.gather(boxes, own), overlap, extra, eta))


def _best_of_image(box_of, scores, background, keep_top_k, options, by_place):
    """Classes, scores and places of an image's results; box_of(c) are the boxes of class c."""
    kinds, values, places = [], [], []
    for label in range(scores.shape[0]):
        if label == background:
            continue
        own = _best_of_class(box_of(label), scores[label], options)
        if own.shape[0]:
            own = tensor.sort(own) if by_place else own
            kinds.append(tensor.full_like(own, label))
            values.append(tensor.gather(scores[label], own))
            places.append(own)
    if not kinds:
        return None
    kinds, values, places = tensor.concat(kinds), tensor.concat(values), tensor.concat(places)
    if 0 <= keep_top_k < values.shape[0]:
        best = tensor.argsort(values, descending=True, stable=True)[:keep_top_k]
        if by_place:
            best = tensor.sort(best)
        kinds, values, places = (tensor.gather(v, best) for v in (kinds, values, places))
        best = tensor.argsort(kinds, stable=True)
        kinds, values, places = (tensor.gather(v, best) for v in (kinds, values, places))
    return kinds, values, places


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
    extra = 0.0 if normalized else 1.0
    options = score_threshold, nms_top_k, nms_threshold, extra, nms_eta
    ragged = rois_num is not None
    classes = scores.shape[1]
    starts = [0]
    for count in rois_num.tolist() if ragged else [bboxes.shape[1]] * bboxes.shape[0]:
        starts.append(starts[-1] + count)
    flat = bboxes.reshape([-1, 4])
    rows, index, counts = [], [], []
    for n, (start, end) in enumerate(zip(starts, starts[1:])):
        if ragged:
            part, own = bboxes[start:end], scores[start:end].transpose([1, 0])
            found = _best_of_image(
                lambda c, part=part: part[:, c], own, background_label, keep_top_k, options, True
            )
        else:
            found = _best_of_image(
                lambda c, n=n: bboxes[n], scores[n], background_label, keep_top_k, options, False
            )
        counts.append(0 if found is None else found[0].shape[0])
        if found is None:
            continue
        kinds, values, places = found
        at = (places + start) * classes + kinds if ragged else places + start
        head = tensor.stack([kinds.astype(flat.dtype), values], 1)
        rows.append(tensor.concat([head, tensor.gather(flat, at)], 1))
        index.append(at)
    out = tensor.concat(rows) if rows else tensor.zeros([0, 6], dtype=bboxes.dtype)
    index = tensor.concat(index) if index else tensor.zeros([0], dtype="int64")
    return out, index.astype("int32").unsqueeze(1), tensor.to_tensor(counts, dtype="int32")
