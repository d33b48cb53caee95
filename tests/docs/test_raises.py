"""Calls that raise what the docstring of the name that is called says under Raises: raises.txt has the
error and the call, one a line."""

import ast
import builtins
import inspect
import pathlib
import re

import numpy as np
import pytest

import argosy
from argosy import incubate, nn, ones, to_tensor

CASES = [
    line.split(None, 1)
    for line in (pathlib.Path(__file__).parent / "raises.txt").read_text().splitlines()
]


@pytest.fixture
def names(tmp_path):
    """What the calls name."""
    layer = nn.Linear(1, 1)
    sgd = argosy.optimizer.SGD(0.1, parameters=layer.parameters())
    optimized_model = argosy.Model(layer)
    optimized_model.prepare(sgd)
    return {
        "F": nn.functional,
        "argosy": argosy,
        "empty_folder": str(tmp_path),
        "image": np.zeros([4, 4, 3], "uint8"),
        "incubate": incubate,
        "model": argosy.Model(nn.Linear(1, 1)),
        "nn": nn,
        "normalized": nn.utils.weight_norm(nn.Linear(2, 2)),
        "np": np,
        "ones": ones,
        "optimized_model": optimized_model,
        "parameter": argosy.create_parameter([2, 3, 2], "float32"),
        "sgd": sgd,
        "square": lambda x: x * x,
        "to_tensor": to_tensor,
        "vt": argosy.vision.transforms,
    }


def described(call):
    """The name whose docstring speaks of a call; of a layer's call it is the layer's class."""
    func = ast.parse(call, mode="eval").body.func
    if isinstance(func, ast.Attribute) and func.attr == "__enter__":
        return described(ast.unparse(func.value))
    return described(ast.unparse(func)) if isinstance(func, ast.Call) else ast.unparse(func)


@pytest.mark.parametrize(("kind", "call"), CASES, ids=[call for _, call in CASES])
def test_what_is_promised_is_raised(kind, call, names):
    text = inspect.getdoc(eval(described(call), names))
    promised = re.split(r"^(?:Paper|Examples):", text.partition("\nRaises:\n")[2], flags=re.M)[0]
    assert f"{kind}:" in promised
    with pytest.raises(getattr(builtins, kind)):
        eval(call, names)


def test_there_are_cases_of_many_names():
    assert len({described(call) for _, call in CASES}) > 200
