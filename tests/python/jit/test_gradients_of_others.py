"""compile_step leaves gradients of parameters alone that its optimizer does not update."""

import pytest

import argosy
from argosy import nn


@pytest.mark.parametrize("before", [False, True])
def test_two_models_that_train_by_turns(before):
    argosy.seed(0)
    maker, judge = nn.Linear(2, 2), nn.Linear(2, 1)
    sgd = argosy.optimizer.SGD(0.1, parameters=maker.parameters())
    step = argosy.jit.compile_step(lambda z: judge(maker(z)).mean(), None, sgd)
    z = argosy.ones([3, 2])
    if before:
        judge(z).mean().backward()
    kept = [None if p.grad is None else p.grad.tolist() for p in judge.parameters()]
    weight = maker.weight.numpy()
    for _ in range(3):
        step(z)
        assert [None if p.grad is None else p.grad.tolist() for p in judge.parameters()] == kept
    assert (maker.weight.numpy() != weight).any() and maker.weight.grad is None
    judge.clear_gradients()
    judge(z).mean().backward()
    assert judge.weight.grad.tolist() == [[1.0], [1.0]] and judge.bias.grad.tolist() == [1.0]


def test_a_step_that_fails_leaves_them():
    other, mine = nn.Linear(2, 1), nn.Linear(2, 2)
    other(argosy.ones([1, 2])).sum().backward()
    sgd = argosy.optimizer.SGD(0.1, parameters=mine.parameters())

    def refuse():
        raise RuntimeError("no step")

    sgd.step = refuse
    step = argosy.jit.compile_step(lambda z: other(mine(z)).mean(), None, sgd)
    with pytest.raises(RuntimeError, match="no step"):
        step(argosy.ones([1, 2]))
    assert other.weight.grad.tolist() == [[1.0], [1.0]]
