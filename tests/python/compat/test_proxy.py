"""`import torch` that gives this package."""

import sys
import types
import warnings

import pytest

import argosy


@pytest.fixture(autouse=True)
def ended():
    if "torch" in sys.modules:
        pytest.skip("the real one is loaded")
    yield
    argosy.disable_compat()


def imported(package, text):
    """The names that code of a package has after it ran."""
    scope = {"__name__": package}
    exec(text, scope)
    return types.SimpleNamespace(**scope)


def test_names_are_ours_and_those_of_compat_come_first():
    argosy.enable_compat()
    got = imported(
        "a.b", "import torch, torch.nn.functional as F\nfrom torch import nn\nx = torch.ones([2])"
    )
    assert got.torch.sin is argosy.sin and got.F.relu is argosy.nn.functional.relu
    assert got.torch.sort is argosy.compat.sort and got.nn.Linear is argosy.compat.nn.Linear
    assert got.torch.nn is got.nn and isinstance(got.x, argosy.Tensor)
    with pytest.raises(ModuleNotFoundError):
        imported("a", "import torch.nothing")
    with pytest.raises(AttributeError):
        got.torch.nothing
    assert argosy.__name__ == "argosy" and argosy.nn.__spec__.name == "argosy.nn"


def test_it_ends():
    argosy.enable_compat()
    imported("a", "import torch.nn")
    argosy.disable_compat()
    argosy.disable_compat()
    assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]


def test_scopes():
    argosy.enable_compat(scope={"mine"}, blocked_modules="mine.inner")
    assert imported("mine.part", "import torch").torch.abs is argosy.abs
    argosy.disable_compat()
    argosy.enable_compat(scope={"mine"}, blocked_modules="mine.inner")
    for package in ("other", "mine.inner", "mine.inner.x", "minefield"):
        try:
            assert not hasattr(imported(package, "import torch").torch, "_sources")  # a real one
        except ModuleNotFoundError:
            pass


def test_wrong_and_repeated_calls():
    with pytest.raises(AssertionError, match="Unsupported backend: jax"):
        argosy.enable_compat(backend="jax")
    with pytest.raises(TypeError, match="expected names of modules, got 3"):
        argosy.enable_compat(scope=3)
    argosy.enable_compat(scope="a")
    with pytest.warns(UserWarning, match="another scope was in force"):
        argosy.enable_compat(scope="b")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        argosy.enable_compat(scope="c", silent=True)
