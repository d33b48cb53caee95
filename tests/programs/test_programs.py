"""Properties of random programs (generate.py): eager == recorded, passes on == off, gradients.

The suite runs COUNT of them; `make property` runs 2,000. A failure prints the seed and the program;
`generate(seed)` makes it again.
"""

import os

import numpy as np
import pytest
from tests.programs.generate import generate

import argosy
from argosy import _core, passes

COUNT = int(os.environ.get("ARGOSY_PROPERTY_PROGRAMS", "100"))
BATCH = 20
EXACT = [p["name"] for p in passes.table() if p["rounding"] == "kept"]
BATCHES = range(0, COUNT, BATCH)


def assert_same(got, want, what):
    """Bit for bit."""
    assert len(got) == len(want), what
    for i, (a, b) in enumerate(zip(got, want)):
        a, b = a.numpy(), b.numpy()
        assert a.dtype == b.dtype and a.shape == b.shape, f"{what}: value {i}"
        if a.tobytes() != b.tobytes():
            raise AssertionError(f"{what}: value {i} differs\n{a}\n{b}")


def for_each(start, check, smooth=False):
    for seed in range(start, min(start + BATCH, COUNT)):
        try:
            check(seed)
        except Exception as error:
            raise AssertionError(f"seed {seed}: {error}\n{generate(seed, smooth)}") from error


def run(program, outputs, g):
    argosy.seed(g.seed)
    return [t.clone() for t in _core.program_run(program, g.feeds(), outputs, None)]


@pytest.mark.parametrize("start", BATCHES)
def test_recorded_is_eager(start):
    def check(seed):
        g = generate(seed)
        want, state = g.eager()
        for known in (True, False):
            program, outputs, recorded = g.record(known)
            _core.program_verify(program)
            assert_same(run(program, outputs, g), want, f"recorded, known sizes {known}")
            assert_same(recorded, state, "state")

    for_each(start, check)


@pytest.mark.parametrize("start", BATCHES)
def test_plans_are_eager(start):
    """The executor, which runs passes and plans memory; twice, since plans are kept."""
    executor = _core.executor_new(4)

    def check(seed):
        g = generate(seed)
        want, state = g.eager()
        for known in (True, False):
            program, outputs, recorded = g.record(known)
            given = [t.clone() for t in recorded]
            for _ in range(2):
                for t, value in zip(recorded, given):
                    t.copy_(value, True)
                argosy.seed(g.seed)
                got = _core.executor_run(executor, program, g.feeds(), outputs, None)
                assert_same(got, want, f"plan, known sizes {known}")
                assert_same(recorded, state, "state")

    for_each(start, check)


def through_bytes(program):
    data = _core.program_to_bytes(program)
    loaded = _core.program_from_bytes(data)
    assert _core.program_to_bytes(loaded) == data
    return loaded


def through_text(program):
    text = _core.program_print(program)
    constants = [t for _, t in _core.program_describe(program)["constants"]]
    parsed = _core.program_parse(text, constants, False)
    assert _core.program_print(parsed) == text
    return parsed


@pytest.mark.parametrize("form", [through_bytes, through_text])
@pytest.mark.parametrize("start", BATCHES)
def test_round_trip(start, form):
    def check(seed):
        g = generate(seed)
        want, state = g.eager()
        program, outputs, recorded = g.record(known_sizes=seed % 2 == 0)
        whole = passes.rewrite(program, outputs, []).program
        loaded = form(whole)
        _core.program_verify(loaded)
        # State of a loaded Program is found by name.
        scope = _core.scope_new(None)
        names = [s["name"] for s in _core.program_describe(whole)["states"]]
        tensors = [s["state"] for s in _core.program_describe(whole)["states"]]
        for name, tensor in zip(names, tensors):
            _core.scope_set(scope, name, tensor.clone())
        argosy.seed(seed)
        values = [v for _, v in _core.program_describe(loaded)["outputs"]]
        assert_same(_core.program_run(loaded, g.feeds(), values, scope), want, "loaded")
        for name, tensor in zip(names, tensors):
            where = [i for i, t in enumerate(recorded) if t is tensor]
            assert_same([_core.scope_get(scope, name)], [state[where[0]]], "state")

    for_each(start, check)


@pytest.mark.parametrize("start", BATCHES)
def test_each_pass_changes_no_bit(start):
    def check(seed):
        g = generate(seed)
        want, state = g.eager()
        for names in ["train", "inference", *[[name] for name in EXACT]]:
            for known in (True, False):
                program, outputs, recorded = g.record(known)
                rewritten = passes.rewrite(program, outputs, names)
                argosy.seed(seed)
                assert_same(rewritten.run(g.feeds()), want, f"after {names}, known sizes {known}")
                assert_same(recorded, state, f"state after {names}")

    for_each(start, check)


def numeric(g, given, i, h=1e-6):
    out = np.zeros_like(given[i])

    def loss(arrays):
        with argosy.no_grad():
            return float(g.loss_of([argosy.to_tensor(a) for a in arrays]).numpy())

    for at in np.ndindex(out.shape):
        low, high = [a.copy() for a in given], [a.copy() for a in given]
        low[i][at] -= h
        high[i][at] += h
        out[at] = (loss(high) - loss(low)) / (2 * h)
    return out


@pytest.mark.parametrize("start", BATCHES)
def test_gradients(start):
    """Those of the Program, before and after passes, and eager ones; against differences."""

    def check(seed):
        g = generate(seed, smooth=True)
        given = [argosy.to_tensor(v) for v in g.values]
        leaves = given[: g.inputs + g.parameters]
        for t in leaves:
            t.stop_gradient = False
        loss = g.loss_of(given)
        if loss is None or loss.stop_gradient:
            return
        eager = argosy.grad(loss, leaves, allow_unused=True)
        for known in (True, False):
            program, outputs, _ = g.record(known, gradients=True)
            live = [o for o in outputs if o is not None]
            plain = run(program, live, g)
            for more in ([], ["remat", "dead_code"]):
                program, outputs, _ = g.record(known, gradients=True)
                names = [*passes.pipelines()["train"], *more]
                live = [o for o in outputs if o is not None]
                rewritten = passes.rewrite(program, live, names, **{"remat.bytes": 1})
                assert_same(rewritten.run(g.feeds()), plain, f"gradients after {names}")
            values = iter(plain)
            got = [None if o is None else next(values).numpy() for o in outputs][1:]
            for i, (a, b) in enumerate(zip(got, eager)):
                a = np.zeros_like(g.values[i]) if a is None else a
                b = np.zeros_like(g.values[i]) if b is None else b.numpy()
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11, err_msg=f"gradient {i}")
        if seed % 5 == 0:
            for i, a in enumerate(got):
                want = numeric(g, g.values, i)
                a = np.zeros_like(want) if a is None else a
                scale = 1 + np.abs(want).max(initial=0)
                np.testing.assert_allclose(a / scale, want / scale, atol=2e-5)

    for_each(start, check, smooth=True)
