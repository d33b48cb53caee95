"""Names that Paddle gives operations and their operands, for people and programs that look at or
append operations."""

from __future__ import annotations

import inspect

from argosy import _core, tensor
from argosy._op_names import PADDLE_NAMES
from argosy._support import listed
from argosy.nn import functional


def type_of(described):
    """Paddle's name of a described operation."""
    name = described["type"]
    if name.endswith("_") and not name.endswith("__"):
        name = name[:-1]
    if name == "mean" and described["attrs"].get("axis") not in (None, "None", "[]"):
        return "reduce_mean"
    if name == "py_call":
        return ast_text(described["attrs"].get("what", "'py_func'"))
    if name.endswith("_grad"):
        return PADDLE_NAMES.get(name[:-5], name[:-5]) + "_grad"
    return PADDLE_NAMES.get(name, name)


def ast_text(text):
    """A string without its quotes."""
    return text.strip("'\"")


_SPECIAL = {
    "matmul": {"x": "X", "y": "Y"},
    "embedding": {"x": "Ids", "weight": "W"},
    "conv2d": {"x": "Input", "weight": "Filter", "out": "Output"},
    "conv2d_transpose": {"x": "Input", "weight": "Filter", "out": "Output"},
    "batch_norm": {"running_mean": "Mean", "running_var": "Variance", "weight": "Scale",
                   "out": "Y"},
    "layer_norm": {"weight": "Scale", "out": "Y"},
    "fill_constant": {},
}  # fmt: skip


def _shown(op, name):
    special = _SPECIAL.get(op, {}).get(name)
    if special:
        return special
    if name == "attrs":
        return "LearningRate" if op.endswith("_") else "ShapeTensor"
    if op.endswith("_") and name.endswith("s"):
        name = name[:-1]  # the lists of optimizers
    return "".join(part.capitalize() if part else "" for part in name.split("_"))


def shown(op, groups):
    """Operands or results of an operation by the names Paddle gives them."""
    return {_shown(op, name): values for name, values in groups.items() if values}


def _elementwise(function):
    def run(ins, attrs):
        x, y = ins["X"], ins["Y"]
        axis = attrs.get("axis", -1)
        if axis != -1 and len(y.shape) < len(x.shape):
            tail = len(x.shape) - axis - len(y.shape)
            y = y.reshape([*y.shape, *[1] * tail])
        return function(x, y)

    return run


def _mul(ins, attrs):
    """Matrices made of the first dimensions and the rest."""
    x, y = ins["X"], ins["Y"]
    split = attrs.get("x_num_col_dims", 1)
    if len(x.shape) > 2:
        x = x.flatten(split) if split == 1 else x.flatten(0, split - 1).flatten(1)
    return tensor.matmul(x, y)


def _reduce(name):
    def run(ins, attrs):
        axis = None if attrs.get("reduce_all") else attrs.get("dim")
        return getattr(tensor, name)(ins["X"], axis=axis, keepdim=attrs.get("keep_dim", False))

    return run


def _call(home, name, operand_names=("X",), **renamed):
    """The function of that name; renamed: our argument for each of Paddle's attributes."""

    def run(ins, attrs):
        function = getattr(home, name)
        known = inspect.signature(function).parameters
        given = {renamed.get(k, k): v for k, v in attrs.items()}
        given = {k: v for k, v in given.items() if k in known}
        return function(*[ins[n] for n in operand_names], **given)

    return run


def _constant(ins, attrs):
    return tensor.full(attrs["shape"], attrs.get("value", 0.0), attrs.get("dtype", "float32"))


def _random(name):
    def run(ins, attrs):
        shape, dtype = attrs["shape"], attrs.get("dtype", "float32")
        if name == "uniform":
            return tensor.uniform(shape, dtype, attrs.get("min", -1.0), attrs.get("max", 1.0))
        return tensor.normal(attrs.get("mean", 0.0), attrs.get("std", 1.0), shape).astype(dtype)

    return run


def _many(name):
    def run(ins, attrs):
        values = ins["X"] if isinstance(ins["X"], list) else [ins["X"]]
        if name == "sum":
            return tensor.add_n(values)
        return getattr(tensor, name)(values, axis=attrs.get("axis", 0))

    return run


def _operator(name):
    def run(x, y):
        return getattr(tensor, name)(x, y)

    return _elementwise(run)


_MAKERS = {
    "elementwise_add": _operator("add"),
    "elementwise_sub": _operator("subtract"),
    "elementwise_mul": _operator("multiply"),
    "elementwise_div": _operator("divide"),
    "elementwise_max": _operator("maximum"),
    "elementwise_min": _operator("minimum"),
    "elementwise_pow": _operator("pow"),
    "elementwise_mod": _operator("mod"),
    "elementwise_floordiv": _operator("floor_divide"),
    "mul": _mul,
    "matmul": _call(tensor, "matmul", ("X", "Y")),
    "matmul_v2": _call(tensor, "matmul", ("X", "Y"), trans_x="transpose_x", trans_y="transpose_y"),
    "mean": _call(tensor, "mean"),
    "sum": _many("sum"),
    "concat": _many("concat"),
    "stack": _many("stack"),
    "reshape": _call(tensor, "reshape"),
    "reshape2": _call(tensor, "reshape"),
    "transpose": _call(tensor, "transpose", axis="perm"),
    "transpose2": _call(tensor, "transpose", axis="perm"),
    "unsqueeze2": _call(tensor, "unsqueeze", axes="axis"),
    "squeeze2": _call(tensor, "squeeze", axes="axis"),
    "cast": _call(tensor, "cast", out_dtype="dtype"),
    "fill_constant": _constant,
    "uniform_random": _random("uniform"),
    "gaussian_random": _random("normal"),
    "increment": lambda ins, attrs: ins["X"] + attrs.get("step", 1.0),
    "softmax": _call(functional, "softmax"),
    "lookup_table_v2": _call(functional, "embedding", ("Ids", "W")),
    "sgd": lambda ins, attrs: ins["Param"] - ins["Grad"] * ins["LearningRate"],
    "dropout": lambda ins, attrs: _dropout(ins, attrs),
    "cross_entropy": lambda ins, attrs: _cross_entropy(ins, attrs),
}
for _name in ("sum", "mean", "max", "min", "prod", "any", "all"):
    _MAKERS[f"reduce_{_name}"] = _reduce(_name)


def _dropout(ins, attrs):
    return functional.dropout(
        ins["X"], attrs.get("dropout_prob", 0.5), training=not attrs.get("is_test", False)
    )


def _cross_entropy(ins, attrs):
    return functional.cross_entropy(
        ins["X"], ins["Label"], soft_label=attrs.get("soft_label", False), use_softmax=False,
        reduction="none",
    )  # fmt: skip


def append(block, kind, inputs, outputs, attrs):
    """Records what Paddle calls `kind`; variables of `outputs` become its results."""
    if not isinstance(kind, str):
        raise ValueError(
            f"[append_op] type: expected a str, got {type(kind).__name__}."
            " Do this: pass the name of an operation."
        )
    ins = {}
    for key, value in inputs.items():
        many = value if isinstance(value, (list, tuple)) else [value]
        many = [block.var(v) if isinstance(v, str) else v for v in many]
        ins[key] = many if len(many) != 1 else many[0]
    maker = _MAKERS.get(kind)
    try:
        made = maker(ins, attrs) if maker else _by_name(kind, ins, attrs)
    except KeyError as error:
        raise ValueError(
            f"[append_op] '{kind}' misses {error}: inputs are {list(inputs)}, attrs {list(attrs)}."
            " Do this: add it."
        ) from None
    made = listed(made)
    targets = []
    for value in outputs.values():
        targets += value if isinstance(value, (list, tuple)) else [value]
    for target, value in zip(targets, made):
        target = block.var(target) if isinstance(target, str) else target
        label = target.name
        target._set_data(value)
        target.stop_gradient = value.stop_gradient and target.stop_gradient
        if not target.persistable:
            target.name = label


def _by_name(kind, ins, attrs):
    """A function of the package of this name, operands in the order given."""
    function = getattr(tensor, kind, None) or getattr(functional, kind, None)
    if function is None:
        op = getattr(_core.ops, kind, None)
        if op is None:
            raise NotImplementedError(
                f"[append_op] there is no operation of type '{kind}'. Do this: call the function "
                "of the package that computes it; calls in static mode append operations."
            )
        return op(*ins.values(), *attrs.values())
    known = inspect.signature(function).parameters
    return function(*ins.values(), **{k: v for k, v in attrs.items() if k in known})
