"""Typed messages in Protobuf's text format, enough of it for DistributedStrategy.

Fields read as their default until they are set; what was set is what is printed and saved.
"""

import struct

from ._schema import SCHEMA

__all__ = ["Message", "fields", "parse_text"]

_ENUMS = {
    "Mode": ("", "COLLECTIVE", "PS", "PIPELINE", "HETER"),
    "TableType": ("PS_SPARSE_TABLE", "PS_DENSE_TABLE"),
}
_RANGES = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}


class _Field:
    __slots__ = ("name", "type", "repeated", "default")

    def __init__(self, name, kind, default):
        self.name = name
        self.repeated = kind.endswith("*")
        self.type = kind.rstrip("*")
        self.default = None
        if not (self.repeated or self.is_message):
            self.default = _from_text(self, default)

    @property
    def is_message(self):
        return self.type in _TYPES


def _float32(value):
    try:
        return struct.unpack("f", struct.pack("f", value))[0]
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _from_text(field, text):
    if field.type == "string":
        return text or ""
    if field.type == "bool":
        return text in ("true", "True", "1", "t")
    if field.type.startswith("enum:"):
        names = _ENUMS[field.type[5:]]
        return names.index(text) if text in names else int(text or 0)
    if field.type in _RANGES:
        return int(text or 0)
    value = float(text or 0)
    return _float32(value) if field.type == "float" else value


def _checked(field, value):
    """The value as the field keeps it."""
    kind = field.type
    if kind == "string":
        if isinstance(value, bytes):
            value = value.decode()
        if not isinstance(value, str):
            raise TypeError(_wrong(field, value, "a string"))
        return value
    number = isinstance(value, (int, float)) or hasattr(value, "__float__")
    if kind in ("float", "double"):
        if not number or isinstance(value, str):
            raise TypeError(_wrong(field, value, "a number"))
        return _float32(float(value)) if kind == "float" else float(value)
    if isinstance(value, float) or not hasattr(value, "__index__"):
        raise TypeError(_wrong(field, value, "True or False" if kind == "bool" else "an integer"))
    value = value.__index__()
    if kind == "bool":
        return bool(value)
    if kind.startswith("enum:"):
        if not 0 <= value < len(_ENUMS[kind[5:]]):
            raise ValueError(_wrong(field, value, f"a number of {kind[5:]}"))
        return value
    low, high = _RANGES[kind]
    if not low <= value <= high:
        raise ValueError(_wrong(field, value, f"an integer in [{low}, {high}]"))
    return value


def _wrong(field, value, expected):
    return (
        f"[DistributedStrategy] {field.name}: expected {expected}, got {value!r} "
        f"({type(value).__name__})."
    )


class _Repeated(list):
    """A repeated field: a list whose elements have the field's type."""

    def __init__(self, field):
        super().__init__()
        self._field = field

    def append(self, value):
        super().append(
            _element(self._field, value) if self._field.is_message else _checked(self._field, value)
        )

    def extend(self, values):
        if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
            raise TypeError(_wrong(self._field, values, "a list"))
        for value in values:
            self.append(value)

    def add(self, **values):
        """Appends an empty message, sets its fields, returns it."""
        message = Message(self._field.type)
        for name, value in values.items():
            setattr(message, name, value)
        super().append(message)
        return message


def _element(field, value):
    if isinstance(value, Message) and value.type_name == field.type:
        return value
    if isinstance(value, dict):
        return Message(field.type, value)
    raise TypeError(_wrong(field, value, f"a dict of {field.type}"))


class Message:
    """One message. Attributes are its fields."""

    __slots__ = ("type_name", "_values", "_present")

    def __init__(self, type_name, values=None):
        object.__setattr__(self, "type_name", type_name)
        object.__setattr__(self, "_values", {})
        object.__setattr__(self, "_present", False)
        for name, value in (values or {}).items():
            setattr(self, name, value)

    def _field(self, name):
        field = _TYPES[self.type_name].get(name)
        if field is None:
            raise AttributeError(
                f"[DistributedStrategy] {self.type_name} has no field {name!r}; it has "
                f"{', '.join(_TYPES[self.type_name])}."
            )
        return field

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        field = self._field(name)
        if name in self._values:
            return self._values[name]
        if field.repeated or field.is_message:
            value = _Repeated(field) if field.repeated else Message(field.type)
            self._values[name] = value
            return value
        return field.default

    def __setattr__(self, name, value):
        field = self._field(name)
        if field.repeated:
            new = _Repeated(field)
            new.extend(value)
        elif field.is_message:
            new = _element(field, value)
            object.__setattr__(new, "_present", True)
        else:
            new = _checked(field, value)
        self._values[name] = new

    def is_set(self, name):
        """Whether the field was given a value (a list: is not empty)."""
        value = self._values.get(name)
        if isinstance(value, Message):
            return value._present or any(value.is_set(n) for n in value._values)
        return value is not None and (not isinstance(value, list) or len(value) > 0)

    HasField = is_set

    def clear(self, name):
        """Puts the field back to its default."""
        self._field(name)
        self._values.pop(name, None)

    ClearField = clear

    def copy_from(self, other):
        """Takes the other message's fields."""
        self._values.clear()
        parse_text(str(other), self)

    CopyFrom = copy_from

    def __eq__(self, other):
        return (
            isinstance(other, Message)
            and self.type_name == other.type_name
            and str(self) == str(other)
        )

    __hash__ = None

    def __deepcopy__(self, memo):
        message = Message(self.type_name)
        message.copy_from(self)
        return message

    def _lines(self, indent):
        for name, field in _TYPES[self.type_name].items():
            if not self.is_set(name):
                continue
            value = self._values[name]
            for one in value if field.repeated else [value]:
                if field.is_message:
                    yield f"{indent}{name} {{"
                    yield from one._lines(indent + "  ")
                    yield indent + "}"
                else:
                    yield f"{indent}{name}: {_to_text(field, one)}"

    def __str__(self):
        return "".join(line + "\n" for line in self._lines(""))

    __repr__ = __str__

    def __reduce__(self):
        return _restored, (self.type_name, str(self))


def _restored(type_name, text):
    message = Message(type_name)
    parse_text(text, message)
    return message


def _to_text(field, value):
    if field.type == "string":
        escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
        return f'"{escaped}"'
    if field.type == "bool":
        return "true" if value else "false"
    if field.type.startswith("enum:"):
        return _ENUMS[field.type[5:]][value]
    if field.type == "double":
        return repr(value).removesuffix(".0")
    if field.type == "float":
        for digits in range(6, 10):
            text = f"{value:.{digits}g}"
            if _float32(float(text)) == value or value != value:
                return text
    return str(value)


def fields(type_name):
    """name -> field (name, type, repeated, is_message, default) of a message, in order."""
    return _TYPES[type_name]


class _Reader:
    """Tokens of a text format file."""

    def __init__(self, text):
        self.text, self.at, self.line = text, 0, 1

    def peek(self):
        text = self.text
        while self.at < len(text):
            c = text[self.at]
            if c == "\n":
                self.line += 1
            elif c == "#":
                while self.at < len(text) and text[self.at] != "\n":
                    self.at += 1
                continue
            elif not c.isspace() and c not in ",;":
                return c
            self.at += 1
        return ""

    def word(self):
        start = self.at
        if self.peek() in ('"', "'"):
            return self._string()
        start = self.at
        while self.at < len(self.text) and (
            self.text[self.at].isalnum() or self.text[self.at] in "_+-."
        ):
            self.at += 1
        if start == self.at:
            self.fail("a name or a value was expected")
        return self.text[start : self.at]

    def _string(self):
        quote = self.text[self.at]
        self.at += 1
        out = []
        while True:
            c = self.text[self.at : self.at + 1]
            if c in ("", "\n"):
                self.fail("a string does not end")
            self.at += 1
            if c == quote:
                return "".join(out)
            if c == "\\":
                c = self.text[self.at : self.at + 1]
                self.at += 1
                c = {"n": "\n", "t": "\t", "r": "\r"}.get(c, c)
            out.append(c)

    def fail(self, what):
        raise ValueError(f"[DistributedStrategy] line {self.line} of the prototxt: {what}.")


def parse_text(text, message):
    """Reads text format into the message. Raises ValueError with the line that is wrong."""
    reader = _Reader(text)
    _parse_fields(reader, message, "")


def _parse_fields(reader, message, closing):
    while True:
        c = reader.peek()
        if c == closing:
            reader.at += len(closing)
            return
        if not c:
            reader.fail(f"{closing!r} is missing")
        name = reader.word()
        field = _TYPES[message.type_name].get(name)
        if field is None:
            reader.fail(f"{message.type_name} has no field {name!r}")
        c = reader.peek()
        if c == ":":
            reader.at += 1
            c = reader.peek()
        if field.is_message:
            if c not in ("{", "<"):
                reader.fail(f"{name} is a message: '{{' was expected")
            reader.at += 1
            if field.repeated:
                child = getattr(message, name).add()
            else:
                child = getattr(message, name)
                object.__setattr__(child, "_present", True)
            _parse_fields(reader, child, "}" if c == "{" else ">")
        elif c == "[" and field.repeated:
            reader.at += 1
            while reader.peek() != "]":
                getattr(message, name).append(_parse_value(reader, field))
            reader.at += 1
        elif field.repeated:
            getattr(message, name).append(_parse_value(reader, field))
        else:
            setattr(message, name, _parse_value(reader, field))


def _parse_value(reader, field):
    word = reader.word()
    try:
        return _from_text(field, word)
    except ValueError:
        reader.fail(f"{field.name}: {word!r} is not of type {field.type}")


_TYPES = {}


def _load():
    lines = SCHEMA.splitlines()
    _TYPES.update({line: {} for line in lines if not line.startswith(" ")})
    current = None
    for line in lines:
        if not line.startswith(" "):
            current = _TYPES[line]
            continue
        name, kind, default = (line.split() + [""])[:3]
        current[name] = _Field(name, kind, default)


_load()
