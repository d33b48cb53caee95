"""`argosy show`: files and objects are printed, costed, drawn, and rewritten by passes."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.cli import main
from argosy.static.nn.control_flow import cond


def program():
    layer = argosy.nn.Linear(20, 5)
    with Recorder() as r:
        x = r.input([-1, 20], "float32")
        y = layer(x)
        twice = (y * 1.0 + 0.0, y * 1.0)
        z = cond(y.sum() > 0, lambda: twice[0], lambda: twice[1].tanh())
        table = argosy.matmul(z, argosy.randn([5, 300]))
    _core.program_add_output(r._program, "z <&>", table)
    return r._program


@pytest.fixture
def saved(tmp_path):
    prefix = str(tmp_path / "model")
    _core.program_save(program(), prefix, None)
    return prefix


def show(capsys, *arguments):
    code = main(["show", *map(str, arguments)])
    out, err = capsys.readouterr()
    assert code == 0, err
    return out


def test_saved_model(saved, capsys):
    text = _core.program_print(_core.program_load(saved)[0])
    out = show(capsys, saved)
    assert out.startswith(text) and out == show(capsys, f"{saved}.argosy")
    assert show(capsys, saved, "--text") == text
    cost = show(capsys, saved, "--cost", "--size", 8)
    rows = dict(re.findall(r"^(\w+) +(.*)$", cost, re.M))
    # linear: 8 x 20 by 20 x 5, and the bias; its parameters; arrays read and made
    assert rows["linear"].split() == [
        "1",
        "1.64K",
        f"{4 * (160 + 100 + 5 + 40) / 1000:.3g}K",
        "105",
    ]
    assert rows["matmul"].split()[1] == "24K"
    assert rows["all"].split()[-1] == "105"
    assert "sizes not known count as 8" in cost and "both branches" in cost


def test_text_file(saved, tmp_path, capsys):
    text = show(capsys, saved, "--text")
    path = tmp_path / "model.txt"
    path.write_text(text)
    assert show(capsys, path, "--text") == text
    path.write_text(text.replace("linear(", "linea("))
    assert main(["show", str(path)]) == 1
    assert re.search(r"line \d+, column \d+", capsys.readouterr().err)


def test_passes(saved, capsys):
    out = show(capsys, saved, "--passes")
    assert re.search(r"^pass \w+: \d+ -> \d+ operations$", out, re.M)
    assert re.search(r"^-  .*scale\(|^-  .*multiply\(", out, re.M)
    one = show(capsys, saved, "--passes", "dead_code")
    assert "pass dead_code" in one
    assert main(["show", saved, "--passes", "no_such"]) == 1
    assert "no_such" in capsys.readouterr().err


def test_dot(saved, tmp_path, capsys):
    out = show(capsys, saved, "--dot")
    nodes = set(re.findall(r"^  (n\d+) \[label=", out, re.M))
    edges = re.findall(r"^  (n\d+) -> (n\d+) \[", out, re.M)
    assert out.startswith("digraph ") and out.rstrip().endswith("}")
    assert len(edges) >= 12 and {n for e in edges for n in e} <= nodes
    assert 'label="then"' in out and 'label="output z <&>"' in out
    path = tmp_path / "out.dot"
    assert show(capsys, saved, "--dot", "-o", path) == ""
    assert path.read_text() == out


def test_html(saved, capsys):
    out = show(capsys, saved, "--html", "--passes")

    class Check(HTMLParser):
        open, texts = [], []

        def handle_starttag(self, tag, attributes):
            for name, value in attributes:
                assert name not in ("src", "href"), "the page must stand alone"
            if tag != "meta":
                self.open.append(tag)

        def handle_endtag(self, tag):
            assert self.open.pop() == tag

        def handle_startendtag(self, tag, attributes):
            pass

        def handle_data(self, data):
            self.texts.append(data)

    check = Check()
    check.feed(out)
    assert check.open == []
    assert "output z <&>" in check.texts and "http" not in out
    assert '<span class="minus">' in out


MODULE = """
import argosy
from argosy import static

argosy.enable_static()
main, startup = static.Program(), static.Program()
with static.program_guard(main, startup):
    y = static.nn.fc(static.data("x", [-1, 4]), 3)
argosy.disable_static()
number = 3


@argosy.jit.to_static(input_spec=[static.InputSpec([None, 4], "float32", name="inp")])
def captured(x):
    return x.exp() if x.sum() > 0 else x


class Net(argosy.nn.Layer):
    def forward(self, x):
        return x.tanh()


layer = argosy.jit.to_static(Net(), input_spec=[static.InputSpec([2], "float32")])
"""


def test_python_objects(tmp_path, monkeypatch, capsys):
    (tmp_path / "shown_module.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    out = show(capsys, "shown_module:main")
    assert 'input %0 "x" : float32[?, 4]' in out
    out = show(capsys, "shown_module:captured", "--text")
    assert 'input %0 "inp" : float32[?, 4]' in out and "exp(" in out and "output" in out
    assert "tanh(" in show(capsys, "shown_module:layer")
    assert main(["show", "shown_module:number"]) == 1
    assert "to_static" in capsys.readouterr().err
    assert main(["show", "shown_module:absent"]) == 1
    assert main(["show", "no_such_module_at_all:x"]) == 1
    assert main(["show", "no/such/file"]) == 1
    assert "no/such/file" in capsys.readouterr().err


def test_not_a_program(tmp_path, capsys):
    path = tmp_path / "x.bin"
    np.arange(10).tofile(path)
    assert main(["show", str(path)]) == 1
    path.write_bytes(b"\xff\xfe")
    assert main(["show", str(path)]) == 1
    assert "neither" in capsys.readouterr().err
