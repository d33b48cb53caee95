"""Runs a plan's processes on this host."""

import os
import select
import signal
import subprocess
import sys
import time

from . import guardian
from .folders import Folders
from .nodes import Verdict
from .output import Follower, last_lines, show
from .supervision import describe, exit_code, refusal, say

__all__ = ["run"]

_GUARDIAN = os.path.abspath(guardian.__file__)
_BARE = [sys.executable, "-I", "-S", _GUARDIAN]
_POLL_SECONDS = 0.05
# That the others of a group have to find out that a process failed, and to say so.
_LAST_WORDS_SECONDS = 10
# That the launcher of a host where a process was killed has to say so, before one of another host says
# what failed because of it.
_CAUSE_SECONDS = 2
# Until a process that was killed is gone, and until the guardian has found nothing left.
_KILL_SECONDS = 10


class _Process:
    """A task, and the process that runs it now."""

    def __init__(self, task, logs):
        self.task = task
        self.path = os.path.join(logs, task.log)
        self.restarts = 0
        self.handle = None
        self.code = None
        self.killed_by_us = False

    def start(self, plan):
        self.killed_by_us = False
        environ = dict(os.environ, **self.task.environ)
        environ["PADDLE_RESTART_COUNT"] = environ["ARGOSY_RESTART"] = str(self.restarts)
        with open(self.path, "ab" if self.restarts else "wb") as log:
            if self.restarts:
                log.write(f"--- {self.task.name}: restart {self.restarts} ---\n".encode())
                log.flush()
            self.handle = subprocess.Popen(
                _BARE + ["start", str(os.getpid()), "--", *plan.command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environ,
                start_new_session=True,
            )
        self.code = None

    def poll(self):
        """The exit code if it has just ended, else None."""
        if self.handle is None or self.code is not None:
            return None
        self.code = self.handle.poll()
        return self.code

    @property
    def running(self):
        return self.handle is not None and self.code is None

    def signal(self, number):
        """To its whole process group."""
        if self.running:
            self.killed_by_us = True
            try:
                os.killpg(self.handle.pid, number)
            except OSError:
                pass

    def sweep_group(self):
        """Ends what a process that died has left in its group."""
        try:
            os.killpg(self.handle.pid, signal.SIGKILL)
        except OSError:
            pass


class _Job:
    def __init__(self, plan, folders):
        self.plan = plan
        self.folders = folders
        self.processes = [_Process(task, folders.logs) for task in plan.tasks]
        self.stop_signal = None
        self.signals = 0
        self.finished = False  # all processes of this host, while those of others go on
        follow = {"first": plan.tasks[:0], "all": plan.tasks, "none": []}[plan.stream]
        if plan.stream == "first":
            workers = [task for task in plan.tasks if task.kind == "worker"]
            follow = workers[:1] or plan.tasks[:1]
        several = len(plan.tasks) > 1
        self.followers = [
            Follower(os.path.join(folders.logs, task.log), task.name if several else "", i)
            for i, task in enumerate(follow)
        ]

    def _on_signal(self, number, frame):
        self.signals += 1
        self.stop_signal = number

    def run(self):
        """Starts all, watches, ends all. Returns the exit code."""
        if self.folders.logs != self.plan.log_dir:
            say(f"a job that runs has its logs in {self.plan.log_dir}: see {self.folders.logs}.")
        for task in self.plan.tasks:
            task.environ["PADDLE_LOG_DIR"] = self.folders.logs
        old = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        watch = subprocess.Popen(
            _BARE + ["watch", self.plan.mark],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=self.folders.locks,  # the folders are in use until all processes are gone
        )
        try:
            self._start_all()
            return self._watch()
        finally:
            for process in self.processes:
                process.signal(signal.SIGKILL)
            if not guardian.kill_members(self.plan.mark, keep={os.getpid(), watch.pid}):
                left = guardian.members(self.plan.mark)
                say(f"some processes of the job could not be killed: {sorted(set(left))}.")
            end = time.monotonic() + _KILL_SECONDS
            for process in self.processes:
                if process.handle is not None:
                    _wait(process.handle, process.task.name, end)
            for follower in self.followers:
                follower.show()
                follower.close()
            watch.stdin.close()
            watch.send_signal(signal.SIGCONT)  # should somebody have stopped it
            _wait(watch, "the guardian", time.monotonic() + _KILL_SECONDS)
            for number, handler in old.items():
                signal.signal(number, handler)

    def _start_all(self):
        nodes = self.plan.nodes
        if nodes is not None:
            address = nodes.store_of_ranks()
        for process in self.processes:
            if nodes is not None:
                process.task.environ["PADDLE_MASTER"] = address
            process.start(self.plan)

    def _start_again(self):
        """All processes of the group, which have ended."""
        self.finished = False
        if self.plan.nodes is not None:
            self.plan.nodes.generation += 1
        for process in self.processes:
            process.restarts += 1
        self._start_all()

    def _watch(self):
        workers = [p for p in self.processes if p.task.kind == "worker"]
        servers = [p for p in self.processes if p.task.kind == "server"]
        patience = None
        while True:
            for follower in self.followers:
                follower.show()
            if self.stop_signal is not None:
                name = signal.Signals(self.stop_signal).name
                say(f"{name}: ending {sum(p.running for p in self.processes)} processes.")
                if self.plan.nodes is not None:
                    self.plan.nodes.report(
                        Verdict(f"{name} ended a launcher", 128 + self.stop_signal, 0)
                    )
                self._end_all()
                return 128 + self.stop_signal
            for process, code in self._failures():
                failed = self._failed(process, code)
                if failed is not None:
                    return failed
                if self.plan.together:  # all were started again, those that failed after it too
                    break
            ended = self._of_other_hosts(all(p.code == 0 for p in workers))
            if ended is not None:
                return ended
            if self.finished:
                continue
            if workers and all(p.code == 0 for p in workers):
                if not any(p.running for p in servers):
                    return 0
                if not self.plan.whole:
                    # Workers of other hosts go on; the last of all to leave ends the servers.
                    self._pause()
                    continue
                # Servers that the last worker has not ended.
                patience = patience or time.monotonic() + self.plan.grace
                if time.monotonic() > patience:
                    say(
                        "all workers have ended, servers have not: fleet.stop_worker() was not "
                        "called? They are ended now."
                    )
                    self._end_all()
                    return 0
            elif not any(p.running for p in self.processes):
                return 0
            self._pause()

    def _pause(self):
        """Until a process ends; not for long, as logs grow meanwhile."""
        _await_end([p.handle.pid for p in self.processes if p.running], _POLL_SECONDS)

    def _failures(self):
        """Processes that have just failed, and their codes; first those that a signal killed, as they did
        not fail because of another one."""
        found = []
        # Twice: the cause may have died after the first look at it, and before that at what it brought.
        for _ in range(2):
            found += [(p, code) for p in self.processes if (code := p.poll())]
            if not found:
                break
        return sorted(found, key=lambda failure: failure[1] > 0)

    def _of_other_hosts(self, done_here):
        """The exit code when the job ends by what launchers of other hosts say; else None."""
        nodes = self.plan.nodes
        if nodes is None:
            return None
        verdict = nodes.verdict()
        if verdict is not None:
            return self._end_together(verdict)
        if done_here and not self.finished:
            self.finished = True
            nodes.finish()
        if self.finished and nodes.all_finished():
            return 0
        self._pause()
        return None

    def _end_together(self, verdict):
        """Ends all processes of this host; the exit code, None where they were started again."""
        self._await_last_words()
        self._end_all()
        if not verdict.again:
            say(f"{verdict.text}: the job is ended.")
            return verdict.code
        restart = self.processes[0].restarts + 1
        say(f"{verdict.text}: restart {restart} of {self.plan.max_restart} of all processes.")
        self._start_again()
        return None

    def _failed(self, process, code):
        """Restarts it, or ends the job and returns its exit code."""
        process.sweep_group()
        for follower in self.followers:
            follower.show()
        say(f"{process.task.name} {describe(code)}. The end of {process.path}:")
        for line in last_lines(process.path):
            show(f"    {line}\n", "stderr")
        plan = self.plan
        if plan.together:
            again = plan.restart_any and process.restarts < plan.max_restart
            if not again:
                why = refusal(plan, process.task, code, process.restarts)
                say(f"{process.task.name} is not restarted: {why}. The job is ended.")
            verdict = Verdict(f"{process.task.name} {describe(code)}", exit_code(code), again)
            if plan.nodes is not None:
                patience = _CAUSE_SECONDS if code > 0 else 0
                verdict = plan.nodes.report(verdict, patience)
            return self._end_together(verdict)
        why = refusal(plan, process.task, code, process.restarts)
        if why is None:
            process.restarts += 1
            say(f"{process.task.name}: restart {process.restarts} of {plan.max_restart}.")
            process.start(plan)
            return None
        say(f"{process.task.name} is not restarted: {why}. The job is ended.")
        self._end_all()
        return exit_code(code)

    def _await_last_words(self):
        """What the processes say that wait for one which failed."""
        end = time.monotonic() + _LAST_WORDS_SECONDS
        while any(p.running for p in self.processes) and time.monotonic() < end:
            for process in self.processes:
                process.poll()
            self._pause()
        for follower in self.followers:
            follower.show()

    def _end_all(self):
        """SIGTERM, some patience, SIGKILL; a second Ctrl-C ends the patience."""
        before = self.signals
        for process in self.processes:
            process.signal(signal.SIGTERM)
        end = time.monotonic() + self.plan.grace
        while any(p.running for p in self.processes):
            for process in self.processes:
                process.poll()
            for follower in self.followers:
                follower.show()
            if time.monotonic() > end + _KILL_SECONDS:
                return  # a process that cannot even be killed: run() says which
            if time.monotonic() > end or self.signals > before:
                for process in self.processes:
                    process.signal(signal.SIGKILL)
            self._pause()


def _await_end(children, seconds):
    """Returns once one of these processes, none of which was waited for, has ended, or after so long."""
    files, poll = [], select.poll()
    try:
        for child in children:
            files.append(os.pidfd_open(child))
            poll.register(files[-1], select.POLLIN)
        poll.poll(1000 * seconds)
    except (AttributeError, OSError):  # systems without such files
        time.sleep(seconds)
    finally:
        for file in files:
            os.close(file)


def _wait(process, name, end):
    """For a process that was killed: one in the midst of a system call may stay."""
    try:
        process.wait(max(0.1, end - time.monotonic()))
    except subprocess.TimeoutExpired:
        say(f"{name} (process {process.pid}) has not ended {_KILL_SECONDS} s after it was killed.")


def run(plan):
    """Runs the plan to its end. Returns the exit code: 0, that of the first process that failed
    (128 + n for signal n), or 128 + n when signal n ended the launcher. Raises folders.Taken if a job
    that runs uses its folders."""
    folders = Folders(plan)
    try:
        return _Job(plan, folders).run()
    finally:
        folders.close()
        if plan.nodes is not None:
            plan.nodes.close()
