"""Data sets for Executor.train_from_dataset."""

from .base import DatasetBase, FileInstantDataset, QueueDataset
from .memory import BoxPSDataset, InMemoryDataset

__all__ = [
    "BoxPSDataset", "DatasetBase", "FileInstantDataset", "InMemoryDataset", "QueueDataset",
]  # fmt: skip
