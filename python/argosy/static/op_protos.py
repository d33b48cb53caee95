"""What kinds of operations there are and the names of their operands, as Paddle's registry tells it.

`op_signatures.txt` has Paddle's own kinds (tools/generate_op_signatures.py says how to read it); ops of this
library that are on no line, and those that libraries brought, are described from the core's registry.
"""

from __future__ import annotations

import dataclasses
import functools
import os

from argosy import _core

from . import names
from .attr_types import AttrType

__all__ = []


@dataclasses.dataclass(frozen=True)
class Part:
    """An input or a result: several variables may stand there, none may, it is made for gradients only."""

    name: str
    duplicable: bool = False
    dispensable: bool = False
    intermediate: bool = False
    comment: str = ""


@dataclasses.dataclass(frozen=True)
class AttrPart:
    """An attribute and its kind."""

    name: str
    type: AttrType = AttrType.INT
    comment: str = ""


@dataclasses.dataclass(frozen=True)
class OpProto:
    """One kind of operation.

    Attributes:
        type (str): Its name.
        inputs (list[Part]), outputs (list[Part]), attrs (list[AttrPart]): What it takes and makes.
        differentiable (bool): It has gradients.
        call (tuple | None): How a function over it takes its arguments: names of inputs, of attributes (each
            with the inputs that may be given instead) and of results. None if nobody knows.
    """

    type: str
    inputs: list
    outputs: list
    attrs: list
    differentiable: bool = True
    call: tuple | None = None
    comment: str = ""


# Attributes that all operations have.
_COMMON = {
    "op_role": AttrType.INT,
    "op_role_var": AttrType.STRINGS,
    "op_namescope": AttrType.STRING,
    "op_callstack": AttrType.STRINGS,
    "op_device": AttrType.STRING,
}


def _part(text):
    name = text.rstrip("*?~")
    return Part(name, "*" in text, "?" in text, "~" in text)


def _attr(text):
    name, kind = text.split(":")
    return AttrPart(name, AttrType[kind])


def _common():
    return [AttrPart(name, kind) for name, kind in _COMMON.items()]


def _call(text):
    if text == "-":
        return None
    inputs, attrs, outputs = (group.split() for group in text.split("|"))
    return inputs, [entry.split("/") for entry in attrs], outputs


def _of_line(line):
    kind, inputs, outputs, attrs, call = line.split("\t")
    return OpProto(
        kind.rstrip("+"), [_part(p) for p in inputs.split()], [_part(p) for p in outputs.split()],
        [*map(_attr, attrs.split()), *_common()], kind.endswith("+"), _call(call),
    )  # fmt: skip


def _of_registry(op):
    shown = names.type_of({"type": op["name"], "attrs": {}})
    groups = [
        names.shown(op["name"], {part["name"]: True for part in op[side]})
        for side in ("inputs", "outputs")
    ]
    attrs = [AttrPart(part["name"]) for part in op["attrs"]]
    return OpProto(shown, *(list(map(Part, group)) for group in groups), [*attrs, *_common()])


@functools.cache
def _protos():
    path = os.path.join(os.path.dirname(__file__), "op_signatures.txt")
    with open(path, encoding="utf-8") as file:
        found = {proto.type: proto for proto in map(_of_line, file.read().splitlines())}
    for op in _core.registry():
        proto = _of_registry(op)
        found.setdefault(proto.type, proto)
        found.setdefault(op["name"], proto)
    return found


def call_signature(kind, given):
    """How a function over a kind of operation takes its arguments.

    Args:
        kind (str): The operation's type.
        given: Names of the inputs that are there.

    Returns:
        (list[str], list[str], list[str]): Names of inputs, of attributes (or of the inputs that are given
        instead), and of results, in the order of the arguments.

    Raises:
        RuntimeError: Nobody knows of that kind.

    Example:
        >>> argosy.static.op_protos.call_signature("clip", ["X", "Max"])
        (['X'], ['min', 'Max'], ['Out'])
    """
    proto = _protos().get(kind)
    if proto is None or proto.call is None:
        raise RuntimeError(
            f"[call_signature] nobody knows how functions over '{kind}' take their arguments: expected a type"
            " of OpProtoHolder.instance().op_proto_map. Do this: call the function itself."
        )
    inputs, attrs, outputs = proto.call
    chosen = [next((other for other in rest if other in given), name) for name, *rest in attrs]
    return list(inputs), chosen, list(outputs)


class OpProtoHolder:
    """All kinds of operations."""

    _instance = None

    @classmethod
    def instance(cls):
        """The one object of this class."""
        if cls._instance is None:
            cls._instance = cls()
        return cls._instance

    @property
    def op_proto_map(self):
        """Every kind by its name."""
        return dict(_protos())

    def get_op_proto(self, type):  # noqa: A002
        """The kind of that name.

        Raises:
            ValueError: there is none.
        """
        if type not in _protos():
            raise ValueError(
                f'Operator "{type}" has not been registered. Do this: look for its name in'
                " OpProtoHolder.instance().op_proto_map."
            )
        return _protos()[type]

    def has_op_proto(self, type):  # noqa: A002
        """Whether there is a kind of that name."""
        return type in _protos()

    def update_op_proto(self):
        """Looks again at what operations there are: libraries of ops may have come."""
        _protos.cache_clear()

    @staticmethod
    def generated_op_attr_names():
        """Names of the attributes that all operations have."""
        return set(_COMMON)
