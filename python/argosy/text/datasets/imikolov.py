"""Penn Treebank as prepared by Mikolov: sentences for language models."""

import collections

from argosy._support import check_choice

from . import _read
from ._rows import Rows

__all__ = []


class Imikolov(Rows):
    """Sentences of the Penn Treebank as prepared by Mikolov ("simple-examples").

    With data_type "NGRAM" a sample is `window_size` arrays of one word number each, for every
    window over "<s>", sentence, "<e>"; with "SEQ" it is two arrays: "<s>" with the sentence, and the
    sentence with "<e>". ``word_idx`` maps words (bytes; the marks are str) to numbers, the most
    frequent in the training and validation part first, and "<unk>" to the last one.

    Args:
        data_file (str|None): archive; None looks for ``simple-examples.tgz`` in the usual folders.
        data_type (str): "NGRAM" or "SEQ". Default "NGRAM".
        window_size (int): words in a window; for "SEQ" the longest sentence kept (with its mark),
            if positive. Default -1.
        mode (str): "train" or "test". Default "train".
        min_word_freq (int): words that do not occur more often are "<unk>". Default 50.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: there is no such file; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        AssertionError: unknown `data_type`, or "NGRAM" without `window_size`.
        ValueError: the archive is damaged, or no word is frequent enough.

    Examples:
        >>> argosy.text.Imikolov(data_file="no-such-file", window_size=2)
        Traceback (most recent call last):
        FileNotFoundError: [Imikolov] no such file: data_file='no-such-file'
    """

    def __init__(
        self,
        data_file=None,
        data_type="NGRAM",
        window_size=-1,
        mode="train",
        min_word_freq=50,
        download=True,
    ):
        self.data_type = data_type.upper()
        check_choice("Imikolov", "data_type", self.data_type, ("NGRAM", "SEQ"), AssertionError)
        self.mode = _read.check_mode("Imikolov", mode, ("train", "test"))
        self.window_size = window_size
        self.min_word_freq = min_word_freq
        self.data_file = _read.locate(
            "Imikolov", data_file, "imikolov", "simple-examples.tgz", download
        )
        with _read.Archive("Imikolov", self.data_file) as archive:

            def sentences(part):
                with archive.open(f"simple-examples/data/ptb.{part}.txt") as file:
                    return [line.split() for line in file]

            counts = collections.Counter()
            for part in ("train", "valid"):
                counts = _count(sentences(part), counts)
            self.word_idx = _read.by_frequency("Imikolov", counts, min_word_freq)
            cut = self._windows if self.data_type == "NGRAM" else self._sequence
            self.data = [sample for words in sentences(self.mode) for sample in cut(words)]

    def word_count(self, f, word_freq=None):
        """How often each word is in lines; "<s>" and "<e>" count once for each line.

        Args:
            f: the lines, an open file or a list.
            word_freq (dict, optional): counts that these are added to.

        Returns:
            dict.

        Examples:
            >>> counts = argosy.text.Imikolov.word_count(None, ["a b a"])
            >>> counts["a"], counts["<s>"]
            (2, 1)
        """
        counts = collections.defaultdict(int) if word_freq is None else word_freq
        return _count((line.split() for line in f), counts)

    def _numbers(self, words):
        unknown = self.word_idx["<unk>"]
        return [self.word_idx.get(word, unknown) for word in words]

    def _windows(self, words):
        assert self.window_size > -1, (
            f"[Imikolov] NGRAM: expected window_size >= 0, got {self.window_size}."
            " Do this: pass the number of words in a window."
        )
        numbers = self._numbers(["<s>", *words, "<e>"])
        for end in range(self.window_size, len(numbers) + 1):
            yield tuple(numbers[end - self.window_size : end])

    def _sequence(self, words):
        numbers = self._numbers(words)
        if not 0 < self.window_size < len(numbers) + 1:
            yield [self.word_idx["<s>"], *numbers], [*numbers, self.word_idx["<e>"]]


def _count(lines, counts):
    for words in lines:
        for word in (*words, "<s>", "<e>"):
            counts[word] += 1
    return counts
