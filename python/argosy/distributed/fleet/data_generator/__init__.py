"""Generators of MultiSlot text: what runs as the pipe_command of a data set."""

from .data_generator import DataGenerator, MultiSlotDataGenerator, MultiSlotStringDataGenerator

__all__ = ["DataGenerator", "MultiSlotDataGenerator", "MultiSlotStringDataGenerator"]
