"""Other ways to write calls that Paddle 3.3 accepts: sizes one by one, format(), NumPy on the left."""

import functools

from argosy._core import Tensor


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


def install():
    """Run once by `import argosy`, after the methods are in place."""
    for name in ("reshape", "reshape_", "view", "expand", "tile", "permute"):
        if hasattr(Tensor, name):
            setattr(Tensor, name, _sizes_one_by_one(getattr(Tensor, name)))
    Tensor.transpose = _transpose(Tensor.transpose)
    Tensor.__format__ = _format
    # NumPy's operators leave the work to the tensor's, so array + tensor is a tensor.
    Tensor.__array_ufunc__ = None
