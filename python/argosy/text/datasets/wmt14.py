"""WMT14: sentences in English and French."""

import itertools

from . import _read
from ._rows import Translations

__all__ = []

_START, _END, _UNKNOWN = "<s>", "<e>", 2
_LONGEST = 80


class WMT14(Translations):
    """A part of WMT14, English to French, prepared as word numbers.

    A sample is three int64 arrays: source with "<s>" and "<e>", target with "<s>" before it, target
    with "<e>" after it. Pairs with more than 80 words on a side are left out.

    Args:
        data_file (str|None): archive with the texts and both dictionaries; None looks for
            ``wmt14.tgz`` in the usual folders.
        mode (str): "train", "test" or "gen". Default "train".
        dict_size (int): words of each dictionary that are used; others are "<unk>". Must be given.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: there is no such file; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        AssertionError: unknown mode, or `dict_size` not positive.
        ValueError: the archive is damaged or lacks a dictionary.

    Examples:
        >>> argosy.text.WMT14(data_file="no-such-file", dict_size=10)
        Traceback (most recent call last):
        FileNotFoundError: [WMT14] no such file: data_file='no-such-file'
    """

    def __init__(self, data_file=None, mode="train", dict_size=-1, download=True):
        self.mode = _read.check_mode("WMT14", mode, ("train", "test", "gen"))
        self.data_file = _read.locate("WMT14", data_file, "wmt14", "wmt14.tgz", download)
        assert dict_size > 0, (
            f"[WMT14] dict_size: expected a positive number, got {dict_size}."
            " Do this: pass the number of words to use."
        )
        self.dict_size = dict_size
        self.src_ids, self.trg_ids, self.trg_ids_next = [], [], []
        with _read.Archive("WMT14", self.data_file) as archive:
            self.src_dict = self._dictionary(archive, "src.dict")
            self.trg_dict = self._dictionary(archive, "trg.dict")
            for name in archive.names():
                if name.endswith(f"{self.mode}/{self.mode}"):
                    for line in archive.open(name):
                        self._add(line.decode().strip().split("\t"))

    def _dictionary(self, archive, ending):
        names = [name for name in archive.names() if name.endswith(ending)]
        if len(names) != 1:
            raise ValueError(
                f"[WMT14] {self.data_file}: expected one file *{ending}, got {names}."
                " Do this: pass the archive as published."
            )
        lines = itertools.islice(archive.open(names[0]), self.dict_size)
        return {line.strip().decode(): i for i, line in enumerate(lines)}

    def _add(self, columns):
        if len(columns) != 2:
            return
        source, target = (column.split() for column in columns)
        source = [self.src_dict.get(word, _UNKNOWN) for word in (_START, *source, _END)]
        target = [self.trg_dict.get(word, _UNKNOWN) for word in target]
        if max(len(source), len(target)) > _LONGEST:
            return
        self.src_ids.append(source)
        self.trg_ids.append([self.trg_dict[_START], *target])
        self.trg_ids_next.append([*target, self.trg_dict[_END]])

    def get_dict(self, reverse=False):
        r"""The dictionaries.

        Args:
            reverse (bool): from numbers to words, else from words to numbers.

        Returns:
            (source dictionary, target dictionary).

        Examples:
            >>> import io, os, tarfile, tempfile
            >>> path = os.path.join(tempfile.mkdtemp(), "wmt14.tgz")
            >>> files = {"src.dict": b"<s>\n<e>\n<unk>\nhello", "trg.dict": b"<s>\n<e>\n<unk>\nsalut"}
            >>> with tarfile.open(path, "w:gz") as archive:
            ...     for name, text in [*files.items(), ("train/train", b"hello\tsalut")]:
            ...         entry = tarfile.TarInfo(name)
            ...         entry.size = len(text)
            ...         archive.addfile(entry, io.BytesIO(text))
            >>> data = argosy.text.WMT14(path, dict_size=4)
            >>> data.get_dict()[0]["hello"], data.get_dict(reverse=True)[1][3]
            (3, 'salut')
            >>> [part.tolist() for part in data[0]]
            [[0, 3, 1], [0, 3], [3, 1]]
        """
        dictionaries = self.src_dict, self.trg_dict
        if reverse:
            dictionaries = tuple({i: word for word, i in d.items()} for d in dictionaries)
        return dictionaries
