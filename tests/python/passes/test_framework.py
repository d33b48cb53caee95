"""Registry, pipelines, reports, switching off, bisecting, and the page that lists the passes."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
from tests.python.passes.helpers import Recorded, body, ops

import argosy
from argosy import _core, passes

ROOT = pathlib.Path(__file__).resolve().parents[3]
X = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)


def negated_twice():
    with Recorded() as r:
        x = r.input(X)
        r.fetch(-(-x) * 2.0)
    return r


def test_each_pass_says_what_it_preserves():
    for p in passes.table():
        assert len(p["doc"]) > 60, p["name"]
        assert p["rounding"] in ("kept", "changed", "meaning")
        assert pathlib.Path(p["file"]).name == p["name"] + ".cc"


def test_pipelines_name_passes():
    known = passes.names()
    for name, listed in passes.pipelines().items():
        assert listed and set(listed) <= set(known), name
    rounding = {p["name"]: p["rounding"] for p in passes.table()}
    for name in ("default", "train", "inference"):
        assert all(rounding[p] == "kept" for p in passes.pipelines()[name])


def test_reports_and_texts():
    r = negated_twice()
    rewritten = r.rewrite(["algebraic", "cse"], texts=True)
    first, second = rewritten.reports
    assert first["name"] == "algebraic" and first["changed"]
    assert (first["operations_before"], first["operations_after"]) == (3, 2)
    assert "negative" in first["before"] and first["before"].count("negative") == 2
    assert first["after"].count("negative") == 1
    assert first["seconds"] >= 0
    assert not second["changed"] and second["before"] == ""


def test_unknown_names_are_told():
    r = negated_twice()
    with pytest.raises(ValueError, match=r"no pass 'nope'. Do this: use one of algebraic, "):
        r.rewrite(["nope"])
    with pytest.raises(ValueError, match="no pipeline 'nope'"):
        passes.rewrite(r.program, [], "nope")
    with pytest.raises(ValueError, match="must be a whole number, got 'many'"):
        r.rewrite(["constant_folding"], **{"constant_folding.limit": "many"})


def test_passes_are_switched_by_the_environment():
    program = (
        "from tests.python.passes.test_framework import negated_twice\n"
        "print([p['name'] for p in negated_twice().rewrite('train').reports])\n"
    )
    got = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "ARGOSY_PASSES": "-algebraic,+remat", "PYTHONPATH": str(ROOT)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    names = [p for p in passes.pipelines()["train"] if p != "algebraic"] + ["remat"]
    assert got.strip() == str(names)


def test_bisect_finds_the_pass_that_changes_a_result():
    argosy.seed(3)
    with Recorded() as r:
        x = r.input(X)
        r.fetch(argosy.nn.functional.dropout(-(-x) * 1.5, 0.5), x + 1)
    names = ["algebraic", "cse", "dropout_removal", "dead_code"]
    found = passes.bisect(r.program, r.feeds, r.outputs, names)
    assert found["pass"] == "dropout_removal" and found["difference"] > 0.1
    assert "dropout_bits" in found["before"] and "dropout_bits" not in found["after"]
    assert passes.bisect(r.program, r.feeds, r.outputs, ["algebraic", "cse"]) is None


def test_the_command_bisect(tmp_path, capsys):
    from argosy.cli import main

    layer = argosy.nn.Sequential(argosy.nn.Linear(3, 3), argosy.nn.Dropout(0.5))
    with Recorded() as r:
        r.fetch(layer(r.input(X)))
    whole = r.rewrite([]).program
    path = tmp_path / "model.argosy"
    path.write_bytes(_core.program_to_bytes(whole))
    assert main(["bisect", str(path)]) == 0
    assert "no pass of constant_folding, " in capsys.readouterr().out
    assert main(["bisect", str(path), "--passes", "cse,dropout_removal"]) == 1
    out = capsys.readouterr().out
    assert "dropout_removal changes a result by" in out and "-  %" in out
    assert main(["bisect", str(path), "--passes", "nope"]) == 2
    assert "no pass 'nope'" in capsys.readouterr().err


def test_bisect_puts_state_back():
    w = argosy.to_tensor(X)
    w.persistable = True
    with Recorded() as r:
        x = r.input(X)
        w.set_value(w + x)
        r.fetch(w * 2)
    assert passes.bisect(r.program, r.feeds, r.outputs) is None
    np.testing.assert_array_equal(w.numpy(), X)


def test_a_program_is_rewritten_as_a_copy():
    r = negated_twice()
    before = body(r)
    assert ops(r.rewrite("train")) == ["multiply"]
    assert body(r) == before


def test_the_page_lists_all_passes():
    page = (ROOT / "docs" / "passes.md").read_text()
    for p in passes.table():
        assert f"| `{p['name']}` | {p['rounding']} | {p['doc']} |" in page, p["name"]
    for name, listed in passes.pipelines().items():
        assert f"| `{name}` | {', '.join(listed)} |" in page, name
