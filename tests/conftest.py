"""Settings of all tests; read when argosy is imported."""

import os
import signal

os.environ.setdefault("ARGOSY_VERIFY_PASSES", "1")

# A shell starts background jobs with Ctrl-C ignored, and children inherit that: tests of Ctrl-C would
# wait for ever.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items):
    """Tests that add a device to the process come last: others say what a process without one does."""
    items.sort(key=lambda item: item.get_closest_marker("adds_device") is not None)
