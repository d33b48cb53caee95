"""The mode is each thread's own, default Programs are the process's but within a program_guard."""

import subprocess
import sys
import threading

import numpy as np

import argosy
from argosy import static
from argosy.jit import capture


def in_thread(function):
    """What function() returns on another thread."""
    found = []

    def run():
        try:
            found.append(function())
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


def test_another_thread_computes_at_once():
    def other():
        assert argosy.in_dynamic_mode()
        layer = argosy.nn.Linear(2, 2)  # not a parameter of the Program
        return (argosy.ones([2]) + 1).tolist(), type(layer.weight).__name__, layer.weight._symbolic

    assert not argosy.in_dynamic_mode()
    values, kind, symbolic = in_thread(other)
    assert values == [2.0, 2.0]
    assert kind == "EagerParamBase" and not symbolic
    assert static.default_main_program().all_parameters() == []


def test_another_thread_has_a_mode_of_its_own():
    def other():
        argosy.enable_static()
        return static.default_main_program(), static.default_startup_program()

    argosy.disable_static()
    try:
        programs = in_thread(other)
        assert argosy.in_dynamic_mode()
        assert (argosy.ones([2]) + 1).tolist() == [2.0, 2.0]
    finally:
        argosy.enable_static()
    # Those of the process, not those of the guard that this thread is in.
    assert programs == in_thread(other)
    assert static.default_main_program() is not programs[0]


PROCESS = """
import sys
import threading
import numpy as np
import argosy
from argosy import static

def in_thread(function):
    thread = threading.Thread(target=function)
    thread.start()
    thread.join()

argosy.enable_static()
x = static.data("x", [None, 2])
y = argosy.nn.Linear(2, 1)(x)
exe = static.Executor()
exe.run(static.default_startup_program())
feed = {"x": np.ones([3, 2], "float32")}
found = [exe.run(feed=feed, fetch_list=[y])[0]]

def other():
    argosy.enable_static()
    static.save(static.default_main_program(), sys.argv[1])
    loss = argosy.mean(y * 2)
    found.extend(exe.run(feed=feed, fetch_list=[y, loss]))

in_thread(other)
assert np.array_equal(found[0], found[1])
assert np.allclose(found[2], 2 * found[0].mean())
print("done")
"""


def test_another_thread_goes_on_with_the_programs_of_the_process(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", PROCESS, str(tmp_path / "model")], capture_output=True, text=True
    )
    assert run.stdout == "done\n", run.stderr
    saved = argosy.load(str(tmp_path / "model.pdparams"))
    assert len([name for name in saved if "linear" in name]) == 2


def test_guards_of_two_threads_interleave():
    both = threading.Barrier(2, timeout=60)

    def build(factor):
        argosy.enable_static()
        main, startup = static.Program(), static.Program()
        both.wait()
        with static.program_guard(main, startup):
            both.wait()  # the other thread is inside its guard as well
            x = static.data("x", [None, 3])
            both.wait()
            y = static.nn.fc(x, 1, weight_attr=argosy.nn.initializer.Constant(factor))
            both.wait()
            assert static.default_main_program() is main
        both.wait()
        exe = static.Executor()
        with both_scopes:  # global_scope is one for all
            with static.scope_guard(static.Scope()):
                exe.run(startup)
                feed = {"x": np.ones([2, 3], "float32")}
                return exe.run(main, feed=feed, fetch_list=[y])[0].tolist()

    both_scopes = threading.Lock()
    found = {}
    threads = [
        threading.Thread(target=lambda f=f: found.setdefault(f, build(f)), daemon=True)
        for f in (1.0, 2.0)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {1.0: [[3.0], [3.0]], 2.0: [[6.0], [6.0]]}


def test_capture_is_of_one_thread():
    argosy.disable_static()
    try:
        seen = []

        @argosy.jit.to_static(full_graph=True)
        def function(x):
            seen.append((capture.capturing(), in_thread(capture.capturing)))
            return x * 2

        assert function(argosy.ones([2])).tolist() == [2.0, 2.0]
    finally:
        argosy.enable_static()
    assert seen == [(True, False)]
