"""How operations of optimizers, of loss scaling and of quantization are computed, by the names Paddle gives
them. Each is its formula on tensors: a Program that is read or written by hand has them one by one."""

from __future__ import annotations

from argosy import tensor
from argosy._core import Tensor

from .more_makers import _adam, _value

__all__ = ["UPDATES"]


def _adamw(given):
    """Adam of a parameter that has been made smaller first."""
    ratio, coeff = given.attribute("lr_ratio", 1.0), given.attribute("coeff", 0.01)
    decays = given.attribute("with_decay", True)
    rate, param = given.one("LearningRate") * ratio, given.one("Param")
    made = _adam(given)
    step = (param - made["ParamOut"]) * ratio
    decayed = param * (1.0 - rate * coeff) if decays else param
    return {**made, "ParamOut": decayed - step}


def _adamax(given):
    given.without(multi_precision=False)
    beta1, beta2 = given.attribute("beta1", 0.9), given.attribute("beta2", 0.999)
    grad, power = given.one("Grad"), given.one("Beta1Pow")
    moment = beta1 * given.one("Moment") + (1 - beta1) * grad
    norm = tensor.maximum(
        tensor.abs(grad), beta2 * given.one("InfNorm") + given.attribute("epsilon", 1e-8)
    )
    step = given.one("LearningRate") / (1 - power) * moment / norm
    return {"ParamOut": given.one("Param") - step, "MomentOut": moment, "InfNormOut": norm}


def _adagrad(given):
    given.without(multi_precision=False)
    grad = given.one("Grad")
    moment = given.one("Moment") + grad * grad
    step = given.one("LearningRate") * grad
    step = step / (tensor.sqrt(moment) + given.attribute("epsilon", 1e-6))
    return {"ParamOut": given.one("Param") - step, "MomentOut": moment}


def _decayed_adagrad(given):
    decay, grad = given.attribute("decay", 0.95), given.one("Grad")
    moment = decay * given.one("Moment") + (1 - decay) * grad * grad
    step = given.one("LearningRate") * grad
    step = step / (tensor.sqrt(moment) + given.attribute("epsilon", 1e-6))
    return {"ParamOut": given.one("Param") - step, "MomentOut": moment}


def _adadelta(given):
    given.without(multi_precision=False)
    rho, epsilon = given.attribute("rho", 0.95), given.attribute("epsilon", 1e-6)
    grad, updates = given.one("Grad"), given.one("AvgSquaredUpdate")
    squares = rho * given.one("AvgSquaredGrad") + (1 - rho) * grad * grad
    step = -tensor.sqrt((updates + epsilon) / (squares + epsilon)) * grad
    return {
        "ParamOut": given.one("Param") + given.one("LearningRate") * step,
        "AvgSquaredGradOut": squares,
        "AvgSquaredUpdateOut": rho * updates + (1 - rho) * step * step,
    }


def _norm(x):
    return tensor.sqrt(tensor.sum(x * x))


def _lamb(given):
    given.without(multi_precision=False, always_adapt=False)
    beta1, beta2 = given.attribute("beta1", 0.9), given.attribute("beta2", 0.999)
    epsilon, decay = given.attribute("epsilon", 1e-6), given.attribute("weight_decay", 0.01)
    param, grad = given.one("Param"), given.one("Grad")
    power1, power2 = given.one("Beta1Pow"), given.one("Beta2Pow")
    first = beta1 * given.one("Moment1") + (1 - beta1) * grad
    second = beta2 * given.one("Moment2") + (1 - beta2) * grad * grad
    step = first / (1 - power1) / (tensor.sqrt(second / (1 - power2)) + epsilon) + decay * param
    sizes = _norm(param), _norm(step)
    known = tensor.logical_and(*(size > 0 for size in sizes))
    trust = tensor.where(known, sizes[0] / sizes[1], tensor.ones_like(sizes[0]))
    return {
        "ParamOut": param - given.one("LearningRate") * trust * step, "Moment1Out": first,
        "Moment2Out": second, "Beta1PowOut": power1 * beta1, "Beta2PowOut": power2 * beta2,
    }  # fmt: skip


def _lars(given):
    given.without(multi_precision=False, rescale_grad=1.0)
    mu, coeff = given.needed("mu"), given.attribute("lars_coeff", 0.001)
    decays, epsilon = (
        given.attribute("lars_weight_decay", [0.0005]),
        given.attribute("epsilon", 0.0),
    )
    names = ("Param", "Grad", "Velocity", "LearningRate")
    groups = [given.all(name) for name in names]
    many = len(groups[0])
    for name, found in (*zip(names, groups), ("lars_weight_decay", decays)):
        if len(found) != many:
            raise ValueError(
                f"[lars_momentum] {name}: expected as many as there are parameters, {many}, got {len(found)}. Do this:"
                " give one for each."
            )
    params, velocities = [], []
    for param, grad, velocity, rate, decay in zip(*groups, decays):
        sizes = _norm(param), _norm(grad)
        known = tensor.logical_and(*(size > 0 for size in sizes))
        own = rate * coeff * sizes[0] / (sizes[1] + decay * sizes[0] + epsilon)
        own = tensor.where(known, own, rate + tensor.zeros_like(own)) if decay > 0 else rate
        velocities.append(velocity * mu + own * (grad + decay * param))
        params.append(param - velocities[-1])
    return {"ParamOut": params, "VelocityOut": velocities}


def _shrunk(given, moved, rate):
    """A value moved towards 0 by l1, and made smaller by l2."""
    l1, l2 = given.attribute("l1", 0.0), given.attribute("l2", 0.0)
    size = tensor.clip(tensor.abs(moved) - rate * l1, 0.0) if l1 else tensor.abs(moved)
    return tensor.sign(moved) * size / (1 + rate * l2)


def _proximal(given):
    rate = given.one("LearningRate")
    return {"ParamOut": _shrunk(given, given.one("Param") - rate * given.one("Grad"), rate)}


def _proximal_adagrad(given):
    rate, grad = given.one("LearningRate"), given.one("Grad")
    moment = given.one("Moment") + grad * grad
    moved = given.one("Param") - rate * grad / tensor.sqrt(moment)
    return {"ParamOut": _shrunk(given, moved, rate), "MomentOut": moment}


def _unscaled(given):
    scale, grads = given.one("Scale"), given.all("X")
    bad = [tensor.any(tensor.logical_not(tensor.isfinite(grad))) for grad in grads]
    found = bad[0]
    for each in bad[1:]:
        found = tensor.logical_or(found, each)
    return {
        "Out": [grad / scale for grad in grads],
        "FoundInfinite": tensor.reshape(found, [1]),
    }


def _scaling(given):
    """What the next scale is, and gradients that are 0 after an overflow."""
    grow, shrink = given.needed("incr_every_n_steps"), given.needed("decr_every_n_nan_or_inf")
    up, down = given.needed("incr_ratio"), given.needed("decr_ratio")
    stop = _value(given, "stop_update", "StopUpdate")
    found, scale = given.one("FoundInfinite"), given.one("PrevLossScaling")
    good, bad = given.one("InGoodSteps"), given.one("InBadSteps")
    none = tensor.zeros_like(good)
    grads = [tensor.where(found, tensor.zeros_like(x), x) for x in given.all("X")]
    goods, bads = tensor.where(found, none, good + 1), tensor.where(found, bad + 1, none)
    grown, shrunk = goods == grow, bads == shrink
    larger = scale * up
    larger = tensor.where(tensor.isfinite(larger), larger, scale)
    smaller = tensor.clip(scale * down, 1.0)
    new = tensor.where(grown, larger, tensor.where(shrunk, smaller, scale))
    new = new, tensor.where(grown, none, goods), tensor.where(shrunk, none, bads)
    old = scale, good, bad
    if isinstance(stop, Tensor):
        new = [tensor.where(stop, before, after) for before, after in zip(old, new)]
    elif stop:
        new = old
    return {"Out": grads, **dict(zip(("LossScaling", "OutGoodSteps", "OutBadSteps"), new))}


def _dequantized(given):
    return given.one("X") * given.one("Scale") / given.needed("max_range")


def _dequantized_by_axis(given):
    """scale: one number, or one for each place along an axis."""
    given.without(round_type=0, only_observer=False, qmin=-128, qmax=127)
    given.one("ZeroPoint")  # which Paddle's kernel takes and does not read either
    x, scale, axis = given.one("X"), given.one("Scale"), given.attribute("quant_axis", -1)
    if axis >= 0:
        scale = tensor.reshape(scale, [-1 if i == axis else 1 for i in range(len(x.shape))])
    return {"Y": x * scale / float(2 ** (given.attribute("bit_length", 8) - 1) - 1)}


UPDATES = {
    "adamw": _adamw, "adamax": _adamax, "adagrad": _adagrad, "decayed_adagrad": _decayed_adagrad,
    "adadelta": _adadelta, "lamb": _lamb, "lars_momentum": _lars, "proximal_gd": _proximal,
    "proximal_adagrad": _proximal_adagrad, "check_finite_and_unscale": _unscaled,
    "update_loss_scaling": _scaling, "fake_dequantize_max_abs": _dequantized,
    "dequantize_linear": _dequantized_by_axis,
}  # fmt: skip
