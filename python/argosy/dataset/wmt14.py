"""Readers of WMT14, English to French. New programs use ``text.WMT14``."""

from ..text.datasets.wmt14 import WMT14
from ._over import as_lists, reader_over

__all__ = ["gen", "get_dict", "test", "train"]


def train(dict_size, data_file=None):
    """A reader of the part 'train'.

    Args:
        dict_size (int): how many words each dictionary has.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives numbers of the words of a sentence, of its translation, and of that moved by one.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt14.train(10, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT14] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: WMT14(data_file, "train", dict_size), as_lists)


def test(dict_size, data_file=None):
    """A reader of the part 'test'.

    Args:
        dict_size (int): how many words each dictionary has.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives numbers of the words of a sentence, of its translation, and of that moved by one.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt14.test(10, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT14] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: WMT14(data_file, "test", dict_size), as_lists)


def gen(dict_size, data_file=None):
    """A reader of the part 'gen'.

    Args:
        dict_size (int): how many words each dictionary has.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives numbers of the words of a sentence, of its translation, and of that moved by one.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt14.gen(10, "no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT14] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: WMT14(data_file, "gen", dict_size), as_lists)


def get_dict(dict_size, reverse=True, data_file=None):
    """The dictionaries.

    Args:
        dict_size (int): how many words each has.
        reverse (bool): from numbers to words, else from words to numbers.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        tuple: The source dictionary and the target dictionary.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt14.get_dict(10, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT14] no such file: data_file='no-such-file'
    """
    return WMT14(data_file, "train", dict_size).get_dict(reverse)
