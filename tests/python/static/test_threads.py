"""The mode and the default Programs are each thread's own."""

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
        static.data("x", [2])
        return static.default_main_program(), static.default_startup_program()

    argosy.disable_static()
    try:
        main, startup = in_thread(other)
        assert argosy.in_dynamic_mode()
        assert (argosy.ones([2]) + 1).tolist() == [2.0, 2.0]
    finally:
        argosy.enable_static()
    assert main is not static.default_main_program()
    assert startup is not static.default_startup_program()
    assert not static.default_main_program().global_block().has_var("x")


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

        @argosy.jit.to_static
        def function(x):
            seen.append((capture.capturing(), in_thread(capture.capturing)))
            return x * 2

        assert function(argosy.ones([2])).tolist() == [2.0, 2.0]
    finally:
        argosy.enable_static()
    assert seen == [(True, False)]
