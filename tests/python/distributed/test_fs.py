"""File systems: this machine's, and HDFSClient over a fake `hadoop` that keeps files in a folder."""

import os
import stat
import sys

import pytest

from argosy.distributed.fleet.utils import HDFSClient, LocalFS
from argosy.distributed.fleet.utils.fs import (
    FSFileExistsError,
    FSFileNotExistsError,
    FSTimeOut,
)

# Commands as `hadoop fs` has them. It logs what it is called with, and fails as often as the file
# `failures` says.
_HADOOP = """#!{python}
import os, shutil, sys, time
home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
root = os.path.join(home, "root")
with open(os.path.join(home, "log"), "a") as log:
    log.write(" ".join(sys.argv[1:]) + "\\n")
words = [w for w in sys.argv[2:] if not w.startswith("-D")]
command, rest = words[0], words[1:]
where = lambda p: os.path.join(root, p.lstrip("/"))

def fail(text, code=1):
    print(text, file=sys.stderr)
    sys.exit(code)

failures = os.path.join(home, "failures")
if os.path.exists(failures):
    left, what = open(failures).read().split(" ", 1)
    if command == what.strip() and int(left) > 0:
        open(failures, "w").write(str(int(left) - 1) + " " + what)
        fail("java.net.ConnectException: Connection refused")
if os.path.exists(os.path.join(home, "hang")):
    time.sleep(1000)
if command == "-test":
    found = {{"-e": os.path.exists, "-d": os.path.isdir, "-f": os.path.isfile}}[rest[0]]
    sys.exit(0 if found(where(rest[1])) else 1)
if command == "-ls":
    if not os.path.exists(where(rest[0])):
        fail("ls: `" + rest[0] + "': No such file or directory")
    print("Found some items")
    for name in sorted(os.listdir(where(rest[0]))):
        path = where(rest[0]) + "/" + name
        kind = "drwxr-xr-x   -" if os.path.isdir(path) else "-rw-r--r--   3"
        shown = rest[0].rstrip("/") + "/" + name
        print(kind, "u g", os.path.getsize(path), "2020-01-01 10:00", shown)
elif command == "-mkdir":
    os.makedirs(where(rest[-1]), exist_ok=True)
elif command == "-touchz":
    open(where(rest[0]), "a").close()
elif command == "-rm":
    path = where(rest[-1])
    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)
elif command == "-mv":
    os.rename(where(rest[0]), where(rest[1]))
elif command in ("-put", "-get"):
    source, target = rest
    source, target = (source, where(target)) if command == "-put" else (where(source), target)
    (shutil.copytree if os.path.isdir(source) else shutil.copy)(source, target)
elif command == "-cat":
    sys.stdout.write(open(where(rest[0])).read())
else:
    fail("unknown command " + command, 255)
"""


@pytest.fixture
def hdfs(tmp_path):
    home = tmp_path / "hadoop"
    (home / "bin").mkdir(parents=True)
    (home / "root").mkdir()
    program = home / "bin" / "hadoop"
    program.write_text(_HADOOP.format(python=f"{sys.executable} -IS"))
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    client = HDFSClient(
        str(home), {"fs.default.name": "hdfs://x", "hadoop.job.ugi": "u,p"}, 20000, 10
    )
    client.home = home
    return client


def _log(client):
    return (client.home / "log").read_text().splitlines()


@pytest.fixture(params=["local", "hdfs"])
def fs(request, tmp_path):
    """(file system, the folder in it to work in)."""
    if request.param == "hdfs":
        return request.getfixturevalue("hdfs"), "/work"
    return LocalFS(), str(tmp_path / "work")


def test_both_file_systems(fs):
    fs, root = fs
    assert not fs.is_exist(root) and fs.ls_dir(root) == ([], []) and fs.list_dirs(root) == []
    fs.mkdirs(f"{root}/a/b")
    fs.mkdirs(f"{root}/a/b")
    assert fs.is_dir(f"{root}/a") and not fs.is_file(f"{root}/a") and fs.is_exist(f"{root}/a/b")
    fs.touch(f"{root}/a/f")
    fs.touch(f"{root}/a/f")
    with pytest.raises(FSFileExistsError):
        fs.touch(f"{root}/a/f", exist_ok=False)
    assert fs.is_file(f"{root}/a/f") and not fs.is_dir(f"{root}/a/f")
    assert fs.ls_dir(f"{root}/a") == (["b"], ["f"]) and fs.list_dirs(f"{root}/a") == ["b"]
    fs.mv(f"{root}/a/f", f"{root}/a/g")
    with pytest.raises(FSFileNotExistsError, match="a/f does not exist"):
        fs.mv(f"{root}/a/f", f"{root}/a/g")
    fs.touch(f"{root}/a/f")
    with pytest.raises(FSFileExistsError, match="overwrite=True"):
        fs.mv(f"{root}/a/f", f"{root}/a/g")
    fs.mv(f"{root}/a/f", f"{root}/a/g", overwrite=True)
    fs.rename(f"{root}/a/g", f"{root}/a/h")
    assert fs.ls_dir(f"{root}/a") == (["b"], ["h"])
    fs.delete(f"{root}/a/h")
    fs.delete(f"{root}/a/h")
    fs.delete(f"{root}/a")
    assert fs.ls_dir(root) == ([], [])
    assert fs.need_upload_download() is isinstance(fs, HDFSClient)


def test_the_command_line(hdfs):
    hdfs.mkdirs("/a b;c")
    settings = "-Dfs.default.name=hdfs://x -Dhadoop.job.ugi=u,p"
    # No shell reads it.
    assert _log(hdfs) == [f"fs {settings} -test -d /a b;c", f"fs {settings} -mkdir -p /a b;c"]
    assert hdfs.is_dir("/a b;c")


def test_upload_and_download(hdfs, tmp_path):
    local = tmp_path / "local"
    (local / "sub").mkdir(parents=True)
    for i in range(7):
        (local / f"f{i}").write_text(f"text {i}\n")
    (local / "sub" / "x").write_text("deep")
    hdfs.upload(str(local), "/data", multi_processes=3)
    assert hdfs.ls_dir("/data") == (["sub"], [f"f{i}" for i in range(7)])
    assert hdfs.cat("/data/f3") == "text 3" and hdfs.cat("/data/none") == "" and hdfs.cat() == ""
    infos = hdfs.list_files_info(["/data"])
    assert infos[0] == {"path": "/data/f0", "size": 7} and len(infos) == 7
    with pytest.raises(FSFileExistsError, match="/data exists"):
        hdfs.upload(str(local), "/data")
    with pytest.raises(FSFileNotExistsError, match="nosuch does not exist"):
        hdfs.upload(str(tmp_path / "nosuch"), "/data2")
    (local / "f0").write_text("new")
    hdfs.upload_dir(str(local), "/data", overwrite=True)
    back = tmp_path / "back"
    hdfs.download("/data", str(back))
    assert (back / "f0").read_text() == "new" and (back / "sub" / "x").read_text() == "deep"
    with pytest.raises(FSFileExistsError, match="back exists"):
        hdfs.download("/data/f0", str(back))
    hdfs.download("/data/f0", str(tmp_path / "one"))
    assert (tmp_path / "one").read_text() == "new"
    with pytest.raises(FSFileNotExistsError):
        hdfs.download("/nosuch", str(tmp_path / "two"))


def test_failing_commands_are_repeated(hdfs):
    (hdfs.home / "failures").write_text("3 -mkdir")
    hdfs.mkdirs("/a")
    assert sum("-mkdir" in line for line in _log(hdfs)) == 4
    assert hdfs.is_dir("/a")


def test_until_the_time_is_over(hdfs):
    (hdfs.home / "failures").write_text("100000 -touchz")
    hdfs._time_out = 3
    with pytest.raises(FSTimeOut, match=r"HDFSClient.touch.*failed for 3 s.*Connection refused"):
        hdfs.touch("/f")


def test_a_command_that_hangs(hdfs):
    (hdfs.home / "hang").write_text("")
    hdfs._time_out = 0.5
    with pytest.raises(FSTimeOut, match="no answer within"):
        hdfs.is_exist("/f")


def test_no_hadoop(tmp_path):
    client = HDFSClient(str(tmp_path), {}, time_out=50, sleep_inter=10)
    with pytest.raises(FSTimeOut, match="bin/hadoop: No such file"):
        client.is_exist("/f")


def test_a_move_whose_answer_was_lost(hdfs, monkeypatch):
    hdfs.touch("/a")
    run = HDFSClient._run

    def lost(self, *arguments, **options):
        out = run(self, *arguments, **options)
        if arguments[0] == "-mv" and os.path.exists(self.home / "root" / "b"):
            from argosy.distributed.fleet.utils.fs import ExecuteError

            raise ExecuteError("the answer was lost")
        return out

    monkeypatch.setattr(HDFSClient, "_run", lost)
    hdfs.mv("/a", "/b")
    assert hdfs.is_exist("/b") and not hdfs.is_exist("/a")
    assert sum("-mv" in line for line in _log(hdfs)) == 1


def _tree(fs, root):
    return {name: fs.ls_dir(f"{root}/{name}")[1] for name in fs.list_dirs(root)}


def test_a_move_that_cannot_be_keeps_its_target(fs):
    fs, root = fs
    fs.mkdirs(f"{root}/model")
    fs.touch(f"{root}/model/weights")
    fs.mkdirs(f"{root}/model/new")
    with pytest.raises(FSFileNotExistsError):
        fs.mv(f"{root}/none", f"{root}/model", overwrite=True)
    fs.mv(f"{root}/model", f"{root}/model", overwrite=True)
    with pytest.raises(ValueError, match="model/new lies in .*model, which would be deleted"):
        fs.mv(f"{root}/model/new", f"{root}/model", overwrite=True)
    assert _tree(fs, root) == {"model": ["weights"]}
    fs.mkdirs(f"{root}/next")
    fs.touch(f"{root}/next/others")
    fs.mv(f"{root}/next", f"{root}/model", overwrite=True)
    assert _tree(fs, root) == {"model": ["others"]}


def test_a_move_that_fails_in_the_middle_keeps_its_target(tmp_path, monkeypatch):
    local, rename = LocalFS(), os.rename
    for name in ("old", "new"):
        local.mkdirs(tmp_path / name)
        local.touch(tmp_path / name / name)

    def other_file_system(source, target):
        if os.path.basename(source) == "new":
            raise OSError(18, "Invalid cross-device link")
        rename(source, target)

    monkeypatch.setattr(os, "rename", other_file_system)
    with pytest.raises(OSError, match="cross-device"):
        local.mv(str(tmp_path / "new"), str(tmp_path / "old"), overwrite=True)
    assert _tree(local, str(tmp_path)) == {"old": ["old"], "new": ["new"]}


def test_copies_that_fail_keep_what_they_were_to_replace(hdfs, tmp_path):
    local, target = tmp_path / "local", tmp_path / "target"
    for folder, text in ((local, "new"), (target, "old")):
        folder.mkdir()
        (folder / "f").write_text(text)
    hdfs.upload(str(target), "/data")
    hdfs._time_out = 2
    for command, copy, shown in (
        (
            "-put",
            lambda: hdfs.upload(str(local), "/data", overwrite=True),
            lambda: hdfs.cat("/data/f"),
        ),
        (
            "-get",
            lambda: hdfs.download("/data", str(target), overwrite=True),
            (target / "f").read_text,
        ),
    ):
        (hdfs.home / "failures").write_text(f"100000 {command}")
        with pytest.raises(FSTimeOut, match="Connection refused"):
            copy()
        (hdfs.home / "failures").unlink()
        assert shown() == "old"
        copy()
        assert shown() == "new"
        assert os.listdir(hdfs.home / "root") == ["data"]
    assert sorted(os.listdir(tmp_path)) == ["hadoop", "local", "target"]
