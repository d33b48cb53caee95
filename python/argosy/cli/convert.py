"""`argosy convert`: a model of another format as one of ours, or as one that Paddle loads."""

import os
import sys

__all__ = ["add_parser", "convert"]


def add_parser(commands):
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "convert",
        help="write a model in another format",
        description="Write MODEL (of ONNX, Paddle or Argosy) as PREFIX.argosy, the Program, and "
        "PREFIX.safetensors, its weights, which argosy.jit.load reads; or with --to paddle as "
        "PREFIX.json and PREFIX.pdiparams, which Paddle 3 loads, or with --to pdmodel as PREFIX.pdmodel "
        "and PREFIX.pdiparams, which Paddle 2.6 and predictors of Paddle 3 load. Data beside an ONNX model are read "
        "from beneath its folder.",
    )
    parser.add_argument("model", metavar="MODEL", help="a file, or the prefix of files")
    parser.add_argument("prefix", metavar="PREFIX", help="of the files that are written")
    parser.add_argument(
        "--to",
        choices=("argosy", "paddle", "pdmodel"),
        default="argosy",
        help="the format (argosy)",
    )
    parser.add_argument("--weights", metavar="FILE", help="of MODEL, if they are not beside it")
    return parser


def convert(options):
    """Run the command. Returns the exit code."""
    from argosy import _core
    from argosy._support import dtype_name
    from argosy.inference import convert_to_paddle
    from argosy.inference.predictor import read_model

    try:
        if options.to != "argosy":
            convert_to_paddle(options.model, options.weights, options.prefix, options.to)
        else:
            program, scope = read_model(options.model, options.weights)
            os.makedirs(os.path.dirname(options.prefix) or ".", exist_ok=True)
            _core.program_save(program, options.prefix, scope)
        program, _ = read_model(options.prefix, None)
    except (OSError, RuntimeError, ValueError, NotImplementedError) as e:
        print(f"argosy convert: {e}", file=sys.stderr)
        return 1
    for v in _core.program_inputs(program):
        print(f"input {v.name}: {dtype_name(v.dtype)} {list(v.shape)}")
    for name, v in _core.program_describe(program)["outputs"]:
        print(f"output {name}: {dtype_name(v.dtype)} {list(v.shape)}")
    return 0
