"""Old address of data sets: readers over those of `text` and `vision.datasets`, from local files."""

from . import (
    cifar,
    common,
    conll05,
    image,
    imdb,
    imikolov,
    mnist,
    movielens,
    uci_housing,
    voc2012,
    wmt14,
    wmt16,
)

__all__ = [
    "cifar",
    "common",
    "conll05",
    "image",
    "imdb",
    "imikolov",
    "mnist",
    "movielens",
    "uci_housing",
    "voc2012",
    "wmt14",
    "wmt16",
]
