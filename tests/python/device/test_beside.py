"""Functions make what they need on the place of their operands, whatever the caller's place is: examples of
docstrings, where tensors and layers are made on one place and functions are called on another."""

import contextlib
import functools
import inspect
import io
import re
import types
from doctest import DocTestParser

import numpy as np
import pytest
from tests.docs import examples
from tests.python.device.where import FIRST

import argosy
from argosy import nn

pytestmark = [pytest.mark.adds_device(unless="gpu"), pytest.mark.usefixtures("streamed")]

PARTS = 4
# Examples that choose the place by themselves, make tensors by a function that is given none, or keep something
# for the rest of the process.
OTHERS = re.compile(
    r"spawn|subprocess|enable_static|set_device|set_default|program_guard|static\.|amp\.|jit\."
    r"|inference|distributed|hapi|asp\.|create_dct|dlpack|set_flags|Model\(|argosy\.device|argosy\.cuda|profiler"
)


def makes_new(function):
    """Whether it gives tensors that are not computed of others."""
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    if getattr(function, "__name__", "") in ("to_tensor", "assign", "load", "create_parameter"):
        return True
    return "device" in names and not {"x", "input"} & set(names)


def at(place, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with argosy.device_guard(place):
            return function(*args, **kwargs)

    return call


class Seen:
    """A module whose functions are called on one place, and make new tensors on another."""

    def __init__(self, module, called, made):
        self._seen = module, called, made

    def __getattr__(self, name):
        module, called, made = self._seen
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            return Seen(value, called, made)
        if isinstance(value, type) or not callable(value):
            return value
        return at(made if makes_new(value) else called, value)


@functools.cache
def every():
    return [e for e in examples.of_docstrings() if not OTHERS.search(e.text + e.name)]


def problem(example, called, made):
    """What tells that the places do not fit, "" if nothing does."""
    argosy.device.set_device(made)  # of objects
    names = {"argosy": Seen(argosy, called, made), "np": np, "__name__": "__main__"}
    parts = DocTestParser().get_examples(example.text)
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for part in parts:
            try:
                exec(compile(part.source, example.name, "single"), names)
            except Exception as error:
                if not part.exc_msg:
                    return f"{example.name}: {type(error).__name__}: {error}"
    if any(part.exc_msg for part in parts):  # which a GPU raises where the host waits next
        with contextlib.suppress(IndexError, ValueError):
            argosy.device.synchronize(FIRST)
    return ""


@pytest.fixture
def forward_elsewhere(monkeypatch):
    """Layers are called, and distributions asked, on the place that the test gives."""

    def change(place):
        monkeypatch.setattr(nn.Layer, "__call__", at(place, nn.Layer.__call__))
        for kind in vars(argosy.distribution).values():
            if isinstance(kind, type) and issubclass(kind, argosy.distribution.Distribution):
                for name in ("sample", "rsample", "log_prob", "entropy", "cdf", "icdf"):
                    if name in vars(kind):
                        monkeypatch.setattr(kind, name, at(place, vars(kind)[name]))

    return change


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("called", "made"), [("cpu", FIRST), (FIRST, "cpu")])
def test_examples(called, made, part, forward_elsewhere):
    forward_elsewhere(called)
    found = [problem(example, called, made) for example in every()[part::PARTS]]
    assert not any(found), "\n".join(filter(None, found))


def test_there_are_examples():
    assert len(every()) > 600


def test_numbers_alone_are_where_new_tensors_are(streamed):
    """And beside a tensor, also in a list, where that is."""
    here = argosy.device.device_to_place(FIRST)
    assert argosy.bitwise_not(-3).place == argosy.add(2, 3).place == here
    assert argosy.exp(np.zeros(2, "float32")).place == here
    there = argosy.ones([], device="cpu")
    assert argosy.stack([there, 1.0]).place == (there + 1.0).place == argosy.CPUPlace()
    argosy.device.set_device("cpu")
    assert argosy.stack([argosy.ones([], device=FIRST), 1.0]).place == here
    assert argosy.stack([1.0, 2.0]).place == argosy.CPUPlace()


def test_numbers_alone_in_a_captured_function():
    def function(a):
        return argosy.bitwise_not_(-65536) // 2 + a

    a = argosy.to_tensor([3.0, -1.0])
    captured = argosy.jit.to_static(function, full_graph=True)
    for _ in range(3):
        assert captured(a).tolist() == function(a).tolist() == [32770.0, 32766.0]


class _Two(argosy.autograd.PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, first, second):
        return first * 2 + second * 3


@pytest.mark.parametrize("function", [_Two.apply, argosy.jit.to_static(lambda x: (x * 2, x * 3))])
def test_gradients_that_did_not_arrive(function):
    x = argosy.ones([2], requires_grad=True)
    with argosy.device_guard("cpu"):
        function(x)[0].sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and x.grad.place == x.place


def test_a_step_that_is_given_nothing():
    net, x = nn.Linear(2, 2), argosy.ones([3, 2])
    sgd = argosy.optimizer.SGD(0.1, parameters=net.parameters())
    step = argosy.jit.compile_step(lambda: (net(x) ** 2).mean(), None, sgd)
    with argosy.device_guard("cpu"):
        losses = [step().item() for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


@pytest.mark.parametrize("averages", [False, True])
def test_states_that_are_loaded(averages):
    with argosy.device_guard("cpu"):
        net = nn.Linear(2, 2)
        if averages:
            kept = argosy.incubate.ModelAverage(0.5, net.parameters(), 2, 4)
        else:
            sgd = argosy.optimizer.SGD(0.1, parameters=net.parameters())
            kept = argosy.incubate.LookAhead(sgd, k=1)
        net(argosy.ones([1, 2])).sum().backward()
        kept.step()
    kept.set_state_dict(kept.state_dict())  # on another device
    kept.step()
    if averages:
        kept.apply(need_restore=False)
    assert net.weight.place == argosy.CPUPlace()
