"""Time single ops and calls of Argosy beside torch and Paddle, and name the slow ones.

    python benchmarks/ops.py [WORD]... [--threads 1] [--rounds 7] [--seconds 0.01] [--above 1.2]
                             [--json FILE]

Rows are those of op_rows.py and its neighbours whose names contain one of the words (all without
words); `=NAME` takes the row of exactly that name. Frameworks take turns of `--seconds` in each
round; a ratio is the median over rounds of Argosy's time to the peer's in the same round, so that
a machine that slows down slows both. One thread is timed by the process's CPU time, which other
processes do not disturb; several threads by the clock. Results are compared first. The peers'
interpreters are named by ARGOSY_BENCH_TORCH and ARGOSY_BENCH_PADDLE.
"""

import argparse
import json
import os
import pathlib
import statistics
import sys

import op_rows
import op_rows_nn  # noqa: F401  (adds its rows)
import op_rows_uses  # noqa: F401
from run import PEERS, compare, readable, start_workers, take_turns


def measure(name, workers, rounds, seconds, threads):
    """({framework: median seconds}, {peer: median ratio}, remarks) of a row."""
    able, remarks = compare("ops:" + name, workers)
    clock = "cpu" if threads == 1 else "wall"

    def seconds_of(worker):
        answer = worker.ask(do="turn", seconds=seconds, clock=clock)
        return answer.get("seconds", float("nan"))

    times = take_turns(able, rounds, seconds_of)
    ours = times.get("argosy", [])
    ratios = {
        peer: statistics.median(a / b for a, b in zip(ours, times[peer]))
        for peer in PEERS
        if ours and times.get(peer)
    }
    return {name: statistics.median(found) for name, found in times.items()}, ratios, remarks


def line(name, medians, ratios, above):
    cells = [f"{name:<32}", f"{readable(medians.get('argosy')):>9}"]
    for peer in PEERS:
        ratio = f"{ratios[peer]:.2f}" if peer in ratios else "-"
        cells += [f"{readable(medians.get(peer)):>9}", f"{ratio:>6}"]
    return "  ".join([*cells, "SLOW" if any(r > above for r in ratios.values()) else ""]).rstrip()


def chosen(words):
    def matches(name, word):
        return name == word[1:] if word.startswith("=") else word in name

    return [n for n in op_rows.ROWS if not words or any(matches(n, word) for word in words)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.01, help="of each turn")
    parser.add_argument("--above", type=float, default=1.2, help="ratio from which a row is SLOW")
    parser.add_argument("--json", help="also write the figures to this file")
    options = parser.parse_args()
    names = chosen(options.words)
    if not names:
        parser.error(f"no row has a name with {' or '.join(options.words)}")
    os.environ["ARGOSY_BENCH_THREADS"] = str(options.threads)
    workers = start_workers()
    versions = ", ".join(f"{worker.framework} {worker.version}" for worker in workers)
    print(f"{versions}; {options.threads} threads; {options.rounds} turns each")
    heads = [f"{'row':<32}", f"{'argosy':>9}"]
    for peer in PEERS:
        heads += [f"{peer:>9}", " ratio"]
    print("  ".join(heads), flush=True)
    found, failed = {}, False
    for name in names:
        figures = measure(name, workers, options.rounds, options.seconds, options.threads)
        medians, ratios, remarks = figures
        print(line(name, medians, ratios, options.above), flush=True)
        for remark in remarks:
            failed = failed or remark.startswith(("RESULTS", "argosy"))
            print(f"    {remark}")
        found[name] = {"seconds": medians, "ratios": ratios, "remarks": remarks}
    for worker in workers:
        worker.close()
    slow = [n for n, f in found.items() if any(r > options.above for r in f["ratios"].values())]
    print(f"{len(found)} rows, {len(slow)} above {options.above}")
    slow.sort(key=lambda n: -max(found[n]["ratios"].values()))
    for name in slow:
        print(line(name, found[name]["seconds"], found[name]["ratios"], options.above))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(found, indent=1) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
