"""Training the click model of ctr.py through parameter servers: Argosy and Paddle 2.6.2.

    ARGOSY_BENCH_PADDLE26=/path/to/python python benchmarks/ctr_servers.py
    python benchmarks/ctr_servers.py --workers 2 --modes sync geo async --local

Model, data and reading are those of ctr.py. Servers and workers are processes of this machine, bound to
the same cores; workers train on shards of the files with train_from_dataset. Printed for each mode:
examples/s of all workers together (from the first worker's start to the last one's end), the AUC after
the pass on the first lines of each file and on other lines of the same model, bytes that Argosy's workers
sent and received, and processor time. --local adds Argosy without servers: what the AUC is
compared with.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent


def ctr():
    spec = importlib.util.spec_from_file_location("ctr", HERE / "ctr.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# --- one process of a job, with either framework ---


def mend_protobuf():
    """Paddle prints strategies by a class that protobuf 3.20, which it wants, has in its C version
    alone; of that there is none for Python 3.11."""
    import types

    try:
        from google.protobuf.pyext import _message  # noqa: F401
    except ImportError:
        from google.protobuf.internal import containers

        name = "google.protobuf.pyext._message"
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].RepeatedScalarContainer = containers.RepeatedScalarFieldContainer


def for_evaluation(framework, test):
    """The copy with rows looked up on servers: Argosy's does that by itself."""
    if framework == "argosy":
        return test
    from paddle.distributed.fleet.utils.ps_util import DistributedInfer

    return DistributedInfer(main_program=test).get_dist_infer_program()


def child(args):
    if args.framework == "argosy":
        import argosy as paddle
        from argosy.distributed import fleet
    else:
        mend_protobuf()
        import paddle
        from paddle.distributed import fleet
    bench = ctr()
    paddle.enable_static()
    paddle.seed(args.seed)
    fleet.init()
    strategy = fleet.DistributedStrategy()
    strategy.a_sync = args.mode != "sync"
    if args.mode == "geo":
        strategy.a_sync_configs = {"k_steps": args.k_steps}
    if args.ahead and args.mode == "async" and args.framework == "argosy":
        strategy.a_sync_configs = {"send_queue_size": args.ahead}
    inputs, predict, loss = bench.build(paddle, args)
    test = paddle.static.default_main_program().clone(for_test=True)
    optimizer = paddle.optimizer.Adam(1e-3, lazy_mode=True)
    fleet.distributed_optimizer(optimizer, strategy).minimize(loss)
    if fleet.is_server():
        fleet.init_server()
        fleet.run_server()
        print("RESULT " + json.dumps({"cpu": time.process_time()}), flush=True)
        return
    exe = paddle.static.Executor(paddle.CPUPlace())
    exe.run(paddle.static.default_startup_program())
    fleet.init_worker()
    workers = fleet.worker_num()
    files = [f for i, f in enumerate(args.files) if i % workers == fleet.worker_index()]
    dataset = paddle.distributed.QueueDataset()
    dataset.init(
        batch_size=bench.BATCH, thread_num=args.threads, use_var=inputs, pipe_command="cat"
    )
    dataset.set_filelist(files)
    fleet.barrier_worker()
    start, cpu = time.time(), time.process_time()
    exe.train_from_dataset(paddle.static.default_main_program(), dataset, thread=args.threads)
    fleet.barrier_worker()
    result = {"start": start, "end": time.time(), "cpu": time.process_time() - cpu}
    if args.framework == "argosy":
        client = getattr(fleet.fleet._runtime, "client", None)
        if client is not None:
            result["sent"], result["received"], _ = client.traffic()
    if fleet.worker_index() == 0:
        test = for_evaluation(args.framework, test)
        for name, files in (("auc", args.files), ("test_auc", args.test_files)):
            args.files = files
            labels, found = bench.predictions(paddle, exe, test, predict, args)
            result[name] = bench.generator().auc(found, labels)
    fleet.stop_worker()
    print("RESULT " + json.dumps(result), flush=True)


# --- a job ---


def ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    found = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return found


def job(python, framework, mode, args, files):
    """What the workers found: a list of dicts."""
    servers = 0 if mode == "local" else args.servers
    workers = 1 if mode == "local" else args.workers
    found = ports(servers + workers)
    at = [f"127.0.0.1:{p}" for p in found]
    base = dict(os.environ, OMP_NUM_THREADS="1", MKL_NUM_THREADS="1", GLOG_v="0")
    if servers:
        base |= {
            "PADDLE_PSERVERS_IP_PORT_LIST": ",".join(at[:servers]),
            "PADDLE_TRAINER_ENDPOINTS": ",".join(at[servers:]),
            "PADDLE_TRAINERS_NUM": str(workers),
            "PADDLE_WITH_GLOO": "0",
        }
    command = [python, __file__, "--child", "--framework", framework, "--mode", mode,
               "--threads", str(args.threads), "--rows", str(args.rows), "--slots", args.slots,
               "--seed", str(args.seed), "--k-steps", str(args.k_steps), "--ahead", str(args.ahead), "--check-lines", str(args.check_lines),
               "--files", *files, "--test-files", *args.test_files]  # fmt: skip
    cores = sorted(os.sched_getaffinity(0))[: args.cores]
    running = []
    for i in range(servers + workers):
        env = dict(base)
        if servers:
            role = "PSERVER" if i < servers else "TRAINER"
            env |= {"TRAINING_ROLE": role, "POD_IP": "127.0.0.1", "PADDLE_PORT": str(found[i])}
            env["PADDLE_TRAINER_ID"] = str(i - servers if i >= servers else i)
        running.append(
            subprocess.Popen(
                command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                preexec_fn=lambda: os.sched_setaffinity(0, cores),
            )
        )  # fmt: skip
    results = []
    for i, process in enumerate(running):
        if i < servers:
            continue
        text, _ = process.communicate(timeout=args.limit)
        lines = [line for line in text.splitlines() if line.startswith("RESULT ")]
        if not lines:
            for other in running:
                other.kill()
            sys.exit(f"{framework} {mode}: worker {i - servers} failed:\n{text[-4000:]}")
        results.append(json.loads(lines[0][7:]))
    for process in running[:servers]:
        try:
            text, _ = process.communicate(timeout=20)
            for line in text.splitlines():
                if line.startswith("RESULT "):
                    results[0]["servers"] = (
                        results[0].get("servers", 0) + json.loads(line[7:])["cpu"]
                    )
        except subprocess.TimeoutExpired:
            process.kill()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--lines", type=int, default=200000)
    parser.add_argument("--rows", type=int, default=1000001)
    parser.add_argument("--slots", choices=("ragged", "dense"), default="ragged")
    parser.add_argument("--servers", type=int, default=1)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2, help="of each worker")
    parser.add_argument("--cores", type=int, default=2, help="that all processes share")
    parser.add_argument("--modes", nargs="*", default=["async"])
    parser.add_argument("--k-steps", type=int, default=10, help="geo: of the process")
    parser.add_argument("--ahead", type=int, default=0, help="async: send_queue_size")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; the next adds one")
    parser.add_argument("--local", action="store_true")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--check-lines", type=int, default=40000)
    parser.add_argument("--limit", type=float, default=600, help="seconds for a run")
    parser.add_argument("--data", help="folder for the text files; a temporary one if left out")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--framework", help=argparse.SUPPRESS)
    parser.add_argument("--mode", help=argparse.SUPPRESS)
    parser.add_argument("--files", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--test-files", nargs="*", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        return child(args)
    with tempfile.TemporaryDirectory() as folder:
        where = pathlib.Path(args.data or folder)
        files = sorted(map(str, where.glob("part-*")))
        if not files:
            files, best = ctr().generator().write(str(where), args.lines, 4, rows=args.rows)
            print(f"best AUC: {best:.4f}")
        args.test_files, _ = (
            ctr()
            .generator()
            .write(folder, args.check_lines, prefix="test", stream=1, rows=args.rows)
        )
        lines = sum(f.read().count(b"\n") for f in (open(p, "rb") for p in files))
        kinds = [("argosy", sys.executable, mode) for mode in args.modes]
        if args.local:
            kinds.insert(0, ("argosy", sys.executable, "local"))
        peer = os.environ.get("ARGOSY_BENCH_PADDLE26")
        if peer:
            kinds += [("paddle 2.6.2", peer, mode) for mode in args.modes if mode == "async"]
        best = {}
        for _ in range(args.repeat):
            for side, python, mode in kinds:
                r = job(python, side.split()[0], mode, args, files)
                seconds = max(w["end"] for w in r) - min(w["start"] for w in r)
                one = {
                    "rate": lines / seconds,
                    "auc": r[0].get("auc"),
                    "test": r[0].get("test_auc"),
                    "bytes": sum(w.get("sent", 0) + w.get("received", 0) for w in r) or None,
                    "cpu": sum(w["cpu"] for w in r) / lines * 1e6,
                    "servers": r[0].get("servers", 0) / lines * 1e6,
                }
                best.setdefault((side, mode), []).append(one)
            args.seed += 1
    for (side, mode), runs in best.items():
        rate = max(r["rate"] for r in runs)
        text = f"{side:13} {mode:10}: {rate / 1e3:7.1f}k examples/s"
        aucs = sorted(r["auc"] for r in runs if r["auc"] is not None)
        if aucs:
            mean = sum(aucs) / len(aucs)
            text += f", AUC {mean:.4f} ({aucs[0]:.4f} to {aucs[-1]:.4f})"
            tests = sorted(r["test"] for r in runs)
            mean = sum(tests) / len(tests)
            text += f", of other lines {mean:.4f} ({tests[0]:.4f} to {tests[-1]:.4f})"
        if runs[0]["bytes"]:
            text += f", {runs[0]['bytes'] / lines:.0f} bytes an example"
        print(
            text + f", processors: {min(r['cpu'] for r in runs):.1f} us an example in workers,"
            f" {min(r['servers'] for r in runs):.1f} in servers"
        )
    ours, theirs = best.get(("argosy", "async")), best.get(("paddle 2.6.2", "async"))
    if ours and theirs:
        ratio = max(r["rate"] for r in ours) / max(r["rate"] for r in theirs)
        print(f"async: {ratio:.2f} times Paddle (goal 1.6)")
    geo = best.get(("argosy", "geo"))
    if ours and geo:
        part = geo[0]["bytes"] / ours[0]["bytes"]
        print(f"geo moves {part:.3f} of async's bytes (goal 0.25)")


if __name__ == "__main__":
    main()
