"""What ops say of shapes (.shape of their descriptions) is what they make."""

from tools import shape_notation

import argosy
from argosy import _core

REGISTRY = {op["name"]: op for op in _core.registry()}
FORMS = {name: shape_notation.forms_of_op(op) for name, op in REGISTRY.items()}


def check_program(program):
    """Each operation's results have shapes, as inferred, that its op speaks of."""
    for operation in _core.program_describe(program)["operations"]:
        if operation["type"] in REGISTRY:
            _check(
                REGISTRY[operation["type"]],
                {name: _shapes(tensors) for name, tensors in operation["inputs"].items()},
                {name: _shapes(tensors) for name, tensors in operation["outputs"].items()},
                {k: int(v) for k, v in operation["attrs"].items() if v.lstrip("-").isdigit()},
            )


def check_call(op, inputs, attrs, outputs):
    """The same of one call: operands and attributes by name, all results in a row."""
    if not all(isinstance(v, (argosy.Tensor, list, type(None))) for v in inputs.values()):
        return
    shown = [o for o in op["outputs"] if not o["hidden"]]
    if any(o["list"] for o in shown[:-1]):
        return
    shapes = _shapes(outputs)
    _check(
        op,
        {k: _shapes(v if isinstance(v, list) else [v]) for k, v in inputs.items()},
        {o["name"]: shapes[i:] if o["list"] else shapes[i : i + 1] for i, o in enumerate(shown)},
        attrs,
    )


def _shapes(tensors):
    return [list(t.shape) for t in tensors if t is not None]


def _check(op, inputs, outputs, attrs):
    forms = FORMS[op["name"]]
    if not forms:
        return
    given = {i["name"]: _one(i, inputs) for i in op["inputs"]}
    made = [_one(o, outputs) for o in op["outputs"] if not o["hidden"]]
    wrong = shape_notation.problem(forms, given, made, attrs)
    assert not wrong, (
        f"{op['name']} says {shape_notation.of_op(op)!r} but makes {made} of {given} ({attrs}):"
        f" {wrong}"
    )


def _one(entry, by_name):
    """All shapes of a list; the shape of one tensor, None if it is missing."""
    shapes = by_name.get(entry["name"]) or []
    return shapes if entry["list"] else shapes[0] if shapes else None
