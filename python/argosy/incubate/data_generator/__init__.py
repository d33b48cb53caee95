"""Generators of MultiSlot text, under their old name."""

from argosy.distributed.fleet.data_generator import (
    DataGenerator,
    MultiSlotDataGenerator,
    MultiSlotStringDataGenerator,
)

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]
