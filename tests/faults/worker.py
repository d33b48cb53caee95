"""A worker process of the fault harness: python worker.py PLAN (JSON).

It pushes from some threads and keeps a journal that survives its own death: a line before each push
(S, or D for the dense table), one after it was acknowledged (A, B) or had failed (F), E at the end.
"""

import array
import functools
import json
import os
import random
import sys
import threading
import time

from tests.faults import content, server


class Worker:
    """Runs a plan."""

    def __init__(self, plan):
        from argosy import _ps

        self.plan = plan
        self.journal = os.open(plan["journal"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        options = dict(
            endpoints=plan["endpoints"],
            worker=plan["worker"],
            workers=plan["workers"],
            tables=content.TABLES,
            connect_deadline=60,
            call_deadline=plan.get("deadline", 40),
            attempt_deadline=0.4,
        )
        self.client = _ps.Client(json.dumps(options))
        self.lock = threading.Lock()
        self.next = 1

    def note(self, *words):
        """One line, whole, in the page cache of the system."""
        os.write(self.journal, (" ".join(map(str, words)) + "\n").encode())

    def push(self, sequence):
        """A sparse push."""
        plan, servers = self.plan, len(self.plan["endpoints"])
        keys = content.data_keys(plan["seed"], plan["client"], sequence)
        for s in range(servers):
            keys.append(content.marker(plan["client"], sequence, s, servers))
        random.Random(sequence).shuffle(keys)
        rows = [[1] * content.DIM for _ in keys]
        if sequence in plan.get("poison", ()):
            # A row of a key that nobody else has, which must be refused and nothing else.
            keys.insert(20, plan["client"] << 20 | 1 << 19)
            rows.insert(20, [1] * content.DIM)
            rows[20][sequence % content.DIM] = float("nan" if sequence % 2 else "inf")
        values = array.array("f", [x for row in rows for x in row])
        self.client.push_sparse(0, array.array("Q", keys), values)

    def push_dense(self, number):
        """One to a number that is this push's own."""
        values = array.array("f", bytes(4 * content.CLIENTS * content.NUMBERS))
        values[number] = 1
        self.client.push_dense(1, values)

    def try_to(self, call, sequence, before, after):
        """Runs call between two lines of the journal."""
        self.note(before, sequence)
        try:
            call()
        except Exception as error:
            self.note("F", sequence, type(error).__name__, str(error).replace("\n", " ")[:300])
        else:
            self.note(after, sequence)

    def pull(self, draw):
        """Rows of this client; each is whole at any time."""
        keys = array.array("Q", [self.plan["client"] << 20 | draw.randrange(content.KEYS)] * 5)
        out = array.array("f", [0] * (5 * content.DIM))
        try:
            self.client.pull_sparse(0, keys, out, True)
        except Exception as error:
            self.note("P", type(error).__name__, str(error).replace("\n", " ")[:300])
            return
        for i in range(5):
            row = out[i * content.DIM : (i + 1) * content.DIM]
            if len(set(row)) != 1:
                self.note("T", list(row))

    def run_thread(self, number):
        """Pushes until the plan's number of them is reached."""
        plan = self.plan
        draw = random.Random(f"{plan['seed']}/{plan['client']}/{number}")
        while True:
            with self.lock:
                sequence = self.next
                self.next += 1
            if sequence > plan["pushes"]:
                return
            self.try_to(lambda: self.push(sequence), sequence, "S", "A")
            number = content.number(plan["client"], sequence)
            if number is not None:
                self.try_to(functools.partial(self.push_dense, number), sequence, "D", "B")
            if sequence % 3 == 0:
                self.pull(draw)
            if sequence == plan.get("save_at"):
                self.save()
            time.sleep(draw.random() * plan.get("pause", 0.01))

    def save(self):
        """Asks the servers for a save while the others push."""
        try:
            self.client.save(self.plan["save_to"], 0)
        except Exception as error:
            self.note("X", type(error).__name__, str(error).replace("\n", " ")[:300])
        else:
            self.note("V")

    def run(self):
        """All threads."""
        threads = [
            threading.Thread(target=self.run_thread, args=(i,)) for i in range(self.plan["threads"])
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.note("E")


if __name__ == "__main__":
    server.die_with_parent()
    Worker(json.loads(sys.argv[1])).run()
