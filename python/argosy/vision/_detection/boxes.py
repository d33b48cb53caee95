"""Codes of boxes, and the boxes of a grid."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._beside import beside
from argosy._core import Tensor
from argosy._support import check_choice, listed, sizes_of


def _centers(boxes, extra):
    """Widths, heights, x and y of the centres of boxes [.., 4]."""
    w = boxes[..., 2] - boxes[..., 0] + extra
    h = boxes[..., 3] - boxes[..., 1] + extra
    return w, h, boxes[..., 0] + w / 2, boxes[..., 1] + h / 2


def box_coder(
    prior_box,
    prior_box_var,
    target_box,
    code_type="encode_center_size",
    box_normalized=True,
    axis=0,
    name=None,
):
    """Boxes in terms of others, and back.

    Args:
        prior_box: [M, 4] x1, y1, x2, y2 that the codes refer to.
        prior_box_var: [M, 4], four numbers, or None: what the codes are divided by.
        target_box: [N, 4] boxes to encode, or [N, M, 4] codes.
        code_type (str): 'encode_center_size' or 'decode_center_size'.
        box_normalized (bool): False if coordinates are whole pixels: sizes are larger by 1 then.
        axis (int): to decode, the axis of target_box along which the boxes of prior_box are *not* (0:
            prior_box belongs to axis 1).

    Returns:
        Tensor [N, M, 4].

    Raises:
        ValueError: ``code_type`` is unknown.

    Paper: Ren et al., "Faster R-CNN", arXiv:1506.01497.

    Examples:
        >>> prior, box = argosy.to_tensor([[0.0, 0.0, 2.0, 2.0]]), argosy.to_tensor([[1.0, 1.0, 3.0, 3.0]])
        >>> codes = argosy.vision.ops.box_coder(prior, None, box)
        >>> codes.tolist()
        [[[0.5, 0.5, 0.0, 0.0]]]
        >>> argosy.vision.ops.box_coder(prior, None, codes, "decode_center_size").tolist()
        [[[1.0, 1.0, 3.0, 3.0]]]
    """
    extra = 0.0 if box_normalized else 1.0
    check_choice("box_coder", "code_type", code_type, ("encode_center_size", "decode_center_size"))
    encodes = code_type == "encode_center_size"
    side = 0 if encodes or axis == 0 else 1
    w, h, x, y = (part.unsqueeze(side) for part in _centers(prior_box, extra))
    if prior_box_var is None:
        variance = [1.0] * 4
    elif isinstance(prior_box_var, Tensor):
        variance = [prior_box_var[..., i].unsqueeze(side) for i in range(4)]
    else:
        variance = list(prior_box_var)
    if encodes:
        target = target_box.unsqueeze(1)
        tw, th, *_ = _centers(target, extra)
        tx, ty = (target[..., 0] + target[..., 2]) / 2, (target[..., 1] + target[..., 3]) / 2
        codes = [
            (tx - x) / w,
            (ty - y) / h,
            tensor.log(tensor.abs(tw / w)),
            tensor.log(tensor.abs(th / h)),
        ]
        return tensor.stack([code / v for code, v in zip(codes, variance)], -1)
    codes = [target_box[..., i] * variance[i] for i in range(4)]
    cx, cy = codes[0] * w + x, codes[1] * h + y
    dw, dh = tensor.exp(codes[2]) * w / 2, tensor.exp(codes[3]) * h / 2
    return tensor.stack([cx - dw, cy - dh, cx + dw - extra, cy + dh - extra], -1)


@beside
def prior_box(
    input,  # noqa: A002
    image,
    min_sizes,
    max_sizes=None,
    aspect_ratios=[1.0],
    variance=[0.1, 0.1, 0.2, 0.2],
    flip=False,
    clip=False,
    steps=[0.0, 0.0],
    offset=0.5,
    min_max_aspect_ratios_order=False,
    name=None,
):
    """The default boxes of SSD at each place of a feature map.

    Args:
        input: [N, C, H, W] feature map.
        image: [N, C, IH, IW].
        min_sizes, max_sizes: numbers or lists of as many sizes in pixels.
        aspect_ratios (list): of boxes in addition to 1; with flip also their inverses.
        variance (list): four numbers that are given with every box.
        flip (bool): see ``aspect_ratios``.
        clip (bool): keep the coordinates in [0, 1].
        steps (list): width and height of a cell in pixels; 0 for the image's size over the map's.
        offset (float): of a centre in its cell.
        min_max_aspect_ratios_order (bool): boxes in the order min, max, others instead of min, others,
            max.

    Returns:
        [H, W, boxes, 4] coordinates in parts of the image, and their variances.

    Raises:
        ValueError: there are not as many ``max_sizes`` as ``min_sizes``.

    Paper: Liu et al., "SSD", arXiv:1512.02325.

    Examples:
        >>> boxes, variances = argosy.vision.ops.prior_box(
        ...     argosy.ones([1, 8, 1, 1]), argosy.ones([1, 3, 10, 10]), min_sizes=[4.0]
        ... )
        >>> boxes.tolist()
        [[[[0.3, 0.3, 0.7, 0.7]]]]
    """
    mins = listed(min_sizes)
    maxs = [] if max_sizes is None else max_sizes
    maxs = listed(maxs)
    if maxs and len(maxs) != len(mins):
        raise ValueError(
            f"[prior_box] max_sizes must have as many entries as min_sizes: expected {len(mins)},"
            f" got {len(maxs)}. Do this: correct them."
        )
    given = aspect_ratios if isinstance(aspect_ratios, (list, tuple)) else [aspect_ratios]
    ratios = [1.0]
    for ratio in given:
        if any(abs(ratio - known) < 1e-6 for known in ratios):
            continue
        ratios += [float(ratio), 1.0 / ratio] if flip else [float(ratio)]
    sizes = []
    for i, least in enumerate(mins):
        middle = [(math.sqrt(least * maxs[i]),) * 2] if maxs else []
        others = [(least * math.sqrt(r), least / math.sqrt(r)) for r in ratios]
        if min_max_aspect_ratios_order:
            sizes += [(least, least), *middle, *others[1:]]
        else:
            sizes += [*others, *middle]
    height, width = sizes_of(input)[2:]
    image_height, image_width = sizes_of(image)[2:]
    step_w = float(steps[0]) or image_width / width
    step_h = float(steps[1]) or image_height / height
    x = ((tensor.arange(width, dtype="float32") + offset) * step_w).reshape([1, width, 1])
    y = ((tensor.arange(height, dtype="float32") + offset) * step_h).reshape([height, 1, 1])
    half_w = tensor.to_tensor([w / 2 for w, _ in sizes], dtype="float32")
    half_h = tensor.to_tensor([h / 2 for _, h in sizes], dtype="float32")
    shape = [height, width, len(sizes)]
    corners = [
        (x - half_w) / image_width,
        (y - half_h) / image_height,
        (x + half_w) / image_width,
        (y + half_h) / image_height,
    ]
    boxes = tensor.stack([corner.expand(shape) for corner in corners], -1).astype(input.dtype)
    spread = tensor.to_tensor(list(variance), dtype=input.dtype).expand([*shape, 4])
    return (boxes.clip(0.0, 1.0) if clip else boxes), spread


@beside
def anchor_generator(
    input,  # noqa: A002
    anchor_sizes,
    aspect_ratios,
    variances=(0.1, 0.1, 0.2, 0.2),
    stride=(16.0, 16.0),
    offset=0.5,
):
    """The anchors of arXiv:1506.01497 at each place of a feature map, in whole pixels.

    Args:
        input: [N, C, H, W] feature map.
        anchor_sizes: sides in pixels of a square of an anchor's area.
        aspect_ratios: of height to width; the order of anchors is by ratio, then by size.
        stride: width and height of a cell in pixels.
        offset: of a centre in its cell.

    Returns:
        [H, W, anchors, 4] coordinates x1, y1, x2, y2 in pixels, and their variances.
    """
    height, width = sizes_of(input)[2:]
    sides = []
    for ratio in aspect_ratios:
        # Of the cell's size first, in whole pixels; then scaled.
        base_w = _nearest(math.sqrt(stride[0] * stride[1] / ratio))
        base_h = _nearest(base_w * ratio)
        for size in anchor_sizes:
            sides.append((size / stride[0] * base_w, size / stride[1] * base_h))
    x = tensor.arange(width, dtype=input.dtype) * stride[0] + offset * (stride[0] - 1)
    y = tensor.arange(height, dtype=input.dtype) * stride[1] + offset * (stride[1] - 1)
    x, y = x.reshape([1, width, 1]), y.reshape([height, 1, 1])
    half_w = tensor.to_tensor([(w - 1) / 2 for w, _ in sides], dtype=input.dtype)
    half_h = tensor.to_tensor([(h - 1) / 2 for _, h in sides], dtype=input.dtype)
    shape = [height, width, len(sides)]
    corners = [x - half_w, y - half_h, x + half_w, y + half_h]
    anchors = tensor.stack([corner.expand(shape) for corner in corners], -1)
    return anchors, tensor.to_tensor(list(variances), dtype=input.dtype).expand([*shape, 4])


def _nearest(value):
    return math.floor(value + 0.5)
