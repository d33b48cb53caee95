"""Saving while the program goes on."""

from __future__ import annotations

import logging
import threading

from argosy._core import Tensor

from .io import save

__all__ = ["async_save", "clear_async_save_task_queue"]

logger = logging.getLogger(__name__)

_lock = threading.Lock()
_tasks = []  # of the process, guarded by _lock: those that nobody waited for yet


class _Task(threading.Thread):
    """Writes one file. No daemon: the interpreter waits for it before it ends."""

    def __init__(self, obj, path, protocol, configs):
        super().__init__(name="argosy async_save")
        self.arguments = (obj, path, protocol)
        self.configs = configs
        self.error = None

    def run(self):
        try:
            save(*self.arguments, **self.configs)
        except Exception as error:  # raised to whoever waits, and logged, as perhaps nobody does
            self.error = error
            logger.error("[async_save] %s was not written: %s", self.arguments[1], error)
        self.arguments = None


def _as_it_is_now(obj):
    """obj with copies of its tensors: what the program does to them meanwhile is not saved."""
    if isinstance(obj, Tensor):
        copy = obj.detach().clone()
        copy.name = obj.name
        return copy
    if isinstance(obj, dict):
        return type(obj)((key, _as_it_is_now(value)) for key, value in obj.items())
    if isinstance(obj, (list, tuple)) and not hasattr(obj, "_fields"):
        return type(obj)(_as_it_is_now(value) for value in obj)
    return obj


def async_save(obj, path, protocol=4, sync_other_task=False, **configs):
    """Saves a state dict on another thread, as it is at the time of the call.

    Args:
        obj (dict): State dict; its tensors are copied before the call returns.
        path (str | os.PathLike | io.BytesIO): As for :func:`argosy.save`.
        protocol (int): As for :func:`argosy.save`.
        sync_other_task (bool): Whether to wait first for those that are still being written.
        configs: As for :func:`argosy.save`.

    Raises:
        TypeError: obj is no dict.

    An error of the writing itself raises in :func:`clear_async_save_task_queue`.

    Example:
        >>> import os, tempfile
        >>> path = os.path.join(tempfile.mkdtemp(), "model.pdparams")
        >>> argosy.async_save({"w": argosy.ones([2])}, path)
        >>> argosy.clear_async_save_task_queue()
        >>> argosy.load(path)["w"].tolist()
        [1.0, 1.0]
    """
    if not isinstance(obj, dict):
        raise TypeError(
            f"[async_save] obj: expected a dict such as layer.state_dict(), got {type(obj).__name__}."
            " Do this: call argosy.save."
        )
    if sync_other_task:
        clear_async_save_task_queue()
    task = _Task(_as_it_is_now(obj), path, protocol, configs)
    with _lock:
        _tasks[:] = [t for t in _tasks if t.is_alive() or t.error is not None]
        _tasks.append(task)
        task.start()


def clear_async_save_task_queue():
    """Waits until all that :func:`async_save` was given is written.

    Raises:
        Exception: What the first of them that failed raised.

    Example:
        >>> argosy.clear_async_save_task_queue()
    """
    with _lock:
        tasks = list(_tasks)
        _tasks.clear()
    for task in tasks:
        task.join()
    for task in tasks:
        if task.error is not None:
            raise task.error
