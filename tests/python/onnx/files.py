"""ONNX files byte by byte, so that tests need no package that writes them."""

import struct

import numpy as np

ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7, "bool": 9, "float64": 11}


def varint(n):
    n &= (1 << 64) - 1
    out = bytearray()
    while n > 127:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, value):
    """A field: an int, a float (32 bits), text, bytes."""
    if isinstance(value, (bool, int)):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


def tensor(array, name=""):
    array = np.asarray(array)
    dims = b"".join(field(1, int(d)) for d in array.shape)
    return dims + field(2, ELEMENTS[array.dtype.name]) + field(8, name) + field(9, array.tobytes())


def attribute(name, value):
    head = field(1, name)
    if isinstance(value, bytes):  # a graph
        return head + field(6, value) + field(20, 5)
    if isinstance(value, np.ndarray):
        return head + field(5, tensor(value)) + field(20, 4)
    if isinstance(value, str):
        return head + field(4, value) + field(20, 3)
    if isinstance(value, float):
        return head + field(2, value) + field(20, 1)
    if isinstance(value, int):
        return head + field(3, value) + field(20, 2)
    if value and isinstance(value[0], float):
        return head + b"".join(field(7, float(v)) for v in value) + field(20, 6)
    return head + b"".join(field(8, int(v)) for v in value) + field(20, 7)


def node(op, inputs, outputs, domain="", **attributes):
    text = b"".join(field(1, i) for i in inputs) + b"".join(field(2, o) for o in outputs)
    text += field(4, op) + field(7, domain)
    return text + b"".join(field(5, attribute(k, v)) for k, v in attributes.items())


def tensor_type(dtype, shape):
    text = field(1, ELEMENTS[dtype])
    if shape is None:
        return field(1, text)
    dims = b"".join(field(1, field(1, d) if isinstance(d, int) else field(2, d)) for d in shape)
    return field(1, text + field(2, dims))


def value(name, dtype, shape, kind="tensor"):
    """A declared input or output; sizes are numbers or names."""
    type_ = tensor_type(dtype, shape)
    if "sequence" in kind:
        type_ = field(4, field(1, type_))
    if "optional" in kind:
        type_ = field(9, field(1, type_))
    return field(1, name) + field(2, type_)


def graph(nodes, inputs, outputs, constants=()):
    """inputs and outputs: what value() gives, or names of inner graphs' outputs."""
    text = b"".join(field(1, n) for n in nodes) + field(2, "graph")
    text += b"".join(field(5, c) for c in constants)
    text += b"".join(field(11, i) for i in inputs)
    return text + b"".join(field(12, o if isinstance(o, bytes) else field(1, o)) for o in outputs)


def model(nodes, inputs, outputs, constants=(), opset=17, functions=()):
    text = field(1, 8) + field(7, graph(nodes, inputs, outputs, constants))
    text += field(8, field(1, "") + field(2, opset))
    return text + b"".join(field(25, f) for f in functions)


def function(name, domain, inputs, outputs, nodes, opset=17):
    text = field(1, name) + b"".join(field(4, i) for i in inputs)
    text += b"".join(field(5, o) for o in outputs) + b"".join(field(7, n) for n in nodes)
    return text + field(9, field(1, "") + field(2, opset)) + field(10, domain)


def endless(op="Sin"):
    """y = x after rounds of `op`, which never end if `more` is fed as true."""
    carried = [value("i", "int64", []), value("c", "bool", []), value("v", "float32", [4])]
    steps = [node("Identity", ["c"], ["again"]), node(op, ["v"], ["w"])]
    loop = node("Loop", ["", "more", "x"], ["y"], body=graph(steps, carried, ["again", "w"]))
    inputs = [value("x", "float32", [4]), value("more", "bool", [])]
    return model([loop], inputs, [value("y", "float32", [4])])
