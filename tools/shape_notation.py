"""The notation of shapes in descriptions of ops (`.shape(..)`), parsed, and held against what ops infer.

    matmul:   x [*b,m,k], y [*b,k,n] -> [*b,m,n]
    conv2d:   x [n,c,h,w], weight [o,c/groups,i,j] -> [n,o,h',w']
    softmax:  x [*a,n@axis,*b] -> [*a,n,*b]
    nonzero:  x [*s] -> [?,rank(s)]

A form gives each operand's axes, then those of the results that are returned, in order. Of an axis:

    m            a size, the same wherever the letter stands
    h'           a size that attributes and other sizes decide; of an operand: any
    c/groups     an expression of letters, integer attributes and numbers (+ - * / where / is exact)
    ?            a size that data decide
    n@axis       the size at the place that an attribute names
    *b           any number of axes; where several operands have them, they broadcast
    *s'          any number of axes that attributes decide
    rank(s)      how many axes *s stands for
    x.. [..]     each tensor of a list; sizes with ' are each tensor's own

Several forms are told apart by |: one of them must fit. An optional operand may be missing.
"""

import dataclasses
import re

_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*'*|[()+\-*/?])")


class NotationError(ValueError):
    """What is wrong with a text of shapes."""


@dataclasses.dataclass(frozen=True)
class Axis:
    """One axis: a letter, an expression, `?`; or a group of axes."""

    text: str
    group: bool = False
    at: str = ""  # the attribute that names its place

    @property
    def free(self):
        """Decided by attributes or data, so nothing else in the form tells it."""
        return self.text == "?" or self.text.endswith("'")

    @property
    def letter(self):
        return re.fullmatch(r"[A-Za-z_]\w*'*", self.text) is not None


@dataclasses.dataclass(frozen=True)
class Operand:
    name: str
    axes: tuple
    many: bool


@dataclasses.dataclass(frozen=True)
class Form:
    operands: tuple
    results: tuple


def parse(text, inputs=None, outputs=None):
    """The forms of a text.

    Args:
        inputs (list of str, optional): names that operands may have; all are allowed if left out.
        outputs (int, optional): how many results there must be.

    Raises:
        NotationError: says what is wrong, and where.
    """
    forms = []
    for part in text.split("|"):
        left, arrow, right = part.partition("->")
        if not arrow:
            raise NotationError(f"{part.strip()!r} has no ->")
        form = Form(tuple(_operands(left)), tuple(_operands(right)))
        for operand in form.operands:
            if sum(a.group for a in operand.axes) > 1 + sum(bool(a.at) for a in operand.axes):
                raise NotationError(f"{operand.name}: nothing tells where a group of axes ends")
        names = [o.name for o in form.operands]
        if "" in names:
            raise NotationError(f"{left.strip()!r}: an operand without a name")
        unknown = [n for n in names if inputs is not None and n not in inputs]
        if unknown:
            raise NotationError(f"{unknown[0]!r} is no input; inputs are {', '.join(inputs)}")
        if outputs is not None and len(form.results) != outputs:
            raise NotationError(f"{right.strip()!r} has {len(form.results)} results of {outputs}")
        forms.append(form)
    return forms


def of_op(op):
    """The text of an op of the registry; what follows from its other words if it has none of its own.

    Elementwise ops broadcast all inputs, and without infer the first result is like the first
    input. "" for an op of which nothing is known.
    """
    if op["shape"]:
        return op["shape"]
    results = [".. [*s]" if o["list"] else "[*s]" for o in op["outputs"] if not o["hidden"]]
    inputs = [f"{i['name']}{'..' if i['list'] else ''} [*s]" for i in op["inputs"]]
    if op["elementwise"] or (not op["infers"] and len(inputs) == len(results) == 1):
        return f"{', '.join(inputs)} -> {', '.join(results)}"
    return ""


def forms_of_op(op):
    """of_op, parsed; None for an op of which nothing is known. Raises NotationError."""
    shown = [o for o in op["outputs"] if not o["hidden"]]
    text = of_op(op)
    return parse(text, [i["name"] for i in op["inputs"]], len(shown)) if text else None


def _operands(text):
    at = 0
    pattern = re.compile(r"\s*([A-Za-z_]\w*)?\s*(\.\.)?\s*\[([^\]]*)\]\s*(,|$)")
    while at < len(text) and text[at:].strip():
        match = pattern.match(text, at)
        if not match:
            raise NotationError(f"expected `name [axes]` at {text[at:].strip()!r}")
        name, many, axes, _ = match.groups()
        yield Operand(name or "", tuple(_axes(axes)), bool(many))
        at = match.end()


def _axes(text):
    for part in filter(None, (p.strip() for p in text.split(","))):
        size, _, at = part.partition("@")
        group = size.startswith("*")
        axis = Axis(size[1:] if group else size, group, at)
        if group and not axis.letter:
            raise NotationError(f"{part!r}: a group of axes is * and a letter")
        if (
            not group
            and axis.text != "?"
            and "".join(_TOKEN.findall(size)) != size.replace(" ", "")
        ):
            raise NotationError(f"{part!r} is no size")
        yield axis


class _Fit:
    """Sizes of the letters of one form. Unknown sizes (-1) fit any, and bind nothing."""

    def __init__(self, attrs):
        self.attrs = attrs
        self.sizes = {}
        self.groups = {}

    def operand(self, operand, shape):
        axes = self._placed(operand.axes, shape)
        if axes is None:
            return f"{operand.name} has {len(shape)} axes"
        for axis, size in axes:
            if axis.group and not axis.free:
                if not self._broadcast(axis.text, size):
                    return f"{operand.name}: {list(size)} does not broadcast"
            elif axis.letter and not axis.free and axis.text not in self.attrs and size != -1:
                if self.sizes.setdefault(axis.text, size) != size:
                    return f"{operand.name}: {axis.text} is {size} and {self.sizes[axis.text]}"
        return None

    def expressions(self, operand, shape):
        """After all letters are bound: sizes that are computed."""
        for axis, size in self._placed(operand.axes, shape):
            if not (axis.group or axis.letter or axis.free) and not self._agree(axis, size):
                return f"{operand.name}: {axis.text} is not {size}"
        return None

    def result(self, number, operand, shape):
        axes = self._placed(operand.axes, shape)
        where = f"result {number}"
        if axes is None:
            return f"{where} has {len(shape)} axes"
        for axis, size in axes:
            if axis.group and axis.free:
                if not operand.many and self.groups.setdefault(axis.text, size) != size:
                    return f"{where}: *{axis.text} is {list(size)}"
            elif axis.group:
                if axis.text not in self.groups:
                    raise NotationError(f"*{axis.text} stands in no operand")
                if not same(self.groups[axis.text], size):
                    return f"{where}: *{axis.text} is {list(size)}"
            elif axis.text == "?" or size == -1:
                pass
            elif axis.text.endswith("'"):
                if not operand.many and self.sizes.setdefault(axis.text, size) != size:
                    return f"{where}: {axis.text} is {size}"
            elif not self._agree(axis, size):
                return f"{where}: {axis.text} is not {size}"
        return None

    def _placed(self, axes, shape):
        """(axis, size or sizes) pairs, None if the number of axes does not fit."""
        groups = [i for i, a in enumerate(axes) if a.group]
        spare = len(shape) - (len(axes) - len(groups))
        if spare < 0 or (spare and not groups):
            return None
        lengths = {}
        for i in groups:
            known = self.groups.get(axes[i].text)
            if len(groups) > 1 and known is not None and not axes[i].free:
                lengths[i] = len(known)
        open_groups = [i for i in groups if i not in lengths]
        for k, i in enumerate(open_groups[:-1]):
            mark = next((j for j in range(i + 1, len(axes)) if axes[j].at), None)
            place = mark is not None and self.attrs.get(axes[mark].at)
            if place is None or isinstance(place, (bool, str, list)):
                raise NotationError(f"*{axes[i].text}: nothing says how many axes it has")
            place += len(shape) if place < 0 else 0
            before = sum(lengths.get(j, 1) for j in range(mark) if j != i)
            lengths[i] = place - before
        for i in open_groups[-1:]:
            lengths[i] = spare - sum(lengths.values())
        if any(n < 0 for n in lengths.values()) or sum(lengths.values()) != spare:
            return None
        pairs, at = [], 0
        for i, axis in enumerate(axes):
            if axis.group:
                pairs.append((axis, tuple(shape[at : at + lengths[i]])))
                at += lengths[i]
            else:
                pairs.append((axis, shape[at]))
                at += 1
        return pairs

    def _broadcast(self, name, sizes):
        mine = self.groups.get(name)
        if mine is None:
            self.groups[name] = sizes
            return True
        n = max(len(mine), len(sizes))
        out = []
        for a, b in zip((1,) * (n - len(mine)) + mine, (1,) * (n - len(sizes)) + sizes):
            if -1 in (a, b):
                # An unknown size may be 1 or that of the others.
                out.append(max(a, b) if max(a, b) > 1 else -1)
            elif a != b and 1 not in (a, b):
                return False
            else:
                out.append(b if a == 1 else a)
        self.groups[name] = tuple(out)
        return True

    def _agree(self, axis, size):
        value = self.value(axis.text)
        return value is None or size == -1 or value == size

    def value(self, text):
        """Of an expression; None where a letter in it is not known."""
        tokens = _TOKEN.findall(text)
        names = [t for t in tokens if t[0].isalpha() or t[0] == "_"]
        values, source = {}, text
        if "rank" in names:
            source = re.sub(r"rank\((\w+'*)\)", lambda m: str(self._rank(m[1])), text)
            names = [t for t in _TOKEN.findall(source) if t[0].isalpha() or t[0] == "_"]
        for name in names:
            value = self.sizes.get(name, self.attrs.get(name))
            if isinstance(value, bool) or not isinstance(value, int):
                return None
            values[name] = value
        if any(name.endswith("'") for name in names):
            return None
        result = eval(source.replace("/", "//"), {"__builtins__": {}}, values)
        return result

    def _rank(self, group):
        if group not in self.groups:
            raise NotationError(f"rank({group}): *{group} stands in no operand")
        return len(self.groups[group])


def same(mine, sizes):
    return len(mine) == len(sizes) and all(a == b or -1 in (a, b) for a, b in zip(mine, sizes))


def _fit(form, inputs, outputs, attrs):
    fit = _Fit(attrs)
    pairs = []
    for operand in form.operands:
        given = inputs.get(operand.name)
        for shape in (given or []) if operand.many else [] if given is None else [given]:
            pairs.append((operand, shape))
    missing = [
        n for n, s in inputs.items() if s is not None and n not in {o.name for o in form.operands}
    ]
    if missing:
        return f"the form has no {missing[0]}"
    for operand, shape in pairs:
        problem = fit.operand(operand, shape)
        if problem:
            return problem
    for operand, shape in pairs:
        problem = fit.expressions(operand, shape)
        if problem:
            return problem
    for number, (operand, shape) in enumerate(zip(form.results, outputs)):
        for one in shape if operand.many else [shape]:
            problem = one is not None and fit.result(number, operand, one)
            if problem:
                return problem
    return None


def problem(forms, inputs, outputs, attrs):
    """Why no form fits what an op was given and inferred; None if one does.

    Args:
        forms: of `parse`.
        inputs (dict): the shape of each operand by name, None if missing, a list of shapes for
            lists.
        outputs (list): shapes of the results, of lists a list of shapes.
        attrs (dict): the values of attributes.
    """
    reasons = [_fit(form, inputs, outputs, attrs) for form in forms]
    return None if None in reasons else "; ".join(reasons)
