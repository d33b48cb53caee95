"""Gradients in static Programs."""

from __future__ import annotations

from argosy import _core
from argosy._core import Tensor
from argosy._support import ArgumentError, listed, unsupported

from . import mode
from .program import program_of

_OPTIMIZE = 2


def _names(values):
    """Names in a set of names or variables."""
    if values is None:
        return set()
    if not isinstance(values, (set, list, tuple)):
        raise TypeError(
            f"[gradients] no_grad_set: expected a set, list or tuple, got {type(values).__name__}."
            " Do this: put it into a list."
        )
    return {v if isinstance(v, str) else v.name for v in values}


def _wanted(program, v, states):
    """What a gradient with respect to v is taken of. State: what it was before the run, unless an
    optimizer wrote it since; an input that was assigned to: what was fed."""
    kind = _core.program_about(v)[0]
    if kind in ("state", "tensor"):
        use = states.get(v.name)
        if use is None or not (v._symbolic or use[3] is v):
            return None
        initial, last = use[4:]
        written = last is not None and _core.program_about(last)[2] == _OPTIMIZE
        return v if written else initial
    first = _core.program_first(program._handle, v.name)
    if first is not None and _core.program_about(first)[0] == "input":
        return first
    return v


def _name_gradient(gradient, name):
    """The gradient as a variable called name@GRAD; a value that has another role is copied first."""
    kind, _, role, _ = _core.program_about(gradient)
    taken = kind != "result" or role != 1 or getattr(gradient, "name", "").endswith("@GRAD")
    if taken:
        gradient = _core.ops.assign(gradient)
    gradient.name = name + "@GRAD"
    return gradient


def _append(program, targets, target_gradients, wrt, no_grad):
    """Gradients for each of wrt, None where there is none and for what no_grad names."""

    blocked = set(no_grad)
    no_grad = [v for v in (program._find(n) for n in sorted(no_grad)) if v is not None]
    states = {use[0]: use for use in _core.program_states(program._handle)}
    sources = [None if v.name in blocked else _wanted(program, v, states) for v in wrt]
    places = [i for i, s in enumerate(sources) if s is not None]
    with mode.recording(program), mode.role(program, 1):
        found = _core.program_gradients(
            program._handle, targets, target_gradients, [sources[i] for i in places], no_grad
        )
        out = [None] * len(wrt)
        for i, gradient in zip(places, found):
            if gradient is not None:
                out[i] = _name_gradient(gradient, wrt[i].name)
    return out


def _checkpoints_in(program, checkpoints):
    found = []
    for v in checkpoints or ():
        if not isinstance(v, (Tensor, str)):
            raise TypeError(
                "[append_backward] checkpoints: expected Variables or names, got"
                f" {type(v).__name__}. Do this: pass values of the Program."
            )
        value = program._find(v) if isinstance(v, str) else v
        if value is None or not value._symbolic or program_of(value) is not program:
            raise ArgumentError(
                f"[append_backward] checkpoints: '{v if isinstance(v, str) else v.name}' is no value"
                " of the loss's Program. Do this: pass Variables made on the way to the loss."
            )
        found.append(value)
    return found


def append_backward(loss, parameter_list=None, no_grad_set=None, callbacks=None, checkpoints=None,
                    distop_context=None):  # fmt: skip
    """Adds the operations that compute gradients of `loss` with respect to parameters.

    Args:
        loss (Variable): One element.
        parameter_list (list, optional): Parameters or names; all that are trained if None.
        no_grad_set (set, optional): Variables, or names, through which no gradient flows.
        callbacks, distop_context: Not supported.
        checkpoints (list, optional): Variables, or names, that are kept for the gradient, while what
            lies before each of them is computed again (the pass "recompute"; Chen et al.,
            arXiv:1604.06174). The gradients are the same bits; memory is traded for time.

    Returns:
        list: Pairs (parameter, gradient); a gradient is called like its parameter, then '@GRAD'.

    Raises:
        ValueError: loss has more than one element, or parameter_list a name that is not there.
        NotImplementedError: callbacks or distop_context.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2, 3], "float32")
        >>> loss = argosy.static.nn.fc(x, 1, bias_attr=False).mean()
        >>> [grad.name for _, grad in argosy.static.append_backward(loss)]
        ['fc_0.w_0@GRAD']
    """
    unsupported(
        "append_backward", "change the operations by a pass afterwards (argosy.passes)",
        callbacks=(callbacks or None, None), distop_context=(distop_context, None),
    )  # fmt: skip
    if not isinstance(loss, Tensor) or not loss._symbolic:
        raise TypeError(
            f"[append_backward] loss: expected a Variable of a Program, got {type(loss).__name__}."
            " Do this: build it in static mode."
        )
    if loss.size != 1 and -1 not in loss.shape:
        raise ArgumentError(
            f"[append_backward] loss must have one element: expected a shape such as [] or [1], got"
            f" {list(loss.shape)}. Do this: take its mean()."
        )
    if parameter_list is not None and not isinstance(parameter_list, (list, tuple, set)):
        raise TypeError(
            "[append_backward] parameter_list: expected a list, tuple or set, got"
            f" {type(parameter_list).__name__}."
            " Do this: put it into a list."
        )
    program = program_of(loss)
    no_grad = _names(no_grad_set)
    if parameter_list is None:
        parameters = [p for p in program.all_parameters() if not p.stop_gradient]
    else:
        parameters = []
        for p in parameter_list:
            if isinstance(p, str):
                found = program._find(p)
                if found is None:
                    raise ValueError(
                        f"[append_backward] the Program has no parameter '{p}'."
                        " Do this: use a name of program.all_parameters()."
                    )
                p = found
            if not isinstance(p, Tensor):
                raise TypeError(
                    "[append_backward] parameter_list: expected Parameters or names, got"
                    f" {type(p).__name__}."
                    " Do this: pass program.all_parameters() or some of them."
                )
            parameters.append(p)
    parameters = [p for p in parameters if p.name not in no_grad]
    if checkpoints:
        _core.program_mark_segments(program._handle, _checkpoints_in(program, checkpoints))
    gradients = _append(program, [loss], [], parameters, no_grad)
    return [(p, g) for p, g in zip(parameters, gradients) if g is not None]


def _list(values, name, none_is_empty=False):
    if values is None and none_is_empty:
        return []
    values = listed(values)
    for v in values:
        if not (isinstance(v, Tensor) and (v._symbolic or name == "inputs")) and v is not None:
            raise TypeError(
                f"[gradients] {name}: expected Variables, got {type(v).__name__}."
                " Do this: pass values of the Program."
            )
    return values


def gradients(targets, inputs, target_gradients=None, no_grad_set=None):
    """Adds the operations that compute d(sum of targets * target_gradients)/d(inputs).

    May be called again on what it returned, for derivatives of higher order.

    Args:
        targets (Variable | list): What is differentiated.
        inputs (Variable | list): With respect to what.
        target_gradients (Variable | list, optional): Weights in the shapes of targets; ones where
            None.
        no_grad_set (set, optional): Variables, or names, through which no gradient flows.

    Returns:
        list: A gradient for each input, None where targets do not depend on it.

    Raises:
        ValueError: numbers or shapes of target_gradients do not fit targets.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> x.stop_gradient = False
        >>> (grad,) = argosy.static.gradients(x * x, x)
        >>> argosy.static.Executor().run(feed={"x": np.float32([1, 3])}, fetch_list=[grad])[0].tolist()
        [2.0, 6.0]
    """
    targets = _list(targets, "targets")
    inputs = _list(inputs, "inputs")
    seeds = _list(target_gradients, "target_gradients", True)
    if seeds and len(seeds) != len(targets):
        raise ValueError(
            f"[gradients] should have the same number of target_gradients as targets: expected"
            f" {len(targets)}, got {len(seeds)}."
            " Do this: give one for each target, or None."
        )
    for seed, target in zip(seeds, targets):
        if seed is not None and len(seed.shape) != len(target.shape):
            raise ValueError(
                f"[gradients] the shapes of target and target_gradient differ: expected"
                f" {list(target.shape)}, got {list(seed.shape)}."
                " Do this: give it the shape of its target."
            )
    return _append(program_of(targets[0]), targets, seeds, inputs, _names(no_grad_set))
