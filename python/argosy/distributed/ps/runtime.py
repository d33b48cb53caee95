"""What fleet calls on a worker, on a server, and in a program that runs alone."""

import atexit
import contextlib
import json
import weakref

from argosy import _core
from argosy.distributed.fleet.local_runtime import LocalRuntime
from argosy.distributed.fleet.runtime import Runtime, ServiceSettings

from .division import divide

__all__ = ["make_runtime", "mode_of", "show"]

_STATE = "parameter_server.state"  # a table of one number: whether dense tables have values


def mode_of(strategy):
    """sync, half_async, async or geo, as a_sync and a_sync_configs say.

    a_sync False: sync. k_steps > 0: geo. send_queue_size 0 (no step may be ahead of the servers):
    half_async. Else async.
    """
    configs = strategy.a_sync_configs
    if not strategy.a_sync:
        return "sync"
    if configs["k_steps"] > 0:
        return "geo"
    return "half_async" if configs["send_queue_size"] == 0 else "async"


def make_runtime(programs, startups, optimizer, strategy, role_maker):
    """Divides the programs and returns the Runtime of this process; None if it runs alone and has no
    distributed parameters."""
    alone = role_maker._is_non_distributed()
    division = divide(programs, startups, strategy, everything=not alone)
    if alone:
        return None if division is None else AloneRuntime(programs, division)
    if division is None:
        raise ValueError(
            "[fleet.minimize] the program has nothing to train with parameter servers: no parameter "
            "that an optimizer updates. Do this: check that the loss depends on parameters."
        )
    return ServedRuntime(programs, startups, division, strategy, role_maker)


def show(program):
    """The servers' part of a divided program as text: a line for each table."""
    tables = dict(_core.program_metadata(program)).get("parameter_server.tables")
    if not tables:
        return ""
    dense = {}
    for line in dict(_core.program_metadata(program))["parameter_server.dense"].splitlines():
        number, *names = line.split("\t")
        dense[int(number)] = names
    lines = ["servers {"]
    for t in json.loads(tables):
        rule = t["accessor"]["embedding"]
        what = [f'table {t["id"]} "{t["name"]}" : {t["kind"]}']
        if t["kind"] == "sparse":
            what.append(f"{t['accessor']['kind']} rows of {t['accessor']['dim']}")
            what.append(f"from +-{rule['initial_range']:.3g}")
            if t["admission"]["kind"] != "always":
                what.append(f"admission {t['admission']['kind']}")
            if t["tier"] != "memory":
                what.append(t["tier"])
        else:
            what.append(f"{t['size']} numbers ({', '.join(dense.get(t['id'], []))})")
        what.append(rule["rule"])
        lines.append("  " + ", ".join(what))
    return "\n".join([*lines, "}", ""])


def _ps():
    from argosy import _ps

    return _ps


class AloneRuntime(LocalRuntime):
    """A program that runs alone: tables of this process instead of servers."""

    def __init__(self, programs, division):
        super().__init__(programs)
        self._division = division
        self._mode = _ps().mode_local(json.dumps(division.tables))
        _install(self, self._mode)  # programs run without init_worker, too

    def init_worker(self, scopes=None):
        _ps().mode_install(self._mode)

    def shrink(self, threshold=None):
        for table in self._division.sparse.values():
            _ps().mode_shrink(self._mode, table)


_installed = None  # weak reference to the runtime whose Mode operations use


def _install(runtime, mode):
    global _installed
    _ps().mode_install(mode)
    _installed = weakref.ref(runtime)


@atexit.register
def _close():
    """Ends threads before the interpreter goes: what still waits is sent, as far as servers live."""
    runtime = _installed() if _installed is not None else None
    if runtime is None:
        return
    _ps().mode_install(None)
    if isinstance(runtime, ServedRuntime):
        with contextlib.suppress(Exception):
            runtime._end()


class ServedRuntime(Runtime):
    """One process of a job with servers."""

    def __init__(self, programs, startups, division, strategy, role_maker):
        self._programs = programs
        self._division = division
        self._roles = role_maker
        self._settings = ServiceSettings()
        self._name = mode_of(strategy)
        self._configs = strategy.a_sync_configs
        self._scopes = None
        self._mode = None
        self._directory = None
