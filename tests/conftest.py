"""Settings of all tests; read when argosy is imported."""

import os

os.environ.setdefault("ARGOSY_VERIFY_PASSES", "1")
