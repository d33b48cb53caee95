"""The parameter server's libraries are loaded at first use, whatever came before."""

import pathlib
import shutil
import subprocess
import sys

import pytest

import argosy

AN_ERROR = """
import argosy
try:
    argosy.reshape(argosy.ones([2]), [3])
except ValueError:
    pass
"""
# As another library does that is imported first and throws: the loader then puts the thread-local
# variables of libstdc++ where only code finds them that was not compiled for the initial libraries.
ANOTHER_LIBRARY = """
import ctypes
ctypes.CDLL("libstdc++.so.6").__cxa_get_globals()
import argosy
"""


@pytest.mark.parametrize("before", [AN_ERROR, ANOTHER_LIBRARY])
def test_after_exceptions(before):
    code = before + "from argosy import _ps\nprint('loaded', _ps.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("loaded"), done.stderr


@pytest.mark.skipif(not shutil.which("readelf"), reason="needs readelf (binutils)")
def test_libraries_have_no_part_in_thread_storage_of_others():
    """Compiled with -ftls-model=initial-exec, std::call_once would have."""
    package = pathlib.Path(argosy.__file__).parent
    ours = [*package.glob("*.so"), *package.glob("lib/libargosy*.so")]
    assert len(ours) >= 4
    for path in ours:
        text = subprocess.run(["readelf", "-rW", path], capture_output=True, text=True).stdout
        others = [line for line in text.splitlines() if "TPOFF64" in line and "@" in line]
        assert not others, f"{path}: {others}"
