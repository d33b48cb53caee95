"""Run the node cases of the package onnx in Argosy: `python tools/onnx_cases.py [PATTERN]..`.

Needs the packages onnx and ml_dtypes beside Argosy (pip install onnx): its backend test suite makes a
model, inputs and expected results for each case. --write FILE keeps a few of each operator, which the
tests run without these packages. Prints what fails, the rate of each domain, and leaves
with 1 if a rate is below what docs/onnx.md promises. Cases of domains that are refused by name (strings,
images, ai.onnx.ml, ai.onnx.preview.training) have to be refused by name. What random operators draw is
compared by shape and dtype.
"""

import argparse
import collections
import fnmatch
import sys
import traceback
import warnings

import numpy as np

REFUSED_OPERATORS = (
    "ImageDecoder",
    "RegexFullMatch",
    "StringConcat",
    "StringNormalizer",
    "StringSplit",
)
REFUSED_DOMAINS = ("ai.onnx.ml", "ai.onnx.preview.training", "ai.onnx.preview")
RANDOM = (
    "Bernoulli",
    "RandomNormal",
    "RandomUniform",
    "RandomUniformLike",
    "RandomNormalLike",
    "Multinomial",
)
GOALS = {"default domain": 0.95, "sequences and optionals": 0.90, "refused by name": 1.0}


class Different(Exception):
    """A result is not the one expected."""


def load_cases():
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return load_model_tests(kind="node")


def read_case(case):
    """(model, [(inputs, outputs)]) of a case; values are arrays, lists of them, or None."""
    import onnx
    from onnx import numpy_helper

    model = case.model
    sets = case.data_sets
    if model is None:
        raise SystemExit(f"{case.name} has no model in memory")

    def value(proto):
        if isinstance(proto, onnx.TensorProto):
            return numpy_helper.to_array(proto)
        if isinstance(proto, onnx.SequenceProto):
            return numpy_helper.to_list(proto)
        if isinstance(proto, onnx.OptionalProto):
            return numpy_helper.to_optional(proto)
        return proto

    return model, [([value(v) for v in i], [value(v) for v in o]) for i, o in sets]


def nodes_of(graph):
    for node in graph.node:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from nodes_of(attribute.g)


def has_strings(model):
    """Whether an input, output or constant holds texts."""
    import onnx

    kinds = str(list(model.graph.input) + list(model.graph.output))
    constants = [a.t for n in nodes_of(model.graph) for a in n.attribute if a.HasField("t")]
    strings = onnx.TensorProto.STRING
    return f"elem_type: {strings}\n" in kinds or any(t.data_type == strings for t in constants)


def kind_of(model):
    """The row of the table that a case belongs to."""
    nodes = list(nodes_of(model.graph))
    if any(n.domain in REFUSED_DOMAINS or n.op_type in REFUSED_OPERATORS for n in nodes):
        return "refused by name"
    if has_strings(model):
        return "refused by name"
    values = list(model.graph.input) + list(model.graph.output)
    if any(not v.type.HasField("tensor_type") for v in values) or any(
        n.op_type != "ReverseSequence" and ("Sequence" in n.op_type or "Optional" in n.op_type)
        for n in nodes
    ):
        return "sequences and optionals"
    return "default domain"


def flat(value):
    return [a for v in value for a in flat(v)] if isinstance(value, (list, tuple)) else [value]


def compare(case, got, expected, exactly):
    got = flat(list(got) if isinstance(got, tuple) else [got])
    expected = flat(expected)
    if len(got) != len(expected):
        raise Different(f"{len(got)} results, expected {len(expected)}")
    for i, (a, b) in enumerate(zip(got, expected)):
        if a is None or b is None:
            if a is not b:
                raise Different(f"result {i}: {a!r}, expected {b!r}")
            continue
        a, b = as_array(a), np.asarray(b)
        if a.shape != b.shape:
            raise Different(f"result {i}: shape {a.shape}, expected {b.shape}")
        if b.dtype.isbuiltin == 1 and a.dtype != b.dtype:
            raise Different(f"result {i}: {a.dtype}, expected {b.dtype}")
        if not exactly:
            continue
        a, b = wide(a), wide(b)
        if not np.allclose(a, b, rtol=case.rtol, atol=case.atol, equal_nan=True):
            off = np.abs(np.subtract(a, b, dtype=np.float64 if a.dtype.kind != "c" else None))
            raise Different(
                f"result {i}: off by {np.nanmax(off)}\n{a.ravel()[:8]}\n{b.ravel()[:8]}"
            )


def as_array(tensor):
    """A tensor's numbers; those that NumPy has no dtype for as float32."""
    import argosy

    stored = (argosy.bfloat16, argosy.float8_e4m3fn, argosy.float8_e5m2)
    return (tensor.astype("float32") if tensor.dtype in stored else tensor).numpy()


def wide(array):
    """Numbers that NumPy compares: those of ml_dtypes as float32."""
    return array if array.dtype.isbuiltin == 1 else array.astype(np.float32)


def run_case(case):
    """None, or what is wrong."""
    import argosy

    model, sets = read_case(case)
    exactly = not any(n.op_type in RANDOM for n in nodes_of(model.graph))
    if any(n.op_type == "Dropout" and len(n.input) > 2 for n in nodes_of(model.graph)):
        exactly = False
    net = argosy.onnx.load(model.SerializeToString())
    for inputs, outputs in sets:
        compare(case, net(*inputs), outputs, exactly)


def check(case, kind):
    try:
        run_case(case)
    except Exception as e:
        if kind == "refused by name" and isinstance(e, NotImplementedError):
            return None
        return e
    return None if kind != "refused by name" else Different("it ran, and should have been refused")


_CASES_OF_ONE = 2  # operator, that are kept for the tests
_MOST_BYTES = 6000  # of one case


def keep(cases, path):
    """Writes cases that pass to a zip archive: NAME/model.onnx, NAME/in.I.npy, NAME/out.I.npy."""
    import io
    import zipfile

    kept = collections.Counter()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for case in cases:
            operators = tuple(sorted({n.op_type for n in nodes_of(case.model.graph)}))
            model, sets = read_case(case)
            values = [v for pair in sets[:1] for part in pair for v in part]
            plain = all(isinstance(v, np.ndarray) and v.dtype.isbuiltin == 1 for v in values)
            size = len(model.SerializeToString()) + sum(v.nbytes for v in values if plain)
            random = any(o in RANDOM for o in operators)
            known = len(operators) == 1 and kept[operators] < _CASES_OF_ONE and not random
            if not (plain and known and size < _MOST_BYTES) or kind_of(model) != "default domain":
                continue
            if check(case, "default domain") is not None:
                continue
            kept[operators] += 1
            parts = {"model.onnx": model.SerializeToString()}
            for kind, part in zip(("in", "out"), sets[0]):
                for i, v in enumerate(part):
                    data = io.BytesIO()
                    np.save(data, np.ascontiguousarray(v).reshape(v.shape))
                    parts[f"{kind}.{i}.npy"] = data.getvalue()
            parts["tolerance"] = f"{case.rtol} {case.atol}".encode()
            for name, data in parts.items():
                entry = zipfile.ZipInfo(f"{case.name}/{name}")  # of one date, so that bytes repeat
                archive.writestr(entry, data, zipfile.ZIP_DEFLATED)
    print(f"{sum(kept.values())} cases of {len(kept)} operators in {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("patterns", nargs="*", default=["*"])
    parser.add_argument("-v", "--verbose", action="store_true", help="show where it failed")
    parser.add_argument("--write", metavar="FILE", help="keep a few cases for the tests")
    options = parser.parse_args()
    if options.write:
        keep(load_cases(), options.write)
        return 0
    counts = collections.defaultdict(lambda: [0, 0])
    for case in load_cases():
        if not any(fnmatch.fnmatch(case.name, p) for p in options.patterns):
            continue
        kind = kind_of(case.model)
        wrong = check(case, kind)
        counts[kind][0] += wrong is None
        counts[kind][1] += 1
        if wrong is not None:
            text = str(wrong).replace("\n", " ")
            print(f"{case.name}: {type(wrong).__name__}: {text[:230]}", flush=True)
            if options.verbose:
                traceback.print_exception(wrong)
    good = True
    for kind, (passed, count) in sorted(counts.items()):
        print(f"{kind}: {passed} of {count}, {100 * passed / count:.1f} %")
        good = good and passed >= GOALS[kind] * count
    return not good


if __name__ == "__main__":
    sys.exit(main())
