"""Helpers for files of data sets."""

import glob
import itertools
import os
import pickle

from argosy.utils.download import get_path_from_url, md5file

__all__ = ["DATA_HOME", "cluster_files_reader", "download", "md5file", "split"]

DATA_HOME = os.path.expanduser("~/.cache/paddle/dataset")


def download(url, module_name, md5sum, save_name=None):
    """Local path of ``url``, fetched into the folder ``module_name`` of DATA_HOME if it is not there.

    Args:
        url (str): Where the file is.
        module_name (str): Folder in DATA_HOME.
        md5sum (str): The file's MD5.
        save_name (str, optional): Name of the local file; None takes that of the URL.

    Returns:
        str: The path.

    Raises:
        RuntimeError: the file cannot be fetched or is damaged.
    """
    folder = os.path.join(DATA_HOME, module_name)
    saved = None if save_name is None else os.path.join(folder, save_name)
    if saved and os.path.exists(saved) and md5file(saved) == md5sum:
        return saved
    path = get_path_from_url(url, folder, md5sum, decompress=False)
    if saved and saved != path:
        os.replace(path, saved)
        return saved
    return path


def split(reader, line_count, suffix="%05d.pickle", dumper=pickle.dump):
    """Puts the samples of a reader into files.

    Args:
        reader (callable): without arguments; its call gives an iterator.
        line_count (int): samples of a file.
        suffix (str): names of the files, with a place for their number.
        dumper (callable): ``dumper(samples, file)`` writes a list to a file that is open for bytes.

    Raises:
        TypeError: reader or dumper cannot be called, or line_count is no int of 1 or more.

    Example:
        >>> import os, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> argosy.dataset.common.split(lambda: iter(range(5)), 2, folder + "/%d.pickle")
        >>> sorted(os.listdir(folder))
        ['0.pickle', '1.pickle', '2.pickle']
    """
    if not callable(reader) or not callable(dumper):
        raise TypeError(
            "[dataset.common.split] reader and dumper: expected functions. Do this: pass a function that gives"
            " an iterator, and pickle.dump."
        )
    if isinstance(line_count, bool) or not isinstance(line_count, int) or line_count < 1:
        raise TypeError(
            f"[dataset.common.split] line_count: expected an int of 1 or more, got {line_count!r}. Do this:"
            " correct it."
        )
    samples = iter(reader())
    for number in itertools.count():
        part = list(itertools.islice(samples, line_count))
        if not part:
            return
        with open(suffix % number, "wb") as file:
            dumper(part, file)


def cluster_files_reader(files_pattern, trainer_count, trainer_id, loader=pickle.load):
    """A reader over those of some files that belong to one of several trainers.

    Args:
        files_pattern (str): names of the files, as of glob.
        trainer_count (int): how many trainers.
        trainer_id (int): which one, from 0.
        loader (callable): ``loader(file)`` reads the samples of a file that is open for bytes.

    Returns:
        callable: Without arguments; it gives the samples of every trainer_count-th file, by name.

    Raises:
        TypeError: loader cannot be called.

    Example:
        >>> argosy.dataset.common.cluster_files_reader("no-such-*.pickle", 2, 0)().__next__()
        Traceback (most recent call last):
        StopIteration
    """
    if not callable(loader):
        raise TypeError(
            "[dataset.common.cluster_files_reader] loader: expected a function. Do this: pass pickle.load."
        )

    def reader():
        for i, path in enumerate(sorted(glob.glob(files_pattern))):
            if i % trainer_count == trainer_id:
                with open(path, "rb") as file:
                    yield from loader(file)

    return reader
