"""Records calls of argosy functions as a Program and replays it; what op tests are built on."""

import os

from argosy import _core


class Recorder:
    """with Recorder() as r: y = f(r.input([2, -1], "float32")); r.run([x], [y])

    Inside the block, calls become operations of the Program. Sizes may be -1.
    """

    def __init__(self):
        self._program = _core.program_new()
        self._inputs = 0
        self._executor = None

    def __enter__(self):
        _core.program_begin(self._program)
        return self

    def __exit__(self, *exc):
        _core.program_end()
        return False

    def input(self, shape, dtype, stop_gradient=True):
        """A symbolic tensor that run() feeds."""
        t = _core.program_input(self._program, f"x{self._inputs}", list(shape), dtype)
        self._inputs += 1
        t.stop_gradient = stop_gradient
        return t

    def gradients(self, targets, inputs):
        """Appends d(sum of targets)/d(inputs); None where there is none."""
        return _core.program_gradients(self._program, list(targets), [], list(inputs), [])

    def run(self, feeds, fetches):
        """Values of the symbolic tensors `fetches` for the tensors `feeds`.

        By a plan; ARGOSY_REPLAY=interpreter has the reference interpreter do it.
        """
        if os.environ.get("ARGOSY_REPLAY") == "interpreter":
            return _core.program_run(self._program, list(feeds), list(fetches), None)
        if self._executor is None:
            self._executor = _core.executor_new(4)
        return _core.executor_run(self._executor, self._program, list(feeds), list(fetches), None)

    def verify(self):
        """Raises if the Program is not well formed."""
        _core.program_verify(self._program)

    def __str__(self):
        return _core.program_print(self._program)
