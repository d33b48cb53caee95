import os
import pathlib
import subprocess
import sys

import argosy

HEAVY = (
    "numpy", "scipy", "PIL", "multiprocessing", "asyncio", "urllib.request", "argosy.base", "argosy.nn",
    "argosy.static", "argosy.vision",
)  # fmt: skip


def test_import_is_light():
    """What makes `import argosy` slow is what it imports; the wheel's test measures the time."""
    code = "import sys, argosy; print('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "argosy._core" in loaded
    assert not loaded.intersection(HEAVY)


def test_a_launcher_is_light():
    """It comes before the job's processes, which import the rest themselves."""
    code = """
import sys
import argosy.distributed.launch.arguments
import argosy.distributed.launch.local
print('\\n'.join(sys.modules))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()).intersection(HEAVY)


def test_a_generator_of_data_is_light():
    """A job starts one for each of its files."""
    code = "import sys, argosy.distributed.fleet; print('\\n'.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()).intersection({"numpy", "argosy.nn", "argosy.static"})


def test_names_of_distributed_are_found_when_they_are_asked_for():
    code = """
import argosy
assert {"all_reduce", "fleet", "shard_tensor"} <= set(dir(argosy.distributed))
assert argosy.distributed.communication.stream.all_reduce
from argosy.distributed import *
assert issubclass(DataParallel, argosy.nn.Layer) and spawn and ShowClickEntry
try:
    argosy.distributed.no_such_name
except AttributeError as error:
    print(error)
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "module 'argosy.distributed' has no attribute 'no_such_name'\n"


def test_wrong_name_says_what_to_do():
    code = "import argosy; argosy.no_such_name"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "no_such_name" in run.stderr
    assert "Do this:" in run.stderr


def test_a_core_of_another_python_says_what_to_do(tmp_path):
    """The package, built for another version only."""
    package = tmp_path / "argosy"
    package.mkdir()
    for entry in pathlib.Path(argosy.__file__).parent.iterdir():
        if not entry.name.startswith("_core."):
            (package / entry.name).symlink_to(entry)
    (package / "_core.cpython-399-x86_64-linux-gnu.so").touch()
    run = subprocess.run(
        [sys.executable, "-c", "import argosy"],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    last = run.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: Argosy in {package} is not built for this Python")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert f"expected cpython {version} to find _core.cpython-" in last
    assert "got _core.cpython-399-x86_64-linux-gnu.so" in last
    assert "Do this: run the Python that it was built with" in last and sys.executable in last


def test_rooms_load_from_threads_at_once():
    code = """
import threading
import argosy
names = ["nn.Linear", "static.nn.fc", "vision.models", "optimizer.Adam", "io.DataLoader", "jit.to_static"]
start, failed = threading.Barrier(len(names)), []
def load(name):
    start.wait()
    try:
        eval("argosy." + name)
    except BaseException as error:
        failed.append((name, error))
threads = [threading.Thread(target=load, args=(n,)) for n in names]
for t in threads: t.start()
for t in threads: t.join()
print(failed)
"""
    for _ in range(3):
        run = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        assert run.stdout == "[]\n"


def test_modules_of_methods_are_reloaded():
    code = """
import importlib, argosy
before = argosy.Tensor.increment
importlib.reload(argosy.tensor.math)
assert argosy.Tensor.increment is argosy.tensor.math.increment is not before
assert float(argosy.ones([1]).increment()) == 2
"""
    subprocess.run([sys.executable, "-c", code], check=True)
