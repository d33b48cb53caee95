import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))  # for nn_reference


@pytest.fixture
def rng():
    return np.random.default_rng(5)
