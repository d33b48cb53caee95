"""Random functions of two integers made of control flow, in which every loop ends."""


class _Writer:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.fresh = 0

    def expression(self, depth=2):
        r = self.rng
        if depth == 0 or r.random() < 0.3:
            return r.choice(["a", "b", "c", "d", str(r.randint(-3, 5))])
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        kind = r.randrange(9)
        if kind < 3:
            return f"({left} {r.choice('+-*')} {right})"
        if kind == 3:
            return f"({left} // {right})"
        if kind == 4:
            return f"({left} if {self.condition(depth - 1)} else {right})"
        if kind == 5:
            return f"({left} {r.choice(['and', 'or'])} {right})"
        if kind == 6:
            return f"log({left})"
        return f"(({left}) % 7)"

    def condition(self, depth=2):
        r = self.rng
        op = lambda: r.choice(["<", "<=", "==", "!=", ">"])  # noqa: E731
        kind = r.randrange(7)
        a, b = self.expression(depth - 1 if depth else 0), self.expression(0)
        if kind < 3:
            return f"{a} {op()} {b}"
        if kind == 3:
            return f"{a} {op()} {b} {op()} {self.expression(0)}"
        if kind == 4 and depth:
            joined = r.choice(["and", "or"])
            return f"({self.condition(depth - 1)} {joined} {self.condition(depth - 1)})"
        if kind == 5 and depth:
            return f"not {self.condition(depth - 1)}"
        return f"{a} in ({b}, {self.expression(0)})"

    def line(self, indent, text):
        self.lines.append("    " * indent + text)

    def block(self, indent, depth, in_loop):
        for _ in range(self.rng.randint(1, 3)):
            self.statement(indent, depth, in_loop)

    def statement(self, indent, depth, in_loop):
        r = self.rng
        kinds = ["assign"] * 4 + ["augment", "log", "return", "append", "assert", "walrus"]
        if in_loop:
            kinds += ["break", "continue"] * 2
        if depth:
            kinds += ["if"] * 6 + ["for"] * 2 + ["while"] * 2 + ["try", "with", "def", "ifnone"]
        getattr(self, "write_" + r.choice(kinds))(indent, depth, in_loop)

    def write_assign(self, indent, depth, in_loop):
        self.line(indent, f"{self.rng.choice('abcd')} = {self.expression()}")

    def write_augment(self, indent, depth, in_loop):
        self.line(indent, f"{self.rng.choice('abcd')} += {self.expression(1)}")

    def write_log(self, indent, depth, in_loop):
        self.line(indent, f"log({self.expression()})")

    def write_append(self, indent, depth, in_loop):
        self.line(indent, f"trace.append({self.expression(1)})")

    def write_walrus(self, indent, depth, in_loop):
        self.line(indent, f"if ({self.rng.choice('abcd')} := {self.expression(1)}): log(a)")

    def write_assert(self, indent, depth, in_loop):
        self.line(indent, f"assert {self.condition()} or a < 9, log('assert')")

    def write_return(self, indent, depth, in_loop):
        if self.rng.random() < 0.5:
            self.line(indent, f"return {self.expression()}")
        else:
            self.line(indent, f"if {self.condition()}: return {self.expression(1)}, trace")

    def write_break(self, indent, depth, in_loop):
        self.line(indent, f"if {self.condition()}: break")

    def write_continue(self, indent, depth, in_loop):
        self.line(indent, f"if {self.condition()}: continue")

    def write_if(self, indent, depth, in_loop):
        self.line(indent, f"if {self.condition()}:")
        self.block(indent + 1, depth - 1, in_loop)
        if self.rng.random() < 0.3:
            self.line(indent, f"elif {self.condition()}:")
            self.block(indent + 1, depth - 1, in_loop)
        if self.rng.random() < 0.6:
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def write_ifnone(self, indent, depth, in_loop):
        self.line(indent, "if a is None or isinstance(b, int):")
        self.block(indent + 1, depth - 1, in_loop)

    def write_for(self, indent, depth, in_loop):
        target = self.rng.choice(["c", "d", "i"])
        n = f"range(({self.expression(0)}) % 4)"
        iterable = self.rng.choice([n, n, f"[{self.expression(0)}, {self.expression(0)}]"])
        if self.rng.random() < 0.2:
            target, iterable = f"d, {target}", f"enumerate({iterable})"
        self.line(indent, f"for {target} in {iterable}:")
        self.block(indent + 1, depth - 1, True)
        self._else(indent, depth, in_loop)

    def write_while(self, indent, depth, in_loop):
        self.fresh += 1
        fuel = f"n{self.fresh}"
        self.line(indent, f"{fuel} = {self.rng.randint(0, 4)}")
        test = self.rng.choice([f"{fuel}", f"{fuel} > 0 and {self.condition(1)}"])
        self.line(indent, f"while {test}:")
        self.line(indent + 1, f"{fuel} -= 1")
        self.block(indent + 1, depth - 1, True)
        self._else(indent, depth, in_loop)

    def _else(self, indent, depth, in_loop):
        if self.rng.random() < 0.3:
            self.line(indent, "else:")
            self.block(indent + 1, depth - 1, in_loop)

    def write_try(self, indent, depth, in_loop):
        self.line(indent, "try:")
        self.block(indent + 1, depth - 1, in_loop)
        final = self.rng.random() < 0.4
        if self.rng.random() < 0.7 or not final:
            self.line(indent, "except (ZeroDivisionError, AssertionError) as error:")
            self.block(indent + 1, depth - 1, in_loop)
            if self.rng.random() < 0.4:
                self.line(indent, "else:")
                self.block(indent + 1, depth - 1, in_loop)
        if final:
            self.line(indent, "finally:")
            # A return here hides errors, which is what it is for.
            self.block(indent + 1, depth - 1, in_loop)

    def write_with(self, indent, depth, in_loop):
        self.line(indent, "with context() as d:")
        self.block(indent + 1, depth - 1, in_loop)

    def write_def(self, indent, depth, in_loop):
        self.fresh += 1
        name = f"f{self.fresh}"
        self.line(indent, f"def {name}(a, b=2):")
        self.line(
            indent + 1, self.rng.choice(["nonlocal c, d", "d = c = a", "global g; c = d = g"])
        )
        self.block(indent + 1, depth - 1, False)
        self.line(indent, f"b = {name}({self.expression(0)})")


_HEAD = """import contextlib
trace = None
g = 0
def log(x):
    trace.append(('log', str(x)))
    return x if isinstance(x, int) else 1
@contextlib.contextmanager
def context():
    try:
        yield 2
    except ZeroDivisionError:
        trace.append('swallowed')
def program(a, b):
    global trace
    trace = []
    c, d = a + b, 1
"""


def generate(rng):
    """The text of a module with a function program(a, b)."""
    writer = _Writer(rng)
    if rng.random() < 0.1:
        writer.line(1, "del d")
    for _ in range(6):
        writer.statement(1, 3, False)
    writer.line(1, "return a, b, c, d, trace")
    return _HEAD + "\n".join(writer.lines) + "\n"


class _PureWriter(_Writer):
    """Only what a Program can express: integers, no side effects, one structure of results."""

    def expression(self, depth=2):
        r = self.rng
        if depth == 0 or r.random() < 0.3:
            return r.choice(["a", "b", "c", "d", str(r.randint(-3, 5))])
        left, right = self.expression(depth - 1), self.expression(depth - 1)
        kind = r.randrange(6)
        if kind < 4:
            return f"(({left} {r.choice('+-*')} {right}) % 101)"
        if kind == 4:
            return f"({left} if {self.condition(depth - 1)} else {right})"
        return f"({left} {r.choice(['and', 'or'])} {right})"

    def statement(self, indent, depth, in_loop):
        r = self.rng
        kinds = ["assign"] * 4 + ["augment", "result"]
        if in_loop:
            kinds += ["break", "continue"]
        if depth:
            kinds += ["if"] * 4 + ["for", "while"]
        getattr(self, "write_" + r.choice(kinds))(indent, depth, in_loop)

    def write_augment(self, indent, depth, in_loop):
        self.line(indent, f"{self.rng.choice('abcd')} += {self.rng.randint(-3, 3)}")

    def write_result(self, indent, depth, in_loop):
        if self.rng.random() < 0.3:
            self.line(indent, f"if {self.condition()}: return {self.expression(1)}, d")

    def block(self, indent, depth, in_loop):
        super().block(indent, depth, in_loop)
        self.line(indent, "pass")


class _ListWriter(_PureWriter):
    """Also appends to a list, pops and reads it."""

    def statement(self, indent, depth, in_loop):
        r = self.rng
        if r.random() > 0.3:
            return super().statement(indent, depth, in_loop)
        kind = r.randrange(5)
        if kind < 2:
            self.line(indent, f"l.append({self.expression(1)} % 101 + a * 0)")
        elif kind == 2:
            self.line(indent, f"{r.choice('abcd')} = l[-1]")
        elif kind == 3:
            self.line(indent, f"{r.choice('abcd')} = len(l) + 0 * a")
        else:
            self.line(indent, "if len(l) > 3: l.pop()")


def generate_list(rng):
    """Like generate_pure, with a list."""
    writer = _ListWriter(rng)
    for _ in range(4):
        writer.statement(1, 2, False)
    writer.line(1, "return a * 10 + b + l[-1], c * 10 + d + len(l) * 1000")
    head = "def program(a, b):\n    c, d = a + b, 1\n    l = [a, b]\n"
    return head + "\n".join(writer.lines) + "\n"


def generate_pure(rng):
    """The text of a module with a function program(a, b) that can be captured."""
    writer = _PureWriter(rng)
    for _ in range(4):
        writer.statement(1, 2, False)
    writer.line(1, "return a * 10 + b, c * 10 + d")
    return "def program(a, b):\n    c, d = a + b, 1\n" + "\n".join(writer.lines) + "\n"
