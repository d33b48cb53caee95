"""Files that belong together are replaced together, and what killed writers left harms nobody."""

import contextlib
import io
import os
import pathlib
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import traceback

import numpy as np
import pytest

import argosy
from argosy import inference, jit, nn, optimizer, static
from argosy.framework import atomic_file
from argosy.framework.atomic_file import atomic_writer, is_leftover


@contextlib.contextmanager
def files_of_at_most(size):
    """Who writes more into one file gets an OSError, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# Processes of containers have the same number each time: it says nothing of who wrote a file.
KILLED = """
import os, signal, sys
number, os.getpid = os.getpid(), lambda: 7
from argosy.framework import atomic_file
with atomic_file.atomic_writer(sys.argv[1]) as file:
    file.write(b"half of it")
    file.flush()
    if sys.argv[2] == "killed":
        os.kill(number, signal.SIGKILL)
"""


def test_a_killed_writer_of_the_same_number_harms_nobody(tmp_path):
    path = tmp_path / "model.pdparams"
    path.write_bytes(b"old")
    for how, status in (("killed", -signal.SIGKILL),) * 3 + (("ended", 0),):
        done = subprocess.run([sys.executable, "-c", KILLED, str(path), how], check=False)
        assert done.returncode == status
        assert len(os.listdir(tmp_path)) == 1 + (how == "killed")
    assert contents(tmp_path) == {"model.pdparams": b"half of it"}


def test_a_writer_that_lives_is_left_alone(tmp_path):
    path = tmp_path / "x"
    with atomic_writer(path) as first:
        with atomic_writer(path) as second:
            second.write(b"second")
        assert path.read_bytes() == b"second" and len(os.listdir(tmp_path)) == 2
        first.write(b"first")
    assert contents(tmp_path) == {"x": b"first"}


def test_names_as_long_as_the_file_system_takes(tmp_path):
    for name in ("x" * 255, "ö" * 127):
        with atomic_writer(tmp_path / name) as file:
            file.write(b"1")
        argosy.save({"a": 1}, tmp_path / name)
        assert argosy.load(tmp_path / name) == {"a": 1}
    assert len(os.listdir(tmp_path)) == 2


def test_a_folder_is_no_target(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder: expected a file"):
        argosy.save({"a": 1}, tmp_path)
    assert os.listdir(tmp_path) == []


def test_a_pipe_is_no_source(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="is a pipe: expected a file"):
        argosy.load(tmp_path / "pipe")


def test_model_and_optimizer_are_saved_both_or_neither(tmp_path):
    model = argosy.Model(nn.Linear(10, 10))
    adam = optimizer.Adam(0.1, parameters=model.parameters())
    model.prepare(adam, nn.MSELoss())
    x = np.ones([2, 10], "float32")
    model.train_batch([x], [x])
    model.save(str(tmp_path / "m"))
    before = contents(tmp_path)
    assert len(before["m.pdparams"]) < 1000 < len(before["m.pdopt"])
    model.train_batch([x], [x])
    with files_of_at_most(1000), pytest.raises(OSError, match="File too large"):
        model.save(str(tmp_path / "m"))
    assert contents(tmp_path) == before
    model.save(str(tmp_path / "m"))
    assert set(contents(tmp_path)) == set(before) and contents(tmp_path) != before


@pytest.mark.parametrize("first_save", [False, True])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError], ids=["ctrl-c", "error"])
@pytest.mark.parametrize("fails_at", [0, 1, 2])
def test_what_fails_between_two_renames_replaces_none(
    tmp_path, monkeypatch, first_save, error, fails_at
):
    """Ctrl-C comes right behind a rename, an error in its place."""
    paths = [tmp_path / name for name in ("a", "b", "c")]
    if not first_save:
        for path in paths:
            path.write_bytes(b"old")
    before, rename, count = contents(tmp_path), os.replace, []

    def fails(source, target):
        count.append(target)
        at_this_one = len(count) == fails_at + 1
        if not (at_this_one and error is OSError):
            rename(source, target)
        if at_this_one:
            raise error("rename")

    with monkeypatch.context() as patch, pytest.raises(error):
        patch.setattr(os, "replace", fails)
        with atomic_file.atomic_writers(*paths) as files:
            for file in files:
                file.write(b"new")
    assert contents(tmp_path) == before
    with atomic_file.atomic_writers(*paths) as files:
        for file in files:
            file.write(b"new")
    assert contents(tmp_path) == dict.fromkeys("abc", b"new")


def test_the_parts_of_a_static_model_are_saved_all_or_none(tmp_path):
    argosy.enable_static()
    try:
        main, startup = static.Program(), static.Program()
        with static.program_guard(main, startup):
            x = static.data("x", [None, 3], "float32")
            y = static.nn.fc(x, 1)
            loss = y.mean()
            optimizer.Adam(0.1).minimize(loss)
        exe = static.Executor()
        exe.run(startup)
        static.save(main, str(tmp_path / "m"))
        static.save_inference_model(str(tmp_path / "i"), [x], [y], exe)
        feed = {"x": np.ones([2, 3], "float32")}
        exe.run(main, feed=feed, fetch_list=[loss])
        for name, save in (
            ("m", lambda: static.save(main, str(tmp_path / "m"))),
            ("i", lambda: static.save_inference_model(str(tmp_path / "i"), [x], [y], exe)),
        ):
            before = contents(tmp_path)
            # The Program, which comes last, does not fit any more.
            limit = len(before[name + ".pdmodel"]) - 1
            values = [n for n in before if n.startswith(name + ".") and not n.endswith("model")]
            assert all(len(before[n]) < limit for n in values)
            with files_of_at_most(limit), pytest.raises(OSError, match="File too large"):
                save()
            assert contents(tmp_path) == before
            save()
            assert all(contents(tmp_path)[n] != before[n] for n in values)
    finally:
        argosy.disable_static()


def test_the_parts_of_a_captured_model_are_saved_both_or_neither(tmp_path):
    layer, path = nn.Linear(1, 1), str(tmp_path / "m")
    spec = [static.InputSpec([None, 1], "float32")]
    for format, program in (("argosy", "m.argosy"), ("paddle", "m.json")):
        jit.save(layer, path, spec, format=format)
        before = contents(tmp_path)
        values = "m.safetensors" if format == "argosy" else "m.pdiparams"
        assert len(before[values]) < len(before[program]) - 1
        layer.weight.set_value(layer.weight + 1)
        with (
            files_of_at_most(len(before[program]) - 1),
            pytest.raises((OSError, RuntimeError), match="File too large"),
        ):
            jit.save(layer, path, spec, format=format)
        assert contents(tmp_path) == before
        jit.save(layer, path, spec, format=format)
        assert contents(tmp_path)[values] != before[values]


def test_links_and_permissions_of_captured_models_stay(tmp_path):
    layer, path = nn.Linear(1, 1), str(tmp_path / "m")
    spec = [static.InputSpec([None, 1], "float32")]
    real = tmp_path / "elsewhere"
    (tmp_path / "m.safetensors").symlink_to(real)
    jit.save(layer, path, spec)
    real.chmod(0o600)
    layer.weight.set_value(layer.weight + 1)
    jit.save(layer, path, spec)
    assert (tmp_path / "m.safetensors").is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    x = argosy.ones([2, 1])
    np.testing.assert_array_equal(jit.load(path)(x).numpy(), layer(x).numpy())


def test_a_folder_of_variables_is_read_without_what_a_killed_writer_left(tmp_path):
    for name in ("a", "b"):
        argosy.save(argosy.ones([2]), tmp_path / name)
    left = tmp_path / ".a.tmp-0123456789abcdef"
    left.write_bytes(b"half of it")
    assert is_leftover(left.name) and not is_leftover("a") and not is_leftover(".a.tmp-x")
    assert sorted(static.load_program_state(str(tmp_path))) == ["a", "b"]
    argosy.save(argosy.ones([2]), tmp_path / "a")
    assert not left.exists()


@pytest.mark.skipif(not os.path.isdir("/dev/shm"), reason="no second file system")
def test_a_converted_model_may_lie_on_two_file_systems(tmp_path):
    net = nn.Sequential(nn.Linear(4, 4), nn.Softmax())
    jit.save(net, str(tmp_path / "m"), [static.InputSpec([None, 4], "float32")])
    values = f"/dev/shm/argosy-test-{os.getpid()}/half.safetensors"
    try:
        inference.convert_to_mixed_precision(
            str(tmp_path / "m.argosy"), str(tmp_path / "m.safetensors"),
            str(tmp_path / "half.argosy"), values, inference.PrecisionType.Bfloat16,
            inference.PlaceType.CPU,
        )  # fmt: skip
        assert os.listdir(os.path.dirname(values)) == ["half.safetensors"]
        assert sorted(os.listdir(tmp_path)) == ["half.argosy", "m.argosy", "m.safetensors"]
        config = inference.Config(str(tmp_path / "half.argosy"), values)
        predictor = inference.create_predictor(config)
        assert predictor.run([np.ones([2, 4], "float32")])[0].shape == [2, 4]
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.remove(values)
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(os.path.dirname(values))


def test_many_savers_of_one_file(tmp_path):
    program = textwrap.dedent(
        """
        import sys
        import argosy
        for i in range(20):
            argosy.save({"w": argosy.full([5000], float(sys.argv[2]))}, sys.argv[1])
        """
    )
    path = tmp_path / "m.pdparams"
    argosy.save({"w": argosy.zeros([5000])}, path)
    savers = [
        subprocess.Popen([sys.executable, "-c", program, str(path), str(i)]) for i in range(3)
    ]
    while any(saver.poll() is None for saver in savers):
        values = argosy.load(path, return_numpy=True)["w"]
        assert (values == values[0]).all()
    assert [saver.returncode for saver in savers] == [0, 0, 0]
    assert os.listdir(tmp_path) == ["m.pdparams"]


@pytest.mark.parametrize("how", ["save", "jit"])
def test_new_folders_are_synced_with_those_above(tmp_path, monkeypatch, how):
    """What a save returned from is there after a loss of power, with the path that leads to it."""
    synced, fsync = set(), os.fsync

    def noted(descriptor):
        synced.add(os.readlink(f"/proc/self/fd/{descriptor}"))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", noted)
    path = tmp_path / "a" / "b" / "c" / "m"
    if how == "save":
        argosy.save({"a": 1}, path)
    else:
        jit.save(nn.Linear(1, 1), str(path), [static.InputSpec([None, 1], "float32")])
    assert {str(tmp_path), str(tmp_path / "a"), str(tmp_path / "a" / "b")} <= synced


def test_links_to_pipes_and_devices_are_written_through():
    program = "import argosy, sys; argosy.save({'a': 1}, sys.argv[1])"
    for name in ("/dev/stdout", "/proc/self/fd/1"):
        done = subprocess.run(
            [sys.executable, "-c", program, name], capture_output=True, check=True
        )
        file = io.BytesIO(done.stdout)
        assert argosy.load(file) == {"a": 1}


def as_another_user(run):
    """run() in a child without the rights of root."""
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.seteuid(65534)
            run()
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0


def test_a_write_protected_file_stays():
    """A rename needs no right to write the file: it is asked for all the same."""
    folder = pathlib.Path(tempfile.mkdtemp())  # one that other users reach
    folder.chmod(0o777)
    path, prefix = folder / "best.pdparams", str(folder / "model")
    layer, spec = nn.Linear(2, 2), [static.InputSpec([None, 2], "float32")]

    def refused():
        with pytest.raises(PermissionError, match="write-protected.*best.pdparams"):
            argosy.save({"a": 2}, path)
        with pytest.raises(OSError, match=f"Cannot write '{prefix}.argosy': Permission denied"):
            jit.save(layer, prefix, input_spec=spec)

    try:
        argosy.save({"a": 1}, path)
        jit.save(layer, prefix, input_spec=spec)
        before = contents(folder)
        path.chmod(0o444)
        (folder / "model.argosy").chmod(0o444)
        (folder / "model.safetensors").chmod(0o666)
        as_another_user(refused)
        assert contents(folder) == before
        path.chmod(0o666)
        as_another_user(lambda: argosy.save({"a": 2}, path))
        assert argosy.load(path) == {"a": 2}
    finally:
        shutil.rmtree(folder)
