"""Imported by programs to have gradients exchanged in the middle of backward, or at its end where AT_END is
in the environment, however many cores there are."""

import os

from argosy.distributed import _reducer

_reducer.no_idle_core = lambda group: "AT_END" in os.environ
