"""The table of `ops.py`: every row is one expression in each framework, over the same arrays.

An expression names the framework `p` (Paddle and Argosy) or `t` (torch), its `nn.functional` `F`,
the inputs, and what `setup` made. Input makers are below; `S` in an input stands for the row's size.
"""

import numpy as np
from frameworks import Work

SMALL, LARGE = 16, 1000
ROWS = {}


class Narrow:
    """float32 values that become a framework's float16 or bfloat16 tensor."""

    def __init__(self, array, dtype):
        self.array, self.dtype = array, dtype


class Makers:
    """Makers of inputs; each call draws from the row's own generator."""

    def __init__(self):
        random = np.random.RandomState(7)
        self.f = lambda *s: random.uniform(-1, 1, s).astype(np.float32)
        self.d = lambda *s: random.uniform(-1, 1, s)
        self.pos = lambda *s: random.uniform(0.1, 2, s).astype(np.float32)
        self.h = lambda *s: Narrow(self.f(*s), "float16")
        self.bf = lambda *s: Narrow(self.f(*s), "bfloat16")
        self.i = lambda high, *s: random.randint(0, high, s).astype(np.int64)
        self.i32 = lambda high, *s: random.randint(0, high, s).astype(np.int32)
        self.b = lambda share, *s: random.uniform(0, 1, s) < share
        self.perm = lambda n: random.permutation(n).astype(np.int64)
        self.sorted = lambda *s: np.sort(self.f(*s))
        self.spd = lambda *s: self._positive_definite(*s)
        self.uniform = lambda *s: random.uniform(0, 1, s).astype(np.float32)

    def _positive_definite(self, *shape):
        a = self.f(*shape)
        return a @ a.swapaxes(-1, -2) + shape[-1] * np.eye(shape[-1], dtype=np.float32)


class Row:
    def __init__(self, inputs, paddle, torch, grad, size, setups, check):
        self.inputs, self.paddle, self.torch = inputs, paddle, torch
        self.grad, self.size, self.setups, self.check = grad, size, setups, check


def row(
    name, inputs, paddle, torch=None, grad="", sizes=(SMALL, LARGE), setup=("", ""), check=True
):
    """Add rows: one for each size, and one with gradients of the inputs that `grad` names.

    `inputs` is "x=f(S,S); y=f(S)". Without `torch` both frameworks have one expression, but for the
    name of the framework. `setup` has statements run once, for Paddle and torch. `check=False`
    compares shapes only (random results).
    """
    torch = paddle.replace("p.", "t.") if torch is None else torch
    for size in sizes:
        full = f"{name} {size}"
        ROWS[full] = Row(inputs, paddle, torch, [], size, setup, check)
        if grad:
            ROWS[full + " +grad"] = Row(inputs, paddle, torch, grad.split(), size, setup, check)


def build(framework, module, name):
    """The Work of a row in a framework."""
    spec = ROWS[name]
    is_torch = framework == "torch"
    scope = {"t" if is_torch else "p": module, "F": module.nn.functional, "nn": module.nn}
    scope.update(np=np, S=spec.size)
    makers = {"S": spec.size, "np": np, **vars(Makers())}
    for part in filter(None, (part.strip() for part in spec.inputs.split(";"))):
        variable, maker = part.split("=", 1)
        array = eval(maker, makers)
        scope[variable] = tensor(module, is_torch, array, variable in spec.grad)
    exec(spec.setups[is_torch], scope)
    code = spec.torch if is_torch else spec.paddle
    forward = eval(f"lambda: {code}", scope)
    wanted = [w for name in spec.grad for w in parameters(scope[name])]
    if not wanted:
        return Work(forward, lambda: arrays(forward(), spec.check))
    first = main_result(forward())
    seed = np.random.RandomState(3).uniform(0.5, 1.5, tuple(first.shape)).astype(np.float32)
    seed = tensor(module, is_torch, seed, False)
    seed = seed.to(first.dtype) if is_torch else seed.astype(first.dtype)
    gradient = module.autograd.grad if is_torch else module.grad

    def step():
        y = main_result(forward())
        return gradient([y], wanted, [seed])

    return Work(step, lambda: arrays(step(), spec.check))


def tensor(module, is_torch, array, trained):
    if isinstance(array, Narrow):
        if is_torch:
            x = module.from_numpy(array.array).to(getattr(module, array.dtype))
        else:
            x = module.to_tensor(array.array).astype(array.dtype)
    elif isinstance(array, np.ndarray):
        x = module.from_numpy(array) if is_torch else module.to_tensor(array)
    else:
        return array
    if trained:
        if is_torch:
            x.requires_grad_()
        else:
            x.stop_gradient = False
    return x


def parameters(item):
    return list(item.parameters()) if hasattr(item, "parameters") else [item]


def main_result(y):
    while isinstance(y, (list, tuple)):
        y = y[0]
    return y


def arrays(found, check):
    """The arrays of nested results, as float64 so that all dtypes compare; shapes if not `check`."""
    if isinstance(found, (list, tuple)):
        return [array for item in found for array in arrays(item, check)]
    if found is None or isinstance(found, (int, float, bool)):
        return [np.array(0.0 if found is None else float(found)) if check else np.zeros(0)]
    if hasattr(found, "detach"):
        found = found.detach()
        if "bfloat16" in str(found.dtype):
            found = found.astype("float32") if hasattr(found, "astype") else found.float()
        found = found.numpy()
    array = np.asarray(found)
    if not check:
        return [np.array(array.shape, np.float64)]
    if array.dtype.kind == "c":
        array = np.stack([array.real, array.imag])
    return [array.astype(np.float64)]


XY = "x=f(S,S); y=f(S,S)"

# --- elementwise ---------------------------------------------------------------------------------
for op in "exp sin cos tanh sigmoid erf abs square floor round sign expm1 atan".split():
    row(op, "x=f(S,S)", f"p.{op}(x)", grad="x" if op in ("exp", "tanh", "sigmoid", "sin") else "")
for op in "log sqrt rsqrt reciprocal log1p log2".split():
    row(op, "x=pos(S,S)", f"p.{op}(x)", grad="x" if op in ("log", "sqrt") else "")
row("lgamma", "x=pos(S,S)", "p.lgamma(x)")
row("digamma", "x=pos(S,S)", "p.digamma(x)")
row("erfinv", "x=f(S,S)", "p.erfinv(x)")
row("neg", "x=f(S,S)", "-x")
row("clip", "x=f(S,S)", "p.clip(x, -0.5, 0.5)", grad="x")
row("isnan", "x=f(S,S)", "p.isnan(x)")
row("pow 2", "x=pos(S,S)", "p.pow(x, 2.0)", grad="x")
row("pow 2.5", "x=pos(S,S)", "p.pow(x, 2.5)", grad="x")
row("x ** y", "x=pos(S,S); y=f(S,S)", "x ** y", grad="x y")
for op in "relu gelu silu softplus elu leaky_relu hardswish mish log_sigmoid".split():
    torch_name = {"log_sigmoid": "logsigmoid"}.get(op, op)
    row(op, "x=f(S,S)", f"F.{op}(x)", f"F.{torch_name}(x)", grad="x")
row("gelu tanh", "x=f(S,S)", "F.gelu(x, True)", "F.gelu(x, approximate='tanh')", grad="x")
row("glu", "x=f(S,S)", "F.glu(x)", grad="x")
row("tanh threads", "x=f(75,S)", "p.tanh(x)", sizes=(80,))
row("exp threads", "x=f(75,S)", "p.exp(x)", sizes=(80,))

for op in "+ - * /".split():
    row(f"x {op} y", "x=f(S,S); y=pos(S,S)", f"x {op} y", grad="x y" if op in "*/" else "")
row("x + row", "x=f(S,S); y=f(S)", "x + y", grad="x y")
row("x + column", "x=f(S,S); y=f(S,1)", "x + y", grad="x y")
row("x * channel", "x=f(4,S,25,10); y=f(S,1,1)", "x * y", grad="x y")
row("row + column", "x=f(S,1); y=f(S)", "x + y", grad="x y")
row("x * number", "x=f(S,S)", "x * 1.5", grad="x")
row("1 - x", "x=f(S,S)", "1 - x")
row("x + transposed", XY, "x + y.T")
row("maximum", XY, "p.maximum(x, y)", grad="x y")
row("atan2", XY, "p.atan2(x, y)")
row("lerp", XY, "p.lerp(x, y, 0.3)")
row("int x // y", "x=i(1000,S,S); y=i(9,S,S)+1", "x // y")
row("int x % y", "x=i(1000,S,S); y=i(9,S,S)+1", "x % y")
row("int x + y", "x=i(1000,S,S); y=i(9,S,S)", "x + y")
row("int x * 3", "x=i(1000,S,S)", "x * 3")
row("int32 x & y", "x=i32(1000,S,S); y=i32(9,S,S)", "x & y")
row("mod", "x=pos(S,S); y=pos(S,S)", "p.remainder(x, y)")
for op, mark in (("less", "<"), ("equal", "=="), ("greater_equal", ">=")):
    row(op, XY, f"x {mark} y")
row("x > number", "x=f(S,S)", "x > 0.5")
row("int == number", "x=i(9,S,S)", "x == 3")
row("logical_and", "x=b(0.5,S,S); y=b(0.5,S,S)", "p.logical_and(x, y)")
row("logical_not", "x=b(0.5,S,S)", "p.logical_not(x)")
row("where", XY + "; c=b(0.5,S,S)", "p.where(c, x, y)", grad="x y")
row("where number", "x=f(S,S); c=b(0.5,S,S)", "p.where(c, x, p.zeros_like(x))")
row("masked_fill", "x=f(S,S); c=b(0.5,S,S)", "x.masked_fill(c, -1.0)", grad="x")
row("addition in place", XY, "x.add_(y)", check=False)
row("fma chain", XY, "x * y + x * 2.0 - y", grad="x y")

# --- narrow and other dtypes -----------------------------------------------------------------------
for kind in ("h", "bf"):
    row(f"{kind} x + y", f"x={kind}(S,S); y={kind}(S,S)", "x + y", grad="x y")
    row(f"{kind} exp", f"x={kind}(S,S)", "p.exp(x)")
    row(f"{kind} gelu", f"x={kind}(S,S)", "F.gelu(x)")
    row(f"{kind} sum", f"x={kind}(S,S)", "x.sum(-1)", check=kind == "h")
    row(f"{kind} softmax", f"x={kind}(S,S)", "F.softmax(x, -1)", check=kind == "h")
    row(f"{kind} layer_norm", f"x={kind}(S,S); w={kind}(S); b={kind}(S)",
        "F.layer_norm(x, [S], w, b)", check=kind == "h")  # fmt: skip
    row(f"{kind} matmul", f"x={kind}(S,S); y={kind}(S,S)", "p.matmul(x, y)", sizes=(16, 512))
    row(f"{kind} to float", f"x={kind}(S,S)", "x.astype('float32')", "x.float()")
row("d exp", "x=d(S,S)", "p.exp(x)")
row("d x * y", "x=d(S,S); y=d(S,S)", "x * y")
row("d sum", "x=d(S,S)", "x.sum()")
for source, target in (
    ("f(S,S)", "float16"), ("f(S,S)", "bfloat16"), ("f(S,S)", "int64"), ("f(S,S)", "float64"),
    ("f(S,S)", "bool"), ("i(9,S,S)", "float32"), ("i(9,S,S)", "int32"), ("b(0.5,S,S)", "float32"),
    ("b(0.5,S,S)", "int64"), ("i32(9,S,S)", "int64"),
):  # fmt: skip
    row(f"cast {source.split('(')[0]} to {target}", f"x={source}", f"x.astype('{target}')",
        f"x.to(t.{target})")  # fmt: skip

# --- masks, indexing, assignment -------------------------------------------------------------------
for share in (0.01, 0.5, 0.99):
    c = f"c=b({share},S,S)"
    row(f"x[mask {share}]", f"x=f(S,S); {c}", "x[c]", grad="x" if share == 0.5 else "")
    row(f"nonzero {share}", c, "p.nonzero(c)")
row("masked_select", "x=f(S,S); c=b(0.5,S,S)", "p.masked_select(x, c)", grad="x")
row("masked_select int", "x=i(9,S,S); c=b(0.5,S,S)", "p.masked_select(x, c)")
row("x[x > 0]", "x=f(S,S)", "x[x > 0]")
row("x[row mask]", "x=f(S,S); c=b(0.5,S)", "x[c]", grad="x")
row("x[mask] = 0", "x=f(S,S); c=b(0.5,S,S)", "x.__setitem__(c, 0.0)", check=False)
row("x[row mask] = 0", "x=f(S,S); c=b(0.5,S)", "x.__setitem__(c, 0.0)", check=False)
row("nonzero float", "x=np.maximum(f(S,S),0)", "p.nonzero(x)")
row("nonzero 1-d", "x=b(0.5,S*S)", "p.nonzero(x)")
row("nonzero tuple", "c=b(0.5,S,S)", "p.nonzero(c, as_tuple=True)", check=False)
row("where index", "c=b(0.5,S,S)", "p.where(c)", check=False)
row("count_nonzero", "c=b(0.5,S,S)", "p.count_nonzero(c)")
row("unique few", "x=i(10,S*S)", "p.unique(x)")
row("unique inverse", "x=i(1000,S*S)", "p.unique(x, return_inverse=True, return_counts=True)",
    check=False)  # fmt: skip
row("unique many", "x=i(10**9,S*S)", "p.unique(x)")
row("unique float", "x=f(S*S)", "p.unique(x)")
row("unique floats few", "x=i(10,S*S).astype(np.float32)", "p.unique(x)")
row("unique_consecutive", "x=np.sort(i(100,S*S))", "p.unique_consecutive(x)")
row("unique axis", "x=i(3,S,4)", "p.unique(x, axis=0)", "t.unique(x, dim=0)")

row("index_select 0", "x=f(S,S); k=i(S,S)", "p.index_select(x, k, 0)", grad="x")
row("index_select 1", "x=f(S,S); k=i(S,S)", "p.index_select(x, k, 1)", grad="x")
row("x[index]", "x=f(S,S); k=i(S,S)", "x[k]", grad="x")
row("x[:, index]", "x=f(S,S); k=i(S,S)", "x[:, k]", grad="x")
row("x[i, j]", "x=f(S,S); k=i(S,S,16); l=i(S,S,16)", "x[k, l]", grad="x")
row("take many", "x=f(S*S); k=i(S*S,S*S)", "x[k]", grad="x")
row("gather", "x=f(S,S); k=i(S,S)", "p.gather(x, k)", "t.index_select(x, 0, k)", grad="x")
row("gather_nd", "x=f(S,S,16); k=i(S,S,2)", "p.gather_nd(x, k)", "x[k[:, 0], k[:, 1]]", grad="x",
    sizes=(16, 256))  # fmt: skip
row("scatter", "x=f(S,S); k=perm(S); y=f(S,S)", "p.scatter(x, k, y)", "x.index_copy(0, k, y)")
row("scatter add", "x=f(S,S); k=i(S,S); y=f(S,S)", "p.scatter(x*1, k, y, overwrite=False)",
    "(x*1).index_add_(0, k, y)", check=False)  # fmt: skip
row("scatter_nd_add", "x=f(S,S); k=i(S,S,1); y=f(S,S)", "p.scatter_nd_add(x, k, y)",
    "x.index_put((k[:, 0],), y, accumulate=True)", grad="x y")  # fmt: skip
row("take_along_axis 1", "x=f(S,S); k=i(S,S,S)", "p.take_along_axis(x, k, 1)",
    "t.take_along_dim(x, k, 1)", grad="x")  # fmt: skip
row("take_along_axis 0", "x=f(S,S); k=i(S,S,S)", "p.take_along_axis(x, k, 0)",
    "t.take_along_dim(x, k, 0)")  # fmt: skip
row("put_along_axis", "x=f(S,S); k=i(S,S,S); y=f(S,S)", "p.put_along_axis(x, k, y, 1)",
    "x.scatter(1, k, y)", check=False)  # fmt: skip
row("put_along_axis add", "x=f(S,S); k=i(S,S,S); y=f(S,S)",
    "p.put_along_axis(x, k, y, 1, reduce='add')", "x.scatter_add(1, k, y)")  # fmt: skip
row("index_add", "x=f(S,S); k=i(S,S); y=f(S,S)", "p.index_add(x, k, 0, y)",
    "x.index_add(0, k, y)", grad="x y")  # fmt: skip
row("index_put", "x=f(S,S); k=i(S,S); l=i(S,S); y=f(S)", "p.index_put(x, (k, l), y)",
    "x.index_put((k, l), y)", check=False)  # fmt: skip
row("x[1:3]", "x=f(S,S)", "x[1:3]", grad="x")
row("x[:, 0]", "x=f(S,S)", "x[:, 0]")
row("x[i]", "x=f(S,S)", "x[3]")
row("x[..., ::2]", "x=f(S,S)", "x[..., ::2] + 1", grad="x")
row("x[None]", "x=f(S,S)", "x[None, :, None]")
row("x[1:3] = 0", "x=f(S,S)", "x.__setitem__(slice(1, 3), 0.0)", check=False)
row("x[:, 1:9] = y", "x=f(S,S); y=f(S,8)", "x.__setitem__((slice(None), slice(1, 9)), y)",
    check=False)  # fmt: skip
row("x[index] = y", "x=f(S,S); k=perm(S); y=f(S,S)", "x.__setitem__(k, y)", check=False)
row("iterate", "x=f(S,S)", "[r for r in x]", sizes=(16,))

# --- arranging -------------------------------------------------------------------------------------
row("concat 0", XY, "p.concat([x, y], 0)", "t.cat([x, y], 0)", grad="x y")
row("concat 1", XY, "p.concat([x, y], 1)", "t.cat([x, y], 1)", grad="x y")
row("concat many", "x=f(S,S)", "p.concat([x] * 50)", "t.cat([x] * 50)", sizes=(16, 128))
row("stack 0", XY, "p.stack([x, y])", grad="x y")
row("stack last", XY, "p.stack([x, y], -1)", grad="x y")
row("split", "x=f(S,S)", "p.split(x, 4, 1)", "t.split(x, S // 4, 1)", grad="x")
row("chunk", "x=f(S,S)", "p.chunk(x, 4)", grad="x")
row("unbind", "x=f(S,S)", "p.unbind(x)", sizes=(16, 256))
row("tile", "x=f(S,S)", "p.tile(x, [2, 2])", grad="x")
row("expand + 0", "x=f(1,S)", "x.expand([S, S]) + 0.0", "x.expand(S, S) + 0.0", grad="x")
row("roll", "x=f(S,S)", "p.roll(x, 3, 1)", "t.roll(x, 3, 1)", grad="x")
row("flip", "x=f(S,S)", "p.flip(x, [1])", grad="x")
row("flip 0", "x=f(S,S)", "p.flip(x, [0])")
row("pad", "x=f(4,S,50,20)", "F.pad(x, [1, 1, 1, 1])", grad="x")
row("pad reflect", "x=f(4,S,50,20)", "F.pad(x, [1, 1, 1, 1], mode='reflect')", grad="x",
    sizes=(4, 200))  # fmt: skip
row("transpose copy", "x=f(S,S)", "x.T.contiguous()")
row("permute copy", "x=f(8,S,12,10)", "p.transpose(x, [0, 2, 1, 3]).contiguous()",
    "x.permute(0, 2, 1, 3).contiguous()")  # fmt: skip
row("nhwc copy", "x=f(8,S,12,10)", "p.transpose(x, [0, 2, 3, 1]).contiguous()",
    "x.permute(0, 2, 3, 1).contiguous()")  # fmt: skip
row("reshape", "x=f(S,S)", "x.reshape([S * S])", "x.reshape(S * S)", grad="x")
row("reshape -1", "x=f(S,S)", "p.reshape(x, [-1, 2])", "t.reshape(x, [-1, 2])")
row("squeeze", "x=f(S,1,S)", "x.squeeze(1)", grad="x")
row("flatten", "x=f(S,4,S)", "x.flatten(1)")
row("repeat_interleave", "x=f(S,S)", "p.repeat_interleave(x, 2, 0)", grad="x")
row("repeat_interleave 1", "x=f(S,S)", "p.repeat_interleave(x, 2, 1)")
row("tril", "x=f(S,S)", "p.tril(x)", grad="x")
row("diag", "x=f(S)", "p.diag(x)")
row("meshgrid", "x=f(S); y=f(S)", "p.meshgrid(x, y)", "t.meshgrid(x, y, indexing='ij')")
row("arange", "", "p.arange(S * S)")
row("zeros", "", "p.zeros([S, S])")
row("ones", "", "p.ones([S, S])")
row("full", "", "p.full([S, S], 2.5)")
row("full int", "", "p.full([S, S], 2, dtype='int64')", "t.full([S, S], 2)")
row("zeros_like", "x=f(S,S)", "p.zeros_like(x)")
row("eye", "", "p.eye(S)")
row("linspace", "", "p.linspace(0, 1, S * S)")
row("clone", "x=f(S,S)", "x.clone()", grad="x")
row("one_hot", "k=i(S,S)", "F.one_hot(k, S)", check=False)
row("unfold", "x=f(4,8,S,S)", "F.unfold(x, 3)", grad="x", sizes=(8, 64))

# --- reductions ------------------------------------------------------------------------------------
for op in "sum mean amax logsumexp".split():
    for axis in (0, 1):
        row(f"{op} {axis}", "x=f(S,S)", f"p.{op}(x, {axis})", grad="x")
row("sum", "x=f(S,S)", "x.sum()", grad="x")
row("mean", "x=f(S,S)", "x.mean()", grad="x")
row("max", "x=f(S,S)", "x.max()")  # Paddle takes minutes for its gradient at the large size
row("max 0", "x=f(S,S)", "p.max(x, 0)", "t.amax(x, 0)")
row("max 1", "x=f(S,S)", "p.max(x, 1)", "t.amax(x, 1)")
row("sum middle", "x=f(20,S,50)", "p.sum(x, 1)", grad="x")
row("sum [0, 2]", "x=f(20,S,50)", "p.sum(x, [0, 2])", "t.sum(x, [0, 2])", grad="x")
row("mean keepdim", "x=f(S,S)", "x.mean(-1, keepdim=True)", grad="x")
row("int sum", "x=i(9,S,S)", "x.sum()")
row("int max 1", "x=i(9,S,S)", "p.max(x, 1)", "t.amax(x, 1)")
row("bool sum", "x=b(0.5,S,S)", "x.sum()")
row("bool sum 1", "x=b(0.5,S,S)", "x.sum(1)")
row("argmax", "x=f(S,S)", "p.argmax(x)")
row("argmax 0", "x=f(S,S)", "p.argmax(x, 0)")
row("argmax 1", "x=f(S,S)", "p.argmax(x, 1)")
row("argmin 1", "x=f(S,S)", "p.argmin(x, 1)")
row("prod 1", "x=pos(S,S)", "p.prod(x, 1)", check=False)
row("any", "x=np.zeros((S,S),bool)", "p.any(x)")
row("all 1", "x=b(0.999,S,S)", "p.all(x, 1)")
row("norm", "x=f(S,S)", "p.linalg.norm(x)", grad="x")
row("norm 1", "x=f(S,S)", "p.linalg.norm(x, axis=1)", "t.linalg.norm(x, dim=1)", grad="x")
row("norm p=1 axis 0", "x=f(S,S)", "p.linalg.norm(x, 1, 0)", "t.linalg.vector_norm(x, 1, 0)")
row("std", "x=f(S,S)", "x.std()", grad="x")
row("std 1", "x=f(S,S)", "p.std(x, 1)", grad="x")
row("var 0", "x=f(S,S)", "p.var(x, 0)", grad="x")
row("median 1", "x=f(S,999)", "p.median(x, 1)", "t.median(x, 1).values")
row("quantile 1", "x=f(S,S)", "p.quantile(x, 0.3, 1)", "t.quantile(x, 0.3, 1)")
row("cumsum 0", "x=f(S,S)", "p.cumsum(x, 0)", grad="x")
row("cumsum 1", "x=f(S,S)", "p.cumsum(x, 1)", grad="x")
row("cumsum int", "x=i(9,S*S)", "p.cumsum(x, 0)")
row("cumprod 1", "x=pos(S,S)", "p.cumprod(x, 1)", check=False)
row("cummax 1", "x=f(S,S)", "p.cummax(x, 1)")
row("logcumsumexp 1", "x=f(S,S)", "p.logcumsumexp(x, 1)", grad="x")
row("diff", "x=f(S,S)", "p.diff(x)")
row("allclose", XY, "p.allclose(x, x)", check=False)
row("equal_all", XY, "p.equal_all(x, x)", "t.equal(x, x)", check=False)

# --- order -----------------------------------------------------------------------------------------
row("sort 1", "x=f(S,S)", "p.sort(x, 1)", "t.sort(x, 1).values", grad="x")
row("sort 0", "x=f(S,S)", "p.sort(x, 0)", "t.sort(x, 0).values")
row("sort flat", "x=f(S*S)", "p.sort(x)", "t.sort(x).values")
row("sort int", "x=i(10**6,S*S)", "p.sort(x)", "t.sort(x).values")
row("argsort 1", "x=f(S,S)", "p.argsort(x, 1)", check=False)  # ties
row("argsort int", "x=i(10**6,S*S)", "p.argsort(x, stable=True)", "t.argsort(x, stable=True)")
row("topk 5", "x=f(S,S)", "p.topk(x, 5)", grad="x")
row("topk 100", "x=f(S,S)", "p.topk(x, 100)", sizes=(128, 1000))
row("topk flat", "x=f(S*S)", "p.topk(x, 10)")
row("kthvalue", "x=f(S,S)", "p.kthvalue(x, 5)", "t.kthvalue(x, 5)", grad="x")
row("mode", "x=i(9,S,S)", "p.mode(x)", check=False, sizes=(16, 300))
row("searchsorted", "x=sorted(S); y=f(S,S)", "p.searchsorted(x, y)")
row("bucketize", "x=sorted(20); y=f(S,S)", "p.bucketize(y, x)")
row("bincount", "x=i(100,S*S)", "p.bincount(x)")
row("bincount weights", "x=i(100,S*S); y=f(S*S)", "p.bincount(x, y)")
row("histogram", "x=f(S*S)", "p.histogram(x, 50, -1, 1)", "t.histc(x, 50, -1, 1)")

# --- products --------------------------------------------------------------------------------------
row("matmul", XY, "p.matmul(x, y)", grad="x y", sizes=(8, 32, 100, 512))
row("matmul x yT", XY, "p.matmul(x, y, transpose_y=True)", "x @ y.T", sizes=(16, 512))
row("matmul xT y", XY, "p.matmul(x, y, transpose_x=True)", "x.T @ y", sizes=(16, 512))
row("matrix vector", "x=f(S,S); y=f(S)", "p.matmul(x, y)", grad="x y")
row("vector matrix", "x=f(S); y=f(S,S)", "p.matmul(x, y)", grad="x y")
row("dot", "x=f(S*S); y=f(S*S)", "p.dot(x, y)", grad="x y")
row("outer", "x=f(S); y=f(S)", "p.outer(x, y)", grad="x y")
row("tall", "x=f(S*20,S); y=f(S,10)", "p.matmul(x, y)", grad="x y", sizes=(16, 200))
row("tall 3", "x=f(S*S,3); y=f(3,3)", "p.matmul(x, y)", grad="x y", sizes=(16, 300))
row("row batch 1", "x=f(1,S); y=f(S,S)", "p.matmul(x, y)")
row("xT x", "x=f(S*S,10)", "p.matmul(x, x, transpose_x=True)", "x.T @ x", sizes=(16, 300))
row("bmm 4x4", "x=f(S*S,4,4); y=f(S*S,4,4)", "p.bmm(x, y)", grad="x y", sizes=(4, 100))
row("bmm 16x16", "x=f(S,16,16); y=f(S,16,16)", "p.bmm(x, y)", grad="x y")
row("bmm 64x64", "x=f(S,64,64); y=f(S,64,64)", "p.bmm(x, y)", grad="x y", sizes=(4, 64))
row("bmm shared", "x=f(S,50,64); y=f(64,64)", "p.matmul(x, y)", grad="x y", sizes=(4, 64))
row("int matmul", "x=i(9,S,S); y=i(9,S,S)", "p.matmul(x, y)", sizes=(16, 128))
row("d matmul", "x=d(S,S); y=d(S,S)", "p.matmul(x, y)", sizes=(16, 300))
row("addmm", XY + "; z=f(S,S)", "p.addmm(z, x, y)", grad="x y", sizes=(16, 300))
row("einsum ij,jk", XY, "p.einsum('ij,jk->ik', x, y)", grad="x y", sizes=(16, 300))
row("einsum bhqd", "x=f(4,8,S,64); y=f(4,8,S,64)", "p.einsum('bhqd,bhkd->bhqk', x, y)",
    grad="x y", sizes=(8, 100))  # fmt: skip
row("einsum bi,bi", XY, "p.einsum('bi,bi->b', x, y)", grad="x y")
row("tensordot", "x=f(S,8,8); y=f(8,8,S)", "p.tensordot(x, y, 2)", sizes=(16, 200))
row("kron", "x=f(S,S); y=f(4,4)", "p.kron(x, y)", sizes=(16, 200))
row("linear", "x=f(S,S); w=f(S,S); b=f(S)", "F.linear(x, w, b)", "F.linear(x, w.T, b)",
    grad="x w b", sizes=(8, 64, 512))  # fmt: skip
row("linear 3-d", "x=f(8,S,S); w=f(S,S); b=f(S)", "F.linear(x, w, b)", "F.linear(x, w.T, b)",
    grad="x w b", sizes=(16, 128))  # fmt: skip
row("cdist", "x=f(S,16); y=f(S,16)", "p.cdist(x, y)", grad="x y", sizes=(16, 500))
row("cross", "x=f(S*S,3); y=f(S*S,3)", "p.cross(x, y)", "t.linalg.cross(x, y)", sizes=(16, 500))
row("cosine_similarity", XY, "F.cosine_similarity(x, y)", "F.cosine_similarity(x, y)", grad="x")

# --- decompositions --------------------------------------------------------------------------------
for n in ("4,4", "S,S"):
    batch = "S," if n == "4,4" else ""
    tag, size = ("batch", (8, 500)) if batch else ("one", (8, 200))
    m = f"x=spd({batch}{n}); y=f({batch}{n})"
    row(f"inv {tag}", m, "p.linalg.inv(x)", grad="x", sizes=size)
    row(f"solve {tag}", m, "p.linalg.solve(x, y)", grad="x y", sizes=size)
    row(f"cholesky {tag}", m, "p.linalg.cholesky(x)", grad="x", sizes=size)
    row(f"det {tag}", m, "p.linalg.det(x * 0.1)", sizes=(8,) if tag == "one" else size)
    row(f"qr {tag}", m, "p.linalg.qr(y)", check=False, sizes=size)
    row(f"svd {tag}", m, "p.linalg.svd(y)", "t.linalg.svd(y, False)", check=False, sizes=size)
    row(f"eigh {tag}", m, "p.linalg.eigh(x)", check=False, sizes=size)
row(
    "slogdet",
    "x=spd(S,S)",
    "p.linalg.slogdet(x)",
    "t.stack(tuple(t.linalg.slogdet(x)))",
    check=False,
    sizes=(8, 200),
)
row("matrix_power", "x=f(S,S)*0.1", "p.linalg.matrix_power(x, 5)", sizes=(8, 200))
row("lstsq", "x=f(S*2,S); y=f(S*2,3)", "p.linalg.lstsq(x, y)[0]", "t.linalg.lstsq(x, y)[0]",
    sizes=(8, 100))  # fmt: skip
row("triangular_solve", "x=np.tril(spd(S,S)); y=f(S,S)",
    "p.linalg.triangular_solve(x, y, upper=False)",
    "t.linalg.solve_triangular(x, y, upper=False)", sizes=(8, 200))  # fmt: skip
