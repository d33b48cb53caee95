"""`argosy show`: a program as text, its cost, what passes change of it, and a drawing."""

import difflib
import html
import importlib
import os
import sys

from argosy import _core
from argosy._support import dtype_name

__all__ = ["add_parser", "show"]

_MAGIC = b"argosy\r\n"
_SCOPES = {}  # of programs that were loaded, by their id: what has the values of their state


def add_parser(commands):
    """Adds the command to the parser's commands."""
    parser = commands.add_parser(
        "show",
        help="print a saved or captured program, its cost, and what passes change",
        description="Print a program and its cost. TARGET is a saved model (PREFIX or "
        "PREFIX.argosy), a file with a program's text, or MODULE:NAME, a static Program or a "
        "function or Layer captured by to_static (with an input_spec, or called before).",
    )
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument(
        "--size", type=int, default=1, metavar="N", help="take N for sizes not known (default: 1)"
    )
    parser.add_argument(
        "--passes",
        nargs="?",
        const="inference",
        metavar="PIPELINE",
        help="print what each pass changes, as a diff; a pipeline's name (default: inference) or "
        "names of passes with commas",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--text", action="store_true", help="only the program")
    form.add_argument("--cost", action="store_true", help="only the cost")
    form.add_argument("--dot", action="store_true", help="a drawing in Graphviz' language instead")
    form.add_argument("--html", action="store_true", help="one web page with all of it instead")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there instead of printing")
    return parser


def show(options):
    """Print what the options ask for. Returns the exit code."""
    try:
        programs = _load(options.target)
        page = "\n".join(_page(name, program, options) for name, program in programs)
    except (OSError, ValueError, RuntimeError, ImportError, AttributeError) as error:
        print(f"argosy show: {error}", file=sys.stderr)
        return 1
    if options.html:
        page = _HTML.format(title=html.escape(options.target), body=page)
    if options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            file.write(page)
    else:
        sys.stdout.write(page)
    return 0


# What is shown.


def _load(target):
    """[(title, core program)] of what the command line names."""
    path = target if os.path.isfile(target) else f"{target}.argosy"
    if os.path.isfile(path):
        return [(os.path.basename(path), _load_file(path))]
    module, colon, name = target.rpartition(":")
    if not colon:
        raise ValueError(
            f"there is no file '{target}' or '{target}.argosy'. Do this: give the path of a saved "
            "model, or MODULE:NAME for something in Python."
        )
    sys.path.insert(0, os.getcwd())
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return _programs_of(found, name)


def _load_file(path):
    with open(path, "rb") as file:
        start = file.read(len(_MAGIC))
        data = start + file.read()
    if start != _MAGIC:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            raise ValueError(f"'{path}' is neither a saved program nor the text of one.") from None
        return _core.program_parse(text, [], True)
    prefix = os.path.splitext(path)[0]
    if path.endswith(".argosy") and os.path.isfile(f"{prefix}.safetensors"):
        program, scope = _core.program_load(prefix)
        _SCOPES[_core.program_id(program)] = scope
        return program
    return _core.program_from_bytes(data)


def _programs_of(found, name):
    if type(found).__name__ == "PyCapsule":
        return [(name, found)]
    if hasattr(found, "_handle"):  # static.Program
        return [(name, found._handle)]
    if hasattr(found, "forward") and hasattr(found.forward, "program_cache"):
        found = found.forward
    if not hasattr(found, "program_cache"):
        raise ValueError(
            f"'{name}' is a {type(found).__name__}, which has no program. Do this: name a "
            "static.Program, or a function or Layer that to_static has captured."
        )
    captured = [c for c in found.program_cache.values() if c is not None]
    captured = captured or [found.concrete_program]
    titles = [name] if len(captured) == 1 else [f"{name} ({i})" for i in range(len(captured))]
    programs = []
    for title, c in zip(titles, captured):
        program = _core.program_clone(c.program)
        for i, value in enumerate(c.outputs):
            copy = _core.program_counterpart(program, value)
            if copy is not None:
                _core.program_add_output(program, f"output{i}", copy)
        programs.append((title, program))
    return programs


def _page(name, program, options):
    if options.dot:
        return _dot(name, program)
    text = _core.program_print(program)
    cost = _cost_table(program, options.size)
    diffs = _diffs(program, options.passes) if options.passes else []
    if options.html:
        return _html(name, program, text, cost, diffs)
    if options.cost:
        return cost
    if options.text:
        return text + _servers(program)
    parts = [text, _servers(program), cost] if _servers(program) else [text, cost]
    for title, lines in diffs:
        parts.append("\n".join([title, *lines]) + "\n")
    return "\n".join(parts)


def _servers(program):
    """What servers keep of a program that is divided between trainers and them."""
    metadata = dict(_core.program_metadata(program))
    if "parameter_server.tables" not in metadata:
        return ""
    from argosy.distributed import ps

    return ps.show(program)


# Cost.


def _short(number):
    """1234567 as 1.23M."""
    for unit in ("", "K", "M", "G", "T", "P"):
        if abs(number) < 999.5 or unit == "P":
            return f"{number:.0f}" if not unit else f"{number:.3g}{unit}"
        number /= 1000
    return str(number)


def _cost_table(program, size):
    rows = _core.program_cost(program, size)
    unknown = any("?" in line for line in _core.program_print(program).splitlines())
    head = ("op", "count", "arithmetic", "bytes", "parameters")
    table = [
        (op, str(count), _short(flops) + ("~" if estimated else ""), _short(size), _short(n))
        for op, count, flops, size, n, estimated in rows
    ]
    total = [sum(column) for column in zip(*(row[1:5] for row in rows))] or [0, 0, 0, 0]
    table.append(("all", *(_short(n) for n in total)))
    widths = [max(len(row[i]) for row in [head, *table]) for i in range(len(head))]

    def line(row):
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        return "  ".join(cells).rstrip()

    rule = "-" * (sum(widths) + 2 * (len(widths) - 1))
    notes = []
    if any(row[5] for row in rows):
        notes.append("~ no rule: one operation for each element made")
    if unknown:
        notes.append(f"sizes not known count as {size}")
    if any(operation["blocks"] for operation in _core.program_describe(program)["operations"]):
        notes.append("both branches are counted, loops as one round")
    return "\n".join([line(head), rule, *map(line, table[:-1]), rule, line(table[-1]), *notes, ""])


# Passes.


def _diffs(program, passes):
    """[(title, lines of a diff)] of the passes that changed something, and a line on the rest."""
    pipelines = _core.passes_pipelines()
    names = pipelines.get(passes, [n for n in passes.split(",") if n])
    known = {p["name"] for p in _core.passes_list()}
    wrong = [n for n in names if n not in known]
    if wrong or not names:
        raise ValueError(
            f"there is no pass or pipeline '{wrong[0] if wrong else passes}'. Do this: use a "
            f"pipeline ({', '.join(pipelines)}) or passes ({', '.join(sorted(known))})."
        )
    copy = _core.program_clone(program)
    inference = passes in ("inference", "deploy", "load", "load_exact", "plan")
    scope = _SCOPES.get(_core.program_id(program))
    settings = {"texts": True, "inference": inference, "scope": scope}
    found = []
    for r in _core.passes_run(copy, names, settings):
        counts = f"{r['operations_before']} -> {r['operations_after']} operations"
        if not r["changed"]:
            found.append((f"pass {r['name']}: nothing changed", []))
            continue
        lines = difflib.unified_diff(
            r["before"].splitlines(), r["after"].splitlines(), "before", "after", lineterm="", n=1
        )
        found.append((f"pass {r['name']}: {counts}", list(lines)))
    return found


# Drawings.


def _type(value):
    shape = ", ".join("?" if n < 0 else str(n) for n in value.shape)
    return f"{dtype_name(value.dtype)}[{shape}]"


def _nodes(program):
    """(nodes, edges): nodes are (id, label, kind, depth), edges (from, to, label).

    Operations of blocks come after the one that owns them, deeper by one.
    """
    described = _core.program_describe(program)
    nodes, edges, maker = [], [], {}

    def add(label, kind, depth, makes=()):
        nodes.append((len(nodes), label, kind, depth))
        for value in makes:
            maker[_core.program_value_id(value)] = len(nodes) - 1
        return len(nodes) - 1

    def walk(block, depth):
        for operation in block["operations"]:
            used = [v for group in operation["inputs"].values() for v in group if v is not None]
            node = add(operation["type"], "operation", depth, operation["results"])
            for value in used:
                source = maker.get(_core.program_value_id(value))
                if source is not None:
                    edges.append((source, node, _type(value)))
            for i, inner in enumerate(operation["blocks"]):
                which = {"if": ("then", "else"), "while": ("while", "do")}
                label = which.get(operation["type"], ("block",) * (i + 1))[i]
                begin = add(label, "block", depth + 1, inner["arguments"])
                edges.append((node, begin, ""))
                walk(inner, depth + 1)

    for value in described["arguments"]:
        add(f"{value.name}\n{_type(value)}", "input", 0, [value])
    for state in described["states"]:
        add(f"{state['name']}\n{_type(state['initial'])}", "state", 0, [state["initial"]])
    for value, _ in described["constants"]:
        add(_type(value), "constant", 0, [value])
    walk(described, 0)
    for state in described["states"]:
        if state["last"] is not None:
            node = add(f"write {state['name']}", "state", 0)
            edges.append((maker[_core.program_value_id(state["last"])], node, ""))
    for name, value in described["outputs"]:
        node = add(f"output {name}", "output", 0)
        edges.append((maker[_core.program_value_id(value)], node, _type(value)))
    return nodes, edges


_COLORS = {
    "operation": "#e8eef7",
    "block": "#f7f1de",
    "input": "#dff0e0",
    "output": "#dff0e0",
    "state": "#f3e3ee",
    "constant": "#eeeeee",
}


def _dot(name, program):
    def quoted(text):
        return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'

    nodes, edges = _nodes(program)
    lines = [f"digraph {quoted(name)} {{", '  node [shape=box, style="rounded,filled"];']
    for node, label, kind, _ in nodes:
        lines.append(f'  n{node} [label={quoted(label)}, fillcolor="{_COLORS[kind]}"];')
    for a, b, label in edges:
        lines.append(f"  n{a} -> n{b} [label={quoted(label)}];")
    return "\n".join([*lines, "}", ""])


def _svg(program):
    """The nodes from top to bottom, one below what it uses; edges as curves."""
    nodes, edges = _nodes(program)
    level = [0] * len(nodes)
    for a, b, _ in edges:  # sources come before what uses them
        level[b] = max(level[b], level[a] + 1)
    width, height, column = 150, 34, {}
    place = []
    for node, _, _, _ in nodes:
        x = column.get(level[node], 0)
        column[level[node]] = x + 1
        place.append((10 + x * (width + 16), 10 + level[node] * (height + 34)))
    parts = []
    for a, b, label in edges:
        (x0, y0), (x1, y1) = place[a], place[b]
        x0, y0, x1 = x0 + width / 2, y0 + height, x1 + width / 2
        parts.append(
            f'<path d="M{x0} {y0} C{x0} {y0 + 20} {x1} {y1 - 20} {x1} {y1}">'
            f"<title>{html.escape(label)}</title></path>"
        )
    for (node, label, kind, _), (x, y) in zip(nodes, place):
        lines = label.split("\n")
        parts.append(
            f'<g><rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" '
            f'fill="{_COLORS[kind]}"/><title>{html.escape(label)}</title>'
        )
        for i, text in enumerate(lines):
            middle = y + height / 2 + 4 + (i - (len(lines) - 1) / 2) * 13
            shown = text if len(text) <= 24 else text[:23] + "\u2026"
            parts.append(f'<text x="{x + width / 2}" y="{middle}">{html.escape(shown)}</text>')
        parts.append("</g>")
    w = max((x for x, _ in place), default=0) + width + 10
    h = max((y for _, y in place), default=0) + height + 10
    return f'<svg width="{w}" height="{h}" viewBox="0 0 {w} {h}">{"".join(parts)}</svg>'


_HTML = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 14px sans-serif; margin: 1.5em; color: #222; }}
pre {{ background: #f6f6f6; padding: .8em; overflow: auto; font-size: 12px; }}
.drawing {{ overflow: auto; max-height: 80vh; border: 1px solid #ddd; }}
svg text {{ font: 11px monospace; text-anchor: middle; }}
svg path {{ fill: none; stroke: #8899aa; }} svg rect {{ stroke: #8899aa; }}
.plus {{ color: #176f2c; }} .minus {{ color: #a31515; }}
</style></head><body>
{body}
</body></html>
"""


def _html(name, program, text, cost, diffs):
    parts = [
        f"<h1>{html.escape(name)}</h1><h2>Cost</h2><pre>{html.escape(cost)}</pre>",
        f'<h2>Drawing</h2><div class="drawing">{_svg(program)}</div>',
        f"<h2>Text</h2><pre>{html.escape(text)}</pre>",
    ]
    for title, lines in diffs:
        marked = []
        for line in lines:
            kind = {"+": "plus", "-": "minus"}.get(line[:1])
            line = html.escape(line)
            marked.append(f'<span class="{kind}">{line}</span>' if kind else line)
        parts.append(f"<h3>{html.escape(title)}</h3>")
        if marked:
            parts.append("<pre>" + "\n".join(marked) + "</pre>")
    return "".join(parts)
