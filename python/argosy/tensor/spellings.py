"""Other ways to write calls that Paddle 3.3 accepts: sizes one by one, format(), NumPy on the left."""

import functools

from argosy._core import Tensor
from argosy._programs.mode import default_main_program


def _sizes_one_by_one(function):
    """`function(x, sizes)` that also takes x, 2, 3 for x, [2, 3]."""

    @functools.wraps(function)
    def method(self, *args, **options):
        if len(args) > 1 and not isinstance(args[0], (list, tuple)):
            if all(isinstance(size, (int, Tensor)) for size in args):
                args = (list(args),)
        return function(self, *args, **options)

    return method


def _transpose(function):
    """`transpose` that also takes the two dimensions to swap."""

    @functools.wraps(function)
    def method(self, *args, **options):
        if len(args) == 2 and all(type(dim) is int for dim in args):
            perm = list(range(self.ndim))
            one, two = args
            perm[one], perm[two] = perm[two], perm[one]
            args = (perm,)
        return function(self, *args, **options)

    return method


def _format(self, spec):
    """The number of a 0-d tensor in the format `spec`; other tensors print as they do."""
    if self.ndim == 0 and not self._symbolic:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def rank(self):
    """Number of dimensions, as a 0-d int32 tensor."""
    from .manipulation import rank as of

    return of(self)


def copy_(self, other, blocking=True):
    """Copies the values of `other`, a tensor of the same shape, into this one."""
    self.set_value(other)
    return self


def _refuse_history(self, name):
    if not self.stop_gradient:
        raise RuntimeError(
            f"[{name}] cannot apply a Python function to a tensor that records gradients: "
            "expected stop_gradient=True. Do this: apply it to x.detach(), or use PyLayer."
        )


def apply(self, function):
    """function(self), a tensor; only where no gradient is recorded (stop_gradient=True)."""
    _refuse_history(self, "apply")
    return function(self)


def apply_(self, function):
    """Puts the values of function(self) into this tensor and returns it."""
    _refuse_history(self, "apply_")
    self.set_value(function(self.clone()))
    return self


def block(self):
    """The block of the default main Program, which initializers and the like are called with."""
    return default_main_program().global_block()


def install():
    """Run once by `import argosy`, after the methods are in place."""
    Tensor.block = property(block)  # argosy.static puts one in its place that knows Programs
    for name in ("reshape", "reshape_", "view", "expand", "tile", "permute"):
        if hasattr(Tensor, name):
            setattr(Tensor, name, _sizes_one_by_one(getattr(Tensor, name)))
    Tensor.transpose = _transpose(Tensor.transpose)
    for function in (rank, copy_, apply, apply_):
        setattr(Tensor, function.__name__, function)
    Tensor.__format__ = _format
    # NumPy's operators leave the work to the tensor's, so array + tensor is a tensor.
    Tensor.__array_ufunc__ = None
