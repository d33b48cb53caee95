"""The pass over expressions: what Python decides by truth values becomes a call that may decide."""

import ast

from .analysis import harmless, python_only, rebinds

RUNTIME = "_argosy_rt"
_COMPARE = {
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Is: "is_",
    ast.IsNot: "is_not",
    ast.In: "in_",
    ast.NotIn: "not_in",
}


def name(identifier, ctx=None):
    """A name as an expression."""
    return ast.Name(id=identifier, ctx=ctx or ast.Load())


def runtime(function):
    """`_argosy_rt.function` as an expression."""
    return ast.Attribute(value=name(RUNTIME), attr=function, ctx=ast.Load())


def call(function, *arguments):
    """`_argosy_rt.function(*arguments)` as an expression."""
    return ast.Call(func=runtime(function), args=list(arguments), keywords=[])


def thunk(expression):
    """`lambda: expression`."""
    none = ast.arguments(
        posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
    )
    return ast.copy_location(ast.Lambda(args=none, body=expression), expression)


class Expressions(ast.NodeTransformer):
    """Rewrites the expressions of one function; `first` is its first parameter, or None."""

    def __init__(self, first):
        self.first = first

    def _at(self, old, new):
        ast.copy_location(ast.copy_location(new, old).func, old)
        # A method call is reported at the line on which the name of the method ends.
        new.func.end_lineno, new.func.end_col_offset = new.func.lineno, new.func.col_offset
        return new

    def visit_Call(self, node):
        """f(a)  ->  rt.call(f)(a), and super() -> super(__class__, self)."""
        plain_super = isinstance(node.func, ast.Name) and node.func.id == "super"
        self.generic_visit(node)
        if plain_super:
            # The short form reads the arguments of the frame that calls it.
            if not node.args and not node.keywords and self.first:
                node.args = [name("__class__"), name(self.first)]
            return node
        node.func = self._at(node.func, call("call", node.func))
        return node

    def visit_BoolOp(self, node):
        """a and b and c  ->  rt.and_(a, lambda: rt.and_(b, lambda: c)); likewise or.

        and_now / or_now where the right side is harmless: a Program may compute it unasked.
        """
        if python_only(node) or any(rebinds(v) for v in node.values):
            return self.generic_visit(node)
        what = "and_" if isinstance(node.op, ast.And) else "or_"
        safe = [harmless(v) for v in node.values]
        values = [self.visit(v) for v in node.values]
        right = values.pop()
        all_safe = safe.pop()
        while values:
            left = values.pop()
            right = call(what + "now" if all_safe else what, left, thunk(right))
            right = self._at(node, right)
            all_safe = safe.pop() and all_safe
        return right

    def visit_UnaryOp(self, node):
        """not a  ->  rt.not_(a)"""
        skip = not isinstance(node.op, ast.Not) or python_only(node)
        self.generic_visit(node)
        return node if skip else self._at(node, call("not_", node.operand))

    def visit_IfExp(self, node):
        """a if c else b  ->  rt.if_expression(c, lambda: a, lambda: b)"""
        skip = python_only(node.test) or rebinds(node.body) or rebinds(node.orelse)
        self.generic_visit(node)
        if skip:
            return node
        return self._at(
            node, call("if_expression", node.test, thunk(node.body), thunk(node.orelse))
        )

    def visit_Compare(self, node):
        """a < b < c  ->  rt.chain(a, ("lt", "lt"), lambda: b, lambda: c), and
        a in b  ->  rt.in_(a, b), a not in b -> rt.not_in(a, b)."""
        many = len(node.ops) > 1
        membership = isinstance(node.ops[0], (ast.In, ast.NotIn))
        skip = python_only(node) or (many and any(rebinds(c) for c in node.comparators))
        self.generic_visit(node)
        if skip or not (many or membership):
            return node
        ops = [_COMPARE[type(op)] for op in node.ops]
        if not many:
            return self._at(node, call(ops[0], node.left, node.comparators[0]))
        kinds = ast.Tuple(elts=[ast.Constant(value=o) for o in ops], ctx=ast.Load())
        return self._at(node, call("chain", node.left, kinds, *map(thunk, node.comparators)))

    def visit_Attribute(self, node):
        """x.shape  ->  rt.shape(x), x.size -> rt.size(x): sizes may be decided by a Program. Others: see
        _told."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store):
            return self._told(node, "setting")
        if not isinstance(node.ctx, ast.Load):
            return node
        if node.attr in ("shape", "size"):
            return self._at(node, call(node.attr, node.value))
        return self._told(node, "attr")

    def visit_AugAssign(self, node):
        """x.a += b  ->  rt.attr(rt.setting(x, "a"), "a").a += b"""
        self.generic_visit(node)
        if isinstance(node.target, ast.Attribute):
            self._told(node.target, "attr")
        return node

    def _told(self, node, what):
        """x.a  ->  rt.attr(x, "a").a, and x.a = b  ->  rt.setting(x, "a").a = b: the capture under way is
        told of the read, or that it is set."""
        told = call(what, node.value, ast.Constant(value=node.attr))
        node.value = ast.copy_location(told, node.value)
        ast.fix_missing_locations(node)
        return node

    def visit_Lambda(self, node):
        """The body of a lambda is rewritten like any expression."""
        outer, self.first = self.first, None
        positional = node.args.posonlyargs + node.args.args
        self.first = positional[0].arg if positional else None
        node.body = self.visit(node.body)
        self.first = outer
        node.args = self.visit(node.args)
        return node

    def visit_arg(self, node):
        """Annotations stay."""
        return node
