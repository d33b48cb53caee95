"""Runs click.py with all that workers compute on a device of their own: its arguments."""

import pathlib
import runpy

import argosy as paddle
from argosy import _core

_core.start_streamed(1, 100)
paddle.set_device("streamed:0")
runpy.run_path(str(pathlib.Path(__file__).with_name("click.py")), run_name="__main__")
