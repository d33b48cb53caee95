"""Each row of the tables once more in a Program with what may be there left out and put in: optional
inputs, attributes (with the values that other rows of the op give them, and turned over where they
are bools), results that nobody asks for, and numbers that are tensors.

What is tried follows from the registry. The Program must give what the eager call gives, in the
form that it inferred, and the same gradients; what the eager call refuses, recording or running must refuse too.
"""

import collections
import dataclasses

import numpy as np
import pytest
from tests.ops import harness
from tests.ops.harness import (
    TOLERANCE,
    Operands,
    array,
    check_files,
    dtype_of,
    flat,
    symbol,
    tensor,
)
from tests.ops.test_coverage import table_modules

import argosy
from argosy import _core
from argosy._recorder import Recorder

TENSORS = ("int array", "scalar", "optional scalar", "int", "optional int")


def needed(op):
    return sum(not i["optional"] for i in op["inputs"])


def rows():
    """Rows of an op that can be recorded, by the op's name."""
    found = collections.defaultdict(list)
    for module in table_modules():
        for case in getattr(module, "CASES", []):
            if case.op and case.modes and len(case.inputs) >= needed(case.op):
                found[case.op["name"]].append(case)
    return found


ROWS = rows()


def variants(case, others):
    """(what is different, inputs, attrs)"""
    given, attrs = list(case.inputs), case.attrs
    for i, spec in enumerate(case.op["inputs"][: len(given)]):
        if spec["optional"] and given[i] is not None:
            yield f"no {spec['name']}", [*given[:i], None, *given[i + 1 :]], attrs
    for attr in case.op["attrs"]:
        name = attr["name"]
        if name in attrs:
            yield f"no {name}", given, {k: v for k, v in attrs.items() if k != name}
        values = [other.attrs[name] for other in others if name in other.attrs]
        if attr["kind"] == "bool":
            values = [True, False]
        for value in unequal(values, attrs.get(name)):
            yield f"{name}={value}", given, {**attrs, name: value}
        if attr["kind"] in TENSORS:
            for value in unequal([attrs[name]] if name in attrs else values):
                for how, changed in as_tensors(value):
                    yield f"{name}={how} of {value}", given, {**attrs, name: changed}


def claimed(case):
    """What the op says it takes, whatever the row tests."""
    first = case.op["inputs"][:1]
    return [t for t in harness.ALL if t in first[0]["dtypes"]] if first else [None]


def unequal(values, but=None):
    """The values that differ, and from `but`."""
    seen = [repr(but)]
    for value in values:
        if repr(value) not in seen:
            seen.append(repr(value))
            yield value


def as_tensors(value):
    """A number or a list of whole numbers with tensors, as NumPy arrays, in it or instead of it."""
    if isinstance(value, (bool, str)) or value is None:
        return
    whole = [value] if isinstance(value, (int, float)) else list(value)
    if not all(type(v) in (int, float) for v in whole):
        return
    dtype = "int64" if all(type(v) is int for v in whole) else "float32"
    yield "a vector", np.array(whole, dtype)
    yield (
        "int32s" if dtype == "int64" else "float64s",
        np.array(whole, "int32" if dtype == "int64" else "float64"),
    )
    if isinstance(value, (int, float)):
        yield "a 0-d tensor", np.array(value, dtype)
    elif whole:
        yield "0-d tensors", [np.array(v, dtype) for v in whole]
        yield "a vector and numbers", [np.array(whole[:1], dtype), *whole[1:]]


class Call:
    """A call of a variant, whose attributes may be tensors."""

    def __init__(self, case, inputs, attrs, dtype=None):
        dtypes = case.all_dtypes()
        dtype = dtype or next((t for t in ("float32", "int64") if t in dtypes), dtypes[0])
        self.case = dataclasses.replace(case, inputs=inputs, attrs={})
        self.operands = Operands(self.case, dtype, case.rng())
        self.tensors, self.known = list(self.operands.tensors), dict(case.known)
        self.attrs = {k: self.place(v) for k, v in attrs.items()}
        self.own = len(self.operands.tensors)

    def place(self, value):
        if isinstance(value, np.ndarray):
            self.tensors.append(tensor(value, str(value.dtype)))
            self.known[len(self.tensors) - 1] = range(value.ndim)
            return Place(len(self.tensors) - 1)
        if isinstance(value, list):
            return [self.place(v) for v in value]
        return value

    def __call__(self, *tensors):
        def fill(value):
            if isinstance(value, Place):
                return tensors[value.index]
            return [fill(v) for v in value] if isinstance(value, list) else value

        attrs = {k: fill(v) for k, v in self.attrs.items()}
        return flat(self.case.call(*self.operands.fill(tensors[: self.own]), **attrs))


@dataclasses.dataclass
class Place:
    index: int


def check(call, what):
    """True if the eager call accepts the variant."""
    argosy.seed(5)
    try:
        wanted = call(*fresh(call))
    except Exception:
        refuses(call, what)
        return False
    wanted = [array(t).copy() if isinstance(t, argosy.Tensor) else t for t in wanted]
    slopes = gradients(call)
    for sizes in ("known", "unknown"):
        known = None if sizes == "known" else call.known
        label = f"{what}, sizes {sizes}"
        try:
            with Recorder() as r:
                inputs = [
                    symbol(r, t, known if known is None else known.get(i, ()), not slopes[i])
                    for i, t in enumerate(call.tensors)
                ]
                outputs = call(*inputs)
        except Exception as error:
            # Values of a Program are no numbers yet, and sizes may have to be known: if it says so.
            assert says_so(error), f"{label}: {type(error).__name__}: {error}"
            continue
        if not all(isinstance(o, argosy.Tensor) and o._symbolic for o in outputs):
            continue  # it needs no Program
        r.verify()
        check_files(r._program)
        compare(call, r, outputs, wanted, label)
        compare_gradients(call, r, inputs, outputs, slopes, label)
    return True


def ends(outputs):
    """The results that a gradient flows through."""
    return [o for o in outputs if not o.stop_gradient and dtype_of(o) in harness.FLOAT]


def gradients(call):
    """For each operand the gradient of the sum of the results as (array,), () if it has none."""
    none = [()] * len(call.tensors)
    if not call.case.has_grad():
        return none
    tensors = fresh(call)
    free = [i for i, t in enumerate(tensors[: call.own]) if dtype_of(t) in harness.FLOAT]
    for i in free:
        tensors[i].stop_gradient = False
    argosy.seed(5)
    try:
        targets = ends(call(*tensors))
        found = argosy.grad(targets, [tensors[i] for i in free], allow_unused=True)
    except Exception:
        return none
    for i, g in zip(free, found):
        none[i] = () if g is None else (array(dense(g)).copy(),)
    return none


def dense(t):
    return t if t._layout == "strided" else _core.ops.rows_to_dense(t)


def compare_gradients(call, recorder, inputs, outputs, slopes, label):
    free = [i for i, g in enumerate(slopes) if g]
    if not free:
        return
    try:
        with recorder:
            found = recorder.gradients(ends(outputs), [inputs[i] for i in free])
    except Exception as error:
        assert says_so(error), f"{label}, gradient: {type(error).__name__}: {error}"
        return
    missing = [i for i, g in zip(free, found) if g is None and np.any(slopes[i][0])]
    assert not missing, f"{label}: a Program has no gradient of operands {missing}"
    both = [(i, g) for i, g in zip(free, found) if g is not None]
    argosy.seed(5)
    got = recorder.run(fresh(call), [g for _, g in both])
    for (i, _), t in zip(both, got):
        rtol, atol = TOLERANCE.get(dtype_of(t), (0, 0))
        what = f"{label}, gradient of operand {i}"
        harness.compare(array(dense(t)), slopes[i][0], 10 * rtol, 10 * atol, what)


def says_so(error):
    text = str(error)
    return "Do this" in text and any(w in text for w in ("Program", "known", "symbol"))


def fresh(call):
    """The operands; an op may write into its own."""
    return [tensor(array(t), dtype_of(t)) for t in call.tensors]


def compare(call, recorder, outputs, wanted, label):
    everything = range(len(outputs))
    subsets = [everything] + ([[i] for i in everything] if len(outputs) > 1 else [])
    for some in subsets:
        argosy.seed(5)
        got = recorder.run(fresh(call), [outputs[i] for i in some])
        for i, t in zip(some, got):
            said, have, want = outputs[i], array(t), wanted[i]
            form = f"{dtype_of(said)}{list(said.shape)}"
            assert dtype_of(t) == dtype_of(said), (
                f"{label}: output {i} is {dtype_of(t)}, not {form}"
            )
            fits = have.ndim == len(said.shape)
            fits = fits and all(a in (-1, b) for a, b in zip(said.shape, have.shape))
            assert fits, f"{label}: output {i} has shape {have.shape}, inferred was {form}"
            assert have.shape == want.shape and have.dtype == want.dtype, (
                f"{label}: output {i} is {have.dtype}{have.shape}, eagerly {want.dtype}{want.shape}"
            )
            # Another composition may be chosen where sizes are unknown.
            rtol, atol = TOLERANCE.get(dtype_of(t), (0, 0))
            harness.compare(have, want, rtol, atol, f"{label}, output {i}")


def refuses(call, what):
    """What is wrong eagerly is not right in a Program."""
    with Recorder() as r:
        try:
            outputs = call(*[symbol(r, t, None) for t in call.tensors])
        except Exception:
            return
    if not all(isinstance(o, argosy.Tensor) and o._symbolic for o in outputs):
        return
    try:
        got = r.run(fresh(call), outputs)
    except Exception:
        return
    forms = [f"{dtype_of(t)}{list(t.shape)}" for t in got]
    raise AssertionError(f"{what}: refused eagerly, in a Program it gives {forms}")


@pytest.mark.parametrize("name", sorted(ROWS))
def test_variants(name):
    wrong = []
    for case in ROWS[name]:
        tried = [(what, inputs, attrs, None) for what, inputs, attrs in variants(case, ROWS[name])]
        tried += [(t, list(case.inputs), case.attrs, t) for t in claimed(case)]
        for what, inputs, attrs, dtype in tried:
            try:
                check(Call(case, inputs, attrs, dtype), f"{case}, {what}")
            except (Exception, pytest.fail.Exception) as error:
                text = str(error).split("\nassert")[0]
                told = isinstance(error, (AssertionError, pytest.fail.Exception))
                wrong.append(text if told else f"{case}, {what}: {type(error).__name__}: {text}")
    assert not wrong, "\n".join(wrong)


def test_the_tables_leave_out_and_put_in_each_optional_input():
    missing = []
    for name, cases in ROWS.items():
        for i, spec in enumerate(cases[0].op["inputs"]):
            if spec["optional"]:
                given = [len(c.inputs) > i and c.inputs[i] is not None for c in cases]
                missing += [] if any(given) else [f"{name}.{spec['name']}"]
    assert not missing, f"no row gives {missing}"
