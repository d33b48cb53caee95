"""Descriptions of operations as protobuf messages: OpDesc, OpProto and their parts.

The classes are made from the tables here, by the field numbers of Paddle's files. Needs the package
protobuf (``pip install protobuf``), which nothing else of this library does.
"""

from __future__ import annotations

from argosy.static.attr_types import AttrType as _Kind

try:
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError as error:
    raise ImportError(
        "[framework_pb2] needs the Python package protobuf: expected google.protobuf, got none."
        " Do this: pip install protobuf."
    ) from error

__all__ = ["AttrType", "Complex", "OpDesc", "OpProto", "Scalar", "Version"]

_PACKAGE = "paddle.framework.proto"
# Message -> "name:type=number" of each field; "*" before the type: repeated, "!": required.
_MESSAGES = {
    "Version": "version:int64=1",
    "Complex": "r:!double=1 i:!double=2",
    "Scalar": "type:!Scalar.Type=1 b:bool=2 i:int64=3 r:double=4 c:Complex=5",
    "OpDesc.Attr": "name:!string=1 type:!AttrType=2 i:int32=3 f:float=4 s:string=5 ints:*int32=6 floats:*float=7"
    " strings:*string=8 b:bool=10 bools:*bool=11 block_idx:int32=12 l:int64=13 blocks_idx:*int32=14"
    " longs:*int64=15 float64s:*double=16 var_name:string=17 vars_name:*string=18 float64:double=19"
    " scalar:Scalar=20 scalars:*Scalar=21",
    "OpDesc.Var": "parameter:!string=1 arguments:*string=2",
    "OpDesc": "type:!string=3 inputs:*OpDesc.Var=1 outputs:*OpDesc.Var=2 attrs:*OpDesc.Attr=4 is_target:bool=5",
    "OpProto.Var": "name:!string=1 comment:!string=2 duplicable:bool=3 intermediate:bool=4 dispensable:bool=5"
    " extra:bool=6 quant:bool=7",
    "OpProto.Attr": "name:!string=1 type:!AttrType=2 comment:!string=3 generated:bool=4 extra:bool=5 quant:bool=6"
    " support_tensor:bool=7",
    "OpProto": "type:!string=1 inputs:*OpProto.Var=2 outputs:*OpProto.Var=3 attrs:*OpProto.Attr=4 comment:!string=5",
}
_ENUMS = {
    "AttrType": {
        {"BOOL": "BOOLEAN", "BOOLS": "BOOLEANS"}.get(k.name, k.name): k.value for k in _Kind
    },
    "Scalar.Type": {"BOOLEAN": 1, "LONG": 2, "FLOAT64": 3, "COMPLEX128": 4},
}
_Field = descriptor_pb2.FieldDescriptorProto


def _fill_field(field, text):
    field.name, _, rest = text.partition(":")
    kind, _, number = rest.partition("=")
    field.number = int(number)
    field.label = {"*": _Field.LABEL_REPEATED, "!": _Field.LABEL_REQUIRED}.get(
        kind[0], _Field.LABEL_OPTIONAL
    )
    kind = kind.lstrip("*!")
    if kind in _MESSAGES or kind in _ENUMS:
        field.type = _Field.TYPE_MESSAGE if kind in _MESSAGES else _Field.TYPE_ENUM
        field.type_name = f".{_PACKAGE}.{kind}"
    else:
        field.type = getattr(_Field, f"TYPE_{kind.upper()}")


def _described():
    """The description of the file that holds all messages."""
    file = descriptor_pb2.FileDescriptorProto(
        name="argosy/paddle_framework.proto", package=_PACKAGE, syntax="proto2"
    )
    made = {}
    for path in sorted(_MESSAGES):  # what holds others comes before them
        outer, _, name = path.rpartition(".")
        made[path] = (made[outer].nested_type if outer else file.message_type).add(name=name)
        for text in _MESSAGES[path].split():
            _fill_field(made[path].field.add(), text)
    for path, values in _ENUMS.items():
        outer, _, name = path.rpartition(".")
        enum = (made[outer].enum_type if outer else file.enum_type).add(name=name)
        for label, number in values.items():
            enum.value.add(name=label, number=number)
    return file


_pool = descriptor_pool.DescriptorPool()
_pool.Add(_described())
DESCRIPTOR = _pool.FindFileByName("argosy/paddle_framework.proto")
Complex, OpDesc, OpProto, Scalar, Version = (
    message_factory.GetMessageClass(_pool.FindMessageTypeByName(f"{_PACKAGE}.{name}"))
    for name in ("Complex", "OpDesc", "OpProto", "Scalar", "Version")
)
AttrType = _pool.FindEnumTypeByName(f"{_PACKAGE}.AttrType")
globals().update(_ENUMS["AttrType"])
