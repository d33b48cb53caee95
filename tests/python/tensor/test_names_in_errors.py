"""Errors name the function that the user has called, also where ops of other names compute for it."""

import inspect
import pickle

import pytest

import argosy

X = argosy.arange(12, dtype="float32").reshape([3, 4])
I0 = argosy.to_tensor([[0]])
CALLS = {
    "sort": lambda: argosy.sort(X, 9),
    "argsort": lambda: X.argsort(axis="1"),
    "diag": lambda: argosy.diag(X[0], 1.5),
    "diagflat": lambda: argosy.diagflat(X, None),
    "take_along_axis": lambda: argosy.take_along_axis(X, I0, 1.5),
    "put_along_axis": lambda: X.put_along_axis(I0, 1.0, 1.5),
    "unique": lambda: argosy.unique(X, axis=7),
    "unique_consecutive": lambda: argosy.unique_consecutive(X, dim=7),
    "index_add": lambda: argosy.index_add(X, I0[0], 5, X),
    "trace": lambda: argosy.trace(X, 0, 5, 1),
    "rand": lambda: argosy.rand([-2]),
    "randn": lambda: argosy.randn([-2]),
    "normal": lambda: argosy.normal(0.0, 1.0, [-2]),
    "chunk": lambda: X.chunk(5),
}


@pytest.mark.parametrize("name", CALLS)
def test_names(name):
    with pytest.raises(Exception) as found:
        CALLS[name]()
    text = str(found.value)
    assert f"[{name}]" in text and text.count("[" + name) == text.count(f"[{name}]"), text
    inner = (
        "sort_with_index",
        "diag_embed",
        "take_along]",
        "put_along]",
        "unique_all",
        "gaussian",
        "[split]",
    )
    assert not any(word in text for word in inner), text


def test_such_functions_are_functions():
    assert list(inspect.signature(argosy.sort).parameters)[:2] == ["x", "axis"]
    assert pickle.loads(pickle.dumps(argosy.sort)) is argosy.sort
    assert argosy.sort.__doc__ and argosy.sort.__name__ == "sort"
