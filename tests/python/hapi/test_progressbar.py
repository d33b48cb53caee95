"""The progress bar on a terminal, in a notebook and in a file."""

import io
import os
import re

from argosy.hapi.progressbar import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(file, num=4, verbose=1, values=(("loss", [0.5]),), **kw):
    bar = ProgressBar(num=num, verbose=verbose, file=file, **kw)
    for step in range(1, 5):
        bar.update(step, values)
    bar.finish()
    return file.getvalue()


TIME = r"\d+(us|ms|s)/step"


def test_terminal_redraws_one_line():
    text = run(Terminal(), width=8)
    assert text.count("\n") == 1 and text.endswith("\n") and text.count("\r") == 4
    first, last = text.split("\r")[1], text.split("\r")[4]
    assert re.fullmatch(rf"step 1/4 \[=>\.\.\.\.\.\.\] - loss: 0\.5000 - ETA: \d+s - {TIME}", first)
    assert re.fullmatch(rf"step 4/4 \[========\] - loss: 0\.5000 - {TIME} *\n", last)


def test_a_shorter_line_covers_the_longer_one():
    file = Terminal()
    bar = ProgressBar(num=3, file=file)
    bar.update(1, [("loss", 1.0), ("something", 2.0)])
    bar.update(2, [("loss", 1.0)])
    long, short = file.getvalue().split("\r")[1:]
    assert len(short) == len(long) and short.endswith("  ")


def test_unknown_number_of_steps():
    text = run(Terminal(), num=None)
    assert re.match(rf"\rstep   1 - loss: 0\.5000 - {TIME}", text)
    assert text.endswith("\n") and "[" not in text


def test_the_line_fits_the_window():
    main, side = os.openpty()
    try:
        import fcntl
        import struct
        import termios

        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 40, 0, 0))
        with os.fdopen(os.dup(side), "w") as file:
            bar = ProgressBar(num=10, file=file)
            bar.update(3, [("loss", 0.5), ("accuracy", 0.25)])
            shown = os.read(main, 4096).decode()
        assert shown.startswith("\rstep  3/10") and len(shown.strip("\r")) <= 39
    finally:
        os.close(main)
        os.close(side)


def test_files_get_plain_lines():
    for verbose in (1, 2):
        text = run(io.StringIO(), verbose=verbose)
        assert "\r" not in text and text.count("\n") == 4
        assert re.fullmatch(rf"step 1/4 - loss: 0\.5000 - {TIME}", text.split("\n")[0])
    assert run(Terminal(), verbose=2).count("\r") == 0
    assert run(io.StringIO(), verbose=0) == ""


def test_notebooks_redraw():
    stream = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})()
    assert run(stream).count("\r") == 4


def test_numbers():
    text = run(io.StringIO(), num=1, values=[("a", 1e-5), ("b", [1, 2.5]), ("c", 0.0)])
    assert "a: 1.0000e-05 - b: 1 2.5000 - c: 0.0000e+00" in text
