"""Folders of jobs, and the locks that keep two launchers out of one.

A lock is an open file (flock): the kernel ends it with the last process that has the file open, so
none is left behind by a launcher that was killed. The file says who has it. Over a network file
system that passes locks on, launchers of other hosts are kept out, too.
"""

import errno
import fcntl
import json
import os
import re
import shutil
import socket
import time

from . import guardian

__all__ = ["Folders", "Taken", "job_folder"]

_UNSUPPORTED = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
_BUSY = (errno.EAGAIN, errno.EACCES)
_GUARD_SECONDS = 30
# A launcher that was killed leaves its locks to its guardian, until that has ended the job's processes.
_ENDING_SECONDS = 15
_SIGNED = ("pid", "host", "job")


class Taken(OSError):
    """Another job that runs uses it."""


def job_folder(job, mark):
    """The name of a launch's own folder: its job, this host, what nobody else drew."""
    # File systems take names of 255 bytes, and ".lock" comes after it.
    name = f"{job[:100]}-{socket.gethostname()[:100]}-{mark.rpartition(',')[2][:8]}"
    return re.sub(r"[^\w.-]", "_", name, flags=re.ASCII)


def _try_lock(path):
    """The descriptor of the locked file, which is made; None if another process has the lock."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file
    except OSError as error:
        os.close(file)
        if error.errno in _BUSY:
            return None
        raise


def _sign(file, job):
    """Writes into a locked file who has it."""
    holder = dict(zip(_SIGNED, (os.getpid(), socket.gethostname(), job), strict=True))
    os.ftruncate(file, 0)
    os.write(file, json.dumps(holder).encode())


def _holder(path):
    """What the file of a lock says, {} if nothing (yet)."""
    try:
        with open(path) as file:
            found = json.load(file)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _has_ended(holder):
    """Whether it is a launcher of this host that has ended, so that its lock will be free soon."""
    pid = holder.get("pid")
    here = holder.get("host") == socket.gethostname()
    return here and isinstance(pid, int) and not guardian.alive(pid)


class Folders:
    """The folders of one launch. `locks` are descriptors: whoever inherits one keeps its lock.

    logs: where the logs are. Raises Taken if a job that runs has what this one needs.
    """

    def __init__(self, plan):
        self.logs = plan.log_dir
        self.locks = []
        self._plan = plan
        try:
            self._take_logs()
            if plan.state_dir:
                self._take_state()
        except BaseException:
            self.close()
            raise

    def close(self):
        """Gives up the locks that no other process has."""
        for file in self.locks:
            os.close(file)
        self.locks = []

    def _take_logs(self):
        """The logs of a job that runs are left alone: this one's are in a folder of its own then."""
        plan = self._plan
        for folder in (plan.log_dir, os.path.join(plan.log_dir, plan.folder)):
            os.makedirs(folder, exist_ok=True)
            if self._all([os.path.join(folder, task.log) for task in plan.tasks]):
                self.logs = folder
                return
        raise Taken(f"logs in {folder} are those of a job that runs.")

    def _all(self, paths):
        """Locks all of them or none; whether it did. Logs on a file system without locks are taken."""
        found = []
        for path in paths:
            try:
                file = _try_lock(path)
            except OSError as error:
                if error.errno in _UNSUPPORTED:
                    continue
                raise
            if file is None:
                for file in found:
                    os.close(file)
                return False
            found.append(file)
        self.locks += found
        return True

    def _take_state(self):
        plan = self._plan
        try:
            if plan.state_is_ours:
                self._make_state()
            else:
                self._lock_servers()
        except OSError as error:
            if error.errno not in _UNSUPPORTED:
                raise
            raise OSError(
                f"the file system of {plan.state_dir} has no locks ({error.strerror}), so another job "
                "could use the folder at the same time. Do this: choose a folder elsewhere, by "
                "--durability_dir or --log_dir."
            ) from None

    def _make_state(self):
        """A new folder; those of this host's jobs that have ended are removed."""
        plan = self._plan
        parent = os.path.dirname(plan.state_dir)
        os.makedirs(parent, exist_ok=True)
        guard = self._guard(os.path.join(parent, ".lock"))
        try:
            for name in os.listdir(parent):
                if name.endswith(".lock") and name != ".lock":
                    self._remove_ended(os.path.join(parent, name))
            file = _try_lock(plan.state_dir + ".lock")
            if file is None:
                raise Taken(f"{plan.state_dir} is used by another launcher.")
            self.locks.append(file)
            _sign(file, plan.job)
            os.makedirs(plan.state_dir)
        finally:
            os.close(guard)

    def _guard(self, path):
        """The lock under which locks are made and removed."""
        end = time.monotonic() + _GUARD_SECONDS
        while True:
            file = _try_lock(path)
            if file is not None:
                return file
            if time.monotonic() > end:
                raise TimeoutError(
                    f"another launcher has had {path} locked for {_GUARD_SECONDS} s. Do this: see what "
                    "it does (`fuser` names it), or give another --log_dir."
                )
            time.sleep(0.02)

    @staticmethod
    def _remove_ended(path):
        """The state whose lock is at path, unless its job runs or was another host's."""
        # Locks of other programs, and what is beside them, are none of ours.
        holder = _holder(path)
        if tuple(holder) != _SIGNED or holder["host"] != socket.gethostname():
            return
        file = _try_lock(path)
        if file is None:
            return
        shutil.rmtree(path.removesuffix(".lock"), ignore_errors=True)
        os.unlink(path)
        os.close(file)

    def _lock_servers(self):
        """The folder is the user's, and other hosts of the job may share it: each server of this host
        has a lock of its own."""
        plan = self._plan
        os.makedirs(plan.state_dir, exist_ok=True)
        for task in plan.tasks:
            if task.kind != "server":
                continue
            file = self._lock_server(os.path.join(plan.state_dir, f".{task.name}.lock"), task.name)
            self.locks.append(file)
            _sign(file, plan.job)

    def _lock_server(self, path, name):
        end = time.monotonic() + _ENDING_SECONDS
        while (file := _try_lock(path)) is None:
            who = _holder(path)
            if not _has_ended(who) or time.monotonic() > end:
                raise Taken(
                    f"--durability_dir {self._plan.state_dir}: the state of {name} is used by the job "
                    f"{who.get('job', '(unknown)')!r}, launcher {who.get('pid', '(unknown)')} on host "
                    f"{who.get('host', '(unknown)')}. Do this: wait for its end or end it, or give "
                    "another folder."
                )
            time.sleep(0.02)
        return file
