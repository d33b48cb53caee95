"""How operations of layers are computed that Paddle gives other names, operands or attributes than functions
here: convolutions, pools, normalizations, resizing, losses, detection."""

from __future__ import annotations

import math

from argosy import tensor
from argosy._core import ops
from argosy.nn import functional as F  # noqa: N812
from argosy.nn.functional.loss import edit_distance
from argosy.vision import ops as vision

from .more_makers import _format, _one, _optional

__all__ = ["LAYERS"]


def _transposed(function, spatial):
    def make(given):
        given.without(use_addto=False, force_fp32_output=False)
        padding = given.attribute("paddings", [0] * spatial)
        algorithm = given.attribute("padding_algorithm", "EXPLICIT")
        more = {
            name: sizes
            for name in ("output_padding", "output_size")
            if (sizes := given.attribute(name))
        }
        return {
            "Output": function(
                given.one("Input"), given.one("Filter"), _optional(given, "Bias"),
                stride=given.attribute("strides", [1] * spatial),
                padding=padding if algorithm == "EXPLICIT" else algorithm,
                dilation=given.attribute("dilations", [1] * spatial),
                groups=given.attribute("groups", 1), data_format=_format(given, spatial), **more,
            )
        }  # fmt: skip

    return make


def _pool3d(given):
    given.without(use_ceil=False)
    kind, x, size = given.needed("pooling_type"), given.one("X"), given.needed("ksize")
    step, padding = given.attribute("strides", [1] * 3), given.attribute("paddings", [0] * 3)
    algorithm = given.attribute("padding_algorithm", "EXPLICIT")
    layout, exclusive = _format(given, 3), given.attribute("exclusive", True)
    ceil, whole = given.attribute("ceil_mode", False), given.attribute("global_pooling", False)
    if given.attribute("adaptive", False) or whole:
        pool = F.adaptive_max_pool3d if kind == "max" else F.adaptive_avg_pool3d
        return pool(x, [1] * 3 if whole else size)
    padding = padding if algorithm == "EXPLICIT" else algorithm
    if kind == "max":
        return F.max_pool3d(x, size, step, padding, ceil_mode=ceil, data_format=layout)
    return F.avg_pool3d(x, size, step, padding, ceil, exclusive, data_format=layout)


def _pool_with_places(spatial):
    pool, adaptive = (getattr(F, f"{kind}max_pool{spatial}d") for kind in ("", "adaptive_"))

    def make(given):
        x, size = given.one("X"), given.needed("ksize")
        step = given.attribute("strides", [1] * spatial)
        padding, ceil = (
            given.attribute("paddings", [0] * spatial),
            given.attribute("ceil_mode", False),
        )
        whole = given.attribute("global_pooling", False)
        if given.attribute("adaptive", False) or whole:
            out, places = adaptive(x, [1] * spatial if whole else size, return_mask=True)
        else:
            out, places = pool(x, size, step, padding, return_mask=True, ceil_mode=ceil)
        return {"Out": out, "Mask": places}

    return make


def _unpool(function, spatial):
    def make(given):
        given.without(unpooling_type="max")
        return function(
            given.one("X"), given.one("Indices"), given.needed("ksize"),
            given.attribute("strides", [1] * spatial), given.attribute("paddings", [0] * spatial),
            _format(given, spatial), given.attribute("output_size") or None,
        )  # fmt: skip

    return make


def _instance_norm(given):
    out = F.instance_norm(
        given.one("X"), weight=_optional(given, "Scale"), bias=_optional(given, "Bias"),
        eps=given.attribute("epsilon", 1e-5),
    )  # fmt: skip
    return {"Y": out}


def _group_norm(given):
    x, groups = given.one("X"), given.needed("groups")
    epsilon, layout = given.attribute("epsilon", 1e-5), given.attribute("data_layout", "NCHW")
    layout = "NCHW" if layout == "AnyLayout" else layout
    out = F.group_norm(
        x, groups, epsilon, _optional(given, "Scale"), _optional(given, "Bias"), layout
    )
    if layout[-1] == "C":
        x = tensor.transpose(x, [0, len(x.shape) - 1, *range(1, len(x.shape) - 1)])
    parts = tensor.reshape(x, [x.shape[0], groups, -1])
    return {
        "Y": out,
        "Mean": tensor.mean(parts, -1),
        "Variance": tensor.var(parts, -1, unbiased=False),
    }


def _spectral_norm(given):
    vectors = given.one("Weight"), given.one("U"), given.one("V")
    steps, epsilon = given.attribute("power_iters", 1), given.attribute("eps", 1e-12)
    return ops.spectral_norm(*vectors, given.attribute("dim", 0), steps, epsilon)


def _affine_channel(given):
    x, layout = given.one("X"), given.attribute("data_layout", "NCHW")
    shape = [1] * len(x.shape)
    shape[-1 if layout[-1] == "C" else 1] = -1
    return x * given.one("Scale").reshape(shape) + given.one("Bias").reshape(shape)


def _dropped(given):
    """Dropout that draws nothing is the same for all seeds; else a seed would promise Paddle's numbers."""
    p, test = given.attribute("dropout_prob", 0.5), given.attribute("is_test", False)
    mode = given.attribute("dropout_implementation", "downgrade_in_infer")
    x = given.one("X")
    if test or p in (0.0, 1.0):
        given.attribute("fix_seed"), given.attribute("seed"), _optional(given, "Seed")
    else:
        given.without(fix_seed=False, seed=0)
    mode = "downscale_in_infer" if mode == "downgrade_in_infer" else mode
    made = {"Out": F.dropout(x, p, training=not test, mode=mode)}
    if not test and p in (0.0, 1.0):
        made["Mask"] = tensor.full_like(x, 1.0 - p, "uint8")
    return made


def _affine_grid(given):
    shape = _optional(given, "OutputShape")
    sizes, corners = given.attribute("output_shape", []), given.attribute("align_corners", True)
    grid = F.affine_grid(given.one("Theta"), sizes if shape is None else shape, corners)
    return {"Output": grid}


def _grid_sample(given):
    names = (("mode", "bilinear"), ("padding_mode", "zeros"), ("align_corners", True))
    how = [given.attribute(name, value) for name, value in names]
    return {"Output": F.grid_sample(given.one("X"), given.one("Grid"), *how)}


def _nearest_with_corners(x, sizes, channels_last):
    """The first and the last elements stay where they are; a place between two takes the upper one."""
    first = 1 if channels_last else 2
    for axis, size in enumerate(sizes, first):
        step = (x.shape[axis] - 1) / (size - 1) if size > 1 else 0.0
        places = [int(step * i + 0.5) for i in range(size)]
        x = tensor.index_select(x, tensor.to_tensor(places, "int64"), axis)
    return x


def _interpolate(mode, corners):
    """Resizing to sizes, or by factors. corners: what align_corners is where it is left out."""

    def make(given):
        x, layout = given.one("X"), given.attribute("data_layout", "NCHW")
        given.without(interp_method=mode)
        asked = ("out_d", "out_h", "out_w")[-(len(x.shape) - 2) :]
        sizes = [given.attribute(name, -1) for name in asked]
        given.without(out_d=-1, out_h=-1), given.without(out_d=0, out_h=0)
        factors = given.attribute("scale", []) or []
        factors = [factors] if isinstance(factors, float) else list(factors)
        tensors, size = given.operands.get("SizeTensor"), _optional(given, "OutSize")
        factor = _optional(given, "Scale")
        sizes = given.all("SizeTensor") if tensors else sizes if size is None else size
        told = tensors or size is not None
        by = {}
        if factor is not None and not told:
            by["scale_factor"] = factor
        elif factors and not told and factors[0] > 0:
            by["scale_factor"] = factors if len(factors) > 1 else factors[0]
        else:
            by["size"] = sizes
        turned, how = given.attribute("align_corners", corners), given.attribute("align_mode", 1)
        if mode == "nearest" and turned:
            known = by.get("size")
            if not isinstance(known, list) or min(*known, *x.shape[1:]) < 1:
                raise NotImplementedError(
                    f"[append_op] '{given.kind}' with align_corners has sizes that are attributes: got"
                    f" {known} for {list(x.shape)}. Do this: give out_h and out_w, and an x of known sizes."
                )
            return _nearest_with_corners(x, known, layout[-1] == "C")
        layout = {3: {"NCHW": "NCW", "NHWC": "NWC"}}.get(len(x.shape), {}).get(layout, layout)
        if len(x.shape) == 5:
            layout = {"NCHW": "NCDHW", "NHWC": "NDHWC"}.get(layout, layout)
        return F.interpolate(
            x, mode=mode, align_corners=turned, align_mode=how, data_format=layout, **by
        )

    return make


def _unfold(given):
    names = ("strides", "paddings", "dilations")
    how = [given.attribute(name, value) for name, value in zip(names, (1, 0, 1))]
    return {"Y": F.unfold(given.one("X"), given.needed("kernel_sizes"), *how)}


def _position_encoding(given):
    """Sines of positions are added to the first half of each row, cosines to the second."""
    x, alpha, beta = given.one("X"), given.attribute("alpha", 1.0), given.attribute("beta", 1.0)
    half = x.shape[-1] // 2
    steps = [math.pow(10000.0, k / (half - 1)) if half > 1 else 10000.0 for k in range(half)]
    places = tensor.unsqueeze(tensor.arange(x.shape[1], dtype=x.dtype), 1)
    angles = places / tensor.to_tensor(steps, x.dtype)
    return x * alpha + beta * tensor.concat([tensor.sin(angles), tensor.cos(angles)], -1)


def _chosen(given):
    """Minus the logarithm of what the label chooses."""
    x, label, ignored = given.one("X"), given.one("Label"), given.attribute("ignore_index", -100)
    dropped = label == ignored
    safe = tensor.where(dropped, tensor.zeros_like(label), label)
    chosen = tensor.take_along_axis(x, safe, -1, broadcast=False)
    loss = tensor.where(dropped, tensor.zeros_like(chosen), -tensor.log(chosen))
    return {"Y": loss, "MatchX": chosen}


def _nll(given):
    x, label, weight = given.one("X"), given.one("Label"), _optional(given, "Weight")
    ignored, reduction = given.attribute("ignore_index", -100), given.attribute("reduction", "mean")
    out = F.nll_loss(x, label, weight, ignored, reduction)
    counted = (label != ignored).astype(x.dtype)
    if weight is not None:
        safe = tensor.where(label == ignored, tensor.zeros_like(label), label)
        counted = counted * tensor.gather(weight, tensor.flatten(safe)).reshape(label.shape)
    total = tensor.sum(counted) if reduction != "none" else tensor.zeros([], x.dtype)
    return {"Out": out, "Total_weight": total}


def _ctc(given):
    rows = given.one("LogitsLength"), given.one("LabelLength")
    loss = F.ctc_loss(
        given.one("Logits"), given.one("Label"), *rows, given.attribute("blank", 0), "none",
        given.attribute("norm_by_times", False),
    )  # fmt: skip
    return {"Loss": tensor.reshape(loss, [-1, 1])}


def _edit_distance(given):
    names = ("HypsLength", "RefsLength")
    lengths = [_optional(given, name) for name in names]
    rows, distance = edit_distance(
        given.one("Hyps"), given.one("Refs"), given.attribute("normalized", False), None, *lengths
    )
    return {"Out": distance, "SequenceNum": rows}


def _accuracy(given):
    places, label = given.one("Indices"), given.one("Label")
    given.one("Out")  # of which Paddle reads the shape
    right = tensor.any(tensor.equal(places, label.astype(places.dtype)), 1)
    correct = tensor.cast(tensor.sum(right.astype("int32")), "int32")
    total = tensor.full([], places.shape[0], "int32")
    share = tensor.cast(correct, "float32") / float(places.shape[0])
    return {"Accuracy": share, "Correct": correct, "Total": total}


def _box_coder(given):
    variance, numbers = _optional(given, "PriorBoxVar"), given.attribute("variance", [])
    return {
        "OutputBox": vision.box_coder(
            given.one("PriorBox"), numbers or None if variance is None else variance,
            given.one("TargetBox"), given.attribute("code_type", "encode_center_size"),
            given.attribute("box_normalized", True), given.attribute("axis", 0),
        )
    }  # fmt: skip


def _prior_box(given):
    steps = [given.attribute("step_w", 0.0), given.attribute("step_h", 0.0)]
    boxes, variances = vision.prior_box(
        given.one("Input"), given.one("Image"), given.needed("min_sizes"),
        given.attribute("max_sizes") or None, given.attribute("aspect_ratios", [1.0]),
        given.attribute("variances", [0.1, 0.1, 0.2, 0.2]), given.attribute("flip", False),
        given.attribute("clip", False), steps, given.attribute("offset", 0.5),
        given.attribute("min_max_aspect_ratios_order", False),
    )  # fmt: skip
    return {"Boxes": boxes, "Variances": variances}


def _yolo_box(given):
    needed = [given.needed(n) for n in ("anchors", "class_num", "conf_thresh", "downsample_ratio")]
    names = (("scale_x_y", 1.0), ("iou_aware", False), ("iou_aware_factor", 0.5))
    more = {name: given.attribute(name, value) for name, value in names}
    boxes, scores = vision.yolo_box(
        given.one("X"), given.one("ImgSize"), *needed, given.attribute("clip_bbox", True), **more
    )
    return {"Boxes": boxes, "Scores": scores}


def _regions(function, *names):
    """Of regions of an image. names: (attribute, default) of what else it takes."""

    def make(given):
        size = [given.attribute("pooled_height", 1), given.attribute("pooled_width", 1)]
        more = {name: given.attribute(name, value) for name, value in names}
        boxes = given.one("ROIs"), given.one("RoisNum")
        return function(given.one("X"), *boxes, size, given.attribute("spatial_scale", 1.0), **more)

    return make


def _psroi(given):
    channels = given.needed("output_channels")
    out = _regions(vision.psroi_pool)(given)
    if out.shape[1] != channels:
        raise ValueError(
            f"[append_op] 'psroi_pool' makes {out.shape[1]} channels of this image: got"
            f" output_channels={channels}. Do this: pass the channels divided by the cells."
        )
    return out


def _cvm(given):
    return {
        "Y": ops.continuous_value_model(
            given.one("X"), given.one("CVM"), given.attribute("use_cvm", True)
        )
    }


def _full(given):
    """A layer of all inputs with each other."""
    x, weight, split = given.one("Input"), given.one("W"), given.attribute("in_num_col_dims", 1)
    kept = x.shape[:split]
    out = tensor.matmul(tensor.reshape(x, [-1, weight.shape[0]]), weight)
    bias, activation = _optional(given, "Bias"), given.attribute("activation_type", "")
    given.without(activation_type="", padding_weights=False)
    given.without(activation_type="relu")
    out = out if bias is None else out + bias
    return tensor.reshape(F.relu(out) if activation == "relu" else out, [*kept, weight.shape[1]])


LAYERS = {
    "conv2d_transpose": _transposed(F.conv2d_transpose, 2),
    "depthwise_conv2d_transpose": _transposed(F.conv2d_transpose, 2),
    "conv3d_transpose": _transposed(F.conv3d_transpose, 3), "pool3d": _pool3d,
    "max_pool2d_with_index": _pool_with_places(2), "max_pool3d_with_index": _pool_with_places(3),
    "unpool": _unpool(F.max_unpool2d, 2), "unpool3d": _unpool(F.max_unpool3d, 3),
    "instance_norm": _instance_norm, "group_norm": _group_norm, "spectral_norm": _spectral_norm,
    "affine_channel": _affine_channel, "dropout": _dropped, "affine_grid": _affine_grid,
    "grid_sampler": _grid_sample, "unfold": _unfold,
    "shuffle_channel": _one(F.channel_shuffle, group="groups"),
    "bilinear_tensor_product": lambda given: F.bilinear(
        given.one("X"), given.one("Y"), given.one("Weight"), _optional(given, "Bias")),
    "add_position_encoding": _position_encoding, "cross_entropy2": _chosen, "nll_loss": _nll,
    "warpctc": _ctc, "edit_distance": _edit_distance, "accuracy": _accuracy, "box_coder": _box_coder,
    "prior_box": _prior_box, "yolo_box": _yolo_box,
    "roi_align": _regions(vision.roi_align, ("sampling_ratio", -1), ("aligned", False)),
    "roi_pool": lambda given: {"Out": _regions(vision.roi_pool)(given)},
    "psroi_pool": _psroi, "cvm": _cvm, "fc": _full,
}  # fmt: skip
for _mode in ("linear", "bilinear", "trilinear", "nearest", "bicubic"):
    LAYERS[f"{_mode}_interp"] = _interpolate(_mode, True)
    LAYERS[f"{_mode}_interp_v2"] = _interpolate(_mode, False)
