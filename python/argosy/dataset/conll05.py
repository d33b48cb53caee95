"""Readers of CoNLL-2005, roles in sentences. New programs use ``text.Conll05st``."""

from ..text.datasets.conll05 import Conll05st
from ._over import as_lists, reader_over

__all__ = ["get_dict", "get_embedding", "test"]


def get_dict(**files):
    """The dictionaries.

    Args:
        files: data_file, word_dict_file, verb_dict_file, target_dict_file and emb_file as of ``text.Conll05st``.

    Returns:
        tuple: Those of words, of verbs and of labels, each from text to number.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.conll05.get_dict(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Conll05st] no such file: data_file='no-such-file'
    """
    return Conll05st(**files).get_dict()


def get_embedding(**files):
    """Where the vectors of the words are.

    Args:
        files: data_file, word_dict_file, verb_dict_file, target_dict_file and emb_file as of ``text.Conll05st``.

    Returns:
        str: The path.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.conll05.get_embedding(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Conll05st] no such file: data_file='no-such-file'
    """
    return Conll05st(**files).get_embedding()


def test(**files):
    """A reader of the samples that are published, those for testing.

    Args:
        files: data_file, word_dict_file, verb_dict_file, target_dict_file and emb_file as of ``text.Conll05st``.

    Returns:
        callable: Without arguments; it gives nine lists for each verb of a sentence, as ``text.Conll05st``.

    Raises:
        FileNotFoundError: an archive is not there.

    Examples:
        >>> argosy.dataset.conll05.test(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Conll05st] no such file: data_file='no-such-file'
    """
    return reader_over(lambda: Conll05st(**files), as_lists)
