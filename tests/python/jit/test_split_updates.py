"""split_updates: large parameters are updated where their gradient is made, to the same bits."""

import re

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, nn


def train(make, steps=3, clip=None, interpreted=False, low=False):
    """(losses, parameters and state after some steps, the plan's report, its steps)

    interpreted: by the reference interpreter, which runs the Program as it was recorded.
    low: in bfloat16 with float32 copies, but for the parameters of a normalization.
    """
    paddle.seed(3)
    rng = np.random.RandomState(0)
    norm = nn.BatchNorm1D(300) if low else nn.Identity()
    layers = [nn.Linear(300, 300), norm, nn.ReLU(), nn.Linear(300, 300), nn.Linear(300, 3)]
    model = nn.Sequential(*layers)
    optimizer = make(model.parameters(), clip)
    if low:
        paddle.amp.decorate(model, optimizer, level="O2", dtype="bfloat16")
    step = paddle.jit.compile_step(model, nn.CrossEntropyLoss(), optimizer)
    x = paddle.to_tensor(rng.standard_normal((4, 300)).astype("float32"))
    y = paddle.to_tensor(rng.randint(0, 3, 4))
    with paddle.amp.auto_cast(low, level="O2", dtype="bfloat16"):
        program, fetches = step._capture([x, y])
    feeds = [x, y, step._current_rate()]
    executor = _core.executor_new(1)
    report, text = _core.executor_plan(executor, program, feeds, fetches, None)
    if interpreted:
        losses = [_core.program_run(program, feeds, fetches, None)[0] for _ in range(steps)]
    else:
        losses = [
            _core.executor_run(executor, program, feeds, fetches, None)[0] for _ in range(steps)
        ]
    losses = [float(v) for v in losses]
    state = optimizer.state_dict()
    kept = [p.astype("float32").numpy() for p in model.parameters()]
    kept += [v.numpy() for v in state.values() if isinstance(v, paddle.Tensor)]
    kept += [v.numpy() for v in state.get("master_weights", {}).values()]
    return losses, kept, report, text


def sgd(parameters, clip):
    return paddle.optimizer.SGD(0.1, parameters=parameters, grad_clip=clip)


def adamw(parameters, clip):
    return paddle.optimizer.AdamW(
        0.01,
        parameters=parameters,
        weight_decay=0.1,
        grad_clip=clip,
        apply_decay_param_fun=lambda name: "w_0" in name,
        lr_ratio=lambda p: 0.5 if p.ndim == 1 else 1.0,
    )


def made_by(name, *first):
    return lambda parameters, clip: getattr(paddle.optimizer, name)(
        *first, parameters=parameters, grad_clip=clip
    )


OPTIMIZERS = {
    "sgd_": sgd,
    "adam_": adamw,
    "momentum_": made_by("Momentum", 0.1),
    "adamax_": made_by("Adamax", 0.01),
    "adagrad_": made_by("Adagrad", 0.1),
    "adadelta_": made_by("Adadelta", 0.1),
    "nadam_": made_by("NAdam", 0.01),
    "radam_": made_by("RAdam", 0.01),
    "rmsprop_": made_by("RMSProp", 0.01),
    "lamb_": made_by("Lamb", 0.01),
    "asgd_": made_by("ASGD", 0.01),
    "rprop_": made_by("Rprop", 0.01),
}


def test_every_op_that_says_so_is_tried():
    said = {op["name"] for op in _core.registry() if "per_parameter" in op["facts"]}
    assert said == set(OPTIMIZERS)


@pytest.mark.parametrize("op", OPTIMIZERS)
@pytest.mark.parametrize("low", [False, True])
def test_each_large_parameter_is_updated_early_and_results_are_the_same_bits(op, low):
    make = OPTIMIZERS[op]
    losses, kept, report, text = train(make, low=low)
    updates = [i for i, line in enumerate(text.splitlines()) if re.search(rf" {op}:", line)]
    assert len(updates) == 3  # two large weights, the rest together
    assert updates[0] < len(text.splitlines()) - 4
    assert low or report["copies"] == 0
    wanted = train(make, interpreted=True, low=low)
    assert wanted[0] == losses
    assert len(wanted[1]) == len(kept)
    for a, b in zip(kept, wanted[1]):
        assert a.tobytes() == b.tobytes()


def test_what_is_clipped_together_is_updated_together():
    _, _, _, text = train(sgd, clip=nn.ClipGradByGlobalNorm(0.5))
    clipped = text.index("clip_by_global_norm")
    assert all(m.start() > clipped for m in re.finditer(" sgd_:", text))
