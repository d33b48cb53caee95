"""Random indexing, and chains of views and writes on one tensor, for calls.py."""

STARTS = (
    "0",
    "1",
    "-1",
    "2",
    "-2",
    "5",
    "-7",
    "100",
    "9223372036854775807",
    "-9223372036854775808",
)
STEPS = ("1", "2", "-1", "-2", "3", "0", "7", "-9223372036854775808", "9223372036854775807")
DTYPES = "float32 float32 float64 int64 int32 bool complex64 float16 bfloat16 uint8".split()
LAYOUTS = ("transposed", "strided", "expanded", "reversed", "negative", "middle")
VALUES = (
    "0", "1.5", "-1", "True", "T()", "T(1)", "T(4, 1)", "T(2, 3, 4)", "I(3)", "T(0)", "B(2)", "x", "x[0]", "x.flip([0])", "None",
    "'a'", "[1, 2]", "np.ones([2])", "1j", "float('nan')", "T(3, dtype='float64')", "T(4, grad=True)",
)  # fmt: skip


def a_maker(draw, rank=None):
    """A maker of an operand with dimensions."""
    rank = draw.choice((1, 2, 2, 3, 4)) if rank is None else rank
    sizes = [str(draw.choice((0, 1, 2, 3, 4, 5, 7))) for _ in range(rank)]
    words = [f"dtype='{draw.choice(DTYPES)}'"]
    if draw.random() < 0.4:
        words.append(f"layout='{draw.choice(LAYOUTS)}'")
    return f"T({', '.join(sizes + words)})"


def a_slice(draw):
    parts = [draw.choice(STARTS) if draw.random() < 0.6 else "None" for _ in range(2)]
    step = draw.choice(STEPS) if draw.random() < 0.5 else "None"
    return f"slice({parts[0]}, {parts[1]}, {step})"


def an_index(draw):
    """One item between the brackets."""
    kind = draw.randrange(10)
    if kind < 3:
        return a_slice(draw)
    if kind == 3:
        return draw.choice(STARTS)
    if kind == 4:
        return draw.choice(("None", "Ellipsis", "Ellipsis", "True", "False"))
    if kind == 5:
        return f"[{', '.join(draw.choice(STARTS[:7]) for _ in range(draw.randrange(4)))}]"
    if kind == 6:
        sizes = ", ".join(str(draw.randrange(5)) for _ in range(draw.randrange(4)))
        return f"B({sizes})"
    if kind == 7:
        sizes = "".join(f"{draw.randrange(4)}, " for _ in range(draw.randrange(3)))
        low = draw.choice((0, -2, -5))
        dtype = draw.choice(("int64", "int32", "uint8", "int16", "bool", "float32"))
        return f"I({sizes}low={low}, high={draw.choice((1, 3, 9))}, dtype='{dtype}')"
    if kind == 8:
        return draw.choice(("[[0, 1], [1, 0]]", "[True, False]", "np.array([0, 1])", "I()", "()"))
    return draw.choice(("1.5", "'a'", "T(2)", "np.int32(1)", "x.shape[0]", "x", "(0, 1)", "{}"))


def indices(draw):
    items = [an_index(draw) for _ in range(draw.choice((1, 1, 2, 2, 3, 5)))]
    return items[0] if len(items) == 1 else f"({', '.join(items)})"


def of_index(draw):
    """A read of a tensor's part, or a write into it."""
    history = " * 1" if draw.random() < 0.5 else ""
    text = f"x = {a_maker(draw)}{history};; "
    if draw.random() < 0.5:
        return text + f"x[{indices(draw)}]"
    return text + f"x.__setitem__({indices(draw)}, {draw.choice(VALUES)});; x"


def a_number(draw):
    return str(draw.choice((0, 1, -1, 2, 3, -3, 9, 2**31, 2**62)))


def numbers(draw, most=4):
    return f"[{', '.join(a_number(draw) for _ in range(draw.randrange(most + 1)))}]"


def a_view(draw):
    one, two = a_number(draw), a_number(draw)
    return draw.choice((
        f"[{indices(draw)}]", f".transpose({numbers(draw)})", ".t()", ".T", f".reshape({numbers(draw)})", ".flatten()",
        f".unsqueeze({one})", f".squeeze({one})", ".squeeze()", f".expand({numbers(draw)})", f".split({one}, {two})[0]",
        f".chunk({one}, {two})[-1]", f".unbind({one})[0]", f".diagonal({one}, 0, 1)", f".unfold({one}, {two}, 1)",
        f".as_strided({numbers(draw)}, {numbers(draw)}, {one})", ".view('int32')", ".view('uint8')", f".view({numbers(draw)})",
        ".detach()", ".contiguous()", ".real()", ".clone()", f".moveaxis({one}, {two})", f".flip({numbers(draw, 2)})",
        f".slice({numbers(draw, 2)}, {numbers(draw, 2)}, {numbers(draw, 2)})", f".roll({one}, {two})", f".tile({numbers(draw)})",
        f".broadcast_to({numbers(draw)})", f".unflatten({one}, {numbers(draw)})", f".strided_slice([0], [{one}], [{two}], [-1])",
    ))  # fmt: skip


def a_write(draw):
    one = a_number(draw)
    return draw.choice((
        ".add_({0})", ".multiply_({0})", ".zero_()", ".fill_({0})", ".exp_()", ".clip_({0}, 2)", ".scale_({0})", ".copy_(x)",
        ".set_value(x)", ".reshape_(%s)" % numbers(draw), ".squeeze_({0})", ".unsqueeze_({0})", ".flatten_()", ".transpose_(%s)" % numbers(draw),
        ".fill_diagonal_({0})", ".uniform_()", ".normal_()", ".add_(y)", ".subtract_(x)", ".divide_(y)", ".pow_({0})", ".remainder_({0})",
        ".where_(x > 0, x)", ".index_add_(I(2, high=3), {0}, x)", ".put_along_axis_(I(2, 2, high=3), 1, {0})", ".scatter_(I(2, high=3), x)",
        ".masked_fill_(x > 0, {0})", ".cast_('float64')", ".cumsum_({0})", ".tril_({0})", ".t_()", ".index_put_([I(2, high=3)], x)",
        ".__setitem__(%s, %s)" % (indices(draw), draw.choice(VALUES)), ".detach_()", ".fill_diagonal_tensor_(x, {0})", ".lerp_(x, 0.5)",
    )).replace("{0}", one)  # fmt: skip


def of_chain(draw):
    """Views of views of a tensor, and writes into them."""
    text = f"x = {a_maker(draw)} * 1;; y = x"
    for _ in range(draw.choice((1, 2, 3, 4))):
        if draw.random() < 0.6:
            text += f";; y = y{a_view(draw)}"
        else:
            text += f";; {draw.choice('xyy')}{a_write(draw)}"
    return text + ";; " + draw.choice(("x", "y", "[x, y]", "x.sum()", "y * y"))
