"""The distributed names in a program that runs alone, and in one that does not."""

import numpy as np
import pytest

import argosy
from argosy import distributed as dist


def test_alone(monkeypatch):
    monkeypatch.delenv("PADDLE_TRAINERS_NUM", raising=False)
    monkeypatch.delenv("PADDLE_TRAINER_ID", raising=False)
    assert (dist.get_rank(), dist.get_world_size()) == (0, 1)
    env = dist.init_parallel_env()
    assert (env.rank, env.nranks, env.local_rank, env.trainer_endpoints) == (0, 1, 0, [])
    assert (env.nrings, env.pg_timeout) == (1, 1800000)


def test_data_parallel_is_the_layer():
    layer = argosy.nn.Linear(3, 2)
    wrapped = argosy.DataParallel(layer)
    x = argosy.rand([4, 3])
    np.testing.assert_array_equal(wrapped(x).numpy(), layer(x).numpy())
    assert list(wrapped.state_dict()) == ["weight", "bias"]
    wrapped(x).sum().backward()
    assert layer.weight.grad is not None
    with wrapped.no_sync():
        assert wrapped.scale_loss(x) is x


def test_one_of_several_is_refused(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "2")
    for start in (dist.init_parallel_env, lambda: argosy.DataParallel(argosy.nn.Linear(1, 1))):
        with pytest.raises(NotImplementedError, match="one of 2 .* start the program alone"):
            start()


def test_a_wrong_environment_is_named(monkeypatch):
    monkeypatch.setenv("PADDLE_TRAINERS_NUM", "two")
    with pytest.raises(ValueError, match="PADDLE_TRAINERS_NUM must be an integer, got 'two'"):
        dist.get_world_size()
