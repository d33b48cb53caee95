"""The Python object of a tensor: what it carries survives as long as C++ holds the tensor."""

import gc
import weakref

import numpy as np
import pytest

import argosy


class Marked(argosy.Tensor):
    pass


def with_gradient():
    """A tensor whose gradient C++ holds."""
    x = argosy.to_tensor([2.0, 3.0], stop_gradient=False)
    (x * x).sum().backward()
    return x


def test_attributes_survive_any_number_of_lives():
    """Python finalizes an object once; ours again at the end of each of its lives."""
    x = with_gradient()
    x.grad.tag = ["kept"]
    tag = x.grad.tag
    for _ in range(5):
        gc.collect()
        gradient = x.grad
        assert gradient.tag is tag
        del gradient
    np.testing.assert_array_equal(x.grad.numpy(), [4, 6])


def test_subclasses_survive_without_attributes():
    x = argosy.to_tensor([1.0], stop_gradient=False)
    x.grad = Marked([5.0])
    for _ in range(5):
        gc.collect()
        assert type(x.grad) is Marked and float(x.grad) == 5


@pytest.mark.parametrize("kind", [argosy.Tensor, Marked])
def test_the_object_goes_with_its_tensor(kind):
    ended = []

    class Told:
        def __del__(self):
            ended.append(True)

    x = argosy.to_tensor([1.0], stop_gradient=False)
    x.grad = kind([5.0])
    for _ in range(3):
        x.grad.told = getattr(x.grad, "told", None) or Told()
        gc.collect()
        assert not ended
    x.grad = None
    gc.collect()
    assert ended == [True]


def test_plain_objects_do_not_outlive_python():
    x = with_gradient()
    seen = weakref.ref(x.grad)
    assert seen() is None  # nothing to keep: the next look makes another object
    assert x.grad is not None


def test_cycles_are_collected():
    ended = []
    for kind in (argosy.Tensor, Marked):
        t = kind([1.0])
        t.me = t
        weakref.finalize(t, ended.append, kind)
        del t
        gc.collect()
    assert ended == [argosy.Tensor, Marked]


def test_a_cycle_that_c_holds_stays_until_it_is_let_go():
    x = with_gradient()
    gradient = x.grad
    gradient.me = gradient
    gradient.number = 7
    del gradient
    for _ in range(3):
        gc.collect()
        assert x.grad.number == 7 and x.grad.me is x.grad
