"""Hooks that decide how the values kept for backward are stored."""

import threading

from argosy import _core

_thread = threading.local()


def active():
    """The ``saved_tensors_hooks`` of this thread, or None."""
    return getattr(_thread, "hooks", None)


def _activate(hooks):
    if hooks is None:
        _core.set_saved_hooks()
    else:
        _core.set_saved_hooks(hooks.pack_hook, hooks.unpack_hook)
    _thread.hooks = hooks


class paused:
    """Scope in which this thread records nothing and packs nothing."""

    def __enter__(self):
        self._hooks = active()
        _activate(None)
        self._grad = _core.set_grad_enabled(False)

    def __exit__(self, *exc):
        _core.set_grad_enabled(self._grad)
        if self._hooks is not None:
            _activate(self._hooks)


class saved_tensors_hooks:
    """Values that the ops of a ``with`` block (of this thread) keep for backward are handed to
    ``pack_hook`` and taken back from ``unpack_hook``, for example to hold them on disk or in a
    smaller dtype.

    Args:
        pack_hook (callable): Gets each Tensor that an op, or ``PyLayerContext.save_for_backward``,
            keeps; what it returns, of any type, is kept instead.
        unpack_hook (callable): Gets what ``pack_hook`` returned, each time backward needs the
            value, and returns a Tensor of the same shape and dtype. It runs when backward does,
            also outside of the block.

    Nothing that the hooks compute is recorded. Blocks cannot be nested.

    Raises:
        ValueError: if hooks are active already, or ``unpack_hook`` returns something else.

    Example:
        >>> x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
        >>> with argosy.autograd.saved_tensors_hooks(lambda t: t.numpy(), argosy.to_tensor):
        ...     y = (x * x).sum()
        >>> y.backward()
        >>> x.grad.tolist()
        [2.0, 4.0]
    """

    def __init__(self, pack_hook, unpack_hook):
        self.pack_hook = pack_hook
        self.unpack_hook = unpack_hook

    def __enter__(self):
        _activate(self)

    def __exit__(self, *args):
        _activate(None)
