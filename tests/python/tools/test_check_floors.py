"""The check of who imports whom: a made-up package with each fault is refused, and named."""

import importlib.util
import pathlib

import pytest

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"


def load(name):
    spec = importlib.util.spec_from_file_location(name, TOOLS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


floors = load("check_floors")
ORDER = ("low", "pack.real", "high", "pack")
FILES = {
    "__init__.py": "root",
    "low.py": "low",
    "high.py": "high",
    "pack/__init__.py": "pack_init",
    "pack/real.py": "pack_real",
}


@pytest.fixture
def check(tmp_path):
    """problems of a package of these files, of what they hold; modules that are left out are empty."""

    def run(up=None, gatherers=(), order=ORDER, **contents):
        folder = tmp_path / "ship"
        (folder / "pack").mkdir(parents=True)
        for name in FILES:
            text = contents.pop(FILES[name], "")
            (folder / name).write_text(text)
        assert not contents
        return list(floors.problems(floors.Tree(folder), order, up or {}, gatherers))

    return run


def test_looking_up_is_fine(check):
    text = "import ship.low as low\nfrom ship.pack.real import x\nfrom . import low\n"
    assert check(high=text, pack_real="from ..low import y\n", root="from ship import high") == []


@pytest.mark.parametrize(
    "text, line",
    [
        ("from ship import high\n", 1),
        ("from ship.high import name\n", 1),
        ("import ship.high as other\n", 1),
        ("from . import high\n", 1),
        ("from .high import name\n", 1),
        ("def f():\n    from ship.high import name\n", 2),
        ("def f():\n    import_module('ship.high')\n", 2),
        ("TABLE = {\n  'name': 'ship.high'}\n", 2),
        ("def f(name):\n    return import_module(f'ship.high.{name}')\n", 2),
        ("try:\n    from ship.high import name\nexcept ImportError:\n    pass\n", 2),
    ],
)
def test_an_arrow_down_is_refused(check, text, line):
    found = check(low=text)
    assert len(found) == 1
    assert found[0].startswith(f"ship/low.py:{line}: imports ship.high, which is below")


def test_a_circle_is_refused(check):
    found = check(low="from ship.high import a\n", high="from ship.low import b\n")
    assert [p.split(":")[0] for p in found] == ["ship/low.py", "a circle of imports"]


def test_a_circle_within_a_floor_is_refused(check):
    order = ("low high pack",)
    texts = {"low": "from ship.high import a\n", "pack_real": "from ship.low import c\n"}
    assert check(order=order, high="from ship.low import b\n", **texts) == [
        "a circle of imports: high -> low -> high"
    ]


def test_a_circle_by_a_function_is_none(check):
    texts = {"low": "from ship.high import a\n", "high": "def f():\n    from ship.low import b\n"}
    assert check(order=("low high pack",), **texts) == []


@pytest.mark.parametrize("order, fine", [(("pack.real", "pack", "low", "high"), True),
                                         (("pack.real", "low", "pack", "high"), False)])  # fmt: skip
def test_a_package_gathers_floors_side_by_side(tmp_path, order, fine):
    folder = tmp_path / "ship"
    (folder / "pack").mkdir(parents=True)
    for name in ("__init__", "low", "high", "pack/real", "pack/other"):
        (folder / f"{name}.py").write_text("")
    (folder / "pack" / "__init__.py").write_text("from . import other, real\n")
    found = list(floors.problems(floors.Tree(folder), order, {}, ()))
    assert (found == []) is fine


@pytest.mark.parametrize(
    "text",
    [
        "import ship\n",
        "import ship.low\n",  # binds the root
        "from ship import zeros\n",
        "from . import zeros\n",
        "def f():\n    import ship\n",
        "def f():\n    return importlib.import_module('ship')\n",
        "def f():\n    return __import__('ship')\n",
        "def f():\n    return sys.modules['ship']\n",
        "def f():\n    return sys.modules.get('ship')\n",
    ],
)
def test_importing_the_root_is_refused(check, text):
    found = check(high=text, root="from ship.low import zeros\n")
    assert len(found) == 1 and "imports the root" in found[0]


def test_the_message_says_where_a_name_of_the_root_is_from(check):
    found = check(high="from ship import zeros\n", root="from ship.low import zeros\n")
    assert "ship.low" in found[0]


def test_gatherers_may_import_the_root_but_not_look_down(check):
    text = "import ship\n\n\ndef f():\n    return ship.high.name\n"
    found = check(low=text, gatherers={"low": "a reason"})
    assert len(found) == 1 and found[0].startswith("ship/low.py:5: imports ship.high")


def test_docstrings_import_nothing(check):
    assert check(low='"""ship.high"""\n\n\ndef f():\n    "ship.high"\n') == []


def test_named_arrows_are_for_functions_only(check):
    up = {("low", "high"): "a reason"}
    assert check(up, low="def f():\n    from ship.high import name\n") == []


def test_named_arrows_at_the_head_are_refused(check):
    found = check({("low", "high"): "a reason"}, low="from ship.high import name\n")
    assert len(found) == 2  # nor is the entry needed
    assert "low.py:1" in found[0] and "nobody needs" in found[1]


def test_the_head_of_a_package_runs_before_its_modules(check):
    found = check(pack_init="from ship.high import name\n")
    assert len(found) == 1 and "its package's modules" in found[0]


def test_a_function_of_a_package_is_on_the_package_s_own_floor(check):
    assert check(pack_init="def f():\n    from ship.high import name\n") == []


def test_every_module_has_a_floor(check):
    assert check(order=("low", "pack")) == ["ship/high.py: is on no floor of tools/check_floors.py"]


def test_floors_that_are_gone_and_too_many_exceptions_are_refused(check):
    up = {("low", str(i)): "" for i in range(floors.MAX_UP + 1)}
    found = check(up, order=(*ORDER, "gone"))
    assert "FLOORS names gone, which does not exist" in found
    assert any("may look down" in p for p in found)


def test_the_package_keeps_its_order():
    tree = floors.Tree(floors.PACKAGE)
    assert list(floors.problems(tree, floors.FLOORS, floors.UP, floors.GATHERERS)) == []


def test_the_page_on_architecture_lists_the_floors():
    page = (TOOLS.parent / "docs" / "architecture.md").read_text()
    assert floors.page_problems(page) == []
    assert floors.page_problems(page.replace("-> static", "-> ")) != []
