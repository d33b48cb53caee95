"""Run a table of calls in Argosy and in Paddle, and print where they differ. Run by hand.

    python tools/differential.py --peer PYTHON [--topic NAME]... [--match TEXT] [--mode MODE]
    python tools/differential.py --peer PYTHON --peer-only     # does Paddle accept the table?

PYTHON is an interpreter that has paddlepaddle; this one has to have argosy. The calls are in
tools/differential_cases/, a file for each topic with a list CASES of Python expressions (statements
may stand before the last expression, divided by `;;`). Compared are values, dtypes, shapes,
stop_gradient and the types of exceptions (ours may be several at once). Differences that are meant
stand with their reasons in differential_expected.py. The exit code is 1 if anything else differs.

Topics with MODES = True are calls of functions of tensors, made by differential_families.py. They run
eagerly, in a static Program with placeholders for the tensors, and captured by `jit.to_static`, and
the gradients of what they give are compared too. Where Paddle refuses a call in a mode, or gives
something else than eagerly, what it gives eagerly is as good.
"""

import argparse
import ast
import collections
import functools
import importlib.util
import json
import linecache
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
MODES = ("eager", "static", "captured")
# What Paddle says where it lacks a kernel for CPUs.
LACKING = (
    "is not registered", "for cpu kernel", "no kernels which are registered",
    "Check data type error for op",
)  # fmt: skip
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


@functools.lru_cache(None)
def module_of(topic):
    sys.path.append(str(HERE))
    try:
        return load(HERE / "differential_cases" / f"{topic}.py")
    finally:
        sys.path.pop()


def modes_of(topic):
    return MODES if getattr(module_of(topic), "MODES", False) else MODES[:1]


@functools.lru_cache(None)
def cases_of(topic):
    module = module_of(topic)
    found = collections.Counter(module.CASES)
    twice = [case for case, count in found.items() if count > 1]
    if twice:
        raise SystemExit(f"{topic}.py has a case twice: {twice[0]}")
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
    if isinstance(value, Described):
        return value.text
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


class Operands(ast.NodeTransformer):
    """Takes the makers T(..), I(..), B(..) out of a call, which becomes a function of what they make."""

    def __init__(self):
        self.makers = []

    def visit_Call(self, node):
        made = isinstance(node.func, ast.Name) and node.func.id in ("T", "I", "B")
        parts = [*node.args, *(word.value for word in node.keywords)]
        if not made or not all(map(is_literal, parts)):
            return self.generic_visit(node)
        self.makers.append(ast.unparse(node))
        return ast.Name(f"_{len(self.makers) - 1}", ast.Load())

    def skip(self, node):
        return node  # they run more than once

    visit_Lambda = visit_ListComp = visit_GeneratorExp = visit_FunctionDef = skip


def is_literal(node):
    try:
        ast.literal_eval(node)
    except ValueError:
        return False
    return True


@functools.lru_cache(None)
def as_function(case):
    """A case as (what makes its operands, the text of a function `call` of them)."""
    *statements, expression = (text.strip() for text in case.split(";;"))
    tree = ast.parse("\n".join([*statements, f"_found = ({expression})"]))
    operands = Operands()
    tree = ast.fix_missing_locations(operands.visit(tree))
    names = ", ".join(f"_{i}" for i in range(len(operands.makers)))
    body = "\n".join("    " + line for line in ast.unparse(tree).splitlines())
    return operands.makers, f"def call({names}):\n{body}\n    return _found\n"


def tensors_in(value, paddle):
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in tensors_in(item, paddle)]
    if isinstance(value, dict):
        return tensors_in(list(value.values()), paddle)
    is_one = isinstance(value, paddle.Tensor) or hasattr(value, "get_defining_op")
    return [value] if is_one else []


def with_tensors(value, found, paddle):
    """`value` with its tensors replaced by those of `found`, an iterator, in order."""
    if isinstance(value, (list, tuple)):
        items = [with_tensors(item, found, paddle) for item in value]
        return items if isinstance(value, list) else tuple(items)
    if isinstance(value, dict):
        return {key: with_tensors(item, found, paddle) for key, item in value.items()}
    return next(found) if tensors_in(value, paddle) else value


def name_of(dtype):
    return str(dtype).rpartition(".")[2].lower()


def loss_of(tensors, names):
    """The sum of the floating point results, each weighted by fixed values; None without one."""
    parts = []
    for tensor in tensors:
        dtype = name_of(tensor.dtype)
        if "float" in dtype and not tensor.stop_gradient and -1 not in tensor.shape:
            weights = names["T"](*tensor.shape, dtype=dtype, seed=99)
            parts.append((tensor * weights).sum().astype("float64"))
    return functools.reduce(lambda a, b: a + b, parts) if parts else None


def run_in_mode(case, names, paddle, mode):
    """{"ok": the result described, "gradient": that of loss_of for each floating point operand}"""
    makers, text = as_function(case)
    scope = {**names}
    operands = [eval(maker, scope) for maker in makers]
    for operand in operands:
        operand.stop_gradient = "float" not in name_of(operand.dtype)
    file = f"<{len(linecache.cache)} {case[:60]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    wanted = [i for i, operand in enumerate(operands) if not operand.stop_gradient]
    if mode == "static":
        return in_program(scope["call"], operands, wanted, names, paddle)
    call = scope["call"]
    if mode == "captured":
        call = paddle.jit.to_static(call, full_graph=True)
    value = call(*operands)
    found = {"ok": without_stop(describe(value, paddle), everywhere=mode == "captured")}
    try:
        loss = loss_of(tensors_in(value, paddle), names)
        if loss is not None and wanted:
            loss.backward()
            gradients = describe([operands[i].grad for i in wanted], paddle)
            found["gradient"] = without_stop(gradients, everywhere=True)
    except Exception as error:
        found["gradient"] = failure(error)
    return found


def in_program(call, operands, wanted, names, paddle):
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        feed, slots = {}, []
        for i, operand in enumerate(operands):
            dtype = name_of(operand.dtype)
            slots.append(paddle.static.data(f"x{i}", list(operand.shape), dtype))
            slots[-1].stop_gradient = operand.stop_gradient
            paddle.disable_static()
            wide = operand.detach()
            feed[f"x{i}"] = wide.numpy()
            paddle.enable_static()
        value = call(*slots)
        results = tensors_in(value, paddle)
        dtypes = [name_of(result.dtype) for result in results]
        gradients, trouble = [], None
        try:
            loss = loss_of(results, names)
            if loss is not None and wanted:
                gradients = paddle.static.gradients([loss], [slots[i] for i in wanted])
        except Exception as error:
            trouble = failure(error)
        kept = [gradient for gradient in gradients if gradient is not None]
        executor = paddle.static.Executor(paddle.CPUPlace())
        executor.run(startup)
        if not results:
            return {"ok": describe(value, paddle)}
        fetches = [*results, *kept]
        wide = [
            fetch.astype("float32") if name_of(fetch.dtype) in ("bfloat16", "float16") else fetch
            for fetch in fetches
        ]
        values = executor.run(main, feed=feed, fetch_list=wide)
    paddle.disable_static()

    def shown(value, dtype):
        found = describe(np.asarray(value), paddle)
        half = {"dtype": dtype} if dtype in ("float16", "bfloat16") else {}
        return {**found, "kind": "tensor", **half}

    described = [shown(value, dtype) for value, dtype in zip(values, dtypes)]
    found = {"ok": describe(with_tensors(value, map(Described, described), paddle), paddle)}
    if trouble:
        found["gradient"] = trouble
    elif gradients:
        rest = iter(values[len(results) :])
        found["gradient"] = {
            "kind": "list",
            "items": [
                describe(None, paddle) if g is None else shown(next(rest), name_of(g.dtype))
                for g in gradients
            ],
        }
    return found


def without_stop(found, everywhere=False):
    """Takes out whether whole numbers have gradients: here never, in Paddle after most functions."""
    dtype = found.get("dtype", "")
    if found["kind"] == "tensor" and (everywhere or not ("float" in dtype or "complex" in dtype)):
        found["stop"] = None
    for item in found.get("items", ()):
        without_stop(item[1] if found["kind"] == "dict" else item, everywhere)
    return found


class Described:
    """A value that `describe` has seen."""

    def __init__(self, text):
        self.text = text


def evaluate_in(case, names, paddle, mode):
    paddle.seed(2024)
    np.random.seed(2024)
    signal.alarm(SECONDS)
    try:
        return run_in_mode(case, names, paddle, mode)
    except Exception as error:
        return failure(error)
    finally:
        signal.alarm(0)
        paddle.disable_static()
        paddle.set_default_dtype("float32")


def work(framework, topic, skip):
    """Evaluate the cases of a topic from number `skip` on; a line of JSON for each.

    `topic` may end with a mode: nn_calls:static.
    """
    topic, _, mode = topic.partition(":")
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    paddle = importlib.import_module(framework)
    signal.signal(signal.SIGALRM, late)
    names = namespace(paddle)
    evaluation = functools.partial(evaluate_in, mode=mode) if mode else evaluate
    for case in cases_of(topic)[skip:]:
        print(json.dumps(evaluation(case, names, paddle)), file=answers, flush=True)


def results(python, framework, topic, script=__file__, count=None):
    """What each case of a topic gives in a framework; a crash or a hang is a result too.

    `script` answers for `count` cases: this one, or one with the same --worker.
    """
    found = []
    count = len(cases_of(topic.partition(":")[0])) if count is None else count
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


def kept_results(folder, python, name):
    """`results` of Paddle, read from a folder if it has them for the same calls."""
    if folder is None:
        return results(python, "paddle", name)
    path = folder / f"{name.replace(':', '-')}.json"
    cases = cases_of(name.partition(":")[0])
    if path.exists():
        was, found = json.loads(path.read_text())
        if was == cases:
            return found
    found = results(python, "paddle", name)
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([cases, found]))
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
            if key == "stop" and None in (ours.get(key), theirs.get(key)):
                continue  # a value that a Program gave
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
        found = difference(ours["ok"], theirs["ok"])
        return found if found is not None else gradients_differ(ours, theirs)
    if "error" in ours and "error" in theirs:
        if theirs["error"] in ours.get("kinds", [ours["error"]]):
            return None  # caught by the same except clauses
        return f"raises {ours['error']} ({ours['text']}) against {theirs['error']}"
    if "error" in ours:
        return f"raises {ours['error']} ({ours['text']}) against {brief(theirs['ok'])}"
    if any(word in theirs["text"] for word in LACKING) or theirs["error"] in ("CRASH", "HANG"):
        return None  # Paddle has no kernel for this dtype on the CPU, or does not survive the call
    return f"{brief(ours['ok'])} against {theirs['error']} ({theirs['text']})"


def gradients_differ(ours, theirs):
    a, b = ours.get("gradient"), theirs.get("gradient")
    if b is None or "error" in b:
        return None  # Paddle has none, and may call a result that has one a constant
    if a is None and all(nothing(item) for item in b["items"]):
        return None
    if a is None or "error" in a:
        return f"no gradient ({a and a['text']})"
    for i, (mine, other) in enumerate(zip(a["items"], b["items"])):
        # Where Paddle has none (weights of a loss, say) there may be one.
        if other["kind"] != "NoneType" and (found := difference(mine, other)) is not None:
            return f"gradient of operand {i}: {found}"
    return None


def nothing(gradient):
    return gradient["kind"] == "NoneType" or not np.any(gradient["data"])


def compare_in(ours, theirs, eager):
    """As `compare`, for a mode; `eager` is what Paddle gives eagerly.

    Where Paddle's modes disagree with each other, one of the two must be met.
    """
    if "error" in theirs and "error" not in eager:
        theirs = eager
    found = compare(ours, theirs)
    return None if found is None or compare(ours, eager) is None else found


def main():
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="has paddlepaddle")
    parser.add_argument("--topic", action="append", choices=topics(), help="only this topic")
    parser.add_argument("--match", default="", help="only cases that contain this text")
    parser.add_argument("--mode", choices=MODES, help="only this mode")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for what Paddle gives")
    parser.add_argument("--peer-only", action="store_true", help="list what Paddle refuses")
    options = parser.parse_args()
    expected = load(HERE / "differential_expected.py")
    sums = collections.Counter()
    for topic in options.topic or topics():
        eager = None
        for mode in modes_of(topic):
            if options.mode not in (None, mode) and not (eager is None and mode == "eager"):
                continue
            name = f"{topic}:{mode}" if len(modes_of(topic)) > 1 else topic
            theirs = kept_results(options.keep, options.peer, name)
            eager = eager or theirs
            if options.mode not in (None, mode):
                continue
            ours = theirs if options.peer_only else results(sys.executable, "argosy", name)
            lines = []
            for case, a, b, c in zip(cases_of(topic), ours, theirs, eager):
                if options.match not in case:
                    continue
                sums["calls"] += 1
                if options.peer_only:
                    if "error" in b:
                        lines.append(f"  {case}\n      {b['error']}: {b['text']}")
                    continue
                found = compare(a, b) if mode == "eager" else compare_in(a, b, c)
                meant = case in expected.EXPECTED or expected.is_meant(topic, mode, case)
                if found is not None and meant:
                    sums["expected"] += 1
                elif found is not None:
                    lines.append(f"  {case}\n      {found}")
                elif case in expected.EXPECTED and mode == "eager":
                    lines.append(f"  {case}\n      no longer differs: take it out of EXPECTED")
            sums["differ"] += len(lines)
            print(f"{name}: {len(cases_of(topic))} cases, {len(lines)} differ", flush=True)
            print("".join(f"{line}\n" for line in lines), end="", flush=True)
    what = "raise in the peer" if options.peer_only else "differ"
    print(f"{sums['calls']} cases, {sums['differ']} {what}, {sums['expected']} differ as expected")
    return int(sums["differ"] > 0 and not options.peer_only)


if __name__ == "__main__":
    sys.exit(main())
