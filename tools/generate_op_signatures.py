"""Write python/argosy/static/op_signatures.txt: the operands of Paddle's operations. Run by hand.

    python tools/generate_op_signatures.py --peer PYTHON

PYTHON is an interpreter that has paddlepaddle. A line is one kind of operation, in fields between tabs:

    type    inputs    outputs    attrs    call

`type+` has gradients. `X*` takes several variables, `X?` may be left out, `Mask~` is made for gradients.
Attributes are `name:KIND`. `call` is how a function over the operation takes its arguments, `inputs|attrs|
outputs`; `shape/ShapeTensor` is the attribute unless that input is given.
"""

import argparse
import pathlib
import subprocess
import sys

OUT = pathlib.Path(__file__).resolve().parent.parent / "python" / "argosy" / "static"
KINDS = (
    "INT FLOAT STRING INTS FLOATS STRINGS BOOL BOOLS BLOCK LONG BLOCKS LONGS FLOAT64S VAR VARS FLOAT64"
    " SCALAR SCALARS"
).split()


def collect():
    """Print the lines, in the interpreter that has Paddle."""
    import paddle
    from paddle.base import core
    from paddle.base.framework import OpProtoHolder, _dygraph_tracer

    protos = OpProtoHolder.instance().op_proto_map
    common = {"with_quant_attr", *OpProtoHolder.generated_op_attr_names()}
    tensor = paddle.ones([1])

    def signature(proto, inputs):
        """How a function over the operation takes its arguments when it is given these inputs."""
        names = [
            {name: [tensor] for name in inputs},
            {part.name: [tensor] for part in proto.outputs},
        ]
        defaults = core.get_op_attrs_default_value(proto.type.encode())
        try:
            return _dygraph_tracer()._get_kernel_signature(proto.type, *names, defaults)
        except (RuntimeError, ValueError):
            return None  # it has no kernel

    def call(proto):
        needed = [part.name for part in proto.inputs if not part.dispensable]
        plain = signature(proto, needed)
        if plain is None:
            return "-"
        attrs = [[name] for name in plain[1]]
        for part in proto.inputs:
            other = part.dispensable and signature(proto, [*needed, part.name])
            if other and len(other[1]) == len(attrs):
                for entry, name in zip(attrs, other[1]):
                    if name == part.name and name not in entry:
                        entry.append(name)
        return "|".join((" ".join(plain[0]), " ".join(map("/".join, attrs)), " ".join(plain[2])))

    def shown(part):
        return part.name + "*" * part.duplicable + "?" * part.dispensable

    for kind in sorted(protos):
        proto = protos[kind]
        differs = core.has_grad_op_maker(kind) and not core.has_empty_grad_op_maker(kind)
        attrs = [f"{a.name}:{KINDS[a.type]}" for a in proto.attrs if a.name not in common]
        fields = (
            kind + "+" * differs,
            " ".join(map(shown, proto.inputs)),
            " ".join(
                part.name + "*" * part.duplicable + "~" * part.intermediate
                for part in proto.outputs
            ),
            " ".join(attrs),
            call(proto),
        )
        print("\t".join(fields))


def main():
    """Write the list."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--peer", metavar="PYTHON")
    asked = parser.parse_args()
    if asked.peer is None:
        collect()
        return
    said = subprocess.run([asked.peer, __file__], stdout=subprocess.PIPE, text=True, check=True)
    lines = [line for line in said.stdout.splitlines() if line.count("\t") == 4]
    (OUT / "op_signatures.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} operations", file=sys.stderr)


if __name__ == "__main__":
    main()
