"""Arguments that a captured function writes and whose memory it has by another name: as in eager mode."""

import pytest

import argosy

T = argosy.to_tensor


def _first(x, y):
    x.add_(argosy.ones_like(x))
    return x * 1, y * 2


def _second(x, y):
    y.add_(argosy.ones_like(y))
    return x * 1, y * 2


def _both(pick):
    def given():
        x = T([[1.0, 2.0], [3.0, 4.0]])
        return x, pick(x)

    return given


_GIVEN = {
    "one tensor twice": _both(lambda x: x),
    "a row": _both(lambda x: x[0]),
    "detached": _both(lambda x: x.detach()),
    "another": _both(lambda x: x + 0),
}


def _run(function, given):
    seen = []
    for _ in range(2):
        arguments = given()
        for _ in range(2):
            made = function(*arguments)
            seen.append([v.tolist() for v in (*made, *arguments)])
    return seen


@pytest.mark.parametrize("full_graph", [False, True])
@pytest.mark.parametrize("given", _GIVEN.values(), ids=_GIVEN)
@pytest.mark.parametrize("function", [_first, _second])
def test_two_names_of_one_memory(function, given, full_graph):
    call = argosy.jit.to_static(function, full_graph=full_graph)
    assert _run(call, given) == _run(function, given)


@pytest.mark.parametrize("persistable", [False, True])
@pytest.mark.parametrize("full_graph", [False, True])
def test_an_argument_that_is_a_tensor_of_outside(full_graph, persistable):
    kept = T([1.0, 2.0])
    kept.persistable = persistable

    def function(x):
        x.add_(argosy.ones_like(x))
        return (kept * 1,)

    call = argosy.jit.to_static(function, full_graph=full_graph)
    got = _run(call, lambda: (T([5.0, 6.0]),)) + _run(call, lambda: (kept,))
    kept.set_value(T([1.0, 2.0]))
    assert got == _run(function, lambda: (T([5.0, 6.0]),)) + _run(function, lambda: (kept,))


@pytest.mark.parametrize("persistable", [False, True])
@pytest.mark.parametrize("full_graph", [False, True])
def test_an_argument_that_is_a_tensor_of_outside_that_is_written(full_graph, persistable):
    kept = T([1.0, 2.0])
    kept.persistable = persistable

    def function(x):
        kept.add_(argosy.ones_like(kept))
        return x * 1, kept * 2

    call = argosy.jit.to_static(function, full_graph=full_graph)
    seen = []
    for run in (call, function):
        kept.set_value(T([1.0, 2.0]))
        seen.append([_run(run, lambda: (x,)) for x in (T([5.0, 6.0]), kept, kept[0:1])])
    assert seen[0] == seen[1]


def test_tensors_of_their_own_run_as_a_program():
    runs = []

    def function(x, y):
        runs.append(None)  # while it is captured, and where it runs as Python
        return _first(x, y)

    call = argosy.jit.to_static(function, full_graph=True)
    x, y = T([1.0]), T([2.0])
    for k, (given, added) in enumerate([((x, y), 0), ((x, y), 0), ((x, x), 1), ((x, y), 0)]):
        before = len(runs)
        call(*given)
        assert len(runs) - before == (1 if k == 0 else added)
