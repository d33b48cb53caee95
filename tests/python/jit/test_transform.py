"""Rewritten functions behave like the originals on Python values."""

import copy
import functools
import inspect
import linecache
import random
import traceback

import pytest
from tests.python.jit import transform_functions
from tests.python.jit.program_generator import generate

from argosy.jit.transform import CaptureError, UndefinedVar, ignore_module, transform, why_not
from argosy.jit.transform.runtime import calls
from argosy.jit.transform.source import is_made


def outcome(function, arguments):
    """(value) or (exception type, text) and what became of the arguments."""
    arguments = copy.deepcopy(arguments)
    try:
        return "value", function(*arguments), arguments
    except Exception as e:
        # A variable read before it is bound is named alike in both forms; the wording differs.
        name = "NameError" if isinstance(e, NameError) else type(e).__name__
        text = getattr(e, "name", None) if isinstance(e, NameError) else str(e)
        return "raised", name, text if name != "NameError" else None, arguments


@pytest.mark.parametrize(
    "function, arguments", transform_functions.CASES, ids=lambda v: getattr(v, "__name__", "")
)
def test_same_as_original(function, arguments):
    made = transform(function)
    assert why_not(function) is None
    assert made is not function and is_made(made.__code__)
    for a in arguments:
        assert outcome(made, a) == outcome(function, a), a


def test_enough_cases():
    assert len(transform_functions.CASES) >= 60


@pytest.mark.parametrize("start", range(0, 150, 25))
def test_random_programs(start):
    for seed in range(start, start + 25):
        text = generate(random.Random(seed))
        original = defined_in(text, f"<random program {seed}>")
        made = transform(original)
        assert why_not(original) is None, (seed, text)
        for a in range(-2, 4):
            for b in (0, 3):
                left, right = repr(outcome(original, (a, b))), repr(outcome(made, (a, b)))
                assert left == right, f"seed {seed}, arguments {a, b}:\n{text}"


def test_attributes_are_those_of_the_original():
    f = transform_functions.defaults
    g = transform(f)
    assert inspect.signature(g) == inspect.signature(f)
    assert inspect.getsource(g) == inspect.getsource(f)
    assert (g.__name__, g.__qualname__, g.__module__) == (f.__name__, f.__qualname__, f.__module__)
    assert g.__globals__ is f.__globals__ and g.__defaults__ is f.__defaults__
    assert transform(transform_functions.Box.total).__doc__ == "Doc."
    assert transform(g) is g


def test_many_guards():
    lines = [f"    if a == {i} and b: return {i}\n" for i in range(60)]
    original = defined_in("def program(a, b):\n" + "".join(lines), "<guards>")
    made = transform(original)
    assert why_not(original) is None and [made(i, 1) for i in (0, 59, 60)] == [0, 59, None]
    original = defined_in("def program(a, b):\n" + "".join(lines * 40), "<more guards>")
    assert transform(original) is original and "nest too deeply" in why_not(original)


def test_closure_cells_are_shared():
    add, get = transform_functions.make_counter(0)
    add2 = transform(add)
    assert add2(3) == 3 and get() == 3
    add(1)
    assert add2(0) == 4


def test_globals_are_live():
    module = transform_functions
    made = transform(module.global_variable)
    old = module.GLOBAL
    try:
        module.GLOBAL = 100
        assert made(2) == 102 and module.counter == 2
    finally:
        module.GLOBAL = old


def test_names_in_inner_functions():
    def outer():
        if True:

            def inner():
                pass

            return inner

    assert transform(outer)().__qualname__ == outer().__qualname__


def raises_deep(x):
    for i in range(3):
        if i == x:
            while True:
                raise KeyError(i)


def test_traceback_points_to_the_users_lines():
    first = raises_deep.__code__.co_firstlineno
    with pytest.raises(KeyError) as e:
        transform(raises_deep)(1)
    frames = [f for f in traceback.extract_tb(e.tb) if f.filename == __file__]
    assert frames[-1].lineno == first + 4
    assert {f.name for f in frames[1:]} == {"raises_deep"}
    assert [f.lineno - first for f in frames[1:]] == [1, 2, 3, 4]


@functools.lru_cache(None)
@functools.lru_cache(None)
def decorated(x):
    return {}[x]


def test_traceback_of_a_decorated_function():
    original = decorated.__wrapped__.__wrapped__
    lines = []
    for f in (original, transform(original)):
        with pytest.raises(KeyError) as e:
            f(1)
        lines.append(traceback.extract_tb(e.tb)[-1].lineno)
    assert lines == [original.__code__.co_firstlineno + 3] * 2


def test_left_alone_with_a_reason():
    def generator():
        if True:
            yield 1

    async def coroutine():
        pass

    def reads_frame(x):
        if x:
            return locals()

    namespace = {}
    exec("def no_source(x):\n    if x: return 1", namespace)
    reasons = {
        generator: "generator",
        coroutine: "coroutine",
        reads_frame: "locals()",
        namespace["no_source"]: "no source text",
        (lambda: 1): "lambda",
        len: "not a Python function",
    }
    for f, reason in reasons.items():
        assert transform(f) is f
        assert reason in why_not(f)


MATCH = """
def program(a, b):
    trace = []
    for item in ((a, b), [a], {"k": b}, b):
        match item:
            case (x, y) if x > y and x:
                trace.append(x)
            case [z]:
                if z > 1:
                    break
                trace.append("one")
            case {"k": k, **rest}:
                if k == 3:
                    return k, rest, trace
                continue
            case _:
                trace.append("other")
        trace.append("end")
    return trace
"""


def defined_in(text, filename):
    """program() of a text that has no file."""
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    namespace = {}
    exec(compile(text, filename, "exec"), namespace)
    return namespace["program"]


def test_match():
    original = defined_in(MATCH, "<match>")
    made = transform(original)
    assert why_not(original) is None
    for a in range(-1, 4):
        for b in (0, 3):
            assert outcome(made, (a, b)) == outcome(original, (a, b))


def test_what_calls_convert(monkeypatch):
    user = transform_functions.if_else
    assert is_made(calls.call(user).__code__)
    assert calls.call(calls.call(user)).__code__ is calls.call(user).__code__
    assert calls.call(copy.deepcopy) is copy.deepcopy
    assert calls.call(transform_functions.Box) is transform_functions.Box
    box = transform_functions.Box(1)
    assert is_made(calls.call(box.total).__func__.__code__)
    assert is_made(calls.call(box).__func__.__code__)
    assert calls.call(sum) is sum and calls.call([].append).__name__ == "append"

    def marked(x):
        return 1 if x else 2

    marked._argosy_not_to_static = True
    assert calls.call(marked) is marked
    monkeypatch.setattr(calls, "_ignored", set())
    ignore_module([transform_functions])
    assert calls.call(user) is user


def test_undefined_variable_raises_at_use():
    u = UndefinedVar("y", "only one branch assigns it")
    uses = [
        lambda: u + 1,
        lambda: 1 - u,
        lambda: u.shape,
        lambda: u[0],
        lambda: u(),
        lambda: bool(u),
        lambda: len(u),
        lambda: u == 1,
        lambda: f"{u}",
        lambda: [x for x in u],
        lambda: u < 2,
    ]
    for use in uses:
        with pytest.raises(NameError, match="variable 'y' has no value here: only one branch"):
            use()
        with pytest.raises(CaptureError):
            use()
    assert not hasattr(u, "__array__")
