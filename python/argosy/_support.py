"""Small things that generated and hand-written front-end modules share."""

import functools
import operator
import sys
import warnings

from argosy import _core
from argosy._core import Tensor
from argosy._core import ops as _ops


class ArgumentError(AssertionError, ValueError, TypeError):
    """A wrong argument, where programs written for Paddle expect an AssertionError."""


class NoFileError(ValueError, FileNotFoundError):
    """A file that is not there, where Paddle raises either."""


class WrongTypeError(AssertionError, _core.NotTensorError):
    """An argument of a wrong type. Where Paddle asserts nothing, the first thing that the argument
    lacks makes the error, so this is all that may come: an AssertionError, a TypeError, a ValueError
    and an AttributeError."""


class EOFException(Exception):
    """A loader that feeds runs of a Program has no batch left."""


def dtype_name(dtype):
    """The name of a dtype object, also of NumPy's: "float32"."""
    return dtype.name.lower()


def need_type(op, argument, value, types, remedy):
    """Raises WrongTypeError unless ``value`` is an instance of ``types``, a class or a tuple of them.

    Args:
        op (str): Whose argument it is.
        remedy (str): Follows "Do this: ", and the full stop follows it.
    """
    if not isinstance(value, types):
        known = types if isinstance(types, tuple) else (types,)
        raise WrongTypeError(
            f"[{op}] {argument}: expected {' or '.join(kind.__name__ for kind in known)}, got"
            f" {type(value).__name__}. Do this: {remedy}."
        )


def is_operand(value):
    """Whether value is a tensor as ops take them. Sparse tensors, which are made of such, are instances of
    Tensor, too."""
    return issubclass(type(value), Tensor)


def need_tensor(op, argument, value):
    """Raises NotTensorError, as ops do, unless ``value`` is a Tensor that they take."""
    if not is_operand(value):
        category = "InvalidArgument" if _core.program_recording() is None else "InvalidType"
        raise _core.NotTensorError(
            f"({category}) [{op}] {argument}: expected a Tensor, got {type(value).__name__}. Do this:"
            " make it one with argosy.to_tensor(..)."
        )


def check_choice(op, argument, value, allowed, error=ValueError):
    """Raises ``error`` unless ``value`` is one of ``allowed``. What Paddle asserts has no category."""
    if value not in allowed:
        category = "(InvalidArgument) " if error is ValueError else ""
        raise error(
            f"{category}[{op}] {argument}: expected one of {', '.join(map(str, allowed))}, got {value!r}. Do this:"
            " use one of them."
        )


NO_CUDNN = "kernels of the CPU are chosen by the executor"  # why use_cudnn= has no effect
# Values that are compared with a default; anything else, such as a tensor, differs from it.
_COMPARED = (bool, int, float, str, bytes, tuple, list, dict, set)
_told = set()


def _differing(arguments):
    """Names of the arguments {name: (value, default)} whose value is not the default."""
    return [
        name
        for name, (value, default) in arguments.items()
        if value is not default and not (isinstance(value, _COMPARED) and value == default)
    ]


def no_effect(function, why, **arguments):
    """Says that arguments cannot have an effect here, by a warning for each that is given: once in the
    life of the process. (Functions called often guard the call by an ``if``.)

    Args:
        function (str): Whose arguments they are.
        why (str): Ends the sentence "it has no effect: ..".
        arguments: (value, default) of each.
    """
    for name in _differing(arguments):
        if (function, name) not in _told:
            _told.add((function, name))
            warnings.warn(f"[{function}] {name} has no effect: {why}.", stacklevel=3)


def unsupported(function, remedy, **arguments):
    """Raises NotImplementedError, and says which, if one of the arguments differs from its default.

    Args:
        function (str): Whose arguments they are.
        remedy (str): Follows "Do this: ", and the full stop follows it.
        arguments: (value, default) of each.
    """
    for name in _differing(arguments):
        value, default = arguments[name]
        got = repr(value) if isinstance(value, _COMPARED) else f"a {type(value).__name__}"
        raise NotImplementedError(
            f"[{function}] {name} is not supported: expected {default!r}, got {got}. Do this:"
            f" {remedy}."
        )


def no_dump(function, path):
    """Raises NotImplementedError for a path to which the graph of gradients should be written."""
    unsupported(
        function, "argosy.explain(f) shows what runs", dump_backward_graph_path=(path, None)
    )


def alone_in(function, group):
    """Raises NotImplementedError if `group`, an argument of a function that divides its work among
    processes, has other members than this process. False and None are fine. ValueError if it is no group."""
    if group not in (None, False) and not hasattr(group, "nranks"):
        raise ValueError(
            f"[{function}] group: expected a group, False or None, got {group!r}. Do this: leave it out."
        )
    if group and getattr(group, "nranks", 1) > 1:
        raise NotImplementedError(
            f"[{function}] group: expected one of this process alone, got {group.nranks} members. Do"
            " this: pass False; layers are not divided between processes."
        )


def only_known(function, given, known):
    """Raises ValueError unless all names of `given`, a function's other keywords, are `known`."""
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise ValueError(
            f"[{function}] unknown arguments: expected {', '.join(known) or 'none'}, got"
            f" {', '.join(unknown)}. Do this: leave them out, or correct their names."
        )


def alias(**names):
    """Decorator: the function also takes keyword ``other=`` for its argument, alias(other="x")."""

    def decorate(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            if kwargs:
                for other, name in names.items():
                    if other in kwargs:
                        if name in kwargs:
                            raise ValueError(
                                f"[{function.__name__}] '{name}' and its other name '{other}' are one argument, "
                                "got both. Do this: pass one of them."
                            )
                        kwargs[name] = kwargs.pop(other)
            return function(*args, **kwargs)

        return wrapper

    return decorate


def tells(*ops):
    """Decorator: errors of ops that compute for the function name the function, which the user called."""

    def decorate(function):
        own, inner = f"[{function.__name__}]", [f"[{op}]" for op in ops]

        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            try:
                return function(*args, **kwargs)
            except Exception as error:
                if error.args and isinstance(error.args[0], str):
                    text = error.args[0]
                    for op in inner:
                        text = text.replace(op, own)
                    error.args = (text, *error.args[1:])
                raise

        return wrapper

    return decorate


def also_named(**names):
    """Decorator of a layer's ``forward``: calls of the layer also take keyword ``other=`` for its
    argument, also_named(other="x"). Layer.__call__ renames; a call without keywords pays nothing."""

    def decorate(forward):
        forward.also_named = names
        return forward

    return decorate


def renamed(forward, kwargs):
    """The keywords of a call as ``forward`` names them, see also_named."""
    for other, name in getattr(forward, "also_named", {}).items():
        if other in kwargs and name not in kwargs:
            kwargs[name] = kwargs.pop(other)
    return kwargs


class _Required:
    """The default of an argument that has several names, one of which must be given."""

    def __repr__(self):
        return "<required>"

    def __reduce__(self):
        return "required"


required = _Required()


def missing(function, argument):
    """What a function raises whose argument was given by none of its names."""
    return TypeError(f"[{function}] {argument} is missing. Do this: pass it.")


def missing_list(function, argument):
    """What a function raises whose list of tensors was not given."""
    return TypeError(
        f"[{function}] {argument} is missing: expected a list of Tensors, got None. Do this: pass one."
    )


def into(out, result):
    """Puts a result into the tensor given as `out=`, and returns it; the result itself where out is
    None."""
    if out is None:
        return result
    if isinstance(result, (list, tuple)):
        for target, value in zip(out, result):
            target._become(value)
        return out
    out._become(result)
    return out


def listed(value):
    """A list of what was given alone or as a list or tuple."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def listed_if_any(value):
    """listed, and nothing of None."""
    return [] if value is None else listed(value)


def plain(value):
    """The numbers of a tensor; anything else as it is."""
    return value.tolist() if isinstance(value, Tensor) else value


def is_symbolic(value):
    """Whether value is a tensor of a Program."""
    return isinstance(value, Tensor) and value._symbolic


def overwrite(x, value):
    """Writes value, a number or a tensor of x's shape, into x and returns x. Gradients then go to value and no
    longer to what x was; a leaf that needs a gradient is refused."""
    x[...] = value
    return x


def sizes_of(x):
    """x's sizes: numbers, and 0-d tensors for those that a Program does not know yet."""
    known = list(x.shape)
    if -1 not in known:
        return known
    whole = _ops.shape(x)
    return [n if n >= 0 else whole[d] for d, n in enumerate(known)]


def _pinned(result, out):
    """What was made for a device, in the memory that its copies reach by themselves."""
    where = result.place
    if where._kind in ("cpu", "null"):
        reason = (
            "it is not on a device that copies from pinned memory"
            if _core.devices()
            else "this process has no device that copies from pinned memory"
        )
        raise RuntimeError(
            f"[pin_memory] Pinning memory is not supported for {where}: {reason}. Do this: leave"
            " pin_memory out, or create the tensor for a device (device='gpu')."
        )
    if out is not None and not out.place.is_cuda_pinned_place():
        raise RuntimeError(
            f"[pin_memory] out is on {out.place}, not in pinned memory. Do this: leave one of the"
            " two out, or pass an out made with pin_memory=True."
        )
    return result.pin_memory()


def place(result, out=None, device=None, requires_grad=False, pin_memory=False):
    """A created tensor as its keywords want it: in `out`, on `device`, pinned, with a gradient."""
    if device is not None:
        result = result.to(device)
    if pin_memory:
        result = _pinned(result, out)
    if out is not None:
        if out.dtype != result.dtype:
            raise TypeError(
                f"[out] has another dtype than the result: expected {result.dtype}, got {out.dtype}."
                " Do this: make out with that dtype, or pass dtype=out.dtype."
            )
        result = into(out, result)
    if requires_grad:
        result.stop_gradient = False
    return result


def sizes(function):
    """`function(shape, ...)` that also takes the sizes one by one, and as `size=`."""

    @functools.wraps(function)
    def wrapper(*args, **options):
        if len(args) > 1 and isinstance(args[0], (int, Tensor)):
            count = 1
            while count < len(args) and isinstance(args[count], (int, Tensor)):
                count += 1
            if count > 1:
                args = (list(args[:count]), *args[count:])
        elif "size" in options:
            options["shape"] = options.pop("size")
        if not args and "shape" not in options:
            raise TypeError(
                f"[{function.__name__}] needs a shape: expected a list of sizes, or the sizes one by"
                " one, got none. Do this: pass [] for a 0-d tensor."
            )
        return function(*args, **options)

    return wrapper


def is_array(value):
    """Whether value is an array or a number of NumPy, which nothing has where it was not imported."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, (numpy.ndarray, numpy.generic))


def alone(value):
    """The number in a NumPy array of one element or a number of NumPy; anything else as it is."""
    return value.item() if is_array(value) and value.size == 1 else value


def whole_number(op, name, value):
    """An argument that is to be a whole number, as an int; also a tensor or an array of one integer, and a float
    without a fraction."""
    if type(value) is int:
        return value
    if isinstance(value, Tensor) and not value._symbolic and value.size == 1:
        value = value.item()
    value = alone(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if not isinstance(value, (bool, float)):
        try:
            return operator.index(value)
        except TypeError:  # of a list, a text, a tensor of floats
            pass
    raise _core.OperandError(
        f"(InvalidType) [{op}] {name}: expected an int, got {value!r:.60} ({type(value).__name__}). Do this: pass a"
        " whole number."
    )


def whole_numbers(op, name, value):
    """whole_number of each element of a list or tuple; of anything else itself."""
    if isinstance(value, (list, tuple)):
        return [whole_number(op, name, v) for v in value]
    return whole_number(op, name, value)


def checked_tensors(name, what, value, holes=False):
    """value as a list of tensors; holes: None may stand among them."""
    found = listed(value)
    for item in found:
        if not (is_operand(item) or (holes and item is None)):
            raise ArgumentError(
                f"[{name}] {what}: expected a Tensor or a list of them, got {type(item).__name__}."
                " Do this: make it one with to_tensor(..)."
            )
    if not found:
        raise ArgumentError(
            f"[{name}] {what}: expected a Tensor or more, got an empty list. Do this: name some."
        )
    return found


def checked_seeds(name, what, value, roots):
    """The gradient given for each root: none at all, or one (or None) for each."""
    if value is None or (isinstance(value, (list, tuple)) and not value):
        return []
    found = checked_tensors(name, what, value, holes=True)
    if len(found) != len(roots):
        raise ArgumentError(
            f"[{name}] {what}: expected one for each of {len(roots)} tensors, got {len(found)}."
            " Do this: give None for those that are to have ones."
        )
    for seed, root in zip(found, roots):
        if seed is not None and not root._symbolic and seed.shape != root.shape:
            raise ArgumentError(
                f"[{name}] {what}: a gradient must have the shape of its tensor, expected"
                f" {list(root.shape)}, got {list(seed.shape)}. Do this: reshape or expand it."
            )
    return found
