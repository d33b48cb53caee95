"""What the data sets share: finding files, members of archives, counts of words."""

import tarfile
import zipfile


def locate(data_set, given, name, file_name, download, argument="data_file"):
    """Path of the file given, or of `file_name` in the folders for data sets (see the error)."""
    from ...vision.datasets import _files

    return _files.locate(data_set, argument, given, name, file_name, download)


def check_mode(data_set, mode, modes):
    from ...vision.datasets import _files

    return _files.check_mode(data_set, mode, modes)


def _broken(data_set, path, why):
    return ValueError(
        f"[{data_set}] {path} cannot be read: {why}. Do this: pass the archive as published."
    )


class Archive:
    """A tar or zip archive whose members are asked for by name; to be used in ``with``."""

    def __init__(self, data_set, path):
        self._data_set, self._path = data_set, path
        try:
            self._zip = zipfile.ZipFile(path) if zipfile.is_zipfile(path) else None
            self._tar = None if self._zip else tarfile.open(path)
        except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
            raise _broken(data_set, path, error) from error

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        (self._zip or self._tar).close()

    def names(self):
        """Names of the members, in the order of the archive."""
        return self._zip.namelist() if self._zip else self._tar.getnames()

    def open(self, name):
        """The member `name` as a binary file. Leading "./" does not matter."""
        for own in (name, f"./{name}"):
            try:
                file = self._zip.open(own) if self._zip else self._tar.extractfile(own)
            except KeyError:
                continue
            if file is not None:
                return file
        raise _broken(self._data_set, self._path, f"it has no file {name!r}")


def by_frequency(data_set, counts, at_least):
    """Words that occur more than `at_least` times, numbered from the most frequent one on (equal
    ones by their letters). "<unk>" comes last."""
    kept = [(-n, w if isinstance(w, bytes) else w.encode(), w) for w, n in counts.items()
            if n > at_least]  # fmt: skip
    if not kept:
        raise ValueError(
            f"[{data_set}] no word occurs more than {at_least} times."
            " Do this: pass a smaller number."
        )
    index = {word: i for i, (_, _, word) in enumerate(sorted(kept))}
    index["<unk>"] = len(index)
    return index
