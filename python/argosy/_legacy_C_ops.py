"""Operations that programs call below the public functions: tensors first, then names and values of
attributes in turn."""

from __future__ import annotations

from argosy import _core, tensor
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


def squared_l2_norm(x):
    """The sum of squares of x, of shape [1]."""
    return tensor.reshape(tensor.sum(x * x), [1])


def check_finite_and_unscale(xs, scale, outs, found_infinite):
    """Divides xs by scale into outs, and says in found_infinite whether one of them is not finite."""
    finite = [tensor.all(tensor.isfinite(x)) for x in xs]
    for x, out in zip(xs, outs):
        tensor.assign(x / scale.astype(x.dtype), out)
    found = tensor.logical_not(tensor.all(tensor.stack(finite)))
    tensor.assign(tensor.reshape(found, [1]), found_infinite)
    return outs, found_infinite


def adamw(
    param, grad, learning_rate, moment1, moment2, moment2_max, beta1_power, beta2_power,
    master_param, param_out, moment1_out, moment2_out, moment2_max_out, beta1_power_out,
    beta2_power_out, master_param_out, *attrs,
):  # fmt: skip
    """One step of AdamW. Everything is updated in place, so the results are the operands: param,
    moments, powers, master weight.

    Raises:
        NotImplementedError: another tensor is given for a result, or an attribute has a value that
            would change the step and is not supported.
    """
    options = _named(attrs)
    given = (param, moment1, moment2, moment2_max, beta1_power, beta2_power, master_param)
    results = (param_out, moment1_out, moment2_out, moment2_max_out, beta1_power_out,
               beta2_power_out, master_param_out)  # fmt: skip
    for value, result in zip(given, results):
        if result is not None and result is not value:
            raise NotImplementedError(
                "[_legacy_C_ops.adamw] updates in place: expected the operands as results."
                " Do this: pass the same tensors, or copies of them, in both places."
            )
    decay = options.pop("coeff", 0.01) if options.pop("with_decay", True) else 0.0
    ratio = options.pop("lr_ratio", 1.0)
    lazy = options.pop("lazy_mode", False)
    numbers = [options.pop(n, d) for n, d in (("beta1", 0.9), ("beta2", 0.999), ("epsilon", 1e-8))]
    # Of the kernel's threads, and what the operands say already.
    options.pop("min_row_size_to_use_multithread", None)
    for name, own in (
        ("multi_precision", master_param is not None),
        ("amsgrad", moment2_max is not None),
        ("use_global_beta_pow", False),
    ):
        if options.pop(name, own) != own:
            raise NotImplementedError(
                f"[_legacy_C_ops.adamw] {name}={not own} is not supported with these operands."
                f" Do this: pass {name}={own}."
            )
    if options:
        raise NotImplementedError(
            f"[_legacy_C_ops.adamw] there is no attribute {sorted(options)[0]!r}. Do this: leave it"
            " out."
        )
    lists = [
        [] if t is None else [t] for t in (moment2_max, beta1_power, beta2_power, master_param)
    ]
    _core.ops.adam_(
        [param], [grad], [moment1], [moment2], *lists, learning_rate, [ratio], [], [],
        *numbers, [decay], lazy,
    )  # fmt: skip
    return given


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


def __getattr__(name):
    from argosy.static.kernel_calls import legacy

    found = None if name.startswith("__") else legacy(name)
    if found is None:
        raise AttributeError(f"module 'argosy._legacy_C_ops' has no attribute {name!r}")
    return found
