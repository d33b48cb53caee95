"""The counter of instructions: how it reads what callgrind writes, and that it counts the same twice."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[3] / "benchmarks" / "instructions.py"

DUMP = """\
version: 1
creator: callgrind
pid: 1
desc: Trigger: Client Request: add_one 2 100
positions: line
events: Ir

ob=(1) /lib/libargosy.so
fl=(1) ???
fn=(1) dispatch
0 1200
cfn=(2) run
calls=100 0
0 5000
0 300
cob=(2) /usr/bin/python3
cfn=(3) eval
calls=1 0
0 77

fn=(2)
0 4000
fi=(2) inlined.h
0 500

ob=(2)
fn=(3)
0 9000

totals: 15000
"""


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("instructions", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_costs_are_each_functions_own(script):
    trigger, costs = script.read_dump(DUMP)
    assert trigger == "add_one 2 100"
    assert costs == {
        ("/lib/libargosy.so", "dispatch"): 1500,
        ("/lib/libargosy.so", "run"): 4500,
        ("/usr/bin/python3", "eval"): 9000,
    }
    figures = script.figures([costs, costs])
    assert figures == {"all": 15000, "own": 6000, "scatter": 0}


def test_unknown_workloads_are_named():
    out = subprocess.run(
        [sys.executable, str(SCRIPT), "sort"], capture_output=True, text=True, timeout=500
    )
    assert out.returncode == 2 and "unknown: sort; there are add_one" in out.stderr


@pytest.mark.skipif(not shutil.which("valgrind"), reason="needs valgrind")
def test_an_addition_takes_the_same_instructions_each_time(tmp_path):
    kept = tmp_path / "counted.json"
    out = subprocess.run(
        [sys.executable, str(SCRIPT), "add_one", "--json", str(kept)],
        capture_output=True,
        text=True,
        timeout=580,
    )
    assert out.returncode == 0, out.stderr
    counted = json.loads(kept.read_text())["add_one"]
    assert 100 < counted["own"] < counted["all"] < 20_000
    assert counted["scatter"] < 0.01 * counted["own"]
