"""Descriptions of text data in files of protobuf's text form: batch size, slots, and a command to read."""

from __future__ import annotations

import re

__all__ = ["DataFeedDesc"]

# Fields by name, in the order in which they are printed. A list of one kind is a repeated field, a dict
# a message.
_SLOT = {"name": str, "type": str, "is_dense": bool, "is_used": bool, "shape": [int]}
_FEED = {
    "name": str, "batch_size": int, "multi_slot_desc": {"slots": [_SLOT], "uid_slot": str}, "pipe_command": str,
    "thread_num": int, "rank_offset": str, "pv_batch_size": int, "input_type": int, "so_parser_name": str,
}  # fmt: skip
_TOKEN = re.compile(
    r"""\s+ | \#[^\n]*
      | (?P<text> "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' )
      | (?P<word> [+-]?[\w.]+ )
      | (?P<mark> [{}<>\[\]:;,] )""",
    re.VERBOSE,
)
_FLAGS = {"true": True, "True": True, "t": True, "1": True}
_FLAGS.update({"false": False, "False": False, "f": False, "0": False})
_ENDS = {"{": "}", "<": ">"}


class _Reader:
    """The tokens of a text, and what they mean by a table of fields."""

    def __init__(self, text):
        self._tokens, at = [], 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                self._at, self._lines = 0, [text.count("\n", 0, at) + 1]
                self._fail("a field", text[at : at + 12])
            if found.lastgroup is not None:
                line = text.count("\n", 0, at) + 1
                self._tokens.append((found.lastgroup, found.group(), line))
            at = found.end()
        self._lines = [line for _, _, line in self._tokens] + [text.count("\n") + 1]
        self._at = 0

    def _fail(self, expected, got):
        raise ValueError(
            f"[DataFeedDesc] line {self._lines[self._at]}: expected {expected}, got {got!r}. Do this:"
            " correct the file."
        )

    def _peek(self):
        return self._tokens[self._at][1] if self._at < len(self._tokens) else "the end"

    def _take(self, *marks):
        """Whether one of the marks follows, which is then behind."""
        if self._at < len(self._tokens) and self._tokens[self._at][1] in marks:
            self._at += 1
            return True
        return False

    def _next(self, kind, expected):
        if self._at == len(self._tokens) or self._tokens[self._at][0] != kind:
            self._fail(expected, self._peek())
        self._at += 1
        return self._tokens[self._at - 1][1]

    def message(self, fields, end=None):
        """A dict of what is there, up to the mark `end`, or that of the text."""
        found = {}
        while not self._take(end):
            if self._at == len(self._tokens):
                if end is None:
                    break
                self._fail(repr(end), "the end")
            name = self._next("word", "the name of a field")
            if name not in fields:
                self._at -= 1
                self._fail(f"one of the fields {', '.join(fields)}", name)
            colon = self._take(":")
            kind = fields[name]
            if isinstance(kind, list):
                found.setdefault(name, []).extend(self._several(kind[0], colon))
            else:
                found[name] = self._value(kind, colon)
            self._take(",", ";")
        return found

    def _several(self, kind, colon):
        if not self._take("["):
            return [self._value(kind, colon)]
        values = []
        while not self._take("]"):
            values.append(self._value(kind, True))
            self._take(",")
        return values

    def _value(self, kind, colon):
        if isinstance(kind, dict):
            mark = self._peek()
            if not self._take("{", "<"):
                self._fail("'{'", mark)
            return self.message(kind, _ENDS[mark])
        if not colon:
            self._fail("':'", self._peek())
        if kind is str:
            return _unquoted(self._next("text", "a string in quotes"))
        word = self._next("word", "a number" if kind is int else "true or false")
        try:
            return int(word, 0) if kind is int else _FLAGS[word]
        except (KeyError, ValueError):
            self._at -= 1
            self._fail("a number" if kind is int else "true or false", word)


_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


def _unquoted(text):
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[1]), text[1:-1])


def _quoted(text):
    marks = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return '"' + "".join(marks.get(c, c) for c in text) + '"'


def _print(found, fields, indent=""):
    lines = []
    for name, kind in fields.items():
        values = found.get(name, [])
        for value in values if isinstance(kind, list) else [values] if name in found else []:
            if isinstance(value, dict):
                inner = kind[0] if isinstance(kind, list) else kind
                lines += [f"{indent}{name} {{", *_print(value, inner, indent + "  "), f"{indent}}}"]
            elif isinstance(value, str):
                lines.append(f"{indent}{name}: {_quoted(value)}")
            else:
                lines.append(f"{indent}{name}: {str(value).lower()}")
    return lines


class DataFeedDesc:
    """What a file in protobuf's text form says of text data: the reader's ``name``, ``batch_size``, and in
    ``multi_slot_desc`` the slots of a line. Programs change it before they hand its text on.

    Args:
        proto_file (str): The file's path.

    Raises:
        FileNotFoundError: It is not there.
        ValueError: It does not describe data.

    Example:
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile("w") as file:
        ...     _ = file.write('name: "MultiSlotDataFeed" multi_slot_desc { slots { name: "x" type: "float" } }')
        ...     file.flush()
        ...     feed = argosy.base.DataFeedDesc(file.name)
        >>> feed.set_batch_size(128)
        >>> feed.set_dense_slots(["x"])
        >>> feed.set_use_slots(["x"])
        >>> print(feed.desc(), end="")
        name: "MultiSlotDataFeed"
        batch_size: 128
        multi_slot_desc {
          slots {
            name: "x"
            type: "float"
            is_dense: true
            is_used: true
          }
        }
        pipe_command: "cat"
    """

    def __init__(self, proto_file):
        with open(proto_file, encoding="utf-8") as file:
            self._feed = _Reader(file.read()).message(_FEED)
        self._feed["pipe_command"] = "cat"
        slots = self._feed.get("multi_slot_desc", {}).get("slots", [])
        self._slots = {slot.get("name", ""): slot for slot in slots}

    def set_batch_size(self, batch_size):
        """Samples of a batch.

        Args:
            batch_size (int): How many.

        Raises:
            TypeError: It is no int.
        """
        if not hasattr(batch_size, "__index__"):
            raise TypeError(
                f"[DataFeedDesc.set_batch_size] expected an int, got {type(batch_size).__name__}. Do"
                " this: pass the number of samples."
            )
        self._feed["batch_size"] = batch_size.__index__()

    def set_dense_slots(self, dense_slots_name):
        """Slots whose lines have as many values each.

        Args:
            dense_slots_name (list[str]): Their names.

        Raises:
            ValueError: The reader's name is not MultiSlotDataFeed.
            KeyError: There is no such slot.
        """
        self._mark("set_dense_slots", dense_slots_name, "is_dense")

    def set_use_slots(self, use_slots_name):
        """Slots that are read; others are passed over.

        Args:
            use_slots_name (list[str]): Their names.

        Raises:
            ValueError: The reader's name is not MultiSlotDataFeed.
            KeyError: There is no such slot.
        """
        self._mark("set_use_slots", use_slots_name, "is_used")

    def desc(self):
        """The description, changes included.

        Returns:
            str: In protobuf's text form.
        """
        return "\n".join([*_print(self._feed, _FEED), ""])

    def _mark(self, function, names, field):
        if self._feed.get("name") != "MultiSlotDataFeed":
            raise ValueError(
                f"[DataFeedDesc.{function}] only MultiSlotDataFeed has slots: expected that name, got"
                f" {self._feed.get('name', '')!r}. Do this: correct `name` in the file."
            )
        for name in names:
            if name not in self._slots:
                raise KeyError(
                    f"[DataFeedDesc.{function}] no slot {name!r}: expected one of"
                    f" {', '.join(self._slots)}. Do this: correct its name."
                )
            self._slots[name][field] = True
