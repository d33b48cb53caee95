"""What the data sets share: finding files, members of archives, counts of words."""

import gzip
import io
import zlib

from ...utils import archive

_LARGEST = 1 << 30  # bytes that a gzip file in an archive unpacks to


def locate(data_set, given, name, file_name, download, argument="data_file"):
    """Path of the file given, or of `file_name` in the folders for data sets (see the error)."""
    from ...vision.datasets import _files

    return _files.locate(data_set, argument, given, name, file_name, download)


def check_mode(data_set, mode, modes):
    from ...vision.datasets import _files

    return _files.check_mode(data_set, mode, modes)


def Archive(data_set, path):  # noqa: N802 - a class to its users
    return archive.Archive(path, data_set)


def unzipped_lines(data_set, archive, name):
    """Lines of a gzip file in an archive."""
    try:
        with gzip.open(io.BytesIO(archive.read(name))) as file:
            text = file.read(_LARGEST + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise ValueError(
            f"[{data_set}] {name} in the archive is damaged: {error}."
            " Do this: pass the archive as published."
        ) from error
    if len(text) > _LARGEST:
        raise ValueError(
            f"[{data_set}] {name} in the archive unpacks to more than {_LARGEST} bytes."
            " Do this: check where the archive comes from."
        )
    return text.decode().splitlines()


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
