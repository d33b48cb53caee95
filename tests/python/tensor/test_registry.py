"""The table of Tensor's methods has each name once, and says where it is defined."""

import importlib

import pytest

import argosy
from argosy.tensor import registry


def _table():
    table = registry.MethodTable()
    table.add("sorted", print, "room.search")
    table.add("absolute", "abs", "argosy._generated.tensor")
    return table


def test_a_duplicate_is_refused_and_both_places_are_named():
    with pytest.raises(TypeError, match=r"Tensor.sorted\].*room.search and in room.other"):
        _table().add("sorted", len, "room.other")


def test_a_generated_name_is_taken_only_by_who_says_so():
    table = _table()
    with pytest.raises(TypeError, match=r"twice: in argosy._generated.tensor and in room.math"):
        table.add("absolute", len, "room.math")
    table.add("absolute", len, "room.math", replaces="argosy._generated")
    entry = table.entries["absolute"]
    assert (entry.load(), entry.module, entry.replaces) == (len, "room.math", "argosy._generated")


@pytest.mark.parametrize("name", ["absent", "sorted"])
def test_replacing_what_is_not_there_is_refused(name):
    with pytest.raises(TypeError, match="correct replaces"):
        _table().add(name, len, "room.other", replaces="argosy._generated")


def test_the_package_itself_refuses_a_made_up_duplicate(monkeypatch):
    monkeypatch.setattr(registry.TABLE, "installed", False)
    for name in ("item", "reshape", "abs", "shape"):
        twice = rf"Tensor.{name}\] is defined twice: in argosy.* and in {__name__}\."
        with pytest.raises(TypeError, match=twice):
            registry.method(lambda self: None, name)


def test_after_the_installation_nothing_is_added():
    table = _table()
    cls = type("Plain", (), {})
    table.install(cls)
    assert cls.sorted is print and cls.absolute is argosy.abs
    with pytest.raises(TypeError, match="installed already"):
        table.add("late", len, "room.other")
    with pytest.raises(TypeError, match="installed already"):
        registry.method(lambda self: None, "late")
    assert not hasattr(argosy.Tensor, "late")


def test_tensor_has_what_the_table_says():
    for name, entry in registry.TABLE.entries.items():
        found = vars(argosy.Tensor)[name]
        if entry.module == "argosy._core":
            assert found is entry.value
            continue
        assert found is entry.load(), name
        importlib.import_module(entry.module)


def test_nobody_else_gives_tensor_attributes():
    """All rooms are imported: what Tensor has is the table's, and what Python gives every class."""
    for room in ("static", "sparse", "nn", "jit", "distributed", "incubate", "hapi", "compat"):
        importlib.import_module(f"argosy.{room}")
    assert set(vars(argosy.Tensor)) <= set(registry.TABLE.entries)


def test_what_replaces_an_op_or_an_attribute_is_known():
    replacing = {n for n, e in registry.TABLE.entries.items() if e.replaces is not None}
    shapes = {"expand", "reshape", "reshape_", "tile", "transpose", "transpose_"}
    indices = {"gather", "index_select", "scatter", "scatter_"}
    assert replacing == {"clip_", "cumsum_", "scale"} | shapes | indices


def test_what_only_values_of_programs_have():
    x = argosy.ones([2])
    assert x.grad_name.endswith("@GRAD") and x.is_parameter is False
    assert argosy.create_parameter([1], "float32").is_parameter is True
    assert not hasattr(x, "append") and not hasattr(x, "lod_level")
    with pytest.raises(AttributeError, match="only variables of a Program"):
        x.to_string()
    assert argosy.static.Variable.set_value is argosy.Tensor.set_value
