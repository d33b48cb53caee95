"""Calls for calls.py: those of the differential table changed at random, and random ones of ops."""

import ast
import copy
import functools
import importlib.util
import inspect
import pathlib
import random
import sys

from tests.fuzz import chains

ROOT = pathlib.Path(__file__).resolve().parents[2]
ELEMENTS = 1 << 15  # of an operand
DTYPES = (
    "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64"
    " complex64 complex128 float8_e4m3fn float8_e5m2"
).split()
SIZES = (0, 0, 1, 1, 2, 3, 4, 5, 7, 8, 16, 17, 33, 64, 130, 1025)
FILLS = ("nan", "inf", "zero", "big", "tiny", "mixed")
LAYOUTS = ("transposed", "strided", "expanded", "reversed", "negative", "middle", "step")
NUMBERS = (
    "0 1 -1 2 3 -2 5 7 100 -100 65536 2147483647 -2147483648 2147483648 4294967296 9223372036854775807"
    " -9223372036854775808 18446744073709551616 4611686018427387904 4294967297 1099511627776 0.0 -0.0 0.5 -0.5 1e-45 1e38 1e308 float('nan')"
    " float('inf') -float('inf')"
).split()
KINDS = (
    "None | True | False | 'a' | '' | 'SAME' | 'mean' | 'none' | 'float32' | 'complex64' | 'int8' | [] | () | [0] | [1, 1]"
    " | [-1] | [2, 3] | (2,) | [0, 0, 0] | [1, 2, 3, 4] | [[1, 2], [3, 4]] | [None] | [T(2)] | [T(2), T(3)] | {} | T(2) | T() | T(0)"
    " | T(2, 3, 4) | I(2) | I() | I(3, low=-5) | B(2, 3) | B() | paddle.float64 | np.ones([2, 2]) | np.int64(3)"
    " | np.float32(2.5) | 1 + 2j | object() | (lambda x: x) | paddle | range(3) | b'x' | [9223372036854775807]"
    " | [2147483648, 2147483648] | [-9223372036854775808] | [65536, 65536] | [1] * 20 | slice(None)"
    " | [4294967296, 4294967296] | [3037000500, 3037000500] | [0, 9223372036854775807] | [1, 0] | [0, 0] | [-1, 1]"
    " | [0, 1, 2, 3, 4, 5, 6, 7, 8] | (0, 2) | [True, False] | slice(None, None, -1) | ... | [I(), I()] | np.zeros([0, 3])"
    " | np.array(['a']) | np.float16(1) | T(2, 2, dtype='complex64') | T(3, dtype='bfloat16') | T(2, 3, fill='nan')"
    " | T(4, 4, layout='negative') | I(3, fill='inf') | T(1, 1, 1, 1, 1, 1, 1, 1, 1) | paddle.int8 | [[]] | [[1.5], [2.5]]"
).split(" | ")
# Calls with effects outside the process or on those that come later, or that wait.
LEFT_OUT = (
    "save", "load", "device", "flops", "summary", "hub.", "vision.models", "vision.datasets", "callbacks", "Model(", "multiproc",
    "set_flags", "printoptions", "distributed", "jit.", "enable_static", "disable_static", "paddle.utils", "open(", "text.datasets",
    "audio.datasets", "class ", "profiler", "run_check", "set_grad", "exec(", "import", "signal_handler", "_core", "set_default",
    "reader.", "dataset.", "batch(", "py_func", "set_cuda", "static(", "train(", "inference",
)  # fmt: skip
# Given to functions that may lack them.
WORDS = (
    "out",
    "axis",
    "dtype",
    "keepdim",
    "name",
    "x",
    "y",
    "shape",
    "n",
    "reduction",
    "data_format",
)
MODULES = (
    "paddle", "F", "paddle.linalg", "paddle.fft", "paddle.signal", "paddle.geometric", "paddle.vision.ops",
    "paddle.incubate.nn.functional", "paddle.sparse",
)  # fmt: skip


@functools.lru_cache(None)
def differential():
    path = ROOT / "tools" / "differential.py"
    spec = importlib.util.spec_from_file_location("differential", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["differential"] = module
    spec.loader.exec_module(module)
    return module


@functools.lru_cache(None)
def seeds():
    """Calls of the table that can be run again and again."""
    tool = differential()
    found = []
    for topic in tool.topics():
        cases = [case for case in tool.cases_of(topic) if not any(w in case for w in LEFT_OUT)]
        found.append([case for case in cases if case.count(";;") < 4])
    return [cases for cases in found if cases]


@functools.lru_cache(None)
def functions(module):
    """Names of public functions."""
    import argosy as paddle

    place = eval(module, {"paddle": paddle, "F": paddle.nn.functional})
    names = [n for n in dir(place) if n[0] != "_" and inspect.isfunction(getattr(place, n))]
    return [n for n in names if not any(word in f"{n}(" for word in LEFT_OUT)]


@functools.lru_cache(None)
def methods():
    """Names of methods of tensors."""
    from argosy import Tensor

    names = [n for n in dir(Tensor) if n[0] != "_" and callable(getattr(Tensor, n))]
    return [n for n in names if not any(word in f"{n}(" for word in LEFT_OUT)]


@functools.lru_cache(None)
def registry():
    from argosy import _core

    return [op for op in _core.registry() if op["name"] != "py_call"]


def prepare():
    """Reads the tables before processes are forked."""
    seeds()
    registry()
    methods()
    for module in MODULES:
        functions(module)


def makers(paddle, np):
    """T, I and B as in the table, with more words: fill and layout."""

    made, leaves = {}, []

    def forget():
        made.clear()
        leaves.clear()

    def once(maker):
        """The maker with the word `one`: all operands of that name are the first one."""

        def make(*sizes, one=None, **words):
            if one is None:
                return maker(*sizes, **words)
            if one not in made:
                made[one] = maker(*sizes, **words)
            return made[one]

        return make

    def shape_of(sizes):
        sizes = [max(0, min(int(size), ELEMENTS)) for size in sizes][:9]
        while np.prod([max(size, 1) for size in sizes], dtype=float) > ELEMENTS:
            sizes[sizes.index(max(sizes))] //= 2
        return sizes

    def finished(array, dtype, layout, grad):
        wide = "float32" if dtype == "bfloat16" or dtype.startswith("float8") else dtype
        with np.errstate(all="ignore"):
            tensor = paddle.to_tensor(np.asarray(array).astype(wide), wide)
        if wide != dtype:
            tensor = tensor.astype(dtype)
        if layout and tensor.ndim:
            if layout == "transposed":
                tensor = tensor.transpose(list(range(tensor.ndim))[::-1]).contiguous()
                tensor = tensor.transpose(list(range(tensor.ndim))[::-1])
            elif layout == "strided":
                tensor = paddle.concat([tensor, tensor], 0)[::2]
            elif layout == "expanded":
                tensor = tensor[:1].expand(tensor.shape) if tensor.shape[0] else tensor
            elif layout == "negative":
                tensor = tensor[::-1]
            elif layout == "middle":
                tensor = paddle.concat([tensor, tensor, tensor], 0)[len(tensor) : 2 * len(tensor)]
            elif layout == "step":
                tensor = paddle.stack([tensor, tensor], -1)[..., 1]
            else:
                tensor = tensor.flip([0]).contiguous()[::1]
        tensor = tensor.detach()
        tensor.stop_gradient = not (grad and "float" in dtype and "8" not in dtype)
        if not tensor.stop_gradient:
            leaves.append(tensor)
        return tensor

    def floats(
        *sizes, dtype="float32", seed=0, low=-1.0, high=1.0, grad=True, fill=None, layout=None
    ):
        array = np.random.RandomState(seed).uniform(low, high, shape_of(sizes))
        special = {"nan": [np.nan], "inf": [np.inf, -np.inf], "zero": [0.0], "big": [3e38, -3e38, 9e18], "tiny": [1e-40, -1e-310],
                   "mixed": [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e38]}  # fmt: skip
        if fill:
            values = np.resize(special[fill], array.shape)
            array = values if fill != "mixed" else np.where(array > 0, values, array)
        return finished(array, str(dtype), layout, grad)

    def integers(*sizes, low=0, high=10, dtype="int64", seed=0, fill=None, layout=None, grad=False):
        array = np.random.RandomState(seed).randint(low, max(high, low + 1), shape_of(sizes))
        special = {"nan": [-1], "inf": [2**63 - 1, -(2**63)], "zero": [0], "big": [2**31, 2**31 - 1, 2**62], "tiny": [-(2**31)],
                   "mixed": [-1, 0, 2**63 - 1, 5, 10]}  # fmt: skip
        if fill:
            array = np.resize(np.array(special[fill], "int64"), array.shape)
        return finished(array, str(dtype), layout, grad)

    def booleans(*sizes, seed=0, dtype="bool", fill=None, layout=None, **_):
        return finished(
            np.random.RandomState(seed).rand(*shape_of(sizes)) > 0.5, str(dtype), layout, False
        )

    return {
        "T": once(floats),
        "I": once(integers),
        "B": once(booleans),
        "forget": forget,
        "leaves": lambda: list(leaves),
    }


def call(seed, index, ops):
    """(the generator of call number `index`, its text); `ops`: the share of calls of ops."""
    draw = random.Random(seed * 1_000_003 + index)
    kind = draw.random()
    if kind < ops:
        return draw, of_op(draw)
    if kind < ops + 0.14:
        return draw, draw.choice((chains.of_index, chains.of_chain))(draw)
    for _ in range(20):
        text = draw.choice(draw.choice(seeds()))
        changed = mutated(text, draw)
        if changed and not any(word in changed for word in LEFT_OUT):
            if not (is_pythons(changed) and is_large(changed, 1000)):
                return draw, changed
    return draw, "T(2)"


def mutated(text, draw):
    try:
        trees = [ast.parse(part.strip()) for part in text.split(";;")]
    except SyntaxError:
        return None
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 5))):
        tree = draw.choice(trees)
        Change(draw).apply(tree)
    try:
        parts = [ast.unparse(ast.fix_missing_locations(tree)) for tree in trees]
        compile(parts[-1], "", "eval")
        compile("\n".join(parts), "", "exec")
    except (SyntaxError, ValueError, TypeError, RecursionError):
        return None
    return ";; ".join(parts)


def expression(text):
    return ast.parse(text, mode="eval").body


def places(tree):
    """(list or node, index or field) of all expressions and words of calls below `tree`."""
    found = []
    for node in ast.walk(tree):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                found += [
                    (value, i)
                    for i, x in enumerate(value)
                    if isinstance(x, (ast.expr, ast.keyword))
                ]
            elif isinstance(value, ast.expr) and field not in ("func", "ctx"):
                found.append((node, field))
    return found


def get(place):
    owner, key = place
    return owner[key] if isinstance(owner, list) else getattr(owner, key)


def put(place, node):
    owner, key = place
    if isinstance(owner, list):
        owner[key] = node
    else:
        setattr(owner, key, node)


def is_maker(node):
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in "TIB"


class Change:
    """One random change of a tree."""

    def __init__(self, draw):
        self._draw = draw

    def apply(self, tree):
        draw = self._draw
        calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and not is_maker(n)]
        operands = [n for n in ast.walk(tree) if is_maker(n)]
        kind = draw.random()
        if operands and kind < 0.4:
            self._operand(draw.choice(operands))
        elif operands and kind < 0.45:
            self._other_form(tree, operands)
        elif calls and kind < 0.6:
            self._call(draw.choice(calls))
        else:
            spots = [
                p for p in places(tree)
                if not isinstance(get(p), (ast.Lambda, ast.Starred)) and not isinstance(p[0], ast.Assign)
                and not (isinstance(p[0], ast.Expr) or isinstance(getattr(get(p), "ctx", None), ast.Store))
            ]  # fmt: skip
            if spots:
                self._value(draw.choice(spots))

    def _operand(self, node):
        draw = self._draw
        kind = draw.random()
        if kind < 0.5:
            size = ast.Constant(draw.choice(SIZES))
            if node.args and draw.random() < 0.6:
                node.args[draw.randrange(len(node.args))] = size
            elif node.args and draw.random() < 0.4:
                del node.args[draw.randrange(len(node.args))]
            elif len(node.args) < 9:
                node.args.insert(draw.randrange(len(node.args) + 1), size)
        elif kind < 0.7:
            word(node, "dtype", draw.choice(DTYPES))
        elif kind < 0.85:
            word(node, "fill", draw.choice(FILLS))
        elif kind < 0.95:
            word(node, "layout", draw.choice(LAYOUTS))
        elif node.func.id == "I":
            word(node, "low", draw.choice((-5, -1, 0)))

    def _other_form(self, tree, operands):
        """An operand as something that is not a tensor of its own: a list, an array, the same one twice."""
        draw = self._draw
        if len(operands) > 1 and draw.random() < 0.4:
            for node in draw.sample(operands, 2):
                word(node, "one", "a")
            return
        spots = [p for p in places(tree) if is_maker(get(p))]
        if spots:
            place = draw.choice(spots)
            text = ast.unparse(get(place))
            form = draw.choice(
                (
                    "{}.tolist()",
                    "{}.numpy()",
                    "[{}]",
                    "({}, {})",
                    "{}.unsqueeze(0)",
                    "{}.to_sparse_coo(1)",
                    "{}[0]",
                )
            )
            put(place, expression(form.replace("{}", text)))

    def _call(self, node):
        draw = self._draw
        kind = draw.random()
        if kind < 0.35 and isinstance(node.func, ast.Attribute):
            module = ast.unparse(node.func.value)
            if module in MODULES:
                if draw.random() < 0.2:
                    module = draw.choice(MODULES)
                    node.func.value = expression(module)
                name = node.func.attr + "_"
                writes = draw.random() < 0.2 and name in functions(module)
                node.func.attr = name if writes else draw.choice(functions(module))
            elif is_maker(node.func.value):
                node.func.attr = draw.choice(methods())
        elif kind < 0.5 and node.args:
            del node.args[draw.randrange(len(node.args))]
        elif kind < 0.6 and node.keywords:
            del node.keywords[draw.randrange(len(node.keywords))]
        elif kind < 0.72:
            node.args.insert(draw.randrange(len(node.args) + 1), self._any())
        elif kind < 0.8:
            node.keywords.append(ast.keyword(draw.choice(WORDS), self._any()))
        elif len(node.args) > 1:
            a, b = draw.sample(range(len(node.args)), 2)
            node.args[a], node.args[b] = node.args[b], node.args[a]

    def _value(self, place):
        draw = self._draw
        node = get(place)
        if isinstance(node, ast.keyword):
            node.value = self._any()
        elif isinstance(node, (ast.List, ast.Tuple)) and node.elts and draw.random() < 0.7:
            at = draw.randrange(len(node.elts))
            how = draw.randrange(3)
            if how == 0:
                del node.elts[at]
            elif how == 1:
                node.elts.insert(at, copy.deepcopy(node.elts[at]))
            else:
                node.elts[at] = expression(draw.choice(NUMBERS))
        elif isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            put(place, expression(draw.choice(NUMBERS)) if draw.random() < 0.75 else self._any())
        else:
            put(place, self._any())

    def _any(self):
        draw = self._draw
        return expression(draw.choice(NUMBERS if draw.random() < 0.4 else KINDS))


def word(node, name, value):
    node.keywords = [k for k in node.keywords if k.arg != name]
    node.keywords.append(ast.keyword(name, ast.Constant(value)))


def of_op(draw):
    """A call of a registered op: operands of its dtypes, attributes of their kinds, mostly."""
    op = draw.choice(registry())
    rank = draw.choice((0, 1, 2, 2, 3, 4, 4, 5))
    shape = [draw.choice((1, 2, 3, 4, 5, 6)) for _ in range(rank)]
    dtype = draw.choice(op["inputs"][0]["dtypes"]) if op["inputs"] else "float32"
    parts = []
    for operand in op["inputs"]:
        if operand["optional"] and draw.random() < 0.5:
            parts.append("None")
            continue
        made = [an_operand(draw, operand, shape, dtype) for _ in range(draw.choice((1, 2, 3)))]
        parts.append(f"[{', '.join(made)}]" if operand["list"] else made[0])
        if draw.random() < 0.03:
            parts[-1] = draw.choice(KINDS)
    for attribute in op["attrs"]:
        if draw.random() < 0.3:
            break
        parts.append(an_attribute(draw, attribute, rank))
    return f"ops.{op['name']}({', '.join(parts)})"


def an_operand(draw, operand, shape, dtype):
    shape = list(shape)
    if draw.random() < 0.4:
        for _ in range(draw.choice((1, 2))):
            if shape and draw.random() < 0.6:
                shape[draw.randrange(len(shape))] = draw.choice(SIZES[:10])
            elif shape and draw.random() < 0.5:
                del shape[draw.randrange(len(shape))]
            else:
                shape.append(draw.choice(SIZES[:8]))
    dtype = dtype if dtype in operand["dtypes"] else draw.choice(operand["dtypes"])
    if draw.random() < 0.05:
        dtype = draw.choice(DTYPES)
    words = [str(size) for size in shape] + [f"dtype='{dtype}'", f"seed={draw.randrange(5)}"]
    if draw.random() < 0.1:
        words.append(f"fill='{draw.choice(FILLS)}'")
    if draw.random() < 0.1:
        words.append(f"layout='{draw.choice(LAYOUTS)}'")
    whole = "int" in dtype
    if whole and draw.random() < 0.5:
        words.append(f"high={draw.choice((1, 2, 4))}")
    return f"{'B' if dtype == 'bool' else 'I' if whole else 'T'}({', '.join(words)})"


def an_attribute(draw, attribute, rank):
    kind = attribute["kind"]
    if draw.random() < 0.15:
        return draw.choice(KINDS)
    if draw.random() < 0.25 and attribute["default"]:
        return attribute["default"]
    small = [
        str(draw.choice((0, 1, 2, 3, -1))) for _ in range(draw.choice((rank, rank, 1, 2, 3, 4)))
    ]
    hostile = draw.choice(NUMBERS) if draw.random() < 0.2 else str(draw.choice((-1, 0, 1, 2, 3)))
    if "list" in kind or "array" in kind:
        if small and draw.random() < 0.15:
            small[draw.randrange(len(small))] = draw.choice(NUMBERS)
        return f"[{', '.join(small)}]"
    if kind == "bool":
        return draw.choice(("True", "False"))
    if kind == "str":
        return draw.choice(
            (
                "'mean'",
                "'sum'",
                "'none'",
                "'SAME'",
                "'nearest'",
                "'bilinear'",
                "'constant'",
                "'add'",
                "'max'",
                "''",
            )
        )
    if kind == "dtype":
        return repr(draw.choice(DTYPES))
    return hostile


def is_large(text, limit):
    """Whether a number in the call, or a product of the numbers of a list, is at least `limit`."""
    for node in ast.walk(ast.parse(text.replace(";;", "\n").replace("\n ", "\n"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            if abs(node.value) >= limit:
                return True
        if isinstance(node, (ast.List, ast.Tuple)):
            product = 1
            for item in node.elts:
                if isinstance(item, ast.Constant) and isinstance(item.value, (int, float)):
                    product *= max(1, abs(item.value))
            if product >= limit:
                return True
    return "inf" in text


def is_pythons(text):
    """Whether Python itself may count or multiply for long, given large numbers."""
    return any(word in text for word in ("range(", "**", "*", "for "))


def simpler(text):
    """Calls with something less, the largest steps first."""
    parts = text.split(";;")
    trees = [ast.parse(part.strip()) for part in parts]
    for which, tree in enumerate(trees):
        count = sum(1 for _ in steps(tree))
        for number in range(count):
            smaller = copy.deepcopy(tree)
            for i, step in enumerate(steps(smaller)):
                if i == number:
                    step()
                    break
            changed = [ast.unparse(ast.fix_missing_locations(t)) for t in trees]
            changed[which] = ast.unparse(ast.fix_missing_locations(smaller))
            new = ";; ".join(changed)
            if new != text:
                yield new


def steps(tree):
    """Functions that take something out of `tree` each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for i in range(len(node.keywords) - 1, -1, -1):
                yield functools.partial(node.keywords.__delitem__, i)
            for i in range(len(node.args) - 1, -1, -1):
                yield functools.partial(node.args.__delitem__, i)
        if is_maker(node):
            for i, size in enumerate(node.args):
                if (
                    isinstance(size, ast.Constant)
                    and isinstance(size.value, int)
                    and size.value > 2
                ):
                    yield functools.partial(node.args.__setitem__, i, ast.Constant(2))
        elif isinstance(node, (ast.List, ast.Tuple)):
            for i in range(len(node.elts) - 1, -1, -1):
                yield functools.partial(node.elts.__delitem__, i)
