"""Models from a folder with hubconf.py."""

import pytest

import argosy
from argosy import hub

CONF = '''
dependencies = ["numpy"]
import neighbour
import argosy

def tiny(n=2):
    """A tiny layer."""
    return argosy.nn.Linear(n, neighbour.WIDTH)

def _hidden():
    pass
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "hubconf.py").write_text(CONF)
    (tmp_path / "neighbour.py").write_text("WIDTH = 5\n")
    return str(tmp_path)


def test_what_a_folder_offers(folder):
    assert hub.list(folder, source="local") == ["tiny"]
    assert hub.help(folder, "tiny", source="local") == "A tiny layer."
    assert hub.load(folder, "tiny", source="local", n=3).weight.shape == [3, 5]


def test_mistakes_are_named(folder, tmp_path):
    with pytest.raises(RuntimeError, match=r"no function 'big': it has \['tiny'\]"):
        hub.load(folder, "big", source="local")
    with pytest.raises(RuntimeError, match="would download"):
        hub.list("owner/repo")
    with pytest.raises(ValueError, match="unknown source"):
        hub.list(folder, source="disk")
    with pytest.raises(RuntimeError, match="there is no .*hubconf.py"):
        hub.list(str(tmp_path / "nowhere"), source="local")
    (tmp_path / "hubconf.py").write_text("dependencies = ['no_such_package_here']\n")
    assert hub.list(folder, source="local") == []  # what is there can be told without
    with pytest.raises(RuntimeError, match="not installed: no_such_package_here"):
        hub.load(folder, "tiny", source="local")


def test_weights_that_lie_there(tmp_path):
    argosy.save({"w": argosy.ones([2])}, str(tmp_path / "a.pdparams"))
    state = hub.load_state_dict_from_url("https://host/x/a.pdparams", str(tmp_path))
    assert state["w"].tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="nothing is downloaded"):
        hub.load_state_dict_from_url("https://host/x/b.pdparams", str(tmp_path))
