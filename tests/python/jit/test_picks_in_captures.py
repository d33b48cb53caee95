"""What a tensor picks of another lies in it, as in eager calls: writes reach it, in branches and loops, too."""

import numpy as np
import pytest

import argosy

T = argosy.to_tensor


class _State:
    def __init__(self):
        self.w = argosy.create_parameter([3, 2], "float32")
        self.w.set_value(np.arange(6, dtype="float32").reshape(3, 2))
        self.i = T(1)
        self.i.persistable = True


def _added(s, x, i):
    w = x * 2
    w[i].add_(T(1.0))
    return w


def _added_by_operator(s, x, i):
    w = x * 2
    w[i] += x[0]
    return w


def _set_in_a_row(s, x, i):
    w = x * 2
    w[i][1] = x[0, 0]
    w[i][0:1].multiply_(T([3.0]))
    return w


def _two_picks(s, x, i):
    w = x * 2
    a, b = w[i], w[i - 1]
    a.add_(T(1.0))
    b.add_(T([2.0, 3.0]))
    a.add_(T(0.5))
    return w, a, b


def _picked_of_a_pick(s, x, i):
    w, j = x * 2, i * 0 + 1
    w[i][j].add_(T(5.0))
    w[i, j].add_(T(1.0))
    w[:, j].add_(T([1.0, 2.0, 3.0]))
    w[1:, j] = w[1:, j] * 2
    return w


def _read_after_a_write_of_the_base(s, x, i):
    w = x * 2
    row = w[i]
    w.add_(T(1.0))
    return w, row


def _in_both_branches(s, x, i):
    w = x * 2
    if x.sum() > 22:
        w[i].add_(T(1.0))
    else:
        w[i - 1].multiply_(T(2.0))
    return w


def _taken_before_a_branch(s, x, i):
    w = x * 2
    row = w[i]
    if x.sum() > 22:
        row.add_(x[0])
    return w * 1, row * 1


def _in_a_loop(s, x, i):
    w, k = x * 2, T(0)
    row = w[i]
    while k < 3:
        w[k].add_(row)
        k = k + 1
    return w, row


def _index_of_the_function_in_a_loop(s, x, i):
    w, k = x * 2, T(0)
    while k < 3:
        w[k].add_(T(1.0))
        k.add_(T(1))
    return w


def _rows(s, x, i):
    w = argosy.concat([x] * 8) * 2  # 24 rows: no unrolled loop
    for row in w:
        row.add_(T([1.0, 2.0]))
    return w


def _rows_of_a_parameter(s, x, i):
    with argosy.no_grad():
        s.w[i].add_(T(1.0))
        s.w[i, 1:] = x[0, 1:]
    return s.w * x


def _gradient_through_a_view(s, x, i):
    w = x * 2
    w[i].multiply_(x[0])
    w[0:1].add_(x[1])
    return w * 1


def _by_a_buffer(s, x, i):
    row = x[s.i] * 2
    s.i.add_(T(-1))
    return row, x[s.i :] * 1, x[s.i]


def _beside_lists(s, x, i):
    z = argosy.stack([x, x * 2, x * 3, x * 4])
    return (
        z[i, :, [0, 1]],
        z[[0, 1], i],
        z[None, i, ..., None],
        z[..., i * 0],
        z[i, None, 0:2, i * 0],
    )


def _set_beside_lists(s, x, i):
    z = argosy.stack([x, x * 2, x * 3, x * 4])
    z[i, :, [0, 1]] = T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]).t() * x[0, 0]
    z[i, None, 0:2, i * 0] = x[0]
    z[2, i] = x[1]
    z[i - 1, ..., None] = x[:, :, None]
    return z


FUNCTIONS = [
    _added, _added_by_operator, _set_in_a_row, _two_picks, _picked_of_a_pick, _read_after_a_write_of_the_base,
    _in_both_branches, _taken_before_a_branch, _in_a_loop, _index_of_the_function_in_a_loop, _rows,
    _rows_of_a_parameter, _gradient_through_a_view, _by_a_buffer, _beside_lists, _set_beside_lists,
]  # fmt: skip


def _outcome(function, full_graph):
    state, seen = _State(), []

    def with_state(x, i):
        return function(state, x, i)

    call = with_state
    if full_graph is not None:
        call = argosy.jit.to_static(with_state, full_graph=full_graph)
    for k, scale in ((1, 1.0), (0, 2.0), (-1, 0.5)):
        x = T(np.arange(1, 7, dtype="float32").reshape(3, 2) * scale, stop_gradient=False)
        made = call(x, T(k))
        made = made if isinstance(made, tuple) else (made,)
        sum(((n + 1) * v.sum() for n, v in enumerate(made)), T(0.0)).backward()
        seen.append([v.tolist() for v in (*made, x.grad, state.w, state.i)])
        seen.append(None if state.w.grad is None else state.w.grad.tolist())
    return seen


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_values_gradients_and_state_are_those_of_eager_calls(function, full_graph):
    assert _outcome(function, full_graph) == _outcome(function, None)


@pytest.mark.parametrize("place", [lambda i: i, lambda i: (i, slice(1, None))])
def test_a_parameter_is_not_set_where_autograd_looks(place):
    state = _State()

    def function(i):
        state.w[place(i)] = T([1.0])
        return state.w * 1

    for call in (function, argosy.jit.to_static(function, full_graph=True)):
        with pytest.raises(Exception, match="leaf tensor that needs a gradient"):
            call(T(0))


def test_numbers_of_state_are_read_again_when_they_change():
    n = T(2)
    n.persistable = True
    calls = []

    def function(x):
        calls.append(1)
        return argosy.full([n + 1], 1.0), x.reshape([n, -1])

    call = argosy.jit.to_static(function, full_graph=True)
    x = argosy.arange(6)
    assert [list(v.shape) for v in call(x)] == [[3], [2, 3]]
    assert [list(v.shape) for v in call(x)] == [[3], [2, 3]]
    assert len(calls) == 1
    n.set_value(T(3))
    assert [list(v.shape) for v in call(x)] == [[4], [3, 2]]
    n.set_value(T(2))
    assert [list(v.shape) for v in call(x)] == [[3], [2, 3]]
    assert len(calls) == 2


def test_numbers_of_a_step_are_read_again_when_they_change():
    layer, n = argosy.nn.Linear(2, 1), T(1)
    n.persistable = True

    def loss(x):
        return layer(x.reshape([n, -1])).sum()

    rate = argosy.optimizer.SGD(0.0, parameters=layer.parameters())
    step = argosy.jit.compile_step(loss, None, rate)
    x = T([[1.0, 2.0]])
    for rows in (1, 2, 1):
        n.set_value(T(rows))
        y = x if rows == 1 else T([[1.0, 2.0], [3.0, 4.0]])
        assert float(step(y)) == pytest.approx(float(loss(y)), rel=1e-6)


def test_a_size_that_was_written_is_the_one_of_the_run():
    n = T(1)
    n.persistable = True

    def function(x):
        n.add_(T(1))
        return x.reshape([n, -1]).sum(1)

    call = argosy.jit.to_static(function, full_graph=True)
    x = argosy.arange(6, dtype="float32")
    assert call(x).tolist() == [3.0, 12.0]
    assert call(x).tolist() == [1.0, 5.0, 9.0]


def test_numbers_that_were_written_before_are_refused():
    n = T(1)
    n.persistable = True

    def function(x):
        n.add_(T(1))
        return x * len(n.tolist() if n.ndim else [n.tolist()])

    with pytest.raises(NotImplementedError, match="read them before the write"):
        argosy.jit.to_static(function, full_graph=True)(argosy.ones([2]))


def test_gradients_use_state_as_it_was_before_the_function_wrote_it():
    scale = T(2.0)
    scale.persistable = True

    def function(x):
        y = x * scale
        scale.add_(T(1.0))
        return y

    call = argosy.jit.to_static(function, full_graph=True)
    for want in (2.0, 3.0, 4.0):
        x = T([1.0, 5.0], stop_gradient=False)
        y = call(x)
        y.sum().backward()
        assert y.tolist() == [want, 5 * want]
        assert x.grad.tolist() == [want, want]
