"""What must hold while a story is told and at its end."""

import collections
import json
import os
import time

from tests.faults import actor as actors
from tests.faults import content
from tests.faults.model import Violation

__all__ = ["ADMIT", "CAPPED", "CLICKS", "COLD", "NUMBERS", "RATED", "ROWS", "Checks"]

ROWS, NUMBERS, COLD, CLICKS, ADMIT, CAPPED, RATED = range(7)  # tables


def pull(client, table, keys):
    """Rows, by calls that are below any limit of stories."""
    pieces = (keys[i : i + 40] for i in range(0, len(keys), 40))
    return [row for piece in pieces for row in client.pull_sparse(table, piece)]


class Checks:
    """The part of Driver that compares."""

    def connect(self):
        # Servers refuse who tries longer than they remember him.
        patience = min(20, self.story.get("options", {}).get("client_expiry", 21) - 1)
        options = dict(
            endpoints=[f"127.0.0.1:{p}" for p in self.ports],
            worker=self.workers - 1,
            workers=self.workers,
            token=self.settings.token,
            connect_deadline=20,
            call_deadline=patience,
            table_deadline=patience,
            attempt_deadline=2,
        )
        return actors.Calls(actors.load_ps().Client(json.dumps(options)))

    def do_check(self):
        """Every cell against the model. Calls may be on their way."""
        if self.paused or self.bad or None in self.server or self.armed:
            return
        self.listen(0)
        client = self.connect()
        numbers = client.pull_dense(NUMBERS, len(self.story["events"]))
        names = collections.defaultdict(list)
        for name in self.model.cells:
            if name.startswith("row "):
                table, key = name[4:].split("/")
                names[int(table)].append((int(key), name))
            else:
                self.model.read(name, numbers[int(name.split()[1])])
        for table, keys in names.items():
            for (_, name), row in zip(keys, pull(client, table, [k for k, _ in keys])):
                if table == CLICKS:
                    if row[0] != row[1]:
                        raise Violation(f"{name} is torn: {row}")
                    self.model.read(name, (row[0], int(row[2])))
                elif row[0] != row[1]:
                    raise Violation(f"{name} is torn: {row}")
                else:
                    self.model.read(name, row[0])
        self.check_capped(client)
        self.check_steps(numbers)
        if not os.path.exists(os.path.join(self.data, "models/user/part-00000")):
            raise Violation("a user's folder was removed")

    def check_capped(self, client):
        keys = sorted(self.sent)
        if not keys:
            return
        there = collections.Counter()
        for key, row in zip(keys, pull(client, CAPPED, keys)):
            if row[0] > self.sent[key] or row[0] != row[1]:
                raise Violation(f"row {CAPPED}/{key} is {row}, and {self.sent[key]} were sent")
            there[content.server_of(key, self.servers)] += row[0] != 0
        most = self.settings.max_rows
        if there and max(there.values()) > most:
            raise Violation(f"{max(there.values())} rows, of {most} at most")

    def check_steps(self, numbers):
        """Of each worker the pushes of one client count in a step, each once."""
        by_step = collections.defaultdict(list)
        for part in self.parts:
            number, what = numbers[part["number"]], part["what"]
            step, name = part["step"], f"step_push#{part['number']} of step {part['step']}"
            ended = {e["client"].worker for e in self.ends if e["step"] == step}
            if number not in (0, 1):
                raise Violation(f"{name} counts {number} times")
            if number and what == "refused":
                raise Violation(f"{name} was refused and counts")
            if number and len(ended) < part["workers"]:
                raise Violation(f"{name} counts, and only workers {sorted(ended)} ended the step")
            if part.get("counted", 0) > number:
                raise Violation(f"{name} counted, and is lost")
            part["counted"] = number
            by_step[step, part["client"].worker].append((part, number))
        for (step, worker), parts in by_step.items():
            counted = {id(p["client"]) for p, n in parts if n}
            applied = any(e["ok"] for e in self.ends if e["step"] == step)
            where = f"step {step}, worker {worker}"
            if len(counted) > 1:
                raise Violation(f"{where}: pushes of {len(counted)} clients count")
            last = [p for p, _ in parts if p["client"] is parts[-1][0]["client"]]
            sure = any(
                e["ok"] and e["step"] == step and e["client"] is last[0]["client"]
                for e in self.ends
            )
            if applied and sure and not counted and any(p["what"] == "ok" for p in last):
                raise Violation(f"{where}: acknowledged pushes are lost")
            for p, n in parts:
                if counted and id(p["client"]) in counted and p["what"] == "ok" and not n:
                    raise Violation(f"{where}: step_push#{p['number']} is lost")

    def finish(self):
        """Faults end; what is on its way comes home; all is compared, also after kill -9."""
        for s, d in enumerate(self.disks):
            if d:
                d.fail("")
                d.kill_after(0)
        self.armed.clear()
        if self.bad:
            self.bad, self.bad_since = False, time.monotonic() + 3  # a server looks once a second
            time.sleep(3)
        self.do_cont()
        self.do_heal()
        for s in range(self.servers):
            self.do_start(s)
        self.do_join()
        self.end_steps()
        self.do_check()
        for s in range(self.servers):
            self.end(s, kill=self.settings.promise() != "snapshot")
        for s in range(self.servers):
            self.do_start(s)
        self.do_check()
        self.model.check_whole()
        self.probe()

    def end_steps(self):
        """Open steps can be ended by those who are there."""
        if not self.parts and not self.ends:
            return
        for w in range(self.workers):
            self.do_spawn(w)
        for _ in range(6):
            lowest = min(a.step for a in self.actors.values())
            if all(a.step == lowest for a in self.actors.values()) and not any(
                x["step"] == (self.era, lowest) for x in (*self.parts, *self.ends)
            ):
                return
            for w, a in self.actors.items():
                a.passes_over = False
                if a.step == lowest:
                    self.do_step_end(w)
            self.do_join()
        raise Violation(f"step {lowest} does not end")

    def probe(self):
        """Days that click rows are unseen show in when they go."""
        if not any(c.kind == "click" for c in self.model.cells.values()):
            return
        alive = next((w for w, a in self.actors.items() if not a.dead), None)
        if alive is None:
            return
        for n in range(3):
            self.at = f"probe-{n}"
            self.do_end_day(alive)
            self.do_shrink(alive)
            self.do_check()
