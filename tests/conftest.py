"""Settings of all tests; read when argosy is imported."""

import gc
import os
import signal
import sys
import time

import pytest

os.environ.setdefault("ARGOSY_VERIFY_PASSES", "1")

# A shell starts background jobs with Ctrl-C ignored, and children inherit that: tests of Ctrl-C would
# wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser):
    parser.addoption("--device", choices=["gpu"], help="where tests compute: the first GPU")
    # For tests/python/device/where.py, which may be imported before options are parsed, and for workers.
    for option, value in zip(sys.argv, [*sys.argv[1:], ""]):
        if option == "--device" or option.startswith("--device="):
            os.environ["ARGOSY_TEST_DEVICE"] = option.partition("=")[2] or value


def pytest_collection(session):
    """What modules make when they are imported is on the device too."""
    name = session.config.getoption("--device")
    if name:
        import argosy

        argosy.device.set_device(f"{name}:0")


def pytest_collection_finish(session):
    """The tests themselves, of which there are many, are no garbage: collections, of which tests ask for
    some, do not look at them again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(config, items):
    """Tests that add a device to the process come last: others say what a process without one does."""
    items.sort(key=lambda item: item.get_closest_marker("adds_device") is not None)
    device = config.getoption("--device")
    if device is None:
        return
    for item in items:
        adds, cpu = item.get_closest_marker("adds_device"), item.get_closest_marker("cpu_only")
        if cpu or (adds and adds.kwargs.get("unless") != device):
            reason = cpu.args[0] if cpu else "is about the streamed test device"
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(autouse=True)
def default_device(request):
    """With --device, tests begin on that device; what they make is there unless they say otherwise."""
    name = request.config.getoption("--device")
    if name is None:
        yield
        return
    import argosy

    argosy.device.set_device(f"{name}:0")
    yield
    argosy.device.set_device("cpu")
    try:
        argosy.device.synchronize(f"{name}:0")
    except argosy.DeviceError as error:
        end_process_whose_device_failed(request.node.nodeid, error)
        raise


def pytest_runtest_logreport(report):
    """Failures as they come, for runs that may be stopped: a line each in $ARGOSY_TEST_REPORT."""
    path = os.environ.get("ARGOSY_TEST_REPORT")
    if path and report.failed and "PYTEST_XDIST_WORKER" not in os.environ:
        crash = getattr(report.longrepr, "reprcrash", None)
        said = " ".join((crash.message if crash else str(report.longrepr)).split())[:400]
        with open(path, "a") as file:
            print("FAILED", report.nodeid, "-", said, file=file)


def end_process_whose_device_failed(test, error):
    """What failed on a GPU stays so in the process, so no other test may run in it: pytest-xdist begins
    another worker. Which test it was is written to $ARGOSY_TEST_FAILURES."""
    if path := os.environ.get("ARGOSY_TEST_FAILURES"):
        with open(path, "a") as file:
            print(test, " ".join(str(error).split())[:300], file=file)
    if "PYTEST_XDIST_WORKER" in os.environ:
        time.sleep(0.3)  # the report is on its way
        os._exit(70)
