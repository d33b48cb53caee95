"""Logs of processes: their ends, and their growth on the launcher's terminal."""

import os
import sys

__all__ = ["Follower", "last_lines", "show"]

_LONGEST_LINE = 1 << 20
_COLORS = (36, 32, 33, 35, 34, 31)


def show(text, stream):
    """Writes text to sys.stdout or sys.stderr, by name. The job goes on where that is closed, its reader is
    gone or the disk behind it is full: its logs are files. What its encoding lacks is written as an escape."""
    file = getattr(sys, stream)
    try:
        try:
            file.write(text)
        except UnicodeEncodeError as error:
            file.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))
        file.flush()
    except (OSError, ValueError, AttributeError):  # None, where it was closed from the start
        setattr(sys, stream, open(os.devnull, "w"))


def last_lines(path, count=20, limit=65536):
    """The last lines of a file, as text."""
    try:
        with open(path, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - limit))
            text = file.read().decode(errors="replace")
    except OSError as error:
        return [f"({error})"]
    return text.splitlines()[-count:] or ["(nothing was printed)"]


class Follower:
    """Prints what is added to a log, whole lines, with the process's name before each."""

    def __init__(self, path, name, color):
        self._path = path
        self._prefix = f"[{name}] " if name else ""
        if name and sys.stdout and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
            self._prefix = f"\033[{_COLORS[color % len(_COLORS)]}m[{name}]\033[0m "
        self._file = None
        self._rest = b""

    def show(self, end=False):
        """Prints what is new."""
        if self._file is None:
            try:
                self._file = open(self._path, "rb")
            except OSError:
                return
        while True:
            data = self._file.read(1 << 16)
            if not data:
                break
            *lines, self._rest = (self._rest + data).split(b"\n")
            if len(self._rest) > _LONGEST_LINE:
                lines.append(self._rest)
                self._rest = b""
            self._print(lines)
        if end and self._rest:
            self._print([self._rest])
            self._rest = b""

    def _print(self, lines):
        if not lines:
            return
        show(
            "".join(f"{self._prefix}{line.decode(errors='replace')}\n" for line in lines), "stdout"
        )

    def close(self):
        """Prints an unfinished last line, and ends."""
        self.show(end=True)
        if self._file is not None:
            self._file.close()
