"""UCI housing: prices of houses around Boston."""

import numpy as np

from argosy import _core

from ...io import Dataset
from . import _read

__all__ = []

_COLUMNS = 14


class UCIHousing(Dataset):
    """UCI housing: 13 numbers about a suburb of Boston and the median price of its houses. The
    first four fifths of the lines are for training.

    A sample is (features [13], price [1]) in the default dtype; each feature is scaled to
    (value - mean) / (maximum - minimum) over the whole file.

    Args:
        data_file (str|None): text of 14 numbers for each house; None looks for ``housing.data``
            in the usual folders.
        mode (str): "train" or "test". Default "train".
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: there is no such file; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: the file does not hold 14 numbers for each house.

    Examples:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "housing.data")
        >>> np.savetxt(path, np.arange(70).reshape(5, 14))
        >>> data = argosy.text.UCIHousing(path, mode="test")
        >>> features, price = data[0]
        >>> len(data), features.shape, price.tolist()
        (1, (13,), [69.0])
    """

    def __init__(self, data_file=None, mode="train", download=True):
        self.mode = _read.check_mode("UCIHousing", mode, ("train", "test"))
        self.data_file = _read.locate(
            "UCIHousing", data_file, "uci_housing", "housing.data", download
        )
        with open(self.data_file) as file:
            table = np.array(file.read().split(), dtype="float64")
        if table.size == 0 or table.size % _COLUMNS:
            raise ValueError(
                f"[UCIHousing] {self.data_file}: expected {_COLUMNS} numbers for each house, got "
                f"{table.size} in all. Do this: pass the file as published."
            )
        table = table.reshape(-1, _COLUMNS)
        features = table[:, :-1]
        features -= features.mean(axis=0)
        features /= np.ptp(features, axis=0)
        split = int(len(table) * 0.8)
        self.data = table[:split] if self.mode == "train" else table[split:]
        self.dtype = _core.get_default_dtype()

    def __getitem__(self, idx):
        row = self.data[idx].astype(self.dtype)
        return row[:-1], row[-1:]

    def __len__(self):
        return len(self.data)
