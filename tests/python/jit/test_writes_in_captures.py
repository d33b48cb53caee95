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


def _elements_set_in_a_loop(s, a):
    x = a * 1
    v, other = x[0:1], x
    i = T(0)
    while i < 3:
        x[0] = x[1] * 2 + i
        other[1] = v[0] - 1
        i = i + 1
    return x, v, other


def _elements_of_a_view_set_in_a_loop(s, a):
    x = a * 1
    v = x[1:]
    i = T(0)
    while x.sum() < 50:
        v[0] = x[0] + v[0] + 10
        i = i + 1
        if i == 4:
            break
    return x, v


def _elements_of_the_kept_set_in_a_loop(s, a):
    v = s.kept[0:1]
    i = T(0)
    while i < 2:
        s.kept[0] = s.kept[1] + a[0]
        i = i + 1
    return s.kept + 1, v + 1


def _transposed_row_written(s, a):
    m = a.reshape([1, 2]).tile([2, 1])
    row = m.t().reshape([-1])  # elements of its own
    row[0] = 7.0
    return m, row, row * m[0, 0]


def _transposed_row_of_the_kept(s, a):
    s.kept.reshape([1, 2]).t().reshape([-1])[0] = a[0]  # one row, so a view
    return s.kept * 1


def _transposed_back(s, a):
    m = a.reshape([1, 2]).tile([2, 1])
    m.t().t().reshape([-1])[1] = 7.0
    return m * 1


def _transposed_then_written_then_a_row(s, a):
    m = a.reshape([1, 2]).tile([2, 1])
    t = m.t()
    t[0] = 7.0
    m[1, 1] = 5.0
    m.flatten()[0] = 1.0
    t.flatten()[3] = 2.0
    return m, t


def _reshaped_in_place(s, a):
    m = a.reshape([1, 2]).tile([3, 1])
    t = m.t()
    t.reshape_([3, 2])
    t[0] = 7.0
    return m, t


def _any_strides(s, a):
    m = a.reshape([1, 2]).tile([2, 1])
    m.as_strided([2, 2], [1, 2]).flatten()[0] = 7.0
    m.as_strided([3], [1], 1)[0] = 9.0
    return m * 1


def _sliced_columns(s, a):
    m = a.reshape([1, 2]).tile([2, 1])
    m[:, 0:1].flatten()[0] = 7.0
    m[0:1].flatten()[1] = 9.0
    return m * 1


FUNCTIONS = [
    _transposed_row_written, _transposed_row_of_the_kept, _transposed_back, _transposed_then_written_then_a_row,
    _reshaped_in_place, _any_strides, _sliced_columns,
    _twice, _two_views, _written_before_a_branch, _view_written_in_a_branch, _base_written_in_a_branch,
    _written_in_both_branches, _view_taken_in_a_branch, _detached_in_a_branch, _detached_in_a_loop,
    _view_in_a_loop, _view_decides_a_loop, _kept_in_a_branch, _view_of_the_kept, _kept_in_a_loop,
    _plain, _plain_in_a_branch, _plain_set, _nested, _data_in_a_branch,
    _elements_set_in_a_loop, _elements_of_a_view_set_in_a_loop, _elements_of_the_kept_set_in_a_loop,
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


def test_gradients_of_elements_that_a_loop_sets():
    def function(x):
        a, i = x * 2, T(0)
        other = a
        while i < 2:
            a[i] = x[i] * x[2] + other[2]
            i = i + 1
        return other

    grads = []
    for call in (function, argosy.jit.to_static(function, full_graph=True)):
        x = T([1.0, 2.0, 3.0], stop_gradient=False)
        call(x).sum().backward()
        grads.append(x.grad.tolist())
    assert grads[0] == grads[1] == [3.0, 3.0, 9.0]


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
            [
                f"{x}.reshape([1, -1]).tile([2, 1]).t().reshape([-1])[:2]",
                f"{x}.detach()",
                f"{x}[0:1]",
                f"{x}[1:]",
                f"{x}.reshape([-1])",
                f"{x}.unsqueeze(0)[0]",
            ]
        )

    def block(self, depth, statements):
        pad, known = "    " * (depth - 1), len(self.names)
        for _ in range(statements):
            kind = self.random.choice(
                ["view", "view", "write", "write", "element", "element", "if", "read", "while"]
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
            elif kind == "element":
                place = self.random.choice(["0", "-1", "0:1", ":"])
                self.lines.append(f"{pad}{self.name()}[{place}] = {self.name()}.sum() * 0.5")
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


@pytest.mark.parametrize("full_graph", [False, True])
def test_rows_of_sizes_that_are_not_known(full_graph):
    def function(x):
        y = x * 1
        row = y.transpose([1, 0]).reshape([-1])
        row[0] = 100.0
        y.reshape([-1])[1] = 50.0
        return y, row

    spec = [argosy.static.InputSpec([-1, -1])]
    captured = argosy.jit.to_static(function, input_spec=spec, full_graph=full_graph)
    for shape in ([2, 3], [3, 2]):
        x = argosy.arange(6, dtype="float32").reshape(shape)
        assert [v.tolist() for v in captured(x)] == [v.tolist() for v in function(x)]


def test_a_row_of_an_argument_that_is_a_transposed_matrix():
    """Its elements are copied where the argument is not contiguous, and are the argument's where it is."""

    def function(x):
        row = x.reshape([-1])
        row[0] = 7.0
        return row * 1

    captured = argosy.jit.to_static(function, full_graph=True)
    for transposed in (False, True, False):
        seen = []
        for call in (function, captured):
            x = argosy.arange(6, dtype="float32").reshape([2, 3] if not transposed else [3, 2])
            x = x.t() if transposed else x
            seen.append((call(x).tolist(), x.tolist()))
        assert seen[0] == seen[1]


@pytest.mark.parametrize("view", ["reshape_([-1])", "unsqueeze_(0)", "flatten_()", "squeeze_()"])
def test_arguments_that_get_another_shape_in_place(view):
    scope = {}
    exec(f"def function(x):\n    y = x * 2\n    x.{view}\n    return y, x * 3", scope)
    captured = argosy.jit.to_static(scope["function"], full_graph=True)
    for _ in range(2):
        seen = []
        for call in (scope["function"], captured):
            leaf = argosy.arange(6, dtype="float32").reshape([2, 1, 3])
            leaf.stop_gradient = False
            x = leaf * 1
            row = x[0]
            made = call(x)
            sum(v.sum() for v in (*made, x)).backward()
            with argosy.no_grad():
                x.add_(argosy.ones([1]))  # the memory is still that of its views
            seen.append([v.tolist() for v in (*made, x, row, leaf.grad)])
        assert seen[0] == seen[1]


def test_arguments_that_are_transposed_in_place_are_refused():
    def function(x):
        x.transpose_([1, 0])
        return x * 2

    with pytest.raises(Exception, match="changes the shape or dtype of an argument in place"):
        argosy.jit.to_static(function, full_graph=True)(argosy.ones([2, 3]))
