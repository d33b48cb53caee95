"""Readers of IMDB. New programs use ``text.Imdb``."""

import collections
import re

from ..text.datasets import _read
from ..text.datasets.imdb import words_of

__all__ = ["build_dict", "test", "tokenize", "train", "word_dict"]

_ALL = re.compile(r"aclImdb/((train)|(test))/((pos)|(neg))/.*\.txt$")


def tokenize(pattern, data_file=None):
    """The words of each review whose name in the archive matches.

    Args:
        pattern (re.Pattern): such as ``re.compile(r"aclImdb/train/pos/.*\\.txt$")``.
        data_file (str, optional): archive aclImdb; None looks for it in the usual folders.

    Returns:
        Iterator: Of lists of words (bytes), in the order of the archive.

    Examples:
        >>> next(argosy.dataset.imdb.tokenize(None, "no-such-file"))
        Traceback (most recent call last):
        FileNotFoundError: [Imdb] no such file: data_file='no-such-file'
    """
    path = _read.locate("Imdb", data_file, "imdb", "aclImdb_v1.tar.gz", True)
    with _read.Archive("Imdb", path) as archive:
        for name in archive.names():
            if pattern.match(name):
                yield words_of(archive.read(name))


def build_dict(pattern, cutoff, data_file=None):
    """Numbers of the words in the reviews whose names match, the most frequent first.

    Args:
        pattern (re.Pattern): see :func:`tokenize`.
        cutoff (int): words that do not occur more often are left out.
        data_file (str, optional): archive aclImdb; None looks for it in the usual folders.

    Returns:
        dict: From words (bytes) to numbers; "<unk>" is the last.

    Examples:
        >>> argosy.dataset.imdb.build_dict(None, 150, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imdb] no such file: data_file='no-such-file'
    """
    counts = collections.Counter()
    for words in tokenize(pattern, data_file):
        counts.update(words)
    return _read.by_frequency("Imdb", counts, cutoff)


def word_dict(data_file=None):
    """Numbers of the words that occur more than 150 times in all reviews.

    Args:
        data_file (str, optional): archive aclImdb; None looks for it in the usual folders.

    Returns:
        dict: From words (bytes) to numbers; "<unk>" is the last.

    Examples:
        >>> argosy.dataset.imdb.word_dict("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imdb] no such file: data_file='no-such-file'
    """
    return build_dict(_ALL, 150, data_file)


def _reader(mode, word_idx, data_file):
    unknown = word_idx["<unk>"]
    samples = [
        ([word_idx.get(word, unknown) for word in words], label)
        for label, kind in enumerate(("pos", "neg"))
        for words in tokenize(re.compile(rf"aclImdb/{mode}/{kind}/.*\.txt$"), data_file)
    ]
    return lambda: iter(samples)


def train(word_idx, data_file=None):
    """A reader of the reviews for training: (list of word numbers; 0 for positive, 1 for negative).

    Args:
        word_idx (dict): what :func:`word_dict` gave.
        data_file (str, optional): archive aclImdb; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples, the positive ones first.

    Examples:
        >>> argosy.dataset.imdb.train({"<unk>": 0}, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imdb] no such file: data_file='no-such-file'
    """
    return _reader("train", word_idx, data_file)


def test(word_idx, data_file=None):
    """A reader of the reviews for testing, as :func:`train`.

    Args:
        word_idx (dict): what :func:`word_dict` gave.
        data_file (str, optional): archive aclImdb; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples, the positive ones first.

    Examples:
        >>> argosy.dataset.imdb.test({"<unk>": 0}, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imdb] no such file: data_file='no-such-file'
    """
    return _reader("test", word_idx, data_file)
