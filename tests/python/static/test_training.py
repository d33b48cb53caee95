"""Static training equals eager training with the same first values."""

import numpy as np
import pytest

import argosy
from argosy import nn, static

rng = np.random.default_rng(7)
X = rng.standard_normal((16, 6)).astype("float32")
Y = rng.integers(0, 3, (16, 1))


def network():
    return nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))


def eager_losses(first, optimizer, steps):
    argosy.disable_static()
    try:
        model = network()
        for p, value in zip(model.parameters(), first):
            p.set_value(value)
        opt = optimizer(model.parameters())
        losses = []
        for _ in range(steps):
            loss = nn.functional.cross_entropy(model(argosy.to_tensor(X)), argosy.to_tensor(Y))
            loss.backward()
            opt.step()
            opt.clear_grad()
            if isinstance(opt._learning_rate, argosy.optimizer.lr.LRScheduler):
                opt._learning_rate.step()
            losses.append(float(loss))
        return losses, [p.numpy() for p in model.parameters()]
    finally:
        argosy.enable_static()


def schedule():
    return argosy.optimizer.lr.StepDecay(0.1, step_size=2, gamma=0.5)


OPTIMIZERS = {
    "sgd": lambda ps: argosy.optimizer.SGD(0.1, parameters=ps),
    "momentum": lambda ps: argosy.optimizer.Momentum(0.1, 0.9, parameters=ps, use_nesterov=True),
    "adam": lambda ps: argosy.optimizer.Adam(0.05, parameters=ps),
    "adamw": lambda ps: argosy.optimizer.AdamW(0.05, parameters=ps, weight_decay=0.1),
    "adagrad": lambda ps: argosy.optimizer.Adagrad(0.1, parameters=ps),
    "adadelta": lambda ps: argosy.optimizer.Adadelta(0.5, parameters=ps),
    "adamax": lambda ps: argosy.optimizer.Adamax(0.05, parameters=ps),
    "rmsprop": lambda ps: argosy.optimizer.RMSProp(
        0.01, parameters=ps, centered=True, momentum=0.5
    ),
    "lamb": lambda ps: argosy.optimizer.Lamb(0.05, parameters=ps),
    "decay": lambda ps: argosy.optimizer.SGD(
        0.1, parameters=ps, weight_decay=argosy.regularizer.L1Decay(0.01)
    ),
    "clip": lambda ps: argosy.optimizer.Momentum(
        schedule(), 0.9, parameters=ps, weight_decay=0.01, grad_clip=nn.ClipGradByGlobalNorm(0.3)
    ),
    "clip each": lambda ps: argosy.optimizer.SGD(
        schedule(), parameters=ps, grad_clip=nn.ClipGradByNorm(0.1)
    ),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_equals_eager(name):
    x = static.data("x", [None, 6], "float32")
    y = static.data("y", [None, 1], "int64")
    model = network()
    loss = nn.functional.cross_entropy(model(x), y)
    opt = OPTIMIZERS[name](None)
    opt.minimize(loss)
    exe = static.Executor()
    exe.run(static.default_startup_program())
    scope = static.global_scope()
    names = [p.name for p in model.parameters()]
    assert names == ["linear_0.w_0", "linear_0.b_0", "linear_1.w_0", "linear_1.b_0"]
    first = [np.array(scope.find_var(n).get_tensor()) for n in names]
    losses = []
    for _ in range(5):
        losses.append(float(exe.run(feed={"x": X, "y": Y}, fetch_list=[loss])[0]))
        if isinstance(opt._learning_rate, argosy.optimizer.lr.LRScheduler):
            opt._learning_rate.step()
    want, last = eager_losses(first, OPTIMIZERS[name], 5)
    np.testing.assert_allclose(losses, want, rtol=2e-6)
    for n, value in zip(names, last):
        np.testing.assert_allclose(scope.find_var(n).get_tensor(), value, rtol=1e-5, atol=1e-7)
    assert losses[-1] < losses[0]


def test_names_of_state_and_gradients():
    x = static.data("x", [None, 6], "float32")
    loss = static.nn.fc(x, 2).mean()
    argosy.optimizer.Adam(0.1).minimize(loss)
    main = static.default_main_program()
    assert [p.name for p in main.all_parameters()] == ["fc_0.w_0", "fc_0.b_0"]
    names = [v.name for v in main.list_vars()]
    for name in ("x", "learning_rate_0", "fc_0.w_0_moment1_0", "fc_0.b_0_beta2_pow_acc_0"):
        assert name in names
    exe = static.Executor()
    exe.run(static.default_startup_program())
    got = exe.run(feed={"x": X}, fetch_list=["fc_0.w_0@GRAD", "learning_rate_0", loss.name])
    np.testing.assert_allclose(got[0], np.repeat(X.mean(0)[:, None] / 2, 2, 1), rtol=1e-5)
    assert got[1] == np.float32(0.1) and got[2].shape == ()


def test_a_frozen_parameter_and_a_parameter_list():
    x = static.data("x", [None, 6], "float32")
    hidden = static.nn.fc(x, 4, weight_attr=argosy.ParamAttr(name="frozen", trainable=False))
    loss = static.nn.fc(hidden, 1, weight_attr="trained", bias_attr=False).mean()
    _, pairs = argosy.optimizer.SGD(0.1).minimize(loss, parameters=["trained"])
    assert [(p.name, g.name) for p, g in pairs] == [("trained", "trained@GRAD")]
    exe = static.Executor()
    exe.run(static.default_startup_program())
    scope = static.global_scope()
    before = {
        n: np.array(scope.find_var(n).get_tensor()) for n in ("frozen", "trained", "fc_0.b_0")
    }
    exe.run(feed={"x": X})
    for name, value in before.items():
        changed = not np.array_equal(value, np.array(scope.find_var(name).get_tensor()))
        assert changed == (name == "trained")


def test_backward_then_apply_gradients_and_two_losses():
    x = static.data("x", [None, 6], "float32")
    w = static.create_parameter([6, 1], "float32", name="w")
    y = argosy.matmul(x, w)
    opt = argosy.optimizer.SGD(0.5)
    pairs = opt.backward(y.mean())
    opt.apply_gradients([(p, g * 2) for p, g in pairs])
    other = argosy.optimizer.SGD(0.25)
    other.minimize((y * y).mean())
    exe = static.Executor()
    exe.run(static.default_startup_program())
    scope = static.global_scope()
    w0 = np.array(scope.find_var("w").get_tensor())
    exe.run(feed={"x": X})
    want = w0 - 0.5 * 2 * X.mean(0)[:, None] - 0.25 * 2 * X.T @ (X @ w0) / 16
    np.testing.assert_allclose(scope.find_var("w").get_tensor(), want, rtol=1e-5, atol=1e-6)


def test_set_lr():
    x = static.data("x", [1], "float32")
    w = static.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
    opt = argosy.optimizer.SGD(0.5)
    opt.minimize((w * x).sum())
    exe = static.Executor()
    exe.run(static.default_startup_program())
    one = np.ones(1, "float32")
    assert exe.run(feed={"x": one}, fetch_list=[w])[0] == 0.5
    opt.set_lr(0.125)
    assert exe.run(feed={"x": one}, fetch_list=[w])[0] == 0.375
    with pytest.raises(RuntimeError, match="call minimize"):
        opt.step()


def test_low_precision_parameters_keep_a_master_copy():
    x = static.data("x", [4, 6], "bfloat16")
    w = static.create_parameter([6, 1], "bfloat16", name="w")
    opt = argosy.optimizer.SGD(1e-3, multi_precision=True)
    opt.minimize(argosy.matmul(x, w).astype("float32").sum())
    exe = static.Executor()
    exe.run(static.default_startup_program())
    names = [n for n in static.global_scope().local_var_names() if "fp32_master" in n]
    assert len(names) == 1
    master = np.array(static.global_scope().find_var(names[0]).get_tensor())
    assert master.dtype == np.float32
    bits = (np.ones((4, 6), "float32").view("uint32") >> 16).astype("uint16")
    exe.run(feed={"x": bits})
    after = np.array(static.global_scope().find_var(names[0]).get_tensor())
    np.testing.assert_allclose(after, master - 4e-3, rtol=1e-6)


class Plain(argosy.optimizer.Optimizer):
    """An optimizer as users write them."""

    def _create_accumulators(self, block, parameters):
        for p in parameters:
            self._add_accumulator("steps", p, shape=[1])

    def _append_optimize_op(self, block, param_and_grad):
        p, g = param_and_grad
        steps = self._get_accumulator("steps", p)
        block.append_op("increment", {"X": steps}, {"Out": steps}, {"step": 1.0})
        inputs = {"Param": p, "Grad": g, "LearningRate": self._create_param_lr(param_and_grad)}
        block.append_op("sgd", inputs, {"ParamOut": p})


def test_an_optimizer_of_the_user(start):
    x = static.data("x", [1], "float32")
    w = static.create_parameter([1], "float32", default_initializer=nn.initializer.Constant(1.0))
    opt = Plain(0.25, weight_decay=argosy.regularizer.L2Decay(0.5))
    opt.minimize((w * x).sum())
    exe = start()
    one = np.ones(1, "float32")
    assert exe.run(feed={"x": one}, fetch_list=[w])[0] == 1 - 0.25 * 1.5
    exe.run(feed={"x": one})
    assert [v.item() for k, v in opt.state_dict().items() if "steps" in k] == [2]


def test_state_of_an_optimizer(start):
    x = static.data("x", [None, 6], "float32")
    loss = static.nn.fc(x, 2).square().mean()
    opt = argosy.optimizer.Adam(schedule())
    opt.minimize(loss)
    exe = start()
    exe.run(feed={"x": X})
    opt._learning_rate.step()
    state = {k: v.numpy() if hasattr(v, "numpy") else v for k, v in opt.state_dict().items()}
    assert state["LR_Scheduler"]["last_epoch"] == 1 and state["fc_0.w_0_beta1_pow_acc_0"] != 0
    exe.run(feed={"x": X})
    opt.set_state_dict(state)
    for k, v in opt.state_dict().items():
        if k != "LR_Scheduler":
            np.testing.assert_array_equal(v.numpy(), state[k])
