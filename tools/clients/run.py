"""Train models of packages that others wrote for Paddle, in Argosy and in Paddle, and compare.

    python tools/clients/run.py PACKAGE... --peer PYTHON [--model NAME]... [--steps N] [--folder DIR]

PYTHON is an interpreter of the same version as this one that has paddlepaddle. PACKAGE is a file of this folder
(paddleclas, paddlenlp, ..): what to install, which models, and their batches. The package is
installed once, without its dependencies but those that the file names, into DIR/PACKAGE, which both frameworks import from; nothing
else is touched. Each model begins with the weights that Paddle draws and takes the same steps in
both: in float64, where a difference that is no rounding shows, and in float32 for the time of a step
(median; one thread). Printed is the largest relative difference of the losses. The exit code is 1 if a model
fails here but not in Paddle, or differs by more than its file allows.
"""

import argparse
import importlib
import json
import os
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ALLOWED = 1e-6  # of losses in float64, unless the package's file says otherwise


def packages():
    return sorted(path.stem for path in HERE.glob("*.py") if path.stem not in ("run", "worker"))


def install(package, folder, python):
    """The folder that has the package, made if need be."""
    site = folder / package.__name__
    if not (site / "installed").exists():
        site.mkdir(parents=True, exist_ok=True)
        command = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(site)]
        subprocess.run([*command, *package.REQUIREMENTS], check=True)
        (site / "installed").touch()
    return site


def train(command, site, arguments):
    """What a worker says: lines of losses and seconds, or the end of its error."""
    paths = [str(HERE), str(site), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ, "PYTHONPATH": os.pathsep.join(paths), "GLOG_minloglevel": "3",
        "OMP_NUM_THREADS": "1", "PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": "python", "HF_HUB_OFFLINE": "1",
    }  # fmt: skip
    command = [*command, str(HERE / "worker.py"), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=900)
    lines = [json.loads(line[2:]) for line in done.stdout.splitlines() if line.startswith("##")]
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no text"])[-1]
        return lines, f"exit code {done.returncode}: {said[:300]}"
    return lines, None


def compare(name, model, site, options):
    """(text, whether the model is as in Paddle)."""
    weights = options.folder / f"{name}-{model}.npz"
    commands = {"draw": [options.peer], "load": [sys.executable, "-m", "argosy.cli", "run"]}

    def steps(dtype, how):
        return train(
            commands[how], site, [name, model, str(options.steps), str(weights), how, dtype]
        )

    theirs, failure = steps("float64", "draw")
    if failure:
        return f"{name} {model}: Paddle fails: {failure}", True
    ours, failure = steps("float64", "load")
    if failure:
        return f"{name} {model}: FAILS after {len(ours)} steps: {failure}", False
    lines, worst = [], 0.0
    for step, (a, b) in enumerate(zip(ours, theirs)):
        apart = abs(a["loss"] - b["loss"]) / max(abs(b["loss"]), 1e-12)
        worst = max(worst, apart)
        lines.append(f"    step {step}: {a['loss']:.9g} against {b['loss']:.9g}, {apart:.1e} apart")
    allowed = getattr(importlib.import_module(name), "ALLOWED", {}).get(model, ALLOWED)
    good = worst <= allowed
    said = "ok" if good else f"APART (allowed {allowed:.0e})"
    head = f"{name} {model}: {said}, losses of {len(ours)} steps at most {worst:.1e} apart"
    if not options.no_time:
        times = []
        for how in ("load", "draw"):
            found, failure = steps("float32", how)
            good &= failure is None or how == "draw"
            times.append(failure or milliseconds(found))
        head += f"; a step takes {times[0]} against {times[1]}"
    return "\n".join([head, *lines] if options.steps_too or worst > allowed else [head]), good


def milliseconds(lines):
    return f"{statistics.median([line['seconds'] for line in lines[1:]]) * 1e3:.1f} ms"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("package", nargs="+", choices=packages())
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="has paddlepaddle")
    parser.add_argument("--model", action="append", help="only this model")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--no-time", action="store_true", help="nothing in float32")
    parser.add_argument("--steps-too", action="store_true", help="print the losses of each step")
    parser.add_argument("--folder", type=pathlib.Path, default=pathlib.Path("build/clients"))
    options = parser.parse_args()
    options.folder = options.folder.resolve()
    options.folder.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(HERE))
    good = True
    for name in options.package:
        package = importlib.import_module(name)
        site = install(package, options.folder, options.peer)
        for model in options.model or package.MODELS:
            text, fine = compare(name, model, site, options)
            good &= fine
            print(text, flush=True)
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
