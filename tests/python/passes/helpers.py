"""What the tests of passes share."""

import re

import argosy
from argosy import _core, passes


class Recorded:
    """A Program being written: `with Recorded() as r: x = r.input(...); ...; r.fetch(y)`."""

    def __init__(self):
        self.program = _core.program_new()
        self.outputs = []
        self.feeds = []

    def __enter__(self):
        _core.program_begin(self.program)
        return self

    def __exit__(self, *exc):
        _core.program_end()
        return False

    def input(self, array, shape=None):
        """A symbol that is fed with the array; shape: what the Program knows of it."""
        t = argosy.to_tensor(array) if not isinstance(array, argosy.Tensor) else array
        self.feeds.append(t)
        name = f"x{len(self.feeds) - 1}"
        shape = list(t.shape) if shape is None else shape
        return _core.program_input(self.program, name, shape, t.dtype)

    def fetch(self, *values):
        self.outputs.extend(values)

    def gradients(self, targets, wrt):
        return _core.program_gradients(self.program, list(targets), [], list(wrt), [])

    def run(self, seed=0):
        argosy.seed(seed)
        return [t.clone() for t in _core.program_run(self.program, self.feeds, self.outputs, None)]

    def rewrite(self, names, **options):
        names = [names] if isinstance(names, str) and names not in passes.pipelines() else names
        return passes.rewrite(self.program, self.outputs, names, **options)

    def check(self, names, seed=0, **options):
        """The Program after passes, which must give the same bits."""
        start = passes._Start(self.program, None)
        wanted = self.run(seed) + [t.clone() for t in start.results()]
        start.restore()
        rewritten = self.rewrite(names, verify=True, **options)
        argosy.seed(seed)
        got = rewritten.run(self.feeds) + start.results()
        for a, b in zip(got, wanted):
            assert a.dtype == b.dtype and a.shape == b.shape
            assert a.numpy().tobytes() == b.numpy().tobytes(), (a, b)
        start.restore()
        return rewritten


def body(program):
    """The text of a Program without the users' lines and names of numbers: `a = op(b, c)`."""
    text = (
        str(program) if not isinstance(program, Recorded) else _core.program_print(program.program)
    )
    text = re.sub(r' loc\("[^"]*"\)', "", text)
    return text


def ops(program):
    """Names of the operations, in order."""
    return re.findall(r"^ *(?:%[%\d, ]* = )?(\w+)\(", body(program), re.M)
