"""Writes in place through views, in branches and in loops: captured functions see what eager calls see."""

import linecache
import random

import numpy as np
import pytest

import argosy

T = argosy.to_tensor


class _State:
    """Tensors of outside: one that a layer would keep, and a plain one."""

    def __init__(self):
        self.kept = T([1.0, 2.0])
        self.kept.persistable = True
        self.plain = T([1.0, 2.0])
        self.learned = T([1.0, 2.0], stop_gradient=False)


def _twice(s, a):
    x = a * 1
    y = x[0]
    y.add_(T(1.0))
    y.add_(T(1.0))
    return x, y


def _two_views(s, a):
    x = a * 1
    v, w = x[0:1], x.detach()
    v.add_(T([1.0]))
    w.multiply_(T([2.0, 3.0]))
    v.add_(T([1.0]))
    x.add_(v)
    return x, v, w


def _written_before_a_branch(s, a):
    x = a * 1
    w = x[0]
    x.detach().add_(T([1.0, 1.0]))
    if a.sum() > 0:
        z = x + w
    else:
        z = x - w
    return z


def _view_written_in_a_branch(s, a):
    x = a * 1
    w = x[0:1]
    if a.sum() > 0:
        w.add_(T([5.0]))
        z = x + 0
    else:
        z = x - 1
    return z, x, w


def _base_written_in_a_branch(s, a):
    x = a * 1
    w = x[0:1]
    if a.sum() > 0:
        x.add_(T([5.0, 5.0]))
        z = w + 0
    else:
        z = w - 1
    return z, x, w


def _written_in_both_branches(s, a):
    x = a * 1
    w = x[0:1]
    if a.sum() > 0:
        x.add_(T([5.0, 5.0]))
    else:
        w.add_(T([7.0]))
    w.add_(T([1.0]))
    return x, w


def _view_taken_in_a_branch(s, a):
    x = a * 1
    if a.sum() > 0:
        w = x[0:1]
        w.add_(T([5.0]))
        x[1] = 3.0
        w.add_(T([5.0]))
    return x


def _detached_in_a_branch(s, a):
    x = a * 1
    if a.sum() > 0:
        x.detach().add_(T([5.0, 6.0]))
    return x


def _detached_in_a_loop(s, a):
    x = a * 1
    i = T(0)
    while i < 3:
        x.detach().add_(T([5.0, 6.0]))
        i = i + 1
    return x


def _view_in_a_loop(s, a):
    x = a * 1
    w = x[0:1]
    i = T(0)
    while i < 3:
        w.add_(x[1:2])
        x.add_(T([1.0, 1.0]))
        i = i + 1
    return x, w


def _view_decides_a_loop(s, a):
    x = a * 1
    w = x[0]
    while w < 100:
        x.add_(T([20.0, 1.0]))
    return x, w


def _kept_in_a_branch(s, a):
    if a.sum() > 0:
        s.kept.add_(a)
        s.kept.detach().add_(a)
        z = s.kept + 0
    else:
        z = s.kept - 1
    return z


def _view_of_the_kept(s, a):
    v = s.kept[0:1]
    if a.sum() > 0:
        v.add_(a[0:1])
        z = s.kept + 0
    else:
        z = s.kept - 1
    return z, v


def _kept_in_a_loop(s, a):
    v = s.kept[1]
    i = T(0)
    while i < 2:
        s.kept.data.add_(a)
        i = i + 1
        z = v + i
    return z, s.kept + 1


def _plain(s, a):
    s.plain.detach().add_(a)
    return s.plain + 0


def _plain_in_a_branch(s, a):
    v = s.plain[0:1]
    if a.sum() > 0:
        v.add_(a[0:1])
    return s.plain + v


def _plain_set(s, a):
    s.plain.set_value(np.float32([0, 0]))
    s.plain.add_(a)
    return s.plain + 0


def _nested(s, a):
    x = a * 1
    w = x[0:1]
    if a.sum() > 0:
        x.add_(a)
        if a.sum() > 20:
            z = w + 0
            w.add_(T([1.0]))
        else:
            z = w * 2
    else:
        z = w * 3
    return z, x, w


def _data_in_a_branch(s, a):
    z = T([0.0, 0.0])
    v = z[0:1]
    if a.sum() > 0:
        v.add_(a[0:1])
    z.add_(a)
    return z, v


FUNCTIONS = [
    _twice, _two_views, _written_before_a_branch, _view_written_in_a_branch, _base_written_in_a_branch,
    _written_in_both_branches, _view_taken_in_a_branch, _detached_in_a_branch, _detached_in_a_loop,
    _view_in_a_loop, _view_decides_a_loop, _kept_in_a_branch, _view_of_the_kept, _kept_in_a_loop,
    _plain, _plain_in_a_branch, _plain_set, _nested, _data_in_a_branch,
]  # fmt: skip
ARGUMENTS = ([10.0, 20.0], [10.5, 3.0], [-3.0, -4.0], [1.0, 0.5])


def _outcome(function, captured):
    state = _State()
    call = argosy.jit.to_static(function, full_graph=True) if captured else function
    seen = []
    for a in ARGUMENTS:
        made = call(state, T(a))
        made = made if isinstance(made, tuple) else (made,)
        seen.append([v.tolist() for v in (*made, state.kept, state.plain)])
    return seen


@pytest.mark.parametrize("function", FUNCTIONS)
def test_writes_are_those_of_eager_calls(function):
    assert _outcome(function, True) == _outcome(function, False)


class _Writer:
    """A random function of views and writes."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines, self.names = (
            ["x = a * 1", "y = a + 1", "z = T(0.0)", "i = T(0)"],
            ["x", "y", "k"],
        )
        self.block(1, 4)

    def name(self):
        return self.random.choice(self.names)

    def view(self):
        x = self.name()
        return self.random.choice(
            [f"{x}.detach()", f"{x}[0:1]", f"{x}[1:]", f"{x}.reshape([-1])", f"{x}.unsqueeze(0)[0]"]
        )

    def block(self, depth, statements):
        pad, known = "    " * (depth - 1), len(self.names)
        for _ in range(statements):
            kind = self.random.choice(
                ["view", "view", "write", "write", "write", "if", "read", "while"]
            )
            if kind == "view":
                name = f"v{len(self.lines)}"
                self.lines.append(f"{pad}{name} = {self.view()}")
                self.names.append(name)
            elif kind == "write":
                what = self.random.choice(
                    [f"add_({self.name()}.sum())", "multiply_(T(2.0))", "subtract_(a[0])"]
                )
                self.lines.append(f"{pad}{self.random.choice([self.name(), self.view()])}.{what}")
            elif kind == "read":
                self.lines.append(f"{pad}z = z + {self.name()}.sum()")
            elif depth < 3:
                if kind == "if":
                    self.lines.append(
                        f"{pad}if {self.name()}.sum() > {self.random.choice([0, 10])}:"
                    )
                    self.block(depth + 1, 3)
                    self.lines.append(f"{pad}else:")
                    self.block(depth + 1, 2)
                else:
                    counter = f"n{len(self.lines)}"
                    self.lines.append(f"{pad}{counter} = T(0)")
                    self.lines.append(f"{pad}while {counter} < 2:")
                    self.lines.append(f"{pad}    {counter} = {counter} + 1")
                    self.block(depth + 1, 3)
        self.lines.append(f"{pad}i = i + 1")
        if depth > 1:
            del self.names[known:]

    def function(self, number):
        """The function of (k, a), and its text."""
        text = "def f(k, a):\n" + "".join(f"    {line}\n" for line in self.lines)
        text += f"    return {', '.join(self.names)}, z, i\n"
        file = f"<writes {number}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        scope = {"T": T, "__name__": "writes"}
        exec(compile(text, file, "exec"), scope)
        return scope["f"], text


def _run(function, captured):
    k, seen = T([1.0, -2.0]), []
    k.persistable = True

    def with_k(a):
        return function(k, a)

    call = argosy.jit.to_static(with_k, full_graph=True) if captured else with_k
    for a in ([1.0, 2.0], [-1.0, 0.5], [3.0, -7.0]):
        made = call(T(a))
        seen.append([v.tolist() for v in (*made, k)])
    return seen


@pytest.mark.parametrize("seed", range(40))
def test_random_writes(seed):
    function, text = _Writer(seed).function(seed)
    want = _run(function, False)
    got = _run(function, True)
    for w, g in zip(want, got):
        for one, other in zip(w, g):
            np.testing.assert_allclose(other, one, rtol=1e-5, err_msg=text)
