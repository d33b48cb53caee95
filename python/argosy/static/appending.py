"""What Block.append_op adds: operations under the names that Paddle gives types, operands and
attributes. Whatever is given is read, or raises by name: an operand or an attribute that nobody asks for
would be another model."""

from __future__ import annotations

import inspect

from argosy import _core, tensor
from argosy._support import listed
from argosy.nn import functional

from . import names
from .given import RECORDS, Given
from .layer_makers import LAYERS
from .makers import MAKERS, arguments
from .more_makers import MORE
from .tensor_makers import TENSORS
from .update_makers import UPDATES

# Later ones know more operands and attributes of a kind than earlier ones.
_MAKERS = {**MAKERS, **MORE, **TENSORS, **LAYERS, **UPDATES}

# Results that only gradients of Paddle's kernels read.
_OF_GRADIENTS = ("XShape", "Mask", "SavedMean", "SavedVariance", "ReserveSpace", "Residual",
                 "WarpCTCGrad", "Argmax")  # fmt: skip
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


def compute(kind, operands, attributes, targets):
    """The results of what Paddle calls `kind`, for each output that is asked for.

    Args:
        kind (str): The type.
        operands (dict): Tensors, or variables of the Program that is being built, by the names of inputs.
        attributes (dict): Values by name.
        targets (dict): For each output as many entries as there are tensors to make; None for what there is.

    Returns:
        dict: A list of tensors for each of targets; outputs that only gradients of Paddle's kernels read may
        be missing.

    Raises:
        NotImplementedError: There is no such operation, operand, attribute or output.
        ValueError: An operand or an attribute is missing.
    """
    given = Given(kind, operands, attributes)
    made = _MAKERS.get(kind, _by_name)(given)
    given.check()
    return _by_output(kind, made, targets)


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

    operands, targets = variables(inputs), variables(outputs)
    for variable in (v for group in operands.values() for v in group):
        _feed_if_unwritten(block.program, variable)
    read = {id(v) for group in operands.values() for v in group}
    for key, values in compute(kind, operands, attrs, targets).items():
        for target, value in zip(targets[key], values):
            if id(value) in read and value is not target:  # two variables, of which one may change
                value = tensor.assign(value)
            _become(target, value, stop_gradient)


def _feed_if_unwritten(program, variable):
    """A variable of Block.create_var that is read before anything has written it becomes an input."""
    declared = getattr(variable, "_declared", None)
    if declared is not None and not variable._symbolic:
        sizes, dtype = declared
        fed = _core.program_input(program._handle, variable.name, sizes, _core.dtype(dtype))
        fed.stop_gradient = variable._stops
        _become(variable, fed, variable._stops)


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
        if variables is None or len(values) == len(variables):
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
    return function(**operands, **arguments(given, function, {}))


def _of_extension(given, function):
    """The results of an op that a loaded library brought, by the names of its outputs."""
    arguments = {}
    for key in filter(given.operands.get, given.operands):
        name, values = key.partition("@")[0].lower(), given.all(key)
        arguments[name] = values if name in function.lists else given.one(key)
    for key in given.attributes.keys() - set(RECORDS):
        arguments[key.lower()] = given.attribute(key)
    made = function(**arguments)
    return dict(zip(function.outputs, made if len(function.outputs) > 1 else [made]))


def _small(name):
    """SampleWeight -> sample_weight"""
    return "".join("_" + c.lower() if c.isupper() and i else c.lower() for i, c in enumerate(name))
