"""Other ways to write calls that Paddle 3.3 accepts: sizes one by one, a dimension before the index,
format(), NumPy on the left, a Python function applied."""

import functools

from argosy._core import Tensor
from argosy._generated import tensor as _generated
from argosy._support import alias, missing, whole_number
from argosy.tensor.registry import GENERATED, method

_ABSENT = object()


def _at_once(function, spelled):
    """`spelled`, but calls of two plain arguments, which most are, go to `function` without detours."""

    @functools.wraps(function)
    def wrapper(first=_ABSENT, second=_ABSENT, /, *more, **options):
        if second is not _ABSENT and not more and not options:
            return function(first, second)
        given = [argument for argument in (first, second) if argument is not _ABSENT]
        return spelled(*given, *more, **options)

    return wrapper


def sizes_one_by_one(function):
    """`function(x, sizes)` that also takes x, 2, 3 for x, [2, 3]."""

    def spelled(*args, **options):
        if len(args) > 2 and not isinstance(args[1], (list, tuple)):
            if all(isinstance(size, (int, Tensor)) for size in args[1:]):
                args = (args[0], list(args[1:]))
        return function(*args, **options)

    return _at_once(function, spelled)


def dimension_first(function):
    """`function(x, index, axis, ..)` that also takes x, axis, index, ..: an integer is no index."""

    @functools.wraps(function)
    def wrapper(*args, **options):
        if len(args) > 1 and type(args[1]) is int:
            x, axis, *rest = args
            if not rest and "index" not in options:
                raise missing(function.__name__, "index")
            index, *rest = rest or [options.pop("index")]
            args = (x, index, axis, *rest)
        return function(*args, **options)

    return wrapper


def _two_dimensions(function):
    """`function(x, perm)` that also takes the two dimensions to swap."""

    def spelled(*args, **options):
        dims = [options.pop(name) for name in ("dim0", "dim1") if name in options]
        if dims or (len(args) == 3 and type(args[1]) is int):
            x = args[0] if args else options.pop("input" if "input" in options else "x")
            one, two = [*args[1:], *dims]
            perm = list(range(x.ndim))
            perm[one], perm[two] = perm[two], perm[one]
            return function(x, perm, **options)
        return function(*args, **options)

    return _at_once(function, spelled)


def _everywhere(function):
    """A generated function under further spellings, as a function and as a method."""
    return method(function, replaces=GENERATED)


reshape = _everywhere(sizes_one_by_one(_generated.reshape))
reshape_ = _everywhere(sizes_one_by_one(_generated.reshape_))
expand = _everywhere(sizes_one_by_one(_generated.expand))
tile = _everywhere(sizes_one_by_one(_generated.tile))
transpose = _everywhere(_two_dimensions(_generated.transpose))
transpose_ = _everywhere(_two_dimensions(_generated.transpose_))
index_select = _everywhere(dimension_first(_generated.index_select))
eye = alias(n="num_rows", m="num_columns")(_generated.eye)
EXPORTS = [
    "eye",
    "expand",
    "index_select",
    "reshape",
    "reshape_",
    "tile",
    "transpose",
    "transpose_",
]


def _format(self, spec):
    """The number of a 0-d tensor in the format `spec`; other tensors print as they do."""
    if self.ndim == 0 and not self._symbolic:
        return format(self.item(), spec)
    return object.__format__(self, spec)


method(_format, "__format__")
# NumPy's operators leave the work to the tensor's, so array + tensor is a tensor.
method(None, "__array_ufunc__")


def _refuse_history(self, name):
    if not self.stop_gradient:
        raise RuntimeError(
            f"[{name}] cannot apply a Python function to a tensor that records gradients: "
            "expected stop_gradient=True. Do this: apply it to x.detach(), or use PyLayer."
        )


@method
def apply(self, func):
    """A function of this tensor, where no gradient is recorded.

    Args:
        func (callable): Takes it, returns a tensor.

    Returns:
        Tensor: What it returns.

    Raises:
        RuntimeError: The tensor needs a gradient.

    Example:
        >>> argosy.ones([2]).apply(lambda x: x + 1).tolist()
        [2.0, 2.0]
    """
    _refuse_history(self, "apply")
    return func(self)


@method
def apply_(self, func):
    """Puts the values of a function of this tensor into it, where no gradient is recorded.

    Args:
        func (callable): Takes a copy of it, returns a tensor of its shape.

    Returns:
        Tensor: This one.

    Raises:
        RuntimeError: The tensor needs a gradient.

    Example:
        >>> argosy.ones([2]).apply_(lambda x: x + 1).tolist()
        [2.0, 2.0]
    """
    _refuse_history(self, "apply_")
    self.set_value(func(self.clone()))
    return self


def numbers_of(op, name, value):
    """The elements of a list or vector, an argument of a function: numbers where they are known."""
    if isinstance(value, Tensor):
        if value._symbolic:
            return [value[i] for i in range(value.shape[0])]
        value = value.tolist()
    if not hasattr(value, "__len__") or getattr(value, "shape", None) == ():
        value = [value]
    return [
        v if isinstance(v, Tensor) and v._symbolic else whole_number(op, name, v) for v in value
    ]
