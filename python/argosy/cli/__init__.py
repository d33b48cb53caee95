"""The command `argosy`: runs programs written for paddle, and examines the machine."""

import argparse
import sys

__all__ = ["main"]


def _parser(command=None):
    parser = argparse.ArgumentParser(
        prog="argosy", description="Argosy: a deep learning platform with PaddlePaddle's API."
    )
    parser.add_argument("--version", action="store_true", help="print the version and leave")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    run = commands.add_parser(
        "run",
        help="run a Python program in which paddle means argosy",
        description="Run a Python program unchanged: `import paddle` gives argosy, in the program "
        "and in the processes it starts. Everything after `run` is handed to Python.",
        usage="argosy run [PYTHON OPTION]... (PROGRAM | -m MODULE | -c CODE) [ARGUMENT]...",
    )
    run.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    commands.add_parser(
        "launch",
        help="start a program as servers and workers of one job, and watch them",
        add_help=False,
    )
    commands.add_parser(
        "doctor",
        help="print the machine, the libraries, and whether each works",
        description="Print the machine, its instruction sets, the threads and the libraries with "
        "their versions, and try each. The exit code is 1 if something does not work.",
    )
    if command == "show":
        from .show import add_parser

        add_parser(commands)
    else:
        commands.add_parser(
            "show", help="print a saved or captured program, its cost, and what passes change"
        )
    if command == "bisect":
        from .bisect import add_parser

        add_parser(commands)
    else:
        commands.add_parser("bisect", help="find the first pass that changes a program's result")
    if command == "convert":
        from .convert import add_parser

        add_parser(commands)
    else:
        commands.add_parser("convert", help="write a model in another format")
    if command == "ps-dump":
        from .ps_dump import add_parser

        add_parser(commands)
    else:
        commands.add_parser(
            "ps-dump", help="print what servers saved: a summary, or the rows of a table"
        )
    return parser


def main(argv=None):
    """Entry point of the command `argosy`. Returns the exit code."""
    argv = sys.argv[1:] if argv is None else list(argv)
    if argv[:1] == ["run"] and argv[1:2] not in (["-h"], ["--help"]):
        from .run import run

        return run(argv[1:])
    if argv[:1] == ["launch"]:
        from ..distributed.launch import launch

        return launch(argv[1:])
    # What only one command needs is imported for it alone.
    parser = _parser(argv[0] if argv else None)
    options = parser.parse_args(argv)
    if options.version:
        from ..version import argosy_version, full_version

        print(f"argosy {argosy_version} (Paddle API {full_version})")
        return 0
    if options.command == "doctor":
        from .doctor import doctor

        return doctor()
    if options.command == "show":
        from .show import show

        return show(options)
    if options.command == "bisect":
        from .bisect import bisect

        return bisect(options)
    if options.command == "convert":
        from .convert import convert

        return convert(options)
    if options.command == "ps-dump":
        from .ps_dump import ps_dump

        return ps_dump(options)
    parser.print_help()
    return 0 if not argv else 2
