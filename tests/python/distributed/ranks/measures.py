"""argosy.distributed.measure_links as a program of ranks."""

import sys

from argosy.distributed.measure_links import main

sys.exit(main(sys.argv[1:]))
