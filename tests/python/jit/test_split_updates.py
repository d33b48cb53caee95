"""split_updates: large parameters are updated where their gradient is made, to the same bits."""

import re

import numpy as np
import pytest

import argosy as paddle
from argosy import _core, nn


def train(make, steps=3, clip=None, interpreted=False):
    """(losses, parameters and state after some steps, the plan's report, its steps)

    interpreted: by the reference interpreter, which runs the Program as it was recorded.
    """
    paddle.seed(3)
    rng = np.random.RandomState(0)
    model = nn.Sequential(nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 300), nn.Linear(300, 3))
    optimizer = make(model.parameters(), clip)
    step = paddle.jit.compile_step(model, nn.CrossEntropyLoss(), optimizer)
    x = paddle.to_tensor(rng.standard_normal((4, 300)).astype("float32"))
    y = paddle.to_tensor(rng.randint(0, 3, 4))
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
    kept = [p.numpy() for p in model.parameters()]
    kept += [v.numpy() for v in optimizer.state_dict().values() if isinstance(v, paddle.Tensor)]
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


@pytest.mark.parametrize("make, op", [(sgd, "sgd_"), (adamw, "adam_")])
def test_each_large_parameter_is_updated_early_and_results_are_the_same_bits(make, op):
    losses, kept, report, text = train(make)
    updates = [i for i, line in enumerate(text.splitlines()) if re.search(rf" {op}:", line)]
    assert len(updates) == 3  # two large weights, the rest together
    assert updates[0] < len(text.splitlines()) - 4
    assert report["copies"] == 0
    wanted = train(make, interpreted=True)
    assert wanted[0] == losses
    assert len(wanted[1]) == len(kept)
    for a, b in zip(kept, wanted[1]):
        assert a.tobytes() == b.tobytes()


def test_what_is_clipped_together_is_updated_together():
    _, _, _, text = train(sgd, clip=nn.ClipGradByGlobalNorm(0.5))
    clipped = text.index("clip_by_global_norm")
    assert all(m.start() > clipped for m in re.finditer(" sgd_:", text))
