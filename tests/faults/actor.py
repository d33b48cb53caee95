"""A client that does what it is told, as a process: python actor.py OPTIONS (JSON).

Each line of its input is [id, call, arguments]: a thread of its own makes the call. Each line of its
output is [id, "ok", value] or [id, error type, text]; that of id 0 is about the connection, with the
step that comes next.
"""

import array
import json
import os
import sys
import threading
import time
import types

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def load_ps():
    """argosy._ps without the rest of the package, which takes a second to import."""
    if "argosy" not in sys.modules:
        package = types.ModuleType("argosy")
        package.__path__ = [os.path.join(ROOT, "python", "argosy")]
        sys.modules["argosy"] = package
    from argosy import _ps

    return _ps


class Calls:
    """Calls of a client with lists for arrays."""

    def __init__(self, client):
        self.client = client

    def pull_sparse(self, table, keys, create=False):
        """A list of rows."""
        width = self.client.pull_width(table)
        out = array.array("f", bytes(4 * width * len(keys)))
        self.client.pull_sparse(table, array.array("Q", keys), out, create)
        return [list(out[i : i + width]) for i in range(0, len(out), width)]

    def pull_dense(self, table, size):
        out = array.array("f", bytes(4 * size))
        self.client.pull_dense(table, out)
        return list(out)

    def push_sparse(self, table, keys, rows):
        values = array.array("f", [x for row in rows for x in row])
        self.client.push_sparse(table, array.array("Q", keys), values)

    def assign_sparse(self, table, keys, rows):
        values = array.array("f", [x for row in rows for x in row])
        self.client.assign_sparse(table, array.array("Q", keys), values)

    def push_dense(self, table, size, numbers):
        self.client.push_dense(table, _dense(size, numbers))

    def push_sparse_step(self, table, step, keys, rows):
        values = array.array("f", [x for row in rows for x in row])
        self.client.push_sparse_step(table, step, array.array("Q", keys), values)

    def push_dense_step(self, table, step, size, numbers):
        self.client.push_dense_step(table, step, _dense(size, numbers))

    def all_reduce(self, values, operation="sum"):
        out = array.array("d", values)
        self.client.all_reduce(out, operation)
        return list(out)

    def all_gather(self, text):
        return [part.decode() for part in self.client.all_gather(text.encode())]

    def make(self, name, arguments):
        """A call by its name."""
        own = getattr(type(self), name, None)
        return own(self, *arguments) if own else getattr(self.client, name)(*arguments)


def _dense(size, numbers):
    values = array.array("f", bytes(4 * size))
    for place, number in numbers:
        values[place] = number
    return values


def main():
    """Until the input ends."""
    lock = threading.Lock()

    def say(*words):
        line = (json.dumps(words) + "\n").encode()
        with lock:
            os.write(1, line)

    def attempt(number, make):
        try:
            say(number, "ok", make())
        except Exception as error:
            say(number, type(error).__name__, str(error)[:2000])
            return False
        return True

    ps = load_ps()
    made = []
    if not attempt(0, lambda: made.append(ps.Client(sys.argv[1])) or made[0].next_step()):
        return
    calls = Calls(made[0])
    for line in sys.stdin:
        number, name, arguments = json.loads(line)
        threading.Thread(
            target=attempt, args=(number, lambda n=name, a=arguments: calls.make(n, a)), daemon=True
        ).start()
    while threading.active_count() > 1:
        time.sleep(0.01)


if __name__ == "__main__":
    main()
