"""The op test harness: one table row tests one op in every way that all ops share.

    CASES = [
        Case("hypot", [A(2, 3), A(2, 3)], ref=np.hypot, elementwise=True),
        Case("sum", [A(2, 3, 4)], {"axis": [0, 2]}, ref=lambda x, axis: x.sum(tuple(axis))),
    ]
    test_values, test_gradients, test_errors = table_tests(CASES)

For each row: values against the reference for every dtype the op claims, as contiguous, transposed,
stepped and (elementwise rows) expanded, 0-d and zero-size operands, in every mode (MODES); the
in-place form against the other one; first and second derivatives against central differences in
float64; the texts of errors. tests/ops/test_coverage.py fails for an op that no row tests.
"""

import dataclasses
import functools
import zlib
from typing import Any, Callable, Optional, Sequence

import numpy as np
import pytest
from tests.ops import said_shapes
from tests.ops.arrays import LAYOUTS, array, dtype_of, flat, rounded, tensor

import argosy
from argosy import _core
from argosy._recorder import Recorder

HALF = ("float16", "bfloat16")
FLOAT = ("float32", "float64", *HALF)
SIGNED = ("int8", "int16", "int32", "int64")
INT = (*SIGNED, "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
ALL = ("bool", *INT, *FLOAT, *COMPLEX)

# rtol, atol for one rounded operation; rows whose rounding errors add up say so with `tol`.
TOLERANCE = {
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 8e-3),
    "float32": (1e-5, 1e-6),
    "float64": (1e-12, 1e-13),
    "complex64": (1e-5, 1e-6),
    "complex128": (1e-12, 1e-13),
}


class A:
    """An operand: numbers of [low, high) in the dtype under test, or in a dtype of its own.

    Integers take the whole numbers of that range (non-negative if unsigned); away=d keeps floats at
    least d away from integers, where rounding ops and the like have steps.
    """

    def __init__(self, *shape, low=-2.0, high=2.0, dtype=None, away=0.0, grad=True):
        self.shape, self.low, self.high = tuple(shape), low, high
        self.dtype, self.away, self.grad = dtype, away, grad

    def make(self, rng, dtype, shape=None):
        dtype = self.dtype or dtype
        shape = self.shape if shape is None else shape
        if dtype == "bool":
            return rng.random(shape) < 0.5
        if "int" in dtype:
            low, high = int(np.ceil(self.low)), int(np.ceil(self.high))
            if dtype[0] == "u":
                low, high = max(low, 0), max(high, 1)
            return rng.integers(low, max(high, low + 1), shape).astype(dtype)
        x = rng.uniform(self.low, self.high, shape)
        if self.away:
            x = np.where(np.abs(x - np.round(x)) < self.away, x + 2 * self.away, x)
        if dtype in COMPLEX:
            x = x + 1j * rng.uniform(self.low, self.high, shape)
        return rounded(np.asarray(x), dtype)


@dataclasses.dataclass
class Case:
    """One row; see the module's text.

    fn: an op's name, a public function ("nn.functional.relu") or a callable. inputs: A, NumPy
    arrays (used as they are), lists of these, numbers or None; they come first, attrs follow by
    name. ref(*arrays, **attrs): float arrays arrive as float64 (complex128), so it is exact for
    every dtype; None: only gradients, modes and errors are tested.
    """

    fn: Any
    inputs: Sequence = ()
    attrs: dict = dataclasses.field(default_factory=dict)
    ref: Optional[Callable] = None
    dtypes: Optional[Sequence[str]] = None  # default: what the op claims for its first input
    grad: Optional[bool] = None  # default: whether the op has a gradient
    second: Optional[bool] = None  # second derivatives too; default: as grad
    out: Any = None  # output dtype: a name, a dict by input dtype, or a tuple of these
    elementwise: bool = False  # also 0-d, zero-size, broadcast and expanded operands
    strided: bool = True  # also non-contiguous operands
    shapes: Sequence = ()  # more shapes: each a list of shapes of the A operands in order
    tol: Any = 1.0  # factor on TOLERANCE, or a dict by dtype of (rtol, atol)
    errors: Sequence = ()  # (inputs, attrs, exception, part of its text)
    covers: Sequence[str] = ()  # ops that run inside and have no row of their own
    inplace: bool = True  # test the in-place forms if the op has them
    modes: bool = True  # False: cannot be recorded (reads values on the host)
    # {operand: axes} whose sizes a Program must know, as the rank or number of results depends on
    # them; all others are recorded as unknown too.
    known: dict = dataclasses.field(default_factory=dict)
    note: str = ""  # tells rows of one op apart

    def __str__(self):
        name = self.fn if isinstance(self.fn, str) else self.fn.__name__
        extra = ",".join(f"{k}={v}" for k, v in self.attrs.items())
        return "-".join(p for p in (name, extra, self.note) if p).replace(" ", "")[:80]

    @functools.cached_property
    def op(self):
        """The registry's description of the op under test, None for a plain callable."""
        return REGISTRY.get(self.fn) or PUBLIC.get(self.fn) if isinstance(self.fn, str) else None

    @functools.cached_property
    def call(self):
        """fn as a function of inputs and attributes."""
        if not isinstance(self.fn, str):
            return self.fn
        if self.fn not in REGISTRY or self.fn in PUBLIC:
            public = functools.reduce(getattr, self.fn.split("."), argosy)
            names = [i["name"] for i in self.op["inputs"]] if self.op else []
            if not names or len(self.inputs) > len(names):
                return public
            # By name: parameters of the function may stand between its tensors.
            return lambda *inputs, **attrs: public(**dict(zip(names, inputs)), **attrs)
        return positional(self.fn)

    def mode_names(self):
        return list(MODES) if self.modes else ["eager"]

    def rng(self):
        return np.random.default_rng(zlib.crc32(str(self).encode()))

    def all_dtypes(self):
        if self.dtypes is not None:
            return self.dtypes
        if self.op is None or not self.op["inputs"]:
            return ("float32",)
        return [t for t in ALL if t in self.op["inputs"][0]["dtypes"]]

    def has_grad(self):
        if self.grad is not None:
            return self.grad
        return bool(self.op and (self.op["has_gradient"] or self.op["composed"]))


REGISTRY = {op["name"]: op for op in _core.registry()}
PUBLIC = {text.partition("(")[0]: op for op in REGISTRY.values() for text in op["python"]}


def positional(name):
    """The C entry of an op as a function that takes attributes by name."""
    op, entry = REGISTRY[name], getattr(_core.ops, name)
    fields = [a["name"] for a in op["attrs"]]

    def call(*inputs, **attrs):
        unknown = set(attrs) - set(fields)
        assert not unknown, f"{name} has no attributes {unknown}"
        inputs = [*inputs, *[None] * (len(op["inputs"]) - len(inputs))]
        last = max([fields.index(a) + 1 for a in attrs], default=0)
        # Values of dtype attributes print as NumPy-like names, others as Python literals.
        defaults = [parse_default(a) for a in op["attrs"]]
        return entry(*inputs, *[attrs.get(f, d) for f, d in zip(fields[:last], defaults)])

    return call


def parse_default(attr):
    return attr["default"] if attr["kind"] == "dtype" else eval(attr["default"], {"inf": np.inf})


# --- modes ---


def eager(call, tensors, known=()):
    """Runs call(*tensors) at once."""
    return flat(call(*tensors))


def recorded(call, tensors, known=None):
    """Records call as a Program, then runs that. known: {operand: axes} of known size; None: all"""
    with Recorder() as r:
        inputs = [
            symbol(r, t, known if known is None else known.get(i, ()))
            for i, t in enumerate(tensors)
        ]
        outputs = flat(call(*inputs))
    return replayed(r, tensors, outputs)


def symbol(recorder, t, known, stop_gradient=True):
    """An input like t; known: the axes whose sizes are, None: all."""
    shape = t.shape
    if known is not None:
        known = [d % t.ndim for d in known]
        shape = [n if d in known else -1 for d, n in enumerate(shape)]
    return recorder.input(shape, dtype_of(t), stop_gradient)


def replayed(recorder, tensors, outputs):
    """The values of outputs; they must be what was inferred while recording."""
    recorder.verify()
    check_files(recorder._program)
    said_shapes.check_program(recorder._program)
    results = recorder.run(tensors, outputs)
    for i, (said, got) in enumerate(zip(outputs, results)):
        fits = len(said.shape) == len(got.shape) and said.dtype == got.dtype
        fits = fits and all(a in (-1, b) for a, b in zip(said.shape, got.shape))
        assert fits, (
            f"recorded output {i} is {dtype_of(said)}{list(said.shape)}, running it gives"
            f" {dtype_of(got)}{list(got.shape)}"
        )
    return results


def check_files(program):
    """A Program says the same after a way through bytes, and through text."""
    text = _core.program_print(program)
    if "py_call(" in text:
        return  # holds a Python function
    assert _core.program_print(_core.program_from_bytes(_core.program_to_bytes(program))) == text
    constants = [t for _, t in _core.program_describe(program)["constants"]]
    assert _core.program_print(_core.program_parse(text, constants, False)) == text


# How a function of tensors may be run; all must agree: run(call, tensors, case.known) -> tensors.
MODES = {
    "eager": eager,
    "recorded": lambda call, tensors, known: recorded(call, tensors),
    "recorded, sizes unknown": recorded,
}


# --- one call of a case ---


class Operands:
    """The operands of one call of a case, apart into tensors and the rest."""

    def __init__(self, case, dtype, rng, shapes=None, layout=None):
        self.dtype = dtype
        shapes = iter(shapes) if shapes is not None else None
        self.arrays, self.tensors, self.free = [], [], []

        def build(spec):
            if isinstance(spec, (list, tuple)):
                return [build(s) for s in spec]
            if isinstance(spec, A):
                x = spec.make(rng, dtype, None if shapes is None else next(shapes))
                own = spec.dtype or dtype
                self.tensors.append(tensor(x, own, layout))
                self.free.append(spec.grad and own in (*FLOAT, *COMPLEX))
            elif isinstance(spec, np.ndarray):
                own = dtype if spec.dtype.kind == "f" and dtype in FLOAT else str(spec.dtype)
                x = rounded(spec, own)
                self.tensors.append(tensor(x, own, layout))
                self.free.append(own in (*FLOAT, *COMPLEX))
            else:
                return spec
            self.arrays.append(x)
            return Slot(len(self.arrays) - 1)

        self.specs = [build(s) for s in case.inputs]

    def fill(self, values):
        """The arguments with values in the tensors' places."""

        def put(spec):
            if isinstance(spec, Slot):
                return values[spec.index]
            return [put(s) for s in spec] if isinstance(spec, list) else spec

        return [put(s) for s in self.specs]


@dataclasses.dataclass
class Slot:
    index: int


def exact(x):
    """For references: floats widened, so that the reference does not round."""
    kind = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind)
    return x.astype(kind) if kind else x


def expected_dtype(case, dtype, position, reference):
    out = case.out[position] if isinstance(case.out, tuple) else case.out
    if isinstance(out, dict):
        out = out.get(dtype)
    if out is not None:
        return dtype if out == "same" else out
    kind = reference.dtype.kind
    if kind in "biu":
        return str(reference.dtype)
    if kind == "c":
        return "complex128" if dtype in ("float64", "complex128") else "complex64"
    if dtype in COMPLEX:
        return "float64" if dtype == "complex128" else "float32"
    return dtype if dtype in FLOAT else "float32"


def tolerance(case, dtype):
    if isinstance(case.tol, dict):
        return case.tol.get(dtype, TOLERANCE.get(dtype, (0, 0)))
    rtol, atol = TOLERANCE.get(dtype, (0, 0))
    return rtol * case.tol, atol * case.tol


def compare(got, want, rtol, atol, what):
    """Fails with the worst position and both values."""
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    if got.size == 0:
        return
    if not rtol and not atol and got.dtype.kind in "biu" and want.dtype.kind in "biu":
        wrong = got != want
        error = wrong.astype(float)
    else:
        with np.errstate(all="ignore"):
            got, want = exact(got), exact(want)
            error = np.abs(got - want) - (atol + rtol * np.abs(want))
            same = (got == want) | (np.isnan(got) & np.isnan(want))
            # infinities and NaN must match as they are
            error = np.where(same, -np.inf, np.where(np.isfinite(error), error, np.inf))
            wrong = error > 0
    if wrong.any():
        at = np.unravel_index(np.argmax(error), error.shape)
        at = tuple(int(i) for i in at)
        pytest.fail(
            f"{what}: {int(wrong.sum())} of {wrong.size} elements differ, worst at {at}:"
            f" got {got[at]}, expected {want[at]} (rtol {rtol:g}, atol {atol:g})"
        )


def check_outputs(case, operands, outputs, what, arrays=None):
    args = operands.fill([exact(x) for x in (arrays or operands.arrays)])
    with np.errstate(all="ignore"):
        wants = case.ref(*args, **case.attrs)
    wants = list(wants) if isinstance(wants, (list, tuple)) else [wants]
    assert len(outputs) >= len(wants), f"{what}: {len(outputs)} outputs, expected {len(wants)}"
    for i, (got, want) in enumerate(zip(outputs, wants)):
        if want is None:  # the reference says nothing of this output
            continue
        want = np.asarray(want)
        dtype = expected_dtype(case, operands.dtype, i, want)
        label = f"{what}, output {i}" if len(wants) > 1 else what
        assert dtype_of(got) == dtype, f"{label}: dtype {dtype_of(got)}, expected {dtype}"
        rtol, atol = tolerance(case, dtype)
        if dtype in (*FLOAT, *COMPLEX):
            # What overflows the dtype must overflow in the reference too.
            with np.errstate(all="ignore"):
                limit = want.astype({"bfloat16": "float32"}.get(dtype, dtype))
            want = np.where(np.isinf(limit), limit, want)
        compare(array(got), want, rtol, atol, label)


def shape_sets(case):
    """Shapes of the A operands to try: the case's own first."""
    specs = [s for s in spec_list(case.inputs) if isinstance(s, A)]
    own = [s.shape for s in specs]
    yield "", own
    for more in case.shapes:
        yield f" shapes {more}", [tuple(s) for s in more]
    if not case.elementwise or not specs:
        return
    n = len(specs)
    yield " 0-d", [()] * n
    yield " zero-size", [(2, 0, 3)] * n
    yield " vector tails", [(37,)] * n
    if n > 1:
        yield " broadcast", [(2, 1, 3), (4, 1), (3,), (1,)][:n]
        yield " broadcast 0-d", [(3,), (), (3,), ()][:n]
        yield " broadcast zero-size", [(2, 0, 3), (1, 3), (3,), ()][:n]


def spec_list(specs):
    for s in specs:
        if isinstance(s, (list, tuple)):
            yield from spec_list(s)
        else:
            yield s


def check_values(case):
    rng = case.rng()
    for dtype in case.all_dtypes():
        for label, shapes in shape_sets(case):
            operands = Operands(case, dtype, rng, shapes)
            for mode, run in MODES.items():
                if mode not in case.mode_names():
                    continue
                call = functools.partial(call_case, case, operands)
                outputs = run(call, operands.tensors, case.known)
                if mode == "eager":
                    check_said_shapes(case, operands, outputs)
                check_outputs(case, operands, outputs, f"{case} {dtype}{label} {mode}")
        if case.strided and dtype != "bfloat16":
            check_layouts(case, dtype, rng)
    if case.elementwise:
        check_expanded(case, rng)


def check_said_shapes(case, operands, outputs):
    """Of a call of an op itself: one that is recorded by its parts is in no Program."""
    if not case.op or case.op["name"] not in (case.fn, PUBLIC.get(case.fn, {}).get("name")):
        return
    values = operands.fill(operands.tensors)
    inputs = dict(zip((i["name"] for i in case.op["inputs"]), values))
    attrs = {a["name"]: parse_default(a) for a in case.op["attrs"]}
    if set(case.attrs) <= set(attrs):
        said_shapes.check_call(case.op, inputs, {**attrs, **case.attrs}, outputs)


def call_case(case, operands, *tensors):
    return case.call(*operands.fill(tensors), **case.attrs)


def check_layouts(case, dtype, rng):
    for name, layout in LAYOUTS.items():
        if layout is None:
            continue
        operands = Operands(case, dtype, rng, layout=layout)
        outputs = eager(lambda *t: case.call(*operands.fill(t), **case.attrs), operands.tensors)
        check_outputs(case, operands, outputs, f"{case} {dtype} {name}")


def check_expanded(case, rng):
    """Operands that repeat in memory (stride 0)."""
    dtype = case.all_dtypes()[0]
    count = sum(isinstance(s, A) for s in spec_list(case.inputs))
    operands = Operands(case, dtype, rng, [(3, 1)] * count)
    wide = [np.broadcast_to(x, (3, 4)) for x in operands.arrays]
    views = [
        _core.ops.expand_like(t, tensor(np.zeros((3, 4), "float32"))) for t in operands.tensors
    ]
    outputs = eager(lambda *t: case.call(*operands.fill(t), **case.attrs), views)
    check_outputs(case, operands, outputs, f"{case} {dtype} expanded", wide)


def check_inplace(case):
    """op_(x, ..) gives what op(x, ..) gives, in x's memory, with the same gradient."""
    if not case.op or not case.inplace or not case.op["inplace"]:
        return
    rng = case.rng()
    for name in case.op["inplace"]:
        entry = functools.partial(positional_inplace, case, name)
        for dtype in case.all_dtypes():
            operands = Operands(case, dtype, rng)
            want = flat(case.call(*operands.fill(operands.tensors), **case.attrs))[0]
            if want.shape != operands.tensors[0].shape:
                continue
            if want.dtype != operands.tensors[0].dtype and not case.op["elementwise"]:
                continue
            x = operands.tensors[0]
            got = entry(operands.fill(operands.tensors))
            assert got is x, f"{case}: {name} must return its tensor"
            if got.dtype == want.dtype:
                compare(array(got), array(want), 0, 0, f"{case} {dtype} {name}")


def positional_inplace(case, name, args):
    op, entry = case.op, getattr(_core.ops, name)
    fields = [a["name"] for a in op["attrs"]]
    inputs = [*args, *[None] * (len(op["inputs"]) - len(args))]
    defaults = [parse_default(a) for a in op["attrs"]]
    return entry(*inputs, *[case.attrs.get(f, d) for f, d in zip(fields, defaults)])


# --- gradients ---

STEP = 1e-6
MAX_PROBES = 40  # elements of an operand that are checked against differences


def projected(outputs, weights):
    """Sum of all outputs times fixed weights, in NumPy."""
    return sum(float(np.real(np.sum(array(o) * np.conj(w)))) for o, w in zip(outputs, weights))


def differences(function, arrays, which, rng):
    """Central differences of function(arrays) for operand `which`: [(index, value)]."""
    x = arrays[which]
    positions = np.arange(x.size)
    if x.size > MAX_PROBES:
        positions = np.sort(rng.choice(x.size, MAX_PROBES, replace=False))
    found = []
    for p in positions:
        value = 0
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            ends = []
            for sign in (1, -1):
                moved = x.copy()
                moved.reshape(-1)[p] += sign * STEP * unit
                ends.append(function([*arrays[:which], moved, *arrays[which + 1 :]]))
            value += unit * (ends[0] - ends[1]) / (2 * STEP)
        found.append((np.unravel_index(p, x.shape), value))
    return found


def check_against_differences(got, found, what, rtol=2e-5, atol=2e-6):
    worst = None
    for index, want in found:
        have = got[index]
        error = abs(have - want) - (atol + rtol * max(abs(want), abs(have)))
        if not error <= 0 and (worst is None or not error <= worst[0]):
            worst = (error, index, have, want)
    if worst:
        _, index, have, want = worst
        index = tuple(int(i) for i in index)
        pytest.fail(f"{what}: gradient at {index} is {have}, differences give {want}")


def differentiable(outputs):
    return [o for o in outputs if not o.stop_gradient]


def gradients(call, tensors, wanted, weights, create_graph=False):
    """(outputs, gradients of their weighted sum for the wanted tensors; zeros if unused)."""
    for i in wanted:
        tensors[i].stop_gradient = False
    outputs = differentiable(flat(call(*tensors)))
    seeds = [tensor(w, dtype_of(o)) for w, o in zip(weights, outputs)]
    grads = argosy.grad(
        outputs, [tensors[i] for i in wanted], seeds, create_graph=create_graph, allow_unused=True
    )
    return outputs, grads


def check_gradients(case):
    if not case.has_grad():
        return
    dtypes = [t for t in ("float64", "complex128") if t in case.all_dtypes()]
    assert dtypes, f"{case}: gradients are tested in float64; give grad=False or dtypes"
    for dtype in dtypes:
        for label, shapes in shape_sets(case):
            if "tails" not in label:
                check_gradient(case, dtype, shapes, f"{case} {dtype}{label}")
    check_inplace_gradient(case)


def check_gradient(case, dtype, shapes, what):
    rng = case.rng()
    operands = Operands(case, dtype, rng, shapes)
    # Each evaluation makes fresh tensors: a case may write in place.
    names = [dtype_of(t) for t in operands.tensors]
    wanted = [i for i, free in enumerate(operands.free) if free]

    def call(*tensors):
        return case.call(*operands.fill(tensors), **case.attrs)

    def fresh(arrays):
        return [tensor(x, name) for x, name in zip(arrays, names)]

    tensors = fresh(operands.arrays)
    for i in wanted:
        tensors[i].stop_gradient = False
    outputs = flat(call(*tensors))
    places = [i for i, o in enumerate(outputs) if not o.stop_gradient]
    assert places, f"{what}: no output has a gradient"

    def weight(t):
        x = array(t)
        w = rng.uniform(0.5, 1.5, x.shape)
        return w + 1j * rng.uniform(0.5, 1.5, x.shape) if x.dtype.kind == "c" else w

    weights = [weight(outputs[i]) for i in places]
    _, grads = gradients(call, fresh(operands.arrays), wanted, weights)
    for i, g in zip(wanted, grads):
        if g is None:
            g_array = np.zeros_like(operands.arrays[i])
        else:
            g_array = array(g)
            assert dtype_of(g) == names[i], f"{what}: gradient of input {i} is {dtype_of(g)}"
        assert g_array.shape == operands.arrays[i].shape, (
            f"{what}: gradient of input {i} has shape {g_array.shape}, expected"
            f" {operands.arrays[i].shape}"
        )

        def value(arrays):
            out = flat(call(*fresh(arrays)))
            return projected([out[p] for p in places], weights)

        found = differences(value, operands.arrays, i, rng)
        check_against_differences(g_array, found, f"{what}, input {i}")
    seconds = None
    if case.second is not False and dtype == "float64":
        seconds = check_second(call, fresh, operands.arrays, wanted, weights, what, rng)
    if len(case.mode_names()) > 1:
        want = (grads, seconds)
        check_recorded_gradient(case, operands, fresh, wanted, weights, places, want, what)


def check_recorded_gradient(case, operands, fresh, wanted, weights, places, want, what):
    """The gradient rules appended to a Program give what they give eagerly.

    want: eager gradients; and None, or probes of these and the second derivatives.
    """
    first, second = want
    for known in (True, False):
        tensors = fresh(operands.arrays)
        label = f"{what}, recorded" + ("" if known else " with sizes unknown")
        with Recorder() as r:
            inputs = [
                symbol(r, t, None if known else case.known.get(i, ()), i not in wanted)
                for i, t in enumerate(tensors)
            ]
            outputs = flat(case.call(*operands.fill(inputs), **case.attrs))
            free = [inputs[i] for i in wanted]
            seeds = [np.conj(w) for w in weights]
            outputs = [outputs[p] for p in places]
            found = r.gradients(weighted(outputs, seeds), free)
            again = ()
            if second:
                curved = r.gradients(weighted(bent(outputs), seeds), free)
                again = r.gradients(weighted(curved, second[0]), free)
        all_found = [("gradient", g, w) for g, w in zip(found, first)]
        all_found += [
            ("second derivative", g, w) for g, w in zip(again, second[1] if second else ())
        ]
        got = iter(replayed(r, tensors, [g for _, g, _ in all_found if g is not None]))
        for k, (kind, g, w) in enumerate(all_found):
            i = wanted[k % len(wanted)]
            w = np.zeros_like(operands.arrays[i]) if w is None else array(w)
            have = np.zeros_like(w) if g is None else array(next(got))
            compare(have, w, 1e-8, 1e-9, f"{label}, {kind}, input {i}")


def weighted(values, weights):
    return [
        _core.ops.multiply(v, tensor(w, dtype_of(v)))
        for v, w in zip(values, weights)
        if v is not None and w is not None
    ]


def bent(outputs):
    """x + x^2 / 2 of each, so that what comes back to an op depends on what it was given."""
    return [_core.ops.add(o, _core.ops.scale(_core.ops.multiply(o, o), 0.5)) for o in outputs]


def check_second(straight, fresh, arrays, wanted, weights, what, rng):
    """The gradient of the gradient of bent outputs, against differences of the gradient.

    Returns (probes of the first gradients that have gradients, the second derivatives), or None.
    """

    def call(*tensors):
        return bent(differentiable(flat(straight(*tensors))))

    tensors = fresh(arrays)
    _, grads = gradients(call, tensors, wanted, weights, create_graph=True)
    probes = [rng.uniform(0.5, 1.5, np.shape(arrays[i])) for i in wanted]
    live = [(g, p) for g, p in zip(grads, probes) if g is not None and not g.stop_gradient]
    if live:
        seeds = [tensor(p, dtype_of(g)) for g, p in live]
        inputs = [tensors[i] for i in wanted]
        seconds = argosy.grad([g for g, _ in live], inputs, seeds, allow_unused=True)
    else:  # the gradient does not depend on the operands
        seconds = [None] * len(wanted)

    def value(moved):
        _, first = gradients(call, fresh(moved), wanted, weights)
        return sum(float(np.sum(array(g) * p)) for g, p in zip(first, probes) if g is not None)

    for i, g in zip(wanted, seconds):
        g_array = np.zeros_like(arrays[i]) if g is None else array(g)
        found = differences(value, arrays, i, rng)
        check_against_differences(
            g_array, found, f"{what}, second derivative, input {i}", 1e-4, 1e-5
        )
    if not live:
        return None
    used = [p if g is not None and not g.stop_gradient else None for g, p in zip(grads, probes)]
    return used, seconds


def check_inplace_gradient(case):
    if not case.op or not case.inplace or not case.op["inplace"]:
        return
    name = case.op["inplace"][0]
    dtype = "float64"
    if dtype not in case.all_dtypes():
        return
    rng = case.rng()
    operands = Operands(case, dtype, rng)
    wanted = [i for i, free in enumerate(operands.free) if free]

    def plain(*tensors):
        copy = _core.ops.scale(tensors[0], 1.0)
        return case.call(*operands.fill([copy, *tensors[1:]]), **case.attrs)

    def written(*tensors):
        copy = _core.ops.scale(tensors[0], 1.0)
        return positional_inplace(case, name, operands.fill([copy, *tensors[1:]]))

    def fresh():
        return [tensor(x, dtype_of(t)) for x, t in zip(operands.arrays, operands.tensors)]

    out = flat(plain(*fresh()))[0]
    if out.shape != operands.tensors[0].shape or out.dtype != operands.tensors[0].dtype:
        return
    weights = [rng.uniform(0.5, 1.5, tuple(out.shape))]
    _, want = gradients(plain, fresh(), wanted, weights)
    _, got = gradients(written, fresh(), wanted, weights)
    for w, g in zip(want, got):
        assert (w is None) == (g is None), f"{case}: {name} and its other form differ"
        if w is not None:
            compare(array(g), array(w), 1e-12, 1e-13, f"{case} gradient of {name}")


# --- errors ---


def check_errors(case):
    for inputs, attrs, exception, text in case.errors:
        row = dataclasses.replace(case, inputs=inputs, attrs=attrs)
        operands = Operands(row, "float32", row.rng())
        with pytest.raises(exception) as caught:
            case.call(*operands.fill(operands.tensors), **attrs)
        assert text in str(caught.value), f"{case}: expected {text!r} in {str(caught.value)!r}"


def check_covers(case):
    """The ops named in covers do run inside the case."""
    if not case.covers:
        return
    dtype = next((t for t in ("float64", "float32") if t in case.all_dtypes()), None)
    operands = Operands(case, dtype or case.all_dtypes()[0], case.rng())

    def everything():
        wanted = [i for i, free in enumerate(operands.free) if free] if case.has_grad() else []
        for i in wanted:
            operands.tensors[i].stop_gradient = False
        outputs = flat(case.call(*operands.fill(operands.tensors), **case.attrs))
        outputs = differentiable(outputs)
        if outputs and wanted:
            outputs = bent(outputs)
            seeds = [tensor(np.ones(tuple(o.shape)), dtype_of(o)) for o in outputs]
            inputs = [operands.tensors[i] for i in wanted]
            first = argosy.grad(outputs, inputs, seeds, create_graph=True, allow_unused=True)
            first = [g for g in first if g is not None and not g.stop_gradient]
            if first:
                argosy.grad(first, inputs, None, allow_unused=True)

    _, text = _core.explain(everything)
    ran = {line.partition(":")[0] for line in text.splitlines()}
    missing = set(case.covers) - ran
    assert not missing, f"{case}: does not run {sorted(missing)}; it runs {sorted(ran)}"


def table_tests(cases):
    """The test functions of a table: test_values, test_gradients, test_errors."""
    each = pytest.mark.parametrize("case", cases, ids=str)

    @each
    def test_values(case):
        if case.ref is not None:
            check_values(case)
        check_inplace(case)
        check_covers(case)

    @pytest.mark.parametrize("case", [c for c in cases if c.has_grad()], ids=str)
    def test_gradients(case):
        check_gradients(case)

    @pytest.mark.parametrize("case", [c for c in cases if c.errors], ids=str)
    def test_errors(case):
        check_errors(case)

    return test_values, test_gradients, test_errors
