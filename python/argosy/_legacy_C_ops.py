"""Operations that programs call below the public functions: tensors first, then names and values of
attributes in turn."""

from __future__ import annotations

from argosy import tensor
from argosy.vision import ops
from argosy.vision._detection import boxes, suppression

__all__ = []


def _named(attrs, **other):
    """The attributes as keyword arguments; `other` maps their names to ours."""
    return {other.get(name, name): value for name, value in zip(attrs[::2], attrs[1::2])}


def argsort(x, *attrs):
    """x sorted, and the places its elements had."""
    options = _named(attrs)
    order = tensor.argsort(x, **options)
    return tensor.take_along_axis(x, order, options.get("axis", -1)), order


def multiclass_nms3(bboxes, scores, rois_num, *attrs):
    """Results, their places in bboxes, and how many each image has."""
    return suppression.multiclass_nms(bboxes, scores, rois_num, **_named(attrs))


def matrix_nms(bboxes, scores, *attrs):
    """Results, their places in bboxes, and how many each image has."""
    out, count, index = ops.matrix_nms(bboxes, scores, **_named(attrs), return_index=True)
    return out, index, count


def box_coder(prior_box, prior_box_var, target_box, *attrs):
    """vision.ops.box_coder; the variances are a tensor or the attribute `variance`."""
    options = _named(attrs)
    variance = options.pop("variance", None)
    return ops.box_coder(prior_box, variance or prior_box_var, target_box, **options)


def prior_box(input, image, *attrs):  # noqa: A002
    """vision.ops.prior_box; the steps are two attributes."""
    options = _named(attrs, variances="variance")
    steps = [options.pop("step_w", 0.0), options.pop("step_h", 0.0)]
    return ops.prior_box(input, image, steps=steps, **options)


def anchor_generator(input, *attrs):  # noqa: A002
    """Anchors at each place of a feature map, and their variances."""
    return boxes.anchor_generator(input, **_named(attrs))


def distribute_fpn_proposals(fpn_rois, rois_num, *counts_and_attrs):
    """Regions of each level, their places, and how many each image has of each level.

    The attributes follow the number of levels, given twice.
    """
    options = _named(counts_and_attrs[2:])
    parts, restore, numbers = ops.distribute_fpn_proposals(fpn_rois, rois_num=rois_num, **options)
    return parts, restore, numbers


def generate_proposals_v2(scores, bbox_deltas, im_shape, anchors, variances, *attrs):
    """Regions, their scores, and how many each image has."""
    options = _named(attrs, pre_nms_topN="pre_nms_top_n", post_nms_topN="post_nms_top_n")
    given = scores, bbox_deltas, im_shape, anchors, variances
    return ops.generate_proposals(*given, **options, return_rois_num=True)
