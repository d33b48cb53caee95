"""Run a table of calls in Argosy and in Paddle, and print where they differ. Run by hand.

    python tools/differential.py --peer PYTHON [--topic NAME]... [--match TEXT]
    python tools/differential.py --peer PYTHON --peer-only     # does Paddle accept the table?

PYTHON is an interpreter that has paddlepaddle; this one has to have argosy. The calls are in
tools/differential_cases/, a file for each topic with a list CASES of Python expressions (statements
may stand before the last expression, divided by `;;`). Compared are values, dtypes, shapes,
stop_gradient and the types of exceptions (ours may be several at once). Differences that are meant
stand with their reasons in differential_expected.py. The exit code is 1 if anything else differs.
"""

import argparse
import collections
import importlib.util
import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 20  # for one call
# What Paddle's messages begin with.
CATEGORIES = (
    "InvalidArgument NotFound OutOfRange AlreadyExists ResourceExhausted PreconditionNotMet"
    " PermissionDenied ExecutionTimeout Unimplemented Unavailable Fatal External InvalidType"
).split()
# Relative and absolute tolerance by dtype.
TOLERANCES = {
    "float64": (1e-7, 1e-9),
    "complex128": (1e-7, 1e-9),
    "float32": (2e-5, 2e-6),
    "complex64": (2e-5, 2e-6),
    "float16": (2e-3, 1e-3),
    "bfloat16": (1.6e-2, 1e-2),
}


def topics():
    return sorted(path.stem for path in (HERE / "differential_cases").glob("*.py"))


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def cases_of(topic):
    path = HERE / "differential_cases" / f"{topic}.py"
    module = load(path)
    found = collections.Counter(module.CASES)
    twice = [case for case, count in found.items() if count > 1]
    if twice:
        raise SystemExit(f"{path.name} has a case twice: {twice[0]}")
    return module.CASES


# The worker: evaluates cases in one framework.


def namespace(paddle):
    """Names that cases use: the framework, its modules, and makers of fixed inputs."""

    def floats(*shape, dtype="float32", seed=0, low=-1.0, high=1.0, grad=False):
        array = np.random.RandomState(seed).uniform(low, high, shape)
        tensor = paddle.to_tensor(array.astype("float64")).astype(dtype)
        tensor.stop_gradient = not grad
        return tensor

    def integers(*shape, low=0, high=10, dtype="int64", seed=0):
        array = np.random.RandomState(seed).randint(low, high, shape)
        return paddle.to_tensor(np.asarray(array).astype(dtype))

    def booleans(*shape, seed=0):
        return paddle.to_tensor(np.random.RandomState(seed).rand(*shape) > 0.5)

    def gradients(function, *inputs):
        """[result, gradient of each input], the result weighted by fixed values before the sum."""
        inputs = [tensor.detach() for tensor in inputs]
        for tensor in inputs:
            tensor.stop_gradient = False
        result = function(*inputs)
        weights = floats(*result.shape, dtype=str(result.dtype).rpartition(".")[2], seed=99)
        (result * weights).sum().backward()
        return [result.detach(), *[tensor.grad.detach() for tensor in inputs]]

    def constant(layer):
        """The layer with fixed weights."""
        for seed, parameter in enumerate(layer.parameters()):
            parameter.set_value(floats(*parameter.shape, seed=seed) * 0.5)
        return layer

    def train(layer, optimizer, *inputs, steps=3):
        """Values of the parameters after some steps on the mean square of the layer's result."""
        for _ in range(steps):
            (layer(*inputs) ** 2).mean().backward()
            optimizer.step()
            optimizer.clear_grad()
        return layer.parameters()

    def static(function, *inputs, grad=False):
        """The shapes of a function's results in a Program with those inputs, and their values.

        With `grad` also the gradient of the first result's sum for each floating point input.
        """
        paddle.enable_static()
        main, startup = paddle.static.Program(), paddle.static.Program()
        with paddle.static.program_guard(main, startup):
            feed, slots = {}, []
            for i, value in enumerate(inputs):
                name = f"x{i}"
                dtype = str(value.dtype).rpartition(".")[2]
                slots.append(paddle.static.data(name, list(value.shape), dtype))
                slots[-1].stop_gradient = not grad
                feed[name] = value.numpy()
            found = function(*slots)
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            if grad:
                wanted = [slot for slot in slots if "float" in str(slot.dtype)]
                found += paddle.static.gradients([found[0].sum()], wanted)
            executor = paddle.static.Executor(paddle.CPUPlace())
            executor.run(startup)
            values = executor.run(main, feed=feed, fetch_list=found)
        return [[list(value.shape) for value in found], values]

    return {
        "paddle": paddle,
        "static": static,
        "np": np,
        "nn": paddle.nn,
        "F": paddle.nn.functional,
        "T": floats,
        "I": integers,
        "B": booleans,
        "gradients": gradients,
        "constant": constant,
        "train": train,
    }


def describe(value, paddle):
    """`value` as JSON: kind, dtype, shape and numbers, without the framework's classes."""
    if getattr(value, "is_sparse", bool)() and (
        hasattr(value, "indices") or hasattr(value, "crows")
    ):
        names = ["indices"] if value.is_sparse_coo() else ["crows", "cols"]
        parts = [getattr(value, name)().detach() for name in names]
        shape = [int(size) for size in value.shape]
        whole = [value.values().detach(), *parts, shape, bool(value.stop_gradient)]
        return describe([names[0], *whole], paddle)
    if isinstance(value, paddle.Tensor):
        dtype = str(value.dtype).rpartition(".")[2]
        widened = value.detach()
        if dtype in ("bfloat16", "float16"):
            widened = widened.astype("float32")
        found = describe(widened.numpy(), paddle)
        return {**found, "kind": "tensor", "dtype": dtype, "stop": bool(value.stop_gradient)}
    if isinstance(value, np.ndarray):
        data = value.reshape(-1)
        if value.dtype.kind == "c":
            data = np.stack([data.real, data.imag], -1).reshape(-1)
        data = data.astype(float).tolist() if value.dtype.kind in "fc" else data.tolist()
        return {"kind": "array", "dtype": str(value.dtype), "shape": value.shape, "data": data}
    if isinstance(value, np.generic) and not isinstance(value, float):
        return describe(np.asarray(value), paddle)
    if isinstance(value, dict):
        return {"kind": "dict", "items": [[str(k), describe(v, paddle)] for k, v in value.items()]}
    if isinstance(value, (list, tuple)):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {"kind": kind, "items": [describe(item, paddle) for item in value]}
    if isinstance(value, float):
        return {"kind": "float", "data": [value], "dtype": "float64"}
    if value is None or isinstance(value, (bool, str)):
        return {"kind": type(value).__name__, "value": value}
    if isinstance(value, int):
        return {"kind": "int", "value": int(value)}
    if isinstance(value, paddle.dtype):
        return {"kind": "dtype", "value": str(value).rpartition(".")[2]}
    return {"kind": "object", "value": type(value).__name__}


def category(text):
    """The kind that a message begins with, such as InvalidArgument, or None."""
    found = re.search(r"(?:^|\n|: )\((" + "|".join(CATEGORIES) + r")\) ", text)
    return found and found[1]


def failure(error):
    """An exception as JSON."""
    text = str(error).strip().split("\n")
    text = next((line for line in text if "Error" in line or "Hint" not in line), "")
    kinds = [cls.__name__ for cls in type(error).__mro__]
    found = {"error": kinds[0], "kinds": kinds, "text": text[:160]}
    return {**found, "category": category(str(error))}


def late(number, frame):
    raise TimeoutError(f"the call took more than {SECONDS} s")


def evaluate(case, names, paddle):
    *statements, expression = case.split(";;")
    scope = dict(names)
    paddle.seed(2024)
    np.random.seed(2024)
    signal.alarm(SECONDS)
    try:
        for statement in statements:
            exec(statement.strip(), scope)
        return {"ok": describe(eval(expression.strip(), scope), paddle)}
    except Exception as error:
        return failure(error)
    finally:
        signal.alarm(0)
        paddle.disable_static()
        paddle.set_default_dtype("float32")


def work(framework, topic, skip):
    """Evaluate the cases of a topic from number `skip` on; a line of JSON for each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    paddle = importlib.import_module(framework)
    signal.signal(signal.SIGALRM, late)
    names = namespace(paddle)
    for case in cases_of(topic)[skip:]:
        print(json.dumps(evaluate(case, names, paddle)), file=answers, flush=True)


def results(python, framework, topic, script=__file__, count=None):
    """What each case of a topic gives in a framework; a crash or a hang is a result too.

    `script` answers for `count` cases: this one, or one with the same --worker.
    """
    found = []
    count = len(cases_of(topic)) if count is None else count
    environment = {**os.environ, "GLOG_minloglevel": "3", "PYTHONWARNINGS": "ignore"}
    while len(found) < count:
        command = [python, script, "--worker", framework, topic, str(len(found))]
        with tempfile.TemporaryFile() as errors:
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=errors, env=environment
            )
            fresh = list(lines_in_time(process))
            found += map(json.loads, fresh)
            if len(found) < count:
                code = process.wait()
                if not fresh and code == 1:
                    errors.seek(0)
                    text = errors.read().decode(errors="replace")[-2000:]
                    raise SystemExit(f"{python} cannot run {framework}:\n{text}")
                hung = code == -signal.SIGKILL
                found.append({"error": "HANG" if hung else "CRASH", "text": f"exit code {code}"})
    return found


def lines_in_time(process):
    """Lines that a process writes; killed when one takes too long, as Python's alarm cannot do."""
    patience = 120  # the first line waits for the import
    buffer = b""
    with process.stdout as stream:
        while select.select([stream], [], [], patience)[0]:
            piece = os.read(stream.fileno(), 1 << 16)
            if not piece:
                break
            *lines, buffer = (buffer + piece).split(b"\n")
            yield from lines
            patience = 2 * SECONDS
        else:
            process.kill()
    process.wait()


# The comparison.


def difference(ours, theirs):
    """What differs between two described values, or None."""
    if ours["kind"] != theirs["kind"]:
        return f"{brief(ours)} against {brief(theirs)}"
    kind = ours["kind"]
    if kind in ("list", "tuple", "dict"):
        if len(ours["items"]) != len(theirs["items"]):
            return f"{len(ours['items'])} items against {len(theirs['items'])}"
        for i, (a, b) in enumerate(zip(ours["items"], theirs["items"])):
            if kind == "dict":
                if a[0] != b[0]:
                    return f"key {a[0]} against {b[0]}"
                i, a, b = a[0], a[1], b[1]
            if (found := difference(a, b)) is not None:
                return f"item {i}: {found}"
        return None
    if kind in ("tensor", "array", "float"):
        for key in ("dtype", "shape", "stop"):
            if ours.get(key) != theirs.get(key):
                return f"{key} {ours.get(key)} against {theirs.get(key)}"
        return values_differ(ours, theirs)
    return None if ours["value"] == theirs["value"] else f"{brief(ours)} against {brief(theirs)}"


def values_differ(ours, theirs):
    relative, absolute = TOLERANCES.get(ours["dtype"], (0.0, 0.0))
    a, b = (np.asarray(value["data"]) for value in (ours, theirs))
    if relative == 0.0:
        wrong = a != b
    else:
        wrong = ~np.isclose(a, b, rtol=relative, atol=absolute, equal_nan=True)
    if not wrong.any():
        return None
    place = int(np.argmax(wrong))
    return f"{int(wrong.sum())} of {a.size} values, at {place} {a[place]!r} against {b[place]!r}"


def brief(value):
    if value["kind"] in ("tensor", "array"):
        return f"{value['kind']} {value['dtype']}{value['shape']}"
    return f"{value['kind']} {value.get('value', '')}".strip()


def compare(ours, theirs):
    """What differs between two results, or None."""
    if "ok" in ours and "ok" in theirs:
        return difference(ours["ok"], theirs["ok"])
    if "error" in ours and "error" in theirs:
        if theirs["error"] in ours.get("kinds", [ours["error"]]):
            return None  # caught by the same except clauses
        return f"raises {ours['error']} ({ours['text']}) against {theirs['error']}"
    if "error" in ours:
        return f"raises {ours['error']} ({ours['text']}) against {brief(theirs['ok'])}"
    if "is not registered" in theirs["text"] or theirs["error"] in ("CRASH", "HANG"):
        return None  # Paddle has no kernel for this dtype on the CPU, or does not survive the call
    return f"{brief(ours['ok'])} against {theirs['error']} ({theirs['text']})"


def main():
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="has paddlepaddle")
    parser.add_argument("--topic", action="append", choices=topics(), help="only this topic")
    parser.add_argument("--match", default="", help="only cases that contain this text")
    parser.add_argument("--peer-only", action="store_true", help="list what Paddle refuses")
    options = parser.parse_args()
    reasons = load(HERE / "differential_expected.py").EXPECTED
    total = differ = expected = 0
    for topic in options.topic or topics():
        theirs = results(options.peer, "paddle", topic)
        ours = theirs if options.peer_only else results(sys.executable, "argosy", topic)
        lines = []
        for case, a, b in zip(cases_of(topic), ours, theirs):
            if options.match not in case:
                continue
            total += 1
            if options.peer_only:
                if "error" in b:
                    lines.append(f"  {case}\n      {b['error']}: {b['text']}")
            elif (found := compare(a, b)) is not None:
                if case in reasons:
                    expected += 1
                else:
                    lines.append(f"  {case}\n      {found}")
            elif case in reasons:
                lines.append(f"  {case}\n      no longer differs: take it out of EXPECTED")
        differ += len(lines)
        print(f"{topic}: {len(cases_of(topic))} cases, {len(lines)} differ", flush=True)
        print("".join(f"{line}\n" for line in lines), end="", flush=True)
    what = "raise in the peer" if options.peer_only else "differ"
    print(f"{total} cases, {differ} {what}, {expected} differ as expected")
    return int(differ > 0 and not options.peer_only)


if __name__ == "__main__":
    sys.exit(main())
