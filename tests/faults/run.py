"""Seeded runs of the fault harness: python -m tests.faults.run --runs 200."""

import argparse
import collections
import concurrent.futures
import sys
import time
import traceback

from tests.faults import scenarios


def attempt(seed):
    """(seed, scenario, seconds, what went wrong or "")."""
    start = time.monotonic()
    name = scenarios.SCENARIOS[seed % len(scenarios.SCENARIOS)].__name__
    try:
        scenarios.run(seed)
        wrong = ""
    except Exception:
        wrong = traceback.format_exc()
    return seed, name, time.monotonic() - start, wrong


def main():
    """The exit code is 1 if a run failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=2, help="runs at the same time")
    options = parser.parse_args()
    failed, counts = [], collections.Counter()
    start = time.monotonic()
    seeds = range(options.first, options.first + options.runs)
    with concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        for seed, name, seconds, wrong in pool.map(attempt, seeds):
            counts[name] += 1
            print(
                f"seed {seed} {name}: {'FAILED' if wrong else 'ok'} ({seconds:.1f} s)", flush=True
            )
            if wrong:
                failed.append(seed)
                print(wrong, flush=True)
    print(", ".join(f"{n} {name}" for name, n in sorted(counts.items())))
    print(
        f"{options.runs - len(failed)} of {options.runs} runs kept all promises "
        f"({time.monotonic() - start:.0f} s)" + (f"; failed seeds: {failed}" if failed else "")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
