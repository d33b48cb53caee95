"""Lists that a loop on tensors fills: what Python does with lists, in a captured function as in eager mode."""

import linecache

import numpy as np
import pytest

import argosy
from argosy import jit
from argosy.jit.transform.errors import CaptureError
from argosy.static import InputSpec

X = np.array([[1.0, -2.0, 3.0]], "float32")

BODIES = {
    "from": "return join(l[1:])",
    "part": "return join(l[1:3]), join(l[:-1]), join(l[-2:])",
    "backwards": "return join(l[::-1]), join(l[-1:0:-2])",
    "steps": "return join(l[::2] + l[1::2])",
    "from a tensor": "return join(l[n - 2 :]), join(l[: n - 3])",
    "beyond": "return join(l[-99:99])",
    "last": "return l[-1] + l[0] * 2",
    "at a tensor": "return l[n - 2]",
    "each": "s = x * 0\nfor y in l[1:]:\n    s = s * y + y\nreturn s",
    "length": "return x * len(l), x * len(l[1:])",
    "pop": "y = l.pop()\nreturn join(l), y",
    "pop first": "y = l.pop(0)\nreturn join(l), y",
    "pop from the end": "y = l.pop(-2)\nreturn join(l), y",
    "pop at a tensor": "y = l.pop(n - 4)\nreturn join(l), y",
    "pop in a loop": "s = x * 0\nwhile len(l) > 1:\n    s = s * 2 + l.pop(0)\nreturn s + l[0]",
    "pop in a branch": "if x.sum() > 0:\n    l.pop(0)\nelse:\n    del l[1:]\nreturn join(l)",
    "del": "del l[1]\ndel l[-1]\nreturn join(l)",
    "del part": "del l[-3:-1]\nreturn join(l)",
    "del nothing": "del l[3:1]\nreturn join(l)",
    "insert": "l.insert(-2, x * 7)\nl.insert(99, x * x)\nl.insert(-99, x)\nreturn join(l)",
    "set": "l[1] = x * 9\nreturn join(l)",
    "set part": "l[1:3] = [x, x * x, x * 3]\nreturn join(l)",
    "set no part": "l[3:1] = [x * x]\nreturn join(l)",
    "set from itself": "l[:2] = l[1:]\nreturn join(l)",
    "extend": "l.extend([x, x * x])\nl += l[1:3]\nl.extend(l)\nreturn join(l)",
    "add": "return join([x * x] + l), join(l + [x]), join(l + l)",
    "times": "return join(l * 2), join(2 * l)",
    "times none": "m = l * 0\nm.append(x)\nreturn join(m)",
    "reverse": "l.reverse()\nreturn join(l)",
    "clear": "l.clear()\nl.append(x * x)\nreturn join(l)",
    "another name": "m = l\nm.append(x)\nreturn join(l)",
    "a copy": "m, k = l[:], l.copy()\nm.append(x)\nk.pop(0)\nreturn join(l), join(m), join(k)",
}


def join(parts):
    return argosy.concat(parts, 0).cumsum(0)


def function(body, append="l.append(x * i.astype('float32'))"):
    """A function of x and n: a list of n tensors, then `body`."""
    lines = ["def f(x, n):", "    l = []", "    i = argosy.zeros([], 'int64')", "    while i < n:"]
    lines += [f"        {line}" for line in append.split("\n")]
    lines += ["        i = i + 1", *(f"    {line}" for line in body.split("\n"))]
    source = "\n".join(lines)
    name = f"<list {hash(source)}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"argosy": argosy, "join": join}
    exec(compile(source, name, "exec"), names)
    return names["f"]


def leaves(out):
    return list(out) if isinstance(out, (list, tuple)) else [out]


def trained(f, n):
    x = argosy.to_tensor(X, stop_gradient=False)
    outs = leaves(f(x, argosy.to_tensor(n)))
    sum((y * y).sum() for y in outs).backward()
    return [*(y.numpy() for y in outs), x.grad.numpy()]


@pytest.mark.parametrize("name", BODIES)
def test_as_in_eager_mode(name, tmp_path):
    f = function(BODIES[name])
    captured = jit.to_static(f, full_graph=True)
    for n in (5, 6):
        for got, want in zip(trained(captured, n), trained(f, n), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)
    spec = [InputSpec([1, 3], "float32", "x"), InputSpec([], "int64", "n")]
    saved = jit.to_static(f, full_graph=True, input_spec=spec)
    jit.save(saved, str(tmp_path / "f"))
    loaded = jit.load(str(tmp_path / "f"))
    x = argosy.to_tensor(X)
    for n in (5, 6):
        given = x, argosy.to_tensor(n)
        for got, want in zip(leaves(loaded(*given)), leaves(f(*given)), strict=True):
            np.testing.assert_array_equal(got.numpy(), want.numpy())


def test_a_branch_of_the_loop_may_append():
    f = function("return join(l)", "if i % 2 == 0:\n    l.append(x * i.astype('float32'))")
    captured = jit.to_static(f, full_graph=True)
    for n in (1, 5, 6):
        for got, want in zip(trained(captured, n), trained(f, n), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize(
    "body, error, text",
    [
        ("del l[9]\nreturn join(l)", IndexError, r"i is out of range: expected from 0 to 5, got 10"),
        ("l.pop(-9)\nreturn join(l)", IndexError, r"i is out of range: .*\(the array has 5 elements"),
        ("return l[5]", IndexError, r"i is out of range: expected from 0 to 4, got 5"),
        ("del l[::2]\nreturn join(l)", CaptureError, "replaced or deleted in steps of 2"),
        ("l[::2] = [x]\nreturn join(l)", CaptureError, "replaced or deleted in steps of 2"),
        ("return join(l[::0])", ValueError, "slice step cannot be zero"),
        ("return join(l[::n])", CaptureError, "sliced in steps that a tensor says"),
        ("return join(l * n)", CaptureError, "repeated as often as a tensor says"),
        ("return join(l + (x,))", TypeError, r"unsupported operand type\(s\) for \+"),
        ("l.extend([x.astype('float64')])\nreturn join(l)", CaptureError,
         "holds elements of .*float32, and got .*float64"),
        ("l.sort()\nreturn join(l)", CaptureError, r"sort\(\) of a list that a loop on tensors has"),
    ],
)  # fmt: skip
def test_errors(body, error, text):
    captured = jit.to_static(function(body), full_graph=True)
    with pytest.raises(error, match=text):
        captured(argosy.to_tensor(X), argosy.to_tensor(5))
