"""Data sets whose samples lie in lists."""

import numpy as np

from argosy.io import Dataset


class Rows(Dataset):
    """Samples are rows of self.data: a tuple of an array for each part."""

    def __getitem__(self, idx):
        return tuple(np.array(part) for part in self.data[idx])

    def __len__(self):
        return len(self.data)


class Translations(Dataset):
    """Samples are the numbers of a sentence's words, of its translation's, and of the translation's
    moved by one."""

    def __getitem__(self, idx):
        parts = (self.src_ids, self.trg_ids, self.trg_ids_next)
        return tuple(np.array(part[idx]) for part in parts)

    def __len__(self):
        return len(self.src_ids)
