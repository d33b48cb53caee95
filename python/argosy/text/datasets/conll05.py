"""CoNLL-2005: who did what to whom (semantic role labels)."""

import numpy as np

from ...io import Dataset
from . import _read

__all__ = []

_UNKNOWN = 0


def _lines(path):
    with open(path) as file:
        return [line.strip() for line in file]


def _roles(marks):
    """B-/I-/O labels of one predicate from its column of brackets: "(A0*", "*", "*)", "(V*)"."""
    labels, role, inside = [], None, False
    for mark in marks:
        if "(" in mark:
            role = mark[1 : mark.index("*")]
            labels.append(f"B-{role}")
            inside = ")" not in mark
        elif mark in ("*", "*)"):
            labels.append(f"I-{role}" if inside or mark == "*)" else "O")
            inside = inside and mark == "*"
        else:
            raise RuntimeError(
                f"[Conll05st] unexpected label {mark!r}. Do this: pass the archive as published."
            )
    return labels


class Conll05st(Dataset):
    r"""The test part of CoNLL-2005, the only public one.

    A sample is 9 int64 arrays of the length of the sentence, for one predicate of it: words; the
    word two before, one before, at, one after and two after the predicate (each repeated); the
    predicate (repeated); 1 at those five places, else 0; and the labels.

    Args:
        data_file (str|None): archive with the columns of words and of roles; None looks for
            ``conll05st-tests.tar.gz`` in the usual folders.
        word_dict_file (str|None): words, one a line; None looks for ``wordDict.txt``.
        verb_dict_file (str|None): predicates, one a line; None looks for ``verbDict.txt``.
        target_dict_file (str|None): labels, one a line; None looks for ``targetDict.txt``.
        emb_file (str|None): vectors of the words, for ``get_embedding``; None looks for ``emb``.
        download (bool): nothing is downloaded; False makes a missing file an AssertionError.

    Raises:
        FileNotFoundError: a file is missing; the message says where to put it.
        AssertionError: so it is, and ``download`` is False.
        RuntimeError: a column of roles has unknown marks.
        ValueError: the archive is damaged.

    Examples:
        >>> argosy.text.Conll05st(data_file="no-such-file")
        Traceback (most recent call last):
        FileNotFoundError: [Conll05st] no such file: data_file='no-such-file'

        >>> import gzip, io, os, tarfile, tempfile
        >>> folder = tempfile.mkdtemp()
        >>> texts = {"word": "he\nruns", "verb": "run", "target": "B-V\nB-A0", "emb": ""}
        >>> paths = [os.path.join(folder, name) for name in texts]
        >>> for path, text in zip(paths, texts.values()):
        ...     with open(path, "w") as file:
        ...         written = file.write(text)
        >>> columns = {"words": b"he\nruns\n\n", "props": b"- (A0*)\nrun (V*)\n\n"}
        >>> with tarfile.open(os.path.join(folder, "tests"), "w:gz") as archive:
        ...     for name, text in columns.items():
        ...         data = gzip.compress(text)
        ...         entry = tarfile.TarInfo(f"conll05st-release/test.wsj/{name}/test.wsj.{name}.gz")
        ...         entry.size = len(data)
        ...         archive.addfile(entry, io.BytesIO(data))
        >>> data = argosy.text.Conll05st(os.path.join(folder, "tests"), *paths)
        >>> words, verbs, labels = data.get_dict()
        >>> words, verbs, sorted(labels)
        ({'he': 0, 'runs': 1}, {'run': 0}, ['B-A0', 'B-V', 'I-A0', 'I-V', 'O'])
        >>> data[0][0].tolist(), data[0][-1].tolist(), data.get_embedding() == paths[-1]
        ([0, 1], [2, 0], True)
    """

    def __init__(
        self,
        data_file=None,
        word_dict_file=None,
        verb_dict_file=None,
        target_dict_file=None,
        emb_file=None,
        download=True,
    ):
        def locate(argument, given, file_name):
            return _read.locate("Conll05st", given, "conll05st", file_name, download, argument)

        self.data_file = locate("data_file", data_file, "conll05st-tests.tar.gz")
        self.word_dict_file = locate("word_dict_file", word_dict_file, "wordDict.txt")
        self.verb_dict_file = locate("verb_dict_file", verb_dict_file, "verbDict.txt")
        self.target_dict_file = locate("target_dict_file", target_dict_file, "targetDict.txt")
        self.emb_file = locate("emb_file", emb_file, "emb")
        self.word_dict = {word: i for i, word in enumerate(_lines(self.word_dict_file))}
        self.predicate_dict = {verb: i for i, verb in enumerate(_lines(self.verb_dict_file))}
        tags = (line[2:] for line in _lines(self.target_dict_file) if line[:2] in ("B-", "I-"))
        self.label_dict = {}
        for tag in dict.fromkeys(tags):
            for prefix in "BI":
                self.label_dict[f"{prefix}-{tag}"] = len(self.label_dict)
        self.label_dict["O"] = len(self.label_dict)
        self._read_columns()

    def _read_columns(self):
        self.sentences, self.predicates, self.labels = [], [], []
        folder = "conll05st-release/test.wsj"
        with _read.Archive("Conll05st", self.data_file) as archive:

            def lines(name):
                return _read.unzipped_lines("Conll05st", archive, f"{folder}/{name}")

            words = [line.strip() for line in lines("words/test.wsj.words.gz")]
            roles = [line.split() for line in lines("props/test.wsj.props.gz")]
        start = 0
        for end, row in enumerate(roles):
            if row:
                continue
            columns = list(zip(*roles[start:end]))  # the predicates, then one for each of them
            verbs = [verb for verb in columns[0] if verb != "-"] if columns else []
            for verb, marks in zip(verbs, columns[1:]):
                self.sentences.append(words[start:end])
                self.predicates.append(verb)
                self.labels.append(_roles(marks))
            start = end + 1

    def __getitem__(self, idx):
        sentence, labels = self.sentences[idx], self.labels[idx]
        size, verb = len(sentence), labels.index("B-V")
        padded = ["bos", "bos", *sentence, "eos", "eos"]
        context = padded[verb : verb + 5]
        near = [int(abs(i - verb) <= 2) for i in range(size)]

        def number(word):
            return self.word_dict.get(word, _UNKNOWN)

        return (
            np.array([number(word) for word in sentence]),
            *(np.full(size, number(word)) for word in context),
            np.array([self.predicate_dict.get(self.predicates[idx])] * size),
            np.array(near),
            np.array([self.label_dict.get(label) for label in labels]),
        )

    def __len__(self):
        return len(self.sentences)

    def get_dict(self):
        """The dictionaries.

        Returns:
            (dictionary of words, of predicates, of labels), each from text to number.
        """
        return self.word_dict, self.predicate_dict, self.label_dict

    def get_embedding(self):
        """Path of the file with the vectors of the words.

        Returns:
            str.
        """
        return self.emb_file
