"""Contractions: sums of products over labelled dimensions, as products of matrices.

What is computed depends on the equation and the shapes alone, so it is planned once for each: functions here
call `step(name, operands, *rest)` for an op; several operands are a tuple. That of a _Plan notes it, for values
that are places of a list; `_now` runs it at once, on tensors: where a Program does not know a size, or a size is 0.
"""

from argosy._core import ops as _ops
from argosy._support import ArgumentError

_MOST_PLANS = 1024
_plans = {}


class _Plan:
    """Ops to run on a list of operands; each appends its result to the list."""

    def __init__(self, operands):
        self.steps = []
        self.next = operands
        self.result = None

    def step(self, name, operands, *rest):
        places = operands if isinstance(operands, tuple) else (operands,)
        self.steps.append((getattr(_ops, name), places, rest))
        self.next += 1
        return self.next - 1

    def run(self, operands):
        values = list(operands)
        for op, places, rest in self.steps:
            values.append(op(*[values[k] for k in places], *rest))
        return values[self.result]


def _now(name, operands, *rest):
    operands = operands if isinstance(operands, tuple) else (operands,)
    return getattr(_ops, name)(*operands, *rest)


def _planned(key, operands, shapes, steps_of):
    """What steps_of(step, values) makes of operands, planned once for a key where all sizes are known."""
    if any(n <= 0 for shape in shapes for n in shape):
        return steps_of(_now, operands)
    plan = _Plan(len(operands))
    plan.result = steps_of(plan.step, list(range(len(operands))))
    if len(_plans) >= _MOST_PLANS:
        _plans.clear()
    _plans[key] = plan
    return plan.run(operands)


def contract_equation(equation, operands):
    """einsum(equation, *operands)."""
    shapes = [tuple(x.shape) for x in operands]
    key = (equation, *shapes)
    plan = _plans.get(key)
    if plan is not None:
        return plan.run(operands)
    labels, once, result = _parsed(equation.replace(" ", ""), shapes)

    def steps_of(step, values):
        x = _contracted(step, "einsum", values, shapes, labels, once)
        return _on_diagonals(step, x, once, result)

    return _planned(key, operands, shapes, steps_of)


def contract(name, operands, labels, result):
    """The sum of products of operands over the labels that `result` has not.

    labels: for each operand the labels of its dimensions (any hashable values).
    """
    shapes = [tuple(x.shape) for x in operands]
    return _contracted(_now, name, operands, shapes, labels, result)


def _parsed(equation, shapes):
    """Labels of each operand, those of the result once, and those of the result."""
    left, arrow, right = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(shapes):
        raise AssertionError(
            f"(InvalidArgument) [einsum] equation {equation!r} has {len(terms)} operands, got {len(shapes)}."
            " Do this: separate the terms of the operands by commas."
        )
    labels = [_labels(term, len(shape), equation) for term, shape in zip(terms, shapes)]
    if arrow:
        rank = max(sum(isinstance(v, int) for v in own) for own in labels)
        ellipsis_ = list(range(-rank, 0))
        result = _labels(right, None, equation, ellipsis_)
        known = {v for own in labels for v in own}
        for v in result:
            if v not in known:
                raise ValueError(
                    f"(InvalidArgument) [einsum] label {v!r} of the result comes in no operand of {equation!r}."
                    " Do this: use labels of the operands."
                )
    else:
        every = [v for own in labels for v in own]
        result = sorted({v for v in every if isinstance(v, int)})
        result += sorted(v for v in set(every) if not isinstance(v, int) and every.count(v) == 1)
    once = list(dict.fromkeys(result))
    return labels, once, result


def _on_diagonals(step, x, labels, wanted):
    """x with a dimension for each of `wanted`: where a label comes again, x stands on the diagonal
    and zeros beside it."""
    labels = list(labels)
    for v in dict.fromkeys(labels):
        for _ in range(wanted.count(v) - 1):
            d = labels.index(v)
            last = [k for k in range(len(labels)) if k != d] + [d]
            x = step("diag_embed", step("transpose", x, last), 0, -2, -1)
            labels = [labels[k] for k in last] + [v]
    places = {v: [d for d, own in enumerate(labels) if own == v] for v in labels}
    return _permuted(step, x, [places[v].pop() for v in wanted])


def _labels(term, rank, equation, ellipsis_=None):
    """One label for each dimension: letters, and for "..." negative numbers, -1 the last."""
    before, dots, after = term.partition("...")
    for letter in before + after:
        if not letter.isalpha():
            raise AssertionError(
                f"(InvalidArgument) [einsum] {letter!r} is no label, in equation {equation!r}. Do this: use letters."
            )
    if rank is None:
        return [*before, *(ellipsis_ if dots else []), *after]
    extra = rank - len(before) - len(after)
    if extra < 0 or (extra and not dots):
        raise AssertionError(
            f"(InvalidArgument) [einsum] {term!r} of equation {equation!r} has {len(before + after)} labels, its"
            f" operand has {rank} dimensions."
            " Do this: write one letter for each dimension."
        )
    return [*before, *range(-extra, 0), *after]


def _contracted(step, name, operands, shapes, labels, result):
    sizes = {}
    for shape, own in zip(shapes, labels):
        for v, n in zip(own, shape):
            have = sizes.get(v, 1)
            if have not in (1, n) and n != 1 and n >= 0 and have >= 0:
                raise ArgumentError(
                    f"(InvalidArgument) [{name}] the sizes of a dimension must be equal: {v!r} is {have} and {n} in"
                    f" operands of shapes {[list(shape) for shape in shapes]}."
                    " Do this: use another label for one of them."
                )
            if have == 1 or (have < 0 and n > 1):
                sizes[v] = n
    ready = [_simplified(step, *operand, sizes) for operand in zip(operands, shapes, labels)]
    while len(ready) > 1:
        (x, x_labels), (y, y_labels) = ready[0], ready[1]
        rest = {v for _, own in ready[2:] for v in own} | set(result)
        ready[:2] = [_pair(step, x, x_labels, y, y_labels, rest, sizes)]
    x, own = ready[0]
    x, own = _summed(step, x, own, set(result))
    return _ordered(step, x, own, result)


def _simplified(step, x, shape, labels, sizes):
    """Without repeated labels (their diagonals), and without sizes of 1 that broadcast."""
    labels = list(labels)
    squeezed = [d for d, v in enumerate(labels) if shape[d] == 1 and sizes[v] != 1]
    if squeezed:
        x = step("squeeze", x, squeezed)
        labels = [v for d, v in enumerate(labels) if d not in squeezed]
    for v in dict.fromkeys(labels):
        while labels.count(v) > 1:
            first = labels.index(v)
            second = labels.index(v, first + 1)
            x = step("diagonal", x, 0, first, second)
            labels = [w for d, w in enumerate(labels) if d not in (first, second)] + [v]
    return x, labels


def _summed(step, x, labels, kept):
    drop = [d for d, v in enumerate(labels) if v not in kept]
    if drop:
        x = step("sum", x, drop)
        labels = [v for v in labels if v in kept]
    return x, labels


def _ordered(step, x, labels, wanted):
    return _permuted(step, x, [labels.index(v) for v in wanted])


def _permuted(step, x, perm):
    return x if perm == list(range(len(perm))) else step("transpose", x, perm)


def _grouped(step, x, labels, batch, first, second):
    """x as [batch.., first, second], each group one dimension."""
    x = _ordered(step, x, labels, batch + first + second)
    b = len(batch)
    if len(second) > 1:
        x = step("flatten", x, b + len(first), -1)
    if len(first) > 1:
        x = step("flatten", x, b, b + len(first) - 1)
    missing = [b] if not first else []
    missing += [b + 1] if not second else []
    return step("unsqueeze", x, missing) if missing else x


def _size(step, x, labels, label, sizes):
    """The size of a label: a number, or a tensor where a Program does not know it."""
    return sizes[label] if sizes[label] >= 0 else step("shape", x)[labels.index(label)]


def _pair(step, x, x_labels, y, y_labels, rest, sizes):
    """The product of two operands, summed over what neither the others nor the result have."""
    x, x_labels = _summed(step, x, x_labels, rest | set(y_labels))
    y, y_labels = _summed(step, y, y_labels, rest | set(x_labels))
    both = [v for v in x_labels if v in y_labels]
    batch = [v for v in both if v in rest]
    inner = [v for v in both if v not in rest]
    left = [v for v in x_labels if v not in both]
    right = [v for v in y_labels if v not in both]
    if not inner:
        # No sum: an elementwise product with dimensions of 1 where a label is missing.
        order = batch + left + right
        x = _ordered(step, x, x_labels, batch + left)
        y = _ordered(step, y, y_labels, batch + right)
        b, n = len(batch), len(order)
        if right and left:
            x = step("unsqueeze", x, list(range(b + len(left), n)))
            y = step("unsqueeze", y, list(range(b, b + len(left))))
        elif right:
            x = step("unsqueeze", x, list(range(b, n))) if len(x_labels) < n else x
        elif left:
            y = step("unsqueeze", y, list(range(b, n))) if len(y_labels) < n else y
        return step("multiply", (x, y)), order
    kept = batch
    if not batch and len(left) > 1:
        # A stack of rows times one matrix: the rows' dimensions stay apart.
        kept, left = left, []
        x = _ordered(step, x, x_labels, kept + inner)
        x = step("flatten", x, len(kept), -1) if len(inner) > 1 else x
        product = step("matmul", (x, _grouped(step, y, y_labels, [], inner, right)))
        gone = [] if right else [len(kept)]
    else:
        product = step(
            "matmul",
            (
                _grouped(step, x, x_labels, batch, left, inner),
                _grouped(step, y, y_labels, batch, inner, right),
            ),
        )
        gone = [] if left else [len(kept)]
        gone += [] if right else [len(kept) + 1]
    if gone:
        product = step("squeeze", product, gone)
    if len(left) > 1 or len(right) > 1:
        parts = [_size(step, x, x_labels, v, sizes) for v in left]
        parts += [_size(step, y, y_labels, v, sizes) for v in right]
        if any(isinstance(n, int) and n == 0 for n in parts):
            product = step("zeros", [sizes[v] for v in kept] + parts, product.dtype)
        else:  # a 0 keeps the size in its place
            product = step("reshape", product, [0] * len(kept) + parts)
    return product, kept + left + right
