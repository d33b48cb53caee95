"""Runs a plan's processes as actors of a Ray cluster.

Each server and worker is an actor that starts the program as its child. Ray places the actors
(spread over nodes), notices when an actor or its node dies and starts it again; when the program
itself dies, the actor tells the launcher, which starts it again in the same actor.
"""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

from . import guardian, ports
from .arguments import unprotected
from .output import Follower, last_lines, show
from .supervision import describe, exit_code, refusal, say

__all__ = ["run"]

_PLACEMENT_SECONDS = 120  # for room in the cluster, and again for actors to start there
_ANSWER_SECONDS = 60  # of Ray itself
_WATCH_SECONDS = 30  # for the guardian to kill what is left


def _was_restarted(ray):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Ray's own, of how it finds the answer
        return ray.get_runtime_context().was_current_actor_reconstructed


def _end_watch(watch):
    watch.stdin.close()
    try:
        watch.wait(_WATCH_SECONDS)
    except subprocess.TimeoutExpired:
        say(
            f"the guardian (process {watch.pid}) has not ended in {_WATCH_SECONDS} s; it is killed."
        )
        watch.kill()


def _end(what, call, *arguments):
    """A call of Ray at the end of a job. These take no limit, and none may keep the launcher."""
    thread = threading.Thread(target=call, args=arguments, daemon=True)
    thread.start()
    thread.join(_ANSWER_SECONDS)
    if thread.is_alive():
        say(f"Ray did not answer for {_ANSWER_SECONDS} s to {what}; the launcher goes on.")


class _Member:
    """The actor: one process of the job."""

    def place(self):
        """(node's address, a free port on it)."""
        import ray

        return ray.util.get_node_ip_address(), ports.pick(1)[0]

    def run(self, task, kind, host, environ, command, folder, log, show, first):
        """Runs the program to its end: (exit code, its last lines). Called again by Ray after the
        actor was restarted; first is the number of starts before."""
        import ray

        starts = first
        if _was_restarted(ray):
            here = ray.util.get_node_ip_address()
            if kind == "server" and host not in ("127.0.0.1", here):
                return 1, [f"{task} moved from {host} to {here}, and others know the old address."]
            starts += 1
        if not os.path.isdir(folder):
            return 1, [f"there is no folder {folder} on {ray.util.get_node_ip_address()}"]
        os.makedirs(os.path.dirname(log), exist_ok=True)
        if "ARGOSY_PS_DIRECTORY" in environ:
            os.makedirs(environ["ARGOSY_PS_DIRECTORY"], exist_ok=True)
        environ = dict(os.environ, **environ, PADDLE_RESTART_COUNT=str(starts))
        environ["ARGOSY_RESTART"] = str(starts)
        bare = [sys.executable, "-I", "-S", os.path.abspath(guardian.__file__)]
        watch = subprocess.Popen(
            bare + ["watch", environ["ARGOSY_JOB_MARK"]],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        follower = None
        try:
            with open(log, "ab" if starts else "wb") as out:
                if starts:
                    out.write(f"--- {task}: restart {starts} ---\n".encode())
                    out.flush()
                child = subprocess.Popen(
                    bare + ["start", str(os.getpid()), "--", *command],
                    cwd=folder,
                    env=environ,
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            if show:
                follower = Follower(log, task, 0)
            while child.poll() is None:
                if follower is not None:
                    follower.show()
                time.sleep(0.05)
            return child.returncode, last_lines(log)
        finally:
            if follower is not None:
                follower.close()
            _end_watch(watch)


class _Job:
    def __init__(self, plan, ray):
        self.plan, self.ray = plan, ray
        self.actors, self.starts, self.running = {}, {}, {}
        self.stopped_by = None

    def run(self):
        ray, plan = self.ray, self.plan
        ray.init(address=plan.ray_address, ignore_reinit_error=True, logging_level="WARNING")
        group = ray.util.placement_group([{"CPU": plan.cpus}] * len(plan.tasks), strategy="SPREAD")
        old = {
            number: signal.signal(number, self._on_signal)
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        }
        try:
            if not self._wait_for(group):
                return 1
            self._make_actors(group)
            self._give_addresses()
            wrong = self._what_is_wrong()
            if wrong:
                say(wrong)
                return 2
            for task in plan.tasks:
                self._start(task)
            return self._watch()
        except TimeoutError as error:
            say(str(error))
            return 1
        except KeyboardInterrupt:
            say(f"{signal.Signals(self.stopped_by).name}: ending {len(self.running)} processes.")
            return 128 + self.stopped_by
        finally:
            for number, handler in old.items():
                signal.signal(number, handler)
            _end("end the actors", self._kill_actors)
            _end("give the places back", ray.util.remove_placement_group, group)
            _end("disconnect", ray.shutdown)

    def _what_is_wrong(self):
        """With where the servers are; ''."""
        servers = {t.host for t in self.plan.tasks if t.kind == "server"}
        try:
            return unprotected(servers, self.plan.tasks[0].environ)
        except ValueError as error:  # a word of the environment that is none
            return str(error)

    def _kill_actors(self):
        for actor in self.actors.values():
            self.ray.kill(actor)

    def _on_signal(self, number, frame):
        if self.stopped_by is None:
            self.stopped_by = number
            raise KeyboardInterrupt

    def _wait_for(self, group):
        if group.wait(timeout_seconds=_PLACEMENT_SECONDS):
            return True
        have = self.ray.cluster_resources().get("CPU", 0)
        need = self.plan.cpus * len(self.plan.tasks)
        say(
            f"the Ray cluster has {have:g} cores in all, and the job needs {need:g} free ones. Do "
            "this: fewer processes, --cpus, or more nodes."
        )
        return False

    def _make_actors(self, group):
        from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

        plan = self.plan
        member = self.ray.remote(_Member)
        for index, task in enumerate(plan.tasks):
            again = plan.max_restart if task.kind == "worker" or plan.durable else 0
            self.actors[task] = member.options(
                name=f"{plan.job}.{task.name}",
                num_cpus=plan.cpus,
                max_restarts=again,
                max_task_retries=again,
                scheduling_strategy=PlacementGroupSchedulingStrategy(
                    group, placement_group_bundle_index=index
                ),
            ).remote()
            self.starts[task] = 0

    def _give_addresses(self):
        plan = self.plan
        futures = {self.actors[task].place.remote(): task for task in plan.tasks}
        found, missing = self.ray.wait(
            list(futures), num_returns=len(futures), timeout=_PLACEMENT_SECONDS
        )
        if missing:
            names = ", ".join(futures[future].name for future in missing)
            raise TimeoutError(
                f"no actor was up for {names} in {_PLACEMENT_SECONDS} s. Do this: look at the nodes"
                " (`ray status`, and the logs of Ray there)."
            )
        places = self.ray.get(list(futures), timeout=_ANSWER_SECONDS)
        one_host = len({host for host, _ in places}) == 1
        for task, (host, port) in zip(plan.tasks, places):
            task.host, task.port = "127.0.0.1" if one_host else host, port
        lists = {
            kind: ",".join(f"{t.host}:{t.port}" for t in plan.tasks if t.kind == kind)
            for kind in ("server", "worker")
        }
        seen = {}
        for task in plan.tasks:
            number = seen[task.host, task.kind] = seen.get((task.host, task.kind), -1) + 1
            endpoint = f"{task.host}:{task.port}"
            task.environ.update(
                # Of its own, so that the actor's end ends what belongs to it.
                ARGOSY_JOB_ID=f"{plan.job}.{task.name}",
                ARGOSY_JOB_MARK=f"{plan.mark}.{task.name}",
                PADDLE_TRAINER_ENDPOINTS=lists["worker"] or endpoint,
                PADDLE_CURRENT_ENDPOINT=endpoint,
                POD_IP=task.host,
                PADDLE_PORT=str(task.port),
                PADDLE_RANK_IN_NODE=str(number),
                PADDLE_NNODES=str(len({host for host, _ in places})),
            )
            if lists["server"]:
                task.environ["PADDLE_PSERVERS_IP_PORT_LIST"] = lists["server"]

    def _start(self, task):
        plan = self.plan
        shown = plan.stream == "all" or (
            plan.stream == "first" and task.kind == "worker" and task.number == 0
        )
        future = self.actors[task].run.remote(
            task.name,
            task.kind,
            task.host,
            task.environ,
            plan.command,
            os.getcwd(),
            os.path.join(plan.log_dir, task.log),
            shown,
            self.starts[task],
        )
        self.running[future] = task

    def _watch(self):
        patience = None
        while self.running:
            workers = [t for t in self.running.values() if t.kind == "worker"]
            if not workers:
                patience = patience or time.monotonic() + self.plan.grace
                if time.monotonic() > patience:
                    say("all workers have ended, servers have not. They are ended now.")
                    return 0
            done, _ = self.ray.wait(list(self.running), timeout=0.2)
            for future in done:
                failed = self._ended(future)
                if failed:
                    return failed
        return 0

    def _ended(self, future):
        """The job's exit code if this ends it."""
        plan, task = self.plan, self.running.pop(future)
        try:
            code, lines = self.ray.get(future, timeout=_ANSWER_SECONDS)
        except self.ray.exceptions.RayError as error:
            say(f"{task.name}: its actor is lost: {str(error).strip().splitlines()[0]}")
            say(f"{task.name} is not restarted: {refusal(plan, task, -9, plan.max_restart)}.")
            return 1
        if code == 0:
            return 0
        say(f"{task.name} {describe(code)}. The end of its log {plan.log_dir}/{task.log}:")
        for line in lines:
            show(f"    {line}\n", "stderr")
        why = refusal(plan, task, code, self.starts[task])
        if why is not None:
            say(f"{task.name} is not restarted: {why}. The job is ended.")
            return exit_code(code)
        self.starts[task] += 1
        say(f"{task.name}: restart {self.starts[task]} of {plan.max_restart}.")
        self._start(task)
        return 0


def run(plan):
    """Runs the plan on a Ray cluster. Returns the exit code, as local.run does."""
    try:
        import ray
    except ModuleNotFoundError:
        say("--on ray needs Ray. Do this: pip install 'argosy[ray]'.")
        return 2
    return _Job(plan, ray).run()
