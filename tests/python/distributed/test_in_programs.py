"""Collectives and data parallelism in captured and static Programs."""

import pytest
from tests.python.distributed.ranks import run as ranks


@pytest.mark.parametrize("count", [1, 2, 3])
def test_collectives_are_operations_of_programs(count):
    for rank in ranks.run("in_programs", count, limit=500):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [1, 2, 3])
@pytest.mark.parametrize("way", ["eager", "to_static", "compile_step", "static", "fleet"])
def test_processes_train_a_program_as_one(way, count):
    for rank in ranks.run("trains_in_programs", count, way, "float64", limit=500):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [2, 3])
def test_parts_of_a_gradient_in_a_captured_step(count):
    environ = {"ARGOSY_COMM_ENGINE": "tcp", "PARTS": "1"}
    arguments = ("compile_step", "float64")
    for rank in ranks.run("trains_in_programs", count, *arguments, environ=environ, limit=180):
        assert "all is well" in rank.text


@pytest.mark.parametrize(
    "way, precision", [("compile_step", "float32"), ("fleet", "float32"), ("fleet", "float16")]
)
def test_losses_are_those_of_one_process(way, precision):
    for rank in ranks.run("trains_in_programs", 2, way, precision, limit=500):
        assert "all is well" in rank.text


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize(
    "way, error",
    [
        ("killed", "RankLostError"),
        ("leaves", "RankLostError"),
        ("late", "CommunicationTimeout"),
        ("differ", "RanksDisagreeError"),
    ],
)
def test_a_captured_step_fails_on_all(way, error, count, tmp_path):
    limit = {"ARGOSY_COMM_TIMEOUT": "10"} if way == "late" else {}
    started = ranks.start("program_fails", count, way, str(tmp_path), environ=limit)
    for number, rank in enumerate(ranks.finish(started)):
        if number == count - 1 and way in ("killed", "leaves"):
            assert rank.code == (-9 if way == "killed" else 0)
            continue
        assert rank.code == 3, f"rank {number} ended with {rank.code}:\n{rank.text}"
        assert f"{error}: " in rank.text, rank.text


def test_collectives_are_in_the_profilers_trace():
    for rank in ranks.run("profiled", 2):
        assert "all is well" in rank.text
