"""Random Programs: shapes, dtypes, views, writes in place, state, branches, loops, data-dependent
sizes, arrays. The same seed makes the same Program."""

import random

import numpy as np

import argosy
from argosy import _core
from argosy._recorder import Recorder
from argosy.static.nn.control_flow import cond, while_loop
from argosy.tensor.array import array_read, array_write, create_array


class RandomProgram:
    """`feeds`, `fetches` and `states` (eager tensors) of a recorded Program."""

    def __init__(self, seed, operations=24):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.n, self.m = self.random.choice([(2, 3), (1, 4), (3, 1), (4, 5), (0, 3), (17, 40)])
        self.states = []
        for i in range(self.random.randint(1, 3)):
            t = argosy.to_tensor(self.values())
            t.persistable = True
            t.name = f"state_{seed}_{i}"
            self.states.append(t)
        self.first = [t.numpy().copy() for t in self.states]
        self.recorder = Recorder()
        with self.recorder as r:
            with argosy.no_grad():
                self.symbols = [r.input([self.n, self.m], "float32") for _ in range(2)]
                self.pool = list(self.symbols)
                self.seen = list(self.pool)
                for _ in range(operations):
                    self.step(depth=0)
        self.feeds = [argosy.to_tensor(self.values()) for _ in range(2)]
        live = [t for t in self.seen if t._symbolic]
        count = self.random.randint(1, min(6, len(live)))
        self.fetches = self.random.sample(live, count) + [self.pool[-1]]

    def values(self):
        return self.numpy.standard_normal((self.n, self.m)).astype("float32")

    def pick(self):
        return self.random.choice(self.pool[-8:])

    def add(self, t):
        self.pool.append(t)
        self.seen.append(t)

    def step(self, depth):
        kinds = [self.unary, self.binary, self.binary, self.view, self.copy_back, self.in_place]
        kinds += [self.state_write, self.state_read, self.reduce, self.optimizer, self.set_slice]
        if depth < 2:
            kinds += [self.branch, self.loop, self.array]
        if depth == 0:
            kinds += [self.dynamic, self.matmul]
        self.random.choice(kinds)(depth)

    def unary(self, depth):
        f = self.random.choice([argosy.tanh, argosy.abs, argosy.sin, argosy.nn.functional.relu])
        self.add(f(self.pick()))

    def binary(self, depth):
        f = self.random.choice([argosy.add, argosy.subtract, argosy.maximum, argosy.multiply])
        self.add(argosy.clip(f(self.pick(), self.pick()), -3.0, 3.0))

    def matmul(self, depth):
        a, b = self.pick(), self.pick()
        self.add(argosy.tanh(argosy.matmul(argosy.matmul(a, b, transpose_y=True), b)))

    def view(self, depth):
        x = self.pick()
        kind = self.random.randrange(4)
        if kind == 0:
            self.add(x.reshape([self.m, self.n]).reshape([self.n, self.m]))
        elif kind == 1:
            self.add(x.transpose([1, 0]).reshape([self.n, self.m]))
        elif kind == 2:
            self.add(x[:, :1].expand([self.n, self.m]))
        else:
            self.add(x.flatten().reshape([self.n, self.m]))

    def copy_back(self, depth):
        self.add(argosy.assign(self.pick()))

    def in_place(self, depth):
        x = argosy.assign(self.pick())
        old = x.reshape([self.m, self.n])
        self.random.choice([x.tanh_, x.abs_, lambda: x.add_(self.pick())])()
        self.add(x)
        if self.random.random() < 0.5:
            self.add(old.reshape([self.n, self.m]))

    def set_slice(self, depth):
        x = argosy.assign(self.pick()) if self.random.random() < 0.7 else self.pick()
        y = argosy.assign(x)
        y[:, :1] = self.pick()[:, :1]
        self.add(y)

    def state_read(self, depth):
        self.add(self.random.choice(self.states) * 0.5)

    def state_write(self, depth):
        s = self.random.choice(self.states)
        if self.random.random() < 0.5:
            self.add(s + 1.0)
        if self.random.random() < 0.5:
            s.add_(self.pick())
        else:
            argosy.assign(argosy.tanh(self.pick()), s)

    def optimizer(self, depth):
        s = self.random.choice(self.states)
        attrs = [0.1, [1.0], [0.0], [0.0]]
        before = s.reshape([self.m, self.n]) if self.random.random() < 0.3 else None
        _core.ops.sgd_([s], [self.pick()], [], *attrs)
        if before is not None:
            self.add(before.reshape([self.n, self.m]))

    def reduce(self, depth):
        x = self.pick()
        self.add(x - x.sum(axis=self.random.randrange(2), keepdim=True) * 0.1)

    def dynamic(self, depth):
        x = self.pick()
        places = argosy.nonzero(x.flatten() > 0.3)
        picked = argosy.gather(x.flatten(), places.flatten())
        self.add(self.pick() + argosy.tanh(picked.sum()))
        self.seen.append(picked)

    def inner(self, depth, values):
        """A few steps over `values`; what comes of them."""
        saved = self.pool
        self.pool = list(values)
        for _ in range(self.random.randint(1, 4)):
            self.step(depth + 1)
        result = self.pool[-1]
        self.pool = saved
        return result

    def branch(self, depth):
        x, y = self.pick(), self.pick()
        seen = self.seen
        self.seen = []
        z = cond(
            x.sum() > y.sum(),
            lambda: self.inner(depth, [x, y]),
            lambda: self.inner(depth, [y, x]) if self.random.random() < 0.7 else x,
        )
        self.seen = seen
        self.add(z)

    def loop(self, depth):
        x, y = self.pick(), self.pick()
        rounds = self.random.randint(0, 4)
        swap = self.random.random() < 0.3
        seen = self.seen
        self.seen = []

        def body(i, a, b):
            c = self.inner(depth, [a, b, x])
            return (i + 1, b, c) if swap else (i + 1, c, b)

        results = while_loop(lambda i, a, b: i < rounds, body, [argosy.full([], 0, "int64"), x, y])
        self.seen = seen
        self.add(results[1])
        self.add(results[2])

    def array(self, depth):
        array = create_array("float32")
        x = self.pick()
        for i in range(2):
            array = array_write(x, argosy.full([], i, "int64"), array)
            x = argosy.tanh(x)
        if depth == 0 and self.random.random() < 0.7:
            seen = self.seen
            self.seen = []

            def body(i, a, array):
                array = array_write(a, i, array)
                return i + 1, self.inner(2, [a, array_read(array, i - 1)]), array

            _, x, array = while_loop(
                lambda i, a, array: i < 5, body, [argosy.full([], 2, "int64"), x, array]
            )
            self.seen = seen
            self.add(x)
        self.add(array_read(array, argosy.full([], 1, "int64")))

    def reset(self):
        for t, value in zip(self.states, self.first):
            t.set_value(value)

    def interpret(self):
        """Values fetched and what became of the state, by the reference interpreter."""
        self.reset()
        out = _core.program_run(self.recorder._program, self.feeds, self.fetches, None)
        return self.both(out)

    def execute(self, executor):
        self.reset()
        out = _core.executor_run(executor, self.recorder._program, self.feeds, self.fetches, None)
        return self.both(out)

    def both(self, out):
        return [t.numpy() for t in out], [t.numpy().copy() for t in self.states]


def same(a, b):
    """Equal bit for bit."""
    for x, y in zip(a[0] + a[1], b[0] + b[1]):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(
            x.view("uint8") if x.ndim else x, y.view("uint8") if y.ndim else y
        )
