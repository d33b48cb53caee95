"""Divides programs between trainers and servers."""

import json

from argosy import _core
from argosy._programs.registry import all_programs

from .switches import use_d2sum
from .tables import choices

__all__ = ["Division", "divide", "divide_evaluation"]


class Division:
    """What came of it.

    tables: dicts of TableConfig (config.h), rules as trainers see them. dense: {table id: names of
    its parameters, in order}. programs: those that were rewritten; evaluating: those of them that
    are not trained.
    """

    def __init__(self):
        self.tables = []
        self.dense = {}
        self.programs = []
        self.evaluating = []

    @property
    def sparse(self):
        """Ids of sparse tables by the parameter's name."""
        return {t["name"]: t["id"] for t in self.tables if t["kind"] == "sparse"}


def divide(programs, startups, optimizer, strategy, everything, workers=1):
    """Rewrites the programs in place: trainers' parts of `programs`, what is left of `startups`.

    everything: embeddings with sparse gradients and dense parameters go to tables as well, not only
    what is said to be distributed. workers: how many push steps of their own. Returns a Division, or None if nothing goes to tables. Other
    programs that look up the same embeddings (copies for evaluation) are rewritten, too.

    Raises ValueError or NotImplementedError for what cannot be divided; programs are as before then,
    if the first of them is what was refused.
    """
    layers = {}
    for program in programs:
        layers.update(program._remote)
    known = choices(layers, strategy)
    out = Division()
    removed = []
    for program in programs:
        options = {
            "parameter_server.sparse": str(int(everything)),
            "parameter_server.dense": str(int(everything)),
            "parameter_server.workers": str(workers),
            "parameter_server.first_table": str(len(out.tables)),
        }
        ids = out.sparse
        states = {s[0]: s[3] for s in _core.program_states(program._handle)}
        for name, choice in known.items():
            if name in states and (everything or name in layers):
                choice.check_width(int(states[name].shape[-1]))
                options[f"parameter_server.remote.{name}"] = choice.words(ids.get(name))
        found = _run(program, "parameter_server", options)
        if not found:
            continue
        out.programs.append(program)
        for table in json.loads(found["parameter_server.tables"]):
            if table["id"] in {t["id"] for t in out.tables}:
                continue
            out.tables.append(table)
        for line in found["parameter_server.dense"].splitlines():
            table, *names = line.split("\t")
            _check_once(out, names)
            out.dense[int(table)] = names
        removed += found["parameter_server.removed"].splitlines()
    if not out.tables:
        return None
    _divide_startups(startups, removed, out)
    first = getattr(optimizer, "initial_accumulator_value", 0.0)
    for table in out.tables:
        rule = table["accessor"]["embedding"]
        if first and rule["rule"] in ("adagrad", "adagrad_lazy"):
            rule["initial_g2sum"] = first
        if table["name"] in known and table["kind"] == "sparse":
            known[table["name"]].apply(table)
    _divide_others(programs, startups, known, out)
    if everything:
        use_d2sum(out.tables, strategy)
    text = json.dumps(out.tables)
    for program in out.programs:
        for name in removed:
            program._states.pop(name, None)
        metadata = dict(_core.program_metadata(program._handle))
        metadata["parameter_server.tables"] = text
        _core.program_set_metadata(program._handle, metadata)
    return out


def _run(program, name, options):
    """The metadata that the pass left, or nothing if it changed nothing."""
    reports = _core.passes_run(program._handle, [name], {"scope": None, **options})
    if not any(r["changed"] for r in reports):
        return {}
    return dict(_core.program_metadata(program._handle))


def _check_once(out, names):
    before = {n for known in out.dense.values() for n in known}
    twice = [n for n in names if n in before]
    if twice:
        raise NotImplementedError(
            f"[parameter_server] parameter '{twice[0]}' is updated twice: by two programs or two "
            "optimizers. Do this: let one optimizer update it, for the sum of the losses."
        )


def _divide_startups(startups, removed, out):
    done = set()
    for startup in startups:
        if id(startup) in done:
            continue
        done.add(id(startup))
        options = {
            "parameter_server_startup.removed": "\n".join(removed),
            "parameter_server_startup.tables": json.dumps(out.tables),
        }
        found = _run(startup, "parameter_server_startup", options)
        out.tables = json.loads(found["parameter_server.tables"])
        for name in removed:
            startup._states.pop(name, None)


def _divide_others(programs, startups, known, out):
    """Programs that only look up what went to tables: their look-ups become pulls."""
    done = {id(p) for p in (*programs, *startups)}
    for program in all_programs():
        if id(program) in done:
            continue
        try:
            changed = divide_evaluation(program, out, known)
        except ValueError:
            continue  # another startup program, or one that reads the parameter otherwise
        if changed:
            out.programs.append(program)
            out.evaluating.append(program)


def divide_evaluation(program, division, known=None):
    """Makes the look-ups of a program that is not trained pulls from the tables of a division, whose
    choices are `known`. Whether it has such."""
    tables = division.sparse
    names = [s[0] for s in _core.program_states(program._handle) if s[0] in tables]
    options = {"parameter_server.sparse": "0", "parameter_server.dense": "0"}
    for name in names:
        choice = (known or {}).get(name)
        words = choice.words(tables[name]) if choice else f"table={tables[name]}"
        options[f"parameter_server.remote.{name}"] = words
    return bool(names) and bool(_run(program, "parameter_server", options))
