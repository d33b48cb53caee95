"""Each row of the tables once more on the streamed test device: values against the reference, and
gradients against those of the CPU. What the device refuses by name is skipped."""

import functools

import numpy as np
import pytest
from tests.ops import harness
from tests.ops.harness import Operands, array, call_case, check_outputs, flat, tensor
from tests.ops.test_coverage import table_modules

import argosy
from argosy import _core

pytestmark = pytest.mark.adds_device

ROWS = [
    (module.__name__.rpartition("_")[2], case)
    for module in table_modules()
    if module.__name__ != __name__
    for case in getattr(module, "CASES", [])
]


@pytest.fixture(autouse=True)
def device():
    _core.start_streamed(2, 300)
    yield
    argosy.device.set_device("cpu")
    _core.forget_failures()


def named(rows):
    return [pytest.param(case, id=f"{family}-{case}") for family, case in rows]


def refused(error):
    """Whether the device said that it cannot: by name, and with what to do."""
    text = str(error)
    return "does not run on streamed:0" in text and "Do this:" in text


def on_device(case, function):
    argosy.device.set_device("streamed:0")
    argosy.seed(1)
    try:
        result = function()
        argosy.device.synchronize()
    except NotImplementedError as error:
        if not refused(error):
            raise
        pytest.skip(str(error))
    finally:
        argosy.device.set_device("cpu")
    return result


def dtypes_of(case):
    """One of each kind: kernels differ by little else."""
    kinds = {}
    for dtype in case.all_dtypes():
        kinds.setdefault(np.dtype(dtype).kind if dtype != "bfloat16" else "bf", dtype)
    return kinds.values()


@pytest.mark.parametrize("case", named((f, c) for f, c in ROWS if c.ref is not None))
def test_values(case):
    rng = case.rng()
    for dtype in dtypes_of(case):

        def run():
            operands = Operands(case, dtype, rng)
            outputs = flat(call_case(case, operands, *operands.tensors))
            return operands, outputs

        operands, outputs = on_device(case, run)
        for t in outputs:
            assert not isinstance(t, argosy.Tensor) or str(t.place) == "Place(streamed:0)"
        check_outputs(case, operands, outputs, f"{case} {dtype} on a device")


def gradients_of(case, dtype):
    rng = case.rng()
    operands = Operands(case, dtype, rng)
    wanted = [i for i, free in enumerate(operands.free) if free]
    for i in wanted:
        operands.tensors[i].stop_gradient = False
    outputs = harness.differentiable(flat(call_case(case, operands, *operands.tensors)))
    if not outputs or not wanted:
        return []
    seeds = [tensor(rng.uniform(0.5, 1.5, o.shape), harness.dtype_of(o)) for o in outputs]
    found = argosy.grad(outputs, [operands.tensors[i] for i in wanted], seeds, allow_unused=True)
    return [None if g is None else array(g) for g in found]


@pytest.mark.parametrize("case", named((f, c) for f, c in ROWS if c.has_grad()))
def test_gradients(case):
    dtype = next((t for t in ("float32", "float64") if t in case.all_dtypes()), None)
    if dtype is None:
        pytest.skip("has no gradient of real numbers")
    argosy.seed(1)
    want = gradients_of(case, dtype)
    got = on_device(case, functools.partial(gradients_of, case, dtype))
    assert len(got) == len(want)
    # The rule of pow looks at its exponent where that costs no wait, and then computes otherwise.
    for i, (a, b) in enumerate(zip(got, want)):
        assert (a is None) == (b is None)
        if a is not None:
            harness.compare(a, b, 1e-5, 1e-6, f"{case}, gradient {i}")
