"""Where one or several axes or sizes are taken, True is none of them, as in Paddle."""

import pytest

import argosy

CALLS = [
    lambda x, b: argosy.sum(x, b), lambda x, b: argosy.mean(x, b), lambda x, b: argosy.max(x, b),
    lambda x, b: argosy.prod(x, b), lambda x, b: argosy.any(x > 0, b), lambda x, b: argosy.logsumexp(x, b),
    lambda x, b: argosy.flip(x, b), lambda x, b: argosy.roll(x, b), lambda x, b: argosy.unsqueeze(x, b),
    lambda x, b: argosy.amax(x, b), lambda x, b: argosy.nansum(x, b), lambda x, b: argosy.count_nonzero(x, b),
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_a_bool_is_refused_by_name(call):
    x = argosy.ones([2, 3])
    for given in (True, False):
        with pytest.raises((TypeError, ValueError), match=f"{given}|bool"):
            call(x, given)
    call(x, 1)
