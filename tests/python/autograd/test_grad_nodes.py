"""What `grad_fn` tells of the tape, and hooks on the gradient of leaves."""

import gc
import weakref

import pytest

import argosy


def test_the_tape_by_name():
    x = argosy.to_tensor([1.0, 2.0], stop_gradient=False)
    frozen = argosy.ones([2])
    y = argosy.nn.functional.log_softmax(x * x + frozen)
    assert x.grad_fn is None and frozen.grad_fn is None
    assert y.grad_fn.name() == "LogSoftmaxGradNode"
    (add,) = y.grad_fn.next_functions
    (multiply,) = add.next_functions  # none for what needs no gradient
    assert (add.name(), multiply.name()) == ("AddGradNode", "MultiplyGradNode")
    ends = multiply.next_functions
    assert [n.name() for n in ends] == ["GradNodeAccumulation"] * 2
    assert ends[0] == ends[1] and len(set(ends)) == 1 and ends[0] != multiply
    assert ends[0].next_functions == [] and ends[0].node_ptr() == ends[1].node_ptr()
    with pytest.raises(TypeError):
        type(add)()


def test_a_node_outlives_its_tensors():
    class Marked:
        pass

    x = argosy.to_tensor([1.0], stop_gradient=False)
    marked = Marked()
    x.register_hook(lambda grad, keep=marked: None)
    alive = weakref.ref(marked)
    node = (x * 2).grad_fn
    del x, marked
    gc.collect()
    assert alive() is not None and node.next_functions[0].name() == "GradNodeAccumulation"
    del node
    gc.collect()
    assert alive() is None


def test_backward_hooks_see_the_sum():
    x = argosy.to_tensor([1.0], stop_gradient=False)
    seen = []
    assert x._register_backward_hook(lambda: seen.append(x.grad.tolist())) is None
    (x * 2 + x * 5).backward()
    (x * 3).backward()
    assert seen == [[7.0], [10.0]]


def test_backward_hooks_are_for_leaves():
    x = argosy.to_tensor([1.0], stop_gradient=False)
    for other in (x * 2, argosy.ones([1])):
        with pytest.raises(ValueError, match="Do this: use register_hook"):
            other._register_backward_hook(lambda: None)


def test_increment_leaves_a_leaf_one():
    x = argosy.to_tensor(2.0, stop_gradient=False)
    y = argosy.increment(x, 3.0)
    y.backward()
    assert y is x and x.is_leaf and x.item() == 5.0 and x.grad.item() == 1.0
    z = x * 2
    assert argosy.increment(z) is z and not z.is_leaf
