"""The check that ops are asked, not named."""

import importlib.util
import pathlib

import pytest

from argosy import _core

ROOT = pathlib.Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_file_location("check_op_names", ROOT / "tools/check_op_names.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)

OPS = """
#define FAMILY(name, Attrs) ARGOSY_OP(name, Attrs).done(); \\
  ARGOSY_OP(name##_like, Attrs).done()
FAMILY(fill, FillAttrs);
ARGOSY_OP(stir, NoAttrs).doc("stir").done();
static const auto poured = OpBuilder<NoAttrs>("pour", __FILE__).done();
"""


@pytest.fixture
def tree(tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "OTHER_WORDS", {})

    def write(**files):
        for name, text in {"ops/kitchen.cc": OPS, **files}.items():
            path = tmp_path / "src/argosy" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return [p.partition(";")[0] for p in tool.problems(tmp_path)]

    return write


def test_all_ops_are_known():
    ours = {op["name"] for op in _core.registry() if "src/argosy/" in op["file"]}
    assert tool.names_of_ops(ROOT) == ours


def test_this_tree_passes():
    assert list(tool.problems(ROOT)) == []


@pytest.mark.parametrize("name", ["fill", "fill_like", "stir", "pour"])
def test_a_name_is_refused(tree, name):
    text = f'// "stir"\nbool easy(const Operation& o) {{ return o.op->name == "{name}"; }}\n'
    assert tree(**{"passes/easy.cc": text}) == [f"src/argosy/passes/easy.cc:2: names the op {name}"]


def test_names_have_homes(tree):
    for home in ("ops/other.cc", "passes/rules/stirring.cc", "op/names.h", "kernels/cpu/stir.cc"):
        assert tree(**{home: 'const char* name = "stir";\n'}) == []
    assert tree(**{"runtime/plan.cc": 'auto other = "stirred";\n'}) == []


def test_exceptions_do_not_outlive_their_reason(tree, monkeypatch):
    monkeypatch.setattr(tool, "OTHER_WORDS", {"data/parser.cc": {"pour": "a column"}})
    assert tree(**{"data/parser.cc": 'auto column = "pour";\n'}) == []
    (stale,) = tree(**{"data/parser.cc": "\n"})
    assert "data/parser.cc has no 'pour' any more" in stale
