"""The parameter server's libraries are loaded at first use, whatever came before."""

import subprocess
import sys


def test_after_an_error():
    """The first exception gives libstdc++ its thread-local block: libraries loaded later need it."""
    code = (
        "import argosy\n"
        "try:\n    argosy.reshape(argosy.ones([2]), [3])\n"
        "except ValueError:\n    pass\n"
        "from argosy import _ps\nprint('loaded', _ps.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.startswith("loaded"), done.stderr
