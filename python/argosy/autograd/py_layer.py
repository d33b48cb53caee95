"""User-defined functions with their own gradient."""

import functools

from argosy import _core
from argosy._beside import zeros_beside
from argosy._core import Tensor
from argosy._support import is_operand, listed
from argosy.autograd import saved_hooks
from argosy.autograd.modes import is_grad_enabled, no_grad


class PyLayerContext:
    """Carries what forward leaves for backward.

    Example:
        >>> class Double(argosy.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.set_materialize_grads(False)
        ...         ctx.set_grad_in_dtype_consistent(True)
        ...         counts = x.astype("int64")
        ...         ctx.mark_non_differentiable(counts)
        ...         ctx.mark_not_inplace()
        ...         ctx.save_for_backward(x)
        ...         return x * 2, counts
        ...     @staticmethod
        ...     def backward(ctx, grad, unused):
        ...         return grad * 2
        >>> x = argosy.to_tensor(2.0, stop_gradient=False)
        >>> y, counts = Double.apply(x)
        >>> y.backward()
        >>> float(x.grad), counts.stop_gradient
        (2.0, True)
    """

    def __init__(self):
        self._saved = ()
        self._unpack = None
        self._materialize = True
        self._not_differentiable = ()
        self._of_output_dtype = True
        self._dirty = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors for saved_tensor(), or what the hooks of ``saved_tensors_hooks`` make of them.

        Args:
            tensors (Tensor): Which; other objects are kept as they are.
        """
        hooks = saved_hooks.active()
        if hooks is None:
            self._saved, self._unpack = tensors, None
            return
        flags = [is_operand(t) for t in tensors]
        with saved_hooks.paused():
            self._saved = [hooks.pack_hook(t) if f else t for t, f in zip(tensors, flags)]
        self._unpack = (hooks.unpack_hook, flags)

    def saved_tensor(self):
        """The tensors that save_for_backward kept.

        Returns:
            tuple: All of them.

        Example:
            >>> class Square(argosy.autograd.PyLayer):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.save_for_backward(x)
            ...         return x * x
            ...
            ...     @staticmethod
            ...     def backward(ctx, dy):
            ...         (x,) = ctx.saved_tensor()
            ...         return 2 * x * dy
            >>> x = argosy.to_tensor([3.0], stop_gradient=False)
            >>> Square.apply(x).backward()
            >>> x.grad.tolist()
            [6.0]
        """
        if self._unpack is None:
            return self._saved
        unpack, flags = self._unpack
        with saved_hooks.paused():
            return tuple(unpack(t) if f else t for t, f in zip(self._saved, flags))

    saved_tensors = property(saved_tensor)

    def mark_not_inplace(self, *_tensors):
        """Changes nothing: outputs never alias inputs here.

        Args:
            _tensors (Tensor): Have no effect.
        """

    def mark_non_differentiable(self, *tensors):
        """Marks outputs that get no gradient.

        Args:
            tensors (Tensor): Which.
        """
        self._not_differentiable = tensors

    def set_materialize_grads(self, value):
        """Says what backward gets for outputs that were not used.

        Args:
            value (bool): True for zeros, as by default; False for None.
        """
        self._materialize = bool(value)

    def set_grad_in_dtype_consistent(self, flag):
        """Says in which dtypes backward gets gradients.

        Args:
            flag (bool): True for those of the outputs; False for those that they come in.
        """
        self._of_output_dtype = bool(flag)


class PyLayer:
    """Subclass it with static methods forward(ctx, *args, **kwargs) and backward(ctx, *grads),
    then call apply(). backward returns one gradient for each Tensor argument of forward."""

    @staticmethod
    def forward(ctx, *args, **kwargs):
        """What the layer computes. A subclass defines it as a staticmethod.

        Args:
            ctx (PyLayerContext): Carries what backward needs.
            args: What apply was called with.
            kwargs: The same by name.

        Returns:
            Tensor | tuple[Tensor]: The outputs.

        Raises:
            NotImplementedError: The subclass does not define it.
        """
        raise NotImplementedError(
            "[PyLayer] a subclass must define forward(ctx, ...)."
            " Do this: define it as a staticmethod."
        )

    @staticmethod
    def backward(ctx, *grads):
        """What the gradient is. A subclass defines it as a staticmethod.

        Args:
            ctx (PyLayerContext): The one that forward had.
            grads (Tensor): A gradient for each output.

        Returns:
            Tensor | tuple[Tensor]: A gradient, or None, for each Tensor argument of forward.

        Raises:
            NotImplementedError: The subclass does not define it.
        """
        raise NotImplementedError(
            "[PyLayer] a subclass must define backward(ctx, ...)."
            " Do this: define it as a staticmethod."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward; its outputs get this class's backward as their gradient.

        Args:
            args: What forward gets after ctx.
            kwargs: The same by name.

        Returns:
            Tensor | tuple[Tensor]: What forward returns.

        Raises:
            ValueError: forward returns no Tensor, or backward, when it runs, another number of gradients
                than there are tensors.

        Example:
            >>> class Cube(argosy.autograd.PyLayer):
            ...     @staticmethod
            ...     def forward(ctx, x):
            ...         ctx.save_for_backward(x)
            ...         return x**3
            ...     @staticmethod
            ...     def backward(ctx, grad):
            ...         (x,) = ctx.saved_tensor()
            ...         return 3 * x**2 * grad
            >>> x = argosy.to_tensor(2.0, stop_gradient=False)
            >>> Cube.apply(x).backward()
            >>> float(x.grad)
            12.0
        """
        ctx = PyLayerContext()
        inputs = [a for a in _flatten(list(args) + list(kwargs.values()))]
        before = _core.set_grad_enabled(False)
        try:
            result = cls.forward(ctx, *args, **kwargs)
        finally:
            _core.set_grad_enabled(before)
        single = not isinstance(result, (list, tuple))
        outputs = [result] if single else list(result)
        if not any(isinstance(o, Tensor) for o in outputs):
            raise ValueError(
                f"[{cls.__name__}.forward] expected at least one Tensor as a result, got"
                f" {type(result).__name__}. Do this: return the Tensors that it computed."
            )
        if not before or all(t.stop_gradient for t in inputs):
            return result
        ids = {id(t) for t in inputs}
        outputs = [o.detach() if is_operand(o) and id(o) in ids else o for o in outputs]
        tensors = [o for o in outputs if is_operand(o)]
        with_gradient = [all(o is not n for n in ctx._not_differentiable) for o in tensors]
        tied = [o for o, wanted in zip(tensors, with_gradient) if wanted]
        shapes = [(list(o.shape), o.dtype) for o in tensors]
        count = len(inputs)

        def run(grads):
            arrived = iter(
                grads
            )  # backward has an argument for each output, also for those without
            grads = [next(arrived) if wanted else None for wanted in with_gradient]
            if ctx._materialize:
                grads = [
                    zeros_beside(grads, shape, dtype) if g is None else g
                    for g, (shape, dtype) in zip(grads, shapes)
                ]
            if ctx._of_output_dtype:
                grads = [
                    g if g is None or g.dtype == dtype else g.astype(dtype)
                    for g, (_, dtype) in zip(grads, shapes)
                ]
            given = cls.backward(ctx, *grads)
            given = listed(given)
            if len(given) != count:
                raise ValueError(
                    f"[{cls.__name__}.backward] expected {count} gradients, one for each Tensor"
                    f" argument of forward, got {len(given)}."
                    " Do this: return None for those that need none."
                )
            return given

        _core.tie_pylayer(cls.__name__, run, inputs, tied)
        if single:
            return outputs[0]
        return type(result)(outputs)


def _flatten(values):
    for v in values:
        if is_operand(v):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _flatten(v)


class _Once(PyLayer):
    """Gives on what a backward computed without history; its own gradient is an error."""

    @staticmethod
    def forward(ctx, count, *tensors):
        return tuple(t.clone() for t in tensors[:count])

    @staticmethod
    def backward(ctx, *grads):
        raise RuntimeError(
            "[once_differentiable] trying to differentiate twice a function that was marked with"
            " @once_differentiable."
            " Do this: take the decorator off its backward, if that is made of differentiable ops."
        )


def once_differentiable(backward):
    """Decorator of a PyLayer's backward that is not made of differentiable ops: it runs without history,
    and a gradient of the gradient raises RuntimeError.

    Args:
        backward (callable): ``backward(ctx, *grads)``, below ``@staticmethod``.

    Returns:
        callable: The same, without history.

    Example:
        >>> class Cube(argosy.autograd.PyLayer):
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         ctx.save_for_backward(x)
        ...         return x**3
        ...     @staticmethod
        ...     @argosy.autograd.py_layer.once_differentiable
        ...     def backward(ctx, grad):
        ...         (x,) = ctx.saved_tensor()
        ...         return argosy.to_tensor(3 * x.numpy() ** 2) * grad
        >>> x = argosy.to_tensor(2.0, stop_gradient=False)
        >>> Cube.apply(x).backward()
        >>> float(x.grad)
        12.0
    """

    @functools.wraps(backward)
    def once(ctx, *grads):
        with no_grad():
            given = backward(ctx, *grads)
        sources = [g for g in grads if is_operand(g) and not g.stop_gradient]
        if not is_grad_enabled() or not sources:
            return given
        parts = listed(given)
        made = [t for t in parts if is_operand(t)]
        tied = iter(_Once.apply(len(made), *made, *sources))
        parts = [next(tied) if is_operand(t) else t for t in parts]
        return parts[0] if is_operand(given) else tuple(parts)

    return once
