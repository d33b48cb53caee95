"""Functions written in Python name an operand that is no tensor and an axis that is no number."""

import pytest

import argosy

X = argosy.ones([2, 3])


@pytest.mark.parametrize(
    "call,kind,text",
    [
        (
            lambda: argosy.repeat_interleave([1], 2),
            ValueError,
            r"\[repeat_interleave\] x: expected a Tensor, got list",
        ),
        (lambda: argosy.assign(X, 3), ValueError, r"\[assign\] output: expected a Tensor, got int"),
        (
            lambda: argosy.assign([1.0], "y"),
            ValueError,
            r"\[assign\] output: expected a Tensor, got str",
        ),
        (
            lambda: argosy.swapaxes(X, 0, "a"),
            TypeError,
            r"\[swapaxes\] axis1: expected an int, got str.* Do this",
        ),
        (
            lambda: argosy.swapaxes(X, 2.5, 0),
            TypeError,
            r"\[swapaxes\] axis0: expected an int, got float",
        ),
        (
            lambda: argosy.swapaxes(X, 0, 2),
            IndexError,
            r"\[swapaxes\] axis is out of range: expected -2 <= axis < 2",
        ),
    ],
)
def test_what_is_wrong_is_named(call, kind, text):
    with pytest.raises(kind, match=text):
        call()
    assert argosy.swapaxes(X, argosy.to_tensor(0), -1).shape == [3, 2]
