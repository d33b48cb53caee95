"""Settings for tuning: what is checked and what is said."""

import json
import warnings

import pytest

from argosy import _support
from argosy.incubate import autotune


@pytest.fixture(autouse=True)
def untold(monkeypatch):
    monkeypatch.setattr(_support, "_told", set())


@pytest.mark.parametrize(
    "config", [None, {"kernel": {"enable": True, "tuning_range": [1, 5]}}, {"layout": {}}]
)
def test_what_is_enabled_is_said_to_have_no_effect(config):
    with pytest.warns(UserWarning, match="has no effect: nothing is tuned by trial"):
        autotune.set_config(config)


@pytest.mark.parametrize("config", [{}, {"kernel": {"enable": False}}, {"other": {}}])
def test_what_is_not_enabled_is_silent(config, tmp_path):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        autotune.set_config(config)
        autotune.set_config(str(file))
    assert not said


@pytest.mark.parametrize(
    "config,text",
    [
        ({"kernel": {"enable": 1}}, "kernel is incorrect. The `enable` should be bool"),
        ({"kernel": {"tuning_range": 5}}, "kernel is incorrect. The `tuning_range` should be list"),
        ({"layout": {"enable": "x"}}, "layout is incorrect"),
        ("/nothing.json", "cannot read /nothing.json.*Use default configuration"),
    ],
)
@pytest.mark.filterwarnings("ignore:.*has no effect")
def test_wrong_settings_are_said(config, text):
    with pytest.warns(UserWarning, match=text):
        autotune.set_config(config)


def test_what_raises():
    with pytest.raises(
        AssertionError, match=r"tuning_range: expected \[first, last\], got \[1, 2, 3\]"
    ):
        autotune.set_config({"kernel": {"tuning_range": [1, 2, 3]}})
    with pytest.raises(TypeError, match="kernel: expected a dict, got 3"):
        autotune.set_config({"kernel": 3})
