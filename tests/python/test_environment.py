"""Variables of the environment whose value cannot be meant: a word on stderr, and the default."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize(
    "name, text, said",
    [
        ("ARGOSY_NUM_THREADS", "-3", "is not 0 or more; using 0"),
        ("ARGOSY_MEMORY_LIMIT_MB", "-1", "is not 0 or more; using 0"),
        ("ARGOSY_STREAMED_DEVICES", "-1", "is not 0 or more; using 0"),
        ("ARGOSY_PS_DISK_SECONDS", "-5", "is not 0 or more; using 60"),
        ("ARGOSY_COMM_TIMEOUT", "-5", "is not 0 or more; using 300"),
        ("ARGOSY_DATA_TIMEOUT", "-0.5", "is not 0 or more; using 600"),
        ("ARGOSY_COMM_TIMEOUT", "nan", "is not 0 or more; using 300"),
        ("ARGOSY_LOG_LEVEL", "loud", "is none of error, warning, info and debug; using warning"),
    ],
)
def test_what_cannot_be_meant_is_said(name, text, said):
    done = subprocess.run(
        [sys.executable, "-c", "import argosy; argosy.ones([2])"],
        env={**os.environ, name: text},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f"argosy warning: the environment's {name}={text} {said}\n" in done.stderr
