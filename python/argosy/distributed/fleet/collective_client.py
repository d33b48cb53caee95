"""What fleet.util talks through in a job without servers: the group of all processes."""

import numpy as np

from argosy import tensor as tensors
from argosy.distributed import communication, is_initialized

__all__ = ["group_client"]

_OPERATIONS = {
    "sum": communication.ReduceOp.SUM,
    "min": communication.ReduceOp.MIN,
    "max": communication.ReduceOp.MAX,
}


class _GroupClient:
    def all_reduce(self, values, mode):
        tensor = tensors.to_tensor(values)
        communication.all_reduce(tensor, op=_OPERATIONS[mode])
        np.copyto(values, tensor.numpy())

    def barrier(self, name):
        communication.barrier()

    def all_gather(self, data):
        out = []
        communication.all_gather_object(out, data)
        return out


def group_client():
    """The client, None where processes are not connected."""
    return _GroupClient() if is_initialized() else None
