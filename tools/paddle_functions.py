"""Saves calls of Paddle's functions as models, with real Paddle, and loads them here.

    python tools/paddle_functions.py --peer PADDLE_PYTHON [--peer ..] [--topic NAME]... [--match TEXT]
                                     [--folder F]

The calls are those of tools/differential_cases/ that are made for modes. Each is captured, saved by
`paddle.jit.save` and run by Paddle (2.6 writes .pdmodel, 3.x .json); what Paddle refuses to capture, to
save or to run is left out. Prints the calls whose model fails here or gives something else, and the
operations that the reader does not know, with the number of calls that have them. A folder that is there
already is compared again without Paddle.
"""

import argparse
import collections
import linecache
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import differential
import numpy as np
from paddle_models import read_values, run_paddle

SECONDS = 20  # for one call
SAVE = "--save"  # what the tool has an interpreter of Paddle do
TOPICS = [t for t in differential.topics() if len(differential.modes_of(t)) > 1]


NET = """
class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.shift = self.create_parameter([1])

    def forward(self, {operands}):
        return call({operands}), self.shift * 2
"""


def net_of(case, names, paddle):
    """A layer of the call and its operands; it has a parameter, as 2.6 cannot load a net without."""
    makers, text = differential.as_function(case)
    text += NET.format(operands=", ".join(f"_{i}" for i in range(len(makers))))
    scope = {**names}
    operands = [eval(maker, scope) for maker in makers]
    file = f"<{len(linecache.cache)} {case[:60]}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    exec(compile(text, file, "exec"), scope)
    return scope["Net"](), operands


def save(case, path, names, paddle):
    """Writes the model and what Paddle gives for it; twice, to know what is drawn."""
    paddle.seed(1)
    net, operands = net_of(case, names, paddle)
    net.eval()
    spec = [
        paddle.static.InputSpec(list(x.shape), differential.name_of(x.dtype), f"x{i}")
        for i, x in enumerate(operands)
    ]
    paddle.jit.save(net, path, input_spec=spec)
    program = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
    values = [x.numpy() for x in operands]
    outs = run_paddle(program, path + ".pdiparams", values)
    again = run_paddle(program, path + ".pdiparams", values)
    for name, value in outs.items():
        if not np.array_equal(value, again[name], equal_nan=value.dtype.kind in "fc"):
            outs[name] = np.zeros([0, *value.shape], value.dtype)  # drawn: its shape alone
    np.savez(path + ".npz", *values, **outs)


def save_topic(folder, topic, match):
    import paddle

    names = differential.namespace(paddle)
    refused = collections.Counter()
    for i, case in enumerate(differential.cases_of(topic)):
        if match not in case:
            continue
        path = os.path.join(folder, f"{topic}_{i:04}")
        sys.stdout.flush()
        child = os.fork()  # a call that ends the process of Paddle is left out
        if child == 0:
            signal.alarm(SECONDS)
            try:
                save(case, path, names, paddle)
                pathlib.Path(path + ".txt").write_text(case)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is counted
                os._exit(1 if isinstance(error, Exception) else 2)
            os._exit(0)
        refused[os.waitpid(child, 0)[1] == 0] += 1
    print(f"{topic}: Paddle saved and ran {refused[True]} of {sum(refused.values())}", flush=True)


def difference(got, wanted):
    """None, or what is wrong."""
    if len(got) != len(wanted):
        return f"{len(got)} outputs, expected {len(wanted)}"
    for i, (g, w) in enumerate(zip(got, wanted)):
        drawn = w.ndim == g.ndim + 1 and w.shape[0] == 0
        shape = w.shape[1:] if drawn else w.shape
        if g.shape != shape or g.dtype != w.dtype:
            return f"output {i} is {g.dtype}{list(g.shape)}, expected {w.dtype}{list(shape)}"
        if drawn or not w.size:
            continue
        wide = "complex128" if w.dtype.kind == "c" else "float64"
        g, w = g.astype(wide), w.astype(wide)
        scale = max(1.0, np.abs(w[np.isfinite(w)]).max(initial=0))
        half = "float16" in (str(wanted[i].dtype),)
        if not np.allclose(
            g / scale, w / scale, rtol=0, atol=2e-3 if half else 2e-5, equal_nan=True
        ):
            return f"output {i} differs: {g.ravel()[:4]} against {w.ravel()[:4]}"
    return None


def compare(path):
    """None, or what is wrong."""
    import argosy

    values, wanted, _ = read_values(path + ".npz")
    try:
        program = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
        predictor = argosy.inference.create_predictor(
            argosy.inference.Config(program, path + ".pdiparams")
        )
        names = predictor.get_input_names()
        for name, value in zip(names, values):
            predictor.get_input_handle(name).copy_from_cpu(value)
        predictor.run()
        outs = predictor.get_output_names()
        return difference([predictor.get_output_handle(n).copy_to_cpu() for n in outs], wanted)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is printed
        return f"{type(error).__name__}: {str(error)[:400]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--topic", action="append", choices=TOPICS)
    parser.add_argument("--match", default="", help="only calls that contain this text")
    parser.add_argument("--folder")
    parser.add_argument(SAVE, action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    topics = args.topic or TOPICS
    if args.save:
        return save_topic(args.folder, topics[0], args.match)
    failed = 0
    unknown = collections.Counter()
    with tempfile.TemporaryDirectory() as temporary:
        for i, peer in enumerate(args.peer):
            folder = os.path.join(args.folder or temporary, str(i))
            if not os.path.isdir(folder):
                os.makedirs(folder)
                for topic in topics:
                    command = [peer, os.path.abspath(__file__), SAVE, "--folder", folder]
                    command += ["--topic", topic, "--match", args.match]
                    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            total = 0
            for file in sorted(pathlib.Path(folder).glob("*.txt")):
                case = file.read_text()
                if args.match not in case or file.stem[:-5] not in topics:
                    continue
                total += 1
                wrong = compare(str(file.with_suffix("")))
                if wrong is None:
                    continue
                failed += 1
                print(f"WRONG {i} {file.stem} {case}\n      {wrong}", flush=True)
                if found := re.search(r"operations that are not supported: ([\w., :]+)", wrong):
                    unknown.update(found[1].rstrip(".").split(", "))
            print(f"{peer}: {total} models, {failed} wrong so far")
    for name, count in unknown.most_common():
        print(f"{count:5} {name}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
