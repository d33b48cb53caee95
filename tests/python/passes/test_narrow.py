"""narrow_losses, narrow_feeds, narrow_updates: what 16-bit training need not keep in float32, to the same bits."""

import re

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, body, ops

import argosy
from argosy import _core, amp, nn
from argosy.nn import functional as F

LOGITS = np.random.default_rng(0).standard_normal((6, 10, 40)).astype("float32") * 4
LABELS = np.random.default_rng(1).integers(0, 40, (6, 10))


def peak(r, *passes):
    return _core.passes_peak(r.rewrite([*passes, "dead_code"]).program)


def loss_of(dtype="bfloat16", weight=None, flat=True, **options):
    """Scores of a 16-bit product, cast for the loss, and their gradients."""
    argosy.seed(0)
    labels = LABELS.copy()
    labels[0, :3] = -100
    fed = argosy.to_tensor(LOGITS).astype(dtype)
    with Recorded() as r:
        x, y = r.input(fed), r.input(labels)
        x.stop_gradient = False
        scores = x.astype("float32")
        if flat:
            scores, y = scores.reshape([-1, 40]), y.flatten()
        loss = F.cross_entropy(scores, y, weight, **options)
        r.fetch(loss, *r.gradients([loss.sum()], [x]))
    return r


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_scores_stay_as_they_are(dtype, flat, reduction):
    r = loss_of(dtype, flat=flat, reduction=reduction)
    after = r.check(["algebraic", "narrow_losses", "dead_code"])
    assert "cast" not in ops(after) and ops(after).count("hard_cross_entropy") == 1
    assert "float32[60, 40]" not in body(after) and "float32[6, 10, 40]" not in body(after)
    assert peak(r, "algebraic", "narrow_losses") < 0.4 * peak(r)


def test_weights_of_classes():
    weight = argosy.to_tensor(np.linspace(0.5, 2, 40).astype("float32"))
    after = loss_of(weight=weight).check(["narrow_losses", "dead_code"])
    assert "float32[60, 40]" not in body(after)


def test_classes_on_another_axis():
    fed = argosy.to_tensor(LOGITS).astype("bfloat16")
    with Recorded() as r:
        x = r.input(fed)
        y = r.input(LABELS[:, :1] % 10)
        x.stop_gradient = False
        loss = F.cross_entropy(x.astype("float32"), y.expand([6, 40]), axis=1)
        r.fetch(loss, *r.gradients([loss], [x]))
    assert "cast" not in ops(r.check(["narrow_losses", "dead_code"]))


def test_infinite_and_equal_scores():
    scores = np.zeros((4, 8), "float32")
    scores[1, 2], scores[2, 3], scores[3, 4] = -np.inf, 3e38, 88.0
    fed = argosy.to_tensor(scores).astype("bfloat16")
    with Recorded() as r:
        x, y = r.input(fed), r.input(np.arange(4))
        x.stop_gradient = False
        loss = F.cross_entropy(x.astype("float32"), y, reduction="none")
        r.fetch(loss, *r.gradients([loss.sum()], [x]))
    assert "cast" not in ops(r.check(["narrow_losses", "dead_code"]))


def test_where_float32_is_wanted_it_stays():
    fed = argosy.to_tensor(LOGITS[0]).astype("bfloat16")

    def others(use):
        with Recorded() as r:
            x, y = r.input(fed), r.input(LABELS[0])
            x.stop_gradient = False
            scores = x.astype("float32")
            loss = F.cross_entropy(scores, y)
            use(r, x, scores, loss)
        return ops(r.check(["narrow_losses", "dead_code"]))

    def gradient_in_float32(r, x, scores, loss):
        r.fetch(loss, *r.gradients([loss], [scores]))

    def both(r, x, scores, loss):
        r.fetch(loss, scores, *r.gradients([loss], [x]))

    assert "cast" in others(gradient_in_float32)
    assert others(both).count("cast") == 1  # for who reads them
    assert "cast" not in others(lambda r, x, scores, loss: r.fetch(loss))


def test_second_derivatives():
    """The operation on 16-bit scores has the gradients of that in float32."""
    x = argosy.to_tensor(LOGITS[0]).astype("bfloat16")
    y = argosy.to_tensor(LABELS[0])
    found = []
    for cast in (False, True):
        a = x.detach()
        a.stop_gradient = False
        loss = F.cross_entropy(a.astype("float32") if cast else a, y)
        (g,) = argosy.grad(loss, [a], create_graph=True)
        (h,) = argosy.grad((g.astype("float32") ** 2).sum(), [a])
        found.append([v.astype("float32").numpy() for v in (loss, g, h)])
    for low, full in zip(*found):
        np.testing.assert_allclose(low, full, rtol=0.02, atol=0.01 * np.abs(full).max())


def feeding(elements, dtype="bfloat16"):
    x = np.random.default_rng(0).standard_normal((elements // 32, 32)).astype("float32")
    weight = argosy.to_tensor(np.random.default_rng(1).standard_normal((32, 4)).astype("float32"))
    weight.stop_gradient = False
    with Recorded() as r:
        wide = r.input(x)
        y = argosy.matmul(wide.astype(dtype), weight.astype(dtype)).astype("float32")
        loss = (y * y).mean()
        r.fetch(loss, *r.gradients([loss], [weight]))
    return r


def test_a_feed_is_cast_again():
    r = feeding(1 << 16)
    after = r.check(["cse", "narrow_feeds"])
    assert ops(after).count("cast") == ops(r.check("cse")).count("cast") + 1


@pytest.mark.parametrize("elements, dtype", [(1024, "bfloat16"), (1 << 16, "float64")])
def test_small_feeds_and_wide_casts_are_kept(elements, dtype):
    r = feeding(elements, dtype)
    assert ops(r.check(["cse", "narrow_feeds"])) == ops(r.check("cse"))


class Encoder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(500, 64)
        layer = nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, activation="relu")
        self.encoder = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(64, 500)

    def forward(self, ids):
        return self.head(self.encoder(self.words(ids)))


def convnet():
    def block(a, b):
        return [nn.Conv2D(a, b, 3, padding=1, bias_attr=False), nn.BatchNorm2D(b), nn.ReLU()]

    return nn.Sequential(*block(3, 32), *block(32, 32), nn.MaxPool2D(2), *block(32, 64),
                         nn.AdaptiveAvgPool2D(1), nn.Flatten(), nn.Linear(64, 10))  # fmt: skip


def mlp():
    return nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(),
                         nn.Linear(512, 10))  # fmt: skip


def picture(*shape):
    return lambda: [argosy.randn(shape), argosy.randint(0, 10, shape[:1])]


UPDATES = {
    "sgd": lambda p: argosy.optimizer.SGD(0.1, parameters=p, weight_decay=0.01),
    "momentum": lambda p: argosy.optimizer.Momentum(0.1, parameters=p),
    "adamw": lambda p: argosy.optimizer.AdamW(0.01, parameters=p),
    "clipped": lambda p: argosy.optimizer.SGD(
        0.1, parameters=p, grad_clip=nn.ClipGradByGlobalNorm(0.1)
    ),
}


@pytest.mark.parametrize("name", UPDATES)
def test_updates_read_gradients_of_16_bits(name):
    """To the bits of the step as it was recorded, where they are cast to float32."""
    kept = []
    for interpreted in (False, True):
        argosy.seed(0)
        model = mlp()
        optimizer = UPDATES[name](model.parameters())
        step = argosy.jit.compile_step(model, nn.CrossEntropyLoss(), optimizer)
        data = picture(64, 256)()
        with amp.auto_cast(dtype="bfloat16"):
            program, fetches = step._capture(data)
        feeds = [*data, step._current_rate()]
        executor = _core.executor_new(1)
        _, text = _core.executor_plan(executor, program, feeds, fetches, None)
        for _ in range(3):
            if interpreted:
                _core.program_run(program, feeds, fetches, None)
            else:
                _core.executor_run(executor, program, feeds, fetches, None)
        kept.append([v.numpy() for v in model.parameters()])
    for a, b in zip(*kept):
        np.testing.assert_array_equal(a, b)
    updates = [line for line in text.splitlines() if re.search(r"dispatch \w+_:", line)]
    assert updates
    # What clips reads float32, and so does who reads what it gives.
    assert all(("bfloat16" in line) == (name != "clipped") for line in updates), text


MODELS = {
    "mlp": (mlp, picture(512, 256)),
    "convnet": (convnet, picture(16, 3, 32, 32)),
    "encoder": (
        Encoder,
        lambda: [argosy.randint(0, 500, [8, 64]), argosy.randint(0, 500, [8, 64])],
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_memory_of_a_training_step(name):
    """Planned memory of a step at O2 is at most 0.55 of that in float32."""
    make, batch = MODELS[name]
    arena = {}
    for level in ("O0", "O2"):
        argosy.seed(0)
        model = make()
        optimizer = argosy.optimizer.AdamW(1e-3, parameters=model.parameters())
        if level == "O2":
            amp.decorate(model, optimizer, level="O2", dtype="bfloat16")

        def loss(logits, label):
            logits = logits.astype("float32")
            return F.cross_entropy(logits.reshape([-1, logits.shape[-1]]), label.flatten())

        step = argosy.jit.compile_step(model, loss, optimizer)
        data = batch()
        with amp.auto_cast(level != "O0", {"embedding"}, level=level, dtype="bfloat16"):
            program, fetches = step._capture(data)
        feeds = [*data, step._current_rate()]
        report, _ = _core.executor_plan(_core.executor_new(1), program, feeds, fetches, None)
        arena[level] = report["arena"]
    assert arena["O2"] <= 0.55 * arena["O0"], arena
