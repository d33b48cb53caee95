"""`argosy bisect`: the first pass that changes what a program computes."""

import difflib
import sys

from argosy import _core

__all__ = ["add_parser", "bisect"]


def add_parser(commands):
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "bisect",
        help="find the first pass that changes a result of a saved or captured program",
        description="Run a program before and after each pass of a pipeline, on random inputs, and "
        "print the first pass after which a result differs. TARGET as for `argosy show`. The exit "
        "code is 1 if there is one.",
    )
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument(
        "--passes",
        default="train",
        metavar="PIPELINE",
        help="a pipeline's name (default: train) or names of passes with commas",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        default=0.0,
        metavar="T",
        help="largest |a - b| / (1 + |b|) that counts as equal (default: 0, bit for bit)",
    )
    parser.add_argument(
        "--size", type=int, default=4, metavar="N", help="take N for sizes not known (default: 4)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random inputs (default: 0)")
    return parser


def _random(t, size):
    """A tensor of the form of t: small numbers, or 0 and 1 for integers, which may be indices."""
    from argosy import tensor

    shape = [size if n < 0 else n for n in t.shape]
    if t.dtype in (_core.float32, _core.float64, _core.float16, _core.bfloat16):
        return tensor.uniform(shape, "float64", -1, 1).cast(t.dtype)
    return tensor.randint(0, 2, shape).cast(t.dtype)


def bisect(options):
    """Run the command. Returns the exit code."""
    from argosy import passes

    from .show import _load

    try:
        programs = _load(options.target)
        names = passes.pipelines().get(options.passes, options.passes.split(","))
        found = [(title, _search(passes, p, names, options)) for title, p in programs]
    except (OSError, ValueError, RuntimeError, ImportError, AttributeError, TypeError) as error:
        print(f"argosy bisect: {error}", file=sys.stderr)
        return 2
    for title, result in found:
        if result is None:
            print(f"{title}: no pass of {', '.join(names)} changes a result")
            continue
        print(f"{title}: {result['pass']} changes a result by {result['difference']:.3g}")
        before, after = result["before"].splitlines(), result["after"].splitlines()
        print("\n".join(list(difflib.unified_diff(before, after, lineterm="", n=1))[2:]))
    return int(any(result is not None for _, result in found))


def _search(passes, program, names, options):
    _core.seed(options.seed)
    described = _core.program_describe(program)
    feeds = [_random(t, options.size) for t in described["arguments"]]
    # State without a value gets one.
    scope = _core.scope_new(None)
    for s in described["states"]:
        if s["state"]._symbolic:
            _core.scope_set(scope, s["name"], _random(s["initial"], options.size))
    return passes.bisect(
        program, feeds, [], names, tolerance=options.tolerance, scope=scope, inference=False
    )
