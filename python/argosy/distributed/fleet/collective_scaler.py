"""A GradScaler whose processes agree on whether gradients are finite."""

from __future__ import annotations

from argosy import tensor as tensors
from argosy.autograd import no_grad
from argosy.distributed._groups import default_group
from argosy.distributed.communication import ReduceOp, _calls
from argosy.distributed.communication.collectives import _OPERATIONS

__all__ = []


def with_agreement(scaler, several, only_counted):
    """The scaler, changed in place: no process makes an update that another one leaves out, and the scale
    stays as it is while gradients are merged.

    Args:
        several (bool): Whether there are several processes.
        only_counted (callable): Whether the last step() merged gradients and updated nothing.
    """
    unscale, update = scaler._unscale, scaler.update

    @no_grad()
    def unscale_together(optimizer):
        unscale(optimizer)
        if several and scaler._enable:
            found = tensors.to_tensor([int(scaler._found_inf)], dtype="int32")
            group = default_group("fleet.distributed_scaler")
            _calls.call(group, "all_reduce", [found], op=_OPERATIONS[ReduceOp.MAX])
            scaler._found_inf = bool(found.item())

    def update_after_updates():
        if only_counted():
            scaler._optimizer_states = {}
        else:
            update()

    scaler._unscale, scaler.update = unscale_together, update_after_updates
    return scaler
