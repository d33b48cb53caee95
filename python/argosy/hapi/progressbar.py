"""A line that shows how far a loop has come."""

import os
import sys
import time

__all__ = []


def _seconds(value):
    """A duration in the unit that fits it."""
    if value >= 1:
        return f"{value:.0f}s"
    if value >= 1e-3:
        return f"{value * 1e3:.0f}ms"
    return f"{value * 1e6:.0f}us"


def _remaining(value):
    value = int(value)
    if value >= 3600:
        return f"{value // 3600:d}:{value % 3600 // 60:02d}:{value % 60:02d}"
    if value >= 60:
        return f"{value // 60:d}:{value % 60:02d}"
    return f"{value:d}s"


def _number(value):
    if isinstance(value, (int, str)):
        return str(value)
    value = float(value)
    return f"{value:.4f}" if abs(value) > 1e-3 else f"{value:.4e}"


class ProgressBar:
    """Shows ``step 20/100 [====>....] - loss: 0.1234 - ETA: 3s - 12ms/step``.

    On a terminal and in a notebook the line is redrawn in place and never wider than the window; in a
    file or a pipe each update is a line of its own, without a bar and without control characters.

    Args:
        num (int, optional): Number of steps, if known.
        width (int): Columns of the bar.
        verbose (int): 0 shows nothing, 1 a bar, 2 lines.
        file: Where to write; by default standard output as it is at the time of writing.
    """

    def __init__(self, num=None, width=30, verbose=1, start=True, file=None, name="step"):
        self._num = num
        self._width = max(1, width)
        self._verbose = verbose
        self._file = file
        self._name = name
        self._start = time.monotonic() if start else None
        self._drawn = 0  # columns of the line to overwrite

    def start(self):
        """Starts the clock."""
        self._start = time.monotonic()

    def _stream(self):
        return sys.stdout if self._file is None else self._file

    def _in_place(self):
        stream = self._stream()
        notebook = type(stream).__module__.startswith("ipykernel")
        try:
            return self._verbose == 1 and (notebook or stream.isatty())
        except (AttributeError, ValueError):
            return False

    def _columns(self):
        try:
            return os.get_terminal_size(self._stream().fileno()).columns
        except (AttributeError, OSError, ValueError):
            return 0  # unknown, as in a notebook: no limit

    def update(self, current, values=None):
        """Shows step number `current` (from 1) and `values`, pairs of a name and a number or list of
        numbers. The step that equals `num` ends the line."""
        if self._verbose == 0:
            return
        if self._start is None:
            self.start()
        elapsed = time.monotonic() - self._start
        per_step = elapsed / current if current else 0.0
        last = self._num is not None and current >= self._num
        fields = []
        for name, value in values or []:
            numbers = value if isinstance(value, (list, tuple)) else [value]
            fields.append(f"{name}: {' '.join(map(_number, numbers))}")
        in_place = self._in_place()
        if in_place and not last and self._num is not None:
            fields.append(f"ETA: {_remaining(per_step * (self._num - current))}")
        fields.append(f"{_seconds(per_step)}/{self._name}")
        if self._num is None:
            head = f"{self._name} {current:3}"
        else:
            head = f"{self._name} {current:>{len(str(self._num))}d}/{self._num}"
        tail = " - " + " - ".join(fields)
        if not in_place:
            self._write(head + tail + "\n")
            return
        columns = self._columns()
        line = head + self._bar(current, columns - len(head) - len(tail) - 1 if columns else 999)
        line += tail
        if columns:
            line = line[: columns - 1]
        blank = " " * max(0, self._drawn - len(line))
        self._drawn = len(line)
        self._write("\r" + line + blank + ("\n" if last else ""))
        if last:
            self._drawn = 0

    def finish(self):
        """Ends the line if one is being redrawn."""
        if self._drawn:
            self._write("\n")
            self._drawn = 0

    def _bar(self, current, room):
        if self._num is None or room < 8:
            return ""
        width = min(self._width, room - 3)
        done = min(width, int(width * current / max(1, self._num)))
        bar = "=" * done
        if 0 < done < width:
            bar = bar[:-1] + ">"
        return f" [{bar:.<{width}}]"

    def _write(self, text):
        stream = self._stream()
        stream.write(text)
        stream.flush()
