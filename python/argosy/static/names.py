"""Names that Paddle gives operations and their operands, for people and programs that look at or
append operations."""

from __future__ import annotations

from argosy._op_names import PADDLE_NAMES


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


_FUNCTIONS = {theirs: ours for ours, theirs in PADDLE_NAMES.items()}


def function_of(kind):
    """The name here of what Paddle calls `kind`."""
    return _FUNCTIONS.get(kind, kind)
