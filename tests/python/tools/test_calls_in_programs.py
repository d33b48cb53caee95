"""The calls of tools/differential_cases once more in static Programs: with inputs of known sizes and
of unknown ones they give what they give eagerly, in the form that was inferred, or say that they
cannot. Only calls whose results all depend on an input count."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import argosy
from argosy import static

FILE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "differential.py"
spec = importlib.util.spec_from_file_location("differential", FILE)
tool = importlib.util.module_from_spec(spec)
sys.modules["differential"] = tool
spec.loader.exec_module(tool)

# Topics whose calls are functions of tensors, with no training or files.
TOPICS = [
    "activations", "compat", "convolution", "creation", "elementwise", "indexing", "layers",
    "linear_algebra", "losses", "manipulation", "reduction", "reforming", "tensor_methods",
    "zero_dim", "calls_layers", "calls_linalg", "calls_losses", "calls_manipulation", "calls_math", "calls_nn",
]  # fmt: skip
# Draw numbers, need eager gradients, or change their dtype in place, which no Program does.
APART = ("rand", "ropout", "static", "backward", ".grad", "gradients", "constant(", "seed(",
         "bernoulli", "poisson", "multinomial", "normal", "uniform", "exponential", "equal_(",
         "less_than_(", "greater_than_(", "logical_", "class_center", "gumbel", "empty")  # fmt: skip


class NoProgram(Exception):
    """The call needs none."""


def tensors_in(value):
    if isinstance(value, argosy.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for v in value for t in tensors_in(v)] if isinstance(value, (list, tuple)) else []


def evaluate(case, names):
    *statements, expression = case.split(";;")
    scope = dict(names)
    try:
        for statement in statements:
            exec(statement.strip(), scope)
        return tensors_in(eval(expression.strip(), scope))
    finally:
        argosy.set_default_dtype("float32")


def in_program(case, names, known):
    """[(shape and dtype inferred, value)]"""
    main, startup, feed = static.Program(), static.Program(), {}

    def placed(make):
        def slot(*args, **kwargs):
            argosy.disable_static()
            value = make(*args, **kwargs)
            argosy.enable_static()
            shape = list(value.shape)
            if 0 in shape or tool_dtype(value) == "bfloat16":
                raise NoProgram
            name = f"x{len(feed)}"
            feed[name] = value.numpy()
            x = static.data(name, shape if known else [-1] * len(shape), tool_dtype(value))
            x.stop_gradient = value.stop_gradient
            return x

        return slot

    argosy.enable_static()
    try:
        with static.program_guard(main, startup):
            makers = {k: placed(names[k]) for k in "TIB"}
            found = evaluate(case, {**names, **makers})
            if not feed or not found or not all(t._symbolic for t in found):
                raise NoProgram
            forms = [(list(t.shape), tool_dtype(t)) for t in found]
            executor = static.Executor()
            executor.run(startup)
            return list(zip(forms, executor.run(main, feed=feed, fetch_list=found)))
    finally:
        argosy.disable_static()


def tool_dtype(t):
    return str(t.dtype).rpartition(".")[2]


def complaint(case, names, wanted, known):
    """What is wrong with the call in a Program, or None."""
    try:
        found = in_program(case, names, known)
    except NoProgram:
        return None
    except Exception as error:
        wrong = "another form" in str(error) or isinstance(error, SystemError)
        return f"{type(error).__name__}: {error}" if wrong else None
    for i, ((shape, dtype), value) in enumerate(found):
        want, value = wanted[i], np.asarray(value)
        fits = len(shape) == value.ndim and all(a in (-1, b) for a, b in zip(shape, value.shape))
        # squeeze() of unknown sizes only knows when it runs which are 1.
        held = "uint16" if dtype == "bfloat16" else dtype  # NumPy has none
        if known and not (fits and held == str(value.dtype)):
            return f"result {i} is {value.dtype}{list(value.shape)}, inferred was {dtype}{shape}"
        if value.shape != want.shape or value.dtype != want.dtype:
            return f"result {i} is {value.dtype}{value.shape}, eagerly {want.dtype}{want.shape}"
        if not np.allclose(value, want, rtol=1e-4, atol=1e-5, equal_nan=value.dtype.kind in "fc"):
            return f"result {i} is {value}, eagerly {want}"
    return None


def complaints(topic):
    names, wrong, compared = tool.namespace(argosy), [], 0
    for case in tool.cases_of(topic):
        if any(word in case for word in APART):
            continue
        try:
            wanted = [t.numpy() for t in evaluate(case, names)]
        except Exception:
            continue
        for known in (True, False) if wanted else ():
            compared += 1
            said = complaint(case, names, wanted, known)
            if said:
                wrong.append(f"{case}, sizes {'known' if known else 'unknown'}: {said}")
    return wrong if compared > 20 else [f"only {compared} calls were compared"]


@pytest.mark.parametrize("topic", TOPICS)
def test_calls_give_the_same_in_a_program(topic):
    # In a process of its own: calls of the table change modes and defaults.
    command = [sys.executable, "-W", "ignore", __file__, topic]
    done = subprocess.run(command, capture_output=True, text=True, timeout=550)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]


if __name__ == "__main__":
    found = complaints(sys.argv[1])
    print("\n".join(found))
    sys.exit(bool(found))
