"""Passes over Programs: what there is, running them by hand, and finding one that changes a result.

Executors and captured functions run the pipelines "train" or "inference" by themselves. The
environment variable ARGOSY_PASSES="-cse,+remat" takes passes out of every pipeline or adds them.
"""

from argosy import _core
from argosy.autograd import no_grad
from argosy.tensor import get_rng_state, set_rng_state

__all__ = ["Rewritten", "bisect", "names", "pipelines", "rewrite", "table"]


def table():
    """All passes.

    Returns:
        list[dict]: name, doc, rounding and file of each. rounding: "kept" (results stay the same bit for bit),
        "changed" (they may differ as by computing in another order) or "meaning" (the pass makes another
        program, as its doc says).

    Example:
        >>> from argosy import passes
        >>> sorted(passes.table()[0])
        ['doc', 'file', 'name', 'rounding']
    """
    return _core.passes_list()


def names():
    """The names of all passes.

    Returns:
        list[str]: In the order of their names.

    Example:
        >>> from argosy import passes
        >>> "autocast" in passes.names()
        True
    """
    return [p["name"] for p in table()]


def pipelines():
    """The pipelines.

    Returns:
        dict: Names of passes, in order, by the name of the pipeline.

    Example:
        >>> from argosy import passes
        >>> "train" in passes.pipelines()
        True
    """
    return _core.passes_pipelines()


def _capsule(program):
    for name in ("_handle", "_program"):
        program = getattr(program, name, program)
    return program


class Rewritten:
    """A copy of a Program after passes.

    Args:
        program (object): The copy, as the core has it.
        reports (list[dict]): What each pass did: name, changed, seconds, operations_before,
            operations_after; with texts=True also before and after.
        scope (Scope | None): Holds state that is not bound to tensors.

    Example:
        >>> from argosy import passes
        >>> argosy.enable_static()
        >>> main = argosy.static.default_main_program()
        >>> y = argosy.static.data("x", [2], "float32") * 2
        >>> found = passes.rewrite(main._handle, [y])
        >>> argosy.disable_static()
        >>> found.run([argosy.ones([2])])[0].tolist()
        [2.0, 2.0]
    """

    def __init__(self, program, reports, scope):
        self.program = program
        self.reports = reports
        self._scope = scope

    def run(self, feeds):
        """Runs the copy.

        Args:
            feeds (list[Tensor]): In the order of the inputs.

        Returns:
            list[Tensor]: Values of what was fetched.
        """
        outputs = [value for _, value in _core.program_describe(self.program)["outputs"]]
        return _core.program_run(self.program, list(feeds), outputs, self._scope)

    def __str__(self):
        return _core.program_print(self.program)


def rewrite(program, fetches=(), passes="train", *, scope=None, **options):
    """A copy of a Program with passes applied.

    Args:
        program (object): The Program, as the core has it.
        fetches (list[Variable]): What is wanted; they become outputs of the copy beside those it has.
        passes (str | list[str]): The name of a pipeline, or names of passes.
        scope (Scope, optional): Holds state that is not bound to tensors.
        options: inference, verify, texts (bools), and options of single passes as {"pass.option": value}.

    Returns:
        Rewritten: The copy.

    Raises:
        ValueError: There is no such pass or pipeline.

    Example:
        >>> from argosy import passes
        >>> argosy.enable_static()
        >>> main = argosy.static.default_main_program()
        >>> y = argosy.static.data("x", [2], "float32") * 2
        >>> found = passes.rewrite(main._handle, [y], ["no such pass"])
        Traceback (most recent call last):
        argosy.BuildError: (InvalidArgument) ..
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
    """Finds the first pass of a pipeline after which a result differs.

    Runs the Program as it is, then after each longer part of the pipeline, with the same state,
    random numbers and feeds, and compares what is fetched and what state becomes. State is put back
    afterwards.

    Args:
        program (object): The Program, as the core has it.
        feeds (list[Tensor]): In the order of the inputs.
        fetches (list[Variable]): What is compared.
        passes (str | list[str]): The name of a pipeline, or names of passes.
        tolerance (float): The largest |a - b| / (1 + |b|) that counts as equal; 0 means bit for bit.
        scope (Scope, optional): Holds state that is not bound to tensors.
        options: As of rewrite.

    Returns:
        dict | None: {"pass": name, "difference": number, "before": text, "after": text}; None if none differs.

    Example:
        >>> from argosy import passes
        >>> argosy.enable_static()
        >>> main = argosy.static.default_main_program()
        >>> y = argosy.static.data("x", [2], "float32") * 2
        >>> argosy.disable_static()
        >>> passes.bisect(main._handle, [argosy.ones([2])], [y]) is None
        True
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
