"""The settings of servers, and servers that follow others with different ones."""

import json
import os
import shutil

from tests.faults.checks import ADMIT, CAPPED, CLICKS, COLD, NUMBERS, RATED, ROWS
from tests.faults.model import Violation

__all__ = ["Lives", "Settings", "tables_of"]

# What a call does depends on these: none may be on its way when they change.
_RULES = ("rate", "decay", "count")
_SUM = {"rule": "sum", "initial_range": 0}


class Settings:
    """What servers are started with, of a story and then of its events `restart`.

    roots: directories of saves, below that of the servers; [] for that one itself.
    """

    def __init__(self, story):
        self.durability = story.get("durability", "log")
        self.directory = "state"
        self.token = "of-stories"  # clients come by other ports than the servers'
        self.workers = story.get("workers", 2)
        self.ssd, self.memory_rows = story.get("ssd", True), story.get("memory_rows", 64)
        self.cold_clicks = story.get("cold_clicks", False)
        self.rate, self.decay, self.count, self.max_rows = 1.0, 0.5, 3, 24
        self.roots = []
        self.options = {"threads": 2, **story.get("options", {})}
        self.promised = story.get("promised")  # a durability whose promise others have to keep

    def change(self, changes):
        for name, value in changes.items():
            if name == "options":
                self.options.update(value)
            else:
                getattr(self, name)  # there is such a one
                setattr(self, name, value)

    def promise(self):
        return self.promised or self.durability

    def on_disk(self, cell):
        """Whether it is a row of a table whose rows may lie on disk."""
        return (self.ssd and cell.startswith(f"row {COLD}/")) or (
            self.cold_clicks and cell.startswith(f"row {CLICKS}/")
        )

    def covers(self, path):
        """Whether servers may save there."""
        return not self.roots or any(f"{path}/".startswith(f"{root}/") for root in self.roots)

    def of_server(self, server, size):
        """What it is told; `size` numbers for each event."""
        options = dict(
            workers=self.workers,
            tables=tables_of(self, size, server),
            durability=self.durability,
            directory=self.directory,
            token=self.token,
            **self.options,
        )
        if self.roots:
            options["save_roots"] = self.roots
        return options


def tables_of(settings, size, server=0):
    """The tables of all stories."""
    plain = {"dim": 2, "embedding": _SUM}
    click = dict(
        kind="click",
        dim=1,
        embedding=_SUM,
        weight=_SUM,
        show_click_decay_rate=settings.decay,
        delete_threshold=1e-6,
        delete_after_unseen_days=2,
        show_scale=False,
    )
    cold = {"id": COLD, "name": "cold", "kind": "sparse", "accessor": plain}
    if settings.ssd:
        cold.update(tier="ssd", directory=f"ssd-{server}", memory_rows=settings.memory_rows)
    clicks = {"id": CLICKS, "name": "clicks", "kind": "sparse", "accessor": click}
    if settings.cold_clicks:
        clicks.update(tier="ssd", directory=f"ssd-{server}-clicks", memory_rows=64)
    rated = {"rule": "sgd", "learning_rate": settings.rate, "initial_range": 0}
    admission = {"kind": "count", "count": settings.count} if settings.count else {"kind": "always"}
    return [
        {"id": ROWS, "name": "rows", "kind": "sparse", "accessor": plain},
        {
            "id": NUMBERS,
            "name": "numbers",
            "kind": "dense",
            "size": size,
            "accessor": {"embedding": _SUM},
        },
        cold,
        clicks,
        {
            "id": ADMIT,
            "name": "admit",
            "kind": "sparse",
            "accessor": plain,
            "admission": admission,
        },
        {
            "id": CAPPED,
            "name": "capped",
            "kind": "sparse",
            "accessor": plain,
            "max_rows": settings.max_rows,
        },
        {
            "id": RATED,
            "name": "rated",
            "kind": "sparse",
            "accessor": {"dim": 2, "embedding": rated},
        },
    ]


class Lives:
    """The part of Driver that lets servers follow others."""

    def do_restart(self, kill=False, forget="", moved=False, **changes):
        """All servers end, by kill -9 or in order, and servers with other settings follow.

        They may refuse to start, if they say why and the story allows it ("may_refuse").
        forget: what a log of an earlier version does not tell: "settings" of tables and the number of
        workers, or "all" about them. moved: their directory has another name then.
        """
        if None in self.server or self.armed:
            return
        others = {name for name in changes if getattr(self.settings, name) != changes[name]}
        # Clients of another number of workers, or who have another token, are not served.
        anew = bool(others & {"workers", "token"})
        if others & set(_RULES):
            self.do_join()
        before = self.settings.durability
        for s in range(self.servers):
            self.end(s, kill)
        if anew:
            self.dismiss()
        after = changes.get("durability", before)
        for s in range(self.servers):
            self.model.change(s, before, after, self.settings.on_disk)
            self.forget(s, forget)
        if moved:
            self.move()
        self.settings.change(changes)
        for root in self.settings.roots:
            os.makedirs(os.path.join(self.data, root), exist_ok=True)
        for s in range(self.servers):
            try:
                self.start(s)
            except Violation:
                if not self.says_why(s):
                    raise
                self.over = True
                return
        if "workers" in others:
            self.era += 1
        if anew:
            self.workers = self.settings.workers
            for w in range(self.workers):
                self.spawn(w)

    def is_above(self, text):
        """Whether a call is refused for a limit that servers have or had."""
        return any(f"({name}" in text for name in ("max_keys", "max_client_rows")) and bool(
            {"max_keys", "max_client_rows"} & set(self.settings.options)
        )

    def says_why(self, s):
        """Whether a server refused to start as the story allows it."""
        allowed = self.story.get("may_refuse", False)
        return allowed and "Do this" in self.tail(s) and self.server[s].returncode == 1

    def end(self, s, kill):
        p, settings = self.server[s], self.settings
        self.listen(0)
        self.paused.discard(f"server {s}")
        if kill:
            p.kill()
            p.wait()
            self.model.death(s, settings.promise(), settings.on_disk)
        else:
            p.terminate()
            if p.wait(30):
                raise Violation(f"server {s} ended with {p.returncode}: {self.tail(s)}")
            self.model.end(s, settings.promise(), settings.on_disk)
        self.server[s] = None

    def dismiss(self):
        """All clients end; their calls have no answer."""
        for w in list(self.actors):
            self.do_kill_worker(w)
        for link in self.links.values():
            link.close()
        self.actors, self.links = {}, {}

    def own(self, s):
        return os.path.join(self.data, self.settings.directory, f"server-{s}-of-{self.servers}")

    def forget(self, s, what):
        path = os.path.join(self.own(s), "log", "tables.json")
        if not what or not os.path.exists(path):
            return
        if what == "all":
            os.unlink(path)
            return
        with open(path) as file:
            told = json.load(file)
        told.pop("workers", None)
        for table in told["tables"]:
            table.pop("config", None)
        with open(path, "w") as file:
            json.dump(told, file)

    def move(self):
        old = os.path.join(self.data, self.settings.directory)
        self.settings.directory += "-moved"
        if os.path.exists(old):
            shutil.move(old, os.path.join(self.data, self.settings.directory))
