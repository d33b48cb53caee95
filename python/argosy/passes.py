"""Passes over Programs: what there is, running them by hand, and finding one that changes a result.

Executors and captured functions run the pipelines "train" or "inference" by themselves. The
environment variable ARGOSY_PASSES="-cse,+remat" takes passes out of every pipeline or adds them.
"""

from argosy import _core
from argosy.autograd import no_grad
from argosy.tensor import get_rng_state, set_rng_state

__all__ = ["Rewritten", "bisect", "names", "pipelines", "rewrite", "table"]


def table():
    """All passes: dicts of name, doc, rounding and file.

    rounding: "kept" (results stay the same bit for bit), "changed" (they may differ as by computing
    in another order) or "meaning" (the pass makes another program, as its doc says).
    """
    return _core.passes_list()


def names():
    """The names of all passes."""
    return [p["name"] for p in table()]


def pipelines():
    """{name of a pipeline: names of its passes, in order}."""
    return _core.passes_pipelines()


def _capsule(program):
    for name in ("_handle", "_program"):
        program = getattr(program, name, program)
    return program


class Rewritten:
    """A copy of a Program after passes.

    program: the copy; reports: what each pass did, a list of dicts (name, changed, seconds,
    operations_before, operations_after; with texts=True also before and after).
    """

    def __init__(self, program, reports, scope):
        self.program = program
        self.reports = reports
        self._scope = scope

    def run(self, feeds):
        """Values of what was fetched, for tensors in the order of the inputs."""
        outputs = [value for _, value in _core.program_describe(self.program)["outputs"]]
        return _core.program_run(self.program, list(feeds), outputs, self._scope)

    def __str__(self):
        return _core.program_print(self.program)


def rewrite(program, fetches=(), passes="train", *, scope=None, **options):
    """A copy of a Program with passes applied, see Rewritten.

    fetches: symbolic tensors whose values are wanted; they become outputs of the copy beside those
    it has. passes: the name of a pipeline or a list of names of passes. scope: holds state that is
    not bound to tensors. options: inference, verify, texts (bools), and options of single passes as
    {"pass.option": value}. Raises ValueError for an unknown pass or pipeline.
    """
    copy = _core.program_clone(_capsule(program))
    for i, value in enumerate(fetches):
        _core.program_add_output(copy, f"fetch{i}", _core.program_counterpart(copy, value))
    if isinstance(passes, str):
        known = pipelines()
        if passes not in known:
            raise ValueError(
                f"[passes] there is no pipeline '{passes}'. Do this: use one of {', '.join(known)}."
            )
        passes = known[passes]
    flags = ("inference", "verify", "texts")
    settings = {k: v if k in flags else str(v) for k, v in options.items()}
    settings["scope"] = scope
    return Rewritten(copy, _core.passes_run(copy, list(passes), settings), scope)


class _Start:
    """Puts state and random numbers back to what they were."""

    def __init__(self, program, scope):
        self._scope = scope
        self._random = get_rng_state()
        self._states = []
        for s in _core.program_describe(program)["states"]:
            tensor = s["state"]
            if tensor._symbolic:
                tensor = _core.scope_get(scope, s["name"])
            if tensor is not None:
                self._states.append((s["name"], s["state"]._symbolic, tensor, tensor.clone()))

    def restore(self):
        set_rng_state(self._random)
        with no_grad():
            for name, scoped, tensor, value in self._states:
                if scoped:
                    _core.scope_set(self._scope, name, value.clone())
                else:
                    tensor.copy_(value, True)

    def results(self):
        """What the state has become."""
        return [
            _core.scope_get(self._scope, name) if scoped else tensor
            for name, scoped, tensor, _ in self._states
        ]


def _difference(a, b):
    """The largest |a - b| / (1 + |b|); NaN equals NaN, other forms are infinitely far away."""
    import numpy as np

    a, b = np.asarray(a.numpy()), np.asarray(b.numpy())
    if a.shape != b.shape or a.dtype != b.dtype:
        return float("inf")
    if a.size == 0 or a.tobytes() == b.tobytes():
        return 0.0
    wide = np.complex128 if np.iscomplexobj(a) else np.float64
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        d = np.abs(a - b) / (1 + np.abs(b))
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    worst = float(np.max(np.where(same, 0.0, np.where(np.isnan(d), np.inf, d))))
    return max(worst, 1e-300)  # the bits differ


def bisect(program, feeds, fetches, passes="train", *, tolerance=0.0, scope=None, **options):
    """The first pass of a pipeline after which a result differs, or None.

    Runs the Program as it is, then after each longer part of the pipeline, with the same state,
    random numbers and feeds, and compares what is fetched and what state becomes. tolerance: the
    largest |a - b| / (1 + |b|) that counts as equal; 0 means bit for bit. State is put back
    afterwards. Returns {"pass": name, "difference": number, "before": text, "after": text}.
    """
    source = _capsule(program)
    list_of = pipelines()[passes] if isinstance(passes, str) else list(passes)
    start = _Start(source, scope)

    def results(count):
        start.restore()
        rewritten = rewrite(source, fetches, list_of[:count], scope=scope, **options)
        values = [v.clone() for v in rewritten.run(feeds)]
        return values + [v.clone() for v in start.results()], str(rewritten)

    try:
        wanted, before = results(0)
        for count in range(1, len(list_of) + 1):
            got, after = results(count)
            worst = max((_difference(a, b) for a, b in zip(got, wanted)), default=0.0)
            if worst > tolerance:
                return {
                    "pass": list_of[count - 1],
                    "difference": worst,
                    "before": before,
                    "after": after,
                }
            before = after
        return None
    finally:
        start.restore()
