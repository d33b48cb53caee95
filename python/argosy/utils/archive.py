"""Tar and zip archives of strangers: members are checked before anything is read or written.

Nothing is left to `tarfile.extractall`, whose filters not every supported Python has. Names that
leave the folder, names that occur twice, and more data than an archive of its size plausibly holds
are refused. Only regular files are ever opened; `unpack` refuses archives that have anything else
beside folders.
"""

import bz2
import gzip
import lzma
import os
import shutil
import stat
import tarfile
import tempfile
import zipfile

__all__ = ["Archive", "ArchiveError", "DamagedArchiveError", "UnsafeArchiveError", "unpack"]

MEMBERS = 2_000_000
# All members together: so much for each byte of the archive, and this much in any case.
RATIO = 100
BYTES = 1 << 30
IN_MEMORY = 1 << 31  # a member that is read at once
_PIECE = 1 << 20
_NAME = 4096
_DEPTH = 64

_PACKED = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ\0", lzma.open))


class ArchiveError(ValueError):
    """An archive that cannot be used."""


class DamagedArchiveError(ArchiveError):
    """The archive is truncated, altered, or none."""


class UnsafeArchiveError(ArchiveError):
    """The archive would write beside its folder, has links or devices, or is far too large."""


class _Pieces:
    """A file that is not read in larger pieces than members are here.

    tarfile reads some headers at once, whatever size they claim.
    """

    def __init__(self, file):
        self._file = file
        self.seek, self.tell, self.close = file.seek, file.tell, file.close

    def read(self, size=-1):
        if not 0 <= size <= 4 * _PIECE:
            what = f"a header of {size} bytes"  # _translate makes it an error of ours
            raise tarfile.ReadError(what)
        return self._file.read(size)


class _Member:
    def __init__(self, name, path, size, info):
        self.name = name
        self.path = path  # parts, without "."
        self.size = size
        self.info = info


class Archive:
    """A tar or zip archive; to be used in ``with``.

    Args:
        path (str): The file.
        place (str): Who asks, for error messages.
        files_only (bool): Refuse links and devices; otherwise they are as if not there.

    Raises:
        DamagedArchiveError: it is no archive, or damaged.
        UnsafeArchiveError: see the module.

    Example:
        >>> import io, os, tempfile, zipfile
        >>> from argosy.utils.archive import Archive, unpack
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "data.zip")
        ...     with zipfile.ZipFile(path, "w") as file:
        ...         file.writestr("a/b.txt", "hello")
        ...     with Archive(path) as archive:
        ...         names, sizes = archive.names(), archive.files()
        ...         text, opened = archive.read("a/b.txt"), archive.open("a/b.txt").read()
        ...         archive.copy("a/b.txt", io.BytesIO().write)
        ...     top = unpack(path, folder)
        >>> names, sizes, text, opened, sorted(top)
        (['a/b.txt'], [(('a', 'b.txt'), 5)], b'hello', b'hello', ['a'])
    """

    def __init__(self, path, place="archive", files_only=False):
        self._path, self._place = path, place
        self._members, self._folders = {}, set()
        self._total = 0
        self._limit = max(BYTES, RATIO * os.path.getsize(path))
        self._zip = self._tar = None
        self._file = open(path, "rb")  # noqa: SIM115 - closed in __exit__
        try:
            if zipfile.is_zipfile(self._file):
                self._zip = zipfile.ZipFile(self._file)
                self._scan(map(self._zip_member, self._zip.infolist()), files_only)
            else:
                self._tar = tarfile.open(fileobj=_Pieces(self._unpacked()), mode="r:")
                self._scan(map(self._tar_member, self._tar), files_only)
        except BaseException as error:
            self._file.close()
            if isinstance(error, Exception):
                self._translate(error)
            raise

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        (self._zip or self._tar).close()
        self._file.close()

    def names(self):
        """Names of the files in it.

        Returns:
            list[str]: In the order of the archive.
        """
        return [member.name for member in self._members.values()]

    def files(self):
        """Paths and sizes of the files in it.

        Returns:
            list[tuple]: (path, size); the path is a tuple of parts that are safe to join to a folder.
        """
        return [(path, member.size) for path, member in self._members.items()]

    @property
    def total(self):
        """Bytes of all files."""
        return self._total

    def open(self, name):
        """Opens a file of it for reading.

        Args:
            name (str | tuple): Its name, where leading "./" does not matter, or its path.

        Returns:
            A binary file.

        Raises:
            DamagedArchiveError: There is no such file, or it is damaged.
        """
        member = self._members.get(name if isinstance(name, tuple) else _parts(name))
        if member is None:
            self._fail(f"it has no file {name!r}")
        try:
            return (self._zip.open if self._zip else self._tar.extractfile)(member.info)
        except Exception as error:
            self._translate(error)

    def read(self, name):
        """The bytes of a file of it.

        Args:
            name (str | tuple): Its name or path.

        Returns:
            bytes: All of them.
        """
        pieces = []
        self.copy(name, pieces.append, IN_MEMORY)
        return b"".join(pieces)

    def copy(self, name, write, limit=None):
        """Gives a file of it away in pieces.

        Args:
            name (str | tuple): Its name or path.
            write (callable): Gets each piece, bytes.
            limit (int, optional): The most bytes that the file may have.
        """
        with self.open(name) as file:
            member = self._members[name if isinstance(name, tuple) else _parts(name)]
            if limit is not None and member.size > limit:
                self._refuse(f"{member.name!r} has {member.size} bytes", limit)
            left = member.size
            while left:
                try:
                    piece = file.read(min(left, _PIECE))
                except Exception as error:
                    self._translate(error)
                if not piece:
                    self._fail(f"{left} bytes of {member.name!r} are missing")
                left -= len(piece)
                write(piece)

    # Checks.

    def _unpacked(self):
        self._file.seek(0)
        start = self._file.read(6)
        self._file.seek(0)
        for mark, opener in _PACKED:
            if start.startswith(mark):
                return opener(self._file, "rb")
        return self._file

    def _zip_member(self, info):
        kind = stat.S_IFMT(info.external_attr >> 16)  # 0: written on a system without such
        is_file = kind in (0, stat.S_IFREG) and not info.is_dir()
        is_folder = info.is_dir() and kind in (0, stat.S_IFDIR, stat.S_IFREG)
        return info.filename, is_file, is_folder, info.file_size, info

    def _tar_member(self, info):
        return info.name, info.isreg(), info.isdir(), info.size, info

    def _scan(self, members, files_only):
        for count, (name, is_file, is_folder, size, info) in enumerate(members, 1):
            if count > MEMBERS:
                self._refuse("it has too many members", MEMBERS)
            if not is_file and not is_folder:
                if files_only:
                    self._refuse(f"{name!r} is a link or device", "files and folders")
                continue
            path = _parts(name)
            if path is None or (is_file and not path):
                self._refuse(f"the name {name[:200]!r} is unsafe", "a name below the folder")
            self._add_folders(name, path if is_folder else path[:-1])
            if is_folder:
                continue
            if path in self._members or path in self._folders:
                self._refuse(f"{name!r} is there twice", "one member of a name")
            if size < 0 or self._total + size > self._limit:
                self._refuse(f"its members have more than {self._total + size} bytes", self._limit)
            self._total += size
            self._members[path] = _Member(name, path, size, info)

    def _add_folders(self, name, path):
        while path and path not in self._folders:
            if path in self._members:
                self._refuse(f"{name!r} is below a file", "folders above files")
            self._folders.add(path)
            path = path[:-1]

    def _fail(self, why, cause=None):
        raise DamagedArchiveError(
            f"[{self._place}] {self._path} cannot be read, it is damaged or no archive: {why}."
            " Do this: fetch the archive again, as published."
        ) from cause

    def _refuse(self, why, expected):
        if isinstance(expected, int):
            expected = f"at most {expected}"
        raise UnsafeArchiveError(
            f"[{self._place}] {self._path} is not safe to use: {why}, expected {expected}. "
            "Do this: check where it comes from; if you trust it, unpack it by hand."
        )

    def _translate(self, error):
        """Raises what a damaged archive does to the standard library as one type."""
        if isinstance(error, ArchiveError):
            raise error
        what = f"{type(error).__name__}: {str(error)[:200]}"
        self._fail(what, error)


def _parts(name):
    """Parts of a member's path, without "."; None if it could lead out of a folder anywhere."""
    if len(name) > _NAME or name.startswith("/") or any(c in name for c in "\\\0"):
        return None
    path = tuple(part for part in name.split("/") if part not in ("", "."))
    bad = len(path) > _DEPTH or any(part == ".." or part[1:2] == ":" for part in path)
    return None if bad else path


def unpack(path, folder, place="unpack"):
    """Unpacks an archive: all of it, or nothing.

    Files of the same names are replaced. Modes and owners of the archive do not count.

    Args:
        path (str): The archive.
        folder (str): To where; it must be there.
        place (str): Who asks, for error messages.

    Returns:
        list: Names of what came to the top of `folder`.

    Raises:
        ArchiveError: as for `Archive`; also if it does not fit on the disk.

    Example:
        >>> import tarfile, tempfile
        >>> from argosy.utils.archive import unpack
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tarfile.open(folder + "/empty.tar", "w").close()
        ...     unpack(folder + "/empty.tar", folder)
        []
    """
    root = os.path.realpath(folder)
    with (
        Archive(path, place, files_only=True) as archive,
        tempfile.TemporaryDirectory(prefix=".unpack-", dir=root) as aside,
    ):
        free = shutil.disk_usage(root).free
        if archive.total > free:
            archive._refuse(f"its members have {archive.total} bytes", free)
        for parts, _ in archive.files():
            target = os.path.join(aside, *parts)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "xb") as file:
                archive.copy(parts, file.write)
        targets = [(parts, os.path.join(root, *parts)) for parts, _ in archive.files()]
        for parts, target in targets:
            # A link that somebody has put there before.
            if os.path.realpath(os.path.dirname(target)) != os.path.dirname(target):
                archive._refuse(f"{os.path.dirname(target)} is a link", "a folder")
        for parts, target in targets:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            os.replace(os.path.join(aside, *parts), target)
        return sorted({parts[0] for parts, _ in archive.files()})
