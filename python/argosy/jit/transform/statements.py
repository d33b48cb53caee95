"""The passes over statements: control flow becomes calls of the runtime.

Bodies of `if`, `while` and `for` become inner functions that share the variables of the function
around them by `nonlocal`. An inner function returns a *signal*: None when it ran to its end, else
rt.BREAK, rt.CONTINUE or rt.Return(value). The runtime hands signals on, so a jump crosses the
borders of inner functions; under a condition on tensors a signal may itself be a tensor.

Passes, in this order: Declarations, guards, Liveness (analysis.py), Lifter.
"""

import ast
import itertools

from .analysis import (
    FUNCTIONS,
    LOOPS,
    MATCH,
    SCOPES,
    TRIES,
    Liveness,
    Scope,
    blocks,
    bound,
    completes,
    grown,
    harmless,
    jumps,
    mutated,
    obstacle,
    python_only,
    rebinds,
    scope_walk,
)
from .expressions import RUNTIME, Expressions, call, name, runtime, thunk

__all__ = ["RUNTIME", "rewrite"]

_IN_PLACE = (ast.If, ast.With) + TRIES + MATCH


def rewrite(node, counter=None):
    """A function's node with its control flow rewritten, inner functions included."""
    counter = counter or itertools.count()
    scope = Scope(node)
    Declarations().function(node)
    node.body = guards(node.body)
    Liveness(scope)
    positional = node.args.posonlyargs + node.args.args
    expressions = Expressions(positional[0].arg if positional else None)
    body = Lifter(scope, expressions, counter).block(node.body, lifted=False, tail=True)
    node.body = _preamble(scope, body) + body
    return ast.fix_missing_locations(node)


def _preamble(scope, body):
    """What makes a name of the scope what it was before its statements moved.

    if False: x = y = None      # local though every assignment moved into inner functions
    """
    made = []
    for kind, names in ((ast.Global, scope.globals), (ast.Nonlocal, scope.nonlocals)):
        if names:
            made.append(kind(names=sorted(names)))
    own = [n for n in scope.locals if n not in scope.parameters]
    if own:
        targets = [name(n, ast.Store()) for n in own]
        bind = ast.Assign(targets=targets, value=ast.Constant(value=None))
        made.append(ast.If(test=ast.Constant(value=False), body=[bind], orelse=[]))
    for s in made:
        ast.copy_location(s, scope.node)
        ast.fix_missing_locations(s)
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        made.insert(0, body.pop(0))
    return made


class Declarations(ast.NodeTransformer):
    """Takes out declarations of names, which hold for a whole function; they are put on top.

    global x       ->  pass
    x: int = 1     ->  x = 1       (a variable may not be annotated and nonlocal)
    """

    def function(self, node):
        """Works on the statements of one function, not on inner scopes."""
        node.body = [self.visit(s) for s in node.body]

    def _scope(self, node):
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _scope

    def visit_Global(self, node):
        """-> pass"""
        return ast.copy_location(ast.Pass(), node)

    visit_Nonlocal = visit_Global

    def visit_AnnAssign(self, node):
        """-> the assignment alone"""
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)


def guards(stmts):
    """Moves what follows an `if` with a jump into the branch that goes on, where only one does.

    if c: return a          if c: return a
    rest               ->   else: rest

    Both branches then end alike, and no flag has to say whether the rest still runs.
    """
    for i, s in enumerate(stmts):
        rest = stmts[i + 1 :]
        if isinstance(s, ast.If) and rest and jumps([s]) and not stays(s):
            if not completes(s.body):
                s.orelse = s.orelse + rest
            elif s.orelse and not completes(s.orelse):
                s.body = s.body + rest
            else:
                continue
            stmts = stmts[: i + 1]
            break
    for s in stmts:
        if isinstance(s, SCOPES):
            continue
        for field in ("body", "orelse", "finalbody"):
            if getattr(s, field, None):
                setattr(s, field, guards(getattr(s, field)))
        for part in list(getattr(s, "handlers", ())) + list(getattr(s, "cases", ())):
            part.body = guards(part.body)
    return stmts


def stays(s):
    """Does a compound statement stay a statement? An `if` whose condition is no tensor does,
    and with, try and match do, unless a jump out of them has to leave an inner function."""
    if isinstance(s, ast.If) and not python_only(s.test):
        return False
    return isinstance(s, _IN_PLACE) and not any(
        jumps([t]) and not (stays(t) or not blocks(t)) for b in blocks(s) for t in b
    )


class Lifter:
    """Turns the statements of one function into calls of the runtime."""

    def __init__(self, scope, expressions, counter):
        self.scope = scope
        self.expressions = expressions
        self.counter = counter
        self.handled = 0  # how many `try` with handlers are around

    def block(self, stmts, lifted, tail):
        """The new statements for `stmts`.

        lifted: they go into an inner function, so jumps return signals. tail: nothing of the
        function they go into comes after them, so a signal may be returned without a test.
        """
        out = []
        for i, s in enumerate(stmts):
            jumping = jumps([s])
            if stays(s) or not isinstance(s, _IN_PLACE + LOOPS):
                out += self.plain(s, lifted)
                continue
            if isinstance(s, ast.If):
                new, value = self.lift_if(s)
            elif isinstance(s, LOOPS):
                new, value = self.lift_loop(s)
            else:
                new, value = self.lift_region(s)
            if not jumping:
                new.append(ast.Expr(value=value))
            elif tail:
                new += self.leave(value, stmts[i + 1 :], lifted)
            else:
                new += self.test_signal(value, lifted)
            out += _placed(new, s)
            if jumping and tail:
                break
        return out

    # --- jumps out of lifted statements ---

    def leave(self, value, rest, lifted):
        """After a statement that may jump: `return rt.then(signal, rest)`, rest as a function."""
        made = []
        if rest:
            made, state = self.state(rest, rest[0].block_exit)
            made.append(self.function("rest", rest))
            value = call("then", value, name(made[-1].name), state)
        made.append(ast.Return(value=value if lifted else call("result", value)))
        return made

    def test_signal(self, value, lifted):
        """Where statements follow that cannot move (in try .. else and finally):

        signal = value
        if signal is not None: return rt.direct(signal)
        """
        signal = f"_argosy_signal_{next(self.counter)}"
        test = ast.Compare(
            left=name(signal), ops=[ast.IsNot()], comparators=[ast.Constant(value=None)]
        )
        leave = ast.Return(value=call("direct" if lifted else "result", name(signal)))
        return [
            ast.Assign(targets=[name(signal, ast.Store())], value=value),
            ast.If(test=test, body=[leave], orelse=[]),
        ]

    # --- statements that are lifted ---

    def lift_if(self, s):
        """if c: A else: B  ->  def a(): A; def b(): B; rt.if_(c, a, b, state, jumping)"""
        jumping = bool(jumps([s]))
        made, state = self.state(s.body + s.orelse, s.live_after)
        made.append(self.function("true", s.body))
        true, false = name(made[-1].name), ast.Constant(value=None)
        if s.orelse:
            made.append(self.function("false", s.orelse))
            false = name(made[-1].name)
        jumping = ast.Constant(value=jumping)
        return made, call("if_", self.expressions.visit(s.test), true, false, state, jumping)

    def lift_loop(self, s):
        """for x in it: A else: B  ->  def a(item): x = item; A; def b(): B;
        rt.for_(jumping, it, a, b, state), and likewise while c, with c a function, too:
        rt.while_(jumping, c, a, b, state, safe). safe: c may be evaluated after a break."""
        live = s.live_head | s.live_after
        orelse = ast.Constant(value=None)
        jumping = ast.Constant(value=bool(jumps(s.body) - {"continue"}))
        if isinstance(s, ast.For):
            item = "_argosy_item"
            bind = ast.copy_location(ast.Assign(targets=[s.target], value=name(item)), s.target)
            body = [bind] + s.body
            made, state = self.state(body + s.orelse, live)
            made.append(self.function("body", body, item))
            arguments = [
                "for_",
                jumping,
                self.expressions.visit(s.iter),
                name(made[-1].name),
                orelse,
                state,
            ]
        else:
            safe = ast.Constant(value=harmless(s.test))
            made, state = self.state([ast.Expr(value=s.test)] + s.body + s.orelse, live)
            made.append(self.function("test", [ast.copy_location(ast.Return(s.test), s.test)]))
            made[-1].body[-1].value = made[-1].body[-1].value.args[0]  # the value, not a signal
            test = name(made[-1].name)
            made.append(self.function("body", s.body))
            arguments = ["while_", jumping, test, name(made[-1].name), orelse, state, safe]
        if s.orelse:
            made.append(self.function("else", s.orelse))
            arguments[4] = name(made[-1].name)
        return made, call(*arguments)

    def lift_region(self, s):
        """with c: A  ->  def region(): with c: A; region()     (try, match and plain if alike)

        for the sake of a jump that leaves A from inside a lifted statement."""
        made = self.function("region", [s])
        return [made], ast.Call(func=name(made.name), args=[], keywords=[])

    def function(self, what, stmts, *parameters):
        """An inner function that shares the variables it binds with the scope."""
        names = bound(stmts)
        node = self._definition(what, *parameters)
        node.body = self._declared(names)
        if what == "region":
            node.body += self.compound(stmts[0], lifted=True, tail=True)
        else:
            node.body += self.block(stmts, lifted=True, tail=True)
        ast.copy_location(node, stmts[0])
        return node

    def _definition(self, what, *parameters):
        head = f"def _argosy_{what}_{next(self.counter)}({', '.join(parameters)})"
        return _parsed(head + ": pass")[0]

    def _declared(self, names):
        """global and nonlocal statements that make names of an inner function the scope's."""
        globals_ = [n for n in names if n in self.scope.globals]
        shared = [n for n in names if n in self.scope.locals or n in self.scope.nonlocals]
        made = [ast.Global(names=globals_)] if globals_ else []
        return made + ([ast.Nonlocal(names=shared)] if shared else [])

    def state(self, stmts, live):
        """(statements, expression) for the runtime's handle on variables that `stmts` change.

        The first `count` of them have a use later; the others only have to be put back.

        rt.State(("x", "self.y"), lambda: (rt.read("x", lambda: x), ..), set, count, appended_to)
        def set(v): nonlocal x; x = v[0]; if rt.defined(v[1]): self.y = v[1]
        """
        inplace = mutated(stmts)
        names = [n for n in bound(stmts) if n not in inplace]
        if any(isinstance(n, ast.Call) for n in scope_walk(stmts)):
            names += [n for n in sorted(self.scope.shared) if n not in names + inplace]
        used = inplace + [n for n in names if n in live]
        names = used + [n for n in names if n not in live]
        if not names:
            return [], runtime("EMPTY")
        values = "_argosy_values"
        setter = self._definition("set", values)
        assignments, of_attributes, reads = [], [], []
        for i, variable in enumerate(names):
            reads.append(call("read", ast.Constant(value=variable), thunk(_variable(variable))))
            if "." in variable:
                of_attributes += _parsed(
                    f"if {RUNTIME}.defined({values}[{i}]): {variable} = {values}[{i}]\n"
                    f"else:\n"
                    f"  try: del {variable}\n"
                    f"  except (NameError, AttributeError): pass"
                )
            elif self.scope.declares(variable):
                assignments += _parsed(f"{variable} = {values}[{i}]")
        plain = [n for n in names if "." not in n]
        # An attribute belongs to what its object is then.
        setter.body = self._declared(plain) + assignments + of_attributes or [ast.Pass()]
        labels = ast.Tuple(elts=[ast.Constant(value=n) for n in names], ctx=ast.Load())
        getter = thunk(ast.Tuple(elts=reads, ctx=ast.Load()))
        count = ast.Constant(value=len(used))
        lists = ast.Tuple(elts=[ast.Constant(value=n) for n in grown(stmts)], ctx=ast.Load())
        return [setter], call("State", labels, getter, name(setter.name), count, lists)

    # --- statements that stay ---

    def plain(self, s, lifted):
        """A statement that stays where it is."""
        if isinstance(s, ast.Return):
            value = self.expressions.visit(s.value) if s.value else ast.Constant(value=None)
            if lifted:
                value = call("Return", value)
            elif isinstance(s.value, ast.Name):
                value = call("checked", value)
            elif s.value is None:
                value = None
            return _placed([ast.Return(value=value)], s)
        if isinstance(s, (ast.Break, ast.Continue)):
            value = runtime("BREAK" if isinstance(s, ast.Break) else "CONTINUE")
            return _placed([ast.Return(value=value)], s)
        if isinstance(s, ast.Assert):
            return self.assertion(s)
        if isinstance(s, ast.Raise) and s.exc is not None:
            return self.error(s)
        if isinstance(s, FUNCTIONS + (ast.ClassDef,)):
            return [self.definition(s)]
        if isinstance(s, _IN_PLACE):
            return self.compound(s, lifted, False)
        return [self.expressions.visit(s)]

    def assertion(self, s):
        """assert c, m  ->  if __debug__: rt.assert_(c, lambda: m)"""
        if s.msg is not None and rebinds(s.msg):
            return [self.expressions.visit(s)]
        arguments = [self.expressions.visit(s.test)]
        if s.msg is not None:
            arguments.append(thunk(self.expressions.visit(s.msg)))
        check = ast.Expr(value=call("assert_", *arguments))
        return _placed([ast.If(test=name("__debug__"), body=[check], orelse=[])], s)

    def error(self, s):
        """raise e  ->  raise rt.raised(e, handled); handled: a handler of this function is around."""
        s = self.expressions.visit(s)
        s.exc = call("raised", s.exc, ast.Constant(value=self.handled > 0))
        ast.copy_location(s.exc, s)
        return [s]

    def definition(self, s):
        """Inner functions and the methods of inner classes are rewritten in their place."""
        s.decorator_list = [self.expressions.visit(d) for d in s.decorator_list]
        if isinstance(s, ast.ClassDef):
            s.bases = [self.expressions.visit(b) for b in s.bases]
            for n in _methods(s):
                if not obstacle(n):
                    rewrite(n, self.counter)
            return s
        a = s.args
        a.defaults = [self.expressions.visit(d) for d in a.defaults]
        a.kw_defaults = [d and self.expressions.visit(d) for d in a.kw_defaults]
        return s if obstacle(s) else rewrite(s, self.counter)

    def compound(self, s, lifted, tail):
        """with, try, match, and an `if` on a Python value: the statement stays, its blocks change."""
        if isinstance(s, ast.If):
            s.test = self.expressions.visit(s.test)
        elif isinstance(s, ast.With):
            for i in s.items:
                self.expressions.visit(i)
        elif MATCH and isinstance(s, MATCH):
            s.subject = self.expressions.visit(s.subject)
            for c in s.cases:
                c.guard = c.guard and self.expressions.visit(c.guard)
                c.body = self.block(c.body, lifted, tail)
            return [s]
        for h in getattr(s, "handlers", ()):
            h.type = h.type and self.expressions.visit(h.type)
            h.body = self.block(h.body, lifted, tail)
        # After the body of a try comes its else; a return in a finally would drop an exception.
        body_tail = tail and not (isinstance(s, TRIES) and s.orelse)
        handlers = bool(getattr(s, "handlers", ()))
        self.handled += handlers
        s.body = self.block(s.body, lifted, body_tail)
        self.handled -= handlers
        if getattr(s, "orelse", None):
            s.orelse = self.block(s.orelse, lifted, tail)
        if getattr(s, "finalbody", None):
            s.finalbody = self.block(s.finalbody, lifted, False)
        return [s]


def _parsed(text):
    """Statements of generated text, without positions."""
    tree = ast.parse(text)
    for n in ast.walk(tree):
        for position in ("lineno", "col_offset", "end_lineno", "end_col_offset"):
            if hasattr(n, position):
                delattr(n, position)
    return tree.body


def _variable(variable):
    """'x' or 'self.y' as an expression."""
    return _parsed(variable)[0].value


def _placed(new, s):
    """Gives generated statements the line of the statement they stand for (its first)."""
    for n in new:
        ast.copy_location(n, s)
        n.end_lineno, n.end_col_offset = n.lineno, n.col_offset
    return new


def _methods(cls):
    """Functions in the body of a class, also under an `if` there."""
    for s in cls.body:
        if isinstance(s, ast.FunctionDef):
            yield s
        elif isinstance(s, ast.ClassDef):
            yield from _methods(s)
        elif not isinstance(s, SCOPES):
            for b in blocks(s):
                yield from _methods(ast.Module(body=b, type_ignores=[]))
