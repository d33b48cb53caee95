"""Run whole programs in Argosy and in Paddle, and print where what they show differs. Run by hand.

    python tools/differential_programs.py --peer PYTHON [--match TEXT] [--show]

Programs are the files of tools/differential_programs/. Each runs in a process of its own, written for
Paddle, with two names more: `fixed(layer)` gives the layer's parameters values that depend on their
order alone, and `show(name, value)` puts a value into the program's answer. What both show is compared
one by one with the tolerance of TOLERANCE. The exit code is 1 if a program differs.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import differential
import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
SECONDS = 90  # for one program
# Of floating point values. Steps of training enlarge what roundings differ in.
TOLERANCE = (2e-3, 2e-4)


def fixed(layer):
    """The layer with weights that depend on their order and shape alone."""
    rng = np.random.RandomState(17)
    for parameter in layer.parameters():
        if parameter.stop_gradient:
            continue  # running statistics
        size = max(parameter.shape[0] if len(parameter.shape) > 1 else 4, 1)
        value = rng.uniform(-1, 1, parameter.shape) / np.sqrt(size)
        parameter.set_value(value.astype("float32"))
    return layer


def work(path, answer):
    """Run one program with this interpreter's paddle; its answer goes to a file, a line for each value."""
    import paddle

    np.random.seed(2024)
    paddle.seed(2024)
    with open(answer, "w") as file:

        def show(name, value):
            print(json.dumps([name, differential.describe(value, paddle)]), file=file, flush=True)

        scope = {"__name__": "__main__", "__file__": path, "fixed": fixed, "show": show}
        code = compile(pathlib.Path(path).read_text(), path, "exec")
        try:
            exec(code, scope)
        except Exception as error:
            import traceback

            traceback.print_exc()
            print(json.dumps(["raises", differential.failure(error)]), file=file, flush=True)


def answers(command, path):
    """[[name, value described]] of a program, or what its process ended with."""
    script = str(pathlib.Path(__file__).resolve())
    environment = {**os.environ, "GLOG_minloglevel": "3", "PYTHONWARNINGS": "ignore"}
    with tempfile.TemporaryDirectory() as folder:
        answer = os.path.join(folder, "answer")
        full = [*command, script, "--worker", str(path), answer]
        try:
            done = subprocess.run(
                full, env=environment, cwd=folder, capture_output=True, timeout=SECONDS, check=False
            )
            said = done.stderr.decode()[-3000:]
        except subprocess.TimeoutExpired:
            said = f"not done after {SECONDS} s"
        try:
            lines = pathlib.Path(answer).read_text().splitlines()
        except FileNotFoundError:
            lines = []
    return [json.loads(line) for line in lines], said


def differences(ours, theirs):
    """Lines that say where two lists of shown values differ."""
    for i, ((name, a), (other, b)) in enumerate(zip(ours, theirs)):
        if name != other:
            yield f"{i}: shows {name} against {other}: {a} {b}"
            return
        if "error" in a or "error" in b:
            if a.get("error") != b.get("error"):
                yield f"{i} {name}: {a} against {b}"
        elif (found := differential.difference(a, b)) is not None:
            yield f"{i} {name}: {found}"
    if len(ours) != len(theirs):
        yield f"{len(ours)} values against {len(theirs)}"


def main():
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3])
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="has paddlepaddle")
    parser.add_argument("--match", default="", help="only programs whose name contains this text")
    parser.add_argument("--show", action="store_true", help="print what both show")
    options = parser.parse_args()
    for dtype in ("float32", "float64"):
        differential.TOLERANCES[dtype] = TOLERANCE
    wrong = 0
    for path in sorted((HERE / "differential_programs").glob("*.py")):
        if options.match not in path.stem:
            continue
        theirs, said = answers([options.peer], path)
        ours, text = answers([sys.executable, "-m", "argosy.cli", "run"], path)
        lines = list(differences(ours, theirs))
        wrong += bool(lines)
        print(f"{path.stem}: {len(theirs)} values, {len(lines)} differ", flush=True)
        print("".join(f"  {line}\n" for line in lines[:12]), end="", flush=True)
        if options.show:
            print(json.dumps(ours)[:4000], said[-1500:], text[-1500:], sep="\n")
        elif lines and (len(ours) != len(theirs) or any("raises" == n for n, _ in theirs + ours)):
            print(f"  peer: {said[-700:]}\n  ours: {text[-1200:]}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
