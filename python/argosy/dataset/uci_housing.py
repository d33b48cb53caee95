"""Readers of UCI housing. New programs use ``text.UCIHousing``."""

from ..text import UCIHousing

__all__ = ["feature_names", "predict_reader", "test", "train"]

feature_names = [
    "CRIM", "ZN", "INDUS", "CHAS", "NOX", "RM", "AGE", "DIS", "RAD", "TAX", "PTRATIO", "B", "LSTAT",
]  # fmt: skip


def _reader(mode, data_file):
    rows = UCIHousing(data_file, mode=mode).data

    def reader():
        for row in rows:
            yield row[:-1], row[-1:]

    return reader


def train(data_file=None):
    """A reader of the houses for training: (scaled features, float64 [13]; price, float64 [1]).

    Args:
        data_file (str, optional): the text; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "housing.data")
        >>> np.savetxt(path, np.arange(70).reshape(5, 14))
        >>> [price.tolist() for features, price in argosy.dataset.uci_housing.train(path)()]
        [[13.0], [27.0], [41.0], [55.0]]
    """
    return _reader("train", data_file)


def test(data_file=None):
    """A reader of the houses for testing, as :func:`train`.

    Args:
        data_file (str, optional): the text; None looks for it in the usual folders.

    Returns:
        callable: gives an iterator over the samples.

    Examples:
        >>> argosy.dataset.uci_housing.test("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [UCIHousing] no such file: data_file='no-such-file'
    """
    return _reader("test", data_file)


def predict_reader(data_file=None):
    """The features of the first house for testing, alone in a tuple.

    Args:
        data_file (str, optional): the text; None looks for it in the usual folders.

    Returns:
        tuple: One array [13].

    Examples:
        >>> argosy.dataset.uci_housing.predict_reader("no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [UCIHousing] no such file: data_file='no-such-file'
    """
    features, _ = next(test(data_file)())
    return (features,)
