"""Write a file so that a killed writer leaves the previous content whole."""

import contextlib
import itertools
import os
import socket
import stat

__all__ = ["atomic_writer"]

_counter = itertools.count()


def _temporary_prefix(name):
    return f".{name}.tmp-{socket.gethostname()}-"


def _process_lives(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _remove_leftovers(folder, name):
    """Remove temporary files that killed writers of this machine left for the same target."""
    prefix = _temporary_prefix(name)
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if not entry.startswith(prefix):
                continue
            pid = entry[len(prefix) :].partition("-")[0]
            if pid.isdigit() and not _process_lives(int(pid)):
                with contextlib.suppress(OSError):
                    os.remove(os.path.join(folder, entry))


def _sync_folder(folder):
    # Some filesystems cannot open or sync a folder; the rename is then as durable as they allow.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def atomic_writer(path):
    """Context that gives a binary file to write; on a clean exit `path` names the whole new content.

    The bytes go to a temporary file in the same folder, which is synced and renamed over `path`;
    if the block raises, or the process dies, `path` keeps what it had. Folders are created.
    Symbolic links keep pointing where they did; a device or pipe is written directly. The new
    file has the permissions of the one it replaces.
    """
    path = os.path.realpath(path)
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = None
    if mode is not None and not stat.S_ISREG(mode):
        with open(path, "wb") as file:
            yield file
        return
    folder, name = os.path.split(path)
    os.makedirs(folder, exist_ok=True)
    _remove_leftovers(folder, name)
    temporary = os.path.join(folder, f"{_temporary_prefix(name)}{os.getpid()}-{next(_counter)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None:
                os.fchmod(descriptor, stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(descriptor)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise
    _sync_folder(folder)
