"""What Block.append_op adds: operations under the names that Paddle gives types, operands and
attributes. Whatever is given is read, or raises by name: an operand or an attribute that nobody asks for
would be another model."""

from __future__ import annotations

import inspect

from argosy import _core, tensor
from argosy._support import listed
from argosy.nn import functional

from . import names

# Attributes that say nothing of what is computed: who wrote the operation, and kernels of other devices.
_OF_RECORDS = """
op_role op_role_var op_namescope op_callstack op_device with_quant_attr use_cudnn use_mkldnn use_quantizer
mkldnn_data_type data_format_mkldnn force_cpu place_type numeric_stable_mode in_dtype name workspace_size_MB
exhaustive_search
""".split()
# Results that only gradients of Paddle's kernels read.
_OF_GRADIENTS = ("XShape", "Mask", "SavedMean", "SavedVariance", "ReserveSpace")
# Names of the main result, and of several.
_MAIN = ("Out", "Y", "Output", "Loss", "ParamOut", "Softmax")
_RESULTS = {
    "topk": ("Out", "Indices"),
    "top_k": ("Out", "Indices"),
    "argsort": ("Out", "Indices"),
    "kthvalue": ("Out", "Indices"),
}
# Parameters that an operand may be, besides its own name in small letters.
_PARAMETERS = {
    "X": ("x", "input"),
    "Y": ("y", "other"),
    "Input": ("input", "x"),
    "Ids": ("x",),
    "W": ("weight",),
    "Filter": ("weight",),
    "Scale": ("weight",),
    "Condition": ("condition",),
}


class _Given:
    """The operands and attributes of a call, and which of them have been asked for."""

    def __init__(self, kind, operands, attributes):
        self.kind, self.operands = kind, operands
        self.attributes = {k: v for k, v in attributes.items() if v is not None}
        self._asked = set(_OF_RECORDS)

    def all(self, name):
        """The variables of an operand."""
        self._asked.add(name)
        if not self.operands.get(name):
            raise ValueError(
                f"[append_op] '{self.kind}' misses '{name}': expected it among the inputs, got"
                f" {list(self.operands)}. Do this: add it."
            )
        return self.operands[name]

    def one(self, name):
        """The variable of an operand."""
        found = self.all(name)
        if len(found) != 1:
            raise ValueError(
                f"[append_op] '{self.kind}' has one '{name}': expected one variable, got {len(found)}."
                " Do this: pass one."
            )
        return found[0]

    def attribute(self, name, default=None):
        self._asked.add(name)
        return self.attributes.get(name, default)

    def needed(self, name):
        """An attribute that has no default."""
        if name not in self.attributes:
            raise ValueError(
                f"[append_op] '{self.kind}' misses '{name}': expected it among the attrs, got"
                f" {list(self.attributes)}. Do this: add it."
            )
        return self.attribute(name)

    def without(self, **values):
        """Attributes that may be given with these values, and have no other."""
        self._asked |= {n for n, v in values.items() if self.attributes.get(n, v) == v}

    def check(self):
        """Raises NotImplementedError if something has not been asked for."""
        lost = [n for n in (*self.operands, *self.attributes) if n not in self._asked]
        if lost:
            raise NotImplementedError(
                f"[append_op] '{self.kind}' has no {', '.join(lost)} here. Do this: leave it out if it"
                " has its default, or call the function of the package that computes it."
            )


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
        given.without(out_dtype=-1)
        keep = given.attribute("keep_dim", False)
        return getattr(tensor, name)(given.one("X"), axis=None if whole else axis, keepdim=keep)

    return make


def _call(function, operands=("X",), **renamed):
    """That function; renamed: its argument for each attribute of another name."""

    def make(given):
        return function(*map(given.one, operands), **_arguments(given, function, renamed))

    return make


def _arguments(given, function, renamed):
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


_MAKERS = {
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
    "mean": _call(tensor.mean),
    "sum": lambda given: tensor.add_n(given.all("X")),
    "concat": _many(tensor.concat),
    "stack": _many(tensor.stack),
    "reshape": _call(tensor.reshape),
    "reshape2": _call(tensor.reshape),
    "transpose": _call(tensor.transpose, axis="perm"),
    "transpose2": _call(tensor.transpose, axis="perm"),
    "unsqueeze2": _call(tensor.unsqueeze, axes="axis"),
    "squeeze2": _call(tensor.squeeze, axes="axis"),
    "cast": _call(tensor.cast, out_dtype="dtype"),
    "fill_constant": _constant,
    "uniform_random": _uniform,
    "gaussian_random": _gaussian,
    "increment": lambda given: given.one("X") + given.attribute("step", 1.0),
    "softmax": _call(functional.softmax),
    "lookup_table": _embedding,
    "lookup_table_v2": _embedding,
    "sgd": _sgd,
    "dropout": _dropout,
    "cross_entropy": _cross_entropy,
    "softmax_with_cross_entropy": _softmax_with_cross_entropy,
}
for _name in ("sum", "mean", "max", "min", "prod", "any", "all"):
    _MAKERS[f"reduce_{_name}"] = _reduce(_name)


def append(block, kind, inputs, outputs, attrs, stop_gradient=False):
    """Records what Paddle calls `kind`; variables of `outputs` become its results."""
    if not isinstance(kind, str):
        raise ValueError(
            f"[append_op] type: expected a str, got {type(kind).__name__}."
            " Do this: pass the name of an operation."
        )

    def variables(groups):
        found = {}
        for key, value in groups.items():
            found[key] = [block.var(v) if isinstance(v, str) else v for v in listed(value)]
        return {key: value for key, value in found.items() if value}

    given, targets = _Given(kind, variables(inputs), attrs), variables(outputs)
    made = _MAKERS.get(kind, _by_name)(given)
    given.check()
    for key, values in _by_output(kind, made, targets).items():
        for target, value in zip(targets[key], values):
            _become(target, value, stop_gradient)


def _become(target, value, stop_gradient):
    label = target.name
    stops = stop_gradient or getattr(target, "_stops", False)
    target._set_data(value)
    target.stop_gradient = value.stop_gradient or stops
    if not target.persistable:
        target.name = label


def _by_output(kind, made, targets):
    """The results for each output that is asked for: {name: list}."""
    if not isinstance(made, dict):
        made = _named_results(kind, made, targets)
    found = {}
    for key, variables in targets.items():
        values = listed(made.get(key, ()))
        if len(values) == len(variables):
            found[key] = values
        elif key not in _OF_GRADIENTS:
            raise NotImplementedError(
                f"[append_op] '{kind}' has the outputs {', '.join(made)} here: expected these, got '{key}'"
                f" of {len(variables)}. Do this: leave it out, or call the function of the package that"
                " computes it."
            )
    return found


def _named_results(kind, made, targets):
    kept = [key for key in targets if key not in _OF_GRADIENTS]
    known = _RESULTS.get(names.function_of(kind))
    if isinstance(made, (list, tuple)) and known:
        return dict(zip(known, made))
    if len(kept) == 1:
        return {kept[0]: made}
    main = [key for key in _MAIN if key in kept]
    return {main[0] if main else "Out": made}


def _by_name(given):
    """The function of the package of this name."""
    name = names.function_of(given.kind)
    # Imported here: compiling needs more of Python's library than everything else together.
    from argosy.utils.cpp_extension import library as extensions

    if given.kind in extensions.functions:
        return _of_extension(given, extensions.functions[given.kind])
    function = getattr(tensor, name, None) or getattr(functional, name, None)
    if function is None:
        function = getattr(_core.ops, given.kind, None)
    if function is None:
        raise NotImplementedError(
            f"[append_op] there is no operation of type '{given.kind}'. Do this: call the function "
            "of the package that computes it; calls in static mode append operations."
        )
    known = inspect.signature(function).parameters
    operands = {}
    for key in given.operands:
        wanted = [n for n in (*_PARAMETERS.get(key, ()), _small(key)) if n in known]
        wanted = [n for n in wanted if n not in operands]
        if not wanted and len(given.operands) == 1:
            wanted = [next(iter(known))]
        if not wanted:
            raise NotImplementedError(
                f"[append_op] '{given.kind}' has no operand '{key}' here: expected names of"
                f" {list(known)}. Do this: call the function of the package that computes it."
            )
        values = given.all(key)
        operands[wanted[0]] = values[0] if len(values) == 1 else values
    return function(**operands, **_arguments(given, function, {}))


def _of_extension(given, function):
    """The results of an op that a loaded library brought, by the names of its outputs."""
    arguments = {}
    for key in filter(given.operands.get, given.operands):
        name, values = key.partition("@")[0].lower(), given.all(key)
        arguments[name] = values if name in function.lists else given.one(key)
    for key in given.attributes.keys() - set(_OF_RECORDS):
        arguments[key.lower()] = given.attribute(key)
    made = function(**arguments)
    return dict(zip(function.outputs, made if len(function.outputs) > 1 else [made]))


def _small(name):
    """SampleWeight -> sample_weight"""
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))
