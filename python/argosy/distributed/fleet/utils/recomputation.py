"""Recomputation: less memory for a second forward pass of chosen parts."""

import functools

from argosy import _core
from argosy._core import Tensor
from argosy.amp import _state as autocast
from argosy.autograd import PyLayer, backward, enable_grad
from argosy.tensor import get_rng_state, set_rng_state


class _Place:
    """Stands for tensor number `index` in a nest of arguments or results."""

    def __init__(self, index):
        self.index = index


def _take(nest, tensors):
    """The nest with places instead of its tensors, which are appended to the list."""
    if isinstance(nest, Tensor):
        tensors.append(nest)
        return _Place(len(tensors) - 1)
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(_take(v, tensors) for v in nest))
    if isinstance(nest, (list, tuple)):
        return type(nest)(_take(v, tensors) for v in nest)
    if isinstance(nest, dict):
        return {k: _take(v, tensors) for k, v in nest.items()}
    return nest


def _put(nest, tensors):
    if isinstance(nest, _Place):
        return tensors[nest.index]
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(_put(v, tensors) for v in nest))
    if isinstance(nest, (list, tuple)):
        return type(nest)(_put(v, tensors) for v in nest)
    if isinstance(nest, dict):
        return {k: _put(v, tensors) for k, v in nest.items()}
    return nest


def _parameters(function):
    """Trainable parameters of a layer, of a layer's method, or of what a partial calls."""
    while isinstance(function, functools.partial):
        function = function.func
    owner = getattr(function, "__self__", function)
    parameters = getattr(owner, "parameters", None)
    return [p for p in parameters() if not p.stop_gradient] if callable(parameters) else []


class _Call:
    """One call of a function, that can be repeated."""

    def __init__(self, function, args, kwargs, preserve):
        self.function = function
        self.tensors = []
        self.nest = _take((args, kwargs), self.tensors)
        self.random = get_rng_state() if preserve else None
        self.autocast = autocast.thread.arguments
        self.result = None

    def __call__(self, tensors):
        args, kwargs = _put(self.nest, tensors)
        found = []
        self.result = _take(self.function(*args, **kwargs), found)
        return found

    def again(self, tensors):
        """Repeated with the random numbers and the automatic casts of the first time."""
        with autocast.region(self.autocast):
            return self._again(tensors)

    def _again(self, tensors):
        if self.random is None:
            return self(tensors)
        now = get_rng_state()
        set_rng_state(self.random)
        try:
            return self(tensors)
        finally:
            set_rng_state(now)


class _Recompute(PyLayer):
    @staticmethod
    def forward(ctx, call, count, *tensors):
        ctx.call, ctx.parameters = call, len(tensors) - count
        ctx.save_for_backward(*tensors[:count])
        ctx.set_materialize_grads(False)
        return tuple(call(list(tensors[:count])))

    @staticmethod
    def backward(ctx, *grads):
        inputs = []
        for t in ctx.saved_tensor():
            d = t.detach()
            d.stop_gradient = t.stop_gradient
            inputs.append(d)
        with enable_grad():
            outputs = ctx.call.again(inputs)
        pairs = [(o, g) for o, g in zip(outputs, grads) if g is not None and not o.stop_gradient]
        if pairs:
            # Parameters get theirs here.
            backward([o for o, _ in pairs], [g for _, g in pairs])
        return (*(d.grad for d in inputs), *[None] * ctx.parameters)


def recompute(function, *args, **kwargs):
    """function(*args, **kwargs), whose intermediate results are computed again in backward.

    Chen, Xu, Zhang and Guestrin, arXiv:1604.06174. Only the tensors in the arguments are kept. In a
    Program that is being recorded the operations are marked, and the pass "recompute" does the same.
    Gradients of parameters are accumulated in their .grad while backward runs.

    Args:
        function (callable): A layer or function; called a second time in backward, so it must do the
            same again.
        *args: Its arguments; tensors may be inside of lists, tuples and dicts.
        preserve_rng_state (bool, keyword): Draw the same random numbers again (default True).
        use_reentrant (bool, keyword): Accepted; both ways give the same gradients.
        **kwargs: Further arguments of function.

    Returns:
        What function returns.

    Example:
        >>> layer = argosy.nn.Linear(2, 2)
        >>> x = argosy.ones([1, 2])
        >>> x.stop_gradient = False
        >>> y = argosy.distributed.fleet.utils.recompute(layer, x)
        >>> y.sum().backward()
        >>> x.grad.shape
        paddle.Size([1, 2])
    """
    preserve = bool(kwargs.pop("preserve_rng_state", True))
    kwargs.pop("use_reentrant", True)
    program = _core.program_recording()
    if program is not None:
        before = _core.program_begin_segment(program)
        try:
            return function(*args, **kwargs)
        finally:
            _core.program_end_segment(program, before)
    if not _core.is_grad_enabled():
        return function(*args, **kwargs)
    call = _Call(function, args, kwargs, preserve)
    parameters = _parameters(function)
    if all(t.stop_gradient for t in call.tensors) and not parameters:
        return function(*args, **kwargs)
    results = _Recompute.apply(call, len(call.tensors), *call.tensors, *parameters)
    return _put(call.result, list(results))
