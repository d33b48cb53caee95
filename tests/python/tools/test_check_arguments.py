"""The check that no argument is accepted and ignored."""

import importlib.util
import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[3]
spec = importlib.util.spec_from_file_location("check_arguments", ROOT / "tools/check_arguments.py")
tool = importlib.util.module_from_spec(spec)
spec.loader.exec_module(tool)


@pytest.fixture
def lost(tmp_path):
    """What the check says of a module: ["function argument", ..]."""

    def check(text, pending=()):
        folder = tmp_path / "package"
        folder.mkdir(exist_ok=True)
        (folder / "module.py").write_text(text)
        found = list(tool.problems(folder, pending))
        return [f.partition(": ")[2].partition(";")[0].replace("does not read ", "") for f in found]

    return check


def test_this_tree_passes():
    found = tool.problems(tool.PACKAGE, tool.PENDING)
    assert [f for f in found if not f.startswith("PENDING")] == []


@pytest.mark.parametrize(
    "body",
    [
        "return x",
        "del y\n    return x",
        "_ = y\n    return x",
        "_, _ = x, y\n    return x",
        "y\n    return x",
        "y = None\n    return x",
        '"""y is not used."""\n    return x',
        "return (lambda y: y)(x)",
        "def inner(y):\n        return y\n    return inner(x)",
    ],
)
def test_an_argument_that_nobody_reads_is_found(lost, body):
    assert lost(f"def f(x, y=1):\n    {body}\n") == ["f 'y'"]


@pytest.mark.parametrize(
    "body",
    [
        "return x if y else 0",
        "no_effect('f', 'why', y=(y, 1))\n    return x",
        "def inner():\n        return y\n    return x, inner",
        "return [x for _ in y]",
        "a = y\n    return x",
        "return dict(locals())",
        "raise NotImplementedError",
        "fail(x)",
    ],
)
def test_an_argument_that_is_read_or_refused_is_none(lost, body):
    text = "def fail(what):\n    raise ValueError(what)\n\n\n"
    assert lost(f"{text}def f(x, y=1):\n    {body}\n") == []


def test_keywords_that_are_swallowed(lost):
    assert lost("def f(*args, **kwargs):\n    return args\n") == ["f 'kwargs'"]
    assert lost("def f(**kwargs):\n    return kwargs.get('a', kwargs.pop('b', 1))\n") == [
        "f 'kwargs'"
    ]
    assert lost("def f(**kwargs):\n    return 'a' in kwargs and kwargs['a']\n") == ["f 'kwargs'"]
    assert lost("def f(**kwargs):\n    check(kwargs)\n    return kwargs.get('a')\n") == []
    assert lost("def f(**kwargs):\n    return kwargs[name]\n") == []


def test_only_what_a_program_passes_counts(lost):
    assert lost("def _f(x):\n    return 1\n") == []
    assert lost("def f(name=None, _x=None):\n    return 1\n") == []
    assert lost("class _A:\n    def f(self, x):\n        return 1\n") == []
    base = "class _A:\n    def f(self, x):\n        return 1\n\n\nclass _B(_A): ...\n"
    assert lost(f"{base}\n\nclass C(_B): ...\n") == ["_A.f 'x'"]
    assert lost("class A:\n    def __exit__(self, *exc):\n        return False\n") == []
    assert lost("class A:\n    def __init__(self, x):\n        self.y = 1\n") == ["A.__init__ 'x'"]
    assert lost("class A:\n    @keeps\n    def __init__(self, x): ...\n") == []
    assert lost("class A:\n    @staticmethod\n    def f(x):\n        return 1\n") == ["A.f 'x'"]
    assert lost("async def f(x):\n    return 1\n") == ["f 'x'"]


def test_an_argument_that_is_only_kept(lost):
    keep = "class A:\n    def __init__(self, x, y):\n        self._x, self.y = x, y\n"
    assert lost(keep) == ["A.__init__ 'x'"]
    assert lost(f"{keep}\n    def f(self):\n        return self._x\n") == []
    assert lost(f"{keep}\n\nNAMES = ['_x']\n") == []
    assert (
        lost("class A:\n    def __init__(self, x):\n        self._x = x\n        check(x)\n") == []
    )


def test_hooks(lost):
    base = "class A:\n    def begin(self, epoch): ...\n    def end(self, epoch):\n        raise E\n\n\n"
    own = "class B(A):\n    def begin(self, epoch, more=1):\n        return 1\n"
    assert lost(base + own) == ["B.begin 'more'"]
    assert lost("class A:\n    def begin(self, epoch): ...\n") == ["A.begin 'epoch'"]


def test_a_folder_that_is_pending_is_named_as_long_as_it_needs_it(lost):
    text = "def f(x):\n    return 1\n"
    assert lost(text, ("module",)) == []
    assert lost("def f(x):\n    return x\n", ("module",)) == [""]
