"""Operations beyond those that layers append: how they are computed, by the names Paddle gives them."""

from __future__ import annotations

from argosy import linalg, tensor
from argosy._core import ops
from argosy.nn import functional as F  # noqa: N812

from .makers import call

__all__ = ["MORE"]


def _one(function, *operands, out="Out", fixed=None, **renamed):
    """`call`, whose only result is the output of that name. fixed: arguments that are always the same."""
    make = call(function, operands or ("X",), fixed, **renamed)
    return lambda given: {out: make(given)}


def _compare(name):
    def make(given):
        given.without(axis=-1, force_cpu=False)
        return getattr(tensor, name)(given.one("X"), given.one("Y"))

    return make


def _optional(given, name):
    return given.one(name) if given.operands.get(name) else None


def _value(given, attribute, *operands):
    """An attribute, or the variable that is given instead."""
    asked = given.attribute(attribute)
    found = [v for v in (_optional(given, name) for name in operands) if v is not None]
    return found[0] if found else asked


def _clip(given):
    return tensor.clip(given.one("X"), _value(given, "min", "Min"), _value(given, "max", "Max"))


def _slice(given):
    x, axes = given.one("Input"), given.needed("axes")
    given.attribute("infer_flags")
    out = tensor.slice(
        x, axes, _value(given, "starts", "StartsTensor"), _value(given, "ends", "EndsTensor")
    )
    dropped = given.attribute("decrease_axis") or []
    return tensor.squeeze(out, dropped) if dropped else out


def _strided_slice(given):
    given.attribute("infer_flags")
    given.without(decrease_axis=[])
    steps = [given.needed(name) for name in ("axes", "starts", "ends", "strides")]
    return tensor.strided_slice(given.one("Input"), *steps)


def _split(given):
    axis, parts = given.attribute("axis", 0), given.attribute("sections") or given.attribute("num")
    return {"Out": tensor.split(given.one("X"), parts, _optional(given, "AxisTensor") or axis)}


def _cumsum(given):
    x, axis = given.one("X"), given.attribute("axis", -1)
    if given.attribute("flatten", False):
        x, axis = tensor.flatten(x), 0
    turned = given.attribute("reverse", False)
    x = tensor.flip(x, axis) if turned else x
    out = tensor.cumsum(x, axis)
    out = out - x if given.attribute("exclusive", False) else out
    return tensor.flip(out, axis) if turned else out


def _extreme(name):
    def make(given):
        axis = None if given.attribute("flatten", False) else given.attribute("axis")
        dtype = given.attribute("dtype", -1)
        dtype = "int64" if dtype == -1 else dtype
        return getattr(tensor, name)(
            given.one("X"), axis, given.attribute("keepdims", False), dtype
        )

    return make


def _sorted(given):
    axis, falling = given.attribute("axis", -1), given.attribute("descending", False)
    stable, x = given.attribute("stable", False), given.one("X")
    return {
        "Out": tensor.sort(x, axis, falling, stable),
        "Indices": tensor.argsort(x, axis, falling, stable),
    }


def _top(given):
    names = ("axis", "largest", "sorted")
    largest = {name: given.attribute(name) for name in names if name in given.attributes}
    values, places = tensor.topk(given.one("X"), _value(given, "k", "K"), **largest)
    return {"Out": values, "Indices": places}


def _one_hot(given):
    given.attribute("dtype")
    given.without(allow_out_of_range=False)
    return F.one_hot(given.one("X"), _value(given, "depth", "depth_tensor"))


def _tril_triu(given):
    cut = tensor.tril if given.attribute("lower", False) else tensor.triu
    return cut(given.one("X"), given.attribute("diagonal", 0))


def _p_norm(given):
    given.attribute(
        "epsilon"
    )  # of Paddle's gradient kernel: keeps it from dividing by 0, which ours does not do
    axis = None if given.attribute("asvector", False) else given.attribute("axis", -1)
    return linalg.norm(
        given.one("X"), given.attribute("porder", 2.0), axis, given.attribute("keepdim", False)
    )


def _layer_norm(given):
    x, first = given.one("X"), given.attribute("begin_norm_axis", 1)
    sizes = x.shape[first:]
    weights = [_optional(given, name) for name in ("Scale", "Bias")]
    weights = [None if w is None else tensor.reshape(w, sizes) for w in weights]
    flat = tensor.reshape(x, [*x.shape[:first], -1])
    mean, variance = (f(flat, axis=-1).flatten() for f in (tensor.mean, _variance))
    made = F.layer_norm(x, sizes, *weights, given.attribute("epsilon", 1e-5))
    return {"Y": made, "Mean": mean, "Variance": variance}


def _variance(x, axis):
    return tensor.var(x, axis, unbiased=False)


def _window(given, function, spatial, **more):
    given.without(use_addto=False, force_fp32_output=False)
    padding, algorithm = (
        given.attribute("paddings", [0] * spatial),
        given.attribute("padding_algorithm", "EXPLICIT"),
    )
    return {
        "Output": function(
            given.one("Input"), given.one("Filter"), _optional(given, "Bias"),
            stride=given.attribute("strides", [1] * spatial),
            padding=padding if algorithm == "EXPLICIT" else algorithm,
            dilation=given.attribute("dilations", [1] * spatial), groups=given.attribute("groups", 1),
            data_format=_format(given, spatial), **more,
        )
    }  # fmt: skip


def _format(given, spatial):
    plain = "NCHW" if spatial == 2 else "NCDHW"
    said = given.attribute("data_format", plain)
    return plain if said == "AnyLayout" else said


def _adaptive(pool, x, size, layout):
    """An adaptive pool of channels that come first or last."""
    last = len(x.shape) - 1
    if layout[-1] != "C":
        return pool(x, size)
    out = pool(tensor.transpose(x, [0, last, *range(1, last)]), size)
    return tensor.transpose(out, [0, *range(2, last + 1), 1])


def _pool2d(given):
    given.without(use_ceil=False)
    kind, x = given.needed("pooling_type"), given.one("X")
    size, step = given.needed("ksize"), given.attribute("strides", [1, 1])
    layout, exclusive = _format(given, 2), given.attribute("exclusive", True)
    padding, algorithm = (
        given.attribute("paddings", [0, 0]),
        given.attribute("padding_algorithm", "EXPLICIT"),
    )
    ceil = given.attribute("ceil_mode", False)
    whole = given.attribute("global_pooling", False)
    if given.attribute("adaptive", False) or whole:
        pool = F.adaptive_max_pool2d if kind == "max" else F.adaptive_avg_pool2d
        return _adaptive(pool, x, [1, 1] if whole else size, layout)
    padding = padding if algorithm == "EXPLICIT" else algorithm
    if kind == "max":
        return F.max_pool2d(x, size, step, padding, ceil_mode=ceil, data_format=layout)
    return F.avg_pool2d(x, size, step, padding, ceil, exclusive, data_format=layout)


def _sigmoid_cross_entropy(given):
    x, label, ignored = given.one("X"), given.one("Label"), given.attribute("ignore_index", -100)
    loss = F.binary_cross_entropy_with_logits(
        x, label, reduction="none", pos_weight=_optional(given, "pos_weight")
    )
    counts = (label != float(ignored)).astype(x.dtype)
    loss = loss * counts
    return loss / tensor.clip(counts.sum(), 1e-5) if given.attribute("normalize", False) else loss


def _huber(given):
    x, y, delta = given.one("X"), given.one("Y"), given.needed("delta")
    return {
        "Out": ops.huber_loss(x, y, delta)
        if hasattr(ops, "huber_loss")
        else _huber_of(y - x, delta),
        "Residual": y - x,
    }


def _huber_of(d, delta):
    size = tensor.abs(d)
    return tensor.where(size <= delta, 0.5 * d * d, delta * (size - 0.5 * delta))


def _momentum(given):
    given.without(
        regularization_method="", regularization_coeff=0.0, multi_precision=False, rescale_grad=1.0
    )
    param, grad, rate = given.one("Param"), given.one("Grad"), given.one("LearningRate")
    mu = given.needed("mu")
    velocity = mu * given.one("Velocity") + grad
    step = grad + mu * velocity if given.attribute("use_nesterov", False) else velocity
    return {"ParamOut": param - rate * step, "VelocityOut": velocity}


def _adam(given):
    given.without(lazy_mode=False, min_row_size_to_use_multithread=1000, multi_precision=False,
                  use_global_beta_pow=False, amsgrad=False)  # fmt: skip
    beta1 = _value(given, "beta1", "Beta1Tensor") or 0.9
    beta2 = _value(given, "beta2", "Beta2Tensor") or 0.999
    epsilon = _value(given, "epsilon", "EpsilonTensor") or 1e-8
    grad, power1, power2 = (given.one(name) for name in ("Grad", "Beta1Pow", "Beta2Pow"))
    first = beta1 * given.one("Moment1") + (1 - beta1) * grad
    second = beta2 * given.one("Moment2") + (1 - beta2) * grad * grad
    root = tensor.sqrt(1 - power2)
    step = (
        given.one("LearningRate")
        * root
        / (1 - power1)
        * first
        / (tensor.sqrt(second) + epsilon * root)
    )
    return {
        "ParamOut": given.one("Param") - step, "Moment1Out": first, "Moment2Out": second,
        "Beta1PowOut": power1 * beta1, "Beta2PowOut": power2 * beta2,
    }  # fmt: skip


def _prelu(given):
    x, slope, layout = given.one("X"), given.one("Alpha"), given.attribute("data_format", "NCHW")
    if given.attribute("mode", "all") == "element":
        return tensor.where(x > 0, x, slope * x)
    return F.prelu(x, tensor.flatten(slope), layout)


def _mish(given):
    given.without(threshold=20.0)
    return F.mish(given.one("X"))


def _pow(given):
    return tensor.pow(given.one("X"), _value(given, "factor", "FactorTensor"))


def _squared_l2_norm(given):
    x = given.one("X")
    return tensor.reshape(tensor.sum(x * x), [1])


def _hard_swish(given):
    given.without(threshold=6.0, scale=6.0, offset=3.0)
    return F.hardswish(given.one("X"))


def _norm(given):
    x, axis = given.one("X"), given.needed("axis")
    given.without(is_test=False)
    size = tensor.sqrt((x * x).sum(axis, keepdim=True) + given.attribute("epsilon", 1e-10))
    return {"Out": x / size, "Norm": size}


MORE = {
    "elementwise_fmax": _compare("fmax"), "elementwise_fmin": _compare("fmin"),
    "elementwise_heaviside": _compare("heaviside"),
    "clip": _clip, "slice": _slice, "strided_slice": _strided_slice, "split": _split, "cumsum": _cumsum,
    "arg_max": _extreme("argmax"), "arg_min": _extreme("argmin"), "argsort": _sorted, "top_k_v2": _top,
    "one_hot_v2": _one_hot, "tril_triu": _tril_triu, "p_norm": _p_norm, "layer_norm": _layer_norm,
    "conv2d": lambda given: _window(given, F.conv2d, 2), "conv3d": lambda given: _window(given, F.conv3d, 3),
    "depthwise_conv2d": lambda given: _window(given, F.conv2d, 2), "pool2d": _pool2d, "norm": _norm,
    "sigmoid_cross_entropy_with_logits": _sigmoid_cross_entropy, "huber_loss": _huber,
    "momentum": _momentum, "adam": _adam,
    "bce_loss": _one(F.binary_cross_entropy, "X", "Label", fixed={"reduction": "none"}),
    "kldiv_loss": _one(F.kl_div, "X", "Target", out="Loss"),
    "log_loss": _one(F.log_loss, "Predicted", "Labels", out="Loss"),
    "leaky_relu": _one(F.leaky_relu, alpha="negative_slope"),
    "hard_swish": _hard_swish,
    "mish": _mish,
    "pow": _pow,
    "squared_l2_norm": _squared_l2_norm, "hard_sigmoid": _one(F.hardsigmoid), "hard_shrink": _one(F.hardshrink),
    "softshrink": _one(F.softshrink, **{"lambda": "threshold"}), "logsigmoid": _one(F.log_sigmoid),
    "tanh_shrink": _one(F.tanhshrink), "thresholded_relu": _one(F.thresholded_relu),
    "brelu": _one(F.hardtanh, t_min="min", t_max="max"), "prelu": _prelu,
    "gather": _one(tensor.gather, "X", "Index"), "gather_nd": _one(tensor.gather_nd, "X", "Index"),
    "scatter": _one(tensor.scatter, "X", "Ids", "Updates"),
    "scatter_nd_add": _one(tensor.scatter_nd_add, "X", "Index", "Updates"),
    "index_select": _one(tensor.index_select, "X", "Index", dim="axis"),
    "index_sample": _one(tensor.index_sample, "X", "Index"),
    "take_along_axis": _one(tensor.take_along_axis, "Input", "Index", out="Result", Axis="axis"),
    "where": _one(tensor.where, "Condition", "X", "Y"),
    "expand_v2": _one(tensor.expand), "expand_as_v2": _one(tensor.expand, target_shape="shape"),
    "tile": _one(tensor.tile), "flip": _one(tensor.flip), "roll": _one(tensor.roll),
    "pad3d": _one(F.pad, paddings="pad"), "label_smooth": _one(F.label_smooth),
    "diag_v2": _one(tensor.diag), "trace": _one(tensor.trace, "Input"),
    "diagonal": _one(tensor.diagonal, "Input"), "kron": _one(tensor.kron, "X", "Y"),
    "bmm": _one(tensor.bmm, "X", "Y"), "dot": _one(tensor.dot, "X", "Y"), "mv": _one(tensor.mv, "X", "Vec"),
    "cross": _one(tensor.cross, "X", "Y", dim="axis"),
    "addmm": _one(tensor.addmm, "Input", "X", "Y", Alpha="alpha", Beta="beta"),
    "cholesky": _one(linalg.cholesky), "inverse": _one(tensor.inverse, "Input", out="Output"),
    "determinant": _one(linalg.det, "Input"), "matrix_power": _one(linalg.matrix_power),
    "flatten_contiguous_range": _one(tensor.flatten), "pixel_shuffle": _one(F.pixel_shuffle),
    "fill_any_like": _one(tensor.full_like, value="fill_value"), "fill_zeros_like": _one(tensor.zeros_like),
    "log_softmax": _one(F.log_softmax), "meshgrid": lambda given: {"Out": tensor.meshgrid(given.all("X"))},
}  # fmt: skip
for _name in ("equal", "not_equal", "less_than", "less_equal", "greater_than", "greater_equal"):
    MORE[_name] = _compare(_name)
