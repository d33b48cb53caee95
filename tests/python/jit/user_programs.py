"""Programs in the manner of those that users capture; test_any_size.py runs each eagerly, captured for
all sizes, and saved and loaded."""

import collections
import functools

import numpy as np

import argosy as paddle

F = paddle.nn.functional
PROGRAMS = []


def prog(*inputs, grad=True):
    """Adds a function with the operands of several calls; the first one's sizes are not known."""

    def add(function):
        PROGRAMS.append((function, inputs, grad))
        return function

    return add


def a(*shape):
    return np.random.RandomState(sum(shape) + len(shape)).randn(*shape).astype("float32")


def i(values):
    return np.asarray(values, "int64")


Pair = collections.namedtuple("Pair", "u v")


@prog([a(3, 4)], [a(5, 4)])
def nt_carry(x):
    s = Pair(x, x * 0)
    for k in range(3):
        if s.u.sum() > 0:
            s = Pair(s.u - 1, s.v + 1)
        else:
            s = Pair(s.u + 1, s.v - 1)
    return s.u, s.v


@prog([a(3, 4), i(4)], [a(5, 4), i(2)])
def dict_loop(x, n):
    d = {"h": x, "c": x * 2}
    k = 0
    while k < n:
        d["h"] = paddle.tanh(d["h"] + d["c"])
        d["c"] = d["c"] * 0.5
        k += 1
    return d["h"], d["c"]


@prog([a(3, 4)], [a(5, 4)])
def isinst(x):
    if isinstance(x, paddle.Tensor) and x.dtype == paddle.float32 and len(x.shape) == 2:
        return x + 1
    return x


@prog([a(3, 4)], [a(5, 4)])
def partial_fn(x):
    def f(u, v, w=1):
        return u * v + w

    g = functools.partial(f, w=3)
    if x.sum() > 0:
        y = g(x, x)
    else:
        y = g(x, 2)
    return y


@prog([a(3, 4)], [a(5, 4)])
def decorated(x):
    def dec(f):
        @functools.wraps(f)
        def w(*a):
            r = f(*a)
            if r.sum() > 0:
                return r * 2
            return r

        return w

    @dec
    def g(t):
        return t + 1

    return g(x)


@prog([a(3, 4), i(3)], [a(5, 4), i(5)])
def recursion_py(x, n):
    def f(t, k):
        if k == 0:
            return t
        return f(t * 0.5 + 1, k - 1)

    return f(x, 3)


@prog([a(3, 4), i(3)], [a(5, 4), i(5)])
def grad_in_loop(x, n):
    y = x
    k = 0
    while k < n:
        y = y * y * 0.1 + x
        k = k + 1
    return y


@prog([a(3, 4)], [a(5, 4)], grad=False)
def grad_inside(x):
    x.stop_gradient = False
    y = (x * x * x).sum()
    g = paddle.grad(y, x, create_graph=True)[0]
    return g


@prog([a(3, 4), i(2)], [a(5, 4), i(3)])
def two_breaks(x, n):
    for p in range(n):
        for q in range(n):
            if q == 1:
                continue
            if x.sum() > 25:
                break
            x = x + 1
        if x.sum() > 20:
            break
    return x


@prog([a(3, 4), i(2)], [a(5, 4), i(0)])
def return_in_else(x, n):
    if n > 1:
        for k in range(n):
            if x.sum() > 100:
                return x
            x = x + 1
    else:
        return -x
    return x * 2


@prog([a(3, 4), i(2)], [a(5, 4), i(0)])
def return_tuple_varied(x, n):
    if n > 1:
        return x, x + 1
    else:
        return x * 2, x * 3


@prog([a(3, 4), i(6)], [a(5, 4), i(3)])
def while_else(x, n):
    k = 0
    while k < n:
        if x.sum() > 30:
            break
        x = x + 1
        k = k + 1
    else:
        x = x * 2
    return x


@prog([a(3, 4), i(6)], [a(5, 4), i(3)])
def pop_list(x, n):
    parts = [x, x + 1, x + 2]
    y = parts.pop()
    parts.insert(0, y)
    if n > 4:
        return parts[0] + parts[1]
    return parts[0] - parts[1]


@prog([a(3, 4), i(6)], [a(5, 4), i(3)])
def list_of_pairs(x, n):
    parts = []
    for k in range(n):
        parts.append((x * k).sum(0))
    s = x[0] * 0
    for v in parts:
        s = s + v
    return s, len(parts) * x


@prog([a(3, 4)], [a(5, 4)])
def nested_closure_mod(x):
    c = paddle.zeros([])

    def inc():
        nonlocal c
        c = c + 1

    for k in range(3):
        if x[k % 3].sum() > 0:
            inc()
    return x + c


@prog([a(3, 4)], [a(5, 4)])
def cond_expr_chain(x):
    return (x if x.sum() > 5 else x * 2) if x.mean() > -1 else (x * 3 if x.max() > 1 else x * 4)


@prog([a(3, 4)], [a(5, 4)])
def any_all(x):
    r = []
    if any([x.sum() > 0, x.max() > 3]):
        r.append(x)
    else:
        r.append(-x)
    if all([x.sum() > 0, x.max() > 0]):
        r.append(x * 2)
    else:
        r.append(x * 3)
    return r[0] + r[1]


@prog([a(3, 4)], [a(5, 4)])
def not_in(x):
    k = x.shape[0]
    if k not in [3, 4]:
        return x + 1
    return x


@prog([a(3, 4)], [a(5, 4)])
def minmax(x):
    n = min(x.shape[0], 4)
    m = max(x.shape[0], 4)
    return x[:n] * m


@prog([a(3, 4)], [a(5, 4)])
def floor_shape(x):
    h = x.shape[0] // 2
    if h > 1:
        return x[:h].sum()
    return x[h:].sum()


@prog([a(4, 4)], [a(6, 4)])
def window_rev(x):
    n, c = x.shape
    w = 2
    y = x.reshape([n // w, w, c]).transpose([1, 0, 2]).reshape([-1, c])
    return y


@prog([a(3, 4)], [a(5, 4)])
def fstring(x):
    name = f"n{x.shape[1]}"
    d = {name: x}
    return d[f"n{x.shape[1]}"] * 2


@prog([a(3, 4)], [a(5, 4)])
def global_counter(x):
    for k, w in enumerate([1.0, 2.0, 3.0]):
        if x.sum() * w > 2:
            x = x - k
    return x


@prog([a(3, 4), i(3)], [a(5, 4), i(4)])
def zip_enumerate(x, n):
    s = paddle.zeros([])
    for k, (u, v) in enumerate(zip(x, x * 2)):
        if k >= n:
            break
        s = s + (u * v).sum() * k
    return s


@prog([a(3, 4), i(3)], [a(5, 4), i(4)])
def carry_shape(x, n):
    y = x[:1]
    for k in range(n - 1):
        y = paddle.concat([y, x[:1] * k])
        if y.shape[0] > 2:
            y = y[1:]
    return y


@prog([a(3, 4)], [a(5, 4)])
def bool_tensor_ops(x):
    m = (x > 0) & (x < 1) | ~(x > -1)
    if m.any() and not m.all():
        return paddle.where(m, x, -x)
    return x


@prog([a(3, 4)], [a(5, 4)])
def int_div(x):
    n = int(x.shape[0] / 2)
    return x[:n]


@prog([a(3, 4)], [a(5, 4)])
def type_cast(x):
    s = x.sum()
    k = int(s)
    b = bool(s > 0)
    if b:
        return x * k
    return x - k


@prog([a(3, 4), i(10)], [a(5, 4), i(20)])
def while_multi_cond(x, n):
    k = paddle.zeros([], "int64")
    s = paddle.zeros([])
    while (k < n and s < 30) or k < 3:
        s = s + x.abs().mean()
        k = k + 1
    return s, k


@prog([a(3, 4), i([1, 2, 0])], [a(5, 4), i([3, 1, 0, 2, 1])])
def per_row_loop(x, ns):
    out = []
    for r in range(x.shape[0]):
        t = x[r]
        for k in range(ns[r]):
            t = t * 0.5
        out.append(t)
    return paddle.stack(out)


@prog([a(3, 4)], [a(5, 4)])
def early_nested_fn(x):
    def norm(t):
        n = (t * t).sum()
        if n > 10:
            return t / n
        if n > 5:
            return t
        return t * 2

    y = norm(x)
    z = norm(y)
    return z


@prog([a(3, 4)], [a(5, 4)])
def del_var(x):
    y = x + 1
    z = y * 2
    del y
    if z.sum() > 0:
        z = z + 1
    return z


@prog([a(3, 4)], [a(5, 4)])
def star_unpack(x):
    first, *rest = [x, x + 1, x + 2]
    if x.sum() > 0:
        return first + rest[0]
    return first + rest[1]


@prog([a(3, 4)], [a(5, 4)])
def slice_assign_cond(x):
    y = x.clone()
    if x.sum() > 0:
        y[:, 0] = 0.0
    else:
        y[0] = 1.0
    return y


@prog([a(3, 4), i(3)], [a(5, 4), i(5)])
def mask_loop_assign(x, n):
    y = paddle.zeros([5, 4])
    k = 0
    while k < n:
        y[k] = x[k] * 2
        k = k + 1
    return y


class Gate:
    def __init__(self, w):
        self.w = w
        self.hist = []

    def __call__(self, x):
        if x.sum() > 0:
            y = x * self.w
        else:
            y = x - self.w
        return y


GATE = Gate(2.0)


@prog([a(3, 4)], [a(5, 4)])
def call_obj(x):
    return GATE(x)


class Gated(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.ls = paddle.nn.LayerList([paddle.nn.Linear(4, 4) for _ in range(3)])
        self.g = paddle.nn.Linear(4, 1)
        self.register_buffer("b", paddle.ones([4]))

    def forward(self, x, mask=None):
        for k, parts in enumerate(self.ls):
            h = parts(x)
            gate = F.sigmoid(self.g(h)).mean()
            if gate > 0.5:
                x = x + h
            elif gate > 0.3:
                x = h
            else:
                continue
            x = x * self.b
        return x


paddle.seed(2)
GATED = Gated()


@prog([a(3, 4)], [a(5, 4)])
def net2(x):
    return GATED(x)


class Encoder(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.c = paddle.nn.GRUCell(4, 4)
        self.o = paddle.nn.Linear(4, 4)

    def forward(self, x):
        h = paddle.zeros([x.shape[0], 4])
        outs = []
        for t in range(x.shape[1]):
            h, _ = self.c(x[:, t], h)
            outs.append(self.o(h))
        return paddle.stack(outs, 1), h


ENCODER = Encoder()


@prog([a(2, 3, 4)], [a(3, 6, 4)])
def enc(x):
    return ENCODER(x)


@prog([a(2, 5, 4)], [a(3, 6, 4)])
def greedy(x):
    tok = paddle.zeros([x.shape[0]], "int64")
    done = paddle.zeros([x.shape[0]], "bool")
    out = []
    k = 0
    while not done.all() and k < x.shape[1]:
        p = x[:, k] + F.one_hot(tok, 4)
        tok = p.argmax(-1)
        out.append(tok)
        done = done | (tok == 3)
        k += 1
    return paddle.stack(out, 1)


@prog([a(6, 4), i(2)], [a(9, 4), i(4)])
def chunked(x, n):
    s = []
    start = 0
    while start < x.shape[0]:
        end = start + n
        s.append(x[start:end].sum())
        start = end
    return paddle.stack(s)


@prog([a(3, 4)], [a(5, 4)])
def try_except(x):
    try:
        y = x.nonexistent
    except AttributeError:
        y = x * 2
    return y


@prog([a(3, 4)], [a(5, 4)])
def assert_msg(x):
    assert x.ndim == 2, f"bad {x.ndim}"
    if x.sum() > 1e9:
        raise ValueError("too big")
    return x


@prog([a(3, 4)], [a(5, 4)])
def set_attr(x):
    GATED.last = x
    return GATED.last + 1


@prog([a(3, 4)], [a(5, 4)])
def np_const(x):
    w = np.ones([4], "float32") * 2
    return x * paddle.to_tensor(w)


@prog([a(3, 4)], [a(5, 4)])
def tensor_to_list_shape(x):
    sh = list(x.shape)
    sh[0] = -1
    sh.append(1)
    return x.reshape(sh)


@prog([a(3, 4)], [a(5, 4)])
def shape_tensor(x):
    sh = paddle.shape(x)
    y = paddle.ones([sh[0], 2])
    if sh[0] > 4:
        return y * 2
    return y


@prog([a(3, 4), i(3)], [a(5, 4), i(4)])
def none_default(x, n):
    h = None
    for k in range(2):
        if h is None:
            h = x
        else:
            h = h + x * n.astype("float32")
    return h
