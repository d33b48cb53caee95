"""Puts random stories together."""

import itertools

from tests.faults.checks import ADMIT, CAPPED, CLICKS, COLD, RATED, ROWS
from tests.faults.proxy import MODES

__all__ = ["Writer", "event", "push"]


def push(by, table=ROWS, value=1, wait=True, **keys):
    return dict(do="push", by=by, table=table, value=value, wait=wait, **(keys or {"keys": [1, 2]}))


def event(do, **arguments):
    return dict(do=do, **arguments)


SAVES = ["models/a", "models/b"] * 4 + ["models"]


class Writer:
    """Puts a random story together."""

    def __init__(self, draw, **options):
        self.draw, self.story, self.events = draw, options, []
        self.workers = options.setdefault("workers", draw.choice([2, 2, 3]))
        self.servers = options.setdefault("servers", draw.choice([1, 1, 2]))
        options.setdefault("options", {"snapshot_every": draw.choice([0, 0, 1])})
        options.setdefault("cold_clicks", draw.random() < 0.5)
        self.saves = 0

    def add(self, do, **arguments):
        self.events.append(dict(do=do, **arguments))

    def call(self, wait=None, by=None):
        """A push, an assignment, .. of small tables of keys that others use, too."""
        draw = self.draw
        by = draw.randrange(self.workers) if by is None else by
        wait = draw.random() < 0.6 if wait is None else wait
        value = draw.randint(1, 1000)
        keys = draw.sample(range(8), draw.randint(1, 3))
        kind = draw.random()
        if kind < 0.35:
            self.events.append(push(by, ROWS, value, wait, keys=keys))
        elif kind < 0.5:
            first = draw.randrange(0, 240, 30)
            self.events.append(push(by, COLD, value, wait, range=[first, first + 60]))
        elif kind < 0.62:
            self.add("push_dense", by=by, wait=wait)
        elif kind < 0.74:
            table = draw.choice([ROWS, COLD])
            self.events.append(dict(push(by, table, value, wait, keys=keys), do="assign"))
        elif kind < 0.84:
            self.events.append(push(by, CLICKS, 2 ** draw.randint(4, 8), wait, keys=keys))
        elif kind < 0.92:
            self.events.append(push(by, ADMIT, value, wait, keys=keys))
        else:
            first = draw.randrange(100)
            self.events.append(push(by, CAPPED, 1, wait, range=[first, first + 6]))

    def calls(self, least, most, **how):
        for _ in range(self.draw.randint(least, most)):
            self.call(**how)

    def whole(self):
        """A call upon whole tables."""
        draw, by = self.draw, self.draw.randrange(self.workers)
        kind = draw.random()
        wait = draw.random() < 0.7
        if kind < 0.3:
            self.saves += 1
            self.add("save", by=by, to=draw.choice(SAVES), wait=wait)
        elif kind < 0.55:
            table = draw.choice([None, ROWS, 1, COLD])
            saved = draw.choice(SAVES)
            self.add("load", by=by, saved=saved, table=table, wait=wait)
        elif kind < 0.8:
            self.add("end_day", by=by, wait=wait)
        else:
            self.add("shrink", by=by, wait=wait)

    def step(self, lose=False):
        """All workers, one step; with `lose`, one dies on its way and is replaced."""
        draw = self.draw
        order = draw.sample(range(self.workers), self.workers)
        victim = draw.choice(order) if lose else None
        before = draw.random() < 0.5
        for w in order:
            for _ in range(draw.randint(1, 2)):
                self.add("step_push", by=w)
            if w == victim:
                if not before:
                    self.add("step_end", by=w)
                    self.add("sleep", seconds=0.1)
                self.add("kill_worker", worker=w)
                self.add("spawn", worker=w)
                self.add("step_push", by=w)
        for w in order:
            self.add("step_end", by=w)
        self.add("join")

    def kill(self):
        draw, s = self.draw, self.draw.randrange(self.servers)
        how = {}
        if draw.random() < 0.3:
            how["tear"] = draw.choice([1, 20, 31, 32, 33, 500, 1031])
        if self.story.get("disk") and draw.random() < 0.5:
            how.update(again=draw.randint(1, 40), torn=draw.random() < 0.5)
        self.calls(0, 3, wait=False)
        self.add("kill", server=s, **how)
        self.calls(0, 2, wait=False)
        self.add("start", server=s)
        self.settle()

    def settle(self):
        self.add("join")
        if self.draw.random() < 0.7:
            self.add("check")

    def net(self):
        """Links go bad for a while: of one worker, or any, so that some see some servers."""
        draw, w = self.draw, self.draw.randrange(self.workers)
        if draw.random() < 0.3:
            for link in itertools.product(range(self.workers), range(self.servers)):
                if draw.random() < 0.5:
                    self.add("link", worker=link[0], server=link[1], mode="hold")
        else:
            for s in draw.sample(range(self.servers), draw.randint(1, self.servers)):
                self.add("link", worker=w, server=s, mode=draw.choice(MODES))
        self.calls(1, 3, wait=False, by=w)
        self.calls(0, 2, wait=False)
        self.add("sleep", seconds=draw.choice([0.05, 0.3, 0.9]))
        if draw.random() < 0.4:
            self.add("kill", server=(s := draw.randrange(self.servers)))
            self.add("start", server=s)
        self.add("heal")
        self.settle()

    def pause(self):
        draw = self.draw
        if draw.random() < 0.5:
            self.add("stop", server=draw.randrange(self.servers))
        else:
            self.call(wait=False, by=0)
            self.add("stop_worker", worker=0)
        self.calls(1, 3, wait=False)
        self.add("sleep", seconds=draw.choice([0.1, 0.5]))
        self.add("cont")
        self.settle()

    def replace(self):
        w = self.draw.randrange(self.workers)
        self.calls(1, 2, wait=False, by=w)
        self.add("kill_worker", worker=w)
        self.calls(0, 2)
        self.add("spawn", worker=w)

    def disk(self):
        draw, s = self.draw, self.draw.randrange(self.servers)
        kind = draw.random()
        if kind < 0.4:
            self.add("kill_at", server=s, calls=draw.randint(1, 60), torn=draw.random() < 0.5)
            self.calls(2, 5)
            if draw.random() < 0.5:
                self.whole()
            self.settle()
        elif kind < 0.8:
            error = draw.choice(["EIO", "ENOSPC", "ENOSPC"])
            match = draw.choice(["", "/log", f"ssd-{s}", "save-", "models"])
            calls = (
                ["write", "name"]
                if error == "ENOSPC"
                else draw.choice([["sync"], ["sync", "sync_directory"], ["write"]])
            )
            skip = draw.choice([0, 0, 1, 5])
            self.add("disk", server=s, error=error, match=match, calls=calls, skip=skip)
            self.calls(1, 3)
            if draw.random() < 0.5:
                self.whole()
            if draw.random() < 0.4:
                self.add("kill", server=s)
            self.add("disk", server=s)
            self.add("start", server=s)
            self.add("sleep", seconds=1.3)
            self.settle()
        else:
            self.add("disk", server=s, delay=draw.choice([5_000, 50_000]))
            self.calls(2, 4)
            self.add("disk", server=s)

    def power(self):
        self.calls(1, 3)
        self.calls(0, 2, wait=False)
        self.add("power", keep=self.draw.choice(["none", "some", "some"]))
        self.settle()

    def compose(self, blocks, parts):
        """A list of (weight, name of a block)."""
        names = [n for _, n in blocks]
        weights = [w for w, _ in blocks]
        for name in self.draw.choices(names, weights, k=parts):
            self.calls(1, 3)
            getattr(self, name)()
        return dict(self.story, events=self.events)

    def lost_step(self):
        self.step(lose=True)

    def gather(self):
        self.add("gather", how=self.draw.choice(["all_gather", "all_reduce", "barrier"]))


# What servers may be started with, beside what is in Settings.
_LIMITS = {
    "max_keys": [50, 1 << 24],
    "max_client_rows": [0, 150],
    "snapshot_every": [0, 1],
    "snapshot_log_bytes": [4096, 1 << 30],
    "threads": [1, 4],
}
_RULES = {
    "rate": [0.5, 1.0, 2.0],
    "decay": [0.25, 0.5, 1.0],
    "count": [0, 1, 2, 3, 5],
}
_OTHERS = {
    "max_rows": [8, 24, 100],
    "ssd": [True, False],
    "memory_rows": [64, 1024],
    "cold_clicks": [True, False],
    "token": ["of-stories", "of-others"],
    "roots": [[], ["models"], ["models/user", "models/a"]],
}


class Heirs(Writer):
    """Stories whose servers are followed by some with other settings."""

    def __init__(self, draw, durabilities=("log",), **options):
        super().__init__(draw, **options)
        self.durabilities = durabilities
        self.story["durability"] = draw.choice(durabilities)

    def call(self, wait=None, by=None):
        if self.draw.random() < 0.8:
            return super().call(wait, by)
        by = self.draw.randrange(self.workers) if by is None else by
        keys = self.draw.sample(range(8), 2)
        self.events.append(push(by, RATED, self.draw.randint(1, 1000), bool(wait), keys=keys))

    def heirs(self):
        draw = self.draw
        changes = {}
        for name in draw.sample(sorted(_OTHERS), draw.randint(0, 2)):
            changes[name] = draw.choice(_OTHERS[name])
        for name in draw.sample(sorted(_LIMITS), draw.randint(0, 2)):
            changes.setdefault("options", {})[name] = draw.choice(_LIMITS[name])
        if draw.random() < 0.5:
            changes["durability"] = draw.choice(self.durabilities)
        if draw.random() < 0.6:
            name = draw.choice(sorted(_RULES))
            changes[name] = draw.choice(_RULES[name])
        elif draw.random() < 0.3:
            changes["forget"] = draw.choice(["settings", "all"])
        if "forget" not in changes and draw.random() < 0.3:
            changes["workers"] = self.workers = draw.choice([2, 3])
        if draw.random() < 0.15:
            changes["moved"] = True
        self.calls(0, 3, wait=False)
        self.add("restart", kill=draw.random() < 0.6, **changes)
        self.calls(0, 2)
        self.settle()
