"""Check that ops are asked, not named: `python tools/check_op_names.py [ROOT]`.

A string in src/argosy that is the name of an op is an error outside of HOMES. What code has to know
of an op is a word of its description (docs/adding_an_op.md); identities and patterns of certain ops
are rules (src/argosy/passes/rules/); ops that gradients, passes and builders create are named once,
in op/names.h. Kernels of a library of their own are registered by name. Importers say how the ops of other formats are written in ours.
"""

import pathlib
import re
import sys

HOMES = (
    "ops/", "cuda/ops/", "passes/rules/", "op/names.h", "parallel/op_names.h", "ps/ops/", "ps/op_names.h",
    "infer/onnx/", "infer/paddle/", "infer/einsum.cc",
)  # fmt: skip
# Rooms that know no ops: their strings are names of other things.
BELOW = ("base/", "kernels/", "tensor/", "comm/", "ps/table/", "ps/service/", "ps/mode/")
# Strings that are no names of ops where they stand: file -> {word: what it is there}.
OTHER_WORDS = {
    "ps/config.cc": {
        "barrier": "a field",
        "minimum": "a field",
        "maximum": "a field",
        "embedding": "a field",
        "sum": "a rule",
    },  # fmt: skip
    "ps/split.cc": {"scale": "an attribute"},
    "ps/split_optimizer.cc": {"sum": "a rule"},
    "program/gradient.cc": {"shape": "an attribute"},
    "program/parse.cc": {"complex": "a kind of number"},
    "program/weights.cc": {"shape": "a field of the file"},
    "runtime/print.cc": {"if": "a kind of step", "while": "a kind of step"},
}

DEFINE = re.compile(r"^[ \t]*#define (\w+)\(([\w, ]*)\)((?:[^\n]*\\\n)*[^\n]*)", re.MULTILINE)
CALL = re.compile(r"\b(\w+)\(([\w# ]+)")
BEGINS = re.compile(r"\bdescribe_begin\((\w+)_op\b")  # comm/ops/begin.h
BUILDER = re.compile(r'OpBuilder<\w+>\("(\w+)"')
COMMENT = re.compile(r"//[^\n]*")
STRING = re.compile(r'"(\w+)"')


def sources(root):
    found = [p for end in ("*.cc", "*.h") for p in (root / "src/argosy").rglob(end)]
    for path in sorted(found):
        yield path.relative_to(root / "src/argosy").as_posix(), path.read_text()


def names_of_ops(root):
    """What ARGOSY_OP, OpBuilder<> and describe_begin describe, by themselves or inside of macros."""
    texts = {name: COMMENT.sub("", text) for name, text in sources(root)}
    shared = macros_of("\n".join(text for name, text in texts.items() if name.endswith(".h")))
    names = set()
    for text in texts.values():
        names.update(BUILDER.findall(text))
        names.update(f"{op}_begin" for op in BEGINS.findall(text))
        macros = {**shared, **macros_of(text)}
        outside = DEFINE.sub("", text)
        for match in CALL.finditer(outside):
            names.update(described(macros, match[1], arguments(outside, match)))
    return names


def macros_of(text):
    """{name: (parameters, body)}"""
    return {
        m[1]: ([p.strip() for p in m[2].split(",")], m[3].replace("\\\n", " "))
        for m in DEFINE.finditer(text)
    }


def arguments(text, match):
    """The arguments of a call up to the first one that is not a plain word."""
    end = match.end()
    found = [match[2].strip()]
    while more := re.compile(r"\s*,\s*(\w+)\s*(?=[,)])").match(text, end):
        found.append(more[1])
        end = more.end()
    return found


def described(macros, name, given):
    """Names of the ops that NAME(given..) describes."""
    if name == "ARGOSY_OP":
        return {given[0].replace(" ", "").replace("##", "")}
    if name not in macros:
        return set()
    parameters, body = macros[name]
    values = dict(zip(parameters, given))
    body = re.sub(r"\b\w+\b", lambda word: values.get(word[0], word[0]), body)
    body = re.sub(r"\s*##\s*", "", body)
    inner = {key: value for key, value in macros.items() if key != name}
    found = {m[1] for m in BUILDER.finditer(body)}
    for match in CALL.finditer(body):
        found |= described(inner, match[1], arguments(body, match))
    return found


def problems(root):
    names = names_of_ops(root)
    if not names:
        yield "no op is described in src/argosy"
    for name, text in sources(root):
        if name.startswith((*HOMES, *BELOW)):
            continue
        others = set(OTHER_WORDS.get(name, ()))
        unused = set(others)
        for number, line in enumerate(text.splitlines(), 1):
            for word in STRING.findall(COMMENT.sub("", line)):
                unused.discard(word)
                if word in names and word not in others and not line.lstrip().startswith("#"):
                    yield (
                        f"src/argosy/{name}:{number}: names the op {word}; say what is to be known"
                        " of it in its description, or name it in op/names.h if it is created here"
                    )
        for word in sorted(unused):
            yield f"tools/check_op_names.py: OTHER_WORDS: {name} has no {word!r} any more"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    found = list(problems(root if len(sys.argv) > 1 else root.parent.parent))
    for problem in found:
        print(problem, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
