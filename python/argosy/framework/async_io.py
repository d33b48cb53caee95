"""Saving while the program goes on."""

from __future__ import annotations

import copy
import logging
import threading

from argosy._core import Tensor

from .io import save

__all__ = ["async_save", "clear_async_save_task_queue"]

logger = logging.getLogger(__name__)

_lock = threading.Lock()
_tasks = []  # of the process, guarded by _lock: those that nobody waited for yet
_last = []  # guarded by _lock: the one that was started last, if any


class _Task(threading.Thread):
    """Writes one file, after the task before it: of two for one path the later one stays. No daemon: the
    interpreter waits for it before it ends."""

    def __init__(self, obj, path, protocol, configs, before):
        super().__init__(name="argosy async_save")
        self.before = before
        self.arguments = (obj, path, protocol)
        self.configs = configs
        self.error = None

    def run(self):
        if self.before is not None:
            self.before.join()
            self.before = None
        try:
            save(*self.arguments, **self.configs)
        except Exception as error:  # raised to whoever waits, and logged, as perhaps nobody does
            self.error = error
            logger.error("[async_save] %s was not written: %s", self.arguments[1], error)
        self.arguments = None


def _as_it_is_now(obj, memo):
    """obj with copies of all that the program may change meanwhile, which is not saved.

    Constructors of classes derived from dict, list and tuple are not called: they may take anything. What is
    there twice, or inside of itself, is so in the copy; `memo` is that of copy.deepcopy.
    """
    if id(obj) in memo:
        return memo[id(obj)]
    memo.setdefault(id(memo), []).append(obj)  # an id is of one object while that lives
    if isinstance(obj, Tensor):
        copied = obj.detach().clone()
        copied.name = obj.name
    elif isinstance(obj, dict):
        copied = memo[id(obj)] = copy.copy(obj)
        for key, value in obj.items():
            dict.__setitem__(copied, key, _as_it_is_now(value, memo))
    elif isinstance(obj, list):
        copied = memo[id(obj)] = copy.copy(obj)
        list.__setitem__(copied, slice(None), [_as_it_is_now(value, memo) for value in obj])
    elif isinstance(obj, tuple):
        copied = tuple.__new__(type(obj), [_as_it_is_now(value, memo) for value in obj])
        if hasattr(obj, "__dict__"):
            vars(copied).update(vars(obj))
    else:
        try:
            return copy.deepcopy(obj, memo)
        except Exception:  # save says what of it cannot be stored, if anything
            return obj
    memo[id(obj)] = copied
    return copied


def async_save(obj, path, protocol=4, sync_other_task=False, **configs):
    """Saves a state dict on another thread, as it is at the time of the call. Files are written in the order
    of the calls.

    Args:
        obj (dict): State dict; what it holds is copied before the call returns.
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
    copied = _as_it_is_now(obj, {})
    with _lock:
        _tasks[:] = [t for t in _tasks if t.is_alive() or t.error is not None]
        task = _Task(copied, path, protocol, configs, _last[0] if _last else None)
        _last[:] = [task]
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
