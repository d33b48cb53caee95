"""Rows of tokens in the order of experts, and back."""

import numpy as np
import pytest

import argosy
from argosy.nn import functional as F

DRAW = np.random.RandomState(7)


def routes(s, k, experts):
    chosen = np.full((s, k), -1, "int32")
    for row in chosen:
        many = DRAW.randint(0, min(k, experts) + 1)
        row[DRAW.permutation(k)[:many]] = DRAW.permutation(experts)[:many]
    return chosen


@pytest.mark.parametrize("alignment", [1, 4])
@pytest.mark.parametrize("size", [-1, 80])
@pytest.mark.parametrize("scaled", [False, True])
def test_rows_go_to_experts_and_back(alignment, size, scaled):
    s, k, experts = 9, 4, 3
    x, weight, chosen = (
        DRAW.rand(s, 5).astype("float32"),
        DRAW.rand(s, k).astype("float32"),
        routes(s, k, experts),
    )
    scale = DRAW.rand(s, 2).astype("float32") if scaled else None
    counts = [int((chosen == e).sum()) for e in range(experts)]
    want, places, weights, of, factors = [], np.full((s, experts), -1), [], [], []
    for e in range(experts):
        for i in range(s):
            for j in range(k):
                if chosen[i, j] == e:
                    places[i, e] = len(want)
                    want.append(x[i])
                    weights.append(weight[i, j])
                    of.append(e)
                    factors.append(scale[i] if scaled else 0)
        while len(want) % alignment or (e == experts - 1 and len(want) < size):
            want.append(np.zeros(5, "float32"))
            weights.append(0)
            of.append(-1)
            factors.append(np.zeros(2) if scaled else 0)
    given = argosy.to_tensor(x, stop_gradient=False)
    rows, got_places, got_weights, got_factors, got_of = F.moe_permute(
        given, None if scale is None else argosy.to_tensor(scale), argosy.to_tensor(chosen),
        argosy.to_tensor(weight), experts, counts, alignment, return_expert_indices=True,
        override_buffer_size=size,
    )  # fmt: skip
    np.testing.assert_array_equal(rows.numpy(), np.array(want))
    np.testing.assert_array_equal(got_places.numpy(), places)
    np.testing.assert_array_equal(got_weights.numpy(), np.array(weights, "float32"))
    np.testing.assert_array_equal(got_of.numpy(), of)
    if scaled:
        np.testing.assert_array_equal(got_factors.numpy(), np.array(factors, "float32"))
    else:
        assert got_factors.shape == [0]

    for weighted in (False, True):
        sums, back = F.moe_unpermute(
            rows, got_places, argosy.to_tensor(chosen), got_weights.unsqueeze(-1), s, experts,
            using_weighted_combine=weighted,
        )  # fmt: skip
        np.testing.assert_array_equal(back.numpy(), np.where(chosen >= 0, weight, 0))
        times = (np.where(chosen >= 0, weight, 0) if weighted else chosen >= 0).sum(1)
        np.testing.assert_allclose(sums.numpy(), x * times[:, None], rtol=1e-5)
    sums.sum().backward()
    np.testing.assert_allclose(given.grad.numpy(), np.repeat(times[:, None], 5, 1), rtol=1e-5)


def test_sums_of_half_numbers_are_wide():
    rows = argosy.to_tensor([[256.0], [1.0], [1.0]]).astype("bfloat16")
    places, route = argosy.to_tensor([[0, 1, 2]]), argosy.to_tensor([[0, 1, 2]])
    weights = argosy.ones([3])
    assert F.moe_unpermute(rows, places, route, weights, 1, 3)[0].tolist() == [[258.0]]
    narrow = F.moe_unpermute(rows, places, route, weights, 1, 3, using_mix_precision=False)[0]
    assert narrow.tolist() == [[256.0]] and narrow.dtype == argosy.bfloat16


def test_bytes_are_copied():
    x = argosy.ones([2, 3]).astype("float8_e4m3fn")
    route, weight = argosy.to_tensor([[1], [0]], dtype="int32"), argosy.ones([2, 1])
    rows, *_ = F.moe_permute(x, argosy.ones([2, 1]), route, weight, 2, [1, 1], 2)
    assert rows.dtype == argosy.float8_e4m3fn
    assert rows.astype("float32")[:, 0].tolist() == [1.0, 0.0, 1.0, 0.0]


def test_wrong_routes_are_refused():
    x, route, weight = (
        argosy.ones([2, 3]),
        argosy.to_tensor([[1], [0]], dtype="int32"),
        argosy.ones([2, 1]),
    )
    with pytest.raises(
        ValueError, match=r"tokens_per_expert: expected \[1, 1\].*got \[2, 0\].*Do this"
    ):
        F.moe_permute(x, None, route, weight, 2, [2, 0], 1)
    with pytest.raises(ValueError, match="override_buffer_size: expected at least 4, got 3"):
        F.moe_permute(x, None, route, weight, 2, [1, 1], 2, override_buffer_size=3)
    with pytest.raises(NotImplementedError, match="do_gather is not supported"):
        F.moe_permute(x, None, route, weight, 2, [1, 1], 2, do_gather=False)
    with pytest.raises(
        ValueError, match=r"zipped_expertwise_rowmap: expected .*\[3, 2\], got \[2, 2\]"
    ):
        F.moe_unpermute(x, argosy.zeros([2, 2], "int32"), route, weight, 3, 2)


@pytest.mark.parametrize("alignment", [0, -4])
def test_an_alignment_that_is_none(alignment):
    x, route = argosy.ones([2, 1]), argosy.to_tensor([[1, 0], [1, -1]], dtype="int32")
    with pytest.raises(ValueError, match=f"padding_alignment: expected 1 or more, got {alignment}"):
        F.moe_permute(x, None, route, argosy.ones([2, 2]), 2, [1, 2], alignment)
