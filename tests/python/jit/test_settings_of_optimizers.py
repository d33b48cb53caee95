"""What programs set on optimizers, parameters and groups between steps counts in the next one, captured or not."""

import warnings

import numpy as np
import pytest

import argosy
from argosy import jit, nn, optimizer

L2 = argosy.regularizer.L2Decay
BATCHES = np.random.default_rng(0).normal(size=(3, 4, 3)).astype("float32")
MAKERS = {
    "SGD": lambda p: optimizer.SGD(0.1, parameters=p, weight_decay=0.01),
    "Momentum": lambda p: optimizer.Momentum(0.1, 0.9, parameters=p, weight_decay=0.01),
    "Adam": lambda p: optimizer.Adam(0.1, parameters=p, weight_decay=0.01),
    "AdamW": lambda p: optimizer.AdamW(0.1, parameters=p, lr_ratio=lambda q: q.ratio),
    "Lamb": lambda p: optimizer.Lamb(0.1, parameters=p),
    "RMSProp": lambda p: optimizer.RMSProp(0.1, parameters=p),
}
ATTRIBUTES = {
    "SGD": {"regularization": L2(0.5)},
    "Momentum": {"regularization": L2(0.5), "_momentum": 0.1},
    "Adam": {"_beta1": 0.1, "_beta2": 0.5, "_epsilon": 1.0},
    "AdamW": {
        "_weight_decay": 0.5,
        "_apply_decay_param_fun": lambda name: False,
        "_grad_clip": nn.ClipGradByValue(0.01),
    },
    "Lamb": {"_lamb_weight_decay": 0.5, "_exclude_from_weight_decay_fn": lambda p: True},
    "RMSProp": {"_rho": 0.1, "_momentum": 0.5, "_epsilon": 1.0},
}


def trained(make, change, captured, groups=False):
    """Parameters after three steps, of which the second and third follow change(optimizer)."""
    argosy.seed(0)
    layer = nn.Linear(2, 1)
    for p in layer.parameters():
        p.ratio = 1.0
    parameters = layer.parameters()
    made = make([{"params": parameters}] if groups else parameters)

    def eager(x, y):
        nn.MSELoss()(layer(x), y).backward()
        made.step()
        made.clear_grad()

    step = jit.compile_step(layer, nn.MSELoss(), made) if captured else eager
    for i, batch in enumerate(BATCHES):
        if i == 1:
            change(made)
        step(argosy.to_tensor(batch[:, :2]), argosy.to_tensor(batch[:, 2:]))
    return np.concatenate([p.numpy().ravel() for p in layer.parameters()])


def check(name, change, groups=False):
    """The change counts, and captured steps are eager ones."""
    plain = trained(MAKERS[name], lambda o: None, False, groups)
    eager = trained(MAKERS[name], change, False, groups)
    assert not np.array_equal(eager, plain)
    np.testing.assert_array_equal(trained(MAKERS[name], change, True, groups), eager)


@pytest.mark.parametrize(
    ("name", "attribute"), [(name, key) for name, of in ATTRIBUTES.items() for key in of]
)
def test_attributes(name, attribute):
    check(name, lambda o: setattr(o, attribute, ATTRIBUTES[name][attribute]))


def first(o):
    return o._all_params()[0]


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize(
    "change",
    [
        lambda o: first(o).optimize_attr.update(learning_rate=0.25),
        lambda o: setattr(first(o), "regularizer", L2(0.5)),
    ],
    ids=["rate", "regularizer"],
)
def test_words_of_parameters(name, change):
    check(name, change)


def test_coefficients_and_functions():
    check("SGD", lambda o: setattr(o.regularization, "_coeff", 0.5))
    check("AdamW", lambda o: setattr(first(o), "ratio", 0.25))
    check("AdamW", lambda o: setattr(o, "_lr_ratio", lambda p: 2.0))


@pytest.mark.parametrize("name", ["Adam", "AdamW"])
@pytest.mark.parametrize(
    "words",
    [
        {"beta1": 0.1}, {"learning_rate": 0.25}, {"weight_decay": 0.5},
        {"grad_clip": nn.ClipGradByValue(0.01)},
    ],
    ids=lambda words: next(iter(words)),
)  # fmt: skip
def test_words_of_groups(name, words):
    check(name, lambda o: o._param_groups[0].update(words), groups=True)


def test_parameters_that_are_clipped():
    def make(p):
        return optimizer.SGD(0.1, parameters=p, grad_clip=nn.ClipGradByValue(0.01))

    def change(o):
        first(o).need_clip = False

    eager = trained(make, change, False)
    assert not np.array_equal(eager, trained(make, lambda o: None, False))
    np.testing.assert_array_equal(trained(make, change, True), eager)


def test_an_update_within_a_captured_function():
    """It is captured anew when the optimizer is set differently."""
    results = []
    for captured in (False, True):
        argosy.seed(0)
        layer = nn.Linear(2, 1)
        adam = optimizer.Adam(0.1, parameters=layer.parameters())

        def step(x, layer=layer, adam=adam):
            layer(x).square().mean().backward()
            adam.step()
            adam.clear_grad()

        run = jit.to_static(step) if captured else step
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it may run as Python
            for i, batch in enumerate(BATCHES):
                adam._beta1 = 0.9 if i == 0 else 0.1
                run(argosy.to_tensor(batch[:, :2]))
        results.append(layer.weight.numpy())
    np.testing.assert_array_equal(*results)


def test_settings_that_change_all_the_time_are_told_once():
    layer = nn.Linear(2, 1)
    sgd = optimizer.SGD(0.1, parameters=layer.parameters(), weight_decay=0.5)
    step = jit.compile_step(lambda x: layer(x).mean(), None, sgd)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(12):
            sgd.regularization = L2(0.01 * i)
            step(argosy.ones([1, 2]))
            sgd.set_lr(0.1 / (i + 1))
    texts = [str(w.message) for w in caught]
    assert len(texts) == 1 and "captured for 8 settings of the optimizer" in texts[0], texts


def test_the_rate_alone_is_no_setting():
    layer = nn.Linear(2, 1)
    adam = optimizer.Adam(0.1, parameters=layer.parameters())
    step = jit.compile_step(lambda x: layer(x).mean(), None, adam)
    for i in range(3):
        adam.set_lr(0.1 / (i + 1))
        step(argosy.ones([1, 2]))
    assert len(step.program_cache) == 1


def test_settings_of_before_are_known_and_many_are_forgotten():
    layer = nn.Linear(2, 1)
    adam = optimizer.Adam(0.1, parameters=layer.parameters())
    step = jit.compile_step(lambda x: layer(x).mean(), None, adam)
    x = argosy.ones([1, 2])
    for beta in (0.9, 0.5, 0.9, 0.5):
        adam._beta1 = beta
        step(x)
    assert len(step.program_cache) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(70):
            adam._beta1 = i / 100
            step(x)
    assert len(step.program_cache) == len(step._numbers) == 64
