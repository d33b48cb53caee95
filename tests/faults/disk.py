"""A disk on purpose bad, by a library that processes load before others (disk.c).

It fails, fills up, is slow, kills its process at the n-th call, and knows what was synced: `lose_power`
leaves of a directory what a loss of power would.
"""

import errno
import fcntl
import mmap
import os
import shutil
import struct
import subprocess
import tempfile
import zlib

__all__ = ["CALLS", "Disk", "build"]

CALLS = {"write": 1, "sync": 2, "sync_directory": 4, "name": 8}
_FIELDS = ("calls", "kill_at", "torn", "error", "which", "delay", "journal", "copies", "skip")
_SIZE = 8 * len(_FIELDS) + 192 + 512
_BLOCK = 512  # what a disk writes as a whole


def build():
    """The library's path; None where there is no C compiler. Compiled once."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        return None
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "disk.c")
    home = os.path.join(tempfile.gettempdir(), f"argosy-faults-{os.getuid()}")
    os.makedirs(home, mode=0o700, exist_ok=True)
    with open(source, "rb") as file:
        library = os.path.join(home, f"disk-{zlib.crc32(file.read()):08x}.so")
    with open(os.path.join(home, "lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(library):
            command = [compiler, "-shared", "-fPIC", "-O1", source, "-o", library + ".new", "-ldl"]
            subprocess.run(command, check=True)
            os.rename(library + ".new", library)
    return library


class Disk:
    """What one process sees as its disk: the files below `root`."""

    def __init__(self, library, directory, root, journal=False):
        self.library, self.root = library, os.path.realpath(root)
        self.synced = os.path.join(directory, "synced")
        self.path = os.path.join(directory, "control")
        os.makedirs(self.synced, exist_ok=True)
        with open(self.path, "wb") as file:
            file.truncate(_SIZE)
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), _SIZE)
        self.map[_SIZE - 512 :] = self.root.encode().ljust(512, b"\0")
        self.set(journal=int(journal))
        # What is there at first is safe.
        self.files, self.directories = {}, {}
        if journal:
            self.take_for_safe()

    @property
    def environ(self):
        return {
            "LD_PRELOAD": self.library,
            "ARGOSY_TEST_DISK": self.path,
            "ARGOSY_TEST_SYNCED": self.synced,
        }

    def get(self, name):
        return struct.unpack_from("q", self.map, 8 * _FIELDS.index(name))[0]

    def set(self, **fields):
        for name, value in fields.items():
            struct.pack_into("q", self.map, 8 * _FIELDS.index(name), value)

    def fail(self, error, match="", calls=tuple(CALLS), delay=0, skip=0):
        """Calls on paths that contain `match`, after the first `skip`, end with this error (its name;
        "": none)."""
        self.map[8 * len(_FIELDS) : 8 * len(_FIELDS) + 192] = match.encode().ljust(192, b"\0")
        self.set(
            delay=delay,
            skip=skip,
            which=sum(CALLS[c] for c in calls),
            error=getattr(errno, error) if error else 0,
        )

    def kill_after(self, calls, torn=False):
        """The process dies before it makes its n-th call that changes files; 0: it does not."""
        self.set(torn=int(torn), kill_at=self.get("calls") + calls if calls else 0)

    # What a loss of power leaves.

    def take_for_safe(self):
        """All that is there now."""
        self.files.clear()
        self.directories.clear()
        for path, folders, names in os.walk(self.root):
            self.directories[os.stat(path).st_ino] = _entries(path)
            for name in names:
                at = os.path.join(path, name)
                self.files[os.stat(at).st_ino] = open(at, "rb").read()
        for name in os.listdir(self.synced):
            os.remove(os.path.join(self.synced, name))

    def _replay(self):
        path = os.path.join(self.synced, "journal")
        for line in open(path) if os.path.exists(path) else ():
            what, inode, *number = line.split()
            inode = int(inode)
            if what == "N":
                self.files.pop(inode, None)
                self.directories.pop(inode, None)
                continue
            copy = os.path.join(self.synced, number[0])
            if what == "F":
                self.files[inode] = open(copy, "rb").read()
            else:
                entries = (e.rstrip("\n").split(" ", 2) for e in open(copy))
                self.directories[inode] = {n: (int(i), kind) for i, kind, n in entries}

    def lose_power(self, draw, keep):
        """After the process died. keep: "none" of what was not synced, or "some", by the seed."""
        self._replay()
        now, paths = {}, {}
        for path, _, names in os.walk(self.root):
            now[os.stat(path).st_ino] = _entries(path)
            paths.update({os.stat(p).st_ino: p for p in (os.path.join(path, n) for n in names)})
        after = self.root + ".after"
        os.makedirs(after)
        self._write(os.stat(self.root).st_ino, after, now, paths, draw, keep)
        shutil.rmtree(self.root)
        os.rename(after, self.root)
        self.take_for_safe()

    def _write(self, inode, to, now, paths, draw, keep):
        entries = self.directories.get(inode, {})
        if inode in now and keep != "none" and draw.random() < 0.5:
            entries = now[inode]
        for name, (child, kind) in sorted(entries.items()):
            path = os.path.join(to, name)
            if kind == "d":
                os.mkdir(path)
                self._write(child, path, now, paths, draw, keep)
                continue
            safe = self.files.get(child, b"")
            latest = open(paths[child], "rb").read() if child in paths else safe
            with open(path, "wb") as file:
                file.write(safe if keep == "none" else _mix(safe, latest, draw))


def _entries(path):
    return {
        e.name: (e.stat(follow_symlinks=False).st_ino, "d" if e.is_dir() else "f")
        for e in os.scandir(path)
    }


def _mix(safe, latest, draw):
    """Of what changed since the sync: nothing, all, or some blocks."""
    kept = draw.choice(("none", "all", "torn"))
    if kept == "none" or safe == latest:
        return safe
    if kept == "all":
        return latest
    size = draw.choice((len(safe), len(latest)))
    out = bytearray(safe[:size].ljust(size, b"\0"))
    for at in range(0, min(size, len(latest)), _BLOCK):
        if safe[at : at + _BLOCK] != latest[at : at + _BLOCK] and draw.random() < 0.5:
            # A block behind the old end is written as a whole, one across it from there on.
            piece = latest[at : at + _BLOCK]
            out[at : at + len(piece)] = piece
    return bytes(out[:size])
