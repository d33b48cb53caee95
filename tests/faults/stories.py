"""Stories of a seed: some told by hand, each about one way to break a promise, and random ones."""

import random

from tests.faults.checks import CLICKS, COLD, ROWS
from tests.faults.writer import Heirs, Writer, event, push

__all__ = ["BY_HAND", "RANDOM", "STORIES", "make"]


# By hand.


def saves_beside(draw):
    """A save into a folder that holds saves, and folders of others."""
    inner = draw.choice(["models/a", "models/part-a/b"])
    return dict(
        events=[
            push(0, value=3),
            event("save", by=0, to=inner),
            push(1, value=5),
            event("save", by=1, to=draw.choice(["models", "models/b"])),
            event("save", by=1, to="models"),
            event("check"),
            event("load", by=0, saved=inner),
            event("check"),
        ]
    )


def save_into_state(draw):
    """A save where the servers keep their own files, then kill -9."""
    places = [
        "state",
        *["state/server-0-of-1"] * 3,
        "state/server-0-of-1/log",
        "state/server-0-of-1/x",
        ".",
    ]
    events = [push(0, value=3), push(1, value=5)]
    chosen = draw.sample(places, 2)
    for place in chosen:
        events.append(event("save", by=0, to=place, refusable=True))
        events.append(push(1, value=7))
    events += [event("kill", server=0), event("start", server=0), event("check"), push(0, value=9)]
    # What a server took it keeps.
    events += [event("load", by=1, saved=place) for place in chosen]
    return dict(events=events, options={"snapshot_every": draw.choice([0, 1])})


def fill(first, calls, rows=400):
    """Pushes of new rows to the table on disk; above 1,280 in memory it takes no more."""
    return [
        push(i % 2, COLD, i + 1, range=[first + i * rows, first + (i + 1) * rows])
        for i in range(calls)
    ]


def disk_full_for_rows(draw):
    """The disk of a table fills up; what is refused then never comes, not after kill -9 either."""
    events = [
        push(0, CLICKS, 64),
        *fill(0, 3),
        event("disk", server=0, error="ENOSPC", match="ssd-0"),
    ]
    refused = fill(10_000, 4)
    if draw.random() < 0.7:
        refused.insert(draw.randrange(4), event("end_day", by=0))
    if draw.random() < 0.5:
        refused.insert(draw.randrange(4), event("shrink", by=1))
    events += refused
    if draw.random() < 0.7:
        events.append(event("kill", server=0))
    events += [event("disk", server=0), event("start", server=0), event("sleep", seconds=1.2)]
    return dict(events=[*events, *fill(20_000, 2)], disk=True)


def load_answer_lost(draw):
    """The answer to a load is lost, others push, the server dies; the load is asked for again."""
    return dict(
        events=[
            # Both of its connections are made.
            event("push_dense", by=0),
            event("push_dense", by=0),
            push(1, value=3),
            event("save", by=1, to="models/a"),
            push(1, value=5),
            event("link", worker=0, server=0, mode="mute"),
            event("load", by=0, saved="models/a", wait=False),
            event("sleep", seconds=draw.uniform(0.3, 0.8)),
            event("check"),
            push(1, value=7),
            event("kill", server=0),
            event("start", server=0),
            event("heal"),
            event("join"),
            event("check"),
        ],
        proxy=True,
        options={"snapshot_every": draw.choice([0, 0, 0, 1])},
    )


def forgotten_client(draw):
    """A client is silent for longer than servers remember; a request of before comes late.

    Servers remember longer than a client tries again, so it has given up by then.
    """
    return dict(
        events=[
            push(0, value=1),
            push(0, value=2),
            event("link", worker=0, server=0, mode="mute_one"),
            push(0, value=4, wait=False),
            event("sleep", seconds=0.3),
            event("link", worker=0, server=0, mode="hold"),
            event("sleep", seconds=draw.uniform(7.8, 8.4)),
            event("heal"),
            event("join"),
            push(0, value=8),
            event("sleep", seconds=0.3),
        ],
        proxy=True,
        attempt=0.6,
        deadline=2,
        options={"client_expiry": 7},
    )


def log_over_old_rows(draw):
    """Servers without durability leave a database of rows; others with a log start over it."""
    return dict(
        events=[
            push(0, COLD, 3, range=[0, draw.choice([20, 200])]),
            event("restart", durability="log"),
            event("check"),
            push(1, COLD, 5, range=[10, 30]),
            event("kill", server=0),
            event("start", server=0),
            event("check"),
        ],
        durability="none",
        may_refuse=True,
    )


def save_into_what_was_kept(draw):
    """Servers without durability save where others kept their state, which go on with it."""
    own = "state/server-0-of-1"
    place = draw.choice([own, f"{own}/log", f"{own}/save-1"])
    return dict(
        events=[
            push(0, value=3),
            push(1, COLD, 5, range=[0, 100]),
            event("restart", durability="none", kill=draw.random() < 0.5),
            push(0, value=7),
            event("save", by=0, to=place, refusable=True),
            event("restart", durability="log", kill=draw.random() < 0.5),
            event("check"),
            push(1, value=9),
        ],
        options={"snapshot_every": draw.choice([0, 1])},
    )


def step_refused(draw):
    """The table of a step has no room when the step ends; later there is."""
    return dict(
        events=[
            *fill(0, 2),
            event("disk", server=0, error="ENOSPC", match="ssd-0"),
            *fill(10_000, 4),
            event("step_push", by=0),
            event("step_push", by=1),
            event("step_rows", by=draw.randrange(2), first=0, count=200),
            event("step_end", by=0),
            event("step_end", by=1),
            event("join"),
            event("disk", server=0),
            event("sleep", seconds=1.5),
        ],
        disk=True,
    )


def step_worker_replaced(draw):
    """A worker dies within a step, before or after it ended it; another takes its place."""
    first = [event("step_push", by=0), event("step_push", by=1)]
    draw.shuffle(first)
    events = [*first]
    if draw.random() < 0.5:
        events += [event("step_end", by=1), event("sleep", seconds=0.2)]
    if draw.random() < 0.3:
        events += [event("kill", server=0), event("start", server=0)]
    events += [
        event("kill_worker", worker=1),
        event("spawn", worker=1),
        event("step_push", by=1),
        event("step_end", by=0),
        event("step_end", by=1),
        event("join"),
        event("check"),
    ]
    for w in range(2):
        events.append(event("step_push", by=w))
    events += [event("step_end", by=0), event("step_end", by=1), event("join")]
    return dict(events=events)


def assign_and_push(draw):
    """Assignments and pushes race for rows: the log has them in the order in which they happened."""
    events = []
    for i in range(40):
        rows = [i * 300, i * 300 + 300]
        both = [
            dict(push(0, ROWS, 1000, False, range=rows), do="assign"),
            push(1, ROWS, 3, False, range=rows),
        ]
        draw.shuffle(both)
        events += [*both, event("join")]
    return dict(events=[*events, event("check"), event("kill", server=0), event("start", server=0)])


def power_lost(draw):
    """What was acknowledged is there after a loss of power, in new folders too."""
    events = [push(0, value=3), push(1, value=5), event("push_dense", by=0)]
    if draw.random() < 0.5:
        events += [event("save", by=0, to="models/new/a"), push(1, value=7)]
    events.append(event("power", keep=draw.choice(["none", "some"])))
    events += [event("check"), event("load", by=1, saved="models/new/a"), push(1, value=9)]
    events += [event("power", keep="none"), event("check")]
    return dict(events=events, disk=True, options={"snapshot_every": draw.choice([0, 1])})


def directory_sync_fails(draw):
    """A save whose folder cannot be synced did not end well."""
    return dict(
        events=[
            push(0, value=3),
            event("save", by=0, to="models/a"),
            # So that nothing else is found.
            event("safe"),
            push(0, value=5),
            event(
                "disk",
                server=0,
                error="EIO",
                match="models",
                calls=["sync_directory"],
                skip=draw.randrange(6),
            ),
            event("save", by=0, to="models/b"),
            event("disk", server=0),
            event("power", keep="none"),
            event("check"),
            event("load", by=1, saved="models/b"),
            event("load", by=1, saved="models/a"),
        ],
        disk=True,
    )


def record_damaged(draw):
    """A byte of one of the newest records of the log is wrong."""
    events = [push(i % 2, value=i + 1, keys=[i]) for i in range(6)]
    damage = event("damage", back=draw.randrange(3), at=draw.random())
    return dict(events=[*events, event("kill", server=0), damage, event("start", server=0)])


def server_is_back(draw):
    """A server that starts again after its death has its clients back within seconds."""
    return dict(
        events=[
            push(0),
            push(1),
            push(0, wait=False),
            event("kill", server=0),
            push(0, wait=False),
            push(1, wait=False),
            event("sleep", seconds=draw.uniform(0, 0.5)),
            event("start", server=0),
            event("join", within=4),
        ],
        own_pace=True,
        deadline=20,
    )


# Random.


def mixed(draw):
    """Deaths of servers and workers among all calls."""
    blocks = [(3, "kill"), (3, "whole"), (2, "replace"), (2, "step"), (1, "gather"), (1, "pause")]
    return Writer(draw).compose(blocks, draw.randint(4, 9))


def network(draw):
    """Links that lose, hold, cut and delay; partitions."""
    blocks = [(5, "net"), (2, "whole"), (1, "step"), (1, "gather"), (1, "replace"), (1, "kill")]
    return Writer(draw, proxy=True).compose(blocks, draw.randint(3, 6))


def steps(draw):
    """Synchronous training whose workers and servers die."""
    blocks = [(3, "step"), (3, "lost_step"), (2, "kill"), (1, "gather"), (1, "whole")]
    return Writer(draw, servers=1).compose(blocks, draw.randint(4, 8))


def bad_disk(draw):
    """Errors, no room, death at the n-th call, also while it recovers."""
    blocks = [(5, "disk"), (2, "kill"), (2, "whole"), (1, "step")]
    return Writer(draw, disk=True, servers=1).compose(blocks, draw.randint(3, 6))


def power(draw):
    """Power is lost, again and again."""
    blocks = [(4, "power"), (2, "whole"), (1, "kill"), (1, "disk")]
    return Writer(draw, disk=True, servers=1).compose(blocks, draw.randint(3, 6))


def heirs(draw):
    """Servers with other rules, limits, workers, tiers, tokens and roots go on with a log."""
    blocks = [(5, "heirs"), (2, "whole"), (2, "step"), (1, "lost_step"), (1, "kill")]
    return Heirs(draw).compose(blocks, draw.randint(3, 6))


def forgetful_heirs(draw):
    """The same where what is kept changes, too."""
    blocks = [(5, "heirs"), (2, "whole"), (1, "kill")]
    return Heirs(draw, ("log", "log", "snapshot", "none")).compose(blocks, draw.randint(3, 5))


BY_HAND = [
    saves_beside,
    save_into_state,
    disk_full_for_rows,
    load_answer_lost,
    forgotten_client,
    log_over_old_rows,
    save_into_what_was_kept,
    step_refused,
    step_worker_replaced,
    assign_and_push,
    power_lost,
    directory_sync_fails,
    record_damaged,
    server_is_back,
]
RANDOM = [mixed, network, steps, bad_disk, power, heirs, forgetful_heirs]
STORIES = [*BY_HAND, *RANDOM]


def make(name, seed):
    """The story of this name that a seed tells."""
    maker = next(s for s in STORIES if s.__name__ == name)
    return maker(random.Random(f"{name}/{seed}"))
