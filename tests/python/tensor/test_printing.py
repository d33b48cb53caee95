"""How tensors print: the widths of columns come from the edges of each axis, which is where Paddle looks, too."""

import numpy as np
import pytest

import argosy
from argosy.tensor import printing


def body(values, **kw):
    return repr(argosy.to_tensor(values, **kw)).split("\n", 1)[1].strip()[:-1]


@pytest.fixture(autouse=True)
def options():
    before = dict(printing._options)
    yield
    printing._options.update(before)


@pytest.mark.parametrize(
    "values, text",
    [
        # The widest number is at an edge: all are as wide.
        ([45.0, 66.0, 109.0, 85.0], "[45. , 66. , 109., 85. ]"),
        ([1, 2, 3, 4, 5, -600, 7], "[ 1  ,  2  ,  3  ,  4  ,  5  , -600,  7  ]"),
        # It is not: it only takes more room itself.
        ([1.0, 2.0, 3.0, 1000.5, 5.0, 6.0, 7.0], "[1., 2., 3., 1000.50000000, 5., 6., 7.]"),
        ([1, 2, 3, -400, 5, 6, 7], "[1, 2, 3, -400, 5, 6, 7]"),
        ([-1, 2, 3, 400, 5, 6, 7], "[-1,  2,  3, 400,  5,  6,  7]"),
        ([True] * 3 + [False] + [True] * 3, "[True, True, True, False, True, True, True]"),
        ([[1, 2, 3, 44, 5, 6, 7]] * 2, "[[1, 2, 3, 44, 5, 6, 7],\n        [1, 2, 3, 44, 5, 6, 7]]"),
    ],
)
def test_widths_come_from_the_edges(values, text):
    assert body(values) == text


def test_inner_rows_do_not_widen():
    rows = np.ones([8, 2], "int64")
    rows[3] = 1234
    lines = body(rows).split("\n")
    assert lines[0] == "[[1, 1]," and lines[3].strip() == "[1234, 1234],"
    rows[5] = 1234
    assert body(rows).split("\n")[0] == "[[1   , 1   ],"


def test_lines_break_by_the_width_of_the_edges():
    lines = body([1.0] * 3 + [1e6] * 20 + [1.0] * 3).split("\n")
    # (80 - 7) / (2 + 2) numbers a line, however wide they are.
    assert [line.count(".") for line in lines] == [18, 8]


def test_edgeitems_say_where_the_edges_are():
    assert body([1, 200, 3]) == "[1  , 200, 3  ]"
    argosy.set_printoptions(edgeitems=1)
    assert body([1, 200, 3]) == "[1, 200, 3]" and body([1, 200]) == "[1  , 200]"


def test_long_tensors_show_their_edges():
    assert body(np.arange(2000)) == "[0   , 1   , 2   , ..., 1997, 1998, 1999]"
    argosy.set_printoptions(threshold=3, precision=2)
    assert (
        body([0.5, 1.0, 2.0, 300.25, 2.0, 1.0, 0.0]) == "[0.50, 1.  , 2.  , ..., 2.  , 1.  , 0.  ]"
    )
