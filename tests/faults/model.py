"""What a history of calls allows tables to hold: a check of linearizability, cell by cell.

A cell is a row, or a number of a dense table, on one server. The model is told when a call begins,
how it ended, when servers die, and what was read. It keeps every state that the cell may be in;
a read that fits none of them is a broken promise. The promises (durability `log`):

    ok       the effect is there from some moment between begin and end on, once, for good
    refused  it never was there and never will be
    unknown  (no answer, or a client that died) it happens once, at any time, or never
    death    takes only effects of calls without an answer, which later answers did not build upon

With durability `snapshot` a death takes a cell back to any moment before, and with `none` all that was
there, but for rows that a tier on disk has of any moment. What was kept on disk before that stays
there, for servers that keep something again.
"""

import itertools

__all__ = ["Model", "Violation", "apply", "observe"]

FORGET_DAYS = 2  # a click row that is unseen for longer goes with the next shrink
ADMITTED = 3  # pushes until a key of an `admit` cell gets its row, where the effect does not say


class Violation(AssertionError):
    """A promise was broken."""


def apply(kind, state, effect):
    """The state after an effect. A state is the value and what saves have of it, by name."""
    value, saves = state
    what, *rest = effect
    if what == "save":
        return value, tuple(s for s in saves if s[0] != rest[0]) + ((rest[0], value),)
    if what == "load":
        saved = dict(saves).get(rest[0])
        return (value if saved is None else saved), saves  # rows that a save lacks stay
    if kind == "click":
        if what == "add":
            shows, pushes, _ = value or (0.0, 0, 0)
            value = (shows + rest[0], pushes + 1, 0)
        elif value and what == "day":
            value = (value[0], value[1], value[2] + 1)
        elif value and what == "shrink":
            decay = rest[0] if rest else 0.5
            value = None if value[2] > FORGET_DAYS else (value[0] * decay, value[1], value[2])
    elif kind == "admit":
        if what == "add":
            pushes, number = value or (0, None)
            needed = rest[1] if len(rest) > 1 else ADMITTED
            if number is not None or pushes + 1 >= needed:
                value = (0, (number or 0.0) + rest[0])
            else:
                value = (pushes + 1, None)
    elif what == "add":
        value = (value or 0.0) + rest[0]
    elif what == "assign":
        value = float(rest[0])
    return value, saves


def observe(kind, value):
    """What a pull says of a value."""
    if kind == "click":
        return value[:2] if value else (0.0, 0)
    if kind == "admit":
        return (value[1] if value else None) or 0.0
    return value or 0.0


class Cell:
    """The states that a cell may be in.

    Each is (state, done, tail): `tail` are effects without an answer, in order, that a death may
    take; `done` are those without an answer that it may not. `past` are all states there were, kept
    where the story may go back to them; `kept` those that are on disk while servers keep nothing.
    """

    def __init__(self, kind, name, remembers=False):
        self.kind, self.name = kind, name
        self.open, self.states = {}, {self.nothing()}
        self.effects, self.story = {}, []
        self.past, self.kept = {self.nothing()} if remembers else None, None

    def nothing(self):
        return (0.0 if self.kind == "dense" else None, ()), frozenset(), ()

    def remember(self):
        """What is there now, or comes to be by calls that are on their way."""
        if self.past is not None:
            self.past |= self.after(self.states)

    def begin(self, op, effect):
        self.open[op] = self.effects[op] = effect
        self.story.append(f"{op} begins: {' '.join(map(str, effect))}")
        self.remember()

    def fold(self, state, ops):
        for op in ops:
            state = apply(self.kind, state, self.effects[op])
        return state

    def commute(self):
        return all(e[0] == "add" for e in self.open.values()) and self.kind in ("row", "dense")

    def after(self, states, until=None):
        """All states that open effects may lead to; with `until`, those that end with this one."""
        found, edge = set(states), list(states)
        adds = self.commute()
        if until and adds:
            return {
                (s, d, t if until in t or until in d else tuple(sorted((*t, until))))
                for s, d, t in states
            }
        while edge:
            state, done, tail = edge.pop()
            for op in self.open:
                if op in done or op in tail:
                    continue
                longer = (*tail, op)
                new = (state, done, tuple(sorted(longer)) if adds else longer)
                if new not in found:
                    found.add(new)
                    edge.append(new)
                    if len(found) > 100_000:
                        raise RuntimeError(f"{self.name}: too many calls without an answer")
        if until:
            return {x for x in found if until in x[1] or until in x[2]}
        return found

    def ok(self, op):
        adds, states = self.commute(), set()
        for state, done, tail in self.after(self.states, op):
            if op in tail:
                at = tail.index(op)
                before = () if adds else tail[:at]  # the log has them before this one
                state = self.fold(state, (*before, op))
                done, tail = done | set(before), (tail[:at] if adds else ()) + tail[at + 1 :]
            states.add((state, done - {op}, tail))
        self.states = states
        del self.open[op]
        self.story.append(f"{op} is acknowledged")
        self.remember()

    def refused(self, op):
        self.story.append(f"{op} is refused")
        left = {x for x in self.states if op not in x[1] and op not in x[2]}
        if not left:
            raise Violation(f"{self.name}: {op} was refused and is there\n{self.text()}")
        self.states = left
        del self.open[op]

    def death(self):
        self.story.append("the server dies")
        self.states = {
            (state, done, kept)
            for state, done, tail in self.states
            for n in range(len(tail) + 1)
            for kept in itertools.combinations(tail, n)
        }

    def go_back(self, states):
        """To those of another time: what was answered meanwhile is lost, saves are not."""
        saves = {state[1] for state, _, _ in self.states}
        self.states = set()
        for state, done, tail in states:
            last = max((i + 1 for i, op in enumerate(tail) if op not in self.open), default=0)
            value = self.fold(state, tail[:last])[0]
            done = (done | set(tail[:last])) & set(self.open)
            self.states |= {((value, s), done, tail[last:]) for s in saves}

    def die_with_snapshot(self):
        self.story.append("the server dies, and has a snapshot of some time")
        self.remember()
        self.go_back(self.past)
        self.death()
        # The snapshot may know of a call that came while it was written, and lack its rows.
        self.lose_calls()

    def die_with_nothing(self, on_disk):
        self.story.append("the server ends, and keeps nothing")
        self.remember()
        # Not even which calls it made, of which a tier on disk may have the rows.
        there = self.past if on_disk else ()
        self.go_back({self.nothing()} | {(self.fold(s, t), frozenset(), ()) for s, _, t in there})
        self.lose_calls()

    def lose_calls(self):
        """Those on their way may have been made, and answered, before what is there now came to be."""
        for n in range(1, len(self.open) + 1):
            for made in itertools.combinations(self.open, n):
                self.states |= {(s, d | set(made), ()) for s, d, t in self.states if not t}

    def keep_nothing(self, on_disk):
        """Servers follow that do not look at what was kept, until others do."""
        self.kept = set(self.states)
        self.die_with_nothing(on_disk)

    def keep_again(self):
        if self.kept is not None:
            self.story.append("servers go on with what was kept")
            self.go_back(self.kept)
            self.lose_calls()
            self.kept = None

    def over(self, ops):
        """Nobody sends these any more, and the server started anew."""
        ops = [op for op in ops if op in self.open]
        if not ops:
            return
        # What is there now was read from disk.
        self.states = {
            (self.fold(s, t), d | set(t), ()) if set(t) <= set(ops) else (s, d, t)
            for s, d, t in self.after(self.states)
        }
        for op in ops:
            del self.open[op]

    def may_be_gone(self):
        """Rows that a server need not take over."""
        self.states |= {self.nothing()}

    def read(self, value):
        self.story.append(f"read: {value}")
        reached = self.after(self.states)
        seen = {x: observe(self.kind, self.fold(x[0], x[2])[0]) for x in reached}
        left = {x for x, v in seen.items() if v == value}
        if not left:
            allowed = sorted(set(seen.values()), key=repr)[:20]
            raise Violation(f"{self.name}: is {value}, allowed are {allowed}\n{self.text()}")
        self.states = left

    def fate(self, op):
        """Whether the effect is there: True, False or, where both may be, None."""
        fates = {op in x[1] or op in x[2] for x in self.states}
        return fates.pop() if len(fates) == 1 else None

    def text(self):
        return "\n".join("    " + line for line in self.story[-30:])


class Model:
    """All cells. `cells` maps a name to (kind, server)."""

    def __init__(self, cells, remembers=False):
        self.cells = {name: Cell(kind, name, remembers) for name, (kind, _) in cells.items()}
        self.server = {name: server for name, (_, server) in cells.items()}
        self.ops = {}  # what a call means to which cells
        self.unanswered = set()
        self.whole = True  # nothing was lost that servers may lose in part

    def begin(self, op, effects):
        """effects: of each cell. "*kind": of all cells of this kind that there are."""
        meant = {}
        for name, effect in effects.items():
            if name.startswith("*"):
                kinds = name[1:].split(",")
                meant.update({n: effect for n, c in self.cells.items() if c.kind in kinds})
            else:
                meant[name] = effect
        self.ops[op] = meant
        for name, effect in meant.items():
            self.cells[name].begin(op, effect)

    def _open(self, op, server=None):
        return [
            self.cells[name]
            for name in self.ops[op]
            if op in self.cells[name].open and server in (None, self.server[name])
        ]

    def ok(self, op):
        for cell in self._open(op):
            cell.ok(op)

    def refused(self, op, server=None):
        """By one server: of its part in the others nothing is known."""
        for cell in self._open(op, server):
            cell.refused(op)
        if server is not None:
            self.unknown(op)

    def unknown(self, op):
        self.unanswered.add(op)

    def of(self, server):
        return [cell for name, cell in self.cells.items() if self.server[name] == server]

    def death(self, server, durability="log", on_disk=lambda name: False):
        """By kill -9. on_disk: of a cell, whether it is a row of a table with a tier on disk."""
        self.whole = self.whole and durability == "log"
        for cell in self.of(server):
            if durability == "log":
                cell.death()
            elif durability == "snapshot":
                cell.die_with_snapshot()
            else:
                cell.die_with_nothing(on_disk(cell.name))

    def end(self, server, durability, on_disk):
        """In order: a last snapshot is taken."""
        self.death(server, "log" if durability == "snapshot" else durability, on_disk)

    def change(self, server, before, after, on_disk):
        """After the end of a server another follows that keeps something else."""
        for cell in self.of(server):
            if "none" not in (before, after) or before == after:
                continue
            self.whole = False
            if after == "none":
                cell.keep_nothing(on_disk(cell.name))
            else:
                cell.keep_again()

    def born(self, server):
        """After a death. Calls that are given up by now cannot come any more."""
        for name, cell in self.cells.items():
            if self.server[name] == server:
                cell.over(self.unanswered)

    def read(self, name, value):
        self.cells[name].read(value)

    def check_whole(self):
        """Each call is there with all its rows of a server or with none."""
        for op in self.unanswered if self.whole else ():
            for server in set(self.server.values()):
                fates = {}
                for name in self.ops[op]:
                    if self.server[name] == server:
                        fates.setdefault(self.cells[name].fate(op), name)
                if True in fates and False in fates:
                    raise Violation(
                        f"{op} is not whole: there in {fates[True]}, missing in {fates[False]}\n"
                        f"{self.cells[fates[True]].text()}\n{self.cells[fates[False]].text()}"
                    )
