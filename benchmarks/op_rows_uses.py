"""More rows of `ops.py`: operands as programs have them.

Short last axes, broadcasting over the first, middle and last axis, strided operands, exponents and
quotients of one number, losses of images, windows, gradients of what is seldom trained.
"""

from op_rows import row

X = "x=f(S,S)"
POSITIVE = "x=pos(S,S)"
XY = "x=f(S,S); y=f(S,S)"
SIZES = (3, 316)
SHORT = "x=pos(8,S,40)"  # rows of 40 elements
IMAGES = "x=f(4,8,S,S)"

# --- elementwise -----------------------------------------------------------------------------------
for exponent in ("2", "3", "4", "0.5", "-1", "-2", "1.5"):
    row(f"x ** {exponent}", POSITIVE, f"x ** {exponent}", grad="x", sizes=SIZES)
row("int x ** 3", "x=i(9,S,S)", "x ** 3", sizes=SIZES)
for op in ("//", "%"):
    row(f"int64 x {op} y", "x=i(1000,S,S)-500; y=i(9,S,S)+1", f"x {op} y", sizes=SIZES)
    row(f"int32 x {op} y", "x=i32(1000,S,S)-500; y=i32(9,S,S)+1", f"x {op} y", sizes=SIZES)
    row(f"int64 x {op} 7", "x=i(1000,S,S)-500", f"x {op} 7", sizes=SIZES)
for op in "digamma lgamma i0 nan_to_num".split():
    torch = "t.special.i0(x)" if op == "i0" else None
    row(f"uses {op}", POSITIVE, f"p.{op}(x)", torch, grad="x", sizes=SIZES)
row("d tanh", "x=d(S,S)", "p.tanh(x)", grad="x", sizes=SIZES)
row("d sin", "x=d(S,S)", "p.sin(x)", grad="x", sizes=SIZES)
row("logaddexp", XY, "p.logaddexp(x, y)", grad="x y", sizes=SIZES)
row("prelu", "x=f(4,S,S); w=f(S)", "F.prelu(x, w)", grad="x w", sizes=(3, 160))
row("dropout2d", "x=f(8,S,8,8)", "F.dropout2d(x, 0.3)", grad="x", check=False, sizes=SIZES)
row("short * column", "x=f(8,S,40); y=f(S,1)", "x * y", grad="x y", sizes=SIZES)
row("short * row", "x=f(8,S,40); y=f(40)", "x * y", grad="x y", sizes=SIZES)
row("short * first", "x=f(8,S,40); y=f(8,1,1)", "x * y", grad="x y", sizes=SIZES)
row("column * row", "x=f(S,1); y=f(1,S)", "x * y", grad="x y", sizes=SIZES)
row("swapped * 1", "x=f(8,S,40)", "x.swapaxes(0, 1) * 1", grad="x", sizes=SIZES)
row("fill_", X, "x.fill_(1.0)", check=False, sizes=SIZES)

# --- reductions ------------------------------------------------------------------------------------
for op in "sum mean amax logsumexp prod".split():
    for axis in (0, 1, -1):
        row(f"short {op} {axis}", SHORT, f"p.{op}(x, {axis})", grad="x", sizes=SIZES)
row("short sum [0, 2]", SHORT, "p.sum(x, [0, 2])", grad="x", sizes=SIZES)
row("mean of planes", "x=f(8,S,8,5)", "p.mean(x, [2, 3])", grad="x", sizes=SIZES)
row("nansum 1", X, "p.nansum(x, 1)", grad="x", sizes=SIZES)
row("cummax 0", X, "p.cummax(x, 0)", grad="x", sizes=SIZES)
row("median 0", X, "p.median(x, 0, mode='min')[0]", "t.median(x, 0).values", grad="x", sizes=SIZES)
row("nanmedian 1", X, "p.nanmedian(x, 1, mode='min')[0]", "t.nanmedian(x, 1).values", grad="x",
    sizes=SIZES)  # fmt: skip
row("quantile 0", X, "p.quantile(x, 0.3, 0)", "t.quantile(x, 0.3, 0)", grad="x", sizes=SIZES)

# --- indexing and arranging ------------------------------------------------------------------------
row("gather 1", "x=f(S,S); k=i(S,S)", "p.gather(x, k, axis=1)", "t.index_select(x, 1, k)",
    grad="x", sizes=SIZES)  # fmt: skip
row("index_add 1", "x=f(S,S); k=i(S,S); y=f(S,S)", "p.index_add(x, k, 1, y)",
    "t.index_add(x, 1, k, y)", grad="x y", sizes=SIZES)  # fmt: skip
row("repeat_interleave each", "x=f(S,S); k=i(3,S)", "p.repeat_interleave(x, k, 0)", grad="x",
    sizes=SIZES)  # fmt: skip
row("pad 1-d", "x=f(8,S,40)", "F.pad(x, [1, 1], data_format='NCL')", "F.pad(x, [1, 1])", grad="x",
    sizes=SIZES)  # fmt: skip
for mode in "constant reflect replicate circular".split():
    row(f"pad images {mode}", IMAGES, f"F.pad(x, [1, 1, 1, 1], mode='{mode}')", grad="x",
        sizes=(3, 56))  # fmt: skip
row("diagonal matrix", "x=f(S)", "p.diag(x)", grad="x", sizes=SIZES)
row("tensor unfold", "x=f(S*S)", "x.unfold(0, 4, 2) * 1", grad="x", sizes=SIZES)

# --- losses ----------------------------------------------------------------------------------------
row("cross_entropy images", "x=f(4,10,S,S); k=i(10,4,S,S)", "F.cross_entropy(x, k, axis=1)",
    "F.cross_entropy(x, k)", grad="x", sizes=(3, 50))  # fmt: skip
row("cross_entropy 10", "x=f(S*10,10); k=i(10,S*10)", "F.cross_entropy(x, k)", grad="x",
    sizes=SIZES)  # fmt: skip
row("huber", XY, "F.smooth_l1_loss(x, y, delta=2.0)", "F.huber_loss(x, y, delta=2.0)",
    grad="x y", sizes=SIZES)  # fmt: skip

# --- float64 and special functions -----------------------------------------------------------------
for op in "exp log log1p expm1 cos atan sigmoid erf".split():
    row(f"d {op}", "x=d(S,S)*0.9" + " + 1.1" * ("log" in op), f"p.{op}(x)", sizes=SIZES)
for op in "silu gelu softplus elu".split():
    row(f"d {op}", "x=d(S,S)", f"F.{op}(x)", grad="x", sizes=SIZES)
row("d softmax", "x=d(S,S)", "F.softmax(x, -1)", grad="x", sizes=SIZES)
row("d log_softmax", "x=d(S,S)", "F.log_softmax(x, -1)", grad="x", sizes=SIZES)
row("d atan2", "x=d(S,S); y=d(S,S)", "p.atan2(x, y)", sizes=SIZES)
row("d row batch 1", "x=d(1,S*3); y=d(S*3,S*3)", "p.matmul(x, y)", sizes=SIZES)
for op in "i0e i1 i1e".split():
    row(op, POSITIVE, f"p.{op}(x)", f"t.special.{op}(x)", sizes=SIZES)
for op in "sum mean abs angle".split():
    axis = ", 1" if op in ("sum", "mean") else ""
    row(f"complex {op}", "x=f(S,S)+1j*f(S,S)", f"p.{op}(x{axis})", sizes=SIZES)

# --- contractions as programs write them -----------------------------------------------------------
for equation, inputs in (
    ("ij,kj->ik", XY), ("ij,ij->i", XY), ("i,j->ij", "x=f(S); y=f(S)"), ("ij->ji", X), ("ii->i", X),
    ("bij,bkj->bik", "x=f(8,S,16); y=f(8,S,16)"), ("bld,bl->bd", "x=f(8,S,16); y=f(8,S)"),
    ("bqhd,bkhd->bhqk", "x=f(2,S,4,16); y=f(2,S,4,16)"),
):  # fmt: skip
    operands = "x, y" if "y=" in inputs else "x"
    row(f"einsum {equation}", inputs, f"p.einsum('{equation}', {operands})",
        grad=operands.replace(",", ""), sizes=(3, 64))  # fmt: skip
row("column times row", "x=f(S,1); y=f(1,S)", "p.matmul(x, y)", grad="x y", sizes=(16, 1000))

# --- order, counting, scattering -------------------------------------------------------------------
row("argsort ints near", "x=i(10**9,S*S)", "p.argsort(x)", check=False, sizes=SIZES)
row("bincount int32", "x=i32(50,S*S)", "p.bincount(x)", sizes=SIZES)
for reduce, torch_reduce in (("multiply", "prod"), ("amax", "amax"), ("mean", "mean")):
    for axis in (0, 1):
        row(f"put_along_axis {reduce} {axis}", "x=f(S,S); k=i(S,S,S); y=f(S,S)",
            f"p.put_along_axis(x, k, y, {axis}, reduce='{reduce}')",
            f"x.scatter_reduce({axis}, k, y, '{torch_reduce}')", sizes=SIZES)  # fmt: skip

# --- windows and images ----------------------------------------------------------------------------
for mode in ("bilinear", "nearest"):
    row(f"grid_sample {mode}", IMAGES + "; g=f(4,S,S,2)",
        f"F.grid_sample(x, g, mode='{mode}', align_corners=False)", grad="x g", check=False,
        sizes=(3, 28))  # fmt: skip
row("interpolate area", IMAGES, "F.interpolate(x, [2 * S, 2 * S], mode='area')", grad="x",
    sizes=(3, 28))  # fmt: skip
row("interpolate half", IMAGES, "F.interpolate(x, [S // 2 + 1, S // 2 + 1], mode='bilinear')",
    grad="x", sizes=(3, 28))  # fmt: skip
row("avg_pool2d 7", IMAGES, "F.avg_pool2d(x, 7)", grad="x", sizes=(7, 28))
row("adaptive_max_pool2d 3", IMAGES, "F.adaptive_max_pool2d(x, 3)", grad="x", sizes=(7, 28))
