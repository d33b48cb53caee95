"""What workloads need of each framework: fixed weights, threads, names.

A workload file has `goal` (ratio to torch that the project aims at), `about`, and a function for
each framework: `torch(t)` and `paddle(p)`, which also serves Argosy, since the names are the same.
Each gives a `Work`.
"""

import os

import numpy as np

THREADS = int(os.environ.get("ARGOSY_BENCH_THREADS", "2"))


class Work:
    """One workload, built in one framework.

    Args:
        step (callable): does the work once.
        results (callable): arrays that must agree among frameworks, computed from fixed inputs.
        count (int): how many operations one step is; times are reported for one.
    """

    def __init__(self, step, results, count=1):
        self.step = step
        self.results = results
        self.count = count


def start(name):
    """Import a framework, set its number of threads, and return its module."""
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "ARGOSY_NUM_THREADS"):
        os.environ[variable] = str(THREADS)
    if name == "torch":
        import torch

        torch.set_num_threads(THREADS)
        return torch
    if name == "paddle":
        import paddle

        return paddle
    import argosy

    return argosy


def values(*shape, seed=0):
    """float32 values in [-1, 1), the same in every framework."""
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def classes(count, limit, seed=0):
    """int64 class numbers in [0, limit)."""
    return np.random.RandomState(seed).randint(0, limit, count).astype(np.int64)


def fill(parameters):
    """Give parameters fixed values; a parameter is (array in Paddle's layout -> None) and a shape.

    Values are small enough for deep networks: scaled by the square root of the inputs of a unit.
    """
    for seed, (assign, shape) in enumerate(parameters):
        inputs = np.prod(shape[1:]) if len(shape) > 2 else shape[0]
        assign(values(*shape, seed=seed) / np.sqrt(inputs).astype(np.float32))


def fill_paddle(layer):
    """Fill weights and biases of a Paddle or Argosy layer; normalization keeps its values."""
    fill([(p.set_value, list(p.shape)) for p in layer.parameters() if _is_filled(p)])


def _is_filled(parameter):
    return not parameter.stop_gradient and len(parameter.shape) > 1


def fill_torch(torch, module):
    """Fill a torch module with the values that `fill_paddle` gives the same layer of Paddle."""
    linear = {id(m.weight) for m in module.modules() if isinstance(m, torch.nn.Linear)}

    def assign_to(parameter):
        def assign(array):
            array = array.T if id(parameter) in linear else array
            with torch.no_grad():
                parameter.copy_(torch.from_numpy(np.ascontiguousarray(array)))

        return assign

    filled = []
    for parameter in module.parameters():
        if parameter.dim() > 1:
            shape = list(parameter.shape)
            shape = shape[::-1] if id(parameter) in linear else shape
            filled.append((assign_to(parameter), shape))
    fill(filled)
    for name, parameter in module.named_parameters():
        if parameter.dim() == 1 and "bias" in name:
            torch.nn.init.zeros_(parameter)


def train_paddle(p, layer, optimizer, loss):
    """(step, results) of a training step in Paddle or Argosy: `loss()` gives a 0-d tensor."""

    def step():
        value = loss()
        value.backward()
        optimizer.step()
        optimizer.clear_grad()
        return value

    return Work(step, lambda: [np.array([float(step()) for _ in range(3)])])


def train_captured(p, layer, optimizer, *batch):
    """(step, results) of a training step on (input, classes) captured as one Program."""
    compiled = p.jit.compile_step(layer, p.nn.functional.cross_entropy, optimizer)

    def step():
        return compiled(*batch)

    return Work(step, lambda: [np.array([float(step()) for _ in range(3)])])


def train_torch(torch, module, optimizer, loss):
    """(step, results) of a training step in torch."""

    def step():
        optimizer.zero_grad()
        value = loss()
        value.backward()
        optimizer.step()
        return value

    return Work(step, lambda: [np.array([float(step()) for _ in range(3)])])


def perceptron(sizes, batch, rule, rate, captured=False):
    """`paddle` and `torch` of a workload: a training step of linear layers with ReLU between them.

    sizes: features of the input and of each layer's output. rule: the optimizer's name. captured:
    the step of Argosy is one Program, beside torch's eager one.
    """

    def layers(nn):
        for number, pair in enumerate(zip(sizes, sizes[1:])):
            if number:
                yield nn.ReLU()
            yield nn.Linear(*pair)

    def paddle(p):
        layer = p.nn.Sequential(*layers(p.nn))
        fill_paddle(layer)
        optimizer = getattr(p.optimizer, rule)(learning_rate=rate, parameters=layer.parameters())
        x, y = p.to_tensor(values(batch, sizes[0])), p.to_tensor(classes(batch, sizes[-1]))
        if captured:
            return train_captured(p, layer, optimizer, x, y)
        return train_paddle(p, layer, optimizer, lambda: p.nn.functional.cross_entropy(layer(x), y))

    def torch(t):
        module = t.nn.Sequential(*layers(t.nn))
        fill_torch(t, module)
        optimizer = getattr(t.optim, rule)(module.parameters(), lr=rate)
        x, y = t.from_numpy(values(batch, sizes[0])), t.from_numpy(classes(batch, sizes[-1]))
        loss = t.nn.functional.cross_entropy
        return train_torch(t, module, optimizer, lambda: loss(module(x), y))

    return paddle, torch
