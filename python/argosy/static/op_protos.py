"""What kinds of operations there are and the names of their operands, as Paddle's registry tells it."""

from __future__ import annotations

import functools

from argosy import _core

from . import names

__all__ = []


class _Part:
    """One operand, result or attribute."""

    def __init__(self, name):
        self.name = name


class OpProto:
    """One kind of operation: type, and the names of inputs, outputs and attrs."""

    def __init__(self, type, inputs, outputs, attrs):  # noqa: A002
        self.type = type
        self.inputs = [_Part(name) for name in inputs]
        self.outputs = [_Part(name) for name in outputs]
        self.attrs = [_Part(name) for name in attrs]


@functools.cache
def _protos():
    found = {}
    for op in _core.registry():
        described = {"type": op["name"], "attrs": {}}
        shown = names.type_of(described)
        inputs = names.shown(op["name"], {part["name"]: True for part in op["inputs"]})
        outputs = names.shown(op["name"], {part["name"]: True for part in op["outputs"]})
        attrs = [part["name"] for part in op["attrs"]]
        proto = OpProto(shown, inputs, outputs, [*attrs, *OpProtoHolder.generated_op_attr_names()])
        found.setdefault(shown, proto)
        found.setdefault(op["name"], proto)
    return found


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
        return {"op_role", "op_role_var", "op_namescope", "op_callstack", "op_device"}
