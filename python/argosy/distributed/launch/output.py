"""Logs of processes: their ends, and their growth on the launcher's terminal."""

import os
import sys

__all__ = ["Follower", "last_lines"]

_LONGEST_LINE = 1 << 20
_COLORS = (36, 32, 33, 35, 34, 31)


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
        if name and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
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
        text = "".join(f"{self._prefix}{line.decode(errors='replace')}\n" for line in lines)
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError:
            # Who read us is gone; the job goes on, its logs are files.
            sys.stdout = open(os.devnull, "w")

    def close(self):
        """Prints an unfinished last line, and ends."""
        self.show(end=True)
        if self._file is not None:
            self._file.close()
