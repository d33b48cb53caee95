"""`python -m argosy.cli` is the command `argosy`."""

import sys

from . import main

sys.exit(main())
