"""IMDB: reviews of films, positive and negative."""

import collections
import string

import numpy as np

from ...io import Dataset
from . import _read

__all__ = []

_PUNCTUATION = string.punctuation.encode()


def words_of(review):
    """The words of a review, which is bytes: lower case without punctuation."""
    return review.translate(None, _PUNCTUATION).lower().split()


class Imdb(Dataset):
    """IMDB: 25,000 reviews for training and as many for testing (Maas et al., 2011).

    A sample is (word numbers int64 [words], label int64 [1]); label 0 is positive, 1 negative. Words
    are lower case without punctuation. ``word_idx`` maps words (bytes) to numbers, the most
    frequent first, and "<unk>" to the last one.

    Args:
        data_file (str|None): archive aclImdb; None looks for ``aclImdb_v1.tar.gz`` in the usual
            folders.
        mode (str): "train" or "test". Default "train".
        cutoff (int): words that do not occur more often are "<unk>". Default 150.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: there is no such file; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        ValueError: the archive is damaged, or no word is frequent enough.

    Examples:
        >>> argosy.text.Imdb(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Imdb] no such file: data_file='no-such-file'
    """

    def __init__(self, data_file=None, mode="train", cutoff=150, download=True):
        self.mode = _read.check_mode("Imdb", mode, ("train", "test"))
        self.data_file = _read.locate("Imdb", data_file, "imdb", "aclImdb_v1.tar.gz", download)
        counts = collections.Counter()
        own = {"pos": [], "neg": []}
        with _read.Archive("Imdb", self.data_file) as archive:
            for name in archive.names():
                parts = name.split("/")
                if parts[0] == ".":
                    del parts[0]
                known = len(parts) >= 4 and parts[0] == "aclImdb" and parts[1] in ("train", "test")
                if not known or parts[2] not in own or not name.endswith(".txt"):
                    continue
                words = words_of(archive.read(name))
                counts.update(words)
                if parts[1] == self.mode:
                    own[parts[2]].append(words)
        self.word_idx = _read.by_frequency("Imdb", counts, cutoff)
        unknown = self.word_idx["<unk>"]
        self.docs = [
            [self.word_idx.get(word, unknown) for word in words]
            for kind in ("pos", "neg")
            for words in own[kind]
        ]
        self.labels = [0] * len(own["pos"]) + [1] * len(own["neg"])

    def __getitem__(self, idx):
        return np.array(self.docs[idx]), np.array([self.labels[idx]])

    def __len__(self):
        return len(self.docs)
