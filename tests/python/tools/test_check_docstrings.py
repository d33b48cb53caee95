"""The check of what docstrings say, and the walk over public names that it shares with the site."""

import importlib.util
import pathlib
import sys

import pytest

import argosy
from argosy import nn

TOOLS = pathlib.Path(__file__).resolve().parents[3] / "tools"


@pytest.fixture(scope="module")
def tool():
    sys.path.insert(0, str(TOOLS))
    try:
        spec = importlib.util.spec_from_file_location("check", TOOLS / "check_docstrings.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(TOOLS))
    return module


@pytest.fixture
def lacks(tool, tmp_path, monkeypatch):
    """What the check says of `f`, or of the class `f`, in a module with this text."""
    monkeypatch.setattr(tool.public_names, "PACKAGE", tmp_path)

    def check(text):
        file = tmp_path / f"m{len(list(tmp_path.iterdir()))}.py"
        file.write_text(text)
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if isinstance(module.f, type):
            return tool.lacks_of_class(module.f, nn.Layer)
        return tool.lacks_of(tool.own_text(module.f), module.f, False, False)

    return check


WHOLE = '''
    """Halves a number.

    Args:
        x (float): the number.
        y, z: two more (unused).

    Returns:
        float: the half.

    Raises:
        ValueError: it is 0.

    Examples:
        >>> 1 / 2
        0.5
    """
    if x == 0:
        raise ValueError("0")
    return x / 2
'''


def test_a_whole_docstring_lacks_nothing(lacks):
    assert lacks(f"def f(x, y=1, *z, name=None):{WHOLE}") == []


@pytest.mark.parametrize(
    ("cut", "said"),
    [
        ("        y, z: two more (unused).\n", "Args (y)"),
        ("    Returns:\n", "Returns"),
        ("    Raises:\n", "Raises"),
        ("        >>> 1 / 2\n", "example"),
        ("Args:", "Args (x, y, *z)"),
    ],
)
def test_what_is_cut_is_missed(lacks, cut, said):
    assert cut in WHOLE
    assert lacks(f"def f(x, y=1, *z):{WHOLE.replace(cut, '')}") == [said]


def test_an_entry_of_no_parameter_is_found(lacks):
    assert lacks(f"def f(x, y=1):{WHOLE}") == ["the parameter z that Args names"]


def test_a_function_without_a_text_is_found(lacks):
    assert lacks("def f():\n    return 1\n") == ["docstring"]


def test_what_returns_nothing_and_takes_nothing_needs_an_example_alone(lacks):
    text = '"""Nothing."""\n    def g(): raise ValueError(1)\n    return None'
    assert lacks(f"def f():\n    {text}\n") == ["example"]


def test_a_class_answers_for_its_init_and_a_layer_for_its_call(lacks):
    init = "    def __init__(self, size): ...\n"
    assert lacks(f'class f:\n    """A box."""\n{init}') == ["Args (size)", "example"]
    layer = f'from argosy import nn\nclass f(nn.Layer):\n    """A box."""\n{init}'
    assert lacks(layer) == ["Args (size)", "example"]
    assert lacks(f"{layer}    def forward(self, x): ...") == ["Args (size)", "Shape", "example"]


def test_the_walk_reaches_rooms_that_load_at_first_use(tool):
    found = tool.public_names.documented()
    assert found["argosy.nn.Linear"] is nn.Linear
    assert found["argosy.vision.models.resnet18"] is argosy.vision.models.resnet18
    assert "argosy.Tensor.backward" in found
    assert "argosy.nn.functional.relu" not in found  # written from its description
    assert len({id(value) for value in found.values()}) == len(found) > 1000


def test_the_site_has_pages_for_rooms_and_none_for_what_they_are_made_of(tool):
    pages = tool.public_names.pages()
    assert {"argosy.nn", "argosy.nn.functional", "argosy.vision.ops", "argosy.optimizer.lr"} <= set(
        pages
    )
    assert not {"argosy.nn.layer.conv", "argosy.nn.layer", "argosy.cli"} & set(pages)


def test_a_method_is_asked_where_it_is_described_first(tool):
    asked = dict(tool.problems())
    assert "argosy.nn.Layer.forward" in asked and "argosy.nn.Linear.forward" not in asked
    assert "argosy.nn.Layer.state_dict" in asked and "argosy.DataParallel.to" not in asked
