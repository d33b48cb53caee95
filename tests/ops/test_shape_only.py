"""Inputs of which a description says that only their shape is read (.shape_only()) have no data, or
another tensor's, when the op runs. Every such op is called with and without it, by its kernel, by
its composition and in Programs; the bits must be the same.
"""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from tests.ops.harness import A, Case, Operands, bent, differentiable, dtype_of, flat, tensor
from tests.ops.test_coverage import table_modules

import argosy
from argosy import _core
from argosy._recorder import Recorder

# What the tables do not call: other tests do, or only gradients of a Program.
MORE = [
    Case("empty_like", [A(2, 3)]),
    Case("dropout_mask", [A(4, 3)], {"p": 0.3, "axis": [0]}),
    Case("attention_bits", [A(1, 16, 2, 4), A(1, 32, 2, 4)], {"p": 0.3}),
    Case("continuous_value_model_grad", [A(3, 4), A(3, 2), A(3, 4)]),
    Case("embedding_rows_grad", [np.array([1, 0, 4]), A(3, 2), A(5, 2)], grad=False, modes=False),
    Case(
        lambda x, i: _core.ops.array_element_or_zeros(_core.ops.array_of_one(x, i), i, x),
        [A(2, 3), np.array(2)],
        grad=False,
        note="array_element_or_zeros",
    ),
]

ROOT = pathlib.Path(__file__).resolve().parents[2]


def declared():
    """ "op.input" of all inputs that are read for their shape."""
    return {
        f"{op['name']}.{i['name']}"
        for op in _core.registry()
        for i in op["inputs"]
        if i["shape_only"]
    }


def operands_of(case):
    dtypes = case.all_dtypes()
    dtype = next((t for t in ("float64", "float32") if t in dtypes), dtypes[0])
    return Operands(case, dtype, case.rng())


def free_of(case, operands, tensors):
    return [t for t, free in zip(tensors, operands.free) if free and case.has_grad()]


def call_with_gradients(case):
    """The case, its gradients and theirs."""
    operands = operands_of(case)
    inputs = free_of(case, operands, operands.tensors)
    for t in inputs:
        t.stop_gradient = False
    outputs = flat(case.call(*operands.fill(operands.tensors), **case.attrs))
    outputs = differentiable(outputs)
    if not outputs or not inputs:
        return
    outputs = bent(outputs)
    seeds = [tensor(np.ones(tuple(o.shape)), dtype_of(o)) for o in outputs]
    first = argosy.grad(outputs, inputs, seeds, create_graph=True, allow_unused=True)
    first = [g for g in first if g is not None and not g.stop_gradient]
    if first:
        argosy.grad(first, inputs, None, allow_unused=True)


def check_program(case, ops):
    """A plan gives what the interpreter gives, where every operand has its data.

    Operands are made by operations, so that their memory is used again as soon as nobody reads it.
    """
    operands = operands_of(case)
    with Recorder() as r:
        inputs = [r.input(t.shape, dtype_of(t)) for t in operands.tensors]
        free = free_of(case, operands, inputs)
        for x in free:
            x.stop_gradient = False
        made = [_core.ops.assign(x) for x in inputs]
        outputs = flat(case.call(*operands.fill(made), **case.attrs))
        targets = bent(differentiable(outputs))
        if targets and free:
            outputs += [g for g in r.gradients(targets, free) if g is not None]
    if not any(f" {name}(" in str(r) for name in ops):
        return
    results = []
    for run in (_core.program_run, executed):
        argosy.seed(7)
        found = run(r._program, list(operands.tensors), list(outputs), None)
        results.append([None if t is None else t.numpy().tobytes() for t in found])
    # Uninitialized memory is what it is.
    if "empty" not in str(case):
        assert results[0] == results[1], f"{case} in a Program"


def executed(*call):
    return _core.executor_run(_core.executor_new(4), *call)


def sweep():
    """Names each case before it is tried: one that reads data that is not there ends the process."""
    wanted = declared()
    ops = {name.partition(".")[0] for name in wanted}
    _core.start_shape_check()
    tables = [getattr(module, "CASES", []) for module in table_modules()]
    for case in [c for table in [*tables, MORE] for c in table]:
        if case.ref is None and case.errors:
            continue  # for its errors only
        print(case, flush=True)
        call_with_gradients(case)
        if case.modes:
            check_program(case, ops)
    seen = set(_core.stop_shape_check())
    missing = sorted(wanted - seen)
    assert not missing, f"no case of tests/ops calls these with data: {missing}"
    print("reached", len(seen), flush=True)


@pytest.mark.parametrize("passes", ["", "-algebraic,-constant_folding"])
def test_only_shapes_are_read(passes):
    environment = {**os.environ, "ARGOSY_PASSES": passes, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-m", "tests.ops.test_shape_only"],
        env=environment,
        capture_output=True,
        text=True,
    )
    last = done.stdout.strip().rpartition("\n")[2]
    assert done.returncode == 0, f"at {last}: {done.returncode}\n{done.stderr[-3000:]}"
    assert last == f"reached {len(declared())}"


def test_what_is_not_read_is_not_saved():
    """A gradient that reads what the op itself does not would be a mistake in one of the words."""
    for op in _core.registry():
        for i in op["inputs"]:
            assert not (i["shape_only"] and i["saves"] == "value"), f"{op['name']}.{i['name']}"


if __name__ == "__main__":
    sweep()
