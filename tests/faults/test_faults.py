"""One run of each scenario; `make faults` does 200."""

import pytest
from tests.faults import scenarios


@pytest.mark.parametrize(
    "seed", range(len(scenarios.SCENARIOS)), ids=[s.__name__ for s in scenarios.SCENARIOS]
)
def test_keeps_its_promises(seed):
    scenarios.run(seed)
