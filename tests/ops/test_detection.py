"""Pooling of regions, deformable columns, suppression of boxes: against loops."""

import numpy as np
from tests.ops.harness import A, Case, table_tests

WIDE = ("float32", "float64")
# Not at integers or halves, where roi_pool rounds and samples meet.
BOXES = np.array([[0.3, 0.2, 3.6, 4.3], [1.2, 1.3, 9.1, 2.7], [-1.4, -2.3, 2.2, 1.8]])
IMAGE = np.array([0, 1, 1], "int64")


class Fixed(A):
    """Numbers in the dtype under test; they have no gradient."""

    def __init__(self, values=BOXES):
        super().__init__(*values.shape, grad=False)
        self.values = values

    def make(self, rng, dtype, shape=None):
        return self.values.astype(dtype)


def corners(plane, y, x):
    """Four pixels times their weights. Coordinates up to one pixel outside count as the border."""
    h, w = plane.shape
    if y < -1 or y > h or x < -1 or x > w:
        return [0.0] * 4
    y, x = min(max(y, 0), h - 1), min(max(x, 0), w - 1)
    y0, x0 = int(y), int(x)
    y1, x1 = min(y0 + 1, h - 1), min(x0 + 1, w - 1)
    a, b = y - y0, x - x0
    return [
        (1 - a) * (1 - b) * plane[y0, x0], (1 - a) * b * plane[y0, x1],
        a * (1 - b) * plane[y1, x0], a * b * plane[y1, x1],
    ]  # fmt: skip


def bilinear(*at):
    return sum(corners(*at))


def roi_align(x, boxes, image, pooled_height, pooled_width, spatial_scale=1.0, sampling_ratio=-1,
              aligned=True, cell=np.mean, sample=bilinear):  # fmt: skip
    out = np.zeros((len(boxes), x.shape[1], pooled_height, pooled_width))
    for r, box in enumerate(boxes):
        x1, y1, x2, y2 = box * spatial_scale - (0.5 if aligned else 0)
        w, h = x2 - x1, y2 - y1
        if not aligned:
            w, h = max(w, 1), max(h, 1)
        h, w = h / pooled_height, w / pooled_width
        rows = sampling_ratio if sampling_ratio > 0 else int(np.ceil(h))
        columns = sampling_ratio if sampling_ratio > 0 else int(np.ceil(w))
        for c, i, j in np.ndindex(*out.shape[1:]):
            samples = [
                sample(x[image[r], c], y1 + i * h + (a + 0.5) * h / rows,
                         x1 + j * w + (b + 0.5) * w / columns)
                for a in range(rows) for b in range(columns)
            ]  # fmt: skip
            out[r, c, i, j] = cell(samples) if samples else 0
    return out.astype(x.dtype)


def roi_align_max(x, boxes, image, pooled_height, pooled_width, spatial_scale=1.0,
                  sampling_ratio=-1, aligned=True):  # fmt: skip
    return roi_align(
        x, boxes, image, pooled_height, pooled_width, spatial_scale, sampling_ratio, aligned,
        max, lambda *at: max(corners(*at)),
    )  # fmt: skip


def roi_pool(x, boxes, image, pooled_height, pooled_width, spatial_scale=1.0):
    out = np.zeros((len(boxes), x.shape[1], pooled_height, pooled_width), x.dtype)
    half_up = lambda v: int(np.floor(abs(v) + 0.5) * np.sign(v))  # noqa: E731
    for r, box in enumerate(boxes):
        x1, y1, x2, y2 = (half_up(v) for v in box * spatial_scale)
        h = max(y2 - y1 + 1, 1) / pooled_height
        w = max(x2 - x1 + 1, 1) / pooled_width
        for i, j in np.ndindex(pooled_height, pooled_width):
            rows = slice(
                *np.clip([int(np.floor(i * h)) + y1, int(np.ceil((i + 1) * h)) + y1], 0, x.shape[2])
            )
            cols = slice(
                *np.clip([int(np.floor(j * w)) + x1, int(np.ceil((j + 1) * w)) + x1], 0, x.shape[3])
            )
            cell = x[image[r], :, rows, cols]
            out[r, :, i, j] = cell.max((1, 2)) if cell.size else 0
    return out


def psroi_pool(x, boxes, image, pooled_height, pooled_width, spatial_scale=1.0):
    cells = pooled_height * pooled_width
    out = np.zeros((len(boxes), x.shape[1] // cells, pooled_height, pooled_width), x.dtype)
    for r, box in enumerate(boxes):
        x1, y1 = np.sign(box[:2]) * np.floor(abs(box[:2]) + 0.5) * spatial_scale
        x2, y2 = (np.sign(box[2:]) * np.floor(abs(box[2:]) + 0.5) + 1) * spatial_scale
        h, w = max(y2 - y1, 0.1) / pooled_height, max(x2 - x1, 0.1) / pooled_width
        for c, i, j in np.ndindex(*out.shape[1:]):
            rows = slice(
                *np.clip([int(np.floor(i * h + y1)), int(np.ceil((i + 1) * h + y1))], 0, x.shape[2])
            )
            cols = slice(
                *np.clip([int(np.floor(j * w + x1)), int(np.ceil((j + 1) * w + x1))], 0, x.shape[3])
            )
            cell = x[image[r], (c * pooled_height + i) * pooled_width + j, rows, cols]
            out[r, c, i, j] = cell.mean() if cell.size else 0
    return out


def columns(x, offset, mask=None, kernel=(3, 3), stride=(1, 1), padding=(0, 0), dilation=(1, 1),
            groups=1):  # fmt: skip
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))  # a border of zeros to sample in
    rows, cols = offset.shape[2:]
    out = np.zeros((n, c, kernel[0], kernel[1], rows, cols))
    shape = (groups, kernel[0], kernel[1])
    offset = offset.reshape(n, *shape, 2, rows, cols)
    for b, k, i, j, oh, ow in np.ndindex(n, c, kernel[0], kernel[1], rows, cols):
        g = k // (c // groups)
        y = oh * stride[0] - padding[0] + i * dilation[0] + offset[b, g, i, j, 0, oh, ow]
        z = ow * stride[1] - padding[1] + j * dilation[1] + offset[b, g, i, j, 1, oh, ow]
        if -1 < y < h and -1 < z < w:
            out[b, k, i, j, oh, ow] = bilinear(padded[b, k], y + 1, z + 1)
    if mask is not None:
        each = mask.reshape(n, groups, 1, kernel[0], kernel[1], rows, cols)
        out *= np.broadcast_to(each, (n, groups, c // groups, *out.shape[2:])).reshape(out.shape)
    return out.reshape(n, -1, rows * cols).astype(x.dtype)


def suppressed(boxes, threshold=0.3, extra=0.0, eta=1.0):
    kept = []
    for i, a in enumerate(boxes):
        for b in boxes[kept]:
            low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
            common = np.prod(high - low + extra) if (high >= low).all() else 0.0
            union = np.prod(a[2:] - a[:2] + extra) + np.prod(b[2:] - b[:2] + extra) - common
            if common / union > threshold:
                break
        else:
            kept.append(i)
            threshold *= eta if threshold > 0.5 else 1
    return np.array(kept, "int64")


def sigmoid(v):
    return 1 / (1 + np.exp(-v))


def centred_overlap(a, b):
    low, high = (
        np.maximum(a[:2] - a[2:] / 2, b[:2] - b[2:] / 2),
        np.minimum(a[:2] + a[2:] / 2, b[:2] + b[2:] / 2),
    )
    common = np.prod(np.clip(high - low, 0, None))
    return common / (np.prod(a[2:]) + np.prod(b[2:]) - common)


def yolo_targets(x, boxes, labels, scores, anchors, slots, classes, ignored_overlap, downsample,
                 smooth, stretch):  # fmt: skip
    (n, _, grid, _), count, parts = x.shape, boxes.shape[1], 5 + classes
    sides = np.array(anchors).reshape(-1, 2) / (downsample * grid)
    v = x.reshape(n, len(slots), parts, grid, grid).astype("float64")
    sure, weight = np.zeros((2, n, len(slots), grid, grid))
    for i, s, r, c in np.ndindex(*sure.shape):
        own = v[i, s, :, r, c]
        centre = (sigmoid(own[:2]) - 0.5) * stretch + 0.5 + [c, r]
        predicted = np.r_[centre / grid, np.exp(own[2:4]) * sides[slots[s]]]
        overlaps = [centred_overlap(predicted, b) for b in boxes[i] if min(b[2:]) > 1e-6]
        weight[i, s, r, c] = max(overlaps, default=0) <= ignored_overlap
    places = np.zeros((n, count, parts), "int64")
    trains = np.ones((n, count, 1), bool)
    box, box_weight = np.zeros((2, n, count, 4))
    chances, chance_weight = np.zeros((2, n, count, classes))
    flat = np.arange(x.size).reshape(v.shape)
    least = min(1 / classes, 1 / 40) if smooth else 0.0
    for i, b in np.ndindex(n, count):
        x0, y0, w, h = boxes[i, b]
        shapes = [centred_overlap(np.r_[0, 0, side], np.array([0, 0, w, h])) for side in sides]
        best = int(np.argmax(shapes))
        if min(w, h) <= 1e-6 or best not in slots:
            continue
        s, r, c = slots.index(best), int(y0 * grid), int(x0 * grid)
        places[i, b] = flat[i, s, :, r, c]
        trains[i, :b][(places[i, :b] == places[i, b]).all(1) & (box_weight[i, :b, 0] > 0)] = False
        box[i, b] = [x0 * grid - c, y0 * grid - r, *np.log([w, h] / sides[best])]
        box_weight[i, b] = (2 - w * h) * scores[i, b]
        chances[i, b] = np.where(np.arange(classes) == labels[i, b], 1 - least, least)
        chance_weight[i, b] = scores[i, b]
        sure[i, s, r, c], weight[i, s, r, c] = 1, scores[i, b]
    cast = lambda a: a.astype(x.dtype)  # noqa: E731
    return (
        cast(sure), cast(weight), places, trains, cast(box), cast(box_weight), cast(chances),
        cast(chance_weight),
    )  # fmt: skip


RANDOM = np.random.RandomState(3)
CORNERS = RANDOM.rand(40, 2) * 20
MANY = np.concatenate([CORNERS, CORNERS + 1 + RANDOM.rand(40, 2) * 10], 1)
X = A(2, 3, 5, 6)
OBJECTS = np.concatenate([RANDOM.rand(2, 5, 2) * 0.99, RANDOM.rand(2, 5, 2) * 0.3 + 0.05], 2)
OBJECTS[0, 1] = 0  # empty
OBJECTS[0, 4] = OBJECTS[0, 2] + [0, 0, 0.01, 0.01]  # in the same place
KINDS, WORTH = RANDOM.randint(0, 3, (2, 5)), RANDOM.rand(2, 5) / 2 + 0.5
YOLO = {
    "anchors": [10, 13, 16, 30, 33, 23],
    "slots": [2, 0],
    "classes": 3,
    "ignored_overlap": 0.3,
    "downsample": 16,
    "smooth": True,
    "stretch": 1.1,
}
YOLO_OUT = (None, None, "int64", "bool", None, None, None, None)


def iou(a, b, extra):
    w, h = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
    common = (w + extra) * (h + extra) if min(w, h) >= 0 else 0
    area = [(x[2] - x[0] + extra) * (x[3] - x[1] + extra) for x in (a, b)]
    return common / (sum(area) - common)


def best(scores, threshold, most):
    own = [m for m in np.argsort(-scores, kind="stable") if scores[m] > threshold]
    return own if most < 0 else own[:most]


def collected(images, dtype):
    """Rows, places and counts of images, each a list of (class, score, box, place)."""
    rows = [[c, s, *box] for image in images for c, s, box, _ in image]
    places = [[place] for image in images for *_, place in image]
    counts = [len(image) for image in images]
    return (
        np.array(rows, dtype).reshape(-1, 6),
        np.array(places, "int32").reshape(-1, 1),
        np.array(counts, "int32"),
    )


def multiclass(boxes, scores, rois_num=None, background_label=0, score_threshold=0.0,
               nms_top_k=-1, nms_threshold=0.3, keep_top_k=-1, nms_eta=1.0, normalized=True):  # fmt: skip
    extra, images, start = 0.0 if normalized else 1.0, [], 0
    ragged = rois_num is not None
    for n, count in enumerate(rois_num if ragged else [boxes.shape[1]] * len(boxes)):
        own = scores[start : start + count].T if ragged else scores[n]
        found = []
        for c in range(len(own)):
            if c == background_label:
                continue
            corners = boxes[start : start + count, c] if ragged else boxes[n]
            order = best(own[c], score_threshold, nms_top_k)
            kept = [order[i] for i in suppressed(corners[order], nms_threshold, extra, nms_eta)]
            for m in sorted(kept) if ragged else kept:
                place = (start + m) * len(own) + c if ragged else start + m
                found.append((c, own[c][m], corners[m], place))
        if 0 <= keep_top_k < len(found):
            order = sorted(range(len(found)), key=lambda i: -found[i][1])[:keep_top_k]
            order = sorted(order) if ragged else order
            found = sorted((found[i] for i in order), key=lambda row: row[0])
        images.append(found)
        start += count
    return collected(images, boxes.dtype)


def matrix(boxes, scores, score_threshold=0.0, post_threshold=0.0, nms_top_k=-1, keep_top_k=-1,
           use_gaussian=False, gaussian_sigma=2.0, background_label=0, normalized=True):  # fmt: skip
    extra, images = 0.0 if normalized else 1.0, []
    for n in range(len(boxes)):
        found = []
        for c in range(scores.shape[1]):
            if c == background_label:
                continue
            order = best(scores[n, c], score_threshold, nms_top_k)
            near = [[iou(boxes[n, i], boxes[n, j], extra) for i in order] for j in order]
            most = [max(near[j][:j], default=0.0) for j in range(len(order))]
            for j, m in enumerate(order):
                decay = 1.0
                for i in range(j):
                    if use_gaussian:
                        own = np.exp((most[i] ** 2 - near[j][i] ** 2) * gaussian_sigma)
                    else:
                        own = (1 - near[j][i]) / (1 - most[i]) if most[i] < 1 else np.inf
                    decay = min(decay, own)
                if scores[n, c, m] * decay > post_threshold:
                    found.append((c, scores[n, c, m] * decay, boxes[n, m], n * boxes.shape[1] + m))
        found.sort(key=lambda row: -row[1])
        images.append(found if keep_top_k < 0 else found[:keep_top_k])
    return collected(images, boxes.dtype)


def proposals(scores, deltas, sizes, anchors, variances, pre_nms_top_n=6000, post_nms_top_n=1000,
              nms_thresh=0.5, min_size=0.1, eta=1.0, pixel_offset=False):  # fmt: skip
    extra, images = float(pixel_offset), []
    for score, delta, (height, width) in zip(scores, deltas, sizes):
        score = score.transpose(1, 2, 0).reshape(-1)
        order = np.argsort(-score, kind="stable")[: pre_nms_top_n or None]
        delta = delta.reshape(-1, 4, *delta.shape[1:]).transpose(2, 3, 0, 1).reshape(-1, 4)
        d, anchor, score = (delta * variances)[order], anchors[order], score[order]
        size = anchor[:, 2:] - anchor[:, :2] + extra
        centre = anchor[:, :2] + size / 2 + d[:, :2] * size
        size = size * np.exp(np.minimum(d[:, 2:], np.log(1000 / 16)))
        box = np.concatenate([centre - size / 2, centre + size / 2 - extra], 1)
        limit = np.array([width, height] * 2) - extra
        box = np.maximum(np.minimum(box, limit), 0)
        size = box[:, 2:] - box[:, :2] + extra
        good = (size >= max(min_size, 1)).all(1)
        if extra:
            good &= (box[:, :2] + size / 2 <= [width, height]).all(1)
        box, score = box[good], score[good]
        if nms_thresh > 0:
            kept = suppressed(box, nms_thresh, extra, eta)[: post_nms_top_n or None]
            box, score = box[kept], score[kept]
        images.append((box, score))
    return (
        np.concatenate([box for box, _ in images]),
        np.concatenate([score for _, score in images])[:, None],
        np.array([len(box) for box, _ in images], "int32"),
    )


NET = [RANDOM.rand(2, 3, 2, 2), RANDOM.randn(2, 12, 2, 2), np.array([[18.0, 25.0], [30.0, 22.0]])]
NET += [MANY[:12], np.abs(RANDOM.randn(12, 4)) / 3]
GROUPS = np.stack([MANY[:12], MANY[12:24]])
SCORES = RANDOM.rand(2, 3, 12)
RAGGED = [MANY[:24].reshape(8, 3, 4), RANDOM.rand(8, 3), np.array([3, 0, 5], "int32")]
NMS_OUT = (None, "int32", "int32")
TWO = {"pooled_height": 2, "pooled_width": 3}
DEFORM = {"kernel": [2, 3], "stride": [1, 2], "padding": [1, 1], "dilation": [1, 1]}
# fmt: off
CASES = [
    Case("roi_align", [X, Fixed(), IMAGE], TWO, ref=roi_align, tol=30, dtypes=WIDE,
         covers=["roi_align_grad"],
         errors=[([A(2, 3, 5), BOXES, IMAGE], TWO, ValueError, "x must be images"),
                 ([X, A(3, 5), IMAGE], TWO, ValueError, "boxes must be [R, 4]"),
                 ([X, BOXES, IMAGE[:2]], TWO, ValueError, "must add up to the number of boxes")]),
    Case("roi_align", [X, Fixed(), IMAGE],
         {**TWO, "spatial_scale": 0.5, "sampling_ratio": 2, "aligned": False}, ref=roi_align,
         tol=30, dtypes=WIDE),
    Case("roi_align_max", [X, Fixed(), IMAGE], TWO, ref=roi_align_max, tol=30, dtypes=WIDE,
         errors=[([X, A(3, 5), IMAGE], TWO, ValueError, "boxes must be [R, 4]")]),
    Case("roi_align_max", [X, Fixed(), IMAGE],
         {**TWO, "spatial_scale": 0.5, "sampling_ratio": 2, "aligned": False}, ref=roi_align_max,
         tol=30, dtypes=WIDE),
    Case("roi_pool", [X, Fixed(), IMAGE], {**TWO, "spatial_scale": 0.7}, ref=roi_pool, dtypes=WIDE,
         covers=["roi_pool_grad"]),
    Case("psroi_pool", [A(2, 12, 5, 6), Fixed(), IMAGE], {**TWO, "spatial_scale": 0.7}, tol=20,
         ref=psroi_pool, dtypes=WIDE, covers=["psroi_pool_grad"],
         errors=[([X, BOXES, IMAGE], TWO, ValueError, "multiple of 6")]),
    Case("deform_columns", [A(2, 4, 5, 6), A(2, 24, 6, 3, low=0.1, high=0.9), A(2, 12, 6, 3)],
         {**DEFORM, "groups": 2}, ref=columns, tol=30, dtypes=WIDE,
         covers=["deform_columns_grad"], known={0: [1, 2, 3]},
         errors=[([A(2, 4, 5, 6), A(2, 23, 6, 3), A(2, 12, 6, 3)], {**DEFORM, "groups": 2},
                  ValueError, "offset must have two numbers")]),
    Case("suppress_boxes", [MANY], {"threshold": 0.2}, ref=suppressed, dtypes=("float64",),
         out="int64", errors=[([A(3, 5)], {}, ValueError, "boxes must be [R, 4]")]),
    Case("suppress_boxes", [MANY], {"threshold": 0.5, "extra": 1.0}, ref=suppressed,
         dtypes=("float64",), out="int64"),
    Case("suppress_boxes", [MANY], {"threshold": 0.7, "eta": 0.9}, ref=suppressed,
         dtypes=("float64",), out="int64"),
    Case("generate_proposals", NET, ref=proposals, dtypes=("float64",), out=(None, None, "int32"),
         errors=[([*NET[:4], NET[4][:9]], {}, ValueError, "[generate_proposals] expected scores [N, A, H, W]")]),
    Case("generate_proposals", NET, {"pre_nms_top_n": 8, "post_nms_top_n": 3, "nms_thresh": 0.7, "eta": 0.9, "pixel_offset": True},
         ref=proposals, dtypes=("float64",), out=(None, None, "int32")),
    Case("generate_proposals", NET, {"nms_thresh": 0.0, "min_size": 5.0}, ref=proposals, dtypes=("float64",),
         out=(None, None, "int32")),
    Case("multiclass_nms", [GROUPS, SCORES], {"score_threshold": 0.2}, ref=multiclass, dtypes=("float64",), out=NMS_OUT,
         errors=[([A(2, 12, 5), A(2, 3, 12)], {}, ValueError, "[multiclass_nms] expected bboxes [N, M, 4]"),
                 ([A(2, 12, 4), A(2, 12, 3)], {}, ValueError, "scores [N, classes, M]"),
                 ([*RAGGED[:2], np.array([3, 6])], {}, ValueError, "rois_num must add up to the 8 boxes")]),
    Case("multiclass_nms", [GROUPS, SCORES], {"nms_top_k": 7, "keep_top_k": 6, "background_label": -1, "nms_eta": 0.9,
                                              "nms_threshold": 0.7, "normalized": False},
         ref=multiclass, dtypes=("float64",), out=NMS_OUT),
    Case("multiclass_nms", RAGGED, {"keep_top_k": 4}, ref=multiclass, dtypes=("float64",), out=NMS_OUT),
    Case("multiclass_nms", RAGGED, {"score_threshold": 2.0}, ref=multiclass, dtypes=("float64",), out=NMS_OUT),
    Case("multiclass_nms", [A(0, 3, 4), A(0, 2, 3)], ref=multiclass, dtypes=WIDE, out=NMS_OUT, note="no image"),
    Case("matrix_nms", [GROUPS, SCORES], {"score_threshold": 0.1, "post_threshold": 0.2}, ref=matrix, dtypes=("float64",),
         out=NMS_OUT, errors=[([A(2, 12, 4), A(3, 3, 12)], {}, ValueError, "[matrix_nms] expected bboxes [N, M, 4]")]),
    Case("matrix_nms", [GROUPS, SCORES], {"use_gaussian": True, "nms_top_k": 8, "keep_top_k": 9, "background_label": -1,
                                          "normalized": False}, ref=matrix, dtypes=("float64",), out=NMS_OUT),
    Case("matrix_nms", [np.repeat(GROUPS[:, :1], 3, 1), SCORES[..., :3]], ref=matrix, dtypes=("float64",), out=NMS_OUT,
         note="equal boxes"),
    Case("yolo_targets", [A(2, 16, 6, 6, grad=False), Fixed(OBJECTS), KINDS, Fixed(WORTH)], YOLO,
         ref=yolo_targets, dtypes=WIDE, tol=20, out=YOLO_OUT,
         errors=[([A(16, 6, 6), OBJECTS, KINDS, WORTH], YOLO, ValueError, "x must be [N, C, H, W]"),
                 ([A(2, 15, 6, 6), OBJECTS, KINDS, WORTH], YOLO, ValueError, "2 * (5 + 3) channels"),
                 ([A(2, 16, 6, 6), OBJECTS[:1], KINDS, WORTH], YOLO, ValueError, "gt_box must be"),
                 ([A(2, 16, 6, 6), OBJECTS, KINDS[:, 1:], WORTH], YOLO, ValueError, "gt_label must"),
                 ([A(2, 16, 6, 6), OBJECTS, KINDS, WORTH[:, 1:]], YOLO, ValueError, "gt_score must"),
                 ([A(2, 16, 6, 6), OBJECTS, KINDS, WORTH], {**YOLO, "slots": [3, 0]}, ValueError,
                  "anchor_mask must have indices of the 3 anchors"),
                 ([A(2, 16, 6, 6), OBJECTS, KINDS, WORTH], {**YOLO, "anchors": [1, 2, 3]},
                  ValueError, "pairs of width and height"),
                 ([A(2, 16, 6, 6), OBJECTS, KINDS, WORTH], {**YOLO, "classes": 0}, ValueError,
                  "class_num must be positive")]),
    Case("yolo_targets", [A(2, 8, 3, 3, grad=False), Fixed(OBJECTS), KINDS, Fixed(WORTH)],
         {**YOLO, "slots": [1], "smooth": False}, ref=yolo_targets, dtypes=WIDE, tol=20,
         out=YOLO_OUT),
]
# fmt: on
test_values, test_gradients, test_errors = table_tests(CASES)
