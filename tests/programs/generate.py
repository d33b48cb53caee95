"""Random programs, for property tests: the same text runs eager and recorded.

    g = generate(seed)          # a Generated: steps over inputs, parameters and buffers
    g.eager(feeds)              # values of its outputs, computed at once
    program, outputs = g.record(known_sizes=False)

What a program does is fixed when it is generated (steps name the values they use by number), so it is
the same in every mode. Covered: many ops with broadcasting, several dtypes, views, several outputs,
writes in place, repeated and unused steps, random numbers, state, nested conditions and loops with
a known bound, sizes read as tensors. A seed gives the same program for ever, as long as this file stays.
"""

import numpy as np

import argosy
from argosy import _core
from argosy.nn import functional as F
from argosy.static.nn.control_flow import cond, while_loop

FLOATS = ("float32", "float64")


class Form:
    """Shape and dtype of a value; shared: somebody else may see its memory."""

    def __init__(self, shape, dtype, shared=False):
        self.shape, self.dtype, self.shared = tuple(shape), dtype, shared

    @property
    def floating(self):
        return self.dtype in FLOATS


class Step:
    """fn(*operands) -> list of results; `writes`: the operand that it writes in place, or None."""

    def __init__(self, name, operands, fn, results, writes=None):
        self.name, self.operands, self.fn, self.writes = name, operands, fn, writes
        self.results = results  # forms


def run_steps(steps, values):
    """Appends the results of the steps to the list of values."""
    for step in steps:
        results = step.fn(*[values[i] for i in step.operands])
        assert len(results) == len(step.results), step.name
        values.extend(results)
    return values


# --- ops ---

SMOOTH = ("tanh", "sin", "cos", "sigmoid", "square", "erf", "negative")
ROUGH = ("abs", "floor", "sign", "relu", "ceil", "round")


def broadcast(a, b):
    try:
        return np.broadcast_shapes(a, b)
    except ValueError:
        return None


class Maker:
    """Grows a list of steps. smooth: only what has a derivative everywhere, in float64."""

    def __init__(self, rng, forms, smooth=False, depth=0, first_state=None, states=0):
        self.rng, self.smooth, self.depth = rng, smooth, depth
        self.forms = list(forms)
        self.steps = []
        self.states = range(first_state, first_state + states) if first_state is not None else ()

    def choose(self, items):
        return items[self.rng.integers(len(items))]

    def value(self, test=lambda f: True):
        """The number of a value that passes the test, mostly a late one; None if there is none."""
        found = [i for i, f in enumerate(self.forms) if test(f)]
        if not found:
            return None
        if self.rng.random() < 0.6:
            found = found[-6:]
        return int(self.choose(found))

    def add(self, name, operands, fn, results, writes=None):
        self.steps.append(Step(name, list(operands), fn, results, writes))
        self.forms.extend(results)
        return True

    def floating(self):
        return self.value(lambda f: f.floating and np.prod(f.shape) <= 4096)

    # Each returns True if it added a step.

    def unary(self):
        i = self.floating()
        if i is None:
            return False
        names = SMOOTH if self.smooth else SMOOTH + ROUGH
        name = self.choose(names)
        f = self.forms[i]
        fn = getattr(F, name) if name == "relu" else getattr(argosy, name)
        return self.add(name, [i], lambda x: [fn(x)], [Form(f.shape, f.dtype)])

    def activation(self):
        i = self.value(lambda f: f.floating and len(f.shape) >= 1 and 0 < f.shape[-1])
        if i is None:
            return False
        f = self.forms[i]
        n = f.shape[-1]
        name = self.choose(["softmax", "gelu", "silu", "layer_norm", "log_softmax"])
        fns = {
            "softmax": lambda x: [F.softmax(x, -1)],
            "log_softmax": lambda x: [F.log_softmax(x, -1)],
            "gelu": lambda x: [F.gelu(x)],
            "silu": lambda x: [F.silu(x)],
            "layer_norm": lambda x: [F.layer_norm(x, [n], epsilon=0.1)],
        }
        return self.add(name, [i], fns[name], [Form(f.shape, f.dtype)])

    def binary(self):
        i = self.value(lambda f: f.dtype != "bool")
        if i is None:
            return False
        a = self.forms[i]
        j = self.value(lambda f: f.dtype == a.dtype and broadcast(a.shape, f.shape) is not None)
        shape = broadcast(a.shape, self.forms[j].shape)
        if np.prod(shape) > 4096:
            return False
        names = ["add", "subtract", "multiply"]
        if not self.smooth:
            names += ["maximum", "minimum"]
        name = self.choose(names)
        fn = getattr(argosy, name)
        return self.add(name, [i, j], lambda x, y: [fn(x, y)], [Form(shape, a.dtype)])

    def divide(self):
        i = self.floating()
        if i is None:
            return False
        a = self.forms[i]
        j = self.value(lambda f: f.dtype == a.dtype and broadcast(a.shape, f.shape) == a.shape)
        return self.add(
            "divide", [i, j], lambda x, y: [x / (y * y + 1.5)], [Form(a.shape, a.dtype)]
        )

    def number(self):
        """With Python numbers, neutral ones among them."""
        i = self.floating()
        if i is None:
            return False
        f = self.forms[i]
        c = self.choose([0.0, 1.0, -0.0, 2.0, -1.0, 0.5])
        name, fn = self.choose(
            [
                ("x + c", lambda x: [x + c]),
                ("c + x", lambda x: [c + x]),
                ("x - c", lambda x: [x - c]),
                ("c - x", lambda x: [c - x]),
                ("x * c", lambda x: [x * c]),
                ("x / 1", lambda x: [x / 1.0]),
                ("x ** 1", lambda x: [x**1.0]),
                ("x ** 2", lambda x: [x**2.0]),
                ("scale", lambda x: [argosy.scale(x, c, 0.25)]),
                ("-(-x)", lambda x: [-(-x)]),
            ]
        )
        return self.add(name, [i], fn, [Form(f.shape, f.dtype)])

    def cast(self):
        i = self.value()
        f = self.forms[i]
        if self.smooth:
            to = "float64"
        else:
            to = self.choose(["float32", "float64", "float16", "int32", "int64", "bool"])
            if f.floating and to in ("int32", "int64"):  # what is out of range is undefined
                return self.add(
                    "cast",
                    [i],
                    lambda x: [argosy.tanh(x).scale(5.0).cast(to)],
                    [Form(f.shape, to)],
                )
        if f.dtype == "bool" and self.smooth:
            return False
        if to == "float16":  # there and back
            if not f.floating:
                return False
            return self.add(
                "cast twice", [i], lambda x: [x.cast(to).cast(f.dtype)], [Form(f.shape, f.dtype)]
            )
        shared = f.dtype == to
        if shared:
            self.forms[i].shared = True
        return self.add("cast", [i], lambda x: [x.cast(to)], [Form(f.shape, to, shared)])

    def view(self):
        i = self.value(lambda f: len(f.shape) >= 1)
        if i is None:
            return False
        f = self.forms[i]
        f.shared = True
        rank = len(f.shape)
        kind = self.choose(
            ["reshape", "transpose", "squeeze", "unsqueeze", "slice", "flatten", "twice"]
        )
        n = int(np.prod(f.shape))
        if kind == "reshape" and n:
            d = int(self.choose([d for d in (1, 2, 3, 4, 6) if n % d == 0]))
            shape = [d, n // d]
            if self.rng.random() < 0.5:
                return self.add(
                    "reshape -1", [i], lambda x: [x.reshape([d, -1])], [Form(shape, f.dtype, True)]
                )
            return self.add(
                "reshape", [i], lambda x: [x.reshape(shape)], [Form(shape, f.dtype, True)]
            )
        if kind == "transpose":
            perm = [int(p) for p in self.rng.permutation(rank)]
            shape = [f.shape[p] for p in perm]
            return self.add(
                "transpose", [i], lambda x: [x.transpose(perm)], [Form(shape, f.dtype, True)]
            )
        if kind == "twice":
            perm = [int(p) for p in self.rng.permutation(rank)]
            back = [int(p) for p in np.argsort(perm)]
            return self.add(
                "transpose twice",
                [i],
                lambda x: [x.transpose(perm).transpose(back)],
                [Form(f.shape, f.dtype, True)],
            )
        if kind == "unsqueeze" and rank < 4:
            axis = int(self.rng.integers(rank + 1))
            shape = list(f.shape)
            shape.insert(axis, 1)
            return self.add(
                "unsqueeze", [i], lambda x: [x.unsqueeze(axis)], [Form(shape, f.dtype, True)]
            )
        if kind == "squeeze" and 1 in f.shape:
            axis = f.shape.index(1)
            shape = f.shape[:axis] + f.shape[axis + 1 :]
            return self.add(
                "squeeze", [i], lambda x: [x.squeeze(axis)], [Form(shape, f.dtype, True)]
            )
        if kind == "flatten" and rank >= 2:
            shape = (f.shape[0] * f.shape[1], *f.shape[2:])
            return self.add(
                "flatten", [i], lambda x: [x.flatten(0, 1)], [Form(shape, f.dtype, True)]
            )
        if kind == "slice" and f.shape[0] > 1:
            stop = int(self.rng.integers(1, f.shape[0] + 1))
            return self.add(
                "slice", [i], lambda x: [x[:stop]], [Form((stop, *f.shape[1:]), f.dtype, True)]
            )
        return False

    def sized(self):
        """Sizes as tensors."""
        i = self.value(lambda f: len(f.shape) >= 2)
        if i is None:
            return False
        f = self.forms[i]
        rest = int(np.prod(f.shape[1:]))
        kind = self.choose(["reshape", "full", "numel"])
        if kind == "reshape" and rest:
            f.shared = True
            return self.add(
                "reshape by shape",
                [i],
                lambda x: [x.reshape([argosy.shape(x)[0], rest])],
                [Form((f.shape[0], rest), f.dtype, True)],
            )
        if kind == "full":
            dtype = "float64" if self.smooth else self.choose(FLOATS)
            return self.add(
                "full by shape",
                [i],
                lambda x: [argosy.full([argosy.shape(x)[0], 1], 0.5, dtype)],
                [Form((f.shape[0], 1), dtype)],
            )
        if self.smooth:
            return False
        return self.add("numel", [i], lambda x: [argosy.numel(x)], [Form((), "int64")])

    def created(self):
        dtype = "float64" if self.smooth else self.choose(["float32", "float64", "int64"])
        n = int(self.rng.integers(1, 5))
        name, fn, shape = self.choose(
            [
                ("full", lambda: [argosy.full([n, 3], 1, dtype)], (n, 3)),
                ("arange", lambda: [argosy.arange(0, n, dtype=dtype)], (n,)),
                ("zeros", lambda: [argosy.zeros([n], dtype)], (n,)),
                ("ones", lambda: [argosy.ones([1], dtype) * 1], (1,)),
            ]
        )
        return self.add(name, [], fn, [Form(shape, dtype)])

    def like(self):
        i = self.floating()
        if i is None:
            return False
        f = self.forms[i]
        c = self.choose([0.0, 1.0, 1.5])
        return self.add(
            "full_like", [i], lambda x: [argosy.full_like(x, c)], [Form(f.shape, f.dtype)]
        )

    def reduce(self):
        i = self.value(lambda f: f.floating and len(f.shape) >= 1 and 0 not in f.shape)
        if i is None:
            return False
        f = self.forms[i]
        axis = int(self.rng.integers(len(f.shape)))
        keep = bool(self.rng.random() < 0.5)
        names = ["sum", "mean"] if self.smooth else ["sum", "mean", "max", "min", "prod"]
        name = self.choose(names)
        fn = getattr(argosy, name)
        shape = list(f.shape)
        if keep:
            shape[axis] = 1
        else:
            del shape[axis]
        return self.add(
            name, [i], lambda x: [fn(x, axis=axis, keepdim=keep)], [Form(shape, f.dtype)]
        )

    def matmul(self):
        i = self.value(lambda f: f.floating and len(f.shape) == 2)
        if i is None:
            return False
        a = self.forms[i]
        j = self.value(
            lambda f: f.dtype == a.dtype and len(f.shape) == 2 and f.shape[0] == a.shape[1]
        )
        if j is not None and a.shape[1]:
            shape = (a.shape[0], self.forms[j].shape[1])
            return self.add(
                "matmul", [i, j], lambda x, y: [x.matmul(y) * 0.5], [Form(shape, a.dtype)]
            )
        return self.add(
            "matmul t",
            [i, i],
            lambda x, y: [argosy.matmul(x, y, transpose_y=True) * 0.25],
            [Form((a.shape[0], a.shape[0]), a.dtype)],
        )

    def join(self):
        i = self.value(lambda f: len(f.shape) >= 1)
        if i is None:
            return False
        a = self.forms[i]
        j = self.value(
            lambda f: (
                f.dtype == a.dtype and len(f.shape) == len(a.shape) and f.shape[1:] == a.shape[1:]
            )
        )
        kind = self.choose(["concat", "stack", "one"])
        if kind == "concat":
            n = a.shape[0] + self.forms[j].shape[0]
            return self.add(
                "concat",
                [i, j],
                lambda x, y: [argosy.concat([x, y])],
                [Form((n, *a.shape[1:]), a.dtype)],
            )
        if kind == "one":
            return self.add(
                "concat 1", [i], lambda x: [argosy.concat([x])], [Form(a.shape, a.dtype)]
            )
        if len(a.shape) > 3:
            return False
        return self.add(
            "stack", [i, i], lambda x, y: [argosy.stack([x, y])], [Form((2, *a.shape), a.dtype)]
        )

    def several(self):
        """Several outputs."""
        i = self.value(lambda f: len(f.shape) >= 1 and f.shape[0] >= 2 and f.shape[0] % 2 == 0)
        if i is not None and self.rng.random() < 0.6:
            f = self.forms[i]
            f.shared = True
            half = Form((f.shape[0] // 2, *f.shape[1:]), f.dtype, True)
            return self.add(
                "split",
                [i],
                lambda x: list(argosy.split(x, 2)),
                [half, Form(half.shape, f.dtype, True)],
            )
        if self.smooth:
            return False
        i = self.value(lambda f: f.floating and len(f.shape) >= 1 and f.shape[-1] >= 1)
        if i is None:
            return False
        f = self.forms[i]
        shape = (*f.shape[:-1], 1)
        return self.add(
            "topk",
            [i],
            lambda x: list(argosy.topk(x, 1)),
            [Form(shape, f.dtype), Form(shape, "int64")],
        )

    def compare(self):
        i = self.floating()
        if i is None or self.smooth:
            return False
        f = self.forms[i]
        name = self.choose(["where", "less", "not"])
        if name == "where":
            return self.add(
                name, [i], lambda x: [argosy.where(x > 0.1, x, x * 0.5)], [Form(f.shape, f.dtype)]
            )
        if name == "less":
            return self.add(name, [i], lambda x: [x < 0.3], [Form(f.shape, "bool")])
        return self.add(
            name,
            [i],
            lambda x: [argosy.logical_not(argosy.logical_not(x < 0.3))],
            [Form(f.shape, "bool")],
        )

    def expand(self):
        i = self.value(lambda f: len(f.shape) >= 1 and f.shape[0] == 1 and np.prod(f.shape) < 500)
        if i is None:
            return False
        f = self.forms[i]
        f.shared = True
        n = int(self.rng.integers(1, 4))
        return self.add(
            "expand",
            [i],
            lambda x: [x.expand([n, *f.shape[1:]])],
            [Form((n, *f.shape[1:]), f.dtype, True)],
        )

    def copy(self):
        i = self.value()
        f = self.forms[i]
        return self.add("clone", [i], lambda x: [x.clone()], [Form(f.shape, f.dtype)])

    def again(self):
        """A step once more: the same, or for nothing."""
        found = [s for s in self.steps if s.writes is None and s.name not in ("random", "cond")]
        if not found:
            return False
        step = self.choose(found)
        if any(self.forms[i].dtype is None for i in step.operands):
            return False
        results = [Form(f.shape, f.dtype, f.shared) for f in step.results]
        return self.add(step.name, step.operands, step.fn, results)

    def inplace(self):
        i = self.value(lambda f: f.floating and not f.shared and np.prod(f.shape) <= 4096)
        if i is None or i in self.states:
            return False
        f = self.forms[i]
        if self.smooth:  # else a gradient may need what was overwritten
            return self.add(
                "clone.add_", [i], lambda x: [x.clone().add_(x)], [Form(f.shape, f.dtype)]
            )
        name, fn = self.choose(
            [
                ("add_", lambda x: [x.add_(argosy.full([], 0.5, f.dtype))]),
                ("scale_", lambda x: [x.scale_(0.5)]),
                ("tanh_", lambda x: [x.tanh_()]),
            ]
        )
        f.shared = True
        return self.add(name, [i], fn, [Form(f.shape, f.dtype, True)], writes=i)

    def random(self):
        if self.smooth:
            return False
        i = self.floating()
        if i is None:
            return False
        f = self.forms[i]
        name, fn = self.choose(
            [
                ("uniform", lambda x: [argosy.uniform([3], dtype=f.dtype)]),
                ("dropout", lambda x: [F.dropout(x, 0.4)]),
                ("eval dropout", lambda x: [F.dropout(x, 0.4, training=False)]),
                ("unread", lambda x: [argosy.uniform([3], dtype=f.dtype)]),
            ]
        )
        shape = f.shape if "dropout" in name else (3,)
        shared = name == "eval dropout"
        f.shared |= shared
        return self.add("random", [i], fn, [Form(shape, f.dtype, shared)])

    def state(self):
        """A buffer moves on."""
        if not self.states or self.depth or self.smooth:  # gradients need the old value
            return False
        s = int(self.choose(list(self.states)))
        f = self.forms[s]
        if f.shared:  # through a view the write would be seen
            return False
        i = self.value(lambda g: g.dtype == f.dtype and g.floating and 0 not in g.shape)
        if i is None:
            return False

        def fn(x, y):
            x.set_value(x * 0.5 + y.mean().detach())
            return [x * 1.0]

        return self.add("state", [s, i], fn, [Form(f.shape, f.dtype)], writes=s)

    # --- control flow ---

    def inner(self, forms, count):
        maker = Maker(
            np.random.default_rng(self.rng.integers(1 << 62)),
            [Form(f.shape, f.dtype, True) for f in forms],
            self.smooth,
            self.depth + 1,
        )
        maker.grow(count)
        return maker

    def condition(self):
        i = self.value(lambda f: f.floating and 0 not in f.shape)
        if i is None or self.depth >= 2:
            return False
        a, b = (self.inner(self.forms, int(self.rng.integers(1, 5))) for _ in range(2))
        known = self.choose([None, None, None, True, False])
        limit = float(self.rng.normal())
        # What both sides can give: the last value of one, and values of outside like it.
        outs = []
        base = len(self.forms)
        for _ in range(int(self.rng.integers(1, 3))):
            k = int(self.rng.integers(len(a.forms)))
            form = a.forms[k]
            like = [
                n for n, f in enumerate(b.forms) if f.shape == form.shape and f.dtype == form.dtype
            ]
            if like:
                outs.append((k, int(self.choose(like[-3:]))))
        if not outs:
            return False

        def fn(*values):
            def side(steps, which):
                def run():
                    inside = run_steps(steps, list(values))
                    return [inside[pair[which]].clone() for pair in outs]

                return run

            x = values[i].mean()
            if known is None:
                pred = x > limit
            else:
                pred = argosy.full([1], 1.0) > (0.0 if known else 2.0)
            return list(cond(pred, side(a.steps, 0), side(b.steps, 1)))

        results = [Form(a.forms[k].shape, a.forms[k].dtype) for k, _ in outs]
        return self.add("cond", range(base), fn, results)

    def loop(self):
        i = self.value(lambda f: f.floating and 0 < np.prod(f.shape) <= 256)
        if i is None or self.depth >= 2:
            return False
        f = self.forms[i]
        base = len(self.forms)
        # The carried value stands in the place of the one it starts as.
        inside = self.inner(self.forms, int(self.rng.integers(1, 5)))
        like = [n for n, g in enumerate(inside.forms) if g.shape == f.shape and g.dtype == f.dtype]
        k = int(self.choose(like[-3:]))
        rounds = int(self.rng.integers(0, 4))
        spare = bool(self.rng.random() < 0.5)  # a carried value that nobody reads

        def fn(*values):
            def body(n, x, *more):
                now = list(values)
                now[i] = x
                y = argosy.tanh(run_steps(inside.steps, now)[k]) + x * 0.5
                return [n + 1, y, *[m + 1.0 for m in more]]

            start = [argosy.full([], 0, "int64"), values[i] * 1.0]
            if spare:
                start.append(argosy.ones([2], f.dtype))
            return [while_loop(lambda n, *_: n < rounds, body, start)[1]]

        return self.add("cond", range(base), fn, [Form(f.shape, f.dtype)])

    KINDS = (
        ("unary", 4),
        ("activation", 2),
        ("binary", 5),
        ("divide", 1),
        ("number", 4),
        ("cast", 2),
        ("view", 5),
        ("sized", 2),
        ("created", 2),
        ("like", 1),
        ("reduce", 3),
        ("matmul", 2),
        ("join", 2),
        ("several", 2),
        ("compare", 2),
        ("expand", 1),
        ("copy", 1),
        ("again", 4),
        ("inplace", 2),
        ("random", 2),
        ("state", 2),
        ("condition", 1.5),
        ("loop", 1.5),
    )

    def grow(self, count):
        names = [k for k, _ in self.KINDS]
        weights = np.array([w for _, w in self.KINDS], dtype=float)
        weights /= weights.sum()
        added = 0
        for _ in range(20 * count):
            if added >= count:
                break
            added += bool(getattr(self, names[self.rng.choice(len(names), p=weights)])())


class Generated:
    """A random program; see generate()."""

    def __init__(self, seed, smooth=False):
        rng = np.random.default_rng(seed)
        self.seed, self.smooth = seed, smooth
        floats = ("float64",) if smooth else FLOATS
        sizes = [1, 2, 3, 4] if smooth or rng.random() < 0.9 else [0, 1, 3]
        forms = []
        for _ in range(int(rng.integers(1, 4))):
            rank = int(rng.integers(0, 4))
            shape = [int(rng.choice(sizes)) for _ in range(rank)]
            forms.append(Form(shape, str(rng.choice(floats)), True))
        self.inputs = len(forms)
        self.parameters = int(rng.integers(0, 3))
        for _ in range(self.parameters):
            shape = [int(rng.integers(1, 4)) for _ in range(2)]
            forms.append(Form(shape, str(rng.choice(floats)), True))
        buffers = int(rng.integers(0, 3))
        first = len(forms)
        for _ in range(buffers):
            forms.append(Form([int(rng.integers(1, 4))], str(rng.choice(floats))))
        self.given = forms
        self.values = [np.asarray(rng.uniform(-1.5, 1.5, f.shape)).astype(f.dtype) for f in forms]
        maker = Maker(rng, forms, smooth, 0, first, buffers)
        maker.grow(int(rng.integers(6, 26)))
        self.steps, self.forms = maker.steps, maker.forms
        made = list(range(len(forms), len(self.forms)))
        count = min(len(made), int(rng.integers(1, 4)))
        # The last value, and some others.
        self.outputs = (
            sorted({made[-1], *(int(i) for i in rng.choice(made, count))}) if made else [0]
        )

    def __str__(self):
        lines = [f"seed {self.seed}{' smooth' if self.smooth else ''}: {self.inputs} inputs"]
        lines += [f"  {i}: {f.dtype}{list(f.shape)}" for i, f in enumerate(self.given)]
        at = len(self.given)
        for s in self.steps:
            names = [str(at + k) for k in range(len(s.results))]
            at += len(names)
            operands = "..." if s.name == "cond" else ", ".join(map(str, s.operands))
            lines.append(f"  {', '.join(names)} = {s.name}({operands})")
        return "\n".join([*lines, f"  outputs {self.outputs}"])

    def feeds(self):
        return [argosy.to_tensor(v) for v in self.values[: self.inputs]]

    def make_state(self):
        """New parameters and buffers."""
        state = []
        for i in range(self.inputs, len(self.given)):
            t = argosy.to_tensor(self.values[i])
            t.persistable = True
            t.stop_gradient = i >= self.inputs + self.parameters
            state.append(t)
        return state

    def outputs_of(self, given):
        values = run_steps(self.steps, list(given))
        return [values[i] for i in self.outputs]

    def loss_of(self, given):
        outputs = self.outputs_of(given)
        floating = [o for i, o in zip(self.outputs, outputs) if self.forms[i].floating]
        total = None
        for o in floating:
            part = (o * 1.0).sum()
            total = part if total is None else total + part
        return total

    def eager(self, feeds=None):
        """(values of the outputs, the state afterwards), under no_grad."""
        state = self.make_state()
        argosy.seed(self.seed)
        with argosy.no_grad():
            out = self.outputs_of([*(feeds or self.feeds()), *state])
        return [o.clone() for o in out], state

    def record(self, known_sizes=True, gradients=False):
        """(program, outputs, state): outputs are symbolic; with gradients, those of the loss are
        appended (None where there is none)."""
        program = _core.program_new()
        state = self.make_state()
        _core.program_begin(program)
        try:
            inputs = []
            for i, f in enumerate(self.given[: self.inputs]):
                shape = list(f.shape) if known_sizes else [-1] * len(f.shape)
                x = _core.program_input(program, f"x{i}", shape, f.dtype)
                x.stop_gradient = not gradients
                inputs.append(x)
            if gradients:
                loss = self.loss_of([*inputs, *state])
                outputs = [loss]
                wrt = [*inputs, *state[: self.parameters]]
                if loss is not None:
                    outputs += _core.program_gradients(program, [loss], [], wrt, [])
            else:
                with argosy.no_grad():
                    outputs = self.outputs_of([*inputs, *state])
        finally:
            _core.program_end()
        return program, outputs, state


def generate(seed, smooth=False):
    """The program of a seed. smooth: float64 and differentiable everywhere."""
    return Generated(seed, smooth)
