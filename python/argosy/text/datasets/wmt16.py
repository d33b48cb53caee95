"""WMT16: descriptions of images in English and German (Multi30K)."""

import collections

from argosy._support import check_choice

from . import _read
from ._rows import Translations

__all__ = []

_MARKS = ("<s>", "<e>", "<unk>")
_WORDS = {"en": 11250, "de": 19220}  # in the training part, with the marks


class WMT16(Translations):
    """Multi30K, 29,000 pairs of sentences in English and German (Elliott et al., 2016).

    A sample is three int64 arrays: source with "<s>" and "<e>", target with "<s>" before it, target
    with "<e>" after it.

    Args:
        data_file (str|None): archive; None looks for ``wmt16.tar.gz`` in the usual folders.
        mode (str): "train", "test" or "val". Default "train".
        src_dict_size (int): words of the source language that are used, the three marks among them;
            others are "<unk>". Must be given.
        trg_dict_size (int): the same of the target language.
        lang (str): language of the source, "en" or "de". Default "en".
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: there is no such file; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        AssertionError: unknown mode or language, or a size that is not positive.
        ValueError: the archive is damaged.

    Examples:
        >>> argosy.text.WMT16(data_file="no-such-file", src_dict_size=10, trg_dict_size=10)
        Traceback (most recent call last):
        FileNotFoundError: [WMT16] no such file: data_file='no-such-file'
    """

    def __init__(
        self,
        data_file=None,
        mode="train",
        src_dict_size=-1,
        trg_dict_size=-1,
        lang="en",
        download=True,
    ):
        self.mode = _read.check_mode("WMT16", mode, ("train", "test", "val"))
        self.data_file = _read.locate("WMT16", data_file, "wmt16", "wmt16.tar.gz", download)
        check_choice("WMT16", "lang", lang, _WORDS, AssertionError)
        assert min(src_dict_size, trg_dict_size) > 0, (
            f"[WMT16] expected positive src_dict_size and trg_dict_size, got {src_dict_size} and "
            f"{trg_dict_size}. Do this: pass the numbers of words to use."
        )
        self.lang = lang
        other = "de" if lang == "en" else "en"
        self.src_dict_size = min(src_dict_size, _WORDS[lang])
        self.trg_dict_size = min(trg_dict_size, _WORDS[other])
        self.src_ids, self.trg_ids, self.trg_ids_next = [], [], []
        with _read.Archive("WMT16", self.data_file) as archive:

            def pairs(part):
                for line in archive.open(f"wmt16/{part}"):
                    columns = line.decode().strip().split("\t")
                    if len(columns) == 2:
                        words = dict(zip(("en", "de"), (column.split() for column in columns)))
                        yield words[lang], words[other]

            counts = collections.Counter(), collections.Counter()
            for pair in pairs("train"):
                for counter, words in zip(counts, pair):
                    counter.update(words)
            self.src_dict = _dictionary(counts[0], self.src_dict_size)
            self.trg_dict = _dictionary(counts[1], self.trg_dict_size)
            start, end, unknown = range(3)
            for source, target in pairs(self.mode):
                source = [self.src_dict.get(word, unknown) for word in source]
                target = [self.trg_dict.get(word, unknown) for word in target]
                self.src_ids.append([start, *source, end])
                self.trg_ids.append([start, *target])
                self.trg_ids_next.append([*target, end])

    def get_dict(self, lang, reverse=False):
        r"""The dictionary of a language.

        Args:
            lang (str): "en" or "de".
            reverse (bool): from numbers to words, else from words to numbers.

        Returns:
            dict.

        Examples:
            >>> import io, os, tarfile, tempfile
            >>> path = os.path.join(tempfile.mkdtemp(), "wmt16.tar.gz")
            >>> with tarfile.open(path, "w:gz") as archive:
            ...     text = b"a dog\tein Hund"
            ...     entry = tarfile.TarInfo("wmt16/train")
            ...     entry.size = len(text)
            ...     archive.addfile(entry, io.BytesIO(text))
            >>> data = argosy.text.WMT16(path, src_dict_size=9, trg_dict_size=9)
            >>> sorted(data.get_dict("de"))
            ['<e>', '<s>', '<unk>', 'Hund', 'ein']
            >>> data.get_dict("en", reverse=True)[3]
            'a'
        """
        words = self.src_dict if lang == self.lang else self.trg_dict
        return {i: word for word, i in words.items()} if reverse else words


def _dictionary(counter, size):
    """The marks, then words by falling frequency, equal ones as they were first met."""
    words = [word for word, _ in counter.most_common(max(size - len(_MARKS), 0))]
    return {word: i for i, word in enumerate([*_MARKS, *words])}
