"""Averaging gradients over processes while backward goes on."""

from __future__ import annotations

import weakref

from argosy import _backward, _core
from argosy import tensor as tensors
from argosy._beside import zeros_beside
from argosy._framework import in_dynamic_mode
from argosy.amp._state import as_called
from argosy.autograd import no_grad

from ._buckets import Bucket, average, in_buckets, sum_rows
from .communication import _calls
from .communication.collectives import _OPERATIONS, ReduceOp

__all__ = []

# What a gradient may be, told to other processes by its place here; 0 is none.
_FORMS = [None] + [
    (dtype, rows)
    for rows in (False, True)
    for dtype in (_core.float16, _core.bfloat16, _core.float32, _core.float64,
                  _core.complex64, _core.complex128)
]  # fmt: skip


# Gradients travel in this many buckets, so that most are exchanged before the last is complete; but not in
# smaller ones than these bytes, and not in larger ones than the limits.
_BUCKETS, _LEAST = 6, 1 << 20
# Over a network the first gradient that is large and the last one travel in parts, some of their rows while
# others are computed: nothing else travels before the first, and nothing else is left to be computed while the
# last does. In so many at most; gradients of fewer bytes, such as that of the same layer's bias, go after it.
PARTS, _SMALL = 4, 1 << 16


def travels_in_parts(group):
    """Whether that pays for gradients of a group: its processes are joined by a network."""
    return _core.comm_info(group.process_group)[3] == "tcp"


class _Planned:
    """A gradient to come: as large as in_buckets has to know."""

    def __init__(self, index, parameter, dtype):
        self.index = index
        self.dtype = dtype
        self.size = parameter.size
        self._item = parameter.element_size() * dtype.itemsize // parameter.dtype.itemsize

    def element_size(self):
        return self._item


class _Plan:
    """How gradients are exchanged: the same in all processes.

    Attributes:
        early: Lists of parameters' numbers, each exchanged as soon as it is complete and those before it
            are.
        late: Lists of those whose gradients may be added to more than once in a pass.
        rows: Numbers of those whose gradients have rows only.
        stale: Whether the next pass makes another one.
        dtypes: Of gradients, by number. Who is not in it has had no gradient in any process.
        parts: By place in `early`, of buckets of one gradient that are exchanged in parts: the rows where
            these end.
    """

    def __init__(self, parameters, order, forms, several, limits, in_parts=False):
        self.dtypes = {i: _FORMS[form][0] for i, form in enumerate(forms) if form}
        self.rows = [i for i in order if forms[i] and _FORMS[forms[i]][1]]
        dense = [i for i in order if forms[i] and not _FORMS[forms[i]][1]]

        def buckets(chosen):
            items = [_Planned(i, parameters[i], self.dtypes[i]) for i in chosen]
            share = sum(one.size * one.element_size() for one in items) // _BUCKETS
            sizes = [min(limit, max(share, _LEAST)) for limit in limits]
            return [[one.index for one in bucket] for bucket in in_buckets(items, sizes)]

        self.early = buckets([i for i in dense if not several[i]])
        self.late = buckets([i for i in dense if several[i]])
        self.parts = self._in_parts(parameters, dense) if in_parts else {}
        self.place = {i: k for k, bucket in enumerate(self.early) for i in bucket}
        self.stale = False

    def _in_parts(self, parameters, order):
        """Ends of parts by place in `early`. What they would wait for goes after them, if it is small, or comes
        right before and is not large, as the gradient of a bias."""

        def size_of(bucket):
            items = [_Planned(i, parameters[i], self.dtypes[i]) for i in bucket]
            return sum(one.size * one.element_size() for one in items)

        sizes = {bucket[0]: size_of(bucket) for bucket in self.early}
        comes = {i: k for k, i in enumerate(order)}
        alone = [bucket for bucket in self.early if len(bucket) == 1]
        large = [bucket for bucket in alone if 2 * sizes[bucket[0]] // _LEAST > 1]
        found = {}
        for bucket in large[:1] + large[1:][-1:]:
            rows = parameters[bucket[0]].shape[:1]
            count = min(PARTS, 2 * sizes[bucket[0]] // _LEAST)
            if not rows or rows[0] < count:
                continue
            found[bucket[0]] = [rows[0] * (k + 1) // count for k in range(count)]
            place = first = self.early.index(bucket)
            while first > 0:
                before = self.early[first - 1]
                next_to_it = comes[before[-1]] + 1 == comes[bucket[0]]
                if sizes[before[0]] >= (_LEAST if next_to_it else _SMALL):
                    break
                first -= 1
            self.early.insert(first, self.early.pop(place))
        return {k: found[b[0]] for k, b in enumerate(self.early) if b[0] in found}

    def add(self, index, form):
        """Takes in a parameter of which nothing was known, for this pass."""
        self.stale = True
        self.dtypes[index], rows = _FORMS[form]
        if rows:
            self.rows.append(index)
        else:
            self.late.append([index])


class _Pass:
    """What has happened in a pass of backward."""

    def __init__(self, plan, wanted):
        self.wanted = wanted
        self.arrivals = {}  # by number, in the order of the first ones
        self.lacking = [len(bucket) for bucket in plan.early] if plan else []
        self.started = 0  # how many of plan.early
        self.buckets = 0  # how many exchanges have begun
        self.under_way = []  # of these: (work, numbers, gradients)
        self.again = set()  # those added to after their exchange had begun
        self.parts = {}  # by place, of those in plan.parts: their exchanges that have begun

    def arrive(self, index, plan):
        count = self.arrivals[index] = self.arrivals.get(index, 0) + 1
        place = plan.place.get(index) if plan else None
        if place is None:
            return
        if count == 1:
            self.lacking[place] -= 1
        elif place < self.started:
            self.again.add(index)


class Reducer:
    """Averages the gradients of parameters over a group, in each pass of backward that reaches one of them
    while `wanted` is set.

    The first exchange finds out in which order gradients come; later ones begin in the middle of backward,
    bucket after bucket, and are waited for at its end. The whole gradient is averaged, also what passes
    before have left in it: they were averaged then, or were kept back by no_sync.

    Args:
        parameters (list): Of the same number, shapes and order in all processes.
        limits (list): Bytes of the first buckets; the last for all further ones.
        find_unused (bool): Whether a pass may leave parameters out, also other ones in each process.
            Otherwise only those that the first exchange finds left out, which are no part of later ones.

    Threads: one pass at a time; guarded by the GIL.
    """

    def __init__(self, parameters, group, limits, find_unused):
        # What is last in a layer has its gradient first.
        self._parameters = list(reversed(parameters))
        self._group = group
        self._limits = limits
        self._find_unused = find_unused
        self._plan = None
        self._pass = None
        self._held = set()  # reached by passes that exchanged nothing
        self._expected = None  # reached before the first exchange, in this process
        self._interrupted = False  # a pass ended by an exception after exchanges had begun
        self.wanted = False
        self.hook = average
        self._parted = []  # who take their gradients in parts
        me = weakref.ref(self)
        exchanges = [
            (p, _core.add_exchange(p, _Arrival(me, i))) for i, p in enumerate(self._parameters)
        ]
        weakref.finalize(self, _remove, exchanges, self._parted)

    # In the middle of backward

    def arrive(self, index):
        """The gradient of a parameter is complete, as far as this pass knows: a pass within it, or a
        second one, may add to it."""
        current = self._current()
        current.arrive(index, self._plan)
        if current.wanted and self._plan is not None:
            while current.started < len(current.lacking) and not current.lacking[current.started]:
                self._start_next(current)

    def arrive_in_part(self, index, number):
        """The rows of a part of a gradient that the plan exchanges in parts are complete."""
        current = self._current()
        if not (current.wanted and self._plan is not None):
            return
        place = self._plan.place[index]
        if not (self._in_parts(place) and current.started == place):
            return
        if number == 0 and place not in current.parts and self._as_planned(place):
            current.parts[place] = _Parts(self._dense(index))
        if place in current.parts:
            self._start_part(current, place, number)

    def _as_planned(self, place):
        """Whether the gradient in a bucket of one can be exchanged as it is."""
        (index,) = self._plan.early[place]
        gradient = self._parameters[index].grad
        return not gradient.is_selected_rows() and gradient.dtype == self._plan.dtypes[index]

    def _current(self):
        if self._pass is None:
            self._pass = _Pass(self._plan, self.wanted)
            _backward.tell(self)
        return self._pass

    def _in_parts(self, place):
        """Whether a gradient is exchanged in parts: the same in all processes. A hook of the program's own
        gets whole ones."""
        return place in self._plan.parts and hasattr(self.hook, "wire")

    def _start_next(self, current):
        place = current.started
        bucket = self._plan.early[place]
        if self._in_parts(place):
            if place not in current.parts:
                current.parts[place] = _Parts(self._dense(*bucket))
            parts = current.parts[place]
            for number in range(len(parts.works), len(self._plan.parts[place])):
                self._start_part(current, place, number)
            current.under_way.append((parts, bucket, [parts.gradient]))
        else:
            self._start(current, bucket)
        current.started += 1

    def _start_part(self, current, place, number):
        (index,) = self._plan.early[place]
        parameter = self._parameters[index]
        parts, ends = current.parts[place], self._plan.parts[place]
        with no_grad():
            rows = parts.gradient[ends[number - 1] if number else 0 : ends[number]]
        parts.works.append(self._begin(current, [parameter], [rows]))
        _core.exchange_under_way([parameter], parts.wait)

    def _start(self, current, bucket):
        """Starts the exchange of a bucket of the plan. Who has no gradient takes part with zeros, which
        become its gradient if any process has one."""
        gradients = [self._dense(i) for i in bucket]
        parameters = [self._parameters[i] for i in bucket]
        work = self._begin(current, parameters, gradients)
        if work is not None:
            _core.exchange_under_way(parameters, work.wait)
        current.under_way.append((work, bucket, gradients))

    def _begin(self, current, parameters, gradients):
        """Begins an exchange; what has wait(), or None if all is done."""
        if self._interrupted:
            # The others did not see it, or begin anew as well: else they would mix up two passes.
            self._interrupted = False
            _calls.call(self._group, "barrier")
        work = self.hook(Bucket(current.buckets, parameters, gradients, self._group))
        current.buckets += 1
        return None if work is None else _Once(work)

    def _dense(self, index):
        parameter, dtype = self._parameters[index], self._plan.dtypes[index]
        gradient = parameter.grad
        if gradient is None:
            return zeros_beside(parameter, parameter.shape, dtype)
        if gradient.is_selected_rows():
            gradient = parameter.grad = gradient.to_dense()
        if gradient.dtype != dtype:
            gradient = parameter.grad = gradient.astype(dtype)
        return gradient

    # At its end

    def abandon(self):
        """The pass ended by an exception."""
        current, self._pass = self._pass, None
        self._interrupted |= bool(current.under_way or current.parts)

    def finish(self):
        """The pass has ended: waits until gradients are those of all processes."""
        current, self._pass = self._pass, None
        self._held.update(current.arrivals)
        if not current.wanted:
            return
        reached, self._held = self._held, set()
        try:
            with no_grad(), as_called():  # as in the middle of backward
                self._exchange(current, reached)
        except BaseException:
            self._interrupted |= bool(current.under_way or current.parts)
            raise

    def _exchange(self, current, reached):
        learns = self._plan is None
        if learns:
            used = self._learn(current, reached)
            self._expected = frozenset(reached)
        elif not self._find_unused:
            self._check(reached)
            used = self._plan.dtypes.keys()
        while current.started < len(self._plan.early):
            self._start_next(current)
        if self._find_unused and not learns:
            used = self._find_used(current, reached)
        for bucket in self._plan.late:
            self._start(current, bucket)
        if current.again:
            self._wait(current, used)
            for one in sorted(current.again):
                self._start(current, [one])
        self._wait(current, used)
        for index in self._plan.rows:
            if index in used:
                sum_rows(self._parameters[index], self._group, self._group.nranks)
        if self._plan.stale:
            self._plan = None
            self._leave_parts()

    def _check(self, reached):
        """A pass has to reach what the first one did."""
        missing = self._expected - reached
        if missing:
            expected = len(self._expected)
            raise RuntimeError(
                f"[DataParallel] the loss reached {expected - len(missing)} of the {expected} parameters that"
                f" it reached in the first step, and not {self._names(missing)}. Do this: pass"
                " find_unused_parameters=True, or set stop_gradient of what is not trained."
            )
        fresh = reached - self._plan.dtypes.keys()
        if fresh:
            raise RuntimeError(
                "[DataParallel] the loss reached parameters that it reached in no process in the first step,"
                f" {self._names(fresh)}: their gradients are not exchanged. Do this: pass"
                " find_unused_parameters=True, or let the first step use them."
            )

    def _names(self, numbers):
        names = [self._parameters[i].name for i in sorted(numbers)]
        return ", ".join(names[:8]) + (", .." if len(names) > 8 else "")

    def _wait(self, current, used):
        under_way, current.under_way = current.under_way, []
        for work, bucket, gradients in under_way:
            parameters = [self._parameters[i] for i in bucket]
            if work is not None:
                work.wait()
                _core.exchange_under_way(parameters, None)
            for index, parameter, gradient in zip(bucket, parameters, gradients):
                if parameter.grad is None and index in used:  # another process has one
                    parameter.grad = gradient

    def _take_parts(self):
        """Lets the gradients that the plan exchanges in parts come in them."""
        self._leave_parts()
        for place, ends in self._plan.parts.items():
            (index,) = self._plan.early[place]
            self._parted.append(self._parameters[index])
            part = _ArrivalOfPart(weakref.ref(self), index)
            _core.exchange_in_parts(self._parameters[index], ends, part)

    def _leave_parts(self):
        while self._parted:
            _core.exchange_in_parts(self._parted.pop(), [], None)

    # What processes tell each other

    def _form(self, index, reached):
        if index not in reached:
            return 0
        gradient = self._parameters[index].grad
        return _FORMS.index((gradient.dtype, gradient.is_selected_rows()))

    def _agree(self, current, reached):
        """The forms of gradients, and which were added to several times, in any process."""
        count = len(self._parameters)
        mine = [self._form(i, reached) for i in range(count)]
        mine += [int(current.arrivals.get(i, 0) > 1) for i in range(count)]
        told = tensors.to_tensor(mine, dtype="int32")
        _calls.call(self._group, "all_reduce", [told], op=_OPERATIONS[ReduceOp.MAX])
        told = told.tolist()
        return told[:count], told[count:]

    def _learn(self, current, reached):
        """Makes the plan; the numbers of parameters that any process has reached."""
        forms, several = self._agree(current, reached)
        count = len(self._parameters)
        order = list(current.arrivals)
        order += [i for i in range(count) if i not in current.arrivals]
        told = tensors.to_tensor(order, dtype="int64")
        _calls.call(self._group, "broadcast", [told], root=0)
        self._plan = _Plan(
            self._parameters,
            told.tolist(),
            forms,
            several,
            self._limits,
            travels_in_parts(self._group),
        )
        self._take_parts()
        return {i for i, form in enumerate(forms) if form}

    def _find_used(self, current, reached):
        """The numbers of parameters that any process has reached; `current.again` becomes that of all."""
        forms, several = self._agree(current, reached)
        current.again = {i for i in self._plan.place if several[i]}
        used = {i for i, form in enumerate(forms) if form}
        for index in sorted(used - self._plan.dtypes.keys()):
            self._plan.add(index, forms[index])
        return used


class _Once:
    """Work that is waited for once, however many ask: its wait may compute."""

    def __init__(self, work):
        self._work = work

    def wait(self):
        work, self._work = self._work, None
        if work is not None:
            with no_grad(), as_called():  # a hook or a user's code may ask
                work.wait()


class _Parts:
    """The exchange of a gradient in parts."""

    def __init__(self, gradient):
        self.gradient = gradient
        self.works = []  # of the parts that have begun

    def wait(self):
        for work in self.works:
            if work is not None:
                work.wait()


class _Arrival:
    """Called when a parameter's gradient is complete."""

    def __init__(self, reducer, index):
        self._reducer = reducer
        self._index = index

    def __call__(self):
        reducer = self._reducer()
        # While a step is captured, gradients are exchanged by operations.
        if reducer is not None and in_dynamic_mode():
            reducer.arrive(self._index)


class _ArrivalOfPart:
    """Called when some rows of a parameter's gradient are complete."""

    def __init__(self, reducer, index):
        self._reducer = reducer
        self._index = index

    def __call__(self, number):
        reducer = self._reducer()
        if reducer is not None and in_dynamic_mode():
            reducer.arrive_in_part(self._index, number)


def _remove(exchanges, parted):
    for parameter, number in exchanges:
        _core.remove_exchange(parameter, number)
    for parameter in parted:
        _core.exchange_in_parts(parameter, [], None)
