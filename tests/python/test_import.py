import subprocess
import sys

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


def test_wrong_name_says_what_to_do():
    code = "import argosy; argosy.no_such_name"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert "no_such_name" in run.stderr
    assert "Do this:" in run.stderr
