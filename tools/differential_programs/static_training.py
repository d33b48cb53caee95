"""Static Programs: layers, schedulers, clipping, clones for testing, control flow, saving in all forms."""

import os
import tempfile

import numpy as np
import paddle
from paddle import static

paddle.enable_static()
rng = np.random.RandomState(4)
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup), paddle.utils.unique_name.guard():
    image = static.data("image", [None, 1, 8, 8], "float32")
    label = static.data("label", [None, 1], "int64")
    constant = paddle.ParamAttr(initializer=paddle.nn.initializer.Constant(0.05))
    hidden = paddle.nn.Conv2D(1, 4, 3, padding=1, weight_attr=constant)(image)
    hidden = paddle.nn.functional.max_pool2d(paddle.nn.functional.relu(hidden), 2, 2)
    hidden = static.nn.fc(
        hidden,
        8,
        weight_attr=paddle.ParamAttr(
            name="w",
            initializer=paddle.nn.initializer.Assign(rng.randn(64, 8).astype("float32") * 0.1),
        ),
        activation="tanh",
    )
    logits = static.nn.fc(
        hidden,
        3,
        weight_attr=paddle.ParamAttr(
            name="out", initializer=paddle.nn.initializer.Assign(rng.randn(8, 3).astype("float32"))
        ),
        bias_attr=False,
    )
    loss = paddle.mean(paddle.nn.functional.cross_entropy(logits, label))
    accuracy = static.accuracy(paddle.nn.functional.softmax(logits), label)
    rate = paddle.optimizer.lr.PiecewiseDecay([3, 6], [0.1, 0.05, 0.01])
    optimizer = paddle.optimizer.Momentum(
        rate, 0.9, grad_clip=paddle.nn.ClipGradByNorm(0.5), weight_decay=1e-3
    )
    optimizer.minimize(loss)
executor = static.Executor(paddle.CPUPlace())
executor.run(startup)


def batch(count=6):
    return {
        "image": rng.randn(count, 1, 8, 8).astype("float32"),
        "label": rng.randint(0, 3, (count, 1)).astype("int64"),
    }


for step in range(8):
    value, right = executor.run(main, feed=batch(6 if step % 2 else 4), fetch_list=[loss, accuracy])
    rate.step()
    show("step", [value, right, rate.get_lr()])
probe = batch(3)


def outputs(feed):
    """Without a step: a part of the Program alone."""
    return executor.run(normal, feed={"image": feed["image"]}, fetch_list=normal_outputs)


normal, _, normal_outputs = None, None, None
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "forward")
    static.save_inference_model(path, [image], [logits], executor, program=main)
    normal, _, normal_outputs = static.load_inference_model(path, executor)
show("test", outputs(probe))
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model")
    static.save(main, path)
    show("files", len(os.listdir(folder)) > 1)
    scope = static.global_scope()
    weight = np.array(scope.find_var("w").get_tensor())
    show("weight", weight)
    scope.find_var("w").get_tensor().set(np.zeros_like(weight), paddle.CPUPlace())
    show("zeroed", outputs(probe))
    static.load(main, path, executor)
    show("loaded", outputs(probe))
    state = static.load_program_state(path)
    show("names", sorted(name for name in state if name in ("w", "out")))
    static.set_program_state(main, {"w": np.ones_like(weight) * 0.01})
    show("set", outputs(probe))
    static.save_inference_model(path + "_infer", [image], [logits], executor, program=main)
    program, feeds, fetches = static.load_inference_model(path + "_infer", executor)
    show("feeds", feeds)
    show("infer", executor.run(program, feed={feeds[0]: probe["image"]}, fetch_list=fetches))

second, first = static.Program(), static.Program()
with static.program_guard(second, first):
    x = static.data("x", [3], "float32")
    x.stop_gradient = False
    i = paddle.full([1], 0, "int64")

    def body(i, y):
        return i + 1, y * 1.5 + x

    count, found = static.nn.while_loop(lambda i, y: i < 4, body, [i, x * 2])
    branch = static.nn.cond(x.sum() > 0, lambda: (x * 3, x.sum()), lambda: (x - 1, x.max()))
    case = static.nn.switch_case(
        paddle.full([1], 1, "int32"), {0: lambda: x, 1: lambda: x * x}, default=lambda: -x
    )
    one = static.nn.case([(x.min() > 5, lambda: x + 100)], default=lambda: x / 2)
    slopes = static.gradients([branch[0].sum() + case.sum()], [x])
for value in ([1.0, 2, 3], [-1.0, -2, 0.5]):
    got = executor.run(
        second,
        feed={"x": np.array(value, "float32")},
        fetch_list=[count, found, *branch, case, one, *slopes],
    )
    show("control", got)
paddle.disable_static()
