"""Saving on another thread."""

import collections
import io
import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import argosy
from argosy.framework import async_io


def test_what_is_saved_is_what_was(tmp_path):
    layer = argosy.nn.Linear(64, 64)
    before = layer.weight.numpy().copy()
    state = layer.state_dict()
    state["nested"] = {"list": [layer.bias, 3, "text"], "none": None}
    path = str(tmp_path / "folder" / "model.pdparams")
    assert argosy.async_save(state, path) is None
    with argosy.no_grad():
        layer.weight.zero_()
    argosy.clear_async_save_task_queue()
    loaded = argosy.load(path)
    assert (loaded["weight"].numpy() == before).all()
    assert loaded["nested"]["list"][1:] == [3, "text"] and loaded["nested"]["none"] is None
    layer.set_state_dict(loaded)
    assert (layer.weight.numpy() == before).all()


def test_of_two_saves_to_one_path_the_later_one_stays(tmp_path, monkeypatch):
    path, written = str(tmp_path / "model.pdparams"), []

    def slow_at_first(obj, path, protocol):
        time.sleep(0 if written else 0.5)
        argosy.save(obj, path, protocol)
        written.append(obj["step"])

    monkeypatch.setattr(async_io, "save", slow_at_first)
    for step in range(3):
        argosy.async_save({"step": step}, path)
    argosy.clear_async_save_task_queue()
    assert written == [0, 1, 2] and argosy.load(path)["step"] == 2


class Settings(dict):
    """Its constructor takes something else than dict's."""

    def __init__(self, number, **values):
        super().__init__(**values)
        self.number = number


class Pairs(list):
    def __init__(self, first, second):
        super().__init__([first, second])


Named = collections.namedtuple("Named", ["x", "y"])


def test_classes_of_users_are_copied_without_their_constructors(tmp_path):
    path, x = str(tmp_path / "x"), argosy.ones([2])
    state = collections.defaultdict(list, {"a": x})
    for value in (
        state,
        Settings(3, a=x),
        collections.OrderedDict(a=x),
        {"a": x, "more": [Settings(1, b=x), Pairs(x, 2), Named(x, 3), collections.deque([1])]},
    ):
        x.set_value(argosy.ones([2]))
        argosy.save(value, path)
        saved_at_once = type(argosy.load(path, allow="anything"))  # state dicts become plain ones
        argosy.async_save(value, path)
        x.zero_()
        argosy.clear_async_save_task_queue()
        loaded = argosy.load(path, allow="anything")
        assert type(loaded) is saved_at_once and loaded["a"].tolist() == [1.0, 1.0]
    settings, pairs, named, rest = loaded["more"]
    assert settings.number == 1 and settings["b"].tolist() == [1.0, 1.0]
    assert type(pairs) is Pairs and pairs[0].tolist() == [1.0, 1.0] and pairs[1] == 2
    assert type(named) is Named and named.y == 3
    assert named.x[1].tolist() == [1.0, 1.0]  # load leaves tensors in such tuples as (name, array)
    assert list(rest) == [1]
    assert state["new"] == []  # the caller's own


def test_many_at_once_are_all_there(tmp_path):
    for k in range(12):
        argosy.async_save(
            {"k": argosy.full([100], k)}, str(tmp_path / str(k)), sync_other_task=k == 6
        )
    memory = io.BytesIO()
    argosy.async_save({"k": argosy.ones([2])}, memory)
    argosy.clear_async_save_task_queue()
    for k in range(12):
        assert argosy.load(str(tmp_path / str(k)))["k"][99].item() == k
    memory.seek(0)
    assert argosy.load(memory)["k"].tolist() == [1.0, 1.0]


def test_a_failure_is_raised_to_who_waits(tmp_path, caplog):
    with pytest.raises(TypeError, match="expected a dict such as layer.state_dict()"):
        argosy.async_save(argosy.ones([2]), str(tmp_path / "a"))
    (tmp_path / "file").write_text("")
    argosy.async_save({}, str(tmp_path / "file" / "below"))
    argosy.async_save({"a": argosy.ones([2])}, str(tmp_path / "good"))
    with pytest.raises(OSError):
        argosy.clear_async_save_task_queue()
    assert "was not written" in caplog.text
    assert argosy.load(str(tmp_path / "good"))["a"].tolist() == [1.0, 1.0]
    argosy.clear_async_save_task_queue()  # told once


def test_a_program_that_ends_waits_for_its_files(tmp_path):
    path = str(tmp_path / "last")
    program = f"""
        import argosy
        argosy.async_save({{"a": argosy.ones([1000, 1000])}}, {path!r})
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], check=True, timeout=300, env=os.environ
    )
    assert argosy.load(path)["a"].sum().item() == 1e6


class Run:
    def __init__(self):
        self.losses = [1.0]


def test_all_that_may_change_is_as_it_was(tmp_path, monkeypatch):
    """Arrays, sets and objects of users, too: the writer begins after the program has gone on."""
    path, goes_on = str(tmp_path / "state"), threading.Event()

    def waits(*args, **kwargs):
        assert goes_on.wait(60)
        argosy.save(*args, **kwargs)

    monkeypatch.setattr(async_io, "save", waits)
    array, seen, run = np.ones([4], "float32"), {1}, Run()
    state = {"array": array, "seen": seen, "nested": [{"array": array}], "run": run}
    argosy.async_save(state, path)
    array[:] = 7
    seen.add(2)
    run.losses.append(0.5)
    goes_on.set()
    argosy.clear_async_save_task_queue()
    loaded = argosy.load(path, allow=[Run], return_numpy=True)
    assert loaded["array"].tolist() == [1] * 4 and loaded["seen"] == {1}
    assert loaded["nested"][0]["array"].tolist() == [1] * 4 and loaded["run"].losses == [1.0]


def test_what_is_there_twice_or_inside_of_itself_is_so_in_the_file(tmp_path):
    layer = argosy.nn.Linear(2, 2)
    state = {"a": layer.weight, "tied": layer.weight}
    argosy.async_save(state, str(tmp_path / "tied"))
    state = {"list": [1]}
    state["list"].append(state)
    argosy.async_save(state, str(tmp_path / "cycle"))
    argosy.clear_async_save_task_queue()
    loaded = argosy.load(str(tmp_path / "tied"))
    assert loaded["a"] is loaded["tied"]
    loaded = argosy.load(str(tmp_path / "cycle"))
    assert loaded["list"][1] is loaded
