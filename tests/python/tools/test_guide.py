"""docs/adding_an_op.md has every word that a description can say."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_every_word_is_in_the_guide():
    header = (ROOT / "src/argosy/op/define.h").read_text()
    words = set(re.findall(r"^  OpBuilder& (\w+)\(", header, re.MULTILINE))
    assert {"input", "kernel", "gradient", "shape_only", "cost", "python"} <= words
    guide = (ROOT / "docs/adding_an_op.md").read_text()
    assert words <= set(re.findall(r"`\.(\w+)\b", guide))
