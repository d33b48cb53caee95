"""Generators of MultiSlot text: see DataGenerator."""

from __future__ import annotations

import sys


class DataGenerator:
    r"""Turns lines of any form into lines of MultiSlot text.

    A subclass of MultiSlotDataGenerator or MultiSlotStringDataGenerator defines ``generate_sample``; a
    script that ends with ``MyData().run_from_stdin()`` is then a pipe_command::

        dataset.init(pipe_command="python my_data.py", ..)

    Examples:
        >>> from argosy.distributed.fleet import MultiSlotDataGenerator
        >>> class Words(MultiSlotDataGenerator):
        ...     def generate_sample(self, line):
        ...         def samples():
        ...             words = [int(word) for word in (line or "7 8").split()]
        ...             yield [("words", words), ("label", [1])]
        ...
        ...         return samples
        ...
        ...     def generate_batch(self, samples):
        ...         return lambda: iter(samples)
        >>> data = Words()
        >>> data.set_batch(16)
        >>> data.run_from_memory()
        2 7 8 1 1
        >>> import io, sys
        >>> sys.stdin = io.StringIO("1\n2 3\n")
        >>> data.run_from_stdin()
        1 1 1 1
        2 2 3 1 1
    """

    def __init__(self):
        self._proto_info = None  # (name, 'uint64' or 'float') of each slot, of the lines so far
        self.batch_size_ = 32

    def set_batch(self, batch_size):
        """Says how many samples :meth:`generate_batch` gets at a time.

        Args:
            batch_size (int): the number; 32 at first.
        """
        self.batch_size_ = batch_size

    def run_from_memory(self):
        """Writes what ``generate_sample(None)`` gives to stdout."""
        self._run([None])

    def run_from_stdin(self):
        """Writes what ``generate_sample`` gives for each line of stdin to stdout."""
        self._run(sys.stdin)

    def _run(self, lines):
        waiting = []
        write = sys.stdout.write
        for line in lines:
            for sample in self.generate_sample(line)():
                if sample is None:
                    continue
                waiting.append(sample)
                if len(waiting) == self.batch_size_:
                    for made in self.generate_batch(waiting)():
                        write(self._gen_str(made))
                    waiting = []
        if waiting:
            for made in self.generate_batch(waiting)():
                write(self._gen_str(made))
        sys.stdout.flush()

    def generate_sample(self, line):
        """To be defined: the samples of a line.

        Args:
            line (str): With its end of line; None in run_from_memory.

        Returns:
            function: Without arguments; an iterator over samples, each a list (or tuple) of
            (name of the slot, list of its values), or None for nothing.

        Raises:
            NotImplementedError: the subclass has none.
        """
        raise NotImplementedError(
            f"[{type(self).__name__}] generate_sample(line) is not defined. Do this: define it; it"
            " returns a function that yields lists [(name, [value, ..]), ..]."
        )

    def generate_batch(self, samples):
        """May be defined: what becomes of so many samples, such as padding to one length.

        Args:
            samples (list): Of generate_sample.

        Returns:
            function: As of generate_sample.
        """

        def unchanged():
            yield from samples

        return unchanged

    def _gen_str(self, line):
        raise NotImplementedError(
            "[DataGenerator] how samples become text is not defined. Do this: derive from"
            " MultiSlotDataGenerator or MultiSlotStringDataGenerator."
        )


def _fields(line, example):
    if isinstance(line, zip):
        line = list(line)
    if not isinstance(line, (list, tuple)):
        raise ValueError(
            f"[generate_sample] a sample must be a list or tuple such as {example}, got"
            f" {type(line).__name__}."
        )
    return line


class MultiSlotStringDataGenerator(DataGenerator):
    """For values that are text already: nothing is checked, so it is the faster one."""

    def _gen_str(self, line):
        line = _fields(line, "[('words', ['1926', '8']), ('label', ['1'])]")
        return " ".join(" ".join([str(len(values)), *values]) for _, values in line) + "\n"


class MultiSlotDataGenerator(DataGenerator):
    """For values that are ints or floats; every sample must have the same slots in the same order."""

    def _gen_str(self, line):
        line = _fields(line, "[('words', [1926, 8]), ('label', [1])]")
        info = self._proto_info
        if info is None:
            info = self._proto_info = [None] * len(line)
        if len(line) != len(info):
            raise ValueError(
                f"[generate_sample] every sample must have the same slots: expected {len(info)}, got"
                f" {len(line)}."
            )
        words = []
        for place, (name, values) in enumerate(line):
            info[place] = _checked(info[place], name, values)
            words.append(str(len(values)))
            words.extend(map(str, values))
        return " ".join(words) + "\n"


def _checked(known, name, values):
    """(name, type) of a slot, with what this sample has in it."""
    if not isinstance(name, str):
        raise ValueError(f"[generate_sample] the name of a slot must be a str, got {name!r}.")
    if not isinstance(values, list):
        raise ValueError(
            f"[generate_sample] the values of '{name}' must be a list, got {type(values).__name__}."
        )
    if not values:
        raise ValueError(
            f"[generate_sample] the values of '{name}' are empty. Do this: give padding, such as [0]."
        )
    if known is not None and known[0] != name:
        raise ValueError(
            f"[generate_sample] every sample must have the same slots: expected '{known[0]}', got"
            f" '{name}'."
        )
    kind = "uint64" if known is None else known[1]
    for value in values:
        if isinstance(value, float):
            kind = "float"
        elif not isinstance(value, int):
            raise ValueError(
                f"[generate_sample] values of '{name}' must be ints or floats, got {value!r}."
            )
    return name, kind
