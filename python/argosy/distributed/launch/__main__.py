"""`python -m argosy.distributed.launch` is `argosy launch`."""

import sys

from . import launch

sys.exit(launch(prog="python -m argosy.distributed.launch"))
