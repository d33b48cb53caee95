"""Run wrong calls in Argosy and in Paddle, eagerly and in a Program, and compare how they fail.

    python tools/differential_errors.py --peer PYTHON [--mode eager|static] [--match TEXT] [--show]

Calls are those of tools/differential_cases/errors.py and differential_mistakes*.py. In static mode the tensors
T(..), I(..), B(..) of a call are placeholders, and what the call gives is run with their values;
calls that need tensors at once are run in eager mode alone. For each mode three rates are printed:

* raises: both raise or both do not,
* type: of those that raise in both, an `except` for Paddle's type catches ours,
* category: of those whose message begins with a category in Paddle, ours begins with the same.

With --show the calls that differ are listed. The exit code is 1 if a rate is below 95 %.
"""

import argparse
import importlib
import json
import os
import signal
import sys

import differential
import differential_mistakes
import differential_mistakes_static
import differential_mistakes_training
import numpy as np

GOAL = 0.95
# What Paddle refuses as it lacks a kernel for CPUs, or has the function in eager mode only.
NOT_A_MISTAKE = (
    "is not registered", "in dynamic graph mode", "in dynamic mode", "in imperative mode",
    "pir.Value' object has no attribute", "is not supported in pir mode", "should be one of [str, bytes, Variable]",
    # What Paddle 3.3.1 says of right calls, too.
    "Input of conv2d_transpose must be Tensor", "Input of conv3d_transpose must be Tensor", "'mask' in deformable_conv",
)  # fmt: skip
# Needs a value while it is built, makes its own Program, or cannot be written in one.
EAGER_ONLY = ("enable_static", "grad=True", ".backward(", ".step()", "minimize(", ".numpy(")


def cases(mode):
    found = [*differential.cases_of("errors"), *differential_mistakes.CASES]
    found += differential_mistakes_training.CASES
    if mode == "static":
        found = [case for case in found if not any(word in case for word in EAGER_ONLY)]
        found += differential_mistakes_static.CASES
    return found


def placeholders(paddle, feed):
    """T, I and B of differential.namespace as placeholders; `feed` gets their values."""

    def declare(array, dtype):
        name = f"x{len(feed)}"
        feed[name] = np.asarray(array).astype("float32" if dtype == "bfloat16" else dtype)
        return paddle.static.data(name, list(feed[name].shape), dtype)

    def floats(*shape, dtype="float32", seed=0, low=-1.0, high=1.0):
        return declare(np.random.RandomState(seed).uniform(low, high, shape), dtype)

    def integers(*shape, low=0, high=10, dtype="int64", seed=0):
        return declare(np.random.RandomState(seed).randint(low, high, shape), dtype)

    def booleans(*shape, seed=0):
        return declare(np.random.RandomState(seed).rand(*shape) > 0.5, "bool")

    return {"T": floats, "I": integers, "B": booleans}


def in_program(case, names, paddle):
    """Evaluates a case in a Program of its own and runs that; raises what either of them raises."""
    *statements, expression = case.split(";;")
    feed = {}
    scope = {**names, **placeholders(paddle, feed)}
    paddle.enable_static()
    main, startup = paddle.static.Program(), paddle.static.Program()
    with paddle.static.program_guard(main, startup):
        for statement in statements:
            exec(statement.strip(), scope)
        value = eval(expression.strip(), scope)
        items = value if isinstance(value, (list, tuple)) else [value]
        symbolic = type(paddle.static.data("unused", [1]))
        fetches = [item for item in items if isinstance(item, symbolic)]
        executor = paddle.static.Executor(paddle.CPUPlace())
        executor.run(startup)
        feed["unused"] = np.zeros(1, "float32")
        executor.run(main, feed=feed, fetch_list=fetches)


def outcome(case, names, paddle, mode):
    paddle.seed(2024)
    np.random.seed(2024)
    signal.alarm(differential.SECONDS)
    try:
        if mode == "static":
            in_program(case, names, paddle)
        else:
            scope = dict(names)
            *statements, expression = case.split(";;")
            for statement in statements:
                exec(statement.strip(), scope)
            eval(expression.strip(), scope)
        return {"ok": None}
    except Exception as error:
        return differential.failure(error)
    finally:
        signal.alarm(0)
        paddle.disable_static()
        paddle.nn.initializer.set_global_initializer(None)
        paddle.set_default_dtype("float32")


def work(framework, mode, skip):
    """Run the cases of a mode from number `skip` on; a line of JSON for each."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    paddle = importlib.import_module(framework)
    signal.signal(signal.SIGALRM, differential.late)
    names = differential.namespace(paddle)
    for case in cases(mode)[skip:]:
        print(json.dumps(outcome(case, names, paddle, mode)), file=answers, flush=True)


def verdicts(ours, theirs):
    """Whether two outcomes agree: {rate: True or False}, without the rates that do not apply."""
    text = theirs.get("text", "")
    if theirs.get("error") in ("CRASH", "HANG") or any(word in text for word in NOT_A_MISTAKE):
        return {}
    found = {"raises": ("error" in ours) == ("error" in theirs)}
    if "error" in ours and "error" in theirs:
        found["type"] = theirs["error"] in ours.get("kinds", [ours["error"]])
        if theirs["category"]:
            found["category"] = ours.get("category") == theirs["category"]
    return found


def brief(outcome):
    if "ok" in outcome:
        return "passes"
    mark = f"({outcome['category']}) " if outcome.get("category") else ""
    return f"{outcome['error']}: {outcome['text'] if mark in outcome['text'] else mark + outcome['text']}"


def main():
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2], sys.argv[3], int(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--peer", required=True, metavar="PYTHON", help="has paddlepaddle")
    parser.add_argument("--mode", choices=("eager", "static"), help="only this mode")
    parser.add_argument("--match", default="", help="list only calls that contain this text")
    parser.add_argument("--show", action="store_true", help="list the calls that differ")
    options = parser.parse_args()
    low = False
    for mode in (options.mode,) if options.mode else ("eager", "static"):
        calls = cases(mode)
        theirs, ours = (
            differential.results(python, framework, mode, __file__, len(calls))
            for python, framework in ((options.peer, "paddle"), (sys.executable, "argosy"))
        )
        rates = {"raises": [], "type": [], "category": []}
        for call, a, b in zip(calls, ours, theirs):
            found = verdicts(a, b)
            for rate, agrees in found.items():
                rates[rate].append(agrees)
            wrong = [rate for rate, agrees in found.items() if not agrees]
            if wrong and options.show and options.match in call:
                print(f"  {wrong[0]}: {call}\n      {brief(a)}\n      {brief(b)}")
        for rate, agrees in rates.items():
            share = sum(agrees) / max(1, len(agrees))
            low |= share < GOAL
            print(f"{mode}: {rate} {sum(agrees)} of {len(agrees)} equal, {share:.1%}", flush=True)
    return int(low)


if __name__ == "__main__":
    sys.exit(main())
