"""Data sets, where fleet programs look for them."""

from argosy.distributed._dataset import (
    BoxPSDataset,
    DatasetBase,
    FileInstantDataset,
    InMemoryDataset,
    QueueDataset,
)

__all__ = [
    "BoxPSDataset", "DatasetBase", "FileInstantDataset", "InMemoryDataset", "QueueDataset",
]  # fmt: skip
