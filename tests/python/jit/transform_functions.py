"""Functions with every construct that the transformation touches, each with arguments to try."""

import contextlib
import functools

CASES = []


def case(*arguments):
    """Registers a function with tuples of arguments."""

    def register(function):
        CASES.append((function, [a if isinstance(a, tuple) else (a,) for a in arguments]))
        return function

    return register


GLOBAL = 10
counter = 0


@case(-1, 0, 1)
def if_else(x):
    if x > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@case(-1, 0, 1, 2)
def elif_chain(x):
    if x < 0:
        return "negative"
    elif x == 0:
        r = "zero"
    elif x == 1:
        r = "one"
    else:
        r = "many"
    return r


@case(-1, 1)
def undefined_in_one_branch(x):
    if x > 0:
        y = 1
    return y


@case(-1, 0, 5, 11)
def guards(x):
    if x < 0:
        return "a"
    if x == 0:
        return "b"
    z = x * 2
    if z > 20:
        return "c", z
    z += 1
    return z


@case((1, 1), (1, -1), (-1, 1), (-1, -1))
def nested_partial_returns(a, b):
    log = []
    if a > 0:
        log.append("a")
        if b > 0:
            return log
        log.append("b")
    else:
        if b > 0:
            log.append("c")
        else:
            return "neither"
    log.append("rest")
    return log


@case(0, 1, 5)
def for_range(n):
    s = 0
    for i in range(n):
        s += i
    return s, n


@case(0, 3)
def for_variable_after(n):
    for i in range(n):
        pass
    return i


@case(([1, 2, 3],), ([],), ("abc",))
def for_else(xs):
    for x in xs:
        if x == 2:
            break
    else:
        return "none"
    return x


@case(([3, 1, 2], 1), ([3, 1, 2], 9))
def return_in_loop(xs, wanted):
    for i, x in enumerate(xs):
        if x == wanted:
            return i
    return -1


@case(10)
def break_continue(n):
    out = []
    for i in range(n):
        if i % 2:
            continue
        if i > 6:
            break
        out.append(i)
    return out


@case(0, 1, 7)
def while_loop(n):
    k = 0
    while n:
        n -= 1
        k += n
    return k


@case(0, 3, 20)
def while_else(n):
    while n > 0:
        n -= 3
        if n == 1:
            break
    else:
        return "else", n
    return "break", n


@case(5)
def while_true(n):
    while True:
        n += 1
        if n > 10:
            return n


@case(30)
def nested_loops(n):
    found = []
    for i in range(2, n):
        for j in range(2, i):
            if i % j == 0:
                break
        else:
            found.append(i)
    return found


@case(3)
def return_from_two_loops(n):
    for i in range(n):
        for j in range(n):
            if i * j == 2:
                return i, j
    return None


@case((0, 5), (3, 0), (3, 5))
def and_or_values(a, b):
    return a and b, a or b, not a, a and b or "none", (a or b) and a


@case(0, 1)
def lazy_and(x):
    return x != 0 and 10 // x


@case(0, 1)
def conditional_expression(x):
    return 10 // x if x else "no"


@case(0, 1, 2, 3)
def comparison_chain(x):
    calls = []

    def value(v):
        calls.append(v)
        return v

    return 0 < value(x) < value(2) != value(5), calls


@case(1, 7)
def membership(x):
    return x in [1, 2], x not in (1, 2), x in {1: 2}, 1 in range(x)


@case(0, 1)
def assertion(x):
    assert x, f"x is {x}"
    return x


@case(0, 1)
def assertion_lazy_message(x):
    assert x == x, 1 // 0
    return x


@case((1, 2), (1, 2, 3), ())
def var_arguments(*args, scale=2, **kwargs):
    s = 0
    for a in args:
        s += a * scale
    return s, kwargs


@case(1)
def defaults(x, y=[1, 2], *, z=3):
    if x:
        y = y + [z]
    return y


def make_counter(start):
    total = start

    def add(n):
        nonlocal total
        for _ in range(n):
            if total > 5:
                break
            total += 1
        return total

    def get():
        return total

    return add, get


@case(3, 10)
def closures(n):
    add, get = make_counter(2)
    return add(n), get()


@case(4)
def inner_function_sees_changes(n):
    def peek():
        return x

    x = 0
    seen = []
    for i in range(n):
        if i % 2:
            x = i
        seen.append(peek())
    return seen


@case(4)
def late_binding_lambdas(n):
    fs = []
    for i in range(n):
        fs.append(lambda: i)
    return [f() for f in fs]


@case(3)
def global_variable(n):
    global counter
    counter = 0
    for _ in range(n):
        if n > 1:
            counter += 1
    return counter + GLOBAL


@case(0, 1)
def try_except(x):
    try:
        if x == 0:
            y = 1 // x
        else:
            y = 5
    except ZeroDivisionError as e:
        y = str(e)
    else:
        y += 1
    finally:
        z = 1
    return y, z


@case(0, 1, 2)
def return_in_try(x):
    log = []
    try:
        if x == 0:
            return log
        if x == 1:
            raise ValueError(x)
        log.append("body")
    except ValueError:
        log.append("except")
        if x:
            return log
    else:
        log.append("else")
        if x:
            return log, "else"
    finally:
        log.append("finally")
    return log


@case(0, 1)
def return_in_try_with_else(x):
    try:
        if x:
            return "body"
        y = 1
    except ValueError:
        y = 2
    else:
        y = 3
    return y


@case(0, 1)
def finally_with_jump(x):
    for i in range(3):
        try:
            1 // x
        finally:
            if i > 0:
                continue
            x += 1
    return x


@case(0, 1)
def reraise(x):
    try:
        1 // x
    except ZeroDivisionError:
        if x == 0:
            raise
    return x


@contextlib.contextmanager
def swallow(log):
    try:
        yield log
    except ValueError as e:
        log.append(str(e))


@case(0, 1, 2)
def with_statement(x):
    log = []
    with swallow(log) as other:
        if x == 0:
            raise ValueError("zero")
        if x == 1:
            return other, "one"
        other.append("end")
    log.append("after")
    return log


@case(3)
def comprehension(n):
    a = [i * i for i in range(n) if i % 2 or i == 0]
    b = {i: [j for j in range(i)] for i in range(n)}
    return a, b, {x for x in a}, sum(i for i in a)


@case(3)
def comprehension_variables_stay_inside(n):
    i = "outer"
    if n:
        a = [i for i in range(n)]
    return i, a


@case(0, 12)
def walrus(x):
    if (y := x * 2) > 20:
        return y
    while (y := y + 1) < 5 and y:
        pass
    return y, [z := 3], z


@case(1, 2)
def walrus_in_and(x):
    return x and (y := x + 1) and y


@case(5)
def delete(x):
    y = x
    if x:
        del y
    try:
        return y
    except NameError:
        return "deleted"


@case(2)
def annotated(x):
    y: int = 3
    z: int
    if x:
        y: int = x
        z = y
    return y, z


@case(2)
def import_inside(x):
    if x:
        import math as m
        from os.path import join
    return m.sqrt(4), join("a", "b")


@case(2)
def starred(x):
    for first, *rest in [[1, 2, 3], [x, 5]]:
        if first == x:
            return first, rest
    return None


@case(3)
def subscript_targets(n):
    d = {}
    a = [0] * n
    for a[n - 1] in range(n):
        d[a[n - 1]] = a[:]
    return d, a


class Box:
    scale = 3

    def __init__(self, v):
        self.v = v
        self.__hidden = v + 1

    def total(self, n):
        """Doc."""
        for _ in range(n):
            if self.v > 5:
                return self.v
            self.v += self.__hidden
        return self.v * self.scale

    @classmethod
    def made(cls, v):
        if v < 0:
            v = -v
        return cls(v).v

    @staticmethod
    def plain(v):
        while v > 3:
            v -= 2
        return v

    @property
    def half(self):
        return self.v / 2 if self.v else 0

    def __call__(self, x):
        return x + self.v if x else None


class Derived(Box):
    def total(self, n):
        if n > 2:
            return super().total(n), "derived"
        return [super(Derived, self).total(n) for _ in range(n)], __class__.__name__


@case((1, 3), (9, 1), (2, 2))
def methods(v, n):
    b = Box(v)
    d = Derived(v)
    return b.total(n), b.v, d.total(n), Box.made(-v), Box.plain(v), b.half, b(n)


@case(3)
def partials(n):
    return functools.partial(guards, n)(), list(map(if_else, range(n)))


def logged(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if args:
            return "logged", function(*args, **kwargs)
        return "empty"

    return wrapper


@logged
def decorated(x):
    return x + 1 if x else 0


@case(0, 2)
def calls_decorated(x):
    return decorated(x), decorated()


@case(5, 0)
def recursion(n):
    if n <= 1:
        return 1
    return n * recursion(n - 1)


@case(6)
def generator_inside(n):
    def numbers():
        for i in range(n):
            if i % 2:
                yield i

    return [x for x in numbers() if x > 1]


@case(4)
def iterator_is_shared(n):
    it = iter(range(10))
    out = []
    for x in it:
        if x == n:
            break
        out.append(x)
    return out, list(it)


@case(3)
def class_inside(n):
    class Inner:
        if n > 2:
            k = 1
        else:
            k = 2

        def f(self, x):
            if x:
                return self.k
            return super().__hash__() * 0

    return Inner().f(1), Inner().f(0)


@case((1, 2), (2, 1))
def lists_and_dicts(a, b):
    d = {"a": a}
    items = [a]
    if a > b:
        d["b"] = b
        items.append(b)
    else:
        d = dict(d, c=1)
        items.pop()
    return d, items


@case(3)
def loop_variable_changed(n):
    out = []
    for i in range(n):
        i = i * 10
        out.append(i)
    return out, i


@case(4)
def zip_enumerate_reversed(n):
    out = []
    for i, (a, b) in enumerate(zip(range(n), "abcdef"), 1):
        out.append((i, a, b))
    for x in reversed(out):
        out.append(x)
    return out


@case(("1", "x"))
def exceptions_in_loops(*texts):
    good = []
    for t in texts:
        try:
            good.append(int(t))
        except ValueError:
            continue
        finally:
            good.append("f")
    return good


@case(1, 0)
def pass_and_docstring(x):
    """Doc string."""
    if x:
        pass
    else:
        ...


@case(0, 1, 2)
def is_none(x):
    y = None if x == 0 else x
    if y is None:
        return "none"
    if isinstance(y, int) and not callable(y):
        if x == 2:
            return "two"
        z = 1
    return z


@case(0, 1, 2, 3)
def nested_functions_with_own_names(x):
    def f(x):
        if x > 1:
            x = x - 1
            return f(x)
        y = x
        return y

    y = 7
    if x:
        y = f(x)
    return x, y


@case(3)
def string_formatting(x):
    return f"{x if x > 2 else 0:>4} {[i for i in range(x)]!r} {x and 1}"


@case(({"a": 1},), ({},))
def dict_iteration(d):
    out = []
    for k, v in d.items():
        if v:
            out += [k]
    else:
        out += ["end"]
    return out


@case(2, -2)
def conditional_lambda(x):
    f = (lambda a: a if a > 0 else -a) if x else None
    return f(x), (lambda: x and 1)()


@case(100)
def unbound_read_raises(x):
    if x < 0:
        y = 1
    for _ in range(0):
        z = 1
    try:
        return y
    except NameError:
        return z


@case((3, 4), (0, 1))
def augmented(a, b):
    while a:
        a -= 1
        b += a
        b, a = b * 2, a
    return a, b


@case([5])
def wrong_type_raises(x):
    for i in range(3):
        if x > i:
            return x


@case(0, 1, 2)
def continue_in_nested_if(x):
    out = []
    for i in range(4):
        if i > x:
            if i == 2:
                continue
            out.append(i)
        else:
            if i == 0:
                out.append("zero")
                continue
        out.append("end")
    return out


@case(0, 3, 8)
def break_in_with(x):
    log = []
    for i in range(5):
        with swallow(log):
            if i == x:
                break
            if i == 1:
                continue
            if i == 2:
                raise ValueError("two")
        log.append(i)
    else:
        log.append("else")
    return log


@case(1)
def mutable_default_and_globals(x, seen=[]):
    if x:
        seen.append(x)
    return len(seen) > 0, max(1, 2), min([3, 2]), any([0, 1]), all([]), bool(x), int("3"), float(x)


@case((1, 2, 3), (3, 2, 1))
def precedence(a, b, c):
    return (a < b and b < c or not a == c, a if a > b else b if b > c else c, not (a and b) or c)
