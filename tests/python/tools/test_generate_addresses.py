"""The tool that lists where Paddle has the objects of Argosy, on addresses made up for it."""

import importlib.util
import pathlib
import sys
import types

import pytest

import argosy

FILE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "generate_addresses.py"
spec = importlib.util.spec_from_file_location("generate_addresses", FILE)
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


def address(path, public=False, is_module=False):
    module, _, name = path.rpartition(".")
    return {"module": module, "name": name, "public": public, "is_module": is_module}


def at(*paths, public=()):
    return [address(path, path in public) for path in paths]


def test_the_home_of_an_object_is_its_public_name():
    of = at(
        "paddle.nowhere.relu", "paddle.nn.functional.relu", public={"paddle.nn.functional.relu"}
    )
    assert tool.rows([of])[0] == [("argosy.nowhere", "relu", "argosy.nn.functional", "relu")]
    # Without a public name that is here: an address that is.
    of = at("paddle.nowhere.fn", "paddle.nn.clip.ClipGradBase", "paddle.fn", public={"paddle.fn"})
    row = ("argosy.nowhere", "fn", "argosy.nn.clip", "ClipGradBase")
    assert row in tool.rows([of])[0]
    assert tool.rows([at("paddle.nowhere.one", "paddle.nowhere.two")]) == ([], [])


def test_of_two_spellings_the_one_that_the_module_uses():
    both = {"paddle.mod", "paddle.floor_mod"}
    of = at("paddle.nowhere.mod", "paddle.nowhere.floor_mod", *both, public=both)
    assert argosy.mod is not argosy.floor_mod
    assert tool.rows([of])[0] == [
        ("argosy.nowhere", "mod", "argosy", "mod"),
        ("argosy.nowhere", "floor_mod", "argosy", "floor_mod"),
    ]


def test_methods_are_homes_only():
    of = at("paddle.nowhere.f") + [{**address("paddle.f", True), "name": "Tensor.lerp_"}]
    assert tool.rows([of])[0] == [("argosy.nowhere", "f", "argosy", "Tensor.lerp_")]


def test_modules_are_objects_too(monkeypatch):
    of = [address(f"paddle.nowhere.{name}", is_module=True) for name in ("F", "functional")]
    of += [address("paddle.nn.functional", True, is_module=True)]
    assert tool.rows([of])[0] == [
        ("argosy.nowhere", "F", "argosy.nn", "functional"),
        ("argosy.nowhere", "functional", "argosy.nn", "functional"),
    ]
    # A module is not found for a function, nor a function for a module.
    assert tool.rows([at("paddle.nowhere.f", "paddle.nn.functional")]) == ([], [])
    of = [address("paddle.nowhere.f", is_module=True), address("paddle.add", is_module=True)]
    assert tool.rows([of]) == ([], [])
    # Nor is one for a module that some module of ours has by that name.
    monkeypatch.setattr(argosy.nn.clip, "nearby", argosy.nn, raising=False)
    of = [address(f"paddle.{path}.nearby", is_module=True) for path in ("nowhere", "nn.clip")]
    assert tool.rows([of]) == ([], [])


def test_another_object_is_left_out():
    of = at("paddle.compat.split", "paddle.split", public={"paddle.split"})
    assert tool.rows([of]) == ([], ["paddle.compat.split is not paddle.split"])


def test_modules_in_the_place_of_a_lacking_object_are_left_out():
    rows = [
        ("argosy.nn.lacks", "Layer", "argosy.nn", "Layer"),
        ("argosy.nn.lacks.below", "Layer", "argosy.nn", "Layer"),
        ("argosy.nn.lacks_not", "Layer", "argosy.nn", "Layer"),
        ("argosy.nn.clip", "Layer", "argosy.nn", "Layer"),
        ("argosy.nn.new", "Layer", "argosy.nn", "Layer"),
        ("argosy.nn", "new", "argosy.nn", "Layer"),
    ]
    shadowed = ["paddle.nn.lacks", "paddle.nn.clip", "paddle.nn.new"]
    assert tool.without_lacking(rows, shadowed) == rows[2:]


def test_the_file_is_what_is_read(tmp_path, monkeypatch):
    from argosy import _addresses

    rows = [
        ("argosy.tensor.deep.math", "add", "argosy", "add"),
        ("argosy.tensor.deep.math", "relu", "argosy.nn.functional", "relu"),
        ("argosy.tensor.deep.math", "plus", "argosy", "add"),
        ("argosy.tensor", "relu", "argosy.nn.functional", "relu"),
    ]
    text = tool.text(rows, {"argosy.tensor", "argosy.tensor.deep.math"})
    listed = dict(line.partition("\t")[::2] for line in text.splitlines())
    monkeypatch.setattr(_addresses, "_LIST", listed)
    _addresses.names.cache_clear()
    try:
        found = [
            (path, name, *home)
            for path in _addresses.modules()
            for name, home in _addresses.names(path).items()
        ]
        assert sorted(found) == sorted(rows)
        assert _addresses.modules() == sorted(_addresses.modules())
        assert _addresses.modules_in("argosy") == ["tensor"]
        assert _addresses.modules_in("argosy.tensor") == ["deep"]
        assert _addresses.modules_in("argosy.tensor.deep") == ["math"]
        assert _addresses.modules_in("argosy.tensor.deep.math") == []
        starred = [path for path in _addresses.modules() if _addresses.is_starred(path)]
        assert starred == ["argosy.tensor", "argosy.tensor.deep.math"]
    finally:
        _addresses.names.cache_clear()


@pytest.fixture
def paddle(monkeypatch):
    """A package that makes functions of its own, and one that a package and a module share."""

    def module(path, **names):
        made = types.ModuleType(path)
        vars(made).update(names)
        monkeypatch.setitem(sys.modules, path, made)
        return made

    def shared():
        pass

    def alone():
        pass

    shared.__module__ = alone.__module__ = "paddle.inner"
    root = module("paddle", __version__="9.9", __path__=[], shared=shared, len=len, inner=shared)
    root.Tensor = type("Tensor", (), {"method": alone, "__module__": "paddle"})
    inner = module("paddle.inner", shared=shared, alone=alone, _left=alone, types=types)
    module("paddle.other", part=inner, paddle=root)
    return root


def test_what_is_collected(paddle, capsys):
    tool.collect()
    found = tool.json.loads(capsys.readouterr().out)
    assert found["version"] == "9.9"
    names = [sorted(tool.label(address) for address in of) for of in found["objects"]]
    assert sorted(names) == [
        ["paddle.Tensor"],
        ["paddle.Tensor.method", "paddle.inner.alone"],
        ["paddle.inner", "paddle.inner.shared", "paddle.shared"],
        ["paddle.other.part"],
    ]
    public = {tool.label(a) for of in found["objects"] for a in of if a["public"]}
    assert {"paddle.shared", "paddle.Tensor.method"} <= public
    assert "paddle.inner.shared" not in public
    modules = {tool.label(a) for of in found["objects"] for a in of if a["is_module"]}
    assert modules == {"paddle.other.part"}
    assert found["shadowed"] == ["paddle.inner"] and "paddle.inner" in found["starred"]
