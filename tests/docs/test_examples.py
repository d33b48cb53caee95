"""Every example of the documentation runs and prints what it says."""

import functools

import pytest
from tests.docs import examples

PARTS = 8  # test items, so that workers share them


@functools.cache
def every():
    found = (
        examples.of_docstrings(),
        examples.of_made_docstrings(),
        examples.of_ops(),
        examples.of_pages(),
    )
    return [example for each in found for example in each]


@pytest.mark.parametrize("part", range(PARTS))
def test_examples_run(part):
    problems = {e.name: examples.run_apart(e) for e in every()[part::PARTS]}
    wrong = [f"{name}:\n{text}" for name, text in problems.items() if text]
    assert not wrong, "\n\n".join(wrong)


def test_there_are_examples():
    assert len(every()) > 10


def test_examples_of_docstrings_that_are_made_are_found():
    names = {example.name for example in examples.of_made_docstrings()}
    assert {"argosy.nn.MaxPool2D", "argosy.nn.MaxPool3D"} <= names


@pytest.mark.parametrize(
    "text",
    [
        ">>> 1 + 1\n3",
        ">>> 0.5\n0.6",
        ">>> [1.0, 2]\n[1.0, 3]",
        ">>> raise ValueError('x')",
        ">>> import os; os._exit(3)",
        ">>> argosy.exp(argosy.to_tensor([0.0, 1.0])).tolist()\n[1.0, 2.7]",
    ],
)
def test_a_wrong_example_is_found(text):
    assert examples.run_apart(examples.Example("made up", text, "nowhere"))


@pytest.mark.parametrize(
    "text",
    [
        ">>> 1 + 1\n2",
        ">>> 1 / 3\n0.333",
        ">>> argosy.exp(argosy.to_tensor([0.0, 1.0])).tolist()\n[1.0, 2.718]",
        ">>> argosy.exp(argosy.to_tensor([[0.0], [1.0]]))\nTensor(shape=[2, 1], dtype=float32,"
        " place=Place(cpu), stop_gradient=True,\n       [[1.],\n        [2.7183]])",
        ">>> int('x')\nTraceback (most recent call last):\nValueError: invalid literal",
    ],
)
def test_a_right_example_passes(text):
    assert not examples.run_apart(examples.Example("made up", text, "nowhere"))


def test_what_an_example_sets_ends_with_it():
    assert not examples.run_apart(examples.Example("a", ">>> argosy.enable_static()", "nowhere"))
    text = ">>> argosy.in_dynamic_mode()\nTrue"
    assert not examples.run_apart(examples.Example("b", text, "nowhere"))


def test_every_page_stands_in_the_index():
    docs = examples.ROOT / "docs"
    listed = (docs / "index.md").read_text().split()
    pages = {page.stem for page in docs.glob("*.md")} - {"index"}
    assert pages <= set(listed), f"docs/index.md lacks {sorted(pages - set(listed))}"
