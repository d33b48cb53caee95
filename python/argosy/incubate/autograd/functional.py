"""Products with Jacobians, Jacobians and Hessians of functions of tensors."""

from __future__ import annotations

from argosy import autograd, tensor
from argosy._core import Tensor
from argosy._support import listed, no_effect
from argosy.autograd import enable_grad

_prim = False


def enable_prim():
    """Kept for programs that switch Paddle's primitive operators on: Argosy's ops need no switch.

    Examples:
        >>> argosy.incubate.autograd.enable_prim()
        >>> argosy.incubate.autograd.prim_enabled()
        True
    """
    global _prim
    _prim = True


def disable_prim():
    """The opposite of :func:`enable_prim`.

    Examples:
        >>> argosy.incubate.autograd.disable_prim()
        >>> argosy.incubate.autograd.prim_enabled()
        False
    """
    global _prim
    _prim = False


def prim_enabled():
    """Whether :func:`enable_prim` was called, and :func:`disable_prim` not after it.

    Returns:
        bool.

    Examples:
        >>> argosy.incubate.autograd.prim_enabled()
        False
    """
    return _prim


def prim2orig(block=None, blacklist=None):
    """Kept for programs that lower Paddle's primitive operators: there are none here, so nothing is done.

    Args:
        block, blacklist: have no effect.

    Examples:
        >>> argosy.incubate.autograd.prim2orig()
    """
    no_effect(
        "prim2orig", "there are no primitive operators", block=(block, None),
        blacklist=(blacklist, None),
    )  # fmt: skip


def _check_tensors(name, what, value):
    values = value if isinstance(value, (list, tuple)) else [value]
    if not values or not all(isinstance(v, Tensor) for v in values):
        got = [type(v).__name__ for v in values] if values is value else type(value).__name__
        raise TypeError(
            f"[{name}] {what}: expected a Tensor or a sequence of Tensors, got {got}. Do this: pass"
            " what to_tensor makes of it."
        )


def _check_inputs(name, func, xs, v=None):
    if not callable(func):
        raise TypeError(
            f"[{name}] func: expected a function of tensors, got {type(func).__name__}. Do this:"
            " pass a function; derivatives of tensors that were computed already gives grad."
        )
    _check_tensors(name, "xs", xs)
    if v is not None:
        _check_tensors(name, "v", v)


def _leaves(xs):
    """xs as inputs of a graph of their own: (given to the function, list)."""
    leaves = []
    for x in listed(xs):
        leaf = x.detach() if x.stop_gradient else x
        leaf.stop_gradient = False
        leaves.append(leaf)
    return (leaves if isinstance(xs, (list, tuple)) else leaves[0]), leaves


def _like(values, template):
    if isinstance(template, Tensor):
        return values[0]
    return tuple(values)


def _derivatives(ys, xs, vs, create_graph=True):
    return [
        tensor.zeros_like(x) if found is None else found
        for x, found in zip(
            xs, autograd.grad(ys, xs, vs, create_graph=create_graph, allow_unused=True)
        )
    ]


def _check_forms(name, values, templates):
    if len(values) != len(templates):
        raise RuntimeError(
            f"[{name}] v: expected {len(templates)} tensors, one for each that it is multiplied"
            f" with, got {len(values)}. Do this: pass so many."
        )
    for value, template in zip(values, templates):
        if value.ndim != template.ndim or any(
            a != b and -1 not in (a, b) for a, b in zip(value.shape, template.shape)
        ):
            raise RuntimeError(
                f"[{name}] v must have the shapes of what it is multiplied with: expected"
                f" {list(template.shape)}, got {list(value.shape)}. Do this: reshape it."
            )


def vjp(func, xs, v=None):
    """A function's value, and a vector times its Jacobian.

    Args:
        func: takes the tensor, or the tensors of the sequence one by one; returns one or several.
        xs (Tensor | list): where.
        v (Tensor | list, optional): of the result's form; ones without it.

    Returns:
        (func(xs), the product, of the form of xs).

    Raises:
        TypeError: an argument is no function, or no tensors.
        RuntimeError: ``v`` does not fit the result.

    Examples:
        >>> ys, product = argosy.incubate.autograd.vjp(lambda x: x * x, argosy.to_tensor([1.0, 3.0]))
        >>> ys.tolist(), product.tolist()
        ([1.0, 9.0], [2.0, 6.0])
    """
    _check_inputs("vjp", func, xs, v)
    given, leaves = _leaves(xs)
    with enable_grad():
        ys = func(*given) if isinstance(given, list) else func(given)
    vs = None if v is None else listed(v)
    if vs is not None:
        _check_forms("vjp", vs, listed(ys))
    return ys, _like(_derivatives(listed(ys), leaves, vs), xs)


def jvp(func, xs, v=None):
    """A function's value, and its Jacobian times a vector.

    By reverse differentiation twice: the product is linear in what vjp multiplies with.

    Args:
        func: takes the tensor, or the tensors of the sequence one by one; returns one or several.
        xs (Tensor | list): where.
        v (Tensor | list, optional): of the form of xs; ones without it.

    Returns:
        (func(xs), the product, of the form of the result).

    Raises:
        TypeError: an argument is no function, or no tensors.
        RuntimeError: ``v`` does not fit ``xs``.

    Examples:
        >>> ys, product = argosy.incubate.autograd.jvp(lambda x: x * x, argosy.to_tensor([1.0, 3.0]))
        >>> ys.tolist(), product.tolist()
        ([1.0, 9.0], [2.0, 6.0])
    """
    _check_inputs("jvp", func, xs, v)
    given, leaves = _leaves(xs)
    with enable_grad():
        ys = func(*given) if isinstance(given, list) else func(given)
        outs = listed(ys)
        vs = [tensor.ones_like(x) for x in leaves] if v is None else listed(v)
        _check_forms("jvp", vs, leaves)
        dummies = [tensor.zeros_like(y) for y in outs]
        for dummy in dummies:
            dummy.stop_gradient = False
        products = _derivatives(outs, leaves, dummies)
        weighted = sum((p * w).sum() for p, w in zip(products, vs))
    if weighted.stop_gradient:
        return ys, _like([tensor.zeros_like(y) for y in outs], ys)
    return ys, _like(_derivatives([weighted], dummies, None), ys)


def grad(outputs, inputs, grad_outputs=None):
    """Gradients of outputs with respect to inputs.

    Args:
        outputs (Tensor | list): what is differentiated.
        inputs (Tensor | list): with respect to what; one that nothing depends on has zeros.
        grad_outputs (Tensor | list, optional): factors of the outputs; ones without it.

    Returns:
        Tensor or tuple, in the form of inputs.

    Raises:
        TypeError: ``outputs`` or ``inputs`` are no tensors.

    Examples:
        >>> x = argosy.to_tensor([3.0], stop_gradient=False)
        >>> argosy.incubate.autograd.grad(x * x, x).tolist()
        [6.0]
    """
    _check_tensors("grad", "outputs", outputs)
    _check_tensors("grad", "inputs", inputs)
    seeds = None if grad_outputs is None else listed(grad_outputs)
    return _like(_derivatives(listed(outputs), listed(inputs), seeds), inputs)


def forward_grad(outputs, inputs, grad_inputs=None):
    """The Jacobian of outputs, computed from inputs, times a vector.

    Args:
        outputs (Tensor | list): what is differentiated.
        inputs (Tensor | list): with respect to what.
        grad_inputs (Tensor | list, optional): the vector, in the form of inputs; ones without it.

    Returns:
        Tensor or tuple, in the form of outputs.

    Raises:
        TypeError: ``outputs`` or ``inputs`` are no tensors.

    Examples:
        >>> x = argosy.to_tensor([3.0], stop_gradient=False)
        >>> argosy.incubate.autograd.forward_grad(x * x, x).tolist()
        [6.0]
    """
    _check_tensors("forward_grad", "outputs", outputs)
    _check_tensors("forward_grad", "inputs", inputs)
    outs, ins = listed(outputs), listed(inputs)
    vs = [tensor.ones_like(x) for x in ins] if grad_inputs is None else listed(grad_inputs)
    dummies = [tensor.zeros_like(y) for y in outs]
    for dummy in dummies:
        dummy.stop_gradient = False
    products = _derivatives(outs, ins, dummies)
    weighted = sum((p * w).sum() for p, w in zip(products, vs))
    if weighted.stop_gradient:
        return _like([tensor.zeros_like(y) for y in outs], outputs)
    return _like(_derivatives([weighted], dummies, None), outputs)


class Jacobian:
    """Jacobian of a function, of all outputs and inputs flattened and put one after the other.

    Not batched: [M, N]. Batched (the first dimension of all tensors is the batch): [B, M, N].
    Index it; ``J[:]`` is all of it.

    Args:
        func: takes the tensor, or the tensors of the sequence one by one; returns one or several.
        xs (Tensor | list): where.
        is_batched (bool): see above.

    Raises:
        TypeError: an argument is no function, or no tensors.

    Examples:
        >>> jacobian = argosy.incubate.autograd.Jacobian(lambda x: x * x, argosy.to_tensor([1.0, 3.0]))
        >>> jacobian[:].tolist()
        [[2.0, 0.0], [0.0, 6.0]]
    """

    def __init__(self, func, xs, is_batched=False):
        _check_inputs(type(self).__name__, func, xs)
        given, self._leaves = _leaves(xs)
        self._batched = is_batched
        with enable_grad():
            ys = func(*given) if isinstance(given, list) else func(given)
            self._flat = self._flatten(listed(ys))
        self._value = None

    def _flatten(self, tensors):
        if self._batched:
            return tensor.concat(
                [t.unsqueeze(-1) if t.ndim == 1 else t.flatten(1) for t in tensors], -1
            )
        return tensor.concat([t.reshape([-1]) for t in tensors])

    def _row(self, y):
        parts = _derivatives([y.sum()], self._leaves, None)
        return self._flatten(parts)

    def _all(self):
        if self._value is None:
            axis = int(self._batched)
            rows = [self._row(y) for y in tensor.unstack(self._flat, axis)]
            self._value = tensor.stack(rows, axis)
        return self._value

    @property
    def shape(self):
        """tuple[int]: Shape of the Jacobian."""
        return tuple(self._all().shape)

    def __getitem__(self, key):
        return self._all()[key]


class Hessian(Jacobian):
    """Hessian of a function whose result is a scalar ([B, 1] or [B] when batched).

    Not batched: [N, N]. Batched (the first dimension of all tensors is the batch): [B, N, N].
    Index it; ``H[:]`` is all of it.

    Args:
        func: takes the tensor, or the tensors of the sequence one by one.
        xs (Tensor | list): where.
        is_batched (bool): see above.

    Raises:
        TypeError: an argument is no function, or no tensors.
        RuntimeError: the function gives several numbers.

    Examples:
        >>> hessian = argosy.incubate.autograd.Hessian(lambda x: (x * x).sum(), argosy.to_tensor([1.0, 3.0]))
        >>> hessian[:].tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """

    def __init__(self, func, xs, is_batched=False):
        def first(*inputs):
            inner = Jacobian(func, inputs if len(inputs) > 1 else inputs[0], is_batched)
            rows = inner[:]
            if rows.shape[-2] != 1:
                raise RuntimeError(
                    f"[Hessian] func must return a scalar, got {rows.shape[-2]} numbers. Do this:"
                    " take their sum or one of them."
                )
            return rows[..., 0, :]

        super().__init__(first, xs, is_batched)
