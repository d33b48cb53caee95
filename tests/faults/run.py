"""Seeded runs of the fault harness: python -m tests.faults.run --runs 500.

A seed is a run: the same events in the same order. One that fails is cut down to the shortest list
of events that fails, which is printed with the command that makes it again.
"""

import argparse
import collections
import concurrent.futures
import itertools
import signal
import sys
import time
import traceback

from tests.faults import scenarios, stories, tell

LIMIT = 500  # seconds that a run may take
NAMES = [
    *(s.__name__ for s in scenarios.SCENARIOS),
    *(s.__name__ for s in stories.BY_HAND),
    *(s.__name__ for s in stories.RANDOM for _ in range(3)),
]


class _Hung(Exception):
    pass


def _hang(*_):
    raise _Hung(f"the run did not end within {LIMIT} s")


def attempt(name, seed, kept=None):
    """(name, seed, seconds, what went wrong or "")."""
    start = time.monotonic()
    signal.signal(signal.SIGALRM, _hang)
    signal.alarm(LIMIT)
    try:
        if is_story(name):
            story = stories.make(name, seed)
            wrong = tell.tell(story if kept is None else tell.cut(story, kept))
        else:
            scenarios.run(name, seed)
            wrong = ""
    except Exception:
        wrong = traceback.format_exc()
    finally:
        signal.alarm(0)
    return name, seed, time.monotonic() - start, wrong


def is_story(name):
    return any(s.__name__ == name for s in stories.STORIES)


def shorten(name, seed, wrong, seconds):
    """What to print of a failure: the command that makes it again, and a story's shortest events."""
    command = f"again: python -m tests.faults.run --name {name} --first {seed} --runs 1"
    if not is_story(name):
        return command
    story = stories.make(name, seed)
    kept = tell.shorten(story, wrong, seconds)
    return f"{command} --keep {','.join(map(str, kept))}\n{tell.text(story, kept)}"


def main():
    """The exit code is 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=500, help="0: until it is stopped")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--name", choices=sorted(set(NAMES)), help="this story or scenario alone")
    parser.add_argument("--keep", help="of a story's events, those at these places")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    parser.add_argument("--shorten", type=float, default=60, help="seconds for a failure; 0: no")
    options = parser.parse_args()
    kept = {int(i) for i in options.keep.split(",")} if options.keep else None
    failed, counts = collections.defaultdict(list), collections.Counter()
    start, runs = time.monotonic(), options.runs
    seeds = iter(
        range(options.first, options.first + runs) if runs else itertools.count(options.first)
    )

    def submit():
        for seed in itertools.islice(seeds, 1):
            open_runs.add(
                pool.submit(attempt, options.name or NAMES[seed % len(NAMES)], seed, kept)
            )

    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        open_runs = set()
        for _ in range(options.jobs):
            submit()
        while open_runs:
            done, open_runs = concurrent.futures.wait(open_runs, return_when="FIRST_COMPLETED")
            for run in done:
                if isinstance(run.result(), str):
                    print(run.result(), flush=True)
                    submit()
                    continue
                name, seed, seconds, wrong = run.result()
                counts[name] += 1
                state = "FAILED" if wrong else "ok"
                print(f"seed {seed} {name}: {state} ({seconds:.1f} s)", flush=True)
                if wrong:
                    print(wrong, flush=True)
                    failed[name].append(seed)
                if wrong and options.shorten and len(failed[name]) == 1 and kept is None:
                    open_runs.add(pool.submit(shorten, name, seed, wrong, options.shorten))
                else:
                    submit()
    print(", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    bad = sum(map(len, failed.values()))
    print(
        f"{sum(counts.values()) - bad} of {sum(counts.values())} runs kept all promises "
        f"({time.monotonic() - start:.0f} s)"
    )
    for name, which in sorted(failed.items()):
        print(f"failed: {name}, seeds {which}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
