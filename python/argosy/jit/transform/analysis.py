"""Facts about one function's syntax tree: names of its scope, jumps, and which values live on."""

import ast

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SCOPES = FUNCTIONS + (ast.Lambda, ast.ClassDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
LOOPS = (ast.While, ast.For)
TRIES = (ast.Try,) + ((ast.TryStar,) if hasattr(ast, "TryStar") else ())
MATCH = (ast.Match,) if hasattr(ast, "Match") else ()
MUTATORS = frozenset(
    "append pop extend insert remove clear update setdefault popitem sort reverse".split()
)
# Calls that look at the frame of their caller: moving the call changes its answer.
FRAME_READERS = frozenset(("locals", "eval", "exec", "vars", "dir"))
# Calls whose answer is never a value of a Program.
PYTHON_ONLY_CALLS = frozenset(("isinstance", "issubclass", "hasattr", "callable"))


def parameters(node):
    """Names of the parameters of a function or lambda."""
    a = node.args
    every = a.posonlyargs + a.args + a.kwonlyargs + [x for x in (a.vararg, a.kwarg) if x]
    return [x.arg for x in every]


def blocks(node):
    """The statement lists that a compound statement owns."""
    found = [getattr(node, f) for f in ("body", "orelse", "finalbody") if getattr(node, f, None)]
    found += [h.body for h in getattr(node, "handlers", ())]
    found += [c.body for c in getattr(node, "cases", ())]
    return found


def scope_walk(node):
    """Nodes under `node` that belong to the same scope; of inner scopes what is evaluated here."""
    todo = list(node) if isinstance(node, list) else [node]
    for n in todo:  # grows while it is walked
        yield n
        if isinstance(n, FUNCTIONS):
            todo += n.decorator_list + n.args.defaults + [d for d in n.args.kw_defaults if d]
        elif isinstance(n, ast.Lambda):
            todo += n.args.defaults + [d for d in n.args.kw_defaults if d]
        elif isinstance(n, ast.ClassDef):
            todo += n.decorator_list + n.bases + [k.value for k in n.keywords]
        else:
            todo += ast.iter_child_nodes(n)


def dotted(node):
    """'a.b.c' for an attribute chain on a name, else None."""
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join([node.id] + parts[::-1])


def _bindings(tree):
    """The name of each place where `tree` binds a name of its scope."""
    hidden = set()  # targets of comprehensions are names of another scope
    for n in scope_walk(tree):
        if isinstance(n, COMPREHENSIONS):
            for g in n.generators:
                hidden.update(id(t) for t in ast.walk(g.target))
        if isinstance(n, ast.Name):
            if not isinstance(n.ctx, ast.Load) and id(n) not in hidden:
                yield n.id
        elif isinstance(n, FUNCTIONS + (ast.ClassDef, ast.ExceptHandler)):
            if n.name:
                yield n.name
        elif isinstance(n, ast.alias):
            yield n.asname or n.name.split(".")[0]
        elif type(n).__name__ in ("MatchAs", "MatchStar", "MatchMapping"):
            for name in (getattr(n, "name", None), getattr(n, "rest", None)):
                if name:
                    yield name


def bound(tree):
    """Names that `tree` binds in its scope, in order."""
    return list(dict.fromkeys(_bindings(tree)))


def mutated(tree):
    """What `tree` changes in place, in order: 'a.b' for attributes assigned, and the variables or
    attributes that x[i] = v or a method such as append changes."""
    found = {}
    for n in scope_walk(tree):
        name = None
        if isinstance(n, (ast.Attribute, ast.Subscript)) and not isinstance(n.ctx, ast.Load):
            name = dotted(n if isinstance(n, ast.Attribute) else n.value)
        elif isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
            name = dotted(n.func.value) if n.func.attr in MUTATORS else None
        if name:
            found[name] = None
    return list(found)


def rebound(tree):
    """What `tree` gives another value: variables that it binds, and 'a.b' for attributes assigned."""
    attributes = [
        dotted(n)
        for n in scope_walk(tree)
        if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load)
    ]
    return set(bound(tree)).union(filter(None, attributes))


def grown(tree):
    """Variables that `tree` calls a list's append or extend on."""
    found = [
        dotted(n.func.value)
        for n in scope_walk(tree)
        if isinstance(n, ast.Call)
        and isinstance(n.func, ast.Attribute)
        and n.func.attr in ("append", "extend")
    ]
    return [n for n in dict.fromkeys(found) if n]


class Scope:
    """Names of one function: parameters, locals, and those it declares global or nonlocal."""

    def __init__(self, node):
        self.node = node
        self.parameters = parameters(node)
        self.globals, self.nonlocals = set(), set()
        for n in scope_walk(node.body):
            if isinstance(n, ast.Global):
                self.globals.update(n.names)
            elif isinstance(n, ast.Nonlocal):
                self.nonlocals.update(n.names)
        outer = self.globals | self.nonlocals
        own = dict.fromkeys(self.parameters + bound(node.body))
        self.locals = [n for n in own if n not in outer]
        # Inner functions may change these whenever one is called.
        self.shared = {
            name
            for n in ast.walk(ast.Module(body=node.body, type_ignores=[]))
            if isinstance(n, ast.Nonlocal)
            for name in n.names
            if name in self.locals
        }

    def declares(self, name):
        """May statements of this function bind the name?"""
        return name in self.locals or name in self.globals or name in self.nonlocals


def obstacle(node):
    """Why a function is left as it is, or None."""
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is a coroutine"
    for n in scope_walk(node.body):
        if isinstance(n, (ast.Yield, ast.YieldFrom)):
            return "it is a generator"
        if isinstance(n, ast.Await):
            return "it awaits"
        if (
            isinstance(n, ast.Call)
            and isinstance(n.func, ast.Name)
            and n.func.id in FRAME_READERS
            and (n.func.id in ("eval", "exec") or not n.args)
        ):
            return f"it reads its own frame by {n.func.id}() at line {n.lineno}"
    return None


# --- jumps ---


def jumps(stmts, inside_loop=False):
    """Kinds of jumps in `stmts` that leave them: a subset of {'return', 'break', 'continue'}."""
    found = set()
    for s in stmts:
        if isinstance(s, ast.Return):
            found.add("return")
        elif isinstance(s, ast.Break) and not inside_loop:
            found.add("break")
        elif isinstance(s, ast.Continue) and not inside_loop:
            found.add("continue")
        elif isinstance(s, LOOPS):
            found |= jumps(s.body, True) | jumps(s.orelse, inside_loop)
        elif not isinstance(s, SCOPES):
            for b in blocks(s):
                found |= jumps(b, inside_loop)
    return found


def completes(stmts):
    """May control reach the end of `stmts`? Errs on the side of yes."""
    for s in stmts:
        if isinstance(s, (ast.Return, ast.Break, ast.Continue, ast.Raise)):
            return False
        if isinstance(s, ast.If) and not completes(s.body) and s.orelse:
            if not completes(s.orelse):
                return False
    return True


def python_only(test):
    """Is a condition surely not a value of a Program: `is`, isinstance(..), constants, not/and/or?"""
    if isinstance(test, ast.Constant):
        return True
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return python_only(test.operand)
    if isinstance(test, ast.BoolOp):
        return all(python_only(v) for v in test.values)
    if isinstance(test, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in test.ops)
    return (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Name)
        and test.func.id in PYTHON_ONLY_CALLS
    )


def harmless(expression):
    """May an expression be evaluated although Python would skip it? Names, constants, + - *, <, not."""
    ok = (ast.Name, ast.Constant, ast.Attribute, ast.Compare, ast.UnaryOp, ast.BoolOp, ast.BinOp)
    ok += (ast.expr_context, ast.cmpop, ast.unaryop, ast.boolop, ast.Add, ast.Sub, ast.Mult)
    return all(isinstance(n, ok) for n in ast.walk(expression))


def rebinds(expression):
    """Does an expression hold a walrus, which a lambda around it would make local?"""
    return any(isinstance(n, ast.NamedExpr) for n in ast.walk(expression))


# --- liveness ---


def reads(tree):
    """Names read anywhere in an expression or list of them, inner scopes included."""
    if tree is None:
        return set()
    trees = tree if isinstance(tree, list) else [tree]
    return {
        n.id
        for t in trees
        if t is not None
        for n in ast.walk(t)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }


def _targets(node):
    """Names that an assignment target surely binds."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, (ast.Tuple, ast.List)):
        return set().union(*map(_targets, node.elts)) if node.elts else set()
    return _targets(node.value) if isinstance(node, ast.Starred) else set()


class Liveness:
    """Which variables may still be read after each `if` and at the head of each loop.

    Runs once over a function and leaves sets on the nodes: `if`: live_after; loops: live_after,
    live_head. Statements whose rest becomes a function of its own: block_exit. All are supersets
    of the truth: names seen by inner functions, global and nonlocal names always live.
    """

    def __init__(self, scope):
        escaped = set(scope.globals) | set(scope.nonlocals)
        for n in scope_walk(scope.node.body):
            if isinstance(n, SCOPES + (ast.GeneratorExp,)):
                escaped |= {m.id for m in ast.walk(n) if isinstance(m, ast.Name)}
        self._always = escaped
        self._block(scope.node.body, set(), _Exits(set(), set()))

    def _block(self, stmts, out, exits):
        live = out | self._always
        end = live | exits.break_ | exits.continue_
        for s in reversed(stmts):
            s.block_exit = end
            live = self._statement(s, live, exits) | self._always
        return live

    def _statement(self, s, out, exits):
        if isinstance(s, ast.Assign):
            kills = set().union(*map(_targets, s.targets))
            return (out - kills) | reads(s.value) | reads(s.targets)
        if isinstance(s, ast.AugAssign):
            own = {s.target.id} if isinstance(s.target, ast.Name) else reads(s.target)
            return out | own | reads(s.value)
        if isinstance(s, ast.AnnAssign):
            kills = _targets(s.target) if s.value else set()
            return (out - kills) | reads(s.value) | reads(s.target)
        if isinstance(s, ast.Return):
            return reads(s.value)
        if isinstance(s, ast.Raise):
            return reads(s.exc) | reads(s.cause)
        if isinstance(s, ast.Break):
            return set(exits.break_)
        if isinstance(s, ast.Continue):
            return set(exits.continue_)
        if isinstance(s, ast.If):
            s.live_after = out | exits.break_ | exits.continue_
            body, orelse = self._block(s.body, out, exits), self._block(s.orelse, out, exits)
            return reads(s.test) | body | orelse
        if isinstance(s, LOOPS):
            return self._loop(s, out, exits)
        if isinstance(s, TRIES):
            return self._try(s, out, exits)
        if isinstance(s, (ast.With, ast.AsyncWith)):
            # The context manager may swallow an exception raised anywhere inside.
            kills = set().union(*(_targets(i.optional_vars) for i in s.items if i.optional_vars))
            body = self._guarded(s.body, out, out, exits)
            used = [i.context_expr for i in s.items] + [i.optional_vars for i in s.items]
            return (body - kills) | out | reads(used)
        if isinstance(s, MATCH):
            live = set(out)
            for c in s.cases:
                live |= self._block(c.body, out, exits) | reads(c.guard) | reads(c.pattern)
            return live | reads(s.subject)
        return out | reads(s)

    def _loop(self, s, out, exits):
        is_for = isinstance(s, ast.For)
        orelse = self._block(s.orelse, out, exits)
        head = out | orelse | (set() if is_for else reads(s.test))
        while True:
            body = self._block(s.body, head, _Exits(out, head))
            if is_for:
                body = (body - _targets(s.target)) | reads(s.target)
            if body <= head:
                break
            head = head | body
        s.live_after = out | orelse | exits.break_ | exits.continue_
        s.live_head = head
        return head | (reads(s.iter) if is_for else set())

    def _try(self, s, out, exits):
        final = self._block(s.finalbody, out, exits) if s.finalbody else set(out)
        later = set(final)
        for h in s.handlers:
            later |= self._guarded(h.body, final, final, exits) | reads(h.type)
        orelse = self._guarded(s.orelse, final, later, exits) if s.orelse else set(final)
        return self._guarded(s.body, orelse, later, exits) | later

    def _guarded(self, stmts, out, always, exits):
        """A block any statement of which may be left towards code that reads `always`."""
        before = self._always
        self._always = before | always
        try:
            return self._block(stmts, out | always, exits)
        finally:
            self._always = before


class _Exits:
    """What is live where break and continue lead."""

    def __init__(self, break_, continue_):
        self.break_, self.continue_ = break_, continue_
