"""Dividing optimizer state, gradients and parameters between processes: in this version among one."""

from __future__ import annotations

import os

from argosy._job import get_world_size
from argosy._support import check_choice, no_effect, unsupported
from argosy.framework import io

__all__ = ["group_sharded_parallel", "save_group_sharded_model"]


def group_sharded_parallel(
    model,
    optimizer,
    level,
    scaler=None,
    group=None,
    offload=False,
    sync_buffers=False,
    buffer_max_size=8388608,
    segment_size=1048576,
    sync_comm=False,
    dp_group=None,
    exclude_layer=None,
):
    """Model, optimizer and scaler: one process has all of their state.

    Args:
        model (Layer): What is trained.
        optimizer (Optimizer): What updates it.
        level (str): What would be divided: 'os', 'os_g' or 'p_g_os'.
        scaler (GradScaler, optional): What scales the loss.
        group (Group, optional): Of one process.
        offload (bool): Only False.
        sync_buffers (bool): No effect.
        buffer_max_size (int): No effect.
        segment_size (int): No effect.
        sync_comm (bool): No effect.
        dp_group (Group, optional): Of one process.
        exclude_layer (list, optional): No effect.

    Returns:
        tuple: The three.

    Raises:
        NotImplementedError: There are several processes.
        ValueError: Another level.

    Example:
        >>> from argosy.distributed.sharding import group_sharded_parallel
        >>> layer = argosy.nn.Linear(2, 2)
        >>> sgd = argosy.optimizer.SGD(parameters=layer.parameters())
        >>> group_sharded_parallel(layer, sgd, "os")[0] is layer
        True
    """
    what = "group_sharded_parallel"
    check_choice(what, "level", level, ("os", "os_g", "p_g_os"))
    sizes = [g.nranks for g in (group, dp_group) if g is not None] or [get_world_size()]
    if max(sizes) > 1:
        raise NotImplementedError(
            f"[{what}] state is not divided between processes: expected one process, got {max(sizes)}. Do"
            " this: train with DataParallel."
        )
    unsupported(what, "leave it out", offload=(offload, False))
    no_effect(
        what, "one process has all state", sync_buffers=(sync_buffers, False),
        buffer_max_size=(buffer_max_size, 8388608), segment_size=(segment_size, 1048576),
        sync_comm=(sync_comm, False), exclude_layer=(exclude_layer, None),
    )  # fmt: skip
    return model, optimizer, scaler


def save_group_sharded_model(model, output, optimizer=None):
    """Saves a model that group_sharded_parallel gave, as model.pdmodel, and an optimizer as model.pdopt.

    Args:
        model (Layer): It.
        output (str): The folder, which is made.
        optimizer (Optimizer, optional): It.

    Raises:
        ValueError: output is a file.

    Example:
        >>> import os, tempfile
        >>> from argosy.distributed.sharding import save_group_sharded_model
        >>> folder = tempfile.mkdtemp()
        >>> save_group_sharded_model(argosy.nn.Linear(2, 2), folder)
        >>> os.listdir(folder)
        ['model.pdmodel']
    """
    if os.path.isfile(output):
        raise ValueError(
            f"[save_group_sharded_model] output: expected a folder, got the file {output!r}. Do this: name a"
            " folder."
        )
    os.makedirs(output, exist_ok=True)
    contents = {os.path.join(output, "model.pdmodel"): model.state_dict()}
    if optimizer is not None:
        contents[os.path.join(output, "model.pdopt")] = optimizer.state_dict()
    io.save_together(contents)
