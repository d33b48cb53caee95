"""What modules say they export is there, once; modules of layers export all their layers."""

import importlib
import inspect
import pathlib
import re

import pytest

import argosy
from argosy import nn

ROOT = pathlib.Path(argosy.__file__).parent


def listing_modules():
    """Names of the modules that have a list of exports."""
    for path in sorted(ROOT.rglob("*.py")):
        if "_generated" not in path.parts and re.search(r"^__all__\b", path.read_text(), re.M):
            parts = path.relative_to(ROOT.parent).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def problems(module):
    names = list(module.__all__)
    for name in sorted(set(names)):
        if not isinstance(name, str) or not hasattr(module, name):
            yield f"{module.__name__} exports {name!r}, which it does not have"
        if names.count(name) > 1:
            yield f"{module.__name__} exports {name!r} {names.count(name)} times"


def test_exports_exist_and_are_named_once():
    modules = [importlib.import_module(name) for name in listing_modules()]
    assert len(modules) > 200
    assert not [problem for module in modules for problem in problems(module)]


def test_problems_are_found():
    module = type(inspect)("made")
    module.__all__ = ["here", "gone", "here"]
    module.here = 1
    assert list(problems(module)) == [
        "made exports 'gone', which it does not have",
        "made exports 'here' 2 times",
    ]


LAYER_MODULES = [
    m for m in vars(nn.layer).values() if inspect.ismodule(m) and hasattr(m, "__all__")
]


@pytest.mark.parametrize("module", LAYER_MODULES, ids=lambda module: module.__name__)
def test_modules_of_layers_export_all_of_them(module):
    bases = {"RNNBase"}  # for other layers, not for programs
    layers = {
        name
        for name, value in vars(module).items()
        if inspect.isclass(value)
        and issubclass(value, nn.Layer)
        and value.__module__ in (module.__name__, "argosy.nn.layer.pad")
        and not name.startswith("_")
    }
    assert layers - bases == set(module.__all__)
