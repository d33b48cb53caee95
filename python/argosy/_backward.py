"""Passes of backward, and what runs when one has ended."""

from __future__ import annotations

import threading

from argosy import _core

# Functions without arguments: data parallel layers exchange gradients. Passes within a pass, as those
# of recomputation, do not count. Guarded by the GIL.
after = []
_passes = threading.local()


def run(roots, seeds, retain_graph):
    """_core.backward, and then what stands in `after`."""
    if not after:
        _core.backward(roots, seeds, retain_graph)
        return
    depth = getattr(_passes, "depth", 0)
    _passes.depth = depth + 1
    try:
        _core.backward(roots, seeds, retain_graph)
    finally:
        _passes.depth = depth
    if depth == 0:
        for function in list(after):
            function()
