"""Old address of data sets: readers over those of `text` and `vision.datasets`, from local files."""

from . import cifar, common, image, imdb, mnist, uci_housing

__all__ = ["cifar", "common", "image", "imdb", "mnist", "uci_housing"]
