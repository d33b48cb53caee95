"""Runs another program of this folder with everything on a device of its own process.

on_device.py NAME [ARGUMENT]..
"""

import pathlib
import runpy
import sys

import argosy as paddle
from argosy import _core

_core.start_streamed(1, 100)
paddle.set_device("streamed:0")
sys.argv = sys.argv[1:]
runpy.run_path(str(pathlib.Path(__file__).with_name(f"{sys.argv[0]}.py")), run_name="__main__")
