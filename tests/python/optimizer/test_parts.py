"""Parameter groups, update plans and the door for rates, without an update."""

import inspect

import numpy as np
import pytest

import argosy
from argosy import jit, nn, optimizer
from argosy.incubate.optimizer import LookAhead
from argosy.optimizer import groups, moments, plan
from argosy.optimizer.records import Group, Spec
from argosy.regularizer import L1Decay, L2Decay


def params(n=3, dtype="float32"):
    return [argosy.create_parameter([2], dtype) for _ in range(n)]


def made(decoupled=False, **defaults):
    defaults = {"weight_decay": None, "grad_clip": None, "beta1": 0.9, **defaults}
    return groups.ParameterGroups("Opt", defaults, decoupled)


def test_a_list_is_one_group_of_each_parameter_once():
    a, b, _ = params()
    found = made()
    with pytest.warns(UserWarning, match="2 tensors more than once"):
        assert found.take([a, b, a, a]) == [a, b]
    assert not found.given and found.params() == [a, b] and found.dicts == []
    assert found.groups[0].options is found.defaults


def test_groups_get_defaults_and_mark_their_parameters():
    a, b, c = params()
    found = made(weight_decay=L2Decay(0.1))
    found.take([{"params": a, "learning_rate": 0.5, "beta1": 0.3}, {"params": [b, c]}])
    assert found.given and found.params() == [a, b, c]
    assert [g["beta1"] for g in found.dicts] == [0.3, 0.9]
    assert [p.optimize_attr["learning_rate"] for p in (a, b, c)] == [0.5, 1.0, 1.0]
    assert b.regularizer._coeff == 0.1
    assert found.groups[1].params == [b, c]


def test_decoupled_decay_makes_no_regularizer():
    (a,) = params(1)
    made(decoupled=True, weight_decay=0.2).take([{"params": [a], "weight_decay": 0.5}])
    assert a.regularizer is None


def test_wrong_groups():
    a, b, _ = params()
    with pytest.raises(AssertionError, match=r"\[Opt\] a parameter group needs the key 'params'"):
        made().take([{"lr": 1}])
    with pytest.raises(TypeError, match="must be ordered"):
        made().take([{"params": {a, b}}])
    with pytest.raises(ValueError, match="more than one parameter group"):
        made().take([{"params": [a]}, {"params": [b, a]}])
    with pytest.raises(TypeError, match="grad_clip has the wrong type"):
        made().take([{"params": [a], "grad_clip": 1.0}])
    with pytest.raises(AttributeError, match="must be tensors, got int"):
        made().take([a, 3])
    for wrong, error in ((None, AttributeError), ({}, TypeError), (a, TypeError), (3, TypeError)):
        with pytest.raises(error, match=r"\[Opt\] parameters"):
            groups.check_parameters("Opt", wrong)


def test_what_weight_decay_means():
    own = L1Decay(0.3)
    assert groups.as_regularizer("Opt", None) is None
    assert groups.as_regularizer("Opt", own) is own
    for number in (0.25, argosy.to_tensor(0.25)):
        made_of = groups.as_regularizer("Opt", number)
        assert isinstance(made_of, L2Decay) and made_of._coeff == 0.25
    with pytest.raises(TypeError, match="weight_decay has the wrong type"):
        groups.as_regularizer("Opt", "l2")


def test_terms_of_ops_and_others():
    a, b, c = params()
    b.regularizer, own = L1Decay(0.5), lambda p, g, block: g
    c.regularizer = own
    assert plan.regularization([a, b, c], L2Decay(0.1)) == ([0, 0.5, 0], [0.1, 0, 0], [(2, own)])
    assert plan.regularization([a], None) == ([], [], [])


def test_scales():
    a, b, _ = params()
    b.optimize_attr["learning_rate"] = 0.1
    assert [plan.lr_scale(p) for p in (a, b)] == [1.0, 0.1]
    assert plan.unless_all(1.0, [1.0, 1.0]) == [] and plan.unless_all(1.0, [1.0, 2.0]) == [1.0, 2.0]


def test_a_batch_is_made_once_for_each_choice_of_parameters():
    a, b, _ = params()
    group, calls = Group([a, b], {}), []

    def make(owner, chosen):
        assert owner is group
        calls.append(chosen)
        return plan.Batch(chosen, [], [])

    both = plan.batch_of(group, [a, b], make)
    assert plan.batch_of(group, [a, b], make) is both
    one = plan.batch_of(group, [b], make)
    assert one is not both and plan.batch_of(group, [a, b], make) is both
    assert plan.batch_of(group, [b], make) is one and len(calls) == 2
    found = made()
    found.groups = [group]
    found.forget_batches()
    assert plan.batch_of(group, [b], make) is not one


@pytest.mark.parametrize(
    ("shape", "dtype", "own", "want"),
    [
        ("like", None, "float16", (None, None)),
        ("one", "scalar", "float16", ([1], "float32")),
        ("spread", "scalar", "float64", ([1], "float64")),
        ("like", "wide", "bfloat16", (None, "float32")),
        ("like", "wide", "float64", (None, "float64")),
        (lambda sizes: [3, *sizes], "int64", "float32", ([3, 2], "int64")),
    ],
)
def test_form_of_an_accumulator(shape, dtype, own, want):
    spec, p = Spec("s", shape=shape, dtype=dtype), argosy.zeros([2], own)
    assert (spec.shape_for(p), spec.dtype_for(p)) == want


def test_the_rate_of_a_step_can_be_given():
    (p,) = params(1)

    class Own(optimizer.SGD):
        def get_lr(self):
            return 7.0

    for opt, usual in ((optimizer.SGD(0.1, [p]), 0.1), (Own(0.1, [p]), 7.0)):
        with opt._taking_rate(0.5):
            assert opt._rate() == 0.5
            with opt._taking_rate(0.25):
                assert opt._rate() == 0.25
            assert opt._rate() == 0.5
        assert opt._rate() == usual and "get_lr" not in vars(opt)


def test_capture_leaves_the_optimizer_as_it_was_also_after_an_error():
    model = nn.Linear(2, 1)
    opt = optimizer.SGD(0.1, parameters=model.parameters())

    def failing(x):
        raise KeyError("no such row")

    with pytest.raises(KeyError):
        jit.compile_step(failing, optimizer=opt)(argosy.ones([1, 2]))
    assert opt.get_lr() == 0.1 and "get_lr" not in vars(opt)


def test_a_captured_step_follows_the_rate_of_an_optimizer_inside_another():
    model = nn.Linear(2, 1)
    before = model.weight.numpy().copy()
    inner = optimizer.SGD(1.0, parameters=model.parameters())
    step = jit.compile_step(lambda x: model(x).sum(), optimizer=LookAhead(inner, alpha=0.5, k=100))
    x = argosy.ones([1, 2])
    step(x)
    inner.set_lr(0.0)
    step(x)
    np.testing.assert_allclose(model.weight.numpy(), before - 1.0, rtol=1e-6)


FAMILY = ("Adam", "AdamW", "Adamax", "NAdam", "RAdam")


@pytest.mark.parametrize("name", FAMILY)
def test_the_family_of_adam_shares_its_checks(name):
    cls = getattr(optimizer, name)
    assert issubclass(cls, moments.MomentOptimizer)
    signature = inspect.signature(cls)
    assert list(signature.parameters)[:4] == ["learning_rate", "beta1", "beta2", "epsilon"]
    assert not any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    p = params(1)
    for wrong in ({"beta1": 1.0}, {"beta2": -0.1}, {"epsilon": -1.0}):
        with pytest.raises(ValueError, match=rf"\[{name}\] {next(iter(wrong))} is out of range"):
            cls(parameters=p, **wrong)
    for missing in ("learning_rate", "beta1", "epsilon"):
        with pytest.raises(AssertionError, match=rf"\[{name}\] {missing} is missing"):
            cls(parameters=p, **{missing: None})
    opt = cls(parameters=p, beta1=argosy.to_tensor(0.5), epsilon=0.1)
    assert (opt._beta1, opt._epsilon, opt._default_dict["beta1"]) == (0.5, 0.1, 0.5)


def test_a_loaded_state_is_saved_again_before_any_step():
    layer = nn.Linear(2, 2)
    first = optimizer.Adam(0.1, parameters=layer.parameters())
    layer(argosy.ones([1, 2])).sum().backward()
    first.step()
    state = first.state_dict()
    again = optimizer.Adam(0.1, parameters=layer.parameters())
    as_arrays = {name: value.numpy() for name, value in state.items()}
    again.set_state_dict({**as_arrays, "other.w_0_moment1_0": np.zeros(3, "float32")})
    saved = again.state_dict()
    assert sorted(saved) == sorted(state)
    for name, value in state.items():
        np.testing.assert_array_equal(saved[name].numpy(), value.numpy())
    again.step()  # each accumulator once, under its own name
    assert len(again.state_dict()) == len(state)
    plain = optimizer.SGD(0.1, parameters=layer.parameters())
    plain.set_state_dict(state)
    assert plain.state_dict() == {}
