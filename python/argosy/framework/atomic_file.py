"""Write files so that a killed writer leaves the previous content whole."""

import contextlib
import errno
import fcntl
import os
import re
import secrets
import stat

__all__ = []

# `.NAME.tmp-` and 16 hexadecimal digits; of a long NAME its beginning, as names have at most 255 bytes.
_NAME_BYTES = 200
_ENDING = re.compile(r"\.tmp-[0-9a-f]{16}$")


def is_leftover(name):
    """Whether a file of this name is one that is being written, or that a killed writer left."""
    return name.startswith(".") and _ENDING.search(name) is not None


def _prefix(name):
    return os.fsdecode(b"." + os.fsencode(name)[:_NAME_BYTES] + b".tmp-")


def _remove_leftovers(folder, name):
    """Remove what killed writers left for the same target: whoever lives has a lock on his file."""
    prefix = _prefix(name)
    with contextlib.suppress(OSError):
        for entry in os.listdir(folder):
            if entry.startswith(prefix) and is_leftover(entry):
                with contextlib.suppress(OSError):
                    _remove_unlocked(os.path.join(folder, entry))


def _remove_unlocked(path):
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.remove(path)
    finally:
        os.close(descriptor)


def _create(folder, name):
    """(path, descriptor) of a new file that is locked until the descriptor is closed."""
    while True:
        path = os.path.join(folder, _prefix(name) + secrets.token_hex(8))
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
        # Where a file system has no locks, nobody can take this for a leftover either.
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if os.fstat(descriptor).st_nlink:
            return path, descriptor
        os.close(descriptor)  # another writer came before the lock, and took it for a leftover


def _sync_folder(folder):
    # Some filesystems cannot open or sync a folder; the rename is then as durable as they allow.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def make_folders(path):
    """os.makedirs, also of what is there; folders that are made are on the disk when it returns."""
    if os.path.isdir(path):
        return
    above = os.path.dirname(os.path.abspath(path))
    make_folders(above)
    with contextlib.suppress(FileExistsError):  # another one was faster
        os.mkdir(path)
    _sync_folder(above)


def _may_write(path):
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


class _Aside:
    """A file that is written beside its place, and put there by `commit`."""

    def __init__(self, path):
        self._path = os.path.realpath(path)
        try:
            # Of path: what /dev/stdout leads to has no name of its own where it is a pipe.
            mode = os.stat(path).st_mode
        except FileNotFoundError:
            mode = None
        self._temporary = self._new = self._old = None
        self._is_new = mode is None
        if mode is not None and stat.S_ISDIR(mode):
            raise IsADirectoryError(
                f"[save] {path} is a folder: expected a file. Do this: name the file."
            )
        if mode is not None and not stat.S_ISREG(mode):
            self.file = open(path, "wb")  # noqa: SIM115 - closed by both ways out
            return
        if mode is not None and not _may_write(self._path):
            raise PermissionError(errno.EACCES, "[save] the file is write-protected", self._path)
        folder, name = os.path.split(self._path)
        make_folders(folder)
        _remove_leftovers(folder, name)
        self._temporary, descriptor = _create(folder, name)
        self._new = self._temporary
        self.file = os.fdopen(descriptor, "wb")
        if mode is not None:
            os.fchmod(descriptor, stat.S_IMODE(mode))

    def sync(self):
        self.file.flush()
        if self._temporary:
            os.fsync(self.file.fileno())

    def keep_old(self):
        """Another name for what will be replaced, until `drop_old`; who is killed leaves a leftover."""
        if self._temporary and not self._is_new:
            folder, name = os.path.split(self._path)
            old = os.path.join(folder, _prefix(name) + secrets.token_hex(8))
            with contextlib.suppress(OSError):  # file systems without links: there is no way back
                os.link(self._path, old)
                self._old = old

    def drop_old(self):
        if self._old:
            with contextlib.suppress(OSError):
                os.remove(self._old)
            self._old = None

    def revert(self):
        """Undoes commit, also one that was interrupted. Without effect where nothing was renamed."""
        if self._new is None or os.path.lexists(self._new):
            return
        with contextlib.suppress(OSError):
            if self._is_new:
                os.remove(self._path)
            elif self._old:
                os.replace(self._old, self._path)
                self._old = None

    def commit(self):
        if self._temporary:
            os.replace(self._temporary, self._path)
            self._temporary = None
        self.file.close()

    def abandon(self):
        """Without effect after commit."""
        if self._temporary:
            with contextlib.suppress(OSError):
                os.remove(self._temporary)
            self._temporary = None
        with contextlib.suppress(OSError):
            self.file.close()

    def folder(self):
        return os.path.dirname(self._path)


def _commit_all(asides):
    """Renames all, or, where one cannot be renamed or Ctrl-C comes between two, none."""
    if len(asides) < 2:
        return asides[0].commit() if asides else None
    try:
        for aside in asides:
            aside.keep_old()
        for aside in asides:
            aside.commit()
    except BaseException:
        for aside in asides:
            aside.revert()
        raise
    finally:
        for aside in asides:
            aside.drop_old()


@contextlib.contextmanager
def atomic_writers(*paths):
    """Context that gives a binary file to write for each path; on a clean exit the paths name the whole
    new contents.

    The bytes go to temporary files in the same folders. All of them are synced before the first is
    renamed over its path, in the order of `paths`; if the block raises, or the process dies, before
    that, every path keeps what it had, and so it does if a rename fails. Folders are created. Symbolic links keep pointing where they
    did; a device or pipe is written directly. A new file has the permissions of the one it replaces; who
    may not write that gets PermissionError, though it is the folder that a rename changes.
    """
    with contextlib.ExitStack() as stack:
        asides = []
        for path in paths:
            asides.append(_Aside(path))
            stack.callback(asides[-1].abandon)
        yield tuple(aside.file for aside in asides)
        for aside in asides:
            aside.sync()
        _commit_all(asides)
        for folder in {aside.folder(): None for aside in asides}:
            _sync_folder(folder)


@contextlib.contextmanager
def atomic_writer(path):
    """atomic_writers of one path."""
    with atomic_writers(path) as (file,):
        yield file
