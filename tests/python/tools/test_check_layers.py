"""The check of who includes whom: a made-up tree with each fault is refused."""

import importlib.util
import pathlib

import pytest

FILE = pathlib.Path(__file__).resolve().parents[3] / "tools" / "check_layers.py"
spec = importlib.util.spec_from_file_location("check_layers", FILE)
layers = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layers)


@pytest.fixture
def check(tmp_path, monkeypatch):
    """problems of one file of src/argosy with these lines."""
    monkeypatch.setattr(layers, "ROOT", tmp_path)

    def run(path, *lines):
        path = pathlib.Path("src/argosy") / path
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("\n".join(lines))
        return list(layers.problems_of_file(path))

    return run


def include(path):
    return f'#include "argosy/{path}"'


@pytest.mark.parametrize(
    "file, included",
    [
        ("runtime/a.cc", "tensor/b.h"),
        ("ps/a.cc", "op/b.h"),
        ("ps/ops/a.cc", "ps/remote.h"),
        ("ps/table/a.cc", "ps/key.h"),
        ("ps/service/a.cc", "ps/table/b.h"),
        ("ps/mode/a.cc", "ps/service/b.h"),
        ("serve/a.cc", "ps/mode/b.h"),
    ],
)
def test_looking_up_is_fine(check, file, included):
    assert check(file, include(included)) == []


@pytest.mark.parametrize(
    "file, included, problem",
    [
        ("tensor/a.cc", "runtime/b.h", "below it"),
        ("data/a.cc", "program/b.h", "do not know each other"),
        ("runtime/a.cc", "ps/table/b.h", "below it"),
        ("ps/a.cc", "ps/table/b.h", "below it"),
        ("ps/a.cc", "ps/ops/b.h", "below it"),
        ("ps/table/a.cc", "ps/service/b.h", "below it"),
        ("ps/service/a.cc", "ps/mode/b.h", "below it"),
        ("ps/mode/a.cc", "ps/ops/b.h", "do not know each other"),
        ("infer/a.cc", "ps/table/b.h", "do not know each other"),
        ("ps/table/a.cc", "ps/elsewhere/b.h", "no room"),
        ("tensor/a.cc", "elsewhere/b.h", "no room"),
    ],
)
def test_looking_down_and_at_strangers_is_refused(check, file, included, problem):
    found = check(file, "// A comment.", include(included))
    assert len(found) == 1 and problem in found[0]
    assert found[0].startswith(f"src/argosy/{file}:2: ")


@pytest.mark.parametrize("file", ["elsewhere/a.cc", "ps/elsewhere/a.cc"])
def test_every_folder_is_a_room(check, file):
    assert "is not listed in ROOMS" in check(file)[0]


def test_headers_show_no_third_party(check):
    assert (
        "shows rocksdb/db.h" in check("ps/table/a.h", "#pragma once", "#include <rocksdb/db.h>")[0]
    )


def test_what_stands_behind_a_header_is_included_through_it(check):
    line = "#include <nlohmann/json.hpp>"
    assert "is behind src/argosy/base/json.h" in check("ps/a.cc", line)[0]
    assert check("base/json.h", "#pragma once", line) == []
