"""How operations are computed that Paddle gives other names, operands or attributes than functions here."""

from __future__ import annotations

import inspect

from argosy import tensor
from argosy.nn import functional


def _elementwise(name):
    def make(given):
        x, y, axis = given.one("X"), given.one("Y"), given.attribute("axis", -1)
        given.without(Scale_x=1.0, Scale_y=1.0, Scale_out=1.0)
        if axis != -1 and len(y.shape) < len(x.shape):
            tail = len(x.shape) - axis - len(y.shape)
            y = y.reshape([*y.shape, *[1] * tail])
        return getattr(tensor, name)(x, y)

    return make


def _matmul(given, transposed=("transpose_X", "transpose_Y")):
    turn = [bool(given.attribute(name, False)) for name in transposed]
    out = tensor.matmul(given.one("X"), given.one("Y"), *turn)
    alpha = given.attribute("alpha", 1.0)
    return out if alpha == 1.0 else tensor.scale(out, alpha)


def _mul(given):
    """The product of matrices made of the first dimensions and the rest."""
    x, y = given.one("X"), given.one("Y")
    split_x, split_y = given.attribute("x_num_col_dims", 1), given.attribute("y_num_col_dims", 1)
    given.without(scale_x=1.0, scale_y=[1.0], scale_out=1.0, force_fp32_output=False)
    out = tensor.matmul(_as_matrix(x, split_x), _as_matrix(y, split_y))
    if split_x == 1 and split_y == len(y.shape) - 1:
        return out
    unknown = [s for s in (*x.shape[:split_x], *y.shape[split_y:]) if s < 0]
    if len(unknown) > 1:
        raise NotImplementedError(
            f"[append_op] 'mul' of {list(x.shape)} and {list(y.shape)} with unknown sizes. Do this: use"
            " matmul."
        )
    return tensor.reshape(out, [*x.shape[:split_x], *y.shape[split_y:]])


def _as_matrix(x, split):
    if split > 1:
        x = tensor.flatten(x, 0, split - 1)
    return tensor.flatten(x, 1) if len(x.shape) > 2 else x


def _reduce(name):
    def make(given):
        axis, whole = given.attribute("dim", [0]), given.attribute("reduce_all", False)
        dtype = given.attribute("out_dtype", -1)
        keep, whole = given.attribute("keep_dim", False), whole or axis == []
        made = getattr(tensor, name)(given.one("X"), axis=None if whole else axis, keepdim=keep)
        return made if dtype == -1 else made.astype(dtype)

    return make


def call(function, operands=("X",), fixed=None, **renamed):
    """That function; fixed: arguments that are always the same; renamed: its argument for each attribute of
    another name."""

    def make(given):
        named = {**(fixed or {}), **arguments(given, function, renamed)}
        return function(*map(given.one, operands), **named)

    return make


def arguments(given, function, renamed):
    known = inspect.signature(function).parameters
    named = {name: renamed.get(name, name) for name in given.attributes}
    return {ours: given.attribute(name) for name, ours in named.items() if ours in known}


def _many(function):
    return lambda given: function(given.all("X"), axis=given.attribute("axis", 0))


def _constant(given):
    value = given.attribute("str_value") or given.attribute("value", 0.0)
    return tensor.full(given.needed("shape"), float(value), given.attribute("dtype", "float32"))


def _uniform(given):
    given.without(diag_num=0, diag_step=0, diag_val=1.0)
    low, high = given.attribute("min", -1.0), given.attribute("max", 1.0)
    dtype, seed = given.attribute("dtype", "float32"), given.attribute("seed", 0)
    return tensor.uniform(given.needed("shape"), dtype, low, high, seed)


def _gaussian(given):
    mean, std = given.attribute("mean", 0.0), given.attribute("std", 1.0)
    dtype, seed = given.attribute("dtype", "float32"), given.attribute("seed", 0)
    return tensor.gaussian(given.needed("shape"), mean, std, seed, dtype)


def _embedding(given):
    ids, padding = given.one("Ids"), given.attribute("padding_idx", -1)
    given.without(is_distributed=False, remote_prefetch=False, trainer_id=0, grad_inplace=False)
    if given.kind == "lookup_table":
        ids = tensor.squeeze(ids, [-1])
    return functional.embedding(
        ids, given.one("W"), padding_idx=None if padding == -1 else padding,
        sparse=given.attribute("is_sparse", False),
    )  # fmt: skip


def _dropout(given):
    given.without(fix_seed=False, seed=0)
    mode = given.attribute("dropout_implementation", "downgrade_in_infer")
    return functional.dropout(
        given.one("X"), given.attribute("dropout_prob", 0.5),
        training=not given.attribute("is_test", False),
        mode="downscale_in_infer" if mode == "downgrade_in_infer" else mode,
    )  # fmt: skip


def _cross_entropy(given):
    return functional.cross_entropy(
        given.one("X"), given.one("Label"), soft_label=given.attribute("soft_label", False),
        ignore_index=given.attribute("ignore_index", -100), use_softmax=False, reduction="none",
    )  # fmt: skip


def _softmax_with_cross_entropy(given):
    loss, softmax = functional.softmax_with_cross_entropy(
        given.one("Logits"), given.one("Label"), soft_label=given.attribute("soft_label", False),
        ignore_index=given.attribute("ignore_index", -100), axis=given.attribute("axis", -1),
        return_softmax=True,
    )  # fmt: skip
    given.without(use_softmax=True)
    return {"Softmax": softmax, "Loss": loss}


def _sgd(given):
    given.without(multi_precision=False)
    rate = given.one("LearningRate")
    return {"ParamOut": given.one("Param") - given.one("Grad") * rate}


MAKERS = {
    "elementwise_add": _elementwise("add"),
    "elementwise_sub": _elementwise("subtract"),
    "elementwise_mul": _elementwise("multiply"),
    "elementwise_div": _elementwise("divide"),
    "elementwise_max": _elementwise("maximum"),
    "elementwise_min": _elementwise("minimum"),
    "elementwise_pow": _elementwise("pow"),
    "elementwise_mod": _elementwise("mod"),
    "elementwise_floordiv": _elementwise("floor_divide"),
    "mul": _mul,
    "matmul": _matmul,
    "matmul_v2": lambda given: _matmul(given, ("trans_x", "trans_y")),
    "mean": call(tensor.mean),
    "sum": lambda given: tensor.add_n(given.all("X")),
    "concat": _many(tensor.concat),
    "stack": _many(tensor.stack),
    "reshape": call(tensor.reshape),
    "reshape2": call(tensor.reshape),
    "transpose": call(tensor.transpose, axis="perm"),
    "transpose2": call(tensor.transpose, axis="perm"),
    "unsqueeze2": call(tensor.unsqueeze, axes="axis"),
    "squeeze2": call(tensor.squeeze, axes="axis"),
    "cast": call(tensor.cast, out_dtype="dtype"),
    "fill_constant": _constant,
    "uniform_random": _uniform,
    "gaussian_random": _gaussian,
    "increment": lambda given: given.one("X") + given.attribute("step", 1.0),
    "softmax": call(functional.softmax),
    "lookup_table": _embedding,
    "lookup_table_v2": _embedding,
    "sgd": _sgd,
    "dropout": _dropout,
    "cross_entropy": _cross_entropy,
    "softmax_with_cross_entropy": _softmax_with_cross_entropy,
}
for _name in ("sum", "mean", "max", "min", "prod", "any", "all"):
    MAKERS[f"reduce_{_name}"] = _reduce(_name)
