"""Compares models of Paddle, as real Paddle runs them, with what Argosy makes of their files.

    python tools/paddle_models.py --peer PADDLE_PYTHON [--peer ..] [--folder F] [--only NAME]

Saves many nets with each interpreter of Paddle (2.6 writes .pdmodel, 3.x .json), and the outputs of some
inputs beside them, then loads them here. Prints what differs by more than 1e-5 of the largest output, or
fails. A folder that is there already is compared again without Paddle.

    python tools/paddle_models.py --written [--format pdmodel] --peer PADDLE_PYTHON [--only NAME]

The other way: nets of ours are written as Paddle has them, and real Paddle runs them, by a predictor and as
a layer of jit.load: Paddle 3, or with --format pdmodel 2.6 and 3 (whose jit.load reads .pdmodel only where
FLAGS_enable_pir_api is 0, as it is set here for that).
"""

import argparse
import os
import subprocess
import sys
import tempfile

from paddle_nets import layers, programs

SAVE, RUN = "--save", "--run"  # what the tool has an interpreter of Paddle do


# ---- in Paddle --------------------------------------------------------------------------------


def save_programs(folder, only):
    import numpy as np
    import paddle

    paddle.enable_static()
    for name, build in programs(paddle).items():
        if only and name not in only:
            continue
        main, startup = paddle.static.Program(), paddle.static.Program()
        main.random_seed = startup.random_seed = 1
        with paddle.static.program_guard(main, startup), paddle.utils.unique_name.guard():
            inputs, outputs = build()
        exe = paddle.static.Executor(paddle.CPUPlace())
        exe.run(startup)
        path = os.path.join(folder, name)
        paddle.static.save_inference_model(path, inputs, outputs, exe, program=main)
        lengths = {}
        if name == "sequences":
            values = [np.random.default_rng(0).integers(0, 20, (7, 1))]
            lengths["lengths"] = np.int64([3, 1, 3])
        else:
            values = arrays([[3 if d < 0 else d for d in v.shape] for v in inputs], np)
        program = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
        outs = run_paddle(program, path + ".pdiparams", values, lengths.get("lengths"))
        np.savez(path + ".npz", *values, **outs, **lengths)


def arrays(shapes, np):
    rng = np.random.default_rng(0)
    out = []
    for shape in shapes:
        if len(shape) == 3 and isinstance(shape[1], str):
            out.append(rng.integers(1, shape[2], shape[0]).astype(shape[1]))
        else:
            out.append(rng.standard_normal(shape).astype("float32"))
    return out


def save_layers(folder, only):
    import numpy as np
    import paddle

    paddle.seed(1)
    for name, (net, shapes, *saved_for) in layers(paddle).items():
        if only and name not in only:
            continue
        net.eval()
        values = arrays(shapes, np)
        spec = [
            paddle.static.InputSpec([None, *v.shape[1:]], str(v.dtype), f"x{i}")
            for i, v in enumerate(values)
        ]
        if saved_for:
            spec = [
                paddle.static.InputSpec([*shape], str(v.dtype), f"x{i}")
                for i, (v, shape) in enumerate(zip(values, *saved_for))
            ]
        path = os.path.join(folder, name)
        paddle.jit.save(net, path, input_spec=spec, clip_extra=True)
        program = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
        np.savez(path + ".npz", *values, **run_paddle(program, path + ".pdiparams", values))


def run_paddle(program, weights, values, lengths=None):
    """Outputs by name, in order of their keys; lengths: of the sequences in the first input."""
    from paddle import inference

    config = inference.Config(program, weights)
    config.disable_gpu()
    config.switch_ir_optim(False)
    for name in ("disable_onednn", "disable_mkldnn"):
        if hasattr(config, name):
            getattr(config, name)()
    config.disable_glog_info()
    predictor = inference.create_predictor(config)
    for name, value in zip(predictor.get_input_names(), values):
        predictor.get_input_handle(name).copy_from_cpu(value)
    if lengths is not None:
        offsets = [0, *lengths.cumsum().tolist()]
        predictor.get_input_handle(predictor.get_input_names()[0]).set_lod([offsets])
    predictor.run()
    names = predictor.get_output_names()
    return {f"out{i:03}": predictor.get_output_handle(n).copy_to_cpu() for i, n in enumerate(names)}


def run_written(folder, way):
    """Runs what was written by a predictor or as a layer of jit.load, and prints for each net what is wrong.
    A net that ends the process of Paddle is one that fails, so each has its own."""
    import numpy as np
    import paddle

    failed = 0
    for file in sorted(f for f in os.listdir(folder) if f.endswith((".json", ".pdmodel"))):
        path = os.path.join(folder, os.path.splitext(file)[0])
        values, wanted, _ = read_values(path + ".npz")
        sys.stdout.flush()
        child = os.fork()
        if child == 0:
            wrong = None
            try:
                if way == "predictor":
                    weights = path + ".pdiparams"
                    got = list(run_paddle(os.path.join(folder, file), weights, values).values())
                else:
                    outs = paddle.jit.load(path)(*map(paddle.to_tensor, values))
                    outs = outs if isinstance(outs, (list, tuple)) else [outs]
                    got = [o.numpy() for o in outs]
                wrong = difference(got, wanted, np)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is printed
                wrong = f"{type(error).__name__}: {str(error).strip()[-600:]}"
            said = "ok   " if wrong is None else "WRONG"
            print(f"{said} {paddle.__version__} {way} {file} {wrong or ''}", flush=True)
            os._exit(wrong is not None)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            said = f"Paddle ended by signal {os.WTERMSIG(status)}"
            print(f"WRONG {paddle.__version__} {way} {file} {said}", flush=True)
        failed += status != 0
    return failed


# ---- here -------------------------------------------------------------------------------------


def write(folder, only, form):
    """The nets of the suite and those of this file, written by us, with what they give here."""
    import numpy as np

    import argosy

    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    from tests.python.inference.paddle_cases import cases
    from tests.python.onnx.test_export import flat

    argosy.seed(1)
    nets = cases()
    for name, (net, shapes) in layers(argosy).items():
        net.eval()
        values = arrays(shapes, np)
        spec = [
            argosy.static.InputSpec([None, *v.shape[1:]], str(v.dtype), f"x{i}")
            for i, v in enumerate(values)
        ]
        nets.setdefault(name, (net, spec, values))
    for name, (net, spec, values) in nets.items():
        if only and name not in only:
            continue
        path = os.path.join(folder, name)
        outs = [o.numpy() for o in flat(net(*map(argosy.to_tensor, values)))]
        np.savez(path + ".npz", *values, **{f"out{i:03}": o for i, o in enumerate(outs)})
        try:
            argosy.jit.save(net, path, input_spec=spec, format=form)
        except NotImplementedError as error:
            print(f"WRONG {name} {error}", flush=True)


def difference(got, wanted, np):
    """None, or what is wrong."""
    if len(got) != len(wanted):
        return f"{len(got)} outputs, expected {len(wanted)}"
    worst = 0.0
    for i, (g, w) in enumerate(zip(got, wanted)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"output {i} is {g.dtype}{list(g.shape)}, expected {w.dtype}{list(w.shape)}"
        if w.size:
            apart = np.abs(g.astype("float64") - w.astype("float64")).max()
            worst = max(worst, apart / max(1.0, np.abs(w).max()))
    return None if worst <= 1e-5 else f"differs by {worst:.2e} of the largest output"


def ask(path, values):
    """What a predictor of the model answers."""
    import argosy

    program = path + (".json" if os.path.exists(path + ".json") else ".pdmodel")
    config = argosy.inference.Config(program, path + ".pdiparams")
    predictor = argosy.inference.create_predictor(config)
    return predictor.run(values)


def compare(path, values, wanted, lengths=None):
    """None, or what is wrong."""
    import numpy as np

    import argosy

    if os.path.basename(path).startswith("asked"):
        return difference(ask(path, values), wanted, np)
    argosy.enable_static()
    if lengths is not None:
        place = argosy.CPUPlace()
        values = [argosy.base.create_lod_tensor(values[0], [lengths.tolist()], place)]
    try:
        with argosy.static.scope_guard(argosy.static.Scope()):
            exe = argosy.static.Executor()
            program, feeds, fetches = argosy.static.load_inference_model(path, exe)
            got = exe.run(program, feed=dict(zip(feeds, values)), fetch_list=fetches)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is printed
        return f"{type(error).__name__}: {str(error)[:400]}"
    return difference(got, wanted, np)


def read_values(file):
    import numpy as np

    with np.load(file) as f:
        lengths = f["lengths"] if "lengths" in f.files else None
        inputs = [f[k] for k in sorted(k for k in f.files if k.startswith("arr_"))]
        outputs = [f[k] for k in sorted(k for k in f.files if k.startswith("out"))]
        return inputs, outputs, lengths


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", action="append", default=[])
    parser.add_argument("--folder")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--written", action="store_true")
    parser.add_argument("--format", choices=("paddle", "pdmodel"), default="paddle")
    parser.add_argument(SAVE, action="store_true", help=argparse.SUPPRESS)
    parser.add_argument(RUN, choices=("predictor", "layer"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        return run_written(args.folder, args.run)
    if args.save:
        save_layers(args.folder, args.only)
        return save_programs(args.folder, args.only)
    failed = 0
    if args.written:
        with tempfile.TemporaryDirectory() as temporary:
            write(temporary, args.only, args.format)
            for peer in args.peer:
                for way in ("predictor", "layer"):
                    command = [peer, os.path.abspath(__file__), RUN, way, "--folder", temporary]
                    old = way == "layer" and args.format == "pdmodel"
                    env = os.environ | ({"FLAGS_enable_pir_api": "0"} if old else {})
                    failed += subprocess.run(command, stderr=subprocess.DEVNULL, env=env).returncode
        return failed
    with tempfile.TemporaryDirectory() as temporary:
        for i, peer in enumerate(args.peer):
            folder = os.path.join(args.folder or temporary, str(i))
            if not os.path.isdir(folder):
                os.makedirs(folder)
                only = [word for name in args.only for word in ("--only", name)]
                command = [peer, os.path.abspath(__file__), SAVE, "--folder", folder, *only]
                subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            for file in sorted(os.listdir(folder)):
                name = file.removesuffix(".npz")
                if name == file or (args.only and name not in args.only):
                    continue
                wrong = compare(
                    os.path.join(folder, name), *read_values(os.path.join(folder, file))
                )
                failed += wrong is not None
                print(
                    f"{'ok   ' if wrong is None else 'WRONG'} {i} {name} {wrong or ''}", flush=True
                )
    return failed


if __name__ == "__main__":
    sys.exit(main())
