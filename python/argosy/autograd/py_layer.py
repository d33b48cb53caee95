"""User-defined functions with their own gradient."""

from argosy import _core
from argosy._core import Tensor
from argosy._support import listed
from argosy.autograd import saved_hooks


class PyLayerContext:
    """Carries what forward leaves for backward."""

    def __init__(self):
        self._saved = ()
        self._unpack = None
        self._materialize = True
        self._not_differentiable = ()
        self._of_output_dtype = True
        self._dirty = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors for saved_tensor(); what the hooks of ``saved_tensors_hooks`` make of
        them, if there are any."""
        hooks = saved_hooks.active()
        if hooks is None:
            self._saved, self._unpack = tensors, None
            return
        flags = [isinstance(t, Tensor) for t in tensors]
        with saved_hooks.paused():
            self._saved = [hooks.pack_hook(t) if f else t for t, f in zip(tensors, flags)]
        self._unpack = (hooks.unpack_hook, flags)

    def saved_tensor(self):
        """The tensors kept by save_for_backward, as a tuple."""
        if self._unpack is None:
            return self._saved
        unpack, flags = self._unpack
        with saved_hooks.paused():
            return tuple(unpack(t) if f else t for t, f in zip(self._saved, flags))

    saved_tensors = property(saved_tensor)

    def mark_not_inplace(self, *_tensors):
        """Accepted for compatibility; outputs never alias inputs here."""

    def mark_non_differentiable(self, *tensors):
        """Outputs that get no gradient."""
        self._not_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (True) or None for outputs that were not used."""
        self._materialize = bool(value)

    def set_grad_in_dtype_consistent(self, flag):
        """Whether backward gets gradients in the dtypes of the outputs (True) or as they come."""
        self._of_output_dtype = bool(flag)


class PyLayer:
    """Subclass it with static methods forward(ctx, *args, **kwargs) and backward(ctx, *grads),
    then call apply(). backward returns one gradient for each Tensor argument of forward."""

    @staticmethod
    def forward(ctx, *args, **kwargs):
        raise NotImplementedError(
            "[PyLayer] a subclass must define forward(ctx, ...)."
            " Do this: define it as a staticmethod."
        )

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError(
            "[PyLayer] a subclass must define backward(ctx, ...)."
            " Do this: define it as a staticmethod."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward; its outputs get this class's backward as their gradient."""
        ctx = PyLayerContext()
        inputs = [a for a in _flatten(list(args) + list(kwargs.values()))]
        before = _core.set_grad_enabled(False)
        try:
            result = cls.forward(ctx, *args, **kwargs)
        finally:
            _core.set_grad_enabled(before)
        single = not isinstance(result, (list, tuple))
        outputs = [result] if single else list(result)
        if not before or all(t.stop_gradient for t in inputs):
            return result
        ids = {id(t) for t in inputs}
        outputs = [o.detach() if isinstance(o, Tensor) and id(o) in ids else o for o in outputs]
        tensors = [o for o in outputs if isinstance(o, Tensor)]
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
                    _core.ops.full(shape, 0.0, dtype) if g is None else g
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
        if isinstance(v, Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from _flatten(v)
