"""Write docs/ops, a page for each op of the registry, and docs/api, a page for each public module.

Run by `make docs`, with the environment that Argosy is built in. Nothing here knows an op by name.
"""

import pathlib
import shutil

import public_names
import shape_notation

from argosy import _core

DOCS = pathlib.Path(__file__).resolve().parent.parent / "docs"
OUT = DOCS / "ops"
GROUPS = (
    ("bool", {"bool"}),
    ("integers", {"uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64"}),
    ("float8", {"float8_e4m3fn", "float8_e5m2"}),
    ("float16, bfloat16", {"float16", "bfloat16"}),
    ("float32, float64", {"float32", "float64"}),
    ("complex", {"complex64", "complex128"}),
)


def dtypes_in_words(names):
    """Groups where all of a group is meant, single names otherwise."""
    left = set(names)
    if left >= set().union(*(members for _, members in GROUPS)):
        return "any"
    words = []
    for word, members in GROUPS:
        if members <= left:
            words.append(word)
            left -= members
    return ", ".join(words + [n for n in names if n in left])


def operand(entry):
    notes = [n for n in ("optional", "list", "hidden") if entry.get(n)]
    if not entry.get("differentiable", True) and not entry.get("hidden"):
        notes.append("no gradient")
    if "dtypes" in entry:
        notes.append(dtypes_in_words(entry["dtypes"]))
    return f"| `{entry['name']}` | {'; '.join(notes)} |"


def table(title, head, rows):
    if not rows:
        return []
    rule = "|" + " --- |" * head.count(",") + " --- |"
    return [f"## {title}", "", "| " + head.replace(",", " |") + " |", rule, *rows, ""]


def page(op):
    # Out of the site's tree: hundreds of entries in the margin of each page help nobody.
    lines = ["---", "orphan: true", "---", "", f"# {op['name']}", ""]
    for signature in op["python"]:
        lines += ["```python", f"argosy.{signature}", "```", ""]
    callers = [f"`Tensor.{m.split('(')[0]}`" for m in op["methods"] + op["inplace"]]
    if callers:
        lines += ["Also " + ", ".join(callers) + ".", ""]
    lines += [op["doc"], ""]
    if op["paper"]:
        lines += [f"Source: {op['paper']}", ""]
    shapes = shape_notation.of_op(op)
    if shapes:
        lines += ["```", *(form.strip() for form in shapes.split("|")), "```", ""]
    lines += table("Inputs", "name, what", [operand(i) for i in op["inputs"]])
    attributes = [f"| `{a['name']}` | {a['kind']} | `{a['default']}` |" for a in op["attrs"]]
    lines += table("Attributes", "name, kind, default", attributes)
    lines += table("Outputs", "name, what", [operand(o) for o in op["outputs"]])
    if op["aliases"]:
        names = ", ".join(f"`{other}` for `{own}`" for other, own in op["aliases"].items())
        lines += [f"Other names of arguments: {names}.", ""]
    facts = []
    if op["promotes"]:
        facts.append("inputs are cast to their common dtype")
    if op["elementwise"]:
        facts.append("elementwise with broadcasting")
    facts.append("differentiable" if op["has_gradient"] or op["composed"] else "no gradient")
    kernels = ", ".join(op["kernels"])
    if op["composed"]:
        kernels = f"{kernels}, else composed of other ops" if kernels else "composed of other ops"
    facts.append(f"kernels, best first: {kernels}")
    lines += [f"{'; '.join(facts).capitalize()}.", ""]
    if op["example"]:
        lines += ["```python", op["example"], "```", ""]
    source = op["file"][op["file"].find("src/argosy/") :]
    lines += [f"Described in [{source}](../../{source})."]
    return "\n".join(lines) + "\n"


def index(ops):
    by_module = {}
    for op in ops:
        for signature in op["python"]:
            module, _, name = signature.split("(", 1)[0].rpartition(".")
            by_module.setdefault(f"argosy.{module}".rstrip("."), []).append((name, op["name"]))
        if not op["python"]:
            by_module.setdefault("Internal", []).append((op["name"], op["name"]))
    lines = [f"# Ops\n\n{len(ops)} ops, by public module."]
    for module in sorted(by_module, key=lambda m: (m == "Internal", m)):
        links = ", ".join(f"[{name}]({op}.md)" for name, op in sorted(by_module[module]))
        lines.append(f"## {module}\n\n{links}")
    return "\n\n".join(lines) + "\n"


def write_api():
    """A page for each public module; Sphinx fills it from the docstrings."""
    out = DOCS / "api"
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir()
    modules = public_names.pages()
    for name, module in modules.items():
        directive = f"```{{eval-rst}}\n.. automodule:: {name}\n   :imported-members:\n```"
        (out / f"{name}.md").write_text(f"# {name}\n\n{directive}\n")
    listed = "\n".join(modules)
    toc = f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```"
    (out / "index.md").write_text(f"# Python API\n\n{toc}\n")
    print(f"{len(modules)} pages in docs/api")


def main():
    shutil.rmtree(OUT, ignore_errors=True)
    OUT.mkdir(parents=True)
    ops = sorted(_core.registry(), key=lambda op: op["name"])
    for op in ops:
        (OUT / f"{op['name']}.md").write_text(page(op))
    (OUT / "README.md").write_text(index(ops))
    print(f"{len(ops)} pages in docs/ops")
    write_api()


if __name__ == "__main__":
    main()
