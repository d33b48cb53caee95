"""Checkpoints of jobs: any number of processes reads what another number saved."""

import os
import subprocess
import sys

import pytest
from tests.python.distributed.ranks import run as ranks

import argosy as paddle

pytestmark = pytest.mark.timeout(300)


def well(started):
    for rank in started:
        assert "all is well" in rank.text


@pytest.mark.parametrize(
    "way, saving, loading",
    [("", 3, 2), ("", 2, 1), ("tcp", 2, 3), ("tcp", 5, 2), ("tcp", 2, 4), ("hosts", 4, 5)],
)
def test_other_numbers_of_processes(tmp_path, way, saving, loading):
    """hosts: two processes on each, by memory there and TCP between them."""

    def each(rank):
        if way == "hosts":
            return {"ARGOSY_COMM_HOST": f"host{rank // 2}", "PADDLE_NNODES": "2"}
        return {"ARGOSY_COMM_ENGINE": way}

    well(ranks.run("checkpoints", saving, "save", str(tmp_path), each=each, limit=200))
    names = [f"{r}_{n}.distcp" for r in range(saving) for n in range(2)]
    assert sorted(os.listdir(tmp_path)) == sorted([*names, "0.metadata", "1.metadata"])
    well(ranks.run("checkpoints", loading, "load", str(tmp_path), each=each, limit=200))


@pytest.mark.parametrize("count", [1, 2])
def test_what_is_wrong_in_one_process_is_told_to_all(tmp_path, count):
    well(ranks.run("checkpoints", 2, "save", str(tmp_path), limit=120))
    well(ranks.run("checkpoints", count, "refused", str(tmp_path), limit=120))


def test_a_process_that_dies_while_it_saves(tmp_path):
    """The job gets an error, and the checkpoint before is the newest."""
    well(ranks.run("checkpoints", 2, "save", str(tmp_path), limit=120))
    first, last = ranks.finish(ranks.start("checkpoints", 2, "dies", str(tmp_path)), 120)
    assert (first.code, last.code) == (0, -9) and "lost" in first.text, first.text + last.text
    assert (tmp_path / "1_2.distcp").exists() and not (tmp_path / "2.metadata").exists()
    well(ranks.run("checkpoints", 1, "load", str(tmp_path), limit=120))


def test_tensors_are_saved_once(tmp_path):
    """By who has least to save."""
    from argosy.distributed.checkpoint import _owners

    forms = {(name,): ((size,), "float32", 4 * size) for name, size in zip("abcd", (5, 4, 2, 1))}
    assert _owners("", [forms, forms]) == {("a",): 0, ("b",): 1, ("c",): 1, ("d",): 0}
    assert _owners("", [{}, forms, {("a",): forms[("a",)]}])[("a",)] == 1


def test_files_that_are_no_checkpoint(tmp_path):
    state = {"w": paddle.ones([2])}
    with pytest.raises(
        ValueError, match=r"expected a folder with checkpoint N \(a file N.metadata\)"
    ):
        paddle.distributed.load_state_dict(state, str(tmp_path))
    paddle.distributed.save_state_dict(state, str(tmp_path))
    with pytest.raises(ValueError, match="expected a folder with checkpoint 4"):
        paddle.distributed.load_state_dict(state, str(tmp_path), unique_id=4)
    with pytest.raises(ValueError, match="unique_id: expected a number from 0 on, got 'x'"):
        paddle.distributed.load_merged_state_dict(str(tmp_path), unique_id="x")
    with pytest.raises(ValueError, match=r"w: expected int64 \[2\], got float32 \[2\]"):
        paddle.distributed.load_state_dict({"w": paddle.ones([2], "int64")}, str(tmp_path))
    with pytest.raises(TypeError, match="expected names that are texts, got 3"):
        paddle.distributed.save_state_dict({3: state["w"]}, str(tmp_path))
    paddle.save({"v": state["w"]}, str(tmp_path / "0_0.distcp"))
    with pytest.raises(ValueError, match="0_0.distcp lacks w: it is of another checkpoint"):
        paddle.distributed.load_state_dict(state, str(tmp_path))
    for text in (
        "",
        "[]",
        '{"format": "other"}',
        '{"format": "argosy checkpoint 1", "entries": 3}',
    ):
        (tmp_path / "0.metadata").write_text(text)
        with pytest.raises(ValueError, match="expected what save_state_dict of Argosy wrote"):
            paddle.distributed.load_state_dict(state, str(tmp_path))


@pytest.mark.parametrize("name", ["async_save", "safetensors", "save_replicas"])
def test_what_is_not_supported(tmp_path, name):
    with pytest.raises(NotImplementedError, match=f"{name} is not supported"):
        paddle.distributed.save_state_dict({}, str(tmp_path), **{name: True})


@pytest.mark.parametrize("dies_at", [0, 1])
def test_a_job_that_dies_while_it_writes_over_a_checkpoint(tmp_path, dies_at):
    """The checkpoint is the old one, whole, until it is the new one."""
    program = """
import os, sys
import argosy as paddle
import argosy.distributed as dist
from argosy.distributed import checkpoint

folder, dies_at = sys.argv[1], int(sys.argv[2])
big, small = paddle.zeros([4]), paddle.zeros([1])
dist.save_state_dict({"big": big, "small": small}, folder, unique_id=3)
calls = []
whole = checkpoint._on_all


def on_all(what, group, write):
    if len(calls) == dies_at:  # before the metadata, after the share; or when all is done
        os._exit(7)
    calls.append(1)
    return whole(what, group, write)


write = checkpoint.io.save
if dies_at == 0:
    checkpoint.io.save = lambda *args: (write(*args), os._exit(7))
else:
    checkpoint._on_all = on_all
dist.save_state_dict({"big": big + 1, "small": small + 1}, folder, unique_id=3)
"""
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path), str(dies_at)], check=False)
    assert done.returncode == 7
    state = {"big": paddle.ones([4]), "small": paddle.ones([1])}
    paddle.distributed.load_state_dict(state, str(tmp_path))
    assert state["big"].tolist() == [0] * 4 and state["small"].tolist() == [0]
    for salt in (1, 2, 3):
        state = {"big": paddle.full([4], salt), "small": paddle.full([1], salt)}
        paddle.distributed.save_state_dict(state, str(tmp_path), unique_id=3)
        found = paddle.distributed.load_merged_state_dict(str(tmp_path), unique_id=3)
        assert found["big"].tolist() == [salt] * 4 and found["small"].tolist() == [salt]
        assert len(os.listdir(tmp_path)) == 2
