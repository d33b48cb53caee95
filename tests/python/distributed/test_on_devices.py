"""What processes exchange is on devices: the programs of the other tests, with all tensors on the streamed
test device of each process."""

import pytest
from tests.python.distributed.ranks import run as ranks


@pytest.mark.parametrize(
    "program",
    [
        ("collectives",),
        ("in_programs",),
        ("data_parallel",),
        ("overlap",),
        ("sync_norm",),
        ("as_one", "mlp"),
        *(("trains_in_programs", way, "float64") for way in ("eager", "to_static", "compile_step")),
    ],
    ids=" ".join,
)
def test_programs_of_two_processes(program):
    for rank in ranks.run("on_device", 2, *program, limit=500):
        assert "all is well" in rank.text
