"""The lists of what auto_cast casts say what it does."""

import argosy
from argosy.amp import amp_lists


def test_lists_name_ops_as_paddle_does():
    white, black = argosy.amp.white_list(), argosy.amp.black_list()
    assert set(white) == set(black) == {"float16", "bfloat16"}
    assert set(white["bfloat16"]) == {"OD", "O1", "O2"}
    for level in ("OD", "O1", "O2"):
        assert {"matmul_v2", "conv2d", "mul"} <= white["bfloat16"][level]
        assert not white["bfloat16"][level] & black["bfloat16"][level]
    assert {"exp", "log_softmax", "reduce_sum", "layer_norm"} <= black["bfloat16"]["O1"]
    assert "exp" not in black["bfloat16"]["O2"] and "lookup_table_v2" in black["bfloat16"]["O2"]
    assert black["bfloat16"]["OD"] == set()
    assert amp_lists.white_list is argosy.amp.white_list


def test_lists_are_copies():
    argosy.amp.white_list()["bfloat16"]["O1"].clear()
    assert "matmul_v2" in argosy.amp.white_list()["bfloat16"]["O1"]


def test_lists_say_what_is_cast():
    x = argosy.ones([2, 2])
    calls = {
        "matmul_v2": lambda: argosy.matmul(x, x),
        "exp": lambda: argosy.exp(x),
        "softmax": lambda: argosy.nn.functional.softmax(x),
        "reduce_sum": lambda: argosy.sum(x),
        "linear_v2": lambda: argosy.nn.functional.linear(x, x),
        "elementwise_add": lambda: x + x,
    }
    white = argosy.amp.white_list()["bfloat16"]
    for level in ("O1", "O2"):
        for name, call in calls.items():
            with argosy.amp.auto_cast(level=level, dtype="bfloat16"):
                lower = call().dtype == argosy.bfloat16
            assert lower == (name in white[level]), (level, name)
