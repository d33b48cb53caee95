"""One run of each scenario and story; `make faults` does 500 of other seeds."""

import pytest
from tests.faults import run


@pytest.mark.parametrize("name", dict.fromkeys(run.NAMES))
def test_keeps_its_promises(name):
    *_, wrong = run.attempt(name, 5)
    assert not wrong, wrong
