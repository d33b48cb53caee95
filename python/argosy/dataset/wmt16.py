"""Readers of WMT16, English and German. New programs use ``text.WMT16``."""

from ..text.datasets.wmt16 import WMT16
from ._over import as_lists, reader_over

__all__ = ["get_dict", "test", "train", "validation"]


def train(src_dict_size, trg_dict_size, src_lang="en", data_file=None):
    """A reader of the part 'train'.

    Args:
        src_dict_size, trg_dict_size (int): how many words the dictionaries have.
        src_lang (str): 'en' or 'de', which is translated into the other.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives numbers of the words of a sentence, of its translation, and of that moved by one.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt16.train(10, 10, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT16] no such file: data_file='no-such-file'
    """
    return reader_over(
        lambda: WMT16(data_file, "train", src_dict_size, trg_dict_size, src_lang), as_lists
    )


def test(src_dict_size, trg_dict_size, src_lang="en", data_file=None):
    """A reader of the part 'test'.

    Args:
        src_dict_size, trg_dict_size (int): how many words the dictionaries have.
        src_lang (str): 'en' or 'de', which is translated into the other.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives numbers of the words of a sentence, of its translation, and of that moved by one.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt16.test(10, 10, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT16] no such file: data_file='no-such-file'
    """
    return reader_over(
        lambda: WMT16(data_file, "test", src_dict_size, trg_dict_size, src_lang), as_lists
    )


def validation(src_dict_size, trg_dict_size, src_lang="en", data_file=None):
    """A reader of the part 'val'.

    Args:
        src_dict_size, trg_dict_size (int): how many words the dictionaries have.
        src_lang (str): 'en' or 'de', which is translated into the other.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        callable: Without arguments; it gives numbers of the words of a sentence, of its translation, and of that moved by one.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt16.validation(10, 10, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT16] no such file: data_file='no-such-file'
    """
    return reader_over(
        lambda: WMT16(data_file, "val", src_dict_size, trg_dict_size, src_lang), as_lists
    )


def get_dict(lang, dict_size, reverse=False, data_file=None):
    """The dictionary of a language.

    Args:
        lang (str): 'en' or 'de'.
        dict_size (int): how many words it has.
        reverse (bool): from numbers to words, else from words to numbers.
        data_file (str, optional): the archive; None looks for it in the usual folders.

    Returns:
        dict: As asked.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.wmt16.get_dict("en", 10, data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [WMT16] no such file: data_file='no-such-file'
    """
    return WMT16(data_file, "train", dict_size, dict_size, lang).get_dict(lang, reverse)
