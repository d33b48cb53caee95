"""Detection operators as programs call them; tests/ops/test_detection.py tests their kernels."""

import numpy as np
import pytest
from tests.python.numeric import check_parameters

import argosy as paddle
from argosy import _legacy_C_ops
from argosy.vision import ops

RNG = np.random.RandomState(0)


def t(values, dtype="float32"):
    return paddle.to_tensor(np.asarray(values, dtype))


BOXES = t([[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30], [0, 0, 9, 10], [21, 20, 30, 31]])
SCORES = t([0.9, 0.8, 0.7, 0.95, 0.2])
KINDS = t([0, 1, 0, 1, 0], "int64")


def test_suppression():
    assert ops.nms(BOXES, 0.3).tolist() == [0, 2]
    assert ops.nms(BOXES, 0.3, SCORES).tolist() == [3, 2]
    assert ops.nms(BOXES, 0.3, SCORES, KINDS, [0, 1]).tolist() == [3, 0, 2]
    assert ops.nms(BOXES, 0.3, SCORES, KINDS, [0, 1], 2).tolist() == [3, 0]
    assert ops.nms(BOXES[:0], 0.3).shape == [0]
    assert ops.nms(BOXES, 0.3, SCORES, top_k=1).tolist() == [3, 2]  # counts with categories only
    with pytest.raises(AssertionError, match=r"\[nms\] category_idxs needs categories"):
        ops.nms(BOXES, 0.3, SCORES, KINDS)
    with pytest.raises(AssertionError, match=r"\[nms\] top_k"):
        ops.nms(BOXES, 0.3, SCORES, KINDS, [0, 1], top_k=9)


def overlaps(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    common = np.prod(np.clip(high - low, 0, None))
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)


def greedy(boxes, order, threshold, eta=1.0):
    kept = []
    for i in order:
        if all(overlaps(boxes[i], boxes[k]) <= threshold for k in kept):
            kept.append(i)
            threshold *= eta if threshold > 0.5 else 1
    return kept


def by_class(boxes_of, scores, least, most, threshold, keep, eta):
    """[(class, score, place)] of scores [classes, boxes], by class and falling score."""
    found = []
    for label, score in enumerate(scores):
        order = [i for i in np.argsort(-score, kind="stable") if score[i] > least][:most]
        kept = greedy(boxes_of(label), order, threshold, eta)
        found += [(label, score[i], i) for i in kept]
    return sorted(sorted(found, key=lambda f: -f[1])[:keep], key=lambda f: f[0])


def legacy_nms(boxes, scores, number, threshold, eta):
    return _legacy_C_ops.multiclass_nms3(
        boxes, scores, number, "background_label", -1, "score_threshold", 0.2, "nms_top_k", 6,
        "nms_threshold", threshold, "keep_top_k", 7, "nms_eta", eta, "normalized", True,
    )  # fmt: skip


@pytest.mark.parametrize("threshold, eta", [(0.2, 1.0), (0.9, 0.7)])
def test_suppression_class_by_class(threshold, eta):
    rng = np.random.RandomState(4)
    corner = rng.rand(2, 9, 2)
    boxes = np.concatenate([corner, corner + 0.3 + rng.rand(2, 9, 2)], -1).astype("float32")
    scores = rng.rand(2, 3, 9).astype("float32")
    out, index, count = legacy_nms(t(boxes), t(scores), None, threshold, eta)
    want = [
        by_class(lambda c, n=n: boxes[n], scores[n], 0.2, 6, threshold, 7, eta) for n in range(2)
    ]
    assert count.tolist() == [len(rows) for rows in want]
    rows = [[c, s, *boxes[n, i]] for n in range(2) for c, s, i in want[n]]
    np.testing.assert_allclose(out.numpy(), rows, rtol=1e-6)
    assert index.flatten().tolist() == [9 * n + i for n in range(2) for _, _, i in want[n]]

    # a box for each class, the images one below the other
    own = rng.rand(5, 3, 1) * 0.2 + boxes[0, :5, None]
    scores = rng.rand(5, 3).astype("float32")
    out, index, count = legacy_nms(t(own), t(scores), t([3, 0, 2], "int32"), threshold, eta)
    want = []
    for first, last in ((0, 3), (3, 5)):
        part = own[first:last]
        found = by_class(
            lambda c, part=part: part[:, c], scores[first:last].T, 0.2, 6, threshold, 7, eta
        )
        want.append(sorted((c, first + i, s) for c, s, i in found))
    assert count.tolist() == [len(want[0]), 0, len(want[1])]
    assert index.flatten().tolist() == [3 * i + c for rows in want for c, i, _ in rows]
    rows = [[c, s, *own[i, c]] for part in want for c, i, s in part]
    np.testing.assert_allclose(out.numpy(), rows, rtol=1e-6)
    out, index, count = legacy_nms(t(boxes), t(np.zeros((2, 3, 9))), None, threshold, eta)
    assert (out.shape, index.shape, count.tolist()) == ([0, 6], [0, 1], [0, 0])


def test_anchors_of_a_feature_map():
    anchors, spread = _legacy_C_ops.anchor_generator(
        paddle.zeros([1, 2, 2, 3]), "anchor_sizes", [32.0, 64.0], "aspect_ratios", [0.5, 1.0],
        "variances", [1.0, 1.0, 2.0, 2.0], "stride", [16.0, 12.0], "offset", 0.5,
    )  # fmt: skip
    assert anchors.shape == spread.shape == [2, 3, 4, 4]
    np.testing.assert_array_equal(spread.numpy()[1, 2, 3], [1, 1, 2, 2])
    sides = []
    for ratio in (0.5, 1.0):
        w = round(np.sqrt(16 * 12 / ratio))
        h = round(w * ratio)
        sides += [(size / 16 * w, size / 12 * h) for size in (32, 64)]
    for i, j, k in np.ndindex(2, 3, 4):
        (w, h), x, y = sides[k], j * 16 + 7.5, i * 12 + 5.5
        want = [x - (w - 1) / 2, y - (h - 1) / 2, x + (w - 1) / 2, y + (h - 1) / 2]
        np.testing.assert_allclose(anchors.numpy()[i, j, k], want, rtol=1e-6)


def test_operations_by_attributes():
    assert paddle._legacy_C_ops is _legacy_C_ops
    x = t([[3, 1, 2], [4, 6, 5]])
    x.stop_gradient = False
    values, order = _legacy_C_ops.argsort(x, "axis", 1, "descending", True)
    assert order.tolist() == [[0, 2, 1], [1, 2, 0]]
    (values * t([[1, 2, 3]])).sum().backward()
    assert x.grad.tolist() == [[1, 3, 2], [3, 1, 2]]
    boxes, codes = BOXES[:2], t(RNG.randn(3, 2, 4) * 0.1)
    got = _legacy_C_ops.box_coder(
        boxes, None, codes, "code_type", "decode_center_size", "variance", [0.1, 0.1, 0.2, 0.2]
    )
    want = ops.box_coder(boxes, [0.1, 0.1, 0.2, 0.2], codes, "decode_center_size")
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    maps = paddle.zeros([1, 2, 2, 3]), paddle.zeros([1, 3, 8, 12])
    got = _legacy_C_ops.prior_box(
        *maps, "min_sizes", [4.0], "variances", [0.1] * 4, "step_w", 4.0, "step_h", 5.0
    )
    want = ops.prior_box(*maps, [4.0], variance=[0.1] * 4, steps=[4.0, 5.0])
    for mine, other in zip(got, want):
        np.testing.assert_array_equal(mine.numpy(), other.numpy())
    scores = t(RNG.rand(1, 3, 5))
    got = _legacy_C_ops.matrix_nms(
        BOXES.unsqueeze(0), scores, "score_threshold", 0.1, "post_threshold", 0.05, "nms_top_k", 4,
        "keep_top_k", 5,
    )  # fmt: skip
    out, count, index = ops.matrix_nms(
        BOXES.unsqueeze(0), scores, 0.1, 0.05, 4, 5, return_index=True
    )
    for mine, other in zip(got, (out, index, count)):
        np.testing.assert_array_equal(mine.numpy(), other.numpy())
    rois, number = t([[0, 0, 100, 100], [0, 0, 500, 500]]), t([1, 1], "int32")
    parts, restore, numbers = _legacy_C_ops.distribute_fpn_proposals(
        rois, number, 2, 2, "min_level", 3, "max_level", 4, "refer_level", 4, "refer_scale", 224
    )
    assert [p.shape[0] for p in parts] == [1, 1] and restore.flatten().tolist() == [0, 1]
    assert [n.tolist() for n in numbers] == [[1, 0], [0, 1]]


@pytest.mark.parametrize("gaussian", [False, True])
def test_matrix_nms(gaussian):
    boxes, scores = BOXES.numpy(), RNG.rand(3, 5).astype("float32")
    out, count, index = ops.matrix_nms(
        BOXES.unsqueeze(0), t(scores[None]), 0.1, 0.05, 4, 5, gaussian, return_index=True
    )
    want = []
    for label in (1, 2):  # 0 is the background
        order = [i for i in np.argsort(-scores[label], kind="stable") if scores[label][i] > 0.1][:4]
        iou = np.array([[overlaps(boxes[i], boxes[j]) for j in order] for i in order])
        for k, i in enumerate(order):
            factors = [1.0]
            for m in range(k):
                worst = max((iou[q][m] for q in range(m)), default=0.0)
                if gaussian:
                    factors.append(np.exp((worst**2 - iou[m][k] ** 2) * 2.0))
                else:
                    factors.append((1 - iou[m][k]) / (1 - worst))
            if (score := scores[label][i] * min(factors)) > 0.05:
                want.append((score, label, i))
    want = sorted(want, reverse=True)[:5]
    assert count.tolist() == [len(want)]
    np.testing.assert_allclose(out.numpy()[:, 1], [w[0] for w in want], rtol=1e-5)
    assert out.numpy()[:, 0].tolist() == [w[1] for w in want]
    assert index.flatten().tolist() == [w[2] for w in want]


@pytest.mark.parametrize("normalized", [True, False])
def test_box_codes_lead_back(normalized):
    target, variance = BOXES + 1.5, t(0.1 + RNG.rand(5, 4))
    codes = ops.box_coder(BOXES, variance, target, "encode_center_size", normalized)
    assert codes.shape == [5, 5, 4]
    back = ops.box_coder(BOXES, variance, codes, "decode_center_size", normalized)
    want = np.broadcast_to(target.numpy()[:, None], (5, 5, 4))
    tolerance = 1e-4 if normalized else 1.01  # the centre of whole pixels is coded without the 1
    np.testing.assert_allclose(back.numpy(), want, atol=tolerance)
    other = ops.box_coder(BOXES, variance, codes.transpose([1, 0, 2]), "decode_center_size",
                          normalized, axis=1)  # fmt: skip
    np.testing.assert_allclose(other.numpy(), back.numpy().transpose(1, 0, 2), rtol=1e-6)
    with pytest.raises(ValueError, match=r"\[box_coder\] code_type"):
        ops.box_coder(BOXES, variance, codes, "decode")


def test_prior_boxes():
    boxes, spread = ops.prior_box(
        paddle.zeros([1, 2, 2, 3]), paddle.zeros([1, 3, 8, 12]), [4.0], [9.0], [2.0], flip=True
    )
    assert boxes.shape == [2, 3, 4, 4] and spread.shape == [2, 3, 4, 4]
    sides = [(4, 4), (4 * 2**0.5, 4 / 2**0.5), (4 / 2**0.5, 4 * 2**0.5), (6, 6)]
    for y, x, k in np.ndindex(2, 3, 4):
        cx, cy = (x + 0.5) * 4, (y + 0.5) * 4
        w, h = sides[k]
        want = [(cx - w / 2) / 12, (cy - h / 2) / 8, (cx + w / 2) / 12, (cy + h / 2) / 8]
        np.testing.assert_allclose(boxes.numpy()[y, x, k], want, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(spread.numpy()[1, 2, 3], [0.1, 0.1, 0.2, 0.2])
    with pytest.raises(ValueError, match=r"\[prior_box\] max_sizes"):
        ops.prior_box(paddle.zeros([1, 2, 2, 3]), paddle.zeros([1, 3, 8, 12]), [4.0], [9.0, 8.0])


def test_yolo_boxes():
    x = RNG.randn(1, 14, 2, 3).astype("float32")
    boxes, scores = ops.yolo_box(
        t(x), t([[60, 90]], "int32"), [10, 13, 16, 30], 2, 0.3, 32, scale_x_y=1.1
    )
    sigmoid = lambda v: 1 / (1 + np.exp(-v))  # noqa: E731
    v, at = x.reshape(2, 7, 2, 3), 0
    for a, i, j in np.ndindex(2, 2, 3):
        confidence = sigmoid(v[a, 4, i, j])
        cx = (j + sigmoid(v[a, 0, i, j]) * 1.1 - 0.05) * 90 / 3
        cy = (i + sigmoid(v[a, 1, i, j]) * 1.1 - 0.05) * 60 / 2
        w = np.exp(v[a, 2, i, j]) * (10, 16)[a] * 90 / 96
        h = np.exp(v[a, 3, i, j]) * (13, 30)[a] * 60 / 64
        want = [max(cx - w / 2, 0), max(cy - h / 2, 0), min(cx + w / 2, 89), min(cy + h / 2, 59)]
        chances = sigmoid(v[a, 5:, i, j]) * confidence
        if confidence < 0.3:
            want, chances = [0] * 4, [0] * 2
        np.testing.assert_allclose(boxes.numpy()[0, at], want, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(scores.numpy()[0, at], chances, rtol=1e-4, atol=1e-6)
        at += 1
    with pytest.raises(ValueError, match=r"\[yolo_box\] x must have 2 \* \(5 \+ 3\)"):
        ops.yolo_box(t(x), t([[60, 90]], "int32"), [10, 13, 16, 30], 3, 0.3, 32)


def test_yolo_loss():
    x = t(RNG.randn(1, 14, 4, 4))
    x.stop_gradient = False
    boxes = [[0.3, 0.6, 0.2, 0.3], [0.9, 0.1, 0.4, 0.9], [0, 0, 0, 0], [0.31, 0.6, 0.2, 0.3]]
    labels = [0, 1, 0, 1]
    loss = ops.yolo_loss(
        x, t([boxes]), t([labels], "int32"), [10, 13, 16, 30, 400, 1], [0, 1], 2, 1.0, 16,
        gt_score=t([[1.0, 0.5, 1.0, 0.25]]), use_label_smooth=False,
    )  # fmt: skip
    entropy = lambda v, p: np.log1p(np.exp(v)) - v * p  # noqa: E731
    v = x.numpy().astype("float64")[0].reshape(2, 7, 4, 4)
    sure, weight = np.zeros((2, 4, 4)), np.ones((2, 4, 4))
    # boxes 0 and 3 share the output of anchor 0 at row 2, column 1; box 1 has anchor 1's at 0, 3
    sure[0, 2, 1], weight[0, 2, 1], sure[1, 0, 3], weight[1, 0, 3] = 1, 0.25, 1, 0.5
    want = (entropy(v[:, 4], sure) * weight).sum()
    terms = [(0, 0, 2, 1, 1.0), (1, 1, 0, 3, 0.5), (3, 0, 2, 1, 0.25)]
    for b, a, row, column, worth in terms:
        own, (cx, cy, w, h) = v[a, :, row, column], boxes[b]
        side = [(10, 13), (16, 30)][a]
        small = (2 - w * h) * worth
        want += small * entropy(own[:2], np.array([cx * 4 - column, cy * 4 - row])).sum()
        want += small * np.abs(own[2:4] - np.log([w * 64 / side[0], h * 64 / side[1]])).sum()
        want += worth * entropy(own[5:], np.arange(2) == labels[b]).sum()
    np.testing.assert_allclose(loss.numpy(), [want], rtol=1e-5)
    loss.sum().backward()
    slope, sigmoid = np.zeros((2, 7, 4, 4)), lambda v: 1 / (1 + np.exp(-v))
    slope[:, 4] = (sigmoid(v[:, 4]) - sure) * weight
    for b, a, row, column, worth in terms[1:]:  # the last box of a place trains it
        own, (cx, cy, w, h) = v[a, :, row, column], boxes[b]
        side = [(10, 13), (16, 30)][a]
        small = (2 - w * h) * worth
        at = slope[a, :, row, column]
        at[:2] = small * (sigmoid(own[:2]) - [cx * 4 - column, cy * 4 - row])
        at[2:4] = small * np.sign(own[2:4] - np.log([w * 64 / side[0], h * 64 / side[1]]))
        at[5:] = worth * (sigmoid(own[5:]) - (np.arange(2) == labels[b]))
    np.testing.assert_allclose(x.grad.numpy()[0], slope.reshape(14, 4, 4), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match=r"\[yolo_loss\] gt_label must be"):
        ops.yolo_loss(x, t([boxes]), t([labels[1:]], "int32"), [10, 13], [0], 9, 0.5, 16)


def test_deformable_convolution_without_offsets_is_convolution():
    x, w, b = t(RNG.randn(2, 4, 6, 7)), t(RNG.randn(6, 2, 3, 3)), t(RNG.randn(6))
    options = {"stride": 2, "padding": 1, "groups": 2}
    want = paddle.nn.functional.conv2d(x, w, b, **options)
    offset = paddle.zeros([2, 36, 3, 4])
    got = ops.deform_conv2d(x, offset, w, b, deformable_groups=2, **options)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-4)
    mask = paddle.full([2, 18, 3, 4], 0.5)
    half = ops.deform_conv2d(x, offset, w, None, deformable_groups=2, mask=mask, **options)
    np.testing.assert_allclose(half.numpy(), (got - b.reshape([1, 6, 1, 1])).numpy() / 2, atol=1e-4)
    layer = ops.DeformConv2D(4, 6, 3, padding=1)
    out = layer(x, paddle.zeros([2, 18, 6, 7]))
    assert out.shape == [2, 6, 6, 7]
    shifted = t(RNG.uniform(0.1, 0.4, (2, 18, 6, 7)))
    check_parameters(lambda: (layer(x, shifted) ** 2).mean(), layer.parameters())
    with pytest.raises(ValueError, match=r"\[deform_conv2d\] weight does not fit"):
        ops.deform_conv2d(x, offset, w, deformable_groups=2, stride=2, padding=1)


def test_region_layers_split_boxes_by_image():
    x = t(RNG.randn(2, 8, 10, 12))
    boxes, num = t([[1, 1, 7, 8], [0, 0, 4, 4], [2, 3, 9, 9]]), t([1, 2], "int32")
    for layer in (ops.RoIAlign(2), ops.RoIPool(2), ops.PSRoIPool(2)):
        got = layer(x, boxes, num)
        first = layer(x[:1], boxes[:1], t([1], "int32"))
        second = layer(x[1:], boxes[1:], t([2], "int32"))
        np.testing.assert_array_equal(got.numpy(), paddle.concat([first, second]).numpy())
        assert "output_size=2" in repr(layer)
    with pytest.raises(ValueError, match=r"\[roi_align\] boxes_num must add up.*expected 3, got 2"):
        ops.roi_align(x, boxes, t([1, 1], "int32"), 2)


def test_pyramid_levels():
    boxes = t([[0, 0, 10, 10], [0, 0, 100, 100], [0, 0, 300, 300], [0, 0, 30, 30]])
    parts, restore, counts = ops.distribute_fpn_proposals(
        boxes, 2, 5, 4, 224, rois_num=t([3, 1], "int32")
    )
    assert [p.shape[0] for p in parts] == [3, 0, 1, 0]
    together = paddle.concat(parts)
    np.testing.assert_array_equal(paddle.gather(together, restore.flatten()).numpy(), boxes.numpy())
    assert [c.tolist() for c in counts] == [[2, 1], [0, 0], [1, 0], [0, 0]]
    assert ops.distribute_fpn_proposals(boxes, 2, 5, 4, 224)[2] is None


def test_proposals():
    anchors = np.zeros((2, 2, 1, 4), "float32")
    anchors[..., 0] = anchors[..., 1] = [[[0], [20]], [[40], [60]]]
    anchors[..., 2:] = anchors[..., :2] + 15
    anchors[0, 1] = anchors[0, 0] + 1  # overlaps the first
    scores = np.array([[[[0.9, 0.8], [0.7, 0.6]]]], "float32")
    boxes, found, count = ops.generate_proposals(
        t(scores), paddle.zeros([1, 4, 2, 2]), t([[50, 70]]), t(anchors), t(np.ones_like(anchors)),
        nms_thresh=0.5, return_rois_num=True,
    )  # fmt: skip
    # The second is suppressed, the last lies outside the image.
    np.testing.assert_allclose(boxes.numpy(), [[0, 0, 15, 15], [40, 40, 55, 50]])
    np.testing.assert_allclose(found.numpy(), [[0.9], [0.7]])
    assert count.tolist() == [2]
    for eta, want in ((1.0, 3), (0.5, 2)):  # the second overlaps the first by 0.77
        _, _, count = ops.generate_proposals(
            t(scores), paddle.zeros([1, 4, 2, 2]), t([[50, 70]]), t(anchors), t(np.ones_like(anchors)),
            nms_thresh=0.9, eta=eta, return_rois_num=True,
        )  # fmt: skip
        assert count.tolist() == [want]


def test_files(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    pixels = np.full((8, 9, 3), 100, "uint8")
    Image.fromarray(pixels).save(tmp_path / "image.jpg")
    data = ops.read_file(str(tmp_path / "image.jpg"))
    assert data.dtype == paddle.uint8 and data.ndim == 1
    image = ops.decode_jpeg(data)
    assert image.shape == [3, 8, 9]
    np.testing.assert_allclose(image.numpy(), 100, atol=2)
    assert ops.decode_jpeg(data, "gray").shape == [1, 8, 9]
    with pytest.raises(ValueError, match=r"\[decode_jpeg\] mode"):
        ops.decode_jpeg(data, "hsv")
