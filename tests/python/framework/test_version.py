"""Versions: Paddle's level for programs, Argosy's own as the build has it."""

import pathlib
import re

import argosy

ROOT = pathlib.Path(__file__).resolve().parents[3]


def test_programs_see_the_paddle_level():
    version = argosy.version
    assert argosy.__version__ == version.full_version
    assert version.full_version == ".".join([version.major, version.minor, version.patch])
    assert int(argosy.__version__.split(".")[0]) >= 2  # what programs ask
    assert version.cuda() in ("False", False) and version.cudnn() in ("False", False)


def test_own_version_is_the_builds():
    text = (ROOT / "CMakeLists.txt").read_text()
    assert re.search(r"project\(argosy VERSION ([\d.]+)", text)[1] == argosy.version.argosy_version


def test_show(capsys):
    argosy.version.show()
    assert "full_version: 3.3.1\n" in capsys.readouterr().out
