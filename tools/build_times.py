"""Print what a build cost: `python tools/build_times.py BUILD_FOLDER [COUNT]`.

Reads ninja's log, which keeps the last time of each output. Times are of the compiler's wall clock; an
output that ccache knew costs next to nothing, so look at a build with CCACHE_RECACHE=1 to compare.
"""

import pathlib
import sys

# A cold build within ten minutes on two cores.
BUDGET = 1200


def main():
    build = pathlib.Path(sys.argv[1])
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 15
    seconds = {}
    for line in (build / ".ninja_log").read_text().splitlines():
        if line.startswith("#"):
            continue
        begin, end, _, output, _ = line.split("\t")
        if "verify_" in output:  # a header, which `make lint` compiles alone
            continue
        # One command with several outputs has a line for each; count objects and links once.
        if output.endswith((".o", ".gch", ".so", ".a")) or output.startswith("tests/"):
            seconds[output] = (int(end) - int(begin)) / 1000
    objects = {o: s for o, s in seconds.items() if o.endswith(".o")}
    total = sum(seconds.values())
    print(
        f"{len(objects)} objects {sum(objects.values()):.1f} s, all steps {total:.1f} core-seconds"
        f" (budget {BUDGET})"
    )
    for output, s in sorted(objects.items(), key=lambda item: -item[1])[:count]:
        name = output.split(".dir/", 1)[-1].split("site-packages/")[-1].removesuffix(".o")
        target = pathlib.Path(output.split(".dir/", 1)[0]).name
        print(f"{s:7.2f} s  {name}  [{target}]")
    if total > BUDGET:
        # Not a failure: wall clock says how busy the machine was, too.
        print(f"over the budget by {total - BUDGET:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
