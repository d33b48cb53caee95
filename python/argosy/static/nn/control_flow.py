"""Control flow over tensors: recorded as `if` and `while` of the Program being built where the
condition is symbolic, run at once where it is known."""

import itertools

import numpy as np

from argosy import _core
from argosy._core import Tensor
from argosy._support import check_choice, is_symbolic, listed, no_effect
from argosy.utils.layers_utils import flatten, pack_sequence_as
from argosy.utils.recorded_loop import as_tensor, block, copy_element, end_block, recorded_while

from .with_blocks import Switch, While  # noqa: F401


def _program(op):
    program = _core.program_recording()
    if program is None:
        raise RuntimeError(
            f"[{op}] the condition is symbolic, but no Program is being built. Do this: call it under "
            "static.program_guard(..), or inside a function captured by jit.to_static."
        )
    return program


def cond(pred, true_fn=None, false_fn=None, name=None, return_names=None):
    """true_fn() if pred holds, else false_fn(); only one of them runs.

    Args:
        pred (Tensor): bool, one element.
        true_fn, false_fn (callable, optional): Take nothing; return None or the same nest of tensors.
        name (str, optional): Has no effect on results.
        return_names (list, optional): Names of what is returned, for errors.

    Returns:
        What the function returns.

    Raises:
        TypeError: pred is no tensor, a function cannot be called, or the branches return values of other
            kinds or dtypes.
        ValueError: They return different numbers of values.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [1], "float32")
        >>> y = argosy.static.nn.cond(x.sum() > 0, lambda: x * 2, lambda: -x)
        >>> exe = argosy.static.Executor()
        >>> exe.run(feed={"x": np.float32([-3])}, fetch_list=[y])[0].tolist()
        [3.0]
    """
    for label, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        if fn is not None and not callable(fn):
            raise TypeError(
                f"[cond] {label}: expected a callable, got {type(fn).__name__}. Do this: pass a"
                " function without arguments."
            )
    tensor_of_bool = not is_symbolic(pred) or pred.dtype == _core.bool
    if not isinstance(pred, (Tensor, bool, np.bool_)) or not tensor_of_bool:
        got = type(pred).__name__ if tensor_of_bool else f"a Tensor of {pred.dtype}"
        raise TypeError(
            f"[cond] pred: expected a bool tensor of one element, got {got}. Do this: compare first, as"
            " in x.sum() > 0."
        )
    if not is_symbolic(pred):
        chosen = true_fn if bool(pred) else false_fn
        return chosen() if chosen is not None else None
    program = _program("cond")
    sides = []
    for fn in (true_fn, false_fn):
        result = block(program, fn if fn is not None else (lambda: None))
        if not sides:
            first = result
            leaves = [] if first is None else flatten(first)
            sides.append((_Side(program, leaves), leaves))
            continue
        other = [] if result is None else flatten(result)
        if len(other) != len(leaves):
            _core.program_block_abandon(program)
            raise ValueError(
                "[cond] both branches must return the same number of values: true_fn returned"
                f" {len(leaves)}, false_fn {len(other)}."
                " Do this: return as many from each."
            )
        sides.append((_Side(program, other), other))
    # Equal Python values stay what they are; others become tensors.
    (a_side, a), (b_side, b) = sides
    kept = [
        not isinstance(x, Tensor) and not isinstance(y, Tensor) and (x is y or bool(x == y))
        for x, y in zip(a, b)
    ]
    drafts = [side.close(kept, names=return_names) for side in (a_side, b_side)]
    results = _core.program_if(program, pred, *drafts)
    if first is None:
        return None
    place, out = iter(results), []
    for x, y, keep in zip(a, b, kept):
        if keep:
            out.append(x)
            continue
        out.append(next(place))
        copy_element(x if hasattr(x, "_element") else y, out[-1])
    return pack_sequence_as(first, out)


class _Side:
    """A branch whose block is closed once it is known which leaves become tensors. The block is
    closed at once with all tensors; leaves that are Python values are added when both are known."""

    def __init__(self, program, leaves):
        self.leaves = leaves
        tensors = []
        self.places = []
        for leaf in leaves:
            convertible = isinstance(leaf, (Tensor, bool, int, float))
            self.places.append(len(tensors) if convertible else None)
            if convertible:
                tensors.append(as_tensor(leaf))
        self.draft = end_block(program, tensors)

    def close(self, kept, names=None):
        drop = []
        for i, keep in enumerate(kept):
            if keep:
                if self.places[i] is not None:
                    drop.append(self.places[i])
            elif self.places[i] is None:
                label = f"'{names[i]}'" if names and i < len(names) else f"value {i}"
                raise TypeError(
                    f"[cond] {label} cannot depend on a symbolic condition: expected tensors or"
                    f" numbers from both branches, got {type(self.leaves[i]).__name__}. Do this:"
                    " return the same Python value from both, or a tensor."
                )
        _core.program_draft_drop(self.draft, drop)
        return self.draft


def while_loop(cond, body, loop_vars, is_test=False, name=None):
    """loop_vars = body(*loop_vars) as long as cond(*loop_vars) holds.

    Args:
        cond (callable): Takes the loop variables, returns a bool tensor of one element.
        body (callable): Takes the loop variables, returns the next ones.
        loop_vars (list | tuple): Nest of tensors; what comes back has the same dtypes and ranks.
        is_test (bool): Has no effect on results.
        name (str, optional): Has no effect on results.

    Returns:
        list: The loop variables after the last round.

    Raises:
        TypeError: cond or body cannot be called, or loop_vars is no list or tuple.
        ValueError: loop_vars is empty, or body returns other ones.

    Example:
        >>> argosy.enable_static()
        >>> i, total = argosy.full([], 0, "int64"), argosy.full([], 0, "int64")
        >>> i, total = argosy.static.nn.while_loop(
        ...     lambda i, total: i < 5, lambda i, total: [i + 1, total + i], [i, total]
        ... )
        >>> int(argosy.static.Executor().run(fetch_list=[total])[0])
        10
    """
    no_effect(
        "while_loop",
        "what gradients need is kept where they are asked for",
        is_test=(is_test, False),
    )
    if not callable(cond):
        raise TypeError(
            f"[while_loop] cond: expected a callable, got {type(cond).__name__}."
            " Do this: pass a function that takes loop_vars and returns a bool Tensor."
        )
    if not callable(body):
        raise TypeError(
            f"[while_loop] body: expected a callable, got {type(body).__name__}."
            " Do this: pass a function that takes loop_vars and returns the next ones."
        )
    if not isinstance(loop_vars, (list, tuple)):
        raise TypeError(
            f"[while_loop] loop_vars: expected a list or tuple, got {type(loop_vars).__name__}."
            " Do this: put them into a list."
        )
    if not loop_vars:
        raise ValueError("[while_loop] loop_vars is empty. Do this: pass what the loop changes.")
    recorder = _core.program_recording()
    if recorder is None:
        return _eager_while(cond, body, list(loop_vars))
    first = cond(*loop_vars)
    if not is_symbolic(first) and not any(is_symbolic(v) for v in flatten(list(loop_vars))):
        return _eager_while(cond, body, list(loop_vars), first)
    return recorded_while(recorder, cond, body, list(loop_vars))


def _eager_while(cond, body, loop_vars, test=None):
    test = cond(*loop_vars) if test is None else test
    while bool(test):
        result = body(*loop_vars)
        result = listed(result)
        if len(result) != len(loop_vars):
            raise ValueError(
                "[while_loop] body must return as many values as loop_vars: expected"
                f" {len(loop_vars)}, got {len(result)}."
                " Do this: return one value for each of loop_vars."
            )
        loop_vars = result
        test = cond(*loop_vars)
    return loop_vars


def case(pred_fn_pairs, default=None, name=None):
    """The result of the first function whose condition holds.

    Args:
        pred_fn_pairs (list | tuple): Pairs of a bool tensor of one element and a function without arguments.
        default (callable, optional): Taken if none holds; the last of the functions if None.

    Returns:
        What the function returns.

    Raises:
        TypeError: An argument, or a pair, is of another kind.
        ValueError: There are no pairs.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [1], "float32")
        >>> y = argosy.static.nn.case([(x.sum() > 0, lambda: x)], default=lambda: -x)
        >>> argosy.static.Executor().run(feed={"x": np.float32([-3])}, fetch_list=[y])[0].tolist()
        [3.0]
    """
    if not isinstance(pred_fn_pairs, (list, tuple)):
        raise TypeError(
            f"[case] pred_fn_pairs: expected a list or tuple, got {type(pred_fn_pairs).__name__}."
            " Do this: pass [(pred, function), ..]."
        )
    if not pred_fn_pairs:
        raise ValueError("[case] pred_fn_pairs is empty. Do this: pass (pred, function) pairs.")
    for pair in pred_fn_pairs:
        if not isinstance(pair, tuple):
            raise TypeError(
                f"[case] expected tuples (pred, function), got {type(pair).__name__}."
                " Do this: pass [(pred, function), ..]."
            )
        if len(pair) != 2:
            raise TypeError(
                f"[case] expected tuples of 2 elements, got {len(pair)}."
                " Do this: pass [(pred, function), ..]."
            )
        pred, fn = pair
        if not isinstance(pred, (Tensor, bool)):
            raise TypeError(
                f"[case] pred: expected a Tensor, got {type(pred).__name__}."
                " Do this: compare first."
            )
        if not callable(fn):
            raise TypeError(
                f"[case] fn: expected a callable, got {type(fn).__name__}."
                " Do this: pass a function without arguments."
            )
    if default is not None and not callable(default):
        raise TypeError(
            f"[case] default: expected a callable, got {type(default).__name__}."
            " Do this: pass a function, or None."
        )
    pairs = list(pred_fn_pairs)
    if default is None:
        default = pairs.pop()[1]

    def choose(i):
        if i == len(pairs):
            return default()
        return cond(pairs[i][0], pairs[i][1], lambda: choose(i + 1))

    return choose(0)


def switch_case(branch_index, branch_fns, default=None, name=None):
    """The result of the function that belongs to branch_index; of default (or that of the greatest
    index) if there is none.

    Args:
        branch_index (Tensor): int32, int64 or uint8, one element.
        branch_fns (dict | list): {index: function}, [(index, function)] or [function].
        default (callable, optional): Taken for any other index.

    Returns:
        What the function returns.

    Raises:
        TypeError: An argument is of another kind.
        ValueError: An index is given twice.

    Example:
        >>> argosy.enable_static()
        >>> i = argosy.static.data("i", [1], "int64")
        >>> y = argosy.static.nn.switch_case(i, [lambda: argosy.full([], 10.0), lambda: argosy.full([], 20.0)])
        >>> float(argosy.static.Executor().run(feed={"i": np.int64([1])}, fetch_list=[y])[0])
        20.0
    """
    pairs = _checked_branches(branch_index, branch_fns, default)
    pairs.sort(key=lambda pair: pair[0])
    if default is None:
        default = pairs[-1][1]
        pairs = pairs[:-1]
    index = branch_index.astype("int64")
    if len(pairs) < 4:
        return case([(index == i, fn) for i, fn in pairs], default) if pairs else default()

    def halve(first, end):
        """Two halves at a time, so that many branches are not as many blocks in each other."""
        if end - first == 1:
            return pairs[first][1]()
        middle = (first + end) // 2
        left, right = (lambda: halve(first, middle)), (lambda: halve(middle, end))
        return cond(index < pairs[middle][0], left, right)

    known = (index == _core.to_tensor([i for i, _ in pairs], "int64", True)).any()
    return cond(known, lambda: halve(0, len(pairs)), default)


def _checked_branches(branch_index, branch_fns, default):
    """[(index, function), ..] of what switch_case was given; raises for what cannot be that."""
    if not isinstance(branch_index, Tensor):
        raise TypeError(
            f"[switch_case] branch_index: expected a Tensor, got {type(branch_index).__name__}."
            " Do this: pass a Tensor of one integer."
        )
    if branch_index.dtype not in ("uint8", "int32", "int64"):
        raise TypeError(
            "[switch_case] branch_index: expected dtype uint8, int32 or int64, got"
            f" {branch_index.dtype}."
            " Do this: cast it."
        )
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError(
            "[switch_case] branch_fns: expected a list, tuple or dict, got"
            f" {type(branch_fns).__name__}."
            " Do this: pass e.g. {1: function}."
        )
    pairs = list(branch_fns.items()) if isinstance(branch_fns, dict) else list(branch_fns)
    if pairs and all(callable(f) for f in pairs):
        pairs = list(enumerate(pairs))
    seen = set()
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError(
                f"[switch_case] expected tuples (index, function), got {type(pair).__name__}."
                " Do this: pass [(index, function), ..]."
            )
        index, fn = pair
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(
                f"[switch_case] index: expected an int, got {type(index).__name__}."
                " Do this: pass a Python int."
            )
        if index in seen:
            raise ValueError(
                f"[switch_case] index {index} is given twice. Do this: leave one of them out."
            )
        seen.add(index)
        if not callable(fn):
            raise TypeError(
                f"[switch_case] the function of {index}: expected a callable, got"
                f" {type(fn).__name__}."
                " Do this: pass a function without arguments."
            )
    if default is not None and not callable(default):
        raise TypeError(
            f"[switch_case] default: expected a callable, got {type(default).__name__}."
            " Do this: pass a function, or None."
        )
    return pairs


def Assert(cond, data=None, summarize=20, name=None):
    """Raises ValueError when the Program runs (now, in eager mode) unless cond holds.

    Args:
        cond (Tensor): bool, one element.
        data (list | tuple, optional): Tensors that the error shows.
        summarize (int): How many values of each it shows; all if negative.
        name (str, optional): Stands in the error.

    Raises:
        ValueError: cond does not hold.
        TypeError: cond is no bool tensor, or data no list.

    Example:
        >>> argosy.static.nn.Assert(argosy.to_tensor(True))
        >>> argosy.static.nn.Assert(argosy.to_tensor(False))
        Traceback (most recent call last):
        ValueError
    """
    if not isinstance(cond, Tensor) or cond.dtype != _core.bool:
        got = f"a Tensor of {cond.dtype}" if isinstance(cond, Tensor) else type(cond).__name__
        raise TypeError(
            f"[Assert] cond: expected a bool Tensor, got {got}. Do this: compare first."
        )
    if data is not None and not isinstance(data, (list, tuple)):
        raise TypeError(
            f"[Assert] data: expected a list or tuple of Tensors, got {type(data).__name__}."
            " Do this: put them into a list."
        )
    _core.ops.assert_true(cond, list(data or ()), int(summarize), name or "")


_prints = itertools.count()


def Print(
    input,
    first_n=-1,
    message=None,
    summarize=20,
    print_tensor_name=True,
    print_tensor_type=True,
    print_tensor_shape=True,
    print_tensor_layout=True,
    print_tensor_lod=True,
    print_phase="both",
):
    """input; when the Program runs, its values go to the standard output.

    Args:
        input (Tensor): Any shape and dtype.
        first_n (int): How many times it is printed; always if negative.
        message (str, optional): Printed before it.
        summarize (int): How many values are printed; all if negative.
        print_tensor_type, print_tensor_shape, print_tensor_layout (bool): What is printed with it.
        print_tensor_name, print_tensor_lod (bool): Have no effect: neither is printed.
        print_phase (str): 'forward': its values, 'backward': those of its gradient, 'both'.

    Returns:
        Tensor: input.

    Raises:
        TypeError: input is no Tensor.
        ValueError: print_phase is another one.

    Example:
        >>> argosy.enable_static()
        >>> x = argosy.static.data("x", [2], "float32")
        >>> list(argosy.static.Print(x, message="x").shape)
        [2]
    """
    no_effect(
        "Print", "it is not printed", print_tensor_name=(print_tensor_name, True),
        print_tensor_lod=(print_tensor_lod, True),
    )  # fmt: skip
    if not isinstance(input, Tensor):
        raise TypeError(
            f"[Print] input: expected a Tensor, got {type(input).__name__}."
            " Do this: pass a value of the Program."
        )
    check_choice("Print", "print_phase", print_phase, ("forward", "backward", "both"))
    return _core.ops.print_tensor(
        input,
        message or "",
        first_n,
        summarize,
        bool(print_tensor_type),
        bool(print_tensor_shape),
        bool(print_tensor_layout),
        print_phase,
        next(_prints),
        False,
    )
