"""Calls of Python functions recorded as Programs, and these run with the gradient of eager mode."""

import contextlib
import itertools

from argosy import _core
from argosy._beside import zeros_beside
from argosy._capturing import (  # noqa: F401
    capturing,
    exact_numbers,
    making_numbers_exact,
    noting,
    reads_of_thread,
    recording,
)
from argosy._support import is_operand
from argosy.autograd import no_grad
from argosy.tensor.random import get_rng_state, set_rng_state
from argosy.utils.layers_utils import flatten, pack_sequence_as

from .made_numbers import made_kind
from .reads import note_function, noting_reads
from .transform import CaptureError, checked_outputs, transform, why_not

_executor = None
_count = 0


def execute(program, feeds, fetches):
    """Values of `fetches` for `feeds`, in the order of the Program's inputs."""
    global _executor
    if _executor is None:
        _executor = _core.executor_new(256)
    return _core.executor_run(_executor, program, feeds, fetches, None)


def count():
    """How often functions were captured in this process, also those that could not be."""
    return _count


class Leaf:
    """Place of a tensor in the structure of a result; kind: bool, int or float where it is such a number there."""

    __slots__ = ("kind", "place")

    def __init__(self, place, kind=None):
        self.place, self.kind = place, kind

    def of(self, tensors):
        """What stands there."""
        found = tensors[self.place]
        return found if self.kind is None else self.kind(found.item())


def filled(structure, tensors):
    """A copy of the structure with tensors in their places."""
    if type(structure) is Leaf:
        return structure.of(tensors)
    leaves = flatten(structure)
    return pack_sequence_as(structure, [v.of(tensors) if type(v) is Leaf else v for v in leaves])


def _write_back(argument, value):
    """The captured function has written to its argument, which is `value` now."""
    follows = not value.stop_gradient and not (argument.is_leaf and not argument.stop_gradient)
    with contextlib.nullcontext() if follows else no_grad():
        argument[...] = value


class Captured:
    """One specialization of a function: a Program, what it takes and what it gives back.

    program: the core Program; inputs, outputs: its symbolic tensors; structure: the function's
    result with a Leaf for each tensor; exchanging: what `noting` found; reads: the Python state that
    it holds for, None for any; written: what of that state the function itself has changed.
    """

    reads = None
    written = ()
    leaves_refused = ()  # numbers of inputs that must be no leaves that need a gradient
    extra = ()  # tensors that it leaves in attributes, behind outputs
    left_in = ()  # the object, the attribute, and the structure of its value
    reshaped_inputs = ()  # numbers of inputs that it gives another shape in place, and that shape
    changed_inputs = ()  # numbers of inputs that it writes in place, and of what they become, behind outputs
    _trained = ([], b"")  # tensors of outside that it reads, and which of them need no gradient
    numbers = None  # what NumbersRead found
    _outside = ()  # tensors of outside that it reads, if it writes inputs
    _written_outside = ()  # tensors of outside that it writes

    def __init__(self, program, inputs, outputs, structure, exchanging=()):
        self.program = program
        self.inputs = inputs
        self.outputs = outputs
        self.structure = structure
        self._exchanging = exchanging
        self._split = None
        self._grad_free = None

    @property
    def main_program(self):
        """The Program, with its operations, variables and text."""
        from argosy.static.program import Program

        return Program(self.program)

    @property
    def parameters(self):
        """The trainable parameters and the buffers that the Program reads."""
        return [tensor for tensor, _, _ in _core.program_bound_states(self.program)]

    def rebuild(self, tensors):
        """The function's result, holding these tensors."""
        return filled(self.structure, tensors)

    def __call__(self, feeds):
        """feeds: tensors in the order of inputs. The function's result."""
        for layer in self._exchanging:
            layer._begin_pass()
        given = feeds
        if _core.is_grad_enabled() and self._needs_grad():
            feeds = list(feeds)
            for i, _ in self.changed_inputs:
                feeds[i] = given[i].clone()  # as it was, for the gradient
            made = self._run_with_grad(feeds)
        else:
            fetches = [*self.outputs, *self.extra] if self.extra else self.outputs
            made = execute(self.program, feeds, fetches)
        for owner, name, structure in self.left_in:
            setattr(owner, name, filled(structure, made))
        for i, place in self.changed_inputs:
            _write_back(given[i], made[place])
        for i, shape in self.reshaped_inputs:
            given[i].reshape_(shape)
        return self.rebuild(made)

    def holds(self):
        """Whether the function would be captured as it was: what it read is the same, and the same needs
        a gradient."""
        tensors, flags = self._trained
        same = not tensors or _core.stop_gradients(tensors) == flags
        same = same and (self.numbers is None or self.numbers.hold())
        return same and (self.reads is None or self.reads.hold())

    def changed(self):
        """Names of what it read and is another now."""
        tensors, flags = self._trained
        now = _core.stop_gradients(tensors)
        names = [] if self.reads is None else self.reads.changed()
        names += [] if self.numbers is None else self.numbers.changed()
        return names + [f"{t.name}.stop_gradient" for t, a, b in zip(tensors, flags, now) if a != b]

    def refuses(self, feeds):
        """Whether the function writes in place into one of these that eager mode does not let it write, that is not
        contiguous, or whose memory it has by another name, too: what it reads there would not be what it has
        written."""
        if any(not feeds[i].is_contiguous() for i, _ in self.changed_inputs):
            return True  # what was a view of it when it was contiguous may be a copy
        refused = bool(self.leaves_refused) and any(
            feeds[i].is_leaf and not feeds[i].stop_gradient and _core.is_grad_enabled()
            for i in self.leaves_refused
        )
        return refused or (
            bool(self.changed_inputs or self._written_outside) and self._has_other_names(feeds)
        )

    def _has_other_names(self, feeds):
        """Whether an input is a tensor of outside that the function writes, or one that it writes is another input
        or a tensor of outside; or part of these."""
        for i, _ in self.changed_inputs:
            shares = feeds[i]._is_shared_buffer_with
            if any(map(shares, itertools.chain(feeds[:i], feeds[i + 1 :], self._outside))):
                return True
        return any(any(map(t._is_shared_buffer_with, feeds)) for t in self._written_outside)

    def _needs_grad(self):
        if self._grad_free is None:
            self._grad_free = all(v.stop_gradient for v in (*self.outputs, *self.extra))
        return not self._grad_free

    def _run_with_grad(self, feeds):
        if self._split is None:
            self._split = _Split(self)
        return self._split.run(feeds)


class _Split:
    """The two Programs of a captured function whose result is differentiated."""

    def __init__(self, captured):
        # Gradients are appended where the handles belong that gradient functions may hold (PyLayer);
        # the Captured keeps a copy from before.
        program, inputs = captured.program, captured.inputs
        outputs = [*captured.outputs, *captured.extra]
        captured.program = _core.program_clone(program)
        captured.inputs = [_core.program_counterpart(captured.program, v) for v in inputs]
        copies = [_core.program_counterpart(captured.program, v) for v in outputs]
        results = len(captured.outputs)
        captured.outputs, captured.extra = copies[:results], copies[results:]
        self.differentiable = [i for i, v in enumerate(outputs) if not v.stop_gradient]
        states = _core.program_bound_states(program)
        # What a layer computes anew in each call (weight_norm) has no gradient of its own, and its last call's graph
        # is over.
        self.parameters = [
            t for t, trainable, written in states if trainable and (t.is_leaf or not written)
        ]
        self.wanted_inputs = [i for i, v in enumerate(inputs) if not v.stop_gradient]
        wanted = [inputs[i] for i in self.wanted_inputs] + self.parameters
        targets = [outputs[i] for i in self.differentiable]
        _core.program_all_forward(program)
        with recording(program):
            dys = [
                _core.program_input(program, f"{v.name}@GRAD", v.shape, v.dtype) for v in targets
            ]
            grads = _core.program_gradients(program, targets, dys, wanted, [])
            outputs = [v if v._symbolic else v.clone() for v in outputs]
        self.program = program
        self.gradients = [g for g in grads if g is not None]
        self.random = _core.program_is_random(program)
        self.forward, self.backward, self.taken, saved, self.made = _core.program_split(
            program, len(inputs), outputs, grads
        )
        self.forms = [(v.shape, v.dtype) for v in targets]
        self.results = len(outputs)
        self.forward_outputs = _core.program_outputs(self.forward)
        self.backward_outputs = _core.program_outputs(self.backward)
        # State that the backward part reads must be what the forward part read.
        self.read_again = [t for t, _, _ in _core.program_bound_states(self.backward)]

    def run(self, feeds):
        random_state = get_rng_state() if self.random else None
        values = execute(self.forward, feeds, self.forward_outputs)
        results, saved = values[: self.results], values[self.results :]
        saved = [feeds[i] for i in self.taken] + saved
        versions = [t.inplace_version for t in self.read_again]
        tied = [results[i] for i in self.differentiable]
        given = [feeds[i] for i in self.wanted_inputs] + self.parameters

        def backward(dys):
            for t, version in zip(self.read_again, versions):
                if t.inplace_version != version:
                    raise RuntimeError(
                        f"[to_static] '{t.name}' was written after the captured function read it,"
                        " so its gradient cannot be computed any more. Do this: call backward()"
                        " before the optimizer's step()."
                    )
            dys = [
                zeros_beside(dys, r.shape, dtype) if dy is None else dy
                for dy, r, (_, dtype) in zip(dys, tied_forms, self.forms)
            ]
            if _core.is_grad_enabled():
                made = iter(self._differentiable(feeds, dys, random_state))
            else:
                made = iter(execute(self.backward, saved + dys, self.backward_outputs))
            return [next(made) if there else None for there in self.made]

        tied_forms = [_Form(r.shape) for r in tied]
        _core.tie_pylayer("to_static", backward, given, tied)
        return results

    def _differentiable(self, feeds, dys, random_state):
        """The gradients, themselves with gradients: all is computed again on the eager tape."""
        before = get_rng_state() if self.random else None
        if self.random:
            set_rng_state(random_state)
        try:
            return _core.program_run_recorded(self.program, [*feeds, *dys], self.gradients)
        finally:
            if self.random:
                set_rng_state(before)


class NumbersRead:
    """Tensors of outside whose numbers Python, or an argument that takes numbers only, read while a function was
    captured, each with what changes when it is written or given other memory, its bytes, and a handle on that memory,
    without which other numbers might come to its address: the Program is one for these numbers."""

    def __init__(self, tensors):
        self._read = [[t, self._state_of(t), t.numpy().tobytes(), t.detach()] for t in tensors]

    @staticmethod
    def of(program):
        """Those of a Program that was just recorded; None if there are none."""
        tensors = _core.program_numbers_read(program)
        return NumbersRead(tensors) if tensors else None

    def hold(self):
        """Whether all have the same numbers."""
        return all(map(self._same, self._read))

    def changed(self):
        """Names of those that have others."""
        return [f"the numbers of {read[0].name}" for read in self._read if not self._same(read)]

    @staticmethod
    def _state_of(tensor):
        return tensor.inplace_version, tensor.data_ptr()

    @classmethod
    def _same(cls, read):
        tensor, state, data, _ = read
        now = cls._state_of(tensor)
        if now == state:
            return True
        if tensor.numpy().tobytes() != data:
            return False
        read[1], read[3] = now, tensor.detach()
        return True


class _Form:
    __slots__ = ("shape",)

    def __init__(self, shape):
        self.shape = shape


def capture_with_reads(function, args, kwargs, symbols, program, exact=False):
    """capture(..), with the Python state that the function read. What it changed of that is put back.
    exact: numbers that it makes of tensors are Python's (see made_numbers)."""
    with noting_reads() as reads, making_numbers_exact(exact):
        plain = getattr(function, "__func__", function)
        note_function(plain, why_not(plain) is None)
        try:
            captured = capture(function, args, kwargs, symbols, program)
        except BaseException:
            reads.settle()
            raise
        written = reads.settle()
    captured.reads, captured.written = reads, written
    return captured


def capture_whole(function, args, kwargs, symbols, program):
    """capture(..) of a function that does not run as Python: what it read of Python's state is decided for good,
    tensors that it sets as attributes are those of each call."""
    with noting_reads() as reads:
        reads.full_graph = True
        note_function(getattr(function, "__func__", function))
        return capture(function, args, kwargs, symbols, program)


def tensors_left(outputs):
    """What the function that is captured has set attributes to, of which each call makes another one: for each the
    object, the attribute, and the structure of its value, whose tensors are outputs or have places behind them; and
    these further tensors."""
    reads, left, extra = reads_of_thread(), [], []
    for name in () if reads is None else reads.tensors_lost():
        raise CaptureError(
            f"it sets {name} to a tensor, which only a run knows. Do this: set an attribute of an object, or return"
            " the tensor"
        )
    places = {id(v): i for i, v in enumerate(outputs)}
    for owner, name, value in () if reads is None else reads.tensors_set():
        leaves = flatten(value)
        values = [v for v in leaves if is_operand(v) and v._symbolic]
        try:
            for v in values:
                v.clone()  # what was made in a branch or a loop is gone
        except Exception:
            continue
        for v in values:
            if id(v) not in places:
                places[id(v)] = len(outputs) + len(extra)
                extra.append(v)
        leaves = [
            Leaf(places[id(v)], made_kind(v)) if is_operand(v) and v._symbolic else v
            for v in leaves
        ]
        left.append((owner, name, pack_sequence_as(value, leaves)))
    return left, extra


def _check_unchanged(packed, leaves):
    """Raises if the function has put something else into a list or dict among its arguments, whose leaves these
    were: no run of its Program does."""
    now = flatten(packed)
    if len(now) != len(leaves) or any(a is not b for a, b in zip(now, leaves)):
        raise CaptureError(
            "it changes a list or dict that is an argument, which a Program cannot. Do this: return what it puts there"
        )


def _check_form(symbol, form, value):
    """What an argument that is written becomes has to have its shape and dtype."""
    if (value.shape, value.dtype) != form or (symbol.shape, symbol.dtype) != form:
        raise CaptureError(
            f"it changes the shape or dtype of an argument in place, from {form[1]}{list(form[0])} to"
            f" {symbol.dtype}{list(symbol.shape)}. Do this: return a new tensor"
        )


def _check_not_made(leaf):
    """A Program gives the same object in each call: it cannot give a new one that holds other tensors, nor a text
    of tensors."""
    if type(leaf) is str and ", symbolic)" in leaf and "Tensor(shape=" in leaf:
        raise CaptureError(
            "it returns a text of a tensor, which only a run knows. Do this: return the tensor, and format it outside"
        )
    reads = reads_of_thread()
    if reads is not None and reads.makes_with_tensors(leaf):
        raise CaptureError(
            f"it makes a {type(leaf).__name__} that holds tensors, and returns it. Do this: return the tensors,"
            " in a tuple, list or dict if there are several"
        )


def capture(function, args, kwargs, symbols, program):
    """Records function(*args, **kwargs), which holds the symbolic inputs `symbols`, as a Captured.

    What cannot be captured raises what the function raised.
    """
    global _count
    _count += 1
    forms = [(v.shape, v.dtype) for v in symbols]
    given = flatten([list(args), kwargs])
    with noting() as exchanging, recording(program):
        result = checked_outputs(transform(function)(*args, **kwargs))
        _check_unchanged([list(args), kwargs], given)
        outputs, leaves = [], []
        for leaf in flatten(result):
            if not is_operand(leaf):
                _check_not_made(leaf)
                leaves.append(leaf)
                continue
            if not leaf._symbolic:
                leaf = leaf.detach() if leaf.stop_gradient else leaf.clone()
            leaves.append(Leaf(len(outputs), made_kind(leaf)))
            outputs.append(leaf)
        structure = pack_sequence_as(result, leaves)
        left, extra = tensors_left(outputs)
        changed, reshaped = [], []
        for i, (symbol, form) in enumerate(zip(symbols, forms)):
            if (symbol.shape, symbol.dtype) == form:
                continue
            known = -1 not in symbol.shape and _core.program_is_input_reshaped(program, i, symbol)
            if exact_numbers() or symbol.dtype != form[1] or not known:
                _check_form(symbol, form, symbol)
            reshaped.append((i, symbol.shape))
        for i, value in _core.program_changed_inputs(program):
            _check_form(symbols[i], forms[i], value)
            changed.append((i, len(outputs) + len(extra)))
            extra.append(value)
    # A handle that the function was given stands for what it has written there.
    inputs = _core.program_inputs(program)
    captured = Captured(program, inputs, outputs, structure, exchanging)
    captured.left_in, captured.extra, captured.changed_inputs = left, extra, changed
    captured.reshaped_inputs = reshaped
    captured.leaves_refused = _core.program_written_inputs(program)
    captured.numbers = NumbersRead.of(program)
    captured._outside = _core.program_read_tensors(program) if changed else ()
    states = _core.program_bound_states(program)
    captured._written_outside = [tensor for tensor, _, written in states if written]
    if _core.is_grad_enabled():
        tensors = _core.program_read_tensors(program)
        captured._trained = tensors, _core.stop_gradients(tensors)
    return captured
