"""Averaging gradients over processes in Programs."""

from __future__ import annotations

from argosy import _core
from argosy import tensor as tensors
from argosy._programs import mode
from argosy.autograd import no_grad

from ._reducer import PARTS, travels_in_parts

__all__ = []

_LEAST_PART = 1 << 19  # bytes of a gradient that is exchanged in parts


class ProgramExchange:
    """How the gradients of some parameters are averaged in Programs: the pass data_parallel.

    Args:
        group (Group): Of processes that run the Program, each on its part of the batch.
        limits (list): Bytes of the first exchange and of further ones.
        parameters (list, optional): Whose gradients; all that are updated if None.
        wire (str, optional): The dtype in which floating gradients are exchanged.
    """

    def __init__(self, group, limits, parameters=None, wire=None):
        self._parameters = parameters
        self.wire = wire
        self._options = {
            "data_parallel.group": str(group.id),
            "data_parallel.first_bucket": str(limits[0]),
            "data_parallel.bucket": str(limits[-1]),
        }
        if travels_in_parts(group):
            self._options["data_parallel.parts"] = str(PARTS)
            self._options["data_parallel.part"] = str(_LEAST_PART)

    def average(self, program, pairs):
        """Lets updates in a core Program read averages; gradients with a name become them.

        Args:
            program: The Program, with its updates.
            pairs (list): Of parameters and gradients, as backward gave them.
        """
        gradients = [g for p, g in pairs if g is not None and self._concerns(p)]
        if not gradients:
            return
        options = dict(self._options)
        if self.wire is not None:
            options["data_parallel.wire"] = self.wire
        options["data_parallel.gradients"] = ",".join(
            str(_core.program_about(g)[1]) for g in gradients
        )
        names = [getattr(g, "name", None) for g in gradients]
        _core.passes_run(program, ["data_parallel"], options)
        for gradient, name in zip(gradients, names):
            found = _core.program_find(program, name) if name else None
            if found is not None:
                gradient._set_data(found)

    def _concerns(self, parameter):
        return self._parameters is None or any(parameter is p for p in self._parameters)


def start_alike(startup, group, states):
    """Lets state of a static Program begin with what the group's first process drew.

    Args:
        startup (Program): Its startup Program, which gives the state its first values.
        group (Group): The processes.
        states (list): Handles of the state.
    """
    with mode.recording(startup), no_grad():
        for state in states:
            tensors.assign(_core.ops.broadcast_from(state, 0, group.id), state)
