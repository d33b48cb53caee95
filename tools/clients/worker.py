"""Trains a model with `import paddle`: worker.py PACKAGE MODEL STEPS WEIGHTS draw|load DTYPE

`draw` writes the weights that the model begins with, `load` reads them. Lines that begin with ## are
the steps: loss and seconds. A file of a package has REQUIREMENTS, MODELS and

    job(paddle, model, dtype) -> (layer, loss, learning_rate)

where loss(i) is the loss of batch i, a scalar tensor. The layer is made in float32 and cast to
dtype, which is that of floating point data and the default dtype then.
"""

import importlib.util
import json
import pathlib
import sys
import time

import numpy as np


def package(name):
    """The file of that name beside this one, though the package that it speaks of has it, too."""
    path = pathlib.Path(__file__).resolve().with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(f"client_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(name, model, steps, weights, how, dtype):
    here = str(pathlib.Path(__file__).resolve().parent)
    sys.path[:] = [path for path in sys.path if path != here]
    client = package(name)
    import paddle

    paddle.seed(1)
    np.random.seed(1)
    layer, loss, rate = client.job(paddle, model, dtype)
    layer.to(dtype=dtype)
    paddle.set_default_dtype(dtype)
    state = layer.state_dict()
    if how == "draw":
        np.savez(weights, **{key: value.numpy() for key, value in state.items()})
    else:
        given = np.load(weights)
        missing = set(given) ^ set(state)
        if missing:
            raise SystemExit(f"the model has other weights than in Paddle: {sorted(missing)[:5]}")
        layer.set_state_dict(
            {k: paddle.to_tensor(given[k].astype(state[k].numpy().dtype)) for k in given}
        )
    layer.train()
    parameters = [p for p in layer.parameters() if not p.stop_gradient]
    optimizer = paddle.optimizer.Momentum(rate, 0.9, parameters=parameters)
    for step in range(int(steps)):
        begin = time.perf_counter()
        value = loss(step)
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        number = float(value)
        print(
            "##" + json.dumps({"loss": number, "seconds": time.perf_counter() - begin}), flush=True
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
