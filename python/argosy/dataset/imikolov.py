"""Readers of the Penn Treebank as Mikolov prepared it. New programs use ``text.Imikolov``."""

from ..text.datasets import _read
from ..text.datasets.imikolov import Imikolov

__all__ = ["DataType", "build_dict", "test", "train"]


class DataType:
    """What samples are: windows of n words (NGRAM), or sentences and those moved by one (SEQ)."""

    NGRAM = 1
    SEQ = 2


def build_dict(min_word_freq=50, data_file=None):
    """Numbers of the words of the parts for training and validation, the most frequent first.

    Args:
        min_word_freq (int): words that do not occur more often are left out.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        dict: From words (bytes) to numbers; "<unk>" is the last.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.imikolov.build_dict(50, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imikolov] no such file: data_file='no-such-file'
    """
    return Imikolov(data_file, "SEQ", min_word_freq=min_word_freq).word_idx


class _Cut(Imikolov):
    """Cuts sentences by a dictionary that is given."""

    def __init__(self, word_idx, size):
        self.word_idx, self.window_size = word_idx, size


def _reader(part, word_idx, n, data_type, data_file):
    if data_type not in (DataType.NGRAM, DataType.SEQ):
        raise AssertionError(
            f"[imikolov] data_type: expected DataType.NGRAM or DataType.SEQ, got {data_type!r}. Do this: pass"
            " one of them."
        )
    path = _read.locate("Imikolov", data_file, "imikolov", "simple-examples.tgz", True)
    cut = _Cut(word_idx, n)
    samples = cut._windows if data_type == DataType.NGRAM else cut._sequence

    def reader():
        with _read.Archive("Imikolov", path) as archive:
            with archive.open(f"simple-examples/data/ptb.{part}.txt") as file:
                for line in file:
                    yield from samples(line.split())

    return reader


def train(word_idx, n, data_type=DataType.NGRAM, data_file=None):
    """A reader of the file ptb.train.txt.

    Args:
        word_idx (dict): see :func:`build_dict`.
        n (int): words of a window; sentences with more words are left out.
        data_type (int): of DataType.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives tuples of numbers of words, or pairs of lists.

    Raises:
        FileNotFoundError: the archive is not there. AssertionError: another data_type.

    Examples:
        >>> argosy.dataset.imikolov.train({}, 2, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imikolov] no such file: data_file='no-such-file'
    """
    return _reader("train", word_idx, n, data_type, data_file)


def test(word_idx, n, data_type=DataType.NGRAM, data_file=None):
    """A reader of the file ptb.valid.txt.

    Args:
        word_idx (dict): see :func:`build_dict`.
        n (int): words of a window; sentences with more words are left out.
        data_type (int): of DataType.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives tuples of numbers of words, or pairs of lists.

    Raises:
        FileNotFoundError: the archive is not there. AssertionError: another data_type.

    Examples:
        >>> argosy.dataset.imikolov.test({}, 2, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imikolov] no such file: data_file='no-such-file'
    """
    return _reader("valid", word_idx, n, data_type, data_file)
