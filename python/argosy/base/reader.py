"""Loaders of batches that a generator makes, under their old names."""

from argosy.io import DataLoader
from argosy.io.dataloader.generated import GeneratorLoader, PyReader

__all__ = ["PyReader", "DataLoader", "GeneratorLoader"]
