"""Files that pages name are there."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FOLDERS = "src|tests|tools|python|docs|examples|benchmarks|cmake"
_PATH = re.compile(rf"(?<![\w/.{{}}-])(?:{_FOLDERS})/[\w./*-]*\w")
# What a page says how to make, and what `make docs` writes.
MADE = {"src/argosy/passes/rules/relu_pairs.cc", "docs/ops"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    for name in sorted(set(_PATH.findall(page.read_text())) - MADE):
        # A page may leave out the end, and src/argosy where it speaks of rooms.
        there = [*ROOT.glob(f"{name}*"), *ROOT.glob(f"src/argosy/{name}")]
        assert there, f"{page.name} names {name}"


def test_names_are_found():
    assert _PATH.findall("`tests/python/x.py` and (a/tests/no.py), src/argosy/*.cc.") == [
        "tests/python/x.py",
        "src/argosy/*.cc",
    ]
