"""Arguments of ops that are switches or whole numbers: what is neither says so."""

import numpy as np
import pytest

import argosy
from argosy.nn import functional as F

X = argosy.to_tensor([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
SWITCHES = {
    "keepdim": lambda flag: argosy.sum(X, 0, None, flag),
    "descending": lambda flag: argosy.argsort(X, 0, flag),
    "transpose_y": lambda flag: argosy.matmul(X[:, :2], X[:, :2], False, flag),
    "upper": lambda flag: argosy.linalg.cholesky(argosy.eye(2), flag),
}


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize(
    "wrong", [1, 0, 2.5, [1], [], {"k": 1}, object(), "a", np.ones([2]), argosy.to_tensor([7])]
)
def test_what_is_no_bool_is_no_switch(name, wrong):
    with pytest.raises(TypeError, match=rf"{name}: expected a bool, got"):
        SWITCHES[name](wrong)


@pytest.mark.parametrize("name", SWITCHES)
@pytest.mark.parametrize(
    "yes", [np.bool_(True), np.array(True), argosy.to_tensor(True), argosy.to_tensor([True])]
)
def test_bools_of_other_kinds(name, yes):
    got, want = SWITCHES[name](yes), SWITCHES[name](True)
    assert got.shape == want.shape and got.tolist() == want.tolist()
    assert SWITCHES[name](None).shape == SWITCHES[name](False).shape


@pytest.mark.parametrize(
    "call,name",
    [
        (lambda: argosy.argsort(X, True), "axis"),
        (lambda: argosy.tril(X, True), "diagonal"),
        (lambda: argosy.diagonal(X, True), "offset"),
        (lambda: F.softmax(X, True), "axis"),
        (lambda: F.pixel_shuffle(argosy.ones([1, 4, 2, 2]), True), "upscale_factor"),
    ],
)
def test_a_switch_is_no_number(call, name):
    with pytest.raises(TypeError, match=rf"{name}: expected .*, got True \(bool\)"):
        call()
