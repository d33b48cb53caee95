"""The end of a program whose threads are in the midst of C++."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("work", ["paddle.matmul(x, x)", "paddle.matmul(x, x).sum().backward()"])
def test_the_program_ends_while_threads_compute(work):
    """Python ends them when they want the GIL, in the midst of C++."""
    program = f"""
import threading, time
import argosy as paddle
x = paddle.ones([50, 50])
x.stop_gradient = False
def compute():
    while True:
        {work}
for _ in range(4):
    threading.Thread(target=compute, daemon=True).start()
time.sleep(0.2)
"""
    for _ in range(3):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
