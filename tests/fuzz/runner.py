"""Runs a call for calls.py, in a mode and a context: "eager", "captured+o2".

Modes: eager; static and unknown, a Program whose inputs have known or unknown sizes; captured, by
jit.to_static, whose result is compared with the eager one; threads, three at once with the same operands.
Contexts: no_grad, autocast (o1, o2), a default dtype (float64, bfloat16), gradients of gradients (twice).
"""

import contextlib
import itertools
import linecache
import re
import threading
import warnings

from tests.fuzz import mutations

LARGE = 10_000
MODES = ("eager", "static", "unknown", "captured", "threads")
CONTEXTS = ("no_grad", "o1", "o2", "float64", "bfloat16", "twice")
DEFECTS = re.compile(
    r"another form|std::|bad_alloc|vector::|basic_string|map::at|stoi|internal error|defect"
)
# Written into: threads then take operands of their own.
WRITES = re.compile(r"_\(|_'|set|out=|put|=(?!=).*;;")
# Random with few values, memory as it is, state of the function, and conversions, which capture keeps
# as tensors.
INCOMPARABLE = re.compile(
    r"grad|backward|empty|dropout|rand|bernoulli|multinomial|poisson|bool\(|float\(|int\(|len\(|\.item|tolist"
    r"|numpy"
)
LOOSE = {"float16": 5e-2, "bfloat16": 2e-1, "float32": 2e-3, "complex64": 2e-3}


def a_mode(draw):
    mode = draw.choice(("eager", "eager", "eager", "static", "unknown", "captured", "threads"))
    return f"{mode}+{draw.choice(CONTEXTS)}" if draw.random() < 0.25 else mode


def check_mode(text):
    """`text` if it is a mode, with or without a context; for argparse."""
    mode, _, context = text.partition("+")
    if mode not in MODES or context not in ("", *CONTEXTS):
        raise ValueError(text)
    return text


class Different(Exception):
    """A call gave something else in another mode."""


class Runner:
    """Runs calls, in a process that was forked for it."""

    def __init__(self):
        import numpy as np

        import argosy as paddle

        self._np, self._paddle = np, paddle
        self._tool = mutations.differential()
        self._made = mutations.makers(paddle, np)
        self._names = {**self._tool.namespace(paddle), **self._made, "ops": paddle._core.ops}
        self._numbers = itertools.count()

    def run(self, text, mode, backward):
        """None, or what is wrong with the exception that the call raised."""
        paddle = self._paddle
        mode, _, context = mode.partition("+")
        paddle.seed(7)
        try:
            with warnings.catch_warnings(), self._context(context):
                warnings.simplefilter("ignore")
                self._run(text, mode, backward, context == "twice")
        except MemoryError as error:
            return None if mutations.is_large(text, LARGE) else f"MemoryError: {error}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
            kinds = ("SystemError", "InternalError", "Different")
            if type(error).__name__ in kinds or DEFECTS.search(said):
                return said[:500]
        finally:
            paddle.disable_static()
            paddle.set_default_dtype("float32")
        return None

    def _context(self, name):
        paddle = self._paddle
        if name == "no_grad":
            return paddle.no_grad()
        if name in ("o1", "o2"):
            return paddle.amp.auto_cast(level=name.upper(), dtype="bfloat16")
        if name in ("float64", "bfloat16"):
            paddle.set_default_dtype(name)
        return contextlib.nullcontext()

    def _run(self, text, mode, backward, twice):
        self._made["forget"]()
        if mode == "eager":
            *statements, expression = text.split(";;")
            scope = dict(self._names)
            for statement in statements:
                exec(statement.strip(), scope)
            value = eval(expression.strip(), scope)
            if backward:
                self._backward(value, twice)
        elif mode == "captured":
            self._captured(text, backward, twice)
        elif mode == "threads":
            self._threads(text, backward)
        else:
            self._in_program(text, mode, backward)

    def _as_function(self, text):
        """(what makes the operands, the call as a function of them)"""
        makers, function = self._tool.as_function(text)
        scope = dict(self._names)
        file = f"<call {next(self._numbers)}>"
        # Capture reads the source.
        linecache.cache[file] = (len(function), None, function.splitlines(True), file)
        exec(compile(function, file, "exec"), scope)

        def make():
            self._made["forget"]()
            return [eval(maker, scope) for maker in makers]

        return make, scope["call"]

    def _captured(self, text, backward, twice):
        paddle = self._paddle
        make, call = self._as_function(text)
        captured = paddle.jit.to_static(call, full_graph=True)
        value = captured(*make())
        if backward:
            self._backward(value, twice)
        # A second call finds the Program; eager calls with two seeds tell what is random.
        again = captured(*make())
        found = []
        for seed in (7, 8):
            paddle.seed(seed)
            found.append(self._floats_and_forms(call(*make())))
        if found[0] == found[1] and not INCOMPARABLE.search(text):
            self._compare(again, call(*make()))

    def _floats_and_forms(self, value):
        tensors = self._tool.tensors_in(value, self._paddle)
        return [(x.shape, str(x.dtype), x.numpy().tobytes()) for x in tensors if self._dense(x)]

    def _dense(self, x):
        return x.is_dense() and not x._symbolic

    def _compare(self, captured, eager):
        pairs = [self._tool.tensors_in(value, self._paddle) for value in (captured, eager)]
        if len(pairs[0]) != len(pairs[1]):
            raise Different(f"captured gives {len(pairs[0])} tensors, eager {len(pairs[1])}")
        for a, b in zip(*pairs):
            if not (self._dense(a) and self._dense(b)):
                continue
            if a.shape != b.shape or a.dtype != b.dtype:
                raise Different(
                    f"captured gives {a.dtype}{[*a.shape]}, eager {b.dtype}{[*b.shape]}"
                )
            name = str(a.dtype).rpartition(".")[2]
            if name in ("bfloat16", "float16") or name.startswith("float8"):
                a, b = a.astype("float32"), b.astype("float32")
            if not self._close(a.numpy(), b.numpy(), LOOSE.get(name, 1e-6)):
                raise Different(
                    f"captured gives {str(a.tolist())[:80]}, eager {str(b.tolist())[:80]}"
                )

    def _close(self, x, y, tolerance):
        np = self._np
        if x.dtype.kind not in "fc":
            return np.array_equal(x, y)
        with np.errstate(all="ignore"):
            x, y = (np.nan_to_num(v, posinf=1e30, neginf=-1e30) for v in (x, y))
            return (np.abs(x - y) <= tolerance * (np.abs(y).max(initial=0) + 1)).all()

    def _threads(self, text, backward):
        make, call = self._as_function(text)
        shared = None if WRITES.search(text) else make()
        errors = []

        def work(operands):
            try:
                value = call(*operands)
                if shared is None and backward:
                    self._backward(value, False)
            except BaseException as error:
                errors.append(error)

        inputs = [make() if shared is None else shared for _ in range(3)]
        threads = [threading.Thread(target=work, args=(operands,)) for operands in inputs]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if errors:
            raise errors[0]

    def _in_program(self, text, mode, backward):
        paddle, static = self._paddle, self._paddle.static
        make, call = self._as_function(text)
        operands = make()
        paddle.enable_static()
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            slots, feed = [], {}
            for i, operand in enumerate(operands):
                shape = list(operand.shape) if mode == "static" else [-1] * operand.ndim
                slots.append(static.data(f"x{i}", shape, operand.dtype))
                slots[-1].stop_gradient = operand.stop_gradient
                feed[f"x{i}"] = operand
            value = call(*slots)
            found = [x for x in self._tool.tensors_in(value, paddle) if x._symbolic]
            if backward and found:
                wanted = [slot for slot in slots if not slot.stop_gradient]
                floats = [x for x in found if not x.stop_gradient]
                if wanted and floats:
                    given = static.gradients([floats[0].sum()], wanted)
                    found += [x for x in given if x is not None]
            executor = static.Executor()
            executor.run(startup)
            executor.run(main, feed=feed, fetch_list=found)

    def _backward(self, value, twice):
        paddle = self._paddle
        floats = [
            x for x in self._tool.tensors_in(value, paddle)
            if not x.stop_gradient and "float" in str(x.dtype)
        ]  # fmt: skip
        if not floats:
            return
        if not twice:
            floats[0].sum().backward()
            return
        leaves = self._made["leaves"]()
        first = paddle.grad([floats[0].sum()], leaves, create_graph=True, allow_unused=True)
        parts = [(g * g).sum() for g in first if g is not None and not g.stop_gradient]
        if parts:
            paddle.add_n([part.astype("float32") for part in parts]).backward()
