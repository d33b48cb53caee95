"""What the logs of tools/gpu_check.sh say, in less than 11,000 characters: failures grouped by what they
say, then stages, then figures last, where a reader who sees only the end finds them."""

import collections
import pathlib
import re
import sys

MOST = 11_000
LINES = 40  # of a stage of tests
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - (.*))?$")
ON_CPU = re.compile(r"\[(\w+)\] has no GPU kernel for this call")
NUMBER = re.compile(r"0x[0-9a-f]+|-?\d+\.?\d*(?:e[+-]?\d+)?")


def main(folder):
    folder = pathlib.Path(folder)
    stages = [line.split() for line in (folder / "stages").read_text().splitlines()]
    parts, figures = [], []
    for name, code, seconds in stages:
        lines = (folder / f"{name}.log").read_text(errors="replace").splitlines()
        head = f"== {name}: exit {code} after {seconds} s"
        if name in ("ops", "python"):
            dead = folder / f"{name}.dead"
            failed = folder / f"{name}.failed"
            if failed.exists():  # all there are, also where the run was stopped
                lines = [line for line in lines if not FAILED.match(line)]
                lines += failed.read_text(errors="replace").splitlines()
            parts.append([head, *tests(lines)])
            if dead.exists():
                ended = dead.read_text().splitlines()
                parts[-1].insert(1, f"{len(ended)} tests left the GPU unusable:")
                parts[-1][2:2] = ["  " + line.rpartition("::")[2][:220] for line in ended[:5]]
        elif name == "bench":
            figures = [head, *(line[:160] for line in lines[-70:])]
        else:
            parts.append([head, *(line[:300] for line in lines[-(8 if code == "0" else 25) :])])
    left = MOST - sum(len(line) + 1 for line in figures)
    shares = max(1500, left // max(1, len(parts)))
    for part in parts:
        print(cut("\n".join(part), shares))
    print("\n".join(figures))


def tests(lines):
    """Counts of a pytest run, and its failures by what they say, most frequent first."""
    groups = collections.defaultdict(list)
    for line in lines:
        found = FAILED.match(line)
        if found:
            name = found[1].rpartition("::")[2]
            said = NUMBER.sub("#", found[2] or "")[:60]
            if said.rstrip().endswith("Error:"):  # it says nothing
                said += name.partition("[")[0]
            groups[said].append((name, found[2] or ""))
    said = [line for line in lines if re.search(r"\d+ (passed|failed|skipped|error)", line)][-1:]
    stopped = [line for line in lines if line.startswith("gpu_check:") or "crashed" in line][-3:]
    report = [*said, *stopped]
    on_cpu = sorted({op for line in lines for op in ON_CPU.findall(line)})
    if on_cpu:
        report.append(f"{len(on_cpu)} ops had calls on the CPU: {' '.join(on_cpu)}"[:1200])
    if not said:
        report += [line[:200] for line in lines[-12:]]
    # What failed once takes one line, so that many fit.
    ordered = sorted(groups.values(), key=len, reverse=True)
    for i, names in enumerate(ordered):
        if len(report) + 3 > LINES:
            report.append(f"and {sum(map(len, ordered[i:]))} others: see the log")
            break
        if len(names) == 1:
            report.append(f"{names[0][0][:120]}: {names[0][1][:150]}")
            continue
        ids = " ".join(name for name, _ in names[:6])[:330]
        more = f" and {len(names) - 6} more" if len(names) > 6 else ""
        report.append(f"{len(names)} x {names[0][1][:170]}\n    {ids}{more}")
    return report


def cut(text, most):
    return text if len(text) <= most else text[: most - 20] + "\n .. (see the log)"


if __name__ == "__main__":
    main(sys.argv[1])
