"""Names that Paddle gives operations and their operands, for people and programs that look at or
append operations."""

from __future__ import annotations

# Ours -> Paddle's, where they differ.
_TYPES = {
    "add": "elementwise_add",
    "subtract": "elementwise_sub",
    "multiply": "elementwise_mul",
    "divide": "elementwise_div",
    "pow": "pow",
    "maximum": "elementwise_max",
    "minimum": "elementwise_min",
    "floor_divide": "elementwise_floordiv",
    "remainder": "elementwise_mod",
    "matmul": "matmul_v2",
    "sum": "reduce_sum",
    "max": "reduce_max",
    "min": "reduce_min",
    "prod": "reduce_prod",
    "reshape": "reshape2",
    "transpose": "transpose2",
    "squeeze": "squeeze2",
    "unsqueeze": "unsqueeze2",
    "flatten": "flatten_contiguous_range",
    "expand": "expand_v2",
    "topk": "top_k_v2",
    "argmax": "arg_max",
    "argmin": "arg_min",
    "embedding": "lookup_table_v2",
    "full": "fill_constant",
    "gaussian": "gaussian_random",
    "uniform": "uniform_random",
    "cross_entropy": "softmax_with_cross_entropy",
    "dropout_apply": "dropout",
    "dropout_apply_bits": "dropout",
    "if": "conditional_block",
    "array_read": "read_from_array",
    "array_write": "write_to_array",
    "py_call": "py_func",
}


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
        return _TYPES.get(name[:-5], name[:-5]) + "_grad"
    return _TYPES.get(name, name)


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


_FUNCTIONS = {theirs: ours for ours, theirs in _TYPES.items()}


def function_of(kind):
    """The name here of what Paddle calls `kind`."""
    return _FUNCTIONS.get(kind, kind)
