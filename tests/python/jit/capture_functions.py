"""Functions of tensors whose control flow depends on their values, each with inputs to try.

Each is run on tensors, and captured once and replayed for all inputs: results must be equal.
"""

import argosy as paddle

CASES = []
X = [1.0, 2.0, 3.0]


def case(*inputs):
    """Registers a function with tuples of inputs, all of one rank."""

    def register(function):
        CASES.append((function, [i if isinstance(i, tuple) else (i,) for i in inputs]))
        return function

    return register


@case(X, [-1.0, -2.0, -3.0])
def if_else(x):
    if x.sum() > 0:
        y = x * 2
        z = 1
    else:
        y = x - 1
        z = 2.5
    return y, z


@case(X, [-1.0, -2.0, -3.0])
def if_without_else(x):
    y = x
    if x.sum() > 0:
        y = x * 2
    return y


@case(X, [-1.0, 0.0, 1.0], [-9.0, 0.0, 0.0])
def elif_chain(x):
    s = x.sum()
    if s > 5:
        return x
    elif s > -1:
        return x * 2
    elif s > -5:
        x = x + 1
    else:
        x = x - 1
    return x * 10


@case(X, [-1.0, 0.0, 1.0])
def guard(x):
    if x.sum() > 1:
        return x + 1
    y = x * 3
    return y


@case((X, [1.0]), (X, [-1.0]), ([-9.0, 0.0, 0.0], [1.0]), ([-9.0, 0.0, 0.0], [-1.0]))
def nested_partial_returns(x, y):
    if x.sum() > 0:
        x = x + 1
        if y.sum() > 0:
            return x * 10
        x = x * 2
    else:
        if y.sum() > 0:
            x = x - 5
        else:
            return x - 100
    z = x + y
    return z


@case(X, [-1.0, 0.0, 1.0])
def equal_python_values_stay(x):
    if x.sum() > 1:
        axis = 0
        name = "a"
    else:
        axis = 0
        name = "a"
    return x.sum(axis=axis), {"name": name}


@case(X, [-1.0, 0.0, 1.0])
def structures(x):
    d = {"a": x}
    items = [x]
    t = (x, (x,))
    if x.sum() > 1:
        d["b"] = x + 1
        items.append(x * 2)
        t = (x * 3, (x * 4,))
    else:
        d["b"] = x - 1
        items.append(x / 2)
    return d, items, t


@case(X, [-1.0, 0.0, 1.0])
def temporaries_in_one_branch(x):
    if x.sum() > 1:
        t = x * 2
        y = t + 1
    else:
        y = x
    return y


@case(X, [-1.0, 0.0, 1.0], [0.0, 0.0, 0.5])
def and_or_not(x):
    s = x.sum()
    r = x
    if s > 0 and s < 1:
        r = r + 1
    if s > 5 or not s > 0:
        r = r + 10
    if not (s > 0 and x[0] > 0.5) or s == 6:
        r = r + 100
    return r


@case(X, [-1.0, 0.0, 1.0])
def chain_and_membership(x):
    s = x.sum()
    r = x
    if -1 < s <= 0:
        r = r + 1
    if s in [1, 6, 7]:
        r = r + 10
    if s not in x:
        r = r + 100
    return r


@case(X, [-1.0, 0.0, 1.0])
def conditional_expression(x):
    y = x * 2 if x.sum() > 1 else x - 1
    k = 1 if x.sum() > 1 else 2
    return y * k


@case(X, [-1.0, 0.0, 1.0])
def values_of_and(x):
    s = x.sum()
    return s and s * 2, s or s - 1


@case(X, [9.0, 9.0, 9.0], [30.0, 0.0, 0.0])
def while_loop(x):
    n = 0
    while x.sum() < 25:
        x = x + 1
        n += 1
    return x, n


@case([3], [0], [7])
def for_range(n):
    s = 0
    for i in range(n[0]):
        s = s + i
    return s


@case(([3], X), ([1], X))
def accumulates_a_vector(n, x):
    s = 0
    for i in range(n[0]):
        s = s + x * i
    return s


@case([3], [0], [8])
def range_with_steps(n):
    a = b = c = n[0] * 0
    for i in range(1, n[0], 2):
        a = a * 10 + i
    for i in range(n[0], -1, -3):
        b = b * 10 + i
    for i in range(n[0], n[0] * 2, n[0] * 0 + 2):
        c = c * 10 + i
    return a, b, c


@case([3], [1], [8])
def variable_after_the_loop(n):
    for i in range(n[0]):
        t = i * 2
    return i, t


@case([3], [1], [8])
def break_and_continue(n):
    s = 0
    for i in range(n[0]):
        if i == 1:
            continue
        if s > 9:
            break
        s = s + i
    return s


@case([3], [1], [20])
def while_true(n):
    k = n[0]
    while True:
        k = k + 1
        if k > 10:
            break
    return k


@case([3], [0], [20])
def python_while_with_break(n):
    i = 0
    k = n[0]
    while i < 5:
        i += 1
        k = k + i
        if k > 10:
            break
    return k, i


@case([3], [0], [20])
def python_for_with_break(n):
    k = n[0]
    for i, scale in enumerate([1, 2, 3, 4]):
        if k > 12:
            break
        k = k + scale * i
    else:
        k = k * 100
    return k


@case([3], [0], [20])
def python_for_with_return(n):
    k = n[0]
    for scale in [1, 2, 3, 4]:
        k = k + scale
        if k > 10:
            return k * 10
    return k


@case(([3], X), ([0], X), ([9], X))
def return_inside_a_loop(n, x):
    for i in range(n[0]):
        y = x * i
        if y.sum() > 5:
            return y
    return x - 1


@case([3], [0], [20])
def loop_else(n):
    k = 0
    while k < n[0]:
        k += 1
        if k == 4:
            break
    else:
        k = k * 100
    return k


@case([3], [0], [20], [4])
def break_in_else_is_of_the_outer_loop(n):
    k = n[0]
    i = 0
    while i < 3:
        i += 1
        for j in range(k):
            if j == 3:
                break
            k = k - 1
        else:
            k = k + 10
            if k > 12:
                break
            k = k + 1
        k = k + 100
    return k, i


@case([4], [0], [1])
def nested_loops(n):
    s = 0
    for i in range(n[0]):
        for j in range(i):
            if j == 2:
                break
            s += i * j + 1
    return s


@case([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
def for_over_tensor(x):
    s = 0
    for row in x:
        s = s * 2 + row
    return s


@case([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
def for_enumerate_zip(x):
    s = 0
    for i, row in enumerate(x):
        s = s + row * i
    for a, b in zip(x, x * 2):
        s = s * a - b
    for i in reversed(range(x.shape[0])):
        s = s * 2 + x[i]
    return s


@case(([3], X), ([1], X))
def list_append(n, x):
    out = []
    for i in range(n[0]):
        out.append(x * i)
    return paddle.stack(out), len(out), out[0], out[-1]


@case(([3], X), ([1], X))
def list_append_in_branch(n, x):
    out = [x]
    for i in range(n[0]):
        if i != 1:
            out.append(x * i)
    return paddle.concat(out)


@case(([3], X), ([2], X))
def list_read_in_loop(n, x):
    out = [x]
    for i in range(n[0]):
        out.append(out[i] + 1)
    s = 0
    for v in out:
        s = s + v
    return s


@case(([3], X), ([1], X))
def list_elements_replaced(n, x):
    state = [x, x * 2]
    d = {"h": x}
    for _ in range(n[0]):
        state[0] = state[0] + state[1]
        d["h"] = d["h"] * 2
    return state, d


class Holder:
    """Attributes written under conditions and in loops."""

    def __init__(self):
        self.total = 0.0
        self.last = None

    def step(self, x):
        if x.sum() > 1:
            self.total = self.total + x.sum()
        else:
            self.total = self.total - 1.0
        return self.scaled(x)

    def scaled(self, x):
        while x.sum() < 20:
            x = x * 2 + 1
        return x


@case(X, [-1.0, 0.0, 1.0])
def attributes_and_methods(x):
    h = Holder()
    y = h.step(x)
    return y, h.total


def helper(x, flip=False):
    if flip:
        x = -x
    return x if x.sum() > 0 else x * 0


@case(X, [-1.0, 0.0, 1.0])
def calls(x):
    f = lambda v: v + 1 if v.sum() > 1 else v - 1  # noqa: E731
    return helper(x), helper(x, flip=True), list(map(helper, [x, -x])), f(x)


@case(X, [-1.0, 0.0, 1.0])
def closures(x):
    scale = 1.0

    def double():
        nonlocal scale
        scale = scale * 2
        if x.sum() > 1:
            scale = scale + 1
        return scale

    if x.sum() > 0.5:
        double()
    return double() * x


@case(X, [-1.0, 0.0, 1.0])
def with_and_try(x):
    with paddle.no_grad():
        if x.sum() > 1:
            return x * 2
        y = x + 1
    try:
        if y.sum() > 3:
            y = y * 3
    finally:
        y = y + 1
    return y


@case(X, [-1.0, 0.0, 1.0])
def builtins_on_tensors(x):
    s = x.sum()
    return max(s, 2.0), min(1, s), bool(s), float(s), all([s > 0, s > 1]), any([s > 0, s > 1])


@case(X, [-1.0, 0.0, 1.0])
def in_place(x):
    y = x * 1
    if x.sum() > 1:
        y[0] = 10.0
        y.add_(x)
    else:
        y[1:] = -1.0
    n = 0
    while n < x.sum():
        y[2] = y[2] + 1
        n += 1
    return y


@case(([7], X), ([0], X))
def loop_over_python_and_tensor_state(n, x):
    a, b = 0, 1
    kind = "sum"
    i = 0
    while i < n[0]:
        a, b = b, a + b
        if kind == "sum":
            x = x + a
        i += 1
    return a, b, x


@case([9], [4], [0])
def lazy_right_side(n):
    table = paddle.to_tensor([1, 2, 3, 4, 5])
    i = 0
    while i < 5 and table[i] < n[0]:
        i += 1
    return i


@case([6, 2], [0, 3], [5, 0])
def lazy_division(x):
    return x[1] != 0 and x[0] // x[1] > 2


@case(X)
def sizes(x):
    s = x * 0
    for i in range(x.shape[0]):
        s = s + x[i] * i
    return s.reshape([x.shape[0], 1]), len(x)


@case(X, [-1.0, 0.0, 1.0])
def dead_loop_variables_of_other_types(x):
    for i in range((x.sum() > 1).astype("int64") * 2 + 1):
        t = x * i
        u = (t, [t])
        x = x + u[1][0]
    if x.sum() > 1:
        t = paddle.shape(x)
    else:
        t = x
    t = 3
    return x * t


@case(([3], X), ([1], X))
def list_pop(n, x):
    a = [x]
    for i in range(n[0]):
        a.append(x * i)
        a.append(x + i)
        b = a.pop()
    c = a.pop()
    return paddle.stack(a), b, c, len(a)


@case(([2], X), ([0], X))
def sizes_that_grow(n, x):
    y = x
    for _ in range(n[0]):
        y = paddle.concat([y, x])
    while paddle.shape(y)[0] < 20:
        y = paddle.concat([y, y])
    return y


@case(([2], [[1, 0]]), ([3], [[0, 0]]))
def sizes_seen_by_shape_rules(n, index):
    x = paddle.zeros([2, 2, 1], "int64")
    parts = []
    for t in range(n[0]):
        x = paddle.take_along_axis(x, index.unsqueeze(-1), 1)
        x = paddle.concat([x, x[:, :, :1] + t], -1)
        parts.append(x)
        last = x * 2
    return x, parts[-1], last


@case(X, [-1.0, 0.0, 1.0])
def list_grows_in_one_branch(x):
    a = [x, x + 1]
    if x.sum() > 1:
        a.append(x)
    b = []
    if x.sum() > 1:
        b.append(x)
    else:
        b.append(-x)
    b.extend([x, x])
    return paddle.stack(a), len(a), b


@case(X, [-1.0, 0.0, 1.0])
def item_numpy_size(x):
    y = x * x.size
    if x.mean().item() > 0.5 and x.item(1) > 1:
        y = y + 1
    if x.mean().numpy() > 0.5:
        y = y + 2
    return y, paddle.to_tensor([x.sum(), 1.0])


@case(([2], X), ([0], X))
def rows_written_in_place(n, x):
    out = paddle.zeros([4, 3])
    for i in range(n[0]):
        out[i] = x * i
    return out


@case([[[1.0, 0.0, 2.0], [0.5, 1.0, 0.0], [1.0, 0.0, 0.0]]])
def recurrent(x):
    w = paddle.ones([3, 3]) * 0.1
    h = paddle.zeros([1, 3])
    outs = []
    for t in range(x.shape[1]):
        h = paddle.tanh(x[:, t] + h @ w)
        outs.append(h)
    return paddle.stack(outs, axis=1), h


@case(
    ([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], [5]),
    ([[0.0, 1.0, 0.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], [4]),
)
def greedy_decoder(table, limit):
    done = paddle.zeros([2], "bool")
    token = paddle.zeros([2], "int64")
    step = 0
    found = []
    while not done.all() and step < limit[0]:
        token = paddle.matmul(paddle.nn.functional.one_hot(token, 3), table).argmax(-1)
        done = paddle.logical_or(done, token == 2)
        found.append(token)
        step += 1
    return paddle.stack(found, axis=1), step


@case(X, [-1.0, 0.0, 1.0])
def loop_over_python_objects(x):
    d = {"n": 1}
    for key in ["p", "q"]:
        if x.sum() > 1:
            d[key] = x * d["n"]
        else:
            d[key] = -x
    return d


@case(X, [-1.0, 0.0, 1.0])
def list_becomes_tensor(x):
    a = [x, x]
    if x.sum() > 1:
        a[0] = a[0] + 1
        a, b = a[1], a[0]
    else:
        b = a[0]
        a = b * 2
    return a, b


@case(X, [5.0, 0.0, 0.0])
def casts(x):
    n = int(x.sum())
    k = 0
    for j in range(n):
        k = k + j
    return k, 1.0 * n


@case(([5], X), ([1], X))
def one_loop_inside_an_if(n, x):
    if n[0] > 2:
        for i in range(n[0]):
            if i == 3:
                break
            x = x + i
    else:
        while x.sum() < 50:
            x = x * 2
            if x[0] > 16:
                return -x
    return x
