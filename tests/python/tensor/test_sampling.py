"""top_p_sampling draws from the nucleus, with the right frequencies."""

import numpy as np
import pytest

import argosy as paddle

P = np.array([0.05, 0.4, 0.1, 0.3, 0.15], "float32")


def drawn(rows, **options):
    options = {k: paddle.to_tensor([v] * rows) if k != "k" else v for k, v in options.items()}
    probability, index = paddle.tensor.top_p_sampling(paddle.to_tensor([P] * rows), **options)
    np.testing.assert_array_equal(probability.numpy(), P[index.numpy()])
    return np.bincount(index.numpy()[:, 0], minlength=5) / rows


@pytest.mark.parametrize(
    ("options", "nucleus"),
    [
        ({"ps": 1.0}, [0, 1, 2, 3, 4]),
        ({"ps": 0.8}, [1, 3, 4]),
        ({"ps": 0.5}, [1, 3]),
        ({"ps": 0.4}, [1]),
        ({"ps": 0.0}, [1]),
        ({"ps": 1.0, "k": 2}, [1, 3]),
        ({"ps": 1.0, "threshold": 0.12}, [1, 3, 4]),
        ({"ps": 1.0, "threshold": 0.9}, [1]),
    ],
)
def test_frequencies_are_those_of_the_nucleus(options, nucleus):
    paddle.seed(7)
    want = np.zeros(5)
    want[nucleus] = P[nucleus] / P[nucleus].sum()
    found = drawn(20000, **options)
    assert (found[want == 0] == 0).all()
    np.testing.assert_allclose(found, want, atol=0.015)  # four deviations


def test_seeds_and_the_likeliest():
    x, ps = paddle.to_tensor([P, P[::-1].copy()]), paddle.to_tensor([[0.9], [0.9]])
    once, again = (x.top_p_sampling(ps, seed=5)[1].tolist() for _ in range(2))
    assert once == again
    _, index, top, places = x.top_p_sampling(ps, k=2, return_top=True)
    assert index.shape == [2, 1] and places.tolist() == [[1, 3], [3, 1]]
    np.testing.assert_array_equal(top.numpy(), [P[[1, 3]]] * 2)


def test_what_is_not_there_is_refused():
    x, ps = paddle.to_tensor([P]), paddle.to_tensor([0.5])
    with pytest.raises(NotImplementedError, match="topp_seed is not supported"):
        x.top_p_sampling(ps, topp_seed=ps)
    with pytest.raises(NotImplementedError, match="mode is not supported: expected 'truncated'"):
        x.top_p_sampling(ps, mode="non-truncated")
