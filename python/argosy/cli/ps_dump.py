"""`argosy ps-dump`: a saved table of a parameter server as text."""

import json
import sys

__all__ = ["add_parser", "ps_dump"]


def add_parser(commands):
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "ps-dump",
        help="print what servers saved: a summary, or the rows of a table",
        description="Print what servers of tables wrote to DIRECTORY (by save, or as a snapshot in "
        "their own folder server-I-of-N). Without --table: the tables. With it: a line for each "
        "row, its key and what the accessor keeps, tab separated.",
    )
    parser.add_argument("directory", metavar="DIRECTORY")
    parser.add_argument("--table", metavar="NAME", help="name or number of the table to print")
    parser.add_argument(
        "--limit", type=int, default=0, metavar="N", help="print N rows at most (default: all)"
    )
    parser.add_argument("--output", metavar="FILE", help="write there (default: standard output)")
    return parser


def _summary(directory):
    about = json.loads(_ps().snapshot_describe(directory))
    yield f"written by {about['servers']} servers ({about['parts_here']} parts here), "
    yield f"mode {about['mode']}, saves: {', '.join(about['saves'])}\n"
    for table in about["tables"]:
        size = f"{table['rows']} rows" if table["kind"] == "sparse" else f"size {table['size']}"
        gone = f", {table['deleted']} deleted" if table["deleted"] else ""
        yield f"table {table['id']} {table['name']!r}: {table['kind']}, {size}{gone}, "
        yield f"{table['bytes']} bytes{', ' if table['layout'] else ''}{table['layout']}\n"


def _ps():
    from argosy import _ps

    return _ps


def ps_dump(options):
    """Run the command. Returns the exit code."""
    out = open(options.output, "w") if options.output else sys.stdout
    try:
        if options.table is None:
            out.writelines(_summary(options.directory))
        else:
            _ps().snapshot_print(options.directory, options.table, max(options.limit, 0), out.write)
        out.flush()
    except BrokenPipeError:
        # The reader has enough (head).
        sys.stderr.close()
    except (OSError, ValueError) as error:
        print(f"argosy ps-dump: {error}", file=sys.stderr)
        return 1
    finally:
        if options.output:
            out.close()
    return 0
