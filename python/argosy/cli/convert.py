"""`argosy convert`: a model of another format as one of ours."""

import sys

__all__ = ["add_parser", "convert"]


def add_parser(commands):
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "convert",
        help="write an ONNX model as a Program and its weights",
        description="Write the ONNX model MODEL as PREFIX.argosy, the Program, and "
        "PREFIX.safetensors, its weights: argosy.jit.load reads them. Data beside MODEL are read from "
        "beneath its folder.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file that ends in .onnx")
    parser.add_argument("prefix", metavar="PREFIX", help="of the files that are written")
    return parser


def convert(options):
    """Run the command. Returns the exit code."""
    from argosy.onnx import load

    try:
        model = load(options.model)
        model.save(options.prefix)
    except (OSError, ValueError, NotImplementedError) as e:
        print(f"argosy convert: {e}", file=sys.stderr)
        return 1
    for kind, ports in (("input", model.inputs), ("output", model.outputs)):
        for port in ports:
            print(f"{kind} {port.name}: {port.dtype} {port.shape}")
    return 0
