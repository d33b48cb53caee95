"""Text: data sets, and decoding of label sequences."""

from argosy.text.viterbi_decode import ViterbiDecoder, viterbi_decode

from .datasets import WMT14, WMT16, Conll05st, Imdb, Imikolov, Movielens, UCIHousing

__all__ = [
    "Conll05st",
    "Imdb",
    "Imikolov",
    "Movielens",
    "UCIHousing",
    "WMT14",
    "WMT16",
    "ViterbiDecoder",
    "viterbi_decode",
]
