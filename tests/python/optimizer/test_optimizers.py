"""The optimizer classes: options, groups, regularization, clipping, state."""

import pickle

import numpy as np
import pytest
from tests.ops import optim_references as ref

import argosy
from argosy import nn, optimizer
from argosy.base.framework import EagerParamBase
from argosy.optimizer import lr
from argosy.regularizer import L1Decay, L2Decay
from argosy.utils import unique_name

SHAPES = {"w": (3, 4), "b": (4,), "s": ()}


@pytest.fixture(autouse=True)
def fresh_names():
    with unique_name.guard():
        yield


def make_params(dtype="float64", seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    return [
        EagerParamBase.from_tensor(
            argosy.to_tensor(rng.standard_normal(shape)).astype(dtype), name=name, **kwargs
        )
        for name, shape in SHAPES.items()
    ]


def give_grad(param, values):
    """Leaves `values` as the parameter's gradient."""
    param.clear_gradient(False)
    scale = argosy.to_tensor(np.asarray(values, "float64")).astype(param.dtype)
    (param * scale).backward(argosy.full_like(param, 1.0))


def gradients(steps, seed=7):
    rng = np.random.default_rng(seed)
    return [[rng.standard_normal(shape) for shape in SHAPES.values()] for _ in range(steps)]


def train(opt, params, steps, scheduler=None):
    for step in steps:
        for p, g in zip(params, step):
            give_grad(p, g)
        opt.step()
        opt.clear_grad()
        if scheduler is not None:
            scheduler.step()


def values(tensors):
    return [t.astype("float64").numpy().copy() for t in tensors]


def expect(start, steps, rule):
    out, memory = [a.copy() for a in start], [{} for _ in start]
    for t, step in enumerate(steps, 1):
        out = [rule(p, g, s, t) for p, g, s in zip(out, step, memory)]
    return out


def decayed(rule, l1=0.0, l2=0.0):
    return lambda p, g, s, t: rule(p, g + l2 * p + l1 * np.sign(p), s, t)


# class, arguments, reference, names of the accumulators
TABLE = [
    ("SGD", {}, ref.sgd(), []),
    ("SGD", {"weight_decay": 0.3}, decayed(ref.sgd(), l2=0.3), []),
    ("SGD", {"weight_decay": L1Decay(0.3)}, decayed(ref.sgd(), l1=0.3), []),
    ("Momentum", {}, ref.momentum(), ["velocity"]),
    (
        "Momentum",
        {"momentum": 0.5, "use_nesterov": True, "weight_decay": 0.2},
        decayed(ref.momentum(mu=0.5, nesterov=True), l2=0.2),
        ["velocity"],
    ),
    ("Adam", {}, ref.adam(), ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"]),
    (
        "Adam",
        {"beta1": 0.5, "beta2": 0.6, "epsilon": 1e-2, "amsgrad": True, "weight_decay": 0.1},
        decayed(ref.adam(b1=0.5, b2=0.6, eps=1e-2, amsgrad=True), l2=0.1),
        ["moment1", "moment2", "moment2_max", "beta1_pow_acc", "beta2_pow_acc"],
    ),
    (
        "AdamW",
        {},
        ref.adam(decay=0.01),
        ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"],
    ),
    (
        "Adamax",
        {"weight_decay": 0.1},
        decayed(ref.adamax(), l2=0.1),
        ["moment", "inf_norm", "beta1_pow_acc"],
    ),
    ("Adagrad", {"initial_accumulator_value": 0.5}, ref.adagrad(start=0.5), ["moment"]),
    ("Adadelta", {}, ref.adadelta(), ["_avg_squared_grad", "_avg_squared_update"]),
    (
        "RMSProp",
        {"momentum": 0.5, "centered": True, "epsilon": 1e-2},
        ref.rmsprop(mu=0.5, centered=True, eps=1e-2),
        ["momentum", "mean_square", "mean_grad"],
    ),
    ("Lamb", {}, ref.lamb(), ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"]),
    (
        "Lamb",
        {"lamb_weight_decay": 0.0, "always_adapt": True},
        ref.lamb(decay=0.0, always=True),
        ["moment1", "moment2", "beta1_pow_acc", "beta2_pow_acc"],
    ),
    (
        "NAdam",
        {},
        ref.nadam(),
        ["momentum_decay_pow", "beta2_pow", "mu_product", "moment1", "moment2"],
    ),
    ("RAdam", {"beta2": 0.8}, ref.radam(b2=0.8), ["beta1_pow", "beta2_pow", "rho"]
     + ["moment1", "moment2"]),
    ("ASGD", {"batch_num": 3}, ref.asgd(n=3), ["d", "y", "m"]),
    ("Rprop", {}, ref.rprop(), ["prevs", "learning_rates"]),
]  # fmt: skip
IDS = [f"{row[0]}{i}" for i, row in enumerate(TABLE)]


@pytest.mark.parametrize("name,kw,rule,states", TABLE, ids=IDS)
def test_values_and_names(name, kw, rule, states):
    params, steps = make_params(), gradients(5)
    start = values(params)
    opt = getattr(optimizer, name)(learning_rate=0.1, parameters=params, **kw)
    assert opt.state_dict() == {}
    train(opt, params, steps)
    for found, wanted in zip(values(params), expect(start, steps, rule)):
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)
    assert list(opt.state_dict()) == [f"{p}_{s}_0" for s in states for p in SHAPES]


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name,kw,rule,states", TABLE, ids=IDS)
def test_a_saved_state_goes_on_exactly(name, kw, rule, states, dtype):
    def build(params):
        rate = 0.1 if name == "Rprop" else lr.ExponentialDecay(0.1, 0.9)
        opt = getattr(optimizer, name)(learning_rate=rate, parameters=params, **kw)
        return opt, (None if name == "Rprop" else rate)

    params, steps = make_params(dtype), gradients(8)
    opt, scheduler = build(params)
    train(opt, params, steps[:4], scheduler)
    arrays = {
        k: v if isinstance(v, dict) else v.numpy().copy() for k, v in opt.state_dict().items()
    }
    saved = pickle.loads(pickle.dumps(arrays))
    weights = [p.numpy().copy() for p in params]
    train(opt, params, steps[4:], scheduler)

    with unique_name.guard():
        again = make_params(dtype)
        for p, w in zip(again, weights):
            p.set_value(w)
        opt2, scheduler2 = build(again)
        opt2.set_state_dict(saved)  # before the first step
        train(opt2, again, steps[4:], scheduler2)
    for a, b in zip(params, again):
        assert a.numpy().tobytes() == b.numpy().tobytes()

    for p, w in zip(params, weights):
        p.set_value(w)
    opt.set_state_dict(saved)  # after steps
    train(opt, params, steps[4:], scheduler)
    for a, b in zip(params, again):
        assert a.numpy().tobytes() == b.numpy().tobytes()


def test_shapes_and_dtypes_of_states():
    params = make_params("float32")
    opt = optimizer.NAdam(0.1, parameters=params)
    train(opt, params, gradients(1))
    state = opt.state_dict()
    assert {k: tuple(v.shape) for k, v in state.items() if k.startswith("w_")} == {
        f"w_{s}_0": (3, 4) for s in TABLE[14][3]
    }
    with unique_name.guard():
        adam = optimizer.Adam(0.1, parameters=params)
        train(adam, params, gradients(1))
        shapes = {k: tuple(v.shape) for k, v in adam.state_dict().items()}
    assert shapes["w_beta1_pow_acc_0"] == (1,) and shapes["s_moment1_0"] == ()
    asgd = optimizer.ASGD(0.1, 3, parameters=params)
    train(asgd, params, gradients(1))
    state = asgd.state_dict()
    assert tuple(state["w_y_0"].shape) == (3, 3, 4) and tuple(state["b_y_0"].shape) == (3, 4)
    assert str(state["w_m_0"].dtype).endswith("int64")


def test_groups():
    params, steps = make_params(), gradients(4)
    start = values(params)
    w, b, s = params
    opt = optimizer.Momentum(
        0.1,
        parameters=[
            {"params": [w], "learning_rate": 0.5, "momentum": 0.2, "weight_decay": 0.3},
            {"params": [b], "weight_decay": L1Decay(0.1), "use_nesterov": True},
            {"params": s},
        ],
        weight_decay=0.05,
    )
    train(opt, params, steps)
    rules = [
        decayed(ref.momentum(lr=0.05, mu=0.2), l2=0.3),
        decayed(ref.momentum(nesterov=True), l1=0.1),
        decayed(ref.momentum(), l2=0.05),
    ]
    for i, rule in enumerate(rules):
        wanted = expect(start[i : i + 1], [g[i : i + 1] for g in steps], rule)[0]
        np.testing.assert_allclose(values(params)[i], wanted, rtol=1e-12)


def test_groups_of_adam_and_adamw():
    params, steps = make_params(), gradients(4)
    start = values(params)
    w, b, s = params
    opt = optimizer.AdamW(
        0.1,
        parameters=[
            {"params": [w], "beta1": 0.5, "epsilon": 1e-3, "learning_rate": 0.3},
            {"params": [b, s], "weight_decay": 0.4},
        ],
        weight_decay=0.2,
    )
    train(opt, params, steps)
    rules = [ref.adam(lr=0.03, b1=0.5, eps=1e-3, decay=0.2), *[ref.adam(decay=0.4)] * 2]
    for i, rule in enumerate(rules):
        wanted = expect(start[i : i + 1], [g[i : i + 1] for g in steps], rule)[0]
        np.testing.assert_allclose(values(params)[i], wanted, rtol=1e-12)


def test_options_of_single_parameters():
    w, b, s = make_params()
    w.optimize_attr["learning_rate"] = 0.5
    b.regularizer = L2Decay(0.3)
    steps = gradients(3)
    start = values([w, b, s])
    with pytest.warns(UserWarning, match="own regularizer .*: b$"):
        opt = optimizer.SGD(0.1, parameters=[w, b, s], weight_decay=0.7)
    train(opt, [w, b, s], steps)
    rules = [
        decayed(ref.sgd(0.05), l2=0.7),
        decayed(ref.sgd(), l2=0.3),
        decayed(ref.sgd(), l2=0.7),
    ]
    for i, rule in enumerate(rules):
        wanted = expect(start[i : i + 1], [g[i : i + 1] for g in steps], rule)[0]
        np.testing.assert_allclose(values([w, b, s])[i], wanted, rtol=1e-12)


def test_adamw_chooses_by_name_and_ratio():
    params, steps = make_params(), gradients(3)
    start = values(params)
    opt = optimizer.AdamW(
        0.1,
        parameters=params,
        weight_decay=0.5,
        apply_decay_param_fun=lambda name: name == "w",
        lr_ratio=lambda p: 0.5 if p.name == "b" else 1.0,
    )
    train(opt, params, steps)
    rules = [ref.adam(decay=0.5), ref.adam(lr=0.05), ref.adam()]
    for i, rule in enumerate(rules):
        wanted = expect(start[i : i + 1], [g[i : i + 1] for g in steps], rule)[0]
        np.testing.assert_allclose(values(params)[i], wanted, rtol=1e-12)


def test_lamb_excludes():
    params, steps = make_params(), gradients(3)
    start = values(params)
    opt = optimizer.Lamb(
        0.1, 0.2, parameters=params, exclude_from_weight_decay_fn=lambda p: p.name != "w"
    )
    train(opt, params, steps)
    rules = [ref.lamb(decay=0.2), ref.lamb(decay=0.0), ref.lamb(decay=0.0)]
    for i, rule in enumerate(rules):
        wanted = expect(start[i : i + 1], [g[i : i + 1] for g in steps], rule)[0]
        np.testing.assert_allclose(values(params)[i], wanted, rtol=1e-12)


def test_clipping_comes_before_regularization():
    params, steps = make_params(), gradients(1)
    start = values(params)
    opt = optimizer.SGD(
        0.1, parameters=params, weight_decay=0.3, grad_clip=nn.ClipGradByGlobalNorm(0.5)
    )
    train(opt, params, steps)
    norm = np.sqrt(sum((g**2).sum() for g in steps[0]))
    for found, p, g in zip(values(params), start, steps[0]):
        np.testing.assert_allclose(found, p - 0.1 * (g * 0.5 / norm + 0.3 * p), rtol=1e-12)


def test_clipping_by_group_and_need_clip():
    w, b, s = make_params()
    s.need_clip = False
    steps = gradients(1)
    start = values([w, b, s])
    clip = nn.ClipGradByGlobalNorm(0.5)
    opt = optimizer.SGD(0.1, parameters=[{"params": [w]}, {"params": [b, s]}], grad_clip=clip)
    train(opt, [w, b, s], steps)
    gw, gb, gs = steps[0]
    wanted = [gw * 0.5 / np.linalg.norm(gw), gb * 0.5 / np.linalg.norm(gb), gs]
    for found, p, g in zip(values([w, b, s]), start, wanted):
        np.testing.assert_allclose(found, p - 0.1 * g, rtol=1e-12)


def test_a_regularizer_of_ones_own():
    class Quarter:
        def __call__(self, param, grad, block=None):
            return argosy.full_like(param, 0.25)

    params, steps = make_params(), gradients(1)
    start = values(params)
    opt = optimizer.SGD(0.1, parameters=params, weight_decay=Quarter())
    train(opt, params, steps)
    for found, p, g in zip(values(params), start, steps[0]):
        np.testing.assert_allclose(found, p - 0.1 * (g + 0.25), rtol=1e-12)


def test_only_parameters_with_a_gradient_move():
    w, b, s = make_params()
    start = values([w, b, s])
    opt = optimizer.Adam(0.1, parameters=[w, b, s])
    steps = gradients(4)
    memory = {}
    for t, (gw, gb, _) in enumerate(steps, 1):
        for p in (w, b, s):
            p.clear_gradient(False)
        give_grad(b, gb)
        if t % 2:
            give_grad(w, gw)
        opt.step()
    assert s.numpy().tolist() == start[2].tolist()
    assert not [k for k in opt.state_dict() if k.startswith("s_")]
    wanted = start[0]
    for t, i in enumerate((0, 2), 1):
        wanted = ref.adam()(wanted, steps[i][0], memory, t)
    np.testing.assert_allclose(w.numpy(), wanted, rtol=1e-12)
    wanted = expect(start[1:2], [g[1:2] for g in steps], ref.adam())[0]
    np.testing.assert_allclose(b.numpy(), wanted, rtol=1e-12)
    frozen = b.numpy().copy()
    b.stop_gradient = True
    opt.step()
    assert b.numpy().tolist() == frozen.tolist()


@pytest.mark.parametrize("name", ["SGD", "Momentum", "Adam", "AdamW", "Lamb", "ASGD", "Rprop"])
def test_master_weights(name):
    params, steps = make_params("bfloat16"), gradients(6)
    start = values(params)
    opt = getattr(optimizer, name)(learning_rate=0.01, parameters=params, multi_precision=True)
    train(opt, params, steps)
    state = opt.state_dict()
    masters = state["master_weights"]
    assert list(masters) == list(SHAPES)
    assert masters["w"].name == "w_fp32_master_0"
    assert str(masters["w"].dtype).endswith("float32")
    assert all(k.startswith(("w_fp32_master_0_", "b_fp32_", "s_fp32_", "master_")) for k in state)
    plain = make_params("float64")
    for p, v in zip(plain, start):
        p.set_value(v)
    exact = getattr(optimizer, name)(learning_rate=0.01, parameters=plain)
    rounded = [[argosy.to_tensor(g).astype("bfloat16") for g in step] for step in steps]
    train(exact, plain, [values(step) for step in rounded])
    for m, p, e in zip(masters.values(), params, plain):
        np.testing.assert_allclose(m.numpy(), e.numpy(), rtol=2e-4, atol=2e-4)
        assert values([p])[0].tolist() == values([m.astype("bfloat16")])[0].tolist()

    with unique_name.guard():
        again = make_params("bfloat16")
        for p, old in zip(again, params):
            p.set_value(old)
        opt2 = getattr(optimizer, name)(learning_rate=0.01, parameters=again, multi_precision=True)
        opt2.set_state_dict(state)
        # `state` holds live tensors: opt2 must not go on in them.
        frozen = {k: v.numpy().copy() for k, v in masters.items()}
        train(opt2, again, steps[:2])
        assert all((masters[k].numpy() == v).all() for k, v in frozen.items())
    train(opt, params, steps[:2])
    for a, b in zip(params, again):
        assert values([a])[0].tolist() == values([b])[0].tolist()


def test_second_optimizer_over_the_same_parameters():
    params, steps = make_params(), gradients(2)
    first = optimizer.Momentum(0.1, parameters=params)
    train(first, params, steps)
    second = optimizer.Momentum(0.1, parameters=params)
    second.set_state_dict(first.state_dict())
    train(second, params, steps[:1])
    assert list(second.state_dict()) == [f"{p}_velocity_1" for p in SHAPES]
    wanted = 0.9 * (0.9 * steps[0][0] + steps[1][0]) + steps[0][0]
    np.testing.assert_allclose(second.state_dict()["w_velocity_1"].numpy(), wanted, rtol=1e-12)


def test_states_that_do_not_fit():
    params = make_params("float32")
    opt = optimizer.Adam(0.1, parameters=params)
    train(opt, params, gradients(1))
    state = {k: v.numpy().copy() for k, v in opt.state_dict().items()}
    with pytest.raises(AssertionError, match="'w_moment1_0' is missing"):
        opt.set_state_dict({})
    with pytest.raises(AssertionError, match=r"expected \[3, 4\], got \[5\]"):
        opt.set_state_dict(dict(state, w_moment1_0=np.ones(5, "float32")))
    with pytest.raises(AssertionError, match="wrong dtype: expected float32, got float64"):
        opt.set_state_dict(dict(state, w_moment1_0=state["w_moment1_0"].astype("float64")))
    # What is refused changes nothing, also where the last value does not fit.
    others = {k: v + 1 for k, v in state.items()}
    last = list(others)[-1]
    with pytest.raises(AssertionError, match="wrong dtype"):
        opt.set_state_dict(dict(others, **{last: others[last].astype("float64")}))
    for key, value in opt.state_dict().items():
        np.testing.assert_array_equal(value.numpy(), state[key])
    scheduled = optimizer.Adam(lr.StepDecay(0.1, 3), parameters=params)
    with pytest.raises(AssertionError, match="no 'LR_Scheduler'"):
        scheduled.set_state_dict(state)
    with unique_name.guard():
        other = EagerParamBase.from_tensor(argosy.to_tensor(np.ones(2, "float32")), name="other")
        fresh = optimizer.Adam(0.1, parameters=[other])
        fresh.set_state_dict(state)
        give_grad(other, np.ones(2))
        with pytest.warns(UserWarning, match="has no 'other_moment1_0'"):
            fresh.step()


def test_learning_rate():
    params = make_params()
    opt = optimizer.SGD(0.1, parameters=params)
    assert opt.get_lr() == 0.1
    opt.set_lr(1)
    assert opt.get_lr() == 1.0 and isinstance(opt.get_lr(), float)
    with pytest.raises(TypeError, match="expected float, got str"):
        opt.set_lr("fast")
    schedule = lr.StepDecay(0.5, 1, 0.5)
    opt.set_lr_scheduler(schedule)
    schedule.step()
    assert opt.get_lr() == 0.25
    assert opt.state_dict() == {"LR_Scheduler": {"last_epoch": 1, "last_lr": 0.25}}
    with pytest.raises(RuntimeError, match="set by a StepDecay"):
        opt.set_lr(0.1)
    with pytest.raises(TypeError, match="LRScheduler, got float"):
        opt.set_lr_scheduler(0.1)


def test_minimize_and_explicit_gradients():
    params, steps = make_params(), gradients(1)
    start = values(params)
    opt = optimizer.SGD(0.1, parameters=params)
    for p, g in zip(params, steps[0]):
        give_grad(p, g)
    ops, pairs = opt.minimize(argosy.to_tensor(0.0), parameters=params[:2], no_grad_set={"b"})
    assert ops == [] and [p.name for p, _ in pairs] == ["w"]
    np.testing.assert_allclose(params[0].numpy(), start[0] - 0.1 * steps[0][0], rtol=1e-12)
    assert params[1].numpy().tolist() == start[1].tolist()
    assert opt.apply_gradients([(params[1], argosy.full_like(params[1], 2.0))]) == []
    np.testing.assert_allclose(params[1].numpy(), start[1] - 0.2, rtol=1e-12)
    with pytest.raises(AssertionError, match="loss must be a tensor"):
        opt.minimize(3)


def test_clear_grad():
    w = make_params()[0]
    opt = optimizer.SGD(0.1, parameters=[w])
    for clear, left in (
        (opt.clear_grad, "zero"),
        (opt.clear_gradients, "zero"),
        (lambda: opt.clear_grad(False), None),
        (opt.zero_grad, None),
        (lambda: opt.zero_grad(False), "zero"),
    ):
        give_grad(w, np.ones((3, 4)))
        clear()
        if left is None:
            assert w.grad is None
        else:
            assert not w.grad.numpy().any()


def test_an_optimizer_of_ones_own():
    class Plain(optimizer.Optimizer):
        def _create_accumulators(self, block, parameters):
            for p in parameters:
                self._add_accumulator("count", p, fill_value=0.0, shape=[1])

        def _append_optimize_op(self, block, param_and_grad):
            p, g = param_and_grad
            count = self._get_accumulator("count", p)
            count.set_value(count + 1.0)
            p.set_value(p - g * self._create_param_lr(param_and_grad))

    params, steps = make_params(), gradients(3)
    start = values(params)
    opt = Plain(0.1, parameters=params, weight_decay=0.2)
    train(opt, params, steps)
    for found, wanted in zip(values(params), expect(start, steps, decayed(ref.sgd(), l2=0.2))):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert float(opt.state_dict()["w_count_0"]) == 3.0
    with pytest.raises(NotImplementedError, match="_append_optimize_op"):
        train(optimizer.Optimizer(0.1, parameters=params), params, steps[:1])


@pytest.mark.parametrize(
    "make,error,text",
    [
        (lambda p: optimizer.SGD(0.1), AttributeError, "parameters is missing"),
        (lambda p: optimizer.SGD(0.1, parameters=p[0]), TypeError, "got one tensor"),
        (lambda p: optimizer.SGD(0.1, parameters={"params": p}), TypeError, "list of dicts"),
        (lambda p: optimizer.SGD(0.1, parameters=["w"]), AttributeError, "got str"),
        (lambda p: optimizer.SGD("a", parameters=p), TypeError, "LRScheduler, got str"),
        (lambda p: optimizer.SGD(0.1, parameters=p, grad_clip=1.0), TypeError, "grad_clip"),
        (lambda p: optimizer.SGD(0.1, parameters=p, weight_decay="a"), TypeError, "weight_decay"),
        (lambda p: optimizer.SGD(0.1, parameters=[{"lr": 1}]), AssertionError, "key 'params'"),
        (
            lambda p: optimizer.SGD(0.1, parameters=[{"params": p}, {"params": p[:1]}]),
            ValueError,
            "more than one parameter group",
        ),
        (lambda p: optimizer.Adam(parameters=p, beta1=1.0), ValueError, "beta1 is out of range"),
        (lambda p: optimizer.Adam(parameters=p, epsilon=-1), ValueError, "epsilon"),
        (lambda p: optimizer.Adam(None, parameters=p), AssertionError, "learning_rate is missing"),
        (lambda p: optimizer.NAdam(None, parameters=p), TypeError, "learning_rate is missing"),
        (lambda p: optimizer.RAdam(0.1, beta1=None, parameters=p), TypeError, "beta1 is missing"),
        (lambda p: optimizer.AdamW(parameters=p, weight_decay="a"), TypeError, "weight_decay"),
        (lambda p: optimizer.Momentum(momentum=None, parameters=p), ValueError, "momentum"),
        (lambda p: optimizer.RMSProp(0.1, rho=-1.0, parameters=p), ValueError, "rho"),
        (lambda p: optimizer.ASGD(0.1, 0, parameters=p), ValueError, "batch_num"),
        (lambda p: optimizer.Rprop(99.0, parameters=p), ValueError, "learning_rate_range"),
        (lambda p: optimizer.LBFGS(line_search_fn="x", parameters=p), RuntimeError, "line_search"),
    ],
)
def test_errors(make, error, text):
    with pytest.raises(error, match=text):
        make(make_params())


def test_repeated_parameters_move_once():
    w = make_params()[0]
    start = w.numpy().copy()
    with pytest.warns(UserWarning, match="1 tensors more than once"):
        opt = optimizer.SGD(0.1, parameters=[w, w])
    give_grad(w, np.ones((3, 4)))
    opt.step()
    np.testing.assert_allclose(w.numpy(), start - 0.1)


def test_a_cleared_gradient_is_zero_when_read_and_replaced_when_not():
    w = make_params()[0]

    def add(value):
        (w * argosy.full_like(w, value)).backward(argosy.full_like(w, 1.0))

    add(2.0)
    held = w.grad
    w.clear_gradient()
    assert w.grad is held and not held.numpy().any()
    add(3.0)
    add(4.0)
    assert (w.grad.numpy() == 7).all()
    w.clear_gradient()
    add(5.0)
    assert (w.grad.numpy() == 5).all()
    w.clear_gradient()
    w.clear_gradient(False)
    assert w.grad is None
    w.clear_gradient()
    assert w.grad is None
    add(6.0)
    w.clear_gradient()
    w.grad = argosy.full_like(w, 8.0)
    add(1.0)
    assert (w.grad.numpy() == 9).all()


def test_zero_gradients_still_make_steps():
    w = make_params()[0]
    start = w.numpy().copy()
    opt = optimizer.Momentum(0.1, parameters=[w])
    give_grad(w, np.ones((3, 4)))
    opt.step()
    opt.clear_grad()
    opt.step()  # the velocity goes on
    np.testing.assert_allclose(w.numpy(), start - 0.1 - 0.09, rtol=1e-12)


def test_plain_tensors_can_be_trained():
    x, y = argosy.to_tensor(np.ones(3)), argosy.to_tensor(np.ones(3))
    for t in (x, y):
        t.stop_gradient = False
        (t * t).backward(argosy.full_like(t, 1.0))
    groups = [{"params": [x], "learning_rate": 0.5, "weight_decay": 1.0}, {"params": [y]}]
    opt = optimizer.SGD(0.1, parameters=groups)
    opt.step()
    np.testing.assert_allclose(x.numpy(), np.full(3, 1 - 0.05 * 3.0))
    np.testing.assert_allclose(y.numpy(), np.full(3, 1 - 0.1 * 2.0))


def test_what_programs_assign_to_takes_effect():
    w, b, s = make_params()
    opt = optimizer.SGD(0.1, parameters=[w])
    opt._parameter_list = [w, b]
    opt._grad_clip = nn.ClipGradByValue(0.5)
    start = values([w, b])
    for p in (w, b):
        give_grad(p, np.full(p.shape, 2.0))
    opt.step()
    for found, before in zip(values([w, b]), start):
        np.testing.assert_allclose(found, before - 0.05, rtol=1e-12)


@pytest.mark.parametrize("make", [optimizer.SGD, optimizer.Adam])
def test_global_norm_clips_the_gradients_in_place(make):
    """After a step, .grad is what was applied; the other two ways to clip leave it alone."""
    for clip, in_place in (
        (nn.ClipGradByGlobalNorm(0.5), True),
        (nn.ClipGradByNorm(0.5), False),
        (nn.ClipGradByValue(0.5), False),
    ):
        layer = nn.Linear(2, 1)
        adapt = make(0.1, parameters=layer.parameters(), grad_clip=clip)
        (3 * layer(argosy.ones([1, 2]))).sum().backward()
        held, before = layer.weight.grad, layer.weight.grad.numpy()
        adapt.step()
        norm = np.sqrt(27.0)
        want = before * (0.5 / norm) if in_place else before
        np.testing.assert_allclose(layer.weight.grad.numpy(), want, rtol=1e-6)
        np.testing.assert_allclose(held.numpy(), want, rtol=1e-6)


def test_lars_moves_all_rows_of_a_table():
    """Momentum and decay move those without a gradient, too."""
    tables = []
    for sparse in (True, False):
        argosy.seed(3)
        table = argosy.nn.Embedding(5, 2, sparse=sparse)
        lars = argosy.incubate.optimizer.LarsMomentumOptimizer(
            0.5, 0.9, 0.1, 0.25, parameter_list=table.parameters()
        )
        for ids in ([1, 1, 3], [0, 3]):
            (table(argosy.to_tensor(ids)) ** 2).sum().backward()
            lars.step()
            lars.clear_grad(set_to_zero=False)
        tables.append(table.weight.numpy())
    np.testing.assert_allclose(*tables, rtol=1e-6)


def test_adam_with_row_sparse_gradients_gives_what_paddle_gives():
    """Recorded from PaddlePaddle 3.3.1 and 2.6.2: powers of beta are those of the next step."""
    e = argosy.nn.Embedding(5, 2, sparse=True)
    e.weight.set_value(np.ones((5, 2), "float32"))
    adam = argosy.optimizer.Adam(0.1, parameters=e.parameters())
    rows = []
    for places in ([0, 1, 1], [1, 2], [0]):
        (e(argosy.to_tensor(places)) * argosy.to_tensor([0.5, -2.0])).sum().backward()
        adam.step()
        adam.clear_grad()
        rows.append(e.weight.numpy()[:4, 0].copy())
    want = [[0.92559, 0.92559, 1, 1], [0.86806, 0.84556, 0.93612, 1], [0.79365, 0.78001]]
    for got, expected in zip(rows, want):
        np.testing.assert_allclose(got[: len(expected)], expected, atol=6e-6)
